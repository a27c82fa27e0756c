#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# first_minutes.sh [PROGRAM] - `build`, `infer` and `serve` on folders as trainers and the Hub leave them: what works answers,
# and what cannot work names the common cause.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden TEXT="from Pune to Goa"
VOCAB='{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null,
"post_processor": null, "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2, "[MASK]": 3}}}'

# served FOLDER: started and stopped at once; the log says what it serves.
served() {
    : >log # the one of the server before must not be seen
    "$EF" serve "$1" --host 127.0.0.1 --port 0 --disable-grpc --threads 1 >/dev/null 2>log </dev/null &
    server=$!
    for i in $(seq 200); do grep -q ' serving ' log && break || sleep 0.1; done
    kill $server && wait $server 2>/dev/null
    grep -q "serving $1 (" log && pass || { cp log err && flunk "serve $1"; }
}
# takes FOLDER TASK FILE LINE [OPTIONS...]: all three commands do it; build tells task and file, infer prints a line like that.
takes() {
    folder=$1 task=$2 file=$3 line=$4 && shift 4
    prints "build $folder" "^$folder 0.1.0: $task" "$EF" build "$folder" --no-build "$@"
    has "build $folder: its file" "made of $folder/: $file, config.json"
    prints "infer $folder" "$line" "$EF" infer "$folder" -f text "$TEXT" "$@"
    [ $# != 0 ] || served "$folder"
}
# names FOLDER CAUSE: all three end with that cause, and with nothing else on stderr.
names() {
    for command in "build $1 --no-build" "infer $1 x" "serve $1 --host 127.0.0.1 --port 0"; do
        refuses "$command" "$2" timeout 20 "$EF" $command
        [ "$(grep -c '' err)" = 1 ] && pass || flunk "$command: one line"
    done
}
ner() { mkdir -p "$1" && cp "$GOLDEN/torch/ner/config.json" "$GOLDEN/torch/ner/vocab.txt" "$1"; }

# ---- what works ----
ner sharded && cp "$GOLDEN/torch/ner/model.safetensors" sharded/model-00001-of-00002.safetensors
cp sharded/model-00001-of-00002.safetensors sharded/model-00002-of-00002.safetensors
LC_ALL=C grep -ao '"[a-z][a-zA-Z0-9_.]*":{"dtype"' "$GOLDEN/torch/ner/model.safetensors" | sed 's/:.*//' | awk '
    BEGIN { printf "{\"metadata\": {}, \"weight_map\": {" }
    { printf "%s%s: \"model-0000%d-of-00002.safetensors\"", (NR > 1) ? ", " : "", $0, NR % 2 + 1 } END { print "}}" }' >sharded/model.safetensors.index.json
takes sharded token_classification model.safetensors.index.json 'DST: "Goa"'
cp -r "$GOLDEN/export/bert-bf16" bf16 && rm -f bf16/*.npy && echo "$VOCAB" >bf16/tokenizer.json
takes bf16 embedding model.safetensors 'embedding [0-9]* numbers' --task embedding
ner pickle && cp "$GOLDEN/torch/ner/bin/pytorch_model.bin" pickle
takes pickle token_classification pytorch_model.bin 'DST: "Goa"'
works "an ONNX model" "$EF" export "$BUS" made --quantize
mkdir -p converted/onnx small/onnx && cp "$BUS"/*.json converted && cp "$BUS"/*.json small
cp made/model.onnx converted/onnx && cp made/model_quantized.onnx small/onnx
takes converted 'token_classification, fp32' onnx/model.onnx 'B-DEST: "Goa"'
takes small 'token_classification, int8' onnx/model_quantized.onnx 'B-DEST: "Goa"'
cp -r "$GOLDEN/sentence/mean" sentences
takes sentences sentence_embedding model.safetensors 'embedding 16 numbers'
cp -r "$BUS" vocabulary && rm vocabulary/tokenizer.json
takes vocabulary token_classification model.safetensors 'B-DEST: "Goa"'
cp -r "$BUS" unnamed && rm unnamed/id2label.json unnamed/label2id.json
tr -d '\n' <"$BUS/config.json" | sed 's/"id2label": *{[^}]*}, *//; s/"label2id": *{[^}]*}, *//' >unnamed/config.json
takes unnamed token_classification model.safetensors 'LABEL_3: "Goa"'
cp -r "$BUS" headless && sed -i 's/ForTokenClassification/ForMaskedLM/' headless/config.json
takes headless embedding model.safetensors 'embedding 96 numbers' --task embedding

# ---- what cannot ----
names headless 'without the head of BertForMaskedLM; --task embedding does without'
mkdir adapter && cp "$BUS/tokenizer.json" adapter && cp "$GOLDEN/torch/ner/model.safetensors" adapter/adapter_model.safetensors
echo '{"peft_type": "LORA", "base_model_name_or_path": "google-bert/bert-base-cased"}' >adapter/adapter_config.json
names adapter 'LoRA adapter without its base model (google-bert/bert-base-cased); merge them'
cp -r "$BUS" pointers && printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 437955512\n' 0 >pointers/model.safetensors
names pointers 'git-lfs pointer, not the file itself; fetch it with .git lfs pull'
cp -r "$BUS" broken && head -c 200 "$BUS/config.json" >broken/config.json
names broken 'config.json: line [0-9]*, column [0-9]*: found the end'
cp -r "$BUS" wordless && rm wordless/tokenizer* wordless/vocab.txt
names wordless 'tokenizer.json not found.*was it saved beside the model? --tokenizer'
mkdir -p trained/checkpoint-500 && names trained 'found checkpoint-500, a folder that a training left: give that one'
mkdir flow && cp "$BUS"/*.json flow && : >flow/tf_model.h5 && names flow 'found tf_model.h5, weights of TensorFlow'
mkdir llama && : >llama/model-q4.gguf && names llama 'found model-q4.gguf, a model of llama.cpp'
mkdir nothing && names nothing 'the folder is empty'
finish
