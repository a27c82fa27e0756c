-- SPDX-License-Identifier: Apache-2.0
-- token_classification: a label counts only when the model is sure; else the first one ("O") does.
local sure = 0.6

function Postprocess(logits)
    local p = logits:softmax(3)
    local best = p:map_axis(3, function(x) return x:lt(sure):where(0, x) end)
    local unsure = best:sum_axis(3):eq(0)
    local shape = p:shape()
    local first = Tensor.concat({ Tensor.full(1, 1), Tensor.full(0, shape[3] - 1) }, 1)
    return best + unsure:reshape(shape[1], shape[2], 1) * first
end
