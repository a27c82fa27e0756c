#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# items.sh [PROGRAM] - models whose input is more than a text: multiple choice, and words with boxes. Models:
# tests/golden/multiple_choice and boxes, by tools/oracle/choices.py and boxes.py; all numbers are compared in
# tests/test_task_choices.c and tests/test_input_boxes.c.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
CHOICE=$ROOT/tests/golden/multiple_choice/bert PAGES=$ROOT/tests/golden/boxes
INVOICE='{"id":7,"words":["Invoice","No.","1815:"],"boxes":[[0,0,0,0],[0,0,1000,1000],[5,5,9,9]]}'

# ---- multiple choice ----
prints "prompt and choices of the line" '"predicted_choice": "In Paris."' "$EF" infer -m "$CHOICE" "Where was Ada born?" "In London." "In Paris."
has "its logits" '-1.80949'
refuses "a text alone" 'found a text, wanted prompt, then choices' "$EF" infer -m "$CHOICE" "Where was Ada born?"
echo '{"id":1,"prompt":"Where was Ada born?","choices":["In London.","In Paris."]}' >c.jsonl
prints "map" '{"id":1,"logits":\[-1.80949.*"predicted_index":1,"predicted_choice":"In Paris."}' "$EF" map -m "$CHOICE" c.jsonl
echo '{"prompt":"x","choices":["a",7]}' >bad.jsonl
fails "a choice that is none" 'line 1: choices\[1\]: found a number, wanted a string' "$EF" map -m "$CHOICE" bad.jsonl
{ printf '{"prompt":"x","choices":["y"' && yes ',"y"' | head -4999 && printf ']}'; } | tr -d '\n' >many.jsonl
prints "as many choices as a line has" '"scores":\[0.0002,' "$EF" map -m "$CHOICE" many.jsonl
prints "infer has no limit of them" '"predicted_choice": "y"' "$EF" infer -m "$CHOICE" -i many.jsonl
printf 'prompt,choices\nWhere was Ada born?,"[""In London."",""In Paris.""]"\n' >c.csv
prints "a table" '"predicted_index":1' "$EF" map -m "$CHOICE" c.csv
printf 'prompt\nx\n' >c2.csv && refuses "a table without them" 'found no column "choices"' "$EF" map -m "$CHOICE" c2.csv
printf 'a text\n' >t.txt && refuses "plain text" 'found no choices, wanted an object with prompt and choices' "$EF" infer -m "$CHOICE" -i t.txt
works "export" "$EF" export "$CHOICE" exported
prints "explain: fused, without padding" 'layout: ragged' "$EF" onnx explain exported/model.onnx
has "explain: attention" ' Attention '
prints "the .onnx answers alike" '-1.80949' "$EF" infer -m exported/model.onnx "Where was Ada born?" "In London." "In Paris."
printf 'encoderfile:\n  name: choice\n  path: %s\n  model_type: multiple_choice\n' "$CHOICE" >c.yml
works "build" "$EF" build -f c.yml
prints "the package" '-1.80949' ./choice.encoderfile infer "Where was Ada born?" "In London." "In Paris."
prints "inspect" '"model_type": "multiple_choice"' ./choice.encoderfile inspect
prints "verify" '^  - .*: 0.[5-9]' "$EF" verify "$CHOICE"
prints "quantize" 'cosine\|agree' "$EF" quantize exported -o small
refuses "no Postprocess" 'takes no Postprocess' "$EF" new-transform -m multiple_choice
refuses "another task of that graph" 'wanted one for sequence_classification\|label count\|multiple' "$EF" infer -m exported --task text-classification x

# ---- words with boxes ----
echo "$INVOICE" >w.jsonl
for model in layoutlm lilt; do
    prints "$model: map" '"start":8,"end":[0-9]*,"word":1}' "$EF" map -m "$PAGES/$model" w.jsonl
    prints "$model: entities by words" '"start":0,.*"first_word":0' "$EF" map -m "$PAGES/$model" w.jsonl --params '{"aggregation":"first"}'
    cp txt folder
    printf 'encoderfile:\n  name: %s\n  path: %s\n  model_type: token_classification\n' "$model" "$PAGES/$model" >p.yml
    works "$model: build" "$EF" build -f p.yml
    works "$model: the package" ./$model.encoderfile map w.jsonl --params '{"aggregation":"first"}'
    cmp -s txt folder
    check $? "$model: folder and package answer alike"
    prints "$model: verify" 'KEY' "$EF" verify "$PAGES/$model"
done
prints "--entities" '- .-[KV][EA]' "$EF" infer -m "$PAGES/lilt" -i w.jsonl --entities
refuses "a text" 'found a text, wanted an object with words and boxes: the model reads places on a page' "$EF" infer -m "$PAGES/lilt" "a text"
refuses "extract: a text" 'wanted an object with words and boxes' "$EF" extract -m "$PAGES/lilt" "a text"
prints "tokenize takes texts" '"tokens"' "$EF" tokenize -m "$PAGES/lilt" "a text"
echo '{"words":["a","b"],"boxes":[[0,0,1,1],[0,1200,1,1]]}' >bad.jsonl
fails "a box beyond the page" 'boxes\[1\]\[1\]: found 1200, wanted 0 to 1000' "$EF" map -m "$PAGES/lilt" bad.jsonl
cp -r "$PAGES/lilt" odd && sed -i 's/"sep_token_box": \[/"sep_token_box": [ 9,/' odd/tokenizer_config.json
refuses "a special box that is none" 'tokenizer_config.json: sep_token_box: wanted four numbers of 0 to 1000' "$EF" infer -m odd -i w.jsonl
finish
