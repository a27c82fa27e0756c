-- SPDX-License-Identifier: Apache-2.0
-- embedding: every token's vector at length 1.
function Postprocess(t)
    return t:lp_normalize(2, 3)
end
