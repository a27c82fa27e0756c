-- SPDX-License-Identifier: Apache-2.0
-- sequence_classification: calibrated probabilities; texts without the noise of a mail client.
local temperature = 1.7

function Preprocess(text)
    local out = {}
    for line in text:gmatch("[^\r\n]+") do
        if not line:find("^%s*>") then out[#out + 1] = line end
    end
    return #out > 0 and table.concat(out, "\n") or text
end

function Postprocess(logits)
    return (logits / temperature):softmax(2)
end
