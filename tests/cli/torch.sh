#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.sh [PROGRAM] - folders whose weights are a pytorch_model.bin answer as those with model.safetensors do, byte for
# byte; and what is often given as a model but is none gets an error that names the cause.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/torch
plain="--no-embed-metadata" # which has the time
text="sleeper bus from pune to goa tomorrow, and volvo to delhi"

# folder NAME MODEL: an empty one of that name with the config and the vocabulary of a golden model
folder() { mkdir -p "$1" && cp "$GOLDEN/$2/config.json" "$GOLDEN/$2/vocab.txt" "$1"; }
same() { cmp -s "$2" "$3" && pass || flunk "$1: $2 and $3 differ"; }
# answers NAME COMMAND...: the same as the safetensors folder, but for the model's name
answers() {
    works "$@" && grep -v model_id txt >found
    same "$1" found wanted
}
package() { printf 'encoderfile:\n  name: x\n  path: %s\n  model_type: token_classification\n  output_path: %s\n' "$1" "$2" >yml; }

# ---- the same weights in every form; the folder's name is in an export, so all have the same ----
folder safe/ner ner && cp "$GOLDEN/ner/model.safetensors" safe/ner
works "safetensors" "$EF" infer -m safe/ner "$text"
grep -v model_id txt >wanted && grep -q B-SRC wanted && pass || flunk "answers: $(cat wanted)"
works "safetensors" "$EF" export $plain safe/ner safe/out
package safe/ner safe/x && works "safetensors" "$EF" build -f yml
for form in bin shards old compiled lightning double wide; do
    folder $form/ner ner && cp "$GOLDEN/ner/$form"/* $form/ner
    answers "$form: infer" "$EF" infer -m $form/ner "$text"
    works "$form: export" "$EF" export $plain $form/ner $form/out && same "$form: export" $form/out/model.onnx safe/out/model.onnx
done
folder some/ner ner && cp "$GOLDEN/ner/some"/* some/ner
refuses "a prefix of some names" 'encoder.layer.0.*: not in the checkpoint, found "student.bert.encoder.layer.0' "$EF" export some/ner no
package bin/ner bin/x && works "build" "$EF" build -f yml && same "build" bin/x safe/x
answers "the package" bin/x infer "$text"

# tied weights are in a .bin under both names
folder safe/mlm mlm && cp "$GOLDEN/mlm/model.safetensors" safe/mlm
folder bin/mlm mlm && cp "$GOLDEN/mlm/bin/pytorch_model.bin" bin/mlm
for form in safe bin; do
    works "$form: masked" "$EF" export $plain $form/mlm $form/masked -v && grep parameters txt | sed 's/ in .*//' >$form/counted
done
[ -s safe/counted ] && same "tied weights count once" bin/counted safe/counted
same "tied weights are written once" bin/masked/model.onnx safe/masked/model.onnx

# modules of sentence-transformers
for form in safe bin; do
    mkdir -p $form/st/1_Pooling $form/st/2_Dense && cp $form/ner/* $form/st
    row() { printf '{"path": "%s", "type": "sentence_transformers.models.%s"}' "$1" "$2"; }
    echo "[$(row '' Transformer), $(row 1_Pooling Pooling), $(row 2_Dense Dense)]" >$form/st/modules.json
    echo '{"pooling_mode_mean_tokens": true}' >$form/st/1_Pooling/config.json
    echo '{"activation_function": "torch.nn.modules.activation.Tanh"}' >$form/st/2_Dense/config.json
done
cp "$GOLDEN/dense/model.safetensors" safe/st/2_Dense && cp "$GOLDEN/dense/bin/pytorch_model.bin" bin/st/2_Dense
for form in safe bin; do works "$form: 2_Dense" "$EF" export $plain $form/st $form/dense; done
same "2_Dense/pytorch_model.bin" bin/dense/model.onnx safe/dense/model.onnx

echo '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}' >safe/st/1_Pooling/config.json
refuses "a Dense that does not fit" "^encoderfile: error: 2_Dense/config.json: Dense: found a vector of 32 .* wanted 16" \
    "$EF" infer -m safe/st hello
refuses "export: a Dense that does not fit" "2_Dense/config.json: Dense: found a vector of 32 .* wanted 16" "$EF" export safe/st no

# ---- weights by their path ----
for file in safe/ner/model.safetensors bin/ner/pytorch_model.bin old/ner/pytorch_model.bin shards/ner/pytorch_model.bin.index.json; do
    answers "infer -m $file" "$EF" infer -m $file "$text"
done
works "export of a path" "$EF" export $plain bin/ner/pytorch_model.bin path/out && same "export of a path" path/out/model.onnx safe/out/model.onnx
package bin/ner/pytorch_model.bin path/x && works "build of a path" "$EF" build -f yml && same "build of a path" path/x safe/x
folder both ner && cp bin/ner/pytorch_model.bin both && printf broken >both/model.onnx && printf broken >both/model.safetensors
answers "the path given, not the folder's usual file" "$EF" infer -m both/pytorch_model.bin "$text"
cp safe/x called.bin
answers "a package called .bin" "$EF" infer -m called.bin "$text"

# ---- code is not run, damage is named ----
folder evil ner
printf '\200\002\212\nl\374\234F\371 j\250P\031.\200\002M\351\003.\200\002}X\r\0\0\0little_endian\210s.\200\002cos\nsystem\nX\r\0\0\0touch evil/ran\205R.' >evil/pytorch_model.bin
for command in "infer hello -m" "export --output out --model"; do
    refuses "$command: code" 'pytorch_model.bin: global `os system` is not one of a plain state dict' "$EF" $command evil
done
[ ! -e evil/ran ] && pass || flunk "code was run"
refuses "no advice that drops heads" "os system" "$EF" export evil out && ! grep -q save_pretrained err && pass || flunk "advice"
printf x >evil/pytorch_model.bin
refuses "no torch file" "pytorch_model.bin: found a file that torch.save did not write" "$EF" export evil out
head -c 20000 bin/ner/pytorch_model.bin >evil/pytorch_model.bin
refuses "cut short" "pytorch_model.bin: zip: found no end record" "$EF" infer -m evil hello
[ ! -e out ] && pass || flunk "a refused file writes nothing"

# ---- what is given as a model but is none ----
pointer() { printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 438000000\n'; }
for file in model.safetensors pytorch_model.bin model.onnx; do
    folder lfs/$file ner && pointer >lfs/$file/$file
    refuses "infer: $file is a pointer" "$file: found a git-lfs pointer" "$EF" infer -m lfs/$file hello
    refuses "infer: the path of $file" "$file: found a git-lfs pointer" "$EF" infer -m lfs/$file/$file hello
    package lfs/$file path/no && refuses "build: $file is a pointer" "git lfs pull" "$EF" build -f yml
done
refuses "export: a pointer" "pytorch_model.bin: found a git-lfs pointer" "$EF" export lfs/pytorch_model.bin out
folder lfs/tokenizer ner && cp safe/ner/model.safetensors lfs/tokenizer && pointer >lfs/tokenizer/tokenizer.json
refuses "infer: tokenizer.json is a pointer" "tokenizer.json: found a git-lfs pointer" "$EF" infer -m lfs/tokenizer hello
refuses "tokenize: tokenizer.json is a pointer" "tokenizer.json: found a git-lfs pointer" "$EF" tokenize -m lfs/tokenizer hello
mkdir lora && echo '{"base_model_name_or_path": "google-bert/bert-base-cased", "peft_type": "LORA"}' >lora/adapter_config.json
cp safe/ner/model.safetensors lora/adapter_model.safetensors && cp "$GOLDEN/ner/vocab.txt" lora
package lora path/no
for command in "infer hello -m" "export --output out --model" "serve --http-port 0 -m" "build -f yml --output-path"; do
    case $command in build*) last=path/no ;; *) last=lora ;; esac
    refuses "$command: LoRA" "lora: found a LoRA adapter without its base model (google-bert/bert-base-cased)" timeout 20 "$EF" $command $last
done
refuses "infer: the path of an adapter" "LoRA adapter" "$EF" infer -m lora/adapter_model.safetensors hello
refuses "export: the path of an adapter" "LoRA adapter" "$EF" export lora/adapter_model.safetensors out
cp "$GOLDEN/ner/config.json" lora
refuses "LoRA with a config.json" "LoRA adapter" "$EF" infer -m lora hello
refuses "export of an ONNX folder" "found model.onnx, which is what an export writes" "$EF" export safe/out out
mkdir -p hub/onnx && cp safe/out/model.onnx hub/onnx && cp "$GOLDEN/ner/config.json" hub
refuses "export of a folder with onnx/" "found onnx/model.onnx, which" "$EF" export hub out
refuses "export of an .onnx" "model.onnx: found an ONNX model, which is what an export writes" "$EF" export safe/out/model.onnx out
refuses "export of another file" "found a file, wanted a folder" "$EF" export safe/ner/vocab.txt out
[ ! -e out ] && [ ! -e path/no ] && pass || flunk "a refused model writes nothing"
finish
