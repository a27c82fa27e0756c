#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metadata.sh [PROGRAM] - what an .onnx carries itself, and the files around it: `metadata`, `add-config`, `validate DIR`,
# `verify`, `extract`. Numbers (2.4) are those of the checklist that the exporter was specified by.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/export

Q="AC sleeper bus from Bangalore to Mumbai tomorrow"
works "2.4 export without metadata" "$EF" export "$BUS" made --no-embed-metadata
PLAIN=$work/made/model.onnx

# ---- embed, read, validate ----
prints "2.20 embed" "task token-classification$" "$EF" metadata embed "$PLAIN" "$BUS" --no-include-tokenizer -o a/b/one.onnx
for key in hf_metadata_version hf_model_config hf_processor_config hf_pipeline_task hf_export_timestamp; do
    works "2.5 $key" "$EF" metadata read a/b/one.onnx --key $key
done
prints "2.20 read" '^hf_pipeline_task  *token-classification' "$EF" metadata read a/b/one.onnx
prints "2.8 prefix stripped, JSON parsed" '^  "model_config": {' "$EF" metadata read a/b/one.onnx --json
prints "one key" '^token-classification$' "$EF" metadata read a/b/one.onnx --key pipeline_task
prints "2.20 validate" 'valid, .* checksum right' "$EF" metadata validate a/b/one.onnx
prints "validate --json" '"valid": true' "$EF" metadata validate --json a/b/one.onnx
[ "$(stat -c %a a/b/one.onnx a/b | tr '\n' ' ')" = "644 755 " ] && pass || flunk "modes"
cmp -s -n "$(stat -c %s "$PLAIN")" "$PLAIN" a/b/one.onnx && pass || flunk "2.7 the graph stays, byte for byte"
cp a/b/one.onnx two.onnx
works "2.7 again, in place" "$EF" embed-metadata two.onnx "$BUS" --no-include-tokenizer --json
has "embed --json" '"pipeline_task": "token-classification"'
[ "$(stat -c %s two.onnx)" = "$(stat -c %s a/b/one.onnx)" ] && pass || flunk "2.7 no duplicates"
prints "task given" "task text-classification" "$EF" metadata embed two.onnx "$BUS" --task sentiment-analysis
refuses "unknown task" "did you mean token-classification" "$EF" metadata embed two.onnx "$BUS" --task token-clasification
refuses "2.8 none without hf_ keys" "no usable metadata" "$EF" metadata read "$PLAIN"
fails "validate, none" "there is no metadata" "$EF" metadata validate "$PLAIN"
refuses "not an ONNX file" "config.json" "$EF" metadata read "$BUS/config.json"
refuses "no file" "nowhere.onnx" "$EF" metadata read nowhere.onnx
refuses "no folder" "no such folder or file" "$EF" metadata embed two.onnx nowhere
commit=0123456789012345678901234567890123456789
mkdir -p hub/models--org--ner/refs hub/models--org--ner/snapshots && echo $commit >hub/models--org--ner/refs/main
cp -r "$BUS" hub/models--org--ner/snapshots/$commit
works "a name in the cache" env HF_HUB_CACHE="$PWD/hub" "$EF" metadata embed two.onnx org/ner
prints "is the model's name" '^org/ner$' "$EF" metadata read two.onnx --key model_name
printf '../../../..' >hub/models--org--ner/refs/main
refuses "3.19 a revision that leads outside" "nor whole in" env HF_HUB_CACHE="$PWD/hub" "$EF" metadata embed two.onnx org/ner
refuses "no such key" "no key" "$EF" metadata read two.onnx --key x
refuses "half a command" "metadata embed" "$EF" metadata
cp two.onnx full.onnx
(trap '' XFSZ && ulimit -f 100 && exec "$EF" metadata embed full.onnx "$BUS") >txt 2>err && flunk "full disk" || pass
cmp -s two.onnx full.onnx && [ -z "$(find . -name '*.tmp.*')" ] && pass || flunk "a full disk changes nothing"
mkdir odd && echo '{"model_type": "gpt2", "architectures": ["Odd"]}' >odd/config.json
prints "2.3 an unknown class" "task feature-extraction" "$EF" metadata embed two.onnx odd
grep -q "force-task-detection (that gives text-generation, by model_type)" err && pass || flunk "2.3 says so"
prints "2.11 forced" "task text-generation" "$EF" metadata embed two.onnx odd --force-task-detection

# ---- by export ----
works "2.4 export puts metadata in" "$EF" export "$BUS" by --embed-metadata
prints "2.4 it is there" "checksum right" "$EF" metadata validate by/model.onnx
grep -q '/BertForTokenClassification/BertModel/BertEncoder' by/model.onnx && pass || flunk "2.4 tags stay"
fails "2.4 off" "there is no metadata" "$EF" metadata validate made/model.onnx
# What was done, told by the file; the same after it is rewritten.
# told FILE WORDS...
told() {
    "$EF" metadata read "$1" --key export_config >txt 2>err
    "$EF" metadata read "$1" --key pipeline_config >>txt 2>err
    "$EF" metadata validate "$1" | grep -q "checksum right" && pass || flunk "$1: checksum"
    file=$1 && shift
    for words; do has "$file: $words" "$words"; done
}
told by/model.onnx '"opset_version":18' '"optimization_level":1' '"dtype":"fp32"' '"quantization":null' '"static_shapes":null' \
    '"use_external_data":false' '"hierarchy_tags_enabled":true' '"batch_size":null,"sequence_length":null,"num_threads":null'
works "export with options" "$EF" export "$BUS" done --optimize O3 --opset 20 --dtype bf16 --static-shapes 2,32 --clean-onnx
told done/model.onnx '"opset_version":20' '"optimization_level":3' '"dtype":"bf16"' '"static_shapes":\[2,32\]' \
    '"hierarchy_tags_enabled":false' '"batch_size":2,"sequence_length":32'
works "quantize" "$EF" quantize by -o small
told small/model_quantized.onnx '"dtype":"int8"' '"quantization":"dynamic"' '"opset_version":18'
works "quantize to fp16" "$EF" quantize by/model.onnx half.onnx --dtype fp16 --no-report
told half.onnx '"dtype":"fp16"' '"quantization":null'
works "convert" "$EF" onnx convert by/model.onnx far.onnx --external --opset 21
told far.onnx '"opset_version":21' '"use_external_data":true'
works "O2, then convert" "$EF" export "$BUS" two.d --optimize O2 && works "convert" "$EF" onnx convert two.d/model.onnx kept.onnx --opset 20
told kept.onnx '"optimization_level":2' '"opset_version":20'
works "embed into it" "$EF" metadata embed done/model.onnx "$BUS" -o again.onnx
told again.onnx '"optimization_level":2' '"dtype":"bf16"' '"static_shapes":\[2,32\]'
works "embed into int8" "$EF" metadata embed small/model_quantized.onnx "$BUS" -o again8.onnx
told again8.onnx '"dtype":"int8"' '"quantization":"dynamic"'
works "validate --repair puts tags in" "$EF" validate --repair done/model.onnx --sidecar done/model_htp_metadata.json
told done/model.onnx '"hierarchy_tags_enabled":true' '"optimization_level":3'

# One .onnx alone, by default where the tokenizer is small.
prints "by default the tokenizer is inside" "model.onnx holds its config and tokenizer: it runs alone" "$EF" export "$BUS" whole
works "without" "$EF" export "$BUS" without --no-include-tokenizer && lacks "without" "runs alone"
mkdir lonely && mv whole/model.onnx lonely/a.onnx && cp without/model.onnx lonely/b.onnx
prints "one file runs" '"SRC": "Bangalore"' "$EF" extract -m lonely/a.onnx "$Q"
refuses "one file without does not" "not found" "$EF" extract -m lonely/b.onnx "$Q"
cp -r "$BUS" fat && awk 'BEGIN { printf "{\"x\": \""; for (i = 0; i < 500000; i++) printf "0123456789"; print "\"," } NR == 1 { sub(/^{/, "") } { print }' \
    "$BUS/tokenizer.json" >fat/tokenizer.json
works "a large one stays out" "$EF" export fat large && lacks "a large one stays out" "runs alone"
prints "unless asked for" "runs alone" "$EF" export fat large --include-tokenizer
works "no tokenizer is no error" "$EF" export "$GOLDEN/bert" no-tokens
refuses "both" "not both" "$EF" export "$BUS" out --include-tokenizer --no-include-tokenizer
works "include-tokenizer" "$EF" export "$BUS" lone.onnx --no-config --include-tokenizer
(mkdir elsewhere && mv lone.onnx elsewhere && cd elsewhere && "$EF" extract -m lone.onnx "$Q") >txt 2>err
has "2.9 exported to one file" '"SRC": "Bangalore"'
works "another task than the class says" "$EF" export "$BUS" other --task feature-extraction
prints "the task is in the file" '^feature-extraction$' "$EF" metadata read other/model.onnx --key pipeline_task
prints "and is used" '"embeddings"' "$EF" infer -m other "$Q"
refuses "no tokenizer to include" "tokenizer.json not found" "$EF" export "$GOLDEN/bert" none --include-tokenizer
[ ! -e none ] && pass || flunk "a refusal writes nothing"
prints "4.2 --verify" '^  - B-SRC: "Bangalore"$' "$EF" export "$BUS" tried --verify
prints "--verify TEXT" '^  - B-DEST: "Goa"$' "$EF" export "$BUS" tried --verify "from Pune to Goa"
prints "--verify --json" '"verification": {' "$EF" export "$BUS" tried --json --verify "from Pune to Goa"
prints "--verify, golden outputs of the source" "fp32 against golden outputs" "$EF" export "$GOLDEN/bert" tried-bert --verify
cp -r "$BUS" odd-labels && rm -f odd-labels/model.onnx && sed 's/"18": "[^"]*"/"18": "x", "19": "y"/' "$BUS/config.json" >odd-labels/config.json
works "3.3 a failed check is a warning" "$EF" export odd-labels checked
grep -q "Warning: may not work with Optimum: labels: config.json has 20 labels, the graph gives 19" err && pass || flunk "3.3 warned"

# ---- a sentence-transformers folder: the graph pools by itself, and metadata tells the task ----
cp -r "$GOLDEN/modernbert" st && mkdir st/1_Pooling
echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]' >st/modules.json
echo '{"word_embedding_dimension": 24, "pooling_mode_mean_tokens": true}' >st/1_Pooling/config.json
echo '{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null,
"post_processor": null, "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2}}}' >st/tokenizer.json
works "sentence-transformers" "$EF" export st pooled
prints "its task" '^sentence-similarity$' "$EF" metadata read pooled/model.onnx --key pipeline_task
prints "one vector a text" '"embedding": \[' "$EF" infer -m pooled "a b"
sed '/model_id/d' txt >folder
prints "validate" "answers, as sentence_embedding" "$EF" validate pooled
prints "verify" "similarity of 1 and 2: " "$EF" verify pooled "a b" "b a"
printf 'encoderfile:\n  name: st\n  path: pooled\n  model_type: sentence_embedding\n' >c.yml
works "build" "$EF" build -f c.yml && works "the package answers" ./st.encoderfile infer "a b"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "package and folder give one vector"
echo '{"prompts": {"ask": "a "}, "default_prompt_name": "ask"}' >pooled/config_sentence_transformers.json
works "a default prompt" "$EF" infer -m pooled "b"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "the default prompt stands before the text"
works "build, with a default prompt" "$EF" build -f c.yml && works "the package answers" ./st.encoderfile infer "b"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "the default prompt is in the package"
echo '{"prompts": {"ask": "a "}, "default_prompt_name": "tell"}' >pooled/config_sentence_transformers.json
refuses "a default prompt that is not there" 'default_prompt_name: found "tell", which is not in prompts' "$EF" infer -m pooled "b"
echo '{"prompts": {"ask": null}, "default_prompt_name": "ask"}' >pooled/config_sentence_transformers.json
works "a prompt that is null is no text" "$EF" infer -m pooled "a b"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "a prompt that is null is no text"

# ---- one file alone ----
works "2.9 with the tokenizer" "$EF" metadata embed "$PLAIN" "$BUS" --include-tokenizer -o solo/ner.onnx
grep -q 'gzip:H4sI' solo/ner.onnx && pass || flunk "2.12 compressed"
works "2.12 not compressed" "$EF" metadata embed "$PLAIN" "$BUS" --include-vocab --no-compress -o plain/ner.onnx
grep -q 'gzip:H4sI' plain/ner.onnx && flunk "2.12 --no-compress" || pass
"$EF" infer -m made "$Q" 2>err | sed '/model_id/d' >folder
for f in solo plain; do
    (cd $f && "$EF" infer -m ner.onnx "$Q") 2>err | sed '/model_id/d' >alone
    cmp -s folder alone && grep -q B-SRC alone && pass || flunk "2.9 $f: one file answers as its folder"
done
printf 'encoderfile:\n  name: ner\n  path: solo/ner.onnx\n  model_type: token_classification\n' >c.yml
works "2.9 build from one file" "$EF" build -f c.yml
works "the package runs" ./ner.encoderfile infer "$Q"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "2.9 package answers alike"
works "2.19 files of before" "$EF" infer -m made/model.onnx "$Q"
sed '/model_id/d' txt | cmp -s - folder && pass || flunk "2.14, 2.19 the same answers without metadata"
cp "$BUS/config.json" "$BUS/tokenizer.json" plain/ && sed 's/B-SRC/B-ORIGIN/g' "$BUS/config.json" >plain/config.json
prints "2.9 what is inside wins when it is whole" '"B-SRC"' "$EF" infer -m plain/ner.onnx "$Q"
mkdir part && cp a/b/one.onnx part/ner.onnx
refuses "no tokenizer anywhere" "tokenizer.json not found" "$EF" infer -m part/ner.onnx x
cp plain/config.json plain/tokenizer.json part/
prints "files beside fill up" '"B-ORIGIN"' "$EF" infer -m part/ner.onnx "$Q"
rm part/config.json
prints "2.9 config from inside" '"B-SRC"' "$EF" infer -m part/ner.onnx "$Q"
sed 's/"token-classification"/"token-classificatiom"/; s/token-classification/token-classificatiom/' solo/ner.onnx >solo/bad.onnx
refuses "2.15 a byte changed" "config.json not found" "$EF" infer -m solo/bad.onnx x
grep -q "metadata not used: hf_checksum" err && pass || flunk "2.15 warns"
cp "$BUS/config.json" "$BUS/tokenizer.json" solo/
prints "2.15 falls back" '"B-SRC"' "$EF" infer -m solo/bad.onnx "$Q"
sed 's/hf_metadata_version\(..\)2.0/hf_metadata_version\13.0/' solo/ner.onnx >solo/new.onnx
prints "2.16 a newer version counts as absent" '"B-SRC"' "$EF" infer -m solo/new.onnx "$Q"
grep -q 'found "3.0", wanted 1.x or 2.0' err && pass || flunk "2.16 says so"
mkdir untold && cp "$PLAIN" "$BUS/tokenizer.json" untold/ && sed 's/BertForTokenClassification/Odd/' "$BUS/config.json" >untold/config.json
refuses "2.11 no task: three remedies" "--task .*metadata embed.*force-task-detection" "$EF" infer -m untold x
prints "2.11 forced: a guess by labels" '"B-SRC"' "$EF" infer -m untold --force-task-detection "$Q"
prints "2.10 the task given" '"B-SRC"' "$EF" infer -m untold --model-type token_classification "$Q"
prints "2.10 by Hugging Face's name" '"B-SRC"' "$EF" infer -m untold --task ner "$Q"
works "2.14 metadata in a folder tells the task" "$EF" metadata embed untold/model.onnx "$BUS"
prints "2.14 metadata in a folder tells the task" '"B-SRC"' "$EF" infer -m untold "$Q"
# A file of 400 MB: an unknown field stands for its weights; nothing of it is touched.
cp "$PLAIN" big.onnx && printf '\232\006\200\200\200\310\001' >>big.onnx && truncate -s +419430400 big.onnx
tail -c +"$(($(stat -c %s "$PLAIN") + 1))" a/b/one.onnx >>big.onnx
took=$("$EF" metadata read big.onnx >txt 2>err; times | tail -1) # CPU time: other work on the machine does not count
has "2.17 a large file" "token-classification"
echo "$took" | grep -q '^0m0\.0[0-9]*s 0m0\.0[0-9]*s' && pass || flunk "2.17 in 100 ms: $took"
rm big.onnx

# ---- add-config ----
mkdir lone && cp "$PLAIN" lone/net.onnx && touch -d 2001-01-01 lone/net.onnx && before=$(stat -c '%i %Y %s' lone/net.onnx)
prints "1.22 add-config" "Added config files to lone" "$EF" add-config lone/net.onnx "$BUS"
[ "$before" = "$(stat -c '%i %Y %s' lone/net.onnx)" ] && cmp -s "$PLAIN" lone/net.onnx && pass || flunk "1.22 the ONNX is not touched"
for f in config.json tokenizer.json tokenizer_config.json special_tokens_map.json label2id.json id2label.json; do
    cmp -s "$BUS/$f" lone/$f && pass || flunk "1.22 $f"
done
[ "$(stat -c %a lone/config.json)" = 644 ] && pass || flunk "3.19 mode"
prints "1.24 overhead is told" "files, 4[0-9].[0-9]* KB" "$EF" add-config lone/net.onnx "$BUS"
prints "1.25 --json" '"milliseconds": ' "$EF" add-config --json lone/net.onnx "$BUS"
prints "the file runs with them" '"B-SRC"' "$EF" infer -m lone/net.onnx "$Q"
for model in "$GOLDEN"/*; do
    mkdir "add-$(basename "$model")" && cp "$PLAIN" "add-$(basename "$model")/"
    works "1.28 $(basename "$model"): no tokenizer is no error" "$EF" add-config "add-$(basename "$model")/model.onnx" "$model"
done
refuses "no config" "config.json: not found" "$EF" add-config lone/net.onnx "$work/part"
refuses "no ONNX" "nowhere.onnx" "$EF" add-config nowhere.onnx "$BUS"
refuses "not an ONNX" "wanted an ONNX model\|protobuf" "$EF" add-config "$BUS/config.json" "$BUS"
refuses "no model" "nor whole in" "$EF" add-config lone/net.onnx no/such
refuses "one word" "wanted an .onnx" "$EF" add-config lone/net.onnx

# ---- validate DIR ----
prints "1.16 a folder that loads" "Optimum loads it, as ORTModelForTokenClassification$" "$EF" validate made
for row in config.json model.onnx loads processors pipeline runs; do has "3.13 $row" "^  ok  *$row "; done
prints "--json" '"compatible": true' "$EF" validate made --json
has "3.2 optional files" '"special_tokens_map.json": true'
# changed NAME: a copy of the folder, to be broken.
changed() { rm -rf bad && cp -r made bad && chmod -R u+w bad; }
changed && rm bad/config.json && fails "1.15 no config" "Missing required files: config.json" "$EF" validate bad
has "1.26 a remedy" "add-config"
changed && rm bad/model.onnx && fails "1.15 no model" "Missing required files: model.onnx" "$EF" validate bad
mkdir empty && fails "1.15 neither" "Missing required files: model.onnx, config.json" "$EF" validate empty
changed && rm bad/tokenizer.json bad/vocab.txt && prints "1.26 no tokenizer: a warning" "warning  processors" "$EF" validate bad
changed && mv bad/model.onnx bad/net.onnx && prints "another name: a warning" "net.onnx is taken instead" "$EF" validate bad
changed && head -c 9000 "$PLAIN" >bad/model.onnx && fails "1.16 cut off" "failed  *loads" "$EF" validate bad
changed && sed 's/logits/logitz/g' "$PLAIN" >bad/model.onnx && fails "output renamed" "wanted logits" "$EF" validate bad
changed && sed 's/input_ids/input_idz/g' "$PLAIN" >bad/model.onnx && fails "input renamed" "input_idz, which no tokenizer" "$EF" validate bad
changed && sed 's/Softmax/Softmix/g' "$PLAIN" >bad/model.onnx && fails "1.16 does not load" "Softmix" "$EF" validate bad
changed && echo '{}' >bad/config.json && fails "no model_type" "model_type is missing" "$EF" validate bad
changed && echo '{' >bad/config.json && fails "broken config" "failed  *config.json" "$EF" validate bad
changed && sed 's/"18": "[^"]*"/"18": "x", "19": "y"/' made/config.json >bad/config.json && fails "labels" "20 labels" "$EF" validate bad
changed && cp solo/bad.onnx bad/model.onnx && prints "2.15 broken metadata is a warning" "warning  metadata" "$EF" validate bad
changed && cp solo/ner.onnx bad/model.onnx && prints "good metadata" "ok  *metadata" "$EF" validate bad
refuses "no folder" "no-such" "$EF" validate no-such
prints "validate FILE --check-metadata" "Metadata is valid" "$EF" validate solo/ner.onnx --check-metadata
fails "validate FILE --check-metadata, broken" "Metadata: hf_checksum" "$EF" validate solo/bad.onnx --check-metadata
fails "validate FILE --check-task, none" "there is no metadata" "$EF" validate "$PLAIN" --check-task --check-processor
prints "validate FILE --json" '"metadata_problems": \[\]' "$EF" validate solo/ner.onnx --check-metadata --json

# ---- extract ----
prints "4.12 extract" '"SRC": "Bangalore"' "$EF" extract -m made "$Q"
has "4.12 a type that is not there" '"OPERATOR": null'
mv txt fp32 && works "quantized" "$EF" quantize made && mv made/model_quantized.onnx small.onnx && rm -f made/ort_config.json
works "4.12 package" ./ner.encoderfile extract "$Q"
cmp -s txt fp32 && pass || flunk "4.12 the same from a folder and a package"
prints "several words" '"DATE": "next Friday"' "$EF" extract -m made "bus from Pune to Goa next  	Friday"
prints "real offsets" '"start": 26,' "$EF" extract --detailed -m made "bus from Pune  to 	 Goa   next Friday"
prints "offsets in characters" '"start": 11,' "$EF" extract --detailed --offsets chars -m made "für b from Pune to Goa"
prints "a list for several texts" '^\[' "$EF" extract -m made "$Q" "from Pune to Goa"
prints "--all" '"DEST": \[' "$EF" extract --all -m made "$Q"
prints "an empty query" '"SRC": null' "$EF" extract -m made ""
refuses "no text" "at least one text" "$EF" extract -m made
refuses "not UTF-8" "UTF-8" "$EF" extract -m made "$(printf 'a\377')"
refuses "no model" "no-such" "$EF" extract -m no-such x

# ---- verify ----
works "4.10 verify" "$EF" verify made
for words in 'VERIFYING ONNX MODEL' 'Query: "AC sleeper bus from Bangalore to Mumbai tomorrow"' '^  - B-BUS_TYPE: "AC"$' \
    '^  - B-SEAT_TYPE: "sleeper"$' '^  - B-SRC: "Bangalore"$' '^  - B-DEST: "Mumbai"$' '^  - B-DATE: "tomorrow"$' \
    'Query: "VRL Non-AC from Chennai to Hyderabad next Friday"' '^  - B-OPERATOR: "VRL"$' '^  - B-BUS_TYPE: "Non-AC"$' \
    '^  - B-SRC: "Chennai"$' '^  - B-DEST: "Hyderabad"$' '^  - B-DATE: "next"$' 'VERIFICATION COMPLETE'; do
    has "4.10" "$words"
done
lacks "4.10 no numbers without files" "against"
prints "4.11 a text of one's own" '^  - B-DEST: "Goa"$' "$EF" verify made "from Pune to Goa"
prints "--json" '"label": "B-DEST"' "$EF" verify made "from Pune to Goa" --json
has "--json, ok" '"ok": true'
prints "one file alone" '^  - B-SRC: "Bangalore"$' "$EF" verify solo/ner.onnx
cp small.onnx made/model_quantized.onnx
prints "the int8 model beside it" "against fp32 on 2 texts: cosine 0.9" "$EF" verify made
prints "--json, int8" '"same_labels": ' "$EF" verify made --json
rm made/model_quantized.onnx
printf -- '---\nlicense: mit\nwidget:\n- text: "Volvo from Pune to Goa"\n---\n# A model\n' >made/README.md
prints "samples of the folder" 'Query: "Volvo from Pune to Goa"' "$EF" verify made
lacks "samples of the folder" "Bangalore" && rm made/README.md
for model in "$GOLDEN"/*; do
    name=$(basename "$model")
    works "$name" "$EF" export "$model" "verify/$name" --no-config
    mkdir "verify-$name" && mv "verify/$name" "verify-$name/model.onnx" && cp "$model/config.json" "verify-$name/"
    prints "4.4 $name: golden outputs" "fp32 against golden outputs: largest difference [0-9.]*e-0[5-9]" \
        "$EF" verify "verify-$name" --golden "$model"
done
cp -r "$GOLDEN/bert" golden && cp "$GOLDEN/roberta/output.npy" golden/
fails "other numbers" "VERIFICATION FAILED" "$EF" verify verify-bert --golden golden
head -c 100 "$GOLDEN/bert/ids.npy" >golden/ids.npy
refuses "broken golden file" "ids.npy" "$EF" verify verify-bert --golden golden
refuses "4.10 cannot load" "not found" "$EF" verify empty
changed && head -c 9000 "$PLAIN" >bad/model.onnx && refuses "4.10 cannot load, broken" "model.onnx" "$EF" verify bad
refuses "no model" "wanted a model" "$EF" verify
finish
