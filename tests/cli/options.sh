#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# options.sh [PROGRAM] - an option does something or is refused with the reason; `verify` checks something for every
# task and fails where it cannot; `quantize`, `build` and `verify` tell accuracy alike; `build` never replaces what it
# reads. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/export
Q="AC sleeper bus from Bangalore to Mumbai"
works "export" "$EF" export "$BUS" made
cp made/model.onnx bare.onnx

# ---- refused, each with its reason ----
refuse() { # WORDS COMMAND...
    words=$1 && shift
    refuses "$*" "$words" timeout 20 "$EF" "$@"
}
refuse "found --disable-grpc beside it" serve -m made --disable-grpc --grpc-port 0
refuse "found --disable-http beside it" serve -m made --disable-http --http-port 0
refuse "found --disable-http beside it" serve -m made --disable-http --port 0
refuse "found --port beside it" serve -m made --port 0 --http-port 0
refuse -- '--port: found "x"' serve -m made --port x
refuse "wanted one: only packages" serve -m made --port 0 --verify
refuse "wanted one: only packages" inspect made --verify
refuse "found 2 files" inspect made -m made
refuse "found --stdio beside it" mcp -m made --stdio --port 0
refuse "found --stdio beside it" mcp -m made --stdio --api-key k
refuse "wanted --detailed beside it" extract -m made --offsets chars "$Q"
refuse "found --entities beside it" infer -m made --offsets chars --entities "$Q"
refuse "no effect on the texts of the line" infer -m made --field note "$Q"
refuse "no effect on the texts of the line" infer -m made --input-format csv "$Q"
refuse "found plain text, wanted jsonl, csv or arrow" infer -m made -i "$BUS/README.md" --field note
refuse "wanted --output beside it" map -m made x.jsonl --resume
refuse "no effect on a few texts" tokenize -m made --threads 2 "$Q"
refuse "a task beside --tokenizer" tokenize -t made --model-type embedding "$Q"
refuse "found --model-type beside it" infer -m made --model-type embedding --force-task-detection "$Q"
refuse "found --output-format csv beside it" analyze made/model.onnx --json --output-format csv
refuse "wanted json or summary" analyze made/model.onnx --show-task --output-format csv
refuse "found a folder, wanted an .onnx" validate made --repair
fails "validate --check-consistency, no sidecar" "nothing to compare with" "$EF" validate bare.onnx --check-consistency
refuse "found --json beside it" metadata read made/model.onnx --key task --json
refuse "found --no-compress beside it" metadata embed made/model.onnx "$BUS" --no-compress --compress-threshold 5
refuse "found --task ner beside it" metadata embed made/model.onnx "$BUS" --task ner --force-task-detection
refuse "found --no-embed-metadata beside it" export "$BUS" no --include-tokenizer --no-embed-metadata
refuse "found --no-embed-metadata beside it" export "$BUS" no --embed-metadata --no-embed-metadata
refuse "found --clean-onnx beside it" export "$BUS" no --embed-hierarchy --clean-onnx
refuse "found --no-config beside it" export "$BUS" no.onnx --no-config --with-report
refuse "found --target beside it" quantize made -o no --target avx2 --arm64
refuse "found --arm64 beside it" quantize made -o no --avx2 --arm64
refuse "options of int8 beside it" quantize made -o no --dtype fp16 --target avx2
refuse "found --model beside it" quantize -m made --onnx_model made -o no
refuse "found --no-report beside it" quantize made -o no --calibrate x --no-report
refuse "found --output-path beside it" build -f c.yml -o x --output-dir y
refuse "did you mean --normalize\|unknown option --thread" bench -m made --thread 2
[ ! -e no ] && [ ! -e no.onnx ] && pass || flunk "a refusal writes nothing"
prints "help of a refused line" "http-port" "$EF" serve --help --port 0 --http-port 0

# ---- these do something ----
prints "--input-text alone verifies" '^  - B-DEST: "Goa"$' "$EF" export "$BUS" tried --input-text "from Pune to Goa"
prints "--input-text with --verify" 'Query: "to Delhi"' "$EF" export "$BUS" tried --input-text "from Pune to Goa" --verify "to Delhi"
has "--input-text with --verify" 'Query: "from Pune to Goa"'
works "--verbose beside --json" "$EF" export "$BUS" tried --json -v
grep -q 'Step 4/4' err && [ "$(head -c 1 txt)" = "{" ] && pass || flunk "--verbose beside --json: lines on stderr"
for command in "analyze made/model.onnx" "validate made/model.onnx" "compare made/model.onnx bare.onnx" "export-graphml made/model.onnx -o g"; do
    works "$command" "$EF" $command && grep -q 'tags from' err && flunk "$command says too much"
    works "$command -v" "$EF" $command -v
    grep -q 'nodes, tags from' err
    check $? "$command -v says what was found"
done
works "import-onnx -v" "$EF" import-onnx g.graphml again.onnx -v
grep -q 'g.graphml: .* nodes' err
check $? "import-onnx -v says what was found"
"$EF" serve -m made --port 0 --hostname 127.0.0.1 --disable-grpc 2>log &
server=$!
for i in 1 2 3 4 5 6 7 8 9 10; do grep -q 'serving' log && break || sleep 0.3; done
grep -q 'on http://127.0.0.1:' log
check $? "serve --port --hostname"
kill $server && wait $server 2>/dev/null

# ---- misspelled keys of the YAML ----
printf 'encoderfile:\n  name: x\n  path: made\n  model_typ: token_classification\n' >c.yml
refuse 'unknown key `model_typ`: did you mean `model_type`' build -f c.yml
printf 'encoderfile:\n  name: x\n  path: made\n  model_type: token_classification\n  cache_dir: /nowhere\n' >c.yml
works "cache_dir" "$EF" build -f c.yml -o x.encoderfile
grep -q 'cache_dir has no effect' err
check $? "cache_dir says that it has no effect"

# ---- verify: every task ----
words='{"version": "1.0", "added_tokens": [{"id": 3, "content": "[MASK]", "single_word": false, "lstrip": false,
"rstrip": false, "normalized": false, "special": true}], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
"decoder": null, "post_processor": null, "model": {"type": "WordLevel", "unk_token": "u",
"vocab": {"u": 0, "a": 1, "b": 2, "[MASK]": 3}}}'
folder() { # NAME SOURCE: a model with a tokenizer of four words
    cp -r "$GOLDEN/$2" "$1" && rm -f "$1"/*.npy && echo "$words" >"$1/tokenizer.json"
    echo '{"mask_token": "[MASK]"}' >"$1/tokenizer_config.json"
}
folder masks distilbert && folder labels roberta && folder vectors modernbert && folder tokens bert && folder answers bert
prints "verify token_classification" "VERIFICATION COMPLETE" "$EF" verify tokens
prints "verify sequence_classification" "^  - LABEL_[0-9]: 0\." "$EF" verify labels
prints "verify embedding" "a vector of 24 numbers" "$EF" verify vectors
has "verify embedding" "similarity of 1 and 2"
prints "verify fill_mask" '^  - ".*": 0\.' "$EF" verify masks
has "verify fill_mask" 'Query: "Paris is the capital of \[MASK\]."'
prints "verify sparse_embedding" "weights for [1-9]" "$EF" verify masks --model-type sparse_embedding
prints "verify sentence_embedding" "a vector of 24 numbers" "$EF" verify vectors --model-type sentence_embedding
works "export a foreign task" "$EF" export tokens qa --no-embed-metadata && sed "s/ForTokenClassification/ForCausalLM/" tokens/config.json >qa/config.json
"$EF" quantize qa >/dev/null 2>&1
prints "verify a foreign task" "output of [0-9]* x 5 numbers" "$EF" verify qa
has "its int8 model" 'against fp32 on 3 texts: cosine 0\.9'
fails "fill_mask without a mask" "text 1: found no mask to fill" "$EF" verify masks "a b"
fails "an empty text" "text 2 is empty" "$EF" verify tokens "a" ""
rm qa/tokenizer.json qa/tokenizer_config.json qa/model_quantized.onnx
fails "no tokenizer, nothing to check" "nothing could be checked" "$EF" verify qa
refuses "golden outputs that are not there" "found no output.npy in made" "$EF" verify made --golden made
works "export tokens" "$EF" export tokens other && cp made/model.onnx other/model_quantized.onnx
fails "an int8 model that is another" "the quantized model cannot be compared" "$EF" verify other
fails "--json" '"problems": \[' "$EF" verify other --json
has "--json" '"ok": false'

# ---- accuracy: the same line, and the same members ----
works "quantize" "$EF" quantize made -o small
grep -o 'against fp32 on .* agree' txt >wanted
printf 'encoderfile:\n  name: int8\n  path: made\n  model_type: token_classification\n  precision: int8\n' >int8.yml
prints "build of int8" 'against fp32 on 10 texts: cosine 0.9[0-9]* on average, 0.9[0-9]* at worst; [0-9.]* % of [0-9]* labels agree' \
    "$EF" build -f int8.yml -o int8.encoderfile
[ "$(grep -o 'against fp32 on .* agree' txt | tr -d 0-9)" = "$(tr -d 0-9 <wanted)" ]
check $? "quantize and build say it in the same words"
prints "build --json" '"mean_cosine": 0.9' "$EF" build -f int8.yml -o int8.encoderfile --json
tr -d ' \n' <txt >flat
for part in '"written":[[]"int8.encoderfile"[]]' '"copied":[[][^]]*config.json"' '"missing":[[]' '"bytes":[0-9]{7,},' '"seconds":[0-9.e-]+'; do
    grep -qE "$part" flat && pass || flunk "build --json: $part"
done
sed -n '/"accuracy"/,/}/p' txt | sed 's/:.*//' >members
works "quantize --json" "$EF" quantize made -o small --json
sed -n '/"accuracy"/,/}/p' txt | sed 's/:.*//' | cmp -s - members && [ -s members ]
check $? "quantize and build have the same members"
echo "$Q" >own.txt
prints "build --calibrate" 'on 1 texts' "$EF" build -f int8.yml -o int8.encoderfile --calibrate own.txt
works "build --no-report" "$EF" build -f int8.yml -o int8.encoderfile --no-report && lacks "build --no-report" "against fp32"
works "build of fp32" "$EF" build -f int8.yml -o fp32.encoderfile --precision fp32 && lacks "build of fp32" "against fp32"

# ---- build: what it reads stays ----
printf 'function Postprocess(t) return t end\n' >script.lua
cp "$EF" base && mkdir in && cp made/config.json made/tokenizer.json made/model.onnx in/ && echo note >in/note
printf 'encoderfile:\n  name: x\n  path: in\n  model_type: token_classification\n  base_binary_path: base\n  transform: {path: script.lua}\n' >c.yml
ln -s in/model.onnx symlink && ln in/model.onnx hardlink && ln -s in/missing dangling
for output in in/model.onnx in/config.json in/tokenizer.json in/note script.lua c.yml base symlink hardlink; do
    cp -L $output before
    refuses "build onto $output" "wanted" "$EF" build -f c.yml -o $output
    cmp -s $output before
    check $? "build onto $output: nothing changed"
done
: >empty && works "build onto an empty file" "$EF" build -f c.yml -o empty
works "build onto an earlier package" "$EF" build -f c.yml -o empty
works "build through a link to nothing" "$EF" build -f c.yml -o dangling && rm -f in/missing
works "build into the model's folder" "$EF" build -f c.yml -o in/x.encoderfile && works "and again" "$EF" build -f c.yml -o in/x.encoderfile
cp in/x.encoderfile base && refuses "build onto a base that is a package" "the program that the package begins with" \
    "$EF" build -f c.yml -o base

# ---- a name that ends in / is a folder's: nothing is made ----
refuses "build onto x/" "wanted a file's (--output-dir" "$EF" build -f c.yml -o new/x/
refuses "onnx convert onto x/" "wanted a file's name" "$EF" onnx convert bare.onnx new/x/
[ ! -e new ] && pass || flunk "an output that ends in / leaves a folder behind"

# ---- no command replaces what it reads ----
cp bare.onnx own.onnx && printf 'to Goa\n' >own.txt && cp -r "$BUS" own && "$EF" export-graphml own.onnx -o own >/dev/null
printf '{"a":1}' >own.json && ln -s own.onnx own_link.onnx
stays() { # FILE COMMAND...
    file=$1 && shift && cp -r "$file" before.copy
    refuses "$*" "found \(the input\|a file of the source\).*nothing was written" timeout 20 "$EF" "$@"
    cmp -s "$file" before.copy
    check $? "$*: $file is not the same"
}
stays own.onnx quantize own.onnx -o own.onnx
stays own.onnx quantize own.onnx -o own_link.onnx
stays own.onnx onnx convert own.onnx own.onnx --fold
stays own.onnx onnx convert own.onnx ./own_link.onnx
stays own.onnx onnx extract own.onnx own.onnx --tag BertLayer.0
stays own.json onnx extract own.onnx own.json --sidecar own.json --tag BertLayer.0
stays own.onnx metadata embed own.onnx "$BUS" -o own.onnx
stays own.graphml import-onnx own.graphml own.graphml
stays own.onnx analyze own.onnx --output-file own.onnx
stays own.onnx compare bare.onnx own.onnx --output-file own.onnx
stays own.txt infer -m made -i own.txt -o own.txt
stays own.txt map -m made own.txt -o own.txt
stays own.txt map -m made own.txt -o own.txt --resume
stays own/model.safetensors export own own/model.safetensors --no-config
stays own/config.json export own own/config.json --no-config
{
    printf '\223NUMPY\001\000\166\000' && printf '%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1), }"
    printf '\001\000\000\000\000\000\000\000'
} >logits.npy
stays logits.npy onnx run bare.onnx -i input_ids=logits.npy -i attention_mask=logits.npy -i token_type_ids=logits.npy
refuses "export onto a file" "found a file, wanted a folder" "$EF" export own own.txt
"$EF" map -m made --input-format text <own.txt -o own.txt >txt 2>err && flunk "map of stdin onto itself"
"$EF" map -m made own.txt >>own.txt 2>err && flunk "map by the shell onto itself"
[ "$(cat own.txt)" = "to Goa" ]
check $? "map by the shell onto itself: own.txt is not the same"

# ---- --tokenizer of the commands that write a model ----
mkdir words && cp "$ROOT/tests/golden/torch/ner/vocab.txt" words
works "export --tokenizer" "$EF" export "$BUS" worded --tokenizer words
prints "export --tokenizer: the folder" '"ids":\[2,5,7,12,3\]' "$EF" tokenize -t worded "bus to pune"
[ ! -e worded/tokenizer_config.json ] && cmp -s words/vocab.txt worded/vocab.txt
check $? "export --tokenizer: none of the source's own files"
mkdir lone && cp worded/model.onnx lone
prints "export --tokenizer: inside" '"ids":\[2,5,7,12,3\]' "$EF" tokenize -m lone/model.onnx "bus to pune"
cp worded/tokenizer.json renamed.json
works "export --tokenizer FILE" "$EF" export "$BUS" again --tokenizer renamed.json && cmp -s renamed.json again/tokenizer.json
check $? "export --tokenizer FILE: as tokenizer.json"
works "metadata embed --tokenizer" "$EF" metadata embed bare.onnx "$BUS" -o lone/put.onnx --tokenizer words
prints "metadata embed --tokenizer: inside" '"ids":\[2,5,7,12,3\]' "$EF" tokenize -m lone/put.onnx "bus to pune"
refuses "metadata embed --tokenizer, none there" "--tokenizer: nowhere: found no tokenizer.json" \
    "$EF" metadata embed bare.onnx "$BUS" -o lone/no.onnx --tokenizer nowhere
refuses "export --tokenizer, none there" "--tokenizer: nowhere: found no tokenizer.json" "$EF" export "$BUS" no --tokenizer nowhere
refuses "export --tokenizer into the source" "its own tokenizer would be replaced" "$EF" export own own --tokenizer words
refuse "found --tokenizer beside it" export "$BUS" no --tokenizer words --no-tokenizer
[ ! -e no ] && [ ! -e lone/no.onnx ] && pass || flunk "--tokenizer: a refusal writes nothing"

# ---- an .onnx by another name ----
cp -r made other_name && mv other_name/model.onnx other_name/encoder_model.onnx
prints "the only .onnx of a folder" B-DEST "$EF" infer -m other_name "bus to Goa"
works "quantize: the only .onnx of a folder" "$EF" quantize other_name -o other_small
mkdir other_name/onnx && mv other_name/encoder_model.onnx other_name/onnx/my.onnx
prints "the only .onnx of onnx" B-DEST "$EF" infer -m other_name "bus to Goa"
cp bare.onnx other_name/onnx/decoder_model.onnx
refuses "two of them, in onnx" "model.onnx not found.*its folder onnx has .*decoder_model.onnx.*give the one that is meant" \
    "$EF" infer -m other_name x
mv other_name/onnx/* other_name
refuses "two of them" "the folder has .*my.onnx.*give the one that is meant by its path" "$EF" infer -m other_name x
prints "and one by its path" B-DEST "$EF" infer -m other_name/my.onnx "bus to Goa"
rm other_name/*.onnx && refuses "none of them" "nor is there model.safetensors" "$EF" infer -m other_name x

# ---- names that are nearly right ----
refuse "unknown option --pool: did you mean --pooling" infer -m made --pool cls x
prints "serve --help names --port" "-http-port N .*(or --port)" "$EF" serve --help

# ---- pooling is of vectors ----
refuses "pooling of a tagger" "only vectors are pooled" "$EF" infer -m "$BUS" --pooling cls x

finish
