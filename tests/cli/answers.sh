#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# answers.sh [PROGRAM] - question answering on the command line, and token classification with a stride. The answers are
# those of transformers' pipeline in tests/golden/question_answering/answers.jsonl (bert, pair 1: set 0, and 1 for top_k).
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
QA=$ROOT/tests/golden/question_answering/bert TAGS=$ROOT/tests/golden/strides/bert
sed -n '2{s/.*"question":"\([^"]*\)".*/\1/;p}' "$QA/../pairs.jsonl" >question
sed -n '2{s/.*"context":"\([^"]*\)".*/\1/;p}' "$QA/../pairs.jsonl" >context
Q=$(cat question) C=$(cat context)
BEST='"answer":"machines","score":0.40861'
TWO='"answers":\[{"answer":"machines","score":0.41036.*{"answer":"wrote about machines","score":0.17650'

# ---- infer ----
prints "question, context" "$BEST.*\"start\":56,\"end\":64" "$EF" infer -m "$QA" -f jsonl "$Q" "$C"
prints "--question" "$BEST" "$EF" infer -m "$QA" -f jsonl --question "$Q" "$C"
prints "--context-file" "$BEST" "$EF" infer -m "$QA" -f jsonl --question "$Q" --context-file context
prints "--question, lines" "$BEST" "$EF" infer -m "$QA" -f jsonl --question "$Q" -i context
prints "--params" "$TWO" "$EF" infer -m "$QA" -f jsonl --params '{"top_k":2}' "$Q" "$C"
prints "csv" "^0,machines,0.40861" "$EF" infer -m "$QA" -f csv "$Q" "$C"
prints "offsets in bytes" '"start":48,"end":53' "$EF" infer -m "$QA" -f jsonl "$Q" "éé$C"
prints "offsets in characters" '"start":46,"end":51' "$EF" infer -m "$QA" -f jsonl --offsets chars "$Q" "éé$C"
refuses "a text is no question" 'found 1 texts, wanted 2' "$EF" infer -m "$QA" "$Q"
refuses "lines without a question" 'found no context, wanted {"question"' "$EF" infer -m "$QA" -i context
refuses "--context-file alone" '--question' "$EF" infer -m "$QA" --context-file context
refuses "no such context" 'nowhere' "$EF" infer -m "$QA" --question x --context-file nowhere
refuses "--question of another model" '--question: found a model for token_classification, wanted question_answering' "$EF" infer -m "$TAGS" --question x y
refuses "--params: no JSON" '--params: line 1' "$EF" infer -m "$QA" --params '{' "$Q" "$C"
refuses "--params: no object" '--params: found a list, wanted an object' "$EF" infer -m "$QA" --params '[]' "$Q" "$C"
refuses "--params: a bad value" 'top_k: found 0' "$EF" infer -m "$QA" --params '{"top_k":0}' "$Q" "$C"
refuses "--params: a misspelled key" 'did you mean top_k' "$EF" infer -m "$QA" --params '{"topk":2}' "$Q" "$C"
refuses "two outputs are no array" '--format npy: found several outputs' "$EF" infer -m "$QA" -f npy "$Q" "$C"

# ---- map ----
printf '{"id":7,"question":"%s","context":"%s"}\n["%s","%s"]\n{"id":8,"question":"x"}\n"alone"\n' "$Q" "$C" "$Q" "$C" >in.jsonl
fails "map: records" "^{\"id\":7,$BEST" "$EF" map -m "$QA" in.jsonl
has "map: pairs" "^{$BEST"
has "map: no context" '"id":8,"error":{"message":"line 3: context: found nothing'
has "map: a text" '"error":{"message":"line 4: found no context'
printf 'id,context,question\n7,%s,%s\n' "$C" "$Q" >in.csv
prints "map: columns" "^{\"id\":\"7\",$BEST" "$EF" map -m "$QA" in.csv
prints "map: --params" "$TWO" "$EF" map -m "$QA" in.csv --params '{"top_k":2}'
refuses "map: --params" 'top_k: found 0' "$EF" map -m "$QA" in.csv --params '{"top_k":0}'
refuses "map: --field" '--field: found a model whose records have keys of their own' "$EF" map -m "$QA" in.csv --field x
printf 'id,text\n7,x\n' >no.csv
refuses "map: a column is missing" 'found no column "question"' "$EF" map -m "$QA" no.csv

# ---- the other commands ----
prints "inspect" '"model_type": "question_answering"' "$EF" inspect "$QA"
prints "verify" '^  - score: 0' "$EF" verify "$QA" "$Q" "$C"
has "verify: the answer" '^  - "machines"'
refuses "verify: half a pair" 'found 1 texts, wanted 2' "$EF" verify "$QA" "$Q"
works "export" "$EF" export "$QA" exported --verify
prints "validate" 'this program runs it, as question_answering' "$EF" validate exported
prints "the export answers" "$BEST" "$EF" infer -m exported -f jsonl "$Q" "$C"
prints "quantize" 'against fp32 on 10 texts' "$EF" quantize exported/model.onnx small.onnx
prints "bench" 'tokens/s' "$EF" bench -m "$QA" --lengths 5 -n 1
refuses "new-transform" 'takes no Postprocess: an answer is made of two outputs' "$EF" new-transform -m qa
printf 'encoderfile:\n  name: qa\n  path: %s\n  model_type: question_answering\n' "$QA" >qa.yml
works "build" "$EF" build -f qa.yml
prints "the package answers" "$BEST" ./qa.encoderfile infer -f jsonl "$Q" "$C"
printf '  transform: |\n    function Postprocess(a) return a end\n' >>qa.yml
refuses "build: a script" 'question_answering takes none: an answer is made of' "$EF" build -f qa.yml -o other.encoderfile
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_encoder","arguments":{"inputs":[{"question":"%s","context":"%s"}]}}}\n' "$Q" "$C" >in
"$EF" mcp --stdio -m "$QA" <in >txt 2>err && has "mcp" 'machines' || flunk "mcp"

# ---- padding_side left: the context comes first, also in a package ----
cp -r "$QA" left && sed -i '1s/{/{"padding_side":"left",/' left/tokenizer_config.json
"$EF" infer -m left -f jsonl "$Q" "$C" >want 2>err && ! grep -q "$BEST" want && pass || flunk "left"
printf 'encoderfile:\n  name: left\n  path: left\n  model_type: question_answering\n' >left.yml
works "build: left" "$EF" build -f left.yml
./left.encoderfile infer -f jsonl "$Q" "$C" >txt 2>err && cmp -s txt want && pass || flunk "left: the package"

# ---- stride ----
C=$(cat context) && printf '%s %s %s\n' "$C" "$C" "$C" >long
prints "a long text is cut" '"truncated":true' "$EF" infer -m "$TAGS" -f jsonl --params '{"aggregation":"simple"}' -i long
prints "a stride reads it to its end" '"end":19[0-9]}\]}$' "$EF" infer -m "$TAGS" -f jsonl --params '{"aggregation":"simple","stride":5}' -i long
prints "a stride, token by token" '"end":19[0-9]}\]}$' "$EF" infer -m "$TAGS" -f jsonl --params '{"aggregation":"none","stride":5}' -i long
finish
