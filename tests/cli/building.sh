#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# building.sh - `build MODEL` without a YAML: what is derived and told, the YAML it writes, and where the paths of a YAML
# are looked for. usage: tests/cli/building.sh [PROGRAM]
set -u
. tests/cli/lib.sh
unset MODEL_WEIGHTS_PATH TOKENIZER_PATH MODEL_CONFIG_PATH MODEL_TYPE MODEL_NAME
same() { cmp -s "$2" "$3" && pass || flunk "$1: $2 and $3 differ"; }
told() { grep -q -- "$2" err && pass || flunk "$1: wanted \"$2\" on stderr"; }
TEXT="AC sleeper bus from Bangalore to Mumbai"

# ---- a folder is enough ----
prints "build FOLDER" '^bus-ner 0.1.0: token_classification, fp32, WordPiece tokenizer, up to 128 tokens' "$EF" build "$BUS"
has "its files are told" 'made of .*: model.safetensors, config.json, tokenizer.json'
prints "its package answers" '"model_id": "bus-ner"' ./bus-ner.encoderfile infer "$TEXT"
works "build -m FOLDER" "$EF" build -m "$BUS" -o again.encoderfile
same "MODEL and -m" bus-ner.encoderfile again.encoderfile
works "options" "$EF" build "$BUS" -o small --name other --model-version 2.5 --precision int8 --max-length 24 --truncation-side left \
    --write-config new.yml
prints "options arrive" '"max_length": 24' ./small inspect
has "options arrive" '"version": "2.5"'
has "options arrive" '"name": "other"'
has "options arrive" '"direction": "Left"'
has "options arrive" '"precision": "int8"'
grep -q '^  model_type: "token_classification"$' new.yml && pass || flunk "the task that was found is in the YAML"
works "build -f of the YAML that was written" "$EF" build -f new.yml -o small.again
same "flags and their YAML" small small.again
works "every kind of key" "$EF" build "$BUS" --no-build --write-config one.yml --pad-strategy fixed=16 --lua-libs table --lua-libs math \
    --transform-script 'function Postprocess(t) return t end' --no-validate-transform --truncation-strategy only_first --name 'a: "b"'
works "every kind of key, read" "$EF" build -f one.yml --write-config two.yml
same "written, read and written again" one.yml two.yml
grep -q '^  lua_libs: \["table", "math"\]$' two.yml && grep -q '^    pad_strategy: "fixed=16"$' two.yml && grep -q '^  build: false$' two.yml
check $? "lists, maps and opposites are in the YAML"
refuses "--write-config keeps what is there" "new.yml: found a file" "$EF" build "$BUS" --write-config new.yml --no-build
works "single files" "$EF" build --model-weights-path "$BUS/model.safetensors" --model-config-path "$BUS/config.json" \
    --tokenizer-path "$BUS/tokenizer.json" --tokenizer-config-path "$BUS/tokenizer_config.json" --name bus-ner -o files.encoderfile
prints "single files answer" '"model_id": "bus-ner"' ./files.encoderfile infer "$TEXT"
refuses "two models" 'found "b", wanted one model' "$EF" build a b
refuses "no such folder" 'No such directory: "nowhere"' "$EF" build nowhere
refuses "a package" 'found a package, wanted a model folder' "$EF" build bus-ner.encoderfile
refuses "a model beside single files" "wanted one model" "$EF" build "$BUS" --model-weights-path x

# ---- a folder as Optimum and the Hub have it ----
works "an int8 model, too" "$EF" export "$BUS" made --quantize
mkdir -p hub/onnx && cp "$BUS"/*.json hub/ && cp made/model.onnx hub/onnx/
prints "onnx/model.onnx" 'made of hub/: onnx/model.onnx, config.json' "$EF" build hub --no-build
cp made/model_quantized.onnx hub/onnx/ && cp "$BUS/model.safetensors" hub/
prints "what else is there" 'not taken: hub/model.safetensors, hub/onnx/model_quantized.onnx' "$EF" build hub --no-build
rm hub/onnx/model.onnx hub/model.safetensors
prints "onnx/model_quantized.onnx" 'made of hub/: onnx/model_quantized.onnx' "$EF" build hub --no-build
has "it is int8" 'token_classification, int8'

# ---- the Hub's cache ----
mkdir -p cache/models--org--bus-tags/snapshots && cp -r "$BUS" cache/models--org--bus-tags/snapshots/0123abcd
prints "a folder of the Hub's cache has the model's name" '^bus-tags 0.1.0: ' "$EF" build cache/models--org--bus-tags/snapshots/0123abcd --no-build

# ---- paths of a YAML ----
mkdir -p deep && cp -r "$BUS" deep/here && cp -r "$BUS" there
printf 'encoderfile:\n  name: x\n  path: here\n  model_type: ner\n' >deep/c.yml
works "beside the YAML" "$EF" build -f deep/c.yml --no-build
told "beside the YAML" 'path: taken from beside the YAML: deep/here$'
cp -r "$BUS" here
works "beside the YAML first" "$EF" build -f deep/c.yml --no-build
told "beside the YAML first" 'deep/here (and not from the current folder)'
sed -i 's/here/there/' deep/c.yml
works "then in the current folder" "$EF" build -f deep/c.yml --no-build
told "then in the current folder" 'path: taken from the current folder: there'
works "build c.yml" "$EF" build deep/c.yml --no-build
told "build c.yml" 'path: taken from the current folder: there'
works "a model over the YAML's" "$EF" build hub -f deep/c.yml --no-build
has "a model over the YAML's" 'onnx/model_quantized.onnx'
printf 'encoderfile:\n  name: x\n  colour: red\n' >c.yml
refuses "a key that resembles none" 'unknown key `colour` (known are path, name, version, model_type' "$EF" build -f c.yml
printf 'encoderfile:\n  name: x\n  path: here\n  tokenizer:\n    max_length: many\n' >c.yml
refuses "a number that is none" 'tokenizer.max_length: found a string, wanted a number' "$EF" build -f c.yml
finish
