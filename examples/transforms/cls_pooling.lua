-- SPDX-License-Identifier: Apache-2.0
-- sentence_embedding: the first token ([CLS]) stands for the text.
function Postprocess(t)
    return t:slice(2, 1, 1):sum_axis(2):lp_normalize(2, 2)
end
