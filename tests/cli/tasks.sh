#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tasks.sh [PROGRAM] - what a model is for: names of tasks, a task or a tokenizer that is said by hand, folders without
# config.json, labels without names. Models: tests/golden/families, by tools/oracle/families.py.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
MODELS=$ROOT/tests/golden/families
cp -r "$MODELS/gpt2" named && rm named/output.npy # two labels, of which config.json says nothing
mkdir bare && cp named/model.onnx named/tokenizer.json bare

# ---- an explicit task suffices: every command, no config.json ----
AS="--task sentiment-analysis"
prints "infer" '"predicted_label": "LABEL_' "$EF" infer -m bare $AS "w1 w2"
prints "infer, the lone file" '"predicted_label": "LABEL_' "$EF" infer -m bare/model.onnx $AS "w1 w2"
printf '"w1"\n' >in && prints "map" '"predicted_label":"LABEL_' "$EF" map -m bare $AS in
prints "bench" 'tokens/s' "$EF" bench -m bare $AS --lengths 5 -n 1
prints "bench, the lone file" 'tokens/s' "$EF" bench -m bare/model.onnx $AS --lengths 5 -n 1
prints "bench: no more tokens than the model takes" ' 32 tokens' "$EF" bench -m bare $AS -n 1
prints "explain: the same" '1 x 32 tokens' "$EF" onnx explain bare/model.onnx
prints "inspect" '"model_type": "sequence_classification"' "$EF" inspect bare $AS
has "inspect: as many labels as the head has" '"1": "LABEL_1"'
has "inspect: the limit is the table of positions" '"max_length": 32'
prints "verify" '^  - LABEL_[01]: 0' "$EF" verify bare $AS "w1 w2"
prints "onnx explain" 'Softmax\|Attention\|Linear' "$EF" onnx explain bare $AS --tokens 16
prints "tokenize" '"ids":\[0,5,2\]' "$EF" tokenize -m bare $AS w1
prints "quantize" 'labels agree' "$EF" quantize bare -o small $AS
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_encoder","arguments":{"inputs":["w1"]}}}' >in
"$EF" mcp --stdio -m bare $AS <in >txt 2>err && has "mcp" LABEL_ || flunk "mcp"
cp -r "$BUS" tags && works "an .onnx to try" "$EF" export tags tagged && rm tagged/config.json
prints "extract" '"LABEL_' "$EF" extract -m tagged --task NER --all "AC sleeper from Bangalore to Mumbai"
printf 'encoderfile:\n  name: b\n  path: bare\n' >b.yml
refuses "build: no task at all" 'missing field .model_type. (or --task)' "$EF" build -f b.yml
works "build" "$EF" build -f b.yml $AS
prints "the package names labels too" '"predicted_label": "LABEL_' ./b.encoderfile infer "w1 w2"
echo '  model_type: sequence_classification' >>b.yml
refuses "build: a YAML needs config.json as ever" 'config.json not found.*--task' "$EF" build -f b.yml
refuses "no task, no config" 'config.json not found.*--task' "$EF" infer -m bare x
refuses "a guess needs config.json" 'config.json not found' "$EF" infer -m bare --force-task-detection x
mkdir empty && cp "$MODELS/bert-masked/model.safetensors" "$MODELS/bert-masked/tokenizer.json" empty
refuses "a checkpoint needs it" 'config.json not found' "$EF" infer -m empty --task embedding x

prints "the table of the half that reads texts" '"max_length": 32' "$EF" inspect "$MODELS/clip"

# ---- names ----
for name in text-classification text_classification sequence-classification sequence_classification Text-Classification zero-shot-classification; do
    works "$name" "$EF" infer -m named --task $name w1
done
works "--model-type, as before" "$EF" infer -m named --model-type text-classification w1
refuses "a typo of a synonym" 'did you mean text_classification?' "$EF" infer -m named --task text_clasification w1
refuses "another task of ours" 'wanted one for token_classification' "$EF" infer -m named --task ner w1
refuses "a task of others" 'translation is not supported: wanted one of embedding' "$EF" infer -m named --task translation w1
refuses "images" 'wanted one for image_classification: it has another head, or none' "$EF" infer -m named --task image-classification w1
refuses "audio" 'wanted one for automatic_speech_recognition: it has another head, or none' "$EF" serve -m named --task asr
works "a package's own task by another name" ./b.encoderfile infer --task sentiment-analysis w1
refuses "a package's other task" 'found a package for sequence_classification, wanted ner' ./b.encoderfile infer --task ner w1
prints "new-transform" 'n_labels' "$EF" new-transform -m text-classification
works "export" "$EF" export "$BUS" out --task named_entity_recognition
refuses "export: a typo" 'did you mean text-classification' "$EF" export "$BUS" out2 --task text-clasification
refuses "export: no such head" 'wanted auto, feature-extraction' "$EF" export "$BUS" out2 --task text-generation

# ---- labels: no id2label; a BERT of three (named by the head alone), and a model of two ----
mkdir three && cp "$ROOT/tests/golden/engine/bert-sequence17/model.onnx" "$MODELS/gpt2/tokenizer.json" three
echo '{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "max_position_embeddings": 48}' >three/config.json
prints "the head's width" '"predicted_label": "LABEL_[012]"' "$EF" infer -m three "w1 w2"
prints "the head's width, verify" '^  - LABEL_[012]: 0' "$EF" verify three "w1 w2"
prints "infer" '"predicted_label": "LABEL_[01]"' "$EF" infer -m named "w1 w2"
prints "inspect" '"LABEL_1": 1' "$EF" inspect named
prints "verify" '^  - LABEL_[01]: 0' "$EF" verify named "w1 w2"
sed 's/"model_type"/"num_labels": 1, "model_type"/' "$MODELS/gpt2/config.json" >named/config.json
refuses "a head of another width" 'label count mismatch' "$EF" infer -m named w1
sed 's/"model_type"/"problem_type": "regression", "model_type"/' "$MODELS/gpt2/config.json" >named/config.json
prints "a regression has none, as before" '"predicted_label": null' "$EF" infer -m named w1

# ---- masked language models: seed 000's first example ----
printf 'encoderfile:\n  name: m\n  path: %s\n  model_type: embedding\n' "$MODELS/bert-masked" >m.yml
works "headless" "$EF" build -f m.yml
prints "vectors" '"embedding"' ./m.encoderfile infer w1
sed -i 's/embedding/token_classification/' m.yml
refuses "no classifier" 'BertForMaskedLM (fill_mask), wanted one for token_classification: the checkpoint has no classifier weights' "$EF" build -f m.yml
works "export for feature-extraction" "$EF" export "$MODELS/bert-masked" headless --task feature-extraction --no-embed-metadata
prints "whose class is still that of the checkpoint" '"embeddings"' "$EF" infer -m headless w1

# ---- another tokenizer ----
sed 's/"w1":5,"w2":6/"w2":5,"w1":6/' bare/tokenizer.json >other.json && mkdir folder && cp other.json folder/tokenizer.json
"$EF" infer -m bare $AS w2 >theirs 2>err
for other in other.json folder; do
    works "--tokenizer $other" "$EF" infer -m bare $AS --tokenizer $other w1
    cmp -s txt theirs && pass || flunk "--tokenizer $other: another answer than w2's"
done
works "--tokenizer of a package" ./b.encoderfile infer --tokenizer other.json w1
sed '/model_id/d' txt >ours && sed '/model_id/d' theirs | cmp -s - ours && pass || flunk "--tokenizer of a package: another answer than w2's"
rm bare/tokenizer.json
works "build --tokenizer" "$EF" build -f b.yml $AS --tokenizer folder -o t.encoderfile
prints "a folder without one" '"ids":\[0,6,2\]' ./t.encoderfile tokenize w1
refuses "no such tokenizer" 'gone.json' "$EF" infer -m bare $AS --tokenizer gone.json w1
refuses "a folder with none" 'tokenizer.json not found' "$EF" infer -m bare $AS --tokenizer empty/.. w1
finish
