-- SPDX-License-Identifier: Apache-2.0
-- sentence_embedding: mean of the tokens, layer norm, the first 256 numbers, length 1.
function Postprocess(t, mask)
    return t:mean_pool(mask):layer_norm(2, 1e-5):truncate_axis(2, 256):lp_normalize(2, 2)
end
