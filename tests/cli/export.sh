#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# export.sh [PROGRAM] - `export` by its command line. Numbers (3.13) are those of the checklist that the
# exporter was specified by: one for each thing it promises.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/export

works "1.1 export MODEL OUT" "$EF" export "$BUS" deep/er/out
for n in 1 2 3 4; do has "4.3 step $n" "^\[Step $n/4\] "; done
[ "$(grep -o 'Step [1-4]/4' txt | tr -d '\n')" = "Step 1/4Step 2/4Step 3/4Step 4/4" ] && pass || flunk "4.3 in order"
has "1.11 success" "exported successfully to deep/er/out"
has "4.15 sizes" "  - model.onnx (1.7[0-9] MB)"
grep '^  - ' txt | sed 's/ (.*//' >names && sort -c names && pass || flunk "1.11 sorted"
for f in model.onnx config.json tokenizer.json tokenizer_config.json special_tokens_map.json vocab.txt export_metadata.json; do
    [ -f "deep/er/out/$f" ] && pass || flunk "1.2-1.7, 4.6: $f"
done
cmp -s "$BUS/config.json" deep/er/out/config.json && pass || flunk "1.4 config"
for f in label2id.json id2label.json; do cmp -s "$BUS/$f" deep/er/out/$f && pass || flunk "4.7 $f byte-equal"; done
for key in source_model export_strategy clean_onnx export_timestamp modelexport_version; do
    grep -q "^  \"$key\": " deep/er/out/export_metadata.json && pass || flunk "1.10 $key"
done
grep -q '"export_timestamp": "20..-..-..T..:..:[0-9.]*Z"' deep/er/out/export_metadata.json && pass || flunk "1.10 ISO 8601"
works "1.2 an existing folder, a second run" "$EF" export --model "$BUS" --output deep/er/out -v
has "-v" "BertForTokenClassification (bert), task token-classification, opset 18"
[ "$(stat -c %a deep/er/out/model.onnx deep/er deep/er/out/config.json | tr '\n' ' ')" = "644 755 644 " ] && pass || flunk "3.19 modes"
[ -z "$(find . -name '*.tmp.*')" ] && pass || flunk "nothing half-written"
text="AC sleeper bus from Bangalore to Mumbai tomorrow"
"$EF" infer --entities -m deep/er/out "$text" >ours 2>err && "$EF" infer --entities -m "$BUS" "$text" >theirs 2>>err
cmp -s ours theirs && grep -q Bangalore ours && pass || flunk "4.4 the same labels"
works "1.14 OUT.onnx" "$EF" export "$BUS" x/y.onnx
has "1.14 names the folder" "Creating output directory: x/y"
[ -f x/y/model.onnx ] && [ ! -e x/y.onnx ] && pass || flunk "1.14 the file is model.onnx"
works "1.13 --no-config" "$EF" export "$BUS" z/only.onnx --no-config
grep -q "NOT work with Optimum" err && pass || flunk "1.13 warns"
grep -q "deprecated.*folder instead" err && pass || flunk "1.23 the old entry points to the new one"
[ "$(ls z)" = only.onnx ] && pass || flunk "1.13 the .onnx alone: $(ls z)"
works "3.1 --clean-onnx" "$EF" export "$BUS" clean --clean-onnx --strategy htp
grep -q '/BertForTokenClassification/BertModel' clean/model.onnx && flunk "--clean-onnx: tags" || pass
grep -q '/BertForTokenClassification/BertModel/BertEncoder/BertLayer.2/BertOutput' x/y/model.onnx && pass || flunk "tags"
cp -r "$BUS" here && works "into the model's own folder" "$EF" export here here
cmp -s here/model.safetensors "$BUS/model.safetensors" && cmp -s here/config.json "$BUS/config.json" && pass || flunk "own folder"
mkdir nothing && refuses "3.4 no config" "config.json: not found" "$EF" export nothing out
refuses "3.4 no model" "no/such: found neither as a path nor whole in" "$EF" export no/such out
cp -r "$GOLDEN/bert" pickle && mv pickle/model.safetensors pickle/pytorch_model.bin
refuses "no pickle" "torch.save did not write" "$EF" export pickle out
refuses "opset" "14 to 21" "$EF" export "$BUS" out --opset 13
refuses "task" "did you mean" "$EF" export "$BUS" out --task token-classificaton
refuses "strategy" "wanted htp" "$EF" export "$BUS" out --strategy fx
refuses "no output" "output folder" "$EF" export "$BUS"
refuses "too many words" "wanted nothing behind" "$EF" export "$BUS" out more
[ ! -e out ] && pass || flunk "a refusal writes nothing"
# A limit on file size stands for a full disk.
(trap '' XFSZ && ulimit -f 100 && exec "$EF" export "$BUS" full) >txt 2>err && flunk "full disk" || pass
grep -q 'cannot be written' err && [ -z "$(ls -A full)" ] && pass || flunk "full disk leaves nothing: $(ls -A full)"
(trap '' XFSZ && ulimit -f 100 && exec "$EF" export "$BUS" full -v) >txt 2>err && flunk "full disk, -v" || pass
has "-v tells a step when it is through" "^STEP 3/6: HIERARCHY BUILDING" && ! grep -q "^STEP 4/6" txt && pass || flunk "step 4 is not through"
# ---- options ----
same() { "$EF" infer --entities -m "$2" "$text" >ours 2>err && cmp -s ours theirs && pass || flunk "$1: other labels"; }
for option in "--optimize O1" "--optimize O2" "--optimize O3" "--dtype fp32" "--dtype fp16" "--dtype bf16" "--opset 14" "--opset 21" \
    "--static-shapes 1,32" --torch-module "--class-names transformers-4" "--task auto" "--task ner" --no-embed-metadata; do
    rm -rf opt && works "$option" "$EF" export "$BUS" opt $option && same "$option" opt
    case $option in
        *fp16 | *bf16) [ "$(stat -c %s opt/model.onnx)" -lt 1000000 ] && pass || flunk "$option: size" ;;
        *O2) grep -q SkipLayerNormalization opt/model.onnx && pass || flunk "$option: operators" ;;
        *O3) grep -q FastGelu opt/model.onnx && pass || flunk "$option: operators" ;;
        *-module) grep -q /BertEmbeddings/word_embeddings opt/model.onnx && pass || flunk "$option: tags" ;;
        *-4) grep -q /BertAttention/BertSdpaSelfAttention opt/model.onnx && pass || flunk "$option: tags" ;;
        --static*) [ "$(sed 's/"sequence_length":32//' opt/model.onnx | grep -ac sequence_length)" = 0 ] && pass || flunk "$option: a symbol is left" ;;
    esac
done
works "--no-tokenizer" "$EF" export "$BUS" opt2 --no-tokenizer
[ -f opt2/config.json ] && [ ! -e opt2/tokenizer.json ] && [ ! -e opt2/vocab.txt ] && pass || flunk "--no-tokenizer: $(ls opt2)"
cp -r "$BUS" words && rm words/tokenizer.json
works "a tokenizer.json of vocab.txt" "$EF" export words words-out
has "a tokenizer.json of vocab.txt" "  - tokenizer.json ("
"$EF" tokenize -t "$BUS" "$text" "Zürich, ₹500 on 3/4" >mine && "$EF" tokenize -t words-out/tokenizer.json "$text" "Zürich, ₹500 on 3/4" >its && cmp -s mine its &&
    pass || flunk "vocab.txt: other ids"
same "a tokenizer.json of vocab.txt" words-out
mkdir beside && cp words-out/model.onnx beside/ && works "add-config writes it too" "$EF" add-config beside/model.onnx words
cmp -s beside/tokenizer.json words-out/tokenizer.json && pass || flunk "add-config: tokenizer.json"
works "--json" "$EF" export "$BUS" opt3 --json --quantize
has "--json" '^  "task": "token-classification",'
has "--json" '"name": "model_quantized.onnx"'
has "--json" '"same_labels": '
tr -d ' \n' <txt >flat
for part in '"written":[[][^]]*"model.onnx"' '"copied":[[][^]]*"config.json"' '"missing":[[]]' '"bytes":[0-9]{7},' '"seconds":[0-9.e-]+' '"warnings":[[]]'; do
    grep -qE "$part" flat && pass || flunk "3.20 --json: $part"
done
works "3.20 --json without a tokenizer" "$EF" export "$BUS" opt3b --json --no-tokenizer
tr -d ' \n' <txt | grep -qE '"missing":[[]"tokenizer.json","tokenizer_config.json","special_tokens_map.json"[]]' && pass || flunk "3.20 --json: missing"
works "4.8 --quantize" "$EF" export "$BUS" opt4 --quantize avx2 --input-text "Volvo to Goa"
has "4.8 said" "\[Optional\] Applying INT8 quantization"
has "4.9 size" "  - model_quantized.onnx (5[0-9][0-9].[0-9]* KB)"
has "--input-text" "on 1 texts"
same "4.8 model.onnx is preferred" opt4
works "4.8 once more into the same folder" "$EF" export "$BUS" opt4 --quantize
mkdir -p opt5/model_quantized.onnx
works "4.15 quantizing fails, the export stands" "$EF" export "$BUS" opt5 --quantize
grep -q "the export stands" err && [ -f opt5/model.onnx ] && pass || flunk "4.15 said"
mkdir models && cp -r "$BUS" models/bus_ner_transformer
works "4.2 the usual folders" "$EF" export && [ -f models/bus_ner_onnx/model.onnx ] && pass || flunk "4.2 defaults"
ln -s "$EF" modelexport && ln -s "$EF" optimum-cli
works "modelexport" ./modelexport export "$BUS" link1 && same "modelexport" link1
works "modelexport --version" ./modelexport --version && has "modelexport --version" "^encoderfile [0-9]"
works "optimum-cli" ./optimum-cli export onnx --model "$BUS" --task token-classification link2 && same "optimum-cli" link2
works "optimum-cli as a word" "$EF" optimum-cli export onnx -m "$BUS" link3 && same "optimum-cli as a word" link3
works "optimum-cli quantize" ./optimum-cli onnxruntime quantize --onnx_model link2 --avx2 -o link4
[ -f link4/model_quantized.onnx ] && [ -f link4/ort_config.json ] && pass || flunk "optimum-cli quantize: $(ls link4)"
commit=0123456789012345678901234567890123456789
mkdir -p hf/hub/models--me--bus/refs hf/hub/models--me--bus/snapshots && printf $commit >hf/hub/models--me--bus/refs/main
ln -s "$BUS" hf/hub/models--me--bus/snapshots/$commit
works "a name in the cache" env -u HF_HUB_CACHE HF_HOME="$work/hf" "$EF" export me/bus link5 && same "a name in the cache" link5
refuses "dtype" "wanted fp32, fp16 or bf16" "$EF" export "$BUS" out --dtype int4
refuses "class names" "transformers-5 or transformers-4" "$EF" export "$BUS" out --class-names jax
refuses "shapes" "wanted rows and tokens" "$EF" export "$BUS" out --static-shapes 1x128
refuses "level" "wanted O1, O2 or O3" "$EF" export "$BUS" out --optimize O4
refuses "target" "wanted avx512_vnni" "$EF" export "$BUS" out --quantize=sse
mkdir -p opt6/config.json
refuses "1.8 config cannot be copied" "The ONNX model was exported but may not work with Optimum" "$EF" export "$BUS" opt6
[ -f opt6/model.onnx ] && pass || flunk "1.8 the ONNX is there"
for f in model.onnx config.json tokenizer.json tokenizer_config.json export_metadata.json; do [ -f "link1/$f" ] && pass || flunk "1.17, 1.20: $f"; done
cp -r "$BUS" nolabels && rm nolabels/id2label.json nolabels/label2id.json
works "4.7 label maps are copied only if there" "$EF" export nolabels nolabels-out && [ ! -e nolabels-out/id2label.json ] && pass || flunk "4.7 absent"
printf '{"do_resize": true}' >nolabels/preprocessor_config.json && printf '{}' >nolabels/processor_config.json
works "1.6, 1.7 processors" "$EF" export nolabels nolabels-out && cmp -s nolabels/preprocessor_config.json nolabels-out/preprocessor_config.json &&
    [ -f nolabels-out/processor_config.json ] && pass || flunk "1.6, 1.7 copied"
cp -r "$GOLDEN/bert" escape && printf '{"weight_map": {"x": "../../etc/passwd"}}' >escape/model.safetensors.index.json && rm escape/model.safetensors
refuses "3.19 a path that leaves" "passwd" "$EF" export escape out
[ ! -e out ] && pass || flunk "a refused option writes nothing"
echo "$(($(du -b "$BUS"/config.json "$BUS"/tokenizer_config.json "$BUS"/special_tokens_map.json | awk '{n += $1} END {print n}')))" >bytes
[ "$(cat bytes)" -lt 8000 ] && pass || flunk "1.24 config files are a few KB: $(cat bytes)"

# ---- quantize ----
works "4.8 quantize" "$EF" quantize deep/er/out
has "4.9 quarter" "avx512_vnni: weights 0.46 MB of 1.72 MB (26.[0-9] %)"
has "4.9 labels" "9[89].[0-9]* % of 195 labels agree\|100.00 % of 195"
[ -f deep/er/out/model.onnx ] && [ -f deep/er/out/model_quantized.onnx ] && [ -f deep/er/out/ort_config.json ] && pass || flunk "4.8 beside"
works "4.8 a second run" "$EF" quantize deep/er/out --target avx2 --json
has "4.8 --json" '"weight_bytes_after": 4[56][0-9]*'
grep -q '"reduce_range": true' deep/er/out/ort_config.json && pass || flunk "4.8 ort_config.json"
"$EF" infer --entities -m deep/er/out/model_quantized.onnx "$text" >small 2>err && cmp -s small theirs && pass || flunk "4.12 int8 finds the same"
for target in avx2 avx512 avx512_vnni arm64; do works "4.8 --$target" "$EF" quantize deep/er/out -o "q/$target" "--$target" --no-report; done
[ ! -e q/arm64/model.onnx ] && "$EF" infer --entities -m q/arm64 "$text" >small 2>err && cmp -s small theirs && pass || flunk "a folder with model_quantized.onnx alone"
for type in fp16 bf16; do
    works "$type" "$EF" quantize deep/er/out/model.onnx "q/$type.onnx" --dtype $type --no-report
    [ "$(stat -c %s q/$type.onnx)" -lt 930000 ] && pass || flunk "$type: size"
done
printf 'Delhi to Jaipur tomorrow\n\nVolvo to Goa\n' >lines
works "--calibrate" "$EF" quantize deep/er/out -o q/lines --calibrate lines
has "--calibrate" "on 2 texts"
refuses "already quantized" "quantized already" "$EF" quantize q/arm64/model_quantized.onnx q/no.onnx
refuses "onto itself" "found the input" "$EF" quantize deep/er/out/model.onnx deep/er/out/model.onnx
refuses "no .onnx" "export. writes it" "$EF" quantize "$GOLDEN/bert"
refuses "target" "wanted avx512_vnni" "$EF" quantize deep/er/out --target sse
refuses "dtype" "wanted int8" "$EF" quantize deep/er/out --dtype int4
(trap '' XFSZ && ulimit -f 100 && exec "$EF" quantize deep/er/out q/full) >txt 2>err && flunk "full disk" || pass
[ -z "$(ls -A q/full)" ] && [ ! -e q/no.onnx ] && pass || flunk "full disk leaves nothing: $(ls -A q/full)"

mkdir bare && cp "$BUS/model.safetensors" "$BUS/tokenizer.json" bare
refuses "1.9, 3.4 no config.json" "config.json: not found" "$EF" export bare from-bare
[ ! -e from-bare ] && pass || flunk "1.9 nothing is written"
works "1.12 names and flags together" "$EF" export "$BUS" flags --strategy htp --clean-onnx --no-config
[ -f flags/model.onnx ] || [ -f flags ] && pass || flunk "1.12: $(ls -R flags)"
works "3.18, 4.1 two paths, then answers" "$EF" export "$BUS" answers
works "4.1 entities" "$EF" infer -m answers --entities "bus from Pune to Goa"
has "4.1 entities" 'B-SRC: "Pune"'
works "4.5 the plan is fused" "$EF" onnx explain answers/model.onnx
has "4.5 fused attention" " Attention "

for model in "$GOLDEN"/*; do
    name=$(basename "$model")
    works "$name: no tokenizer is no error (1.5)" "$EF" export "$model" "golden/$name"
    has "$name: said" "none found"
done
finish
