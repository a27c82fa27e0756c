#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - drives the built program as a person would: what works, and every way in which files, flags and
# disks can be wrong. A broken input must give one line on stderr, an exit code, and leave nothing behind.
# usage: tests/cli/run.sh [PROGRAM]; the last line is "N passed, N failed, N skipped".
set -u
LC_ALL=C
export LC_ALL
root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
EF=${1:-$root/build/encoderfile}
case $EF in /*) ;; *) EF=$PWD/$EF ;; esac
T=$(mktemp -d) && MODEL=$(mktemp -d) || exit 1
trap 'rm -rf "$T" "$MODEL"' EXIT
"$EF" export "$root/examples/bus-ner" "$MODEL" >/dev/null || exit 1
trap 'exit 1' INT TERM
cd "$T" || exit 1
unset MODEL_WEIGHTS_PATH TOKENIZER_PATH MODEL_CONFIG_PATH MODEL_TYPE MODEL_NAME
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
flunk() {
    failed=$((failed + 1))
    echo "  FAILED: $*"
    [ -s "$T/err" ] && sed 's/^/    stderr: /' "$T/err" | head -3
}
skip() {
    skipped=$((skipped + 1))
    echo "  skipped: $*"
}

# works NAME COMMAND...: exit 0; stdout stays in $T/txt.
works() {
    name=$1
    shift
    if "$@" >"$T/txt" 2>"$T/err"; then pass; else flunk "$name: exit $?"; fi
}
# prints NAME WORDS COMMAND...: works, and stdout has these words.
prints() {
    name=$1 words=$2
    shift 2
    works "$name" "$@"
    if grep -q -- "$words" "$T/txt"; then pass; else flunk "$name: wanted \"$words\" on stdout"; fi
}
# refuses NAME WORDS COMMAND...: exit 1 or 2, one line on stderr with these words, nothing on stdout.
refuses() {
    name=$1 words=$2
    shift 2
    "$@" >"$T/txt" 2>"$T/err" </dev/null
    code=$?
    if [ $code -ne 1 ] && [ $code -ne 2 ]; then flunk "$name: exit $code"; return; fi
    if [ "$(grep -c '' "$T/err")" != 1 ]; then flunk "$name: wanted one line on stderr"; return; fi
    if ! grep -q '^encoderfile: error: ' "$T/err"; then flunk "$name: no error line"; return; fi
    if [ -s "$T/txt" ]; then flunk "$name: something on stdout"; return; fi
    if grep -q -- "$words" "$T/err"; then pass; else flunk "$name: wanted \"$words\""; fi
}
# breaks NAME WORDS: building ./m is refused, and nothing is left where the package was to be.
breaks() {
    refuses "$1" "$2" "$EF" build -f c.yml
    if [ -z "$(ls -A out 2>/dev/null)" ]; then pass; else flunk "$1: left behind: $(ls -A out)"; fi
}
# A fresh copy of the model in ./m and a config in ./c.yml.
fresh() {
    rm -rf m out c.yml
    mkdir m
    cp "$MODEL/config.json" "$MODEL/tokenizer.json" "$MODEL/model.onnx" m/
    chmod u+w m/*
    yaml "name: x" "path: m" "model_type: token_classification" "output_dir: out"
}
yaml() {
    echo "encoderfile:" >c.yml
    for line; do echo "  $line" >>c.yml; done
}
# change FILE SED-EXPRESSION: edits a copy of the model, binary or not.
change() {
    sed "$2" "m/$1" >m/new && mv m/new "m/$1"
}

# ---- bytes: enough protobuf and NumPy to write a file that is wrong in one way ----
byte() { printf "\\$(printf '%03o' "$1")"; }
varint() {
    n=$1
    while [ "$n" -ge 128 ]; do
        byte $((n % 128 + 128))
        n=$((n / 128))
    done
    byte "$n"
}
# block NUMBER: stdin as a length-delimited field.
block() {
    body=$(mktemp "$T/block.XXXXXX") # pipes run side by side: one file each
    cat >"$body"
    varint $(($1 * 8 + 2))
    varint $(($(wc -c <"$body")))
    cat "$body"
    rm "$body"
}
number() { varint $(($1 * 8)) && varint "$2"; }
text() { printf %s "$2" | block "$1"; }
# value NAME TYPE RANK: a ValueInfoProto.
value() {
    text 1 "$1"
    {
        {
            number 1 "$2"
            { for i in $(seq "$3"); do text 2 "d$i" | block 1; done; } | block 2
        } | block 1
    } | block 2
}
# node OP OUTPUT INPUT...: a NodeProto.
node() {
    op=$1 out=$2
    shift 2
    for in; do text 1 "$in"; done
    text 2 "$out"
    text 4 "$op"
}
# model: stdin is the GraphProto.
model() {
    number 1 8
    block 7
    { text 1 ""; number 2 17; } | block 8
}
int64s() {
    for n; do
        byte "$n"
        printf '\000\000\000\000\000\000\000'
    done
}
# npy SHAPE VALUES...: int64 below 128.
npy() {
    shape=$1
    shift
    printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': ($shape), }"
    int64s "$@"
}

# ---- what works ----
TEXT="AC sleeper bus from Bangalore to Mumbai tomorrow"
fresh
works "build" "$EF" build -f c.yml
P=$T/out/x.encoderfile
[ -x "$P" ] && pass || flunk "the package can be executed"
cp "$P" "$T/good" && P=$T/good
[ -z "$(ls -A out | grep -v '^x.encoderfile$')" ] && pass || flunk "build leaves only the package"
prints "infer, package" '"model_id": "x"' "$P" infer "$TEXT"
sed '/model_id/d' txt >a
works "infer, folder" "$EF" infer --model m "$TEXT"
sed '/model_id/d' txt >b
cmp -s a b && pass || flunk "package and folder answer alike"
works "infer, onnx" "$EF" infer "$TEXT" --model m/model.onnx
sed '/model_id/d' txt | cmp -s - b && pass || flunk "folder and .onnx answer alike"
prints "infer has metadata" '"metadata": {}' "$P" infer "$TEXT" -f json
works "infer -o" "$P" infer -o reply.json "$TEXT"
grep -q '"results"' reply.json && [ ! -s txt ] && pass || flunk "infer -o writes the file only"
prints "the name of ." "\"model_id\": \"${MODEL##*/}\"" sh -c 'cd "$1" && exec "$2" infer -m . x' sh "$MODEL" "$EF"
works "infer, two texts in one batch" "$P" infer "$TEXT" "another text"
works "infer, text that begins with -" "$P" infer -- "-5 degrees"
works "infer, chars" "$P" infer --offsets chars "für $TEXT"
prints "entities" "$TEXT" "$P" infer --entities "$TEXT"
prints "inspect" '"encoderfile_config"' "$EF" inspect "$P"
prints "inspect --verify" '"verified": true' "$P" inspect --verify
prints "inspect, folder" '"input_ids"' "$EF" inspect m
prints "version" '^encoderfile [0-9]' "$EF" version
prints "--version" '^encoderfile [0-9]' "$P" --version
prints "version --json" '"isa"' "$P" version --json
prints "help" '  build ' "$EF" --help
prints "help of a command" 'output-dir' "$EF" help build
prints "help of infer, the limit" 'else 512 tokens' "$EF" infer --help
prints "help of a command, flag" 'example:' "$EF" onnx run --help
"$P" >txt 2>err
[ $? = 2 ] && [ ! -s txt ] && grep -q "a model for token_classification" err && pass || flunk "a package without a command says what it is"
grep -q "labels .*B-SRC" err && grep -q "infer \"AC sleeper bus" err && pass || flunk "its labels, and how to call it"
works "help of a package" "$P" --help
grep -q '  build ' txt && flunk "a package offers build" || pass
prints "tokenize" '"special_tokens_mask"' "$P" tokenize "$TEXT"
works "tokenize, tokenizer" "$EF" tokenize --tokenizer m/tokenizer.json --max-length 4 "$TEXT"
[ "$(sed 's/.*"type_ids":\[\([^]]*\)\].*/\1/' txt)" = "0,0,0,0" ] && pass || flunk "tokenize --max-length"
printf '"one"\n"two three"\n["a","b"]\n' >lines
"$P" tokenize --jsonl <lines >txt 2>err
[ "$(grep -c '"ids"' txt)" = 3 ] && pass || flunk "tokenize --jsonl"
"$P" tokenize --jsonl --threads 3 <lines | cmp -s - txt && pass || flunk "tokenize --jsonl, threads"
prints "tokenize, bytes" '\[5,6\],\[0,0\]\]' "$EF" tokenize -t m "für x"
prints "tokenize, chars" '\[4,5\],\[0,0\]\]' "$EF" tokenize -t m --offsets chars "für x"
prints "tokenize --pair" '"type_ids":\[0,.*,1,1\]' "$EF" tokenize -t m --pair "from Pune" "to Mumbai"
works "tokenize --words" "$EF" tokenize -t m --words from Pune
cp txt a
echo '["from","Pune"]' >lines && "$EF" tokenize -t m --words --jsonl <lines >b 2>err
cmp -s a b && pass || flunk "words as arguments and as a line"
echo 'from Pune' | "$EF" tokenize -t m --words - >b 2>err
cmp -s a b && pass || flunk "words as arguments and as plain text"
printf 'a\tb\n' | "$EF" tokenize -t m --pair - >a 2>err
works "tokenize --pair, arguments" "$EF" tokenize -t m --pair a b
cmp -s a txt && pass || flunk "a pair as arguments and with a tab"
prints "tokenize --stride" '"overflow":\[{"ids"' "$EF" tokenize -t m --max-length 5 --stride 1 "$TEXT"
prints "tokenize --decode" '"text":"from pune"' "$EF" tokenize -t m --decode --skip-special \
    $("$EF" tokenize -t m "from Pune" | sed 's/{"ids":\[\([^]]*\).*/\1/; s/,/ /g')
awk 'BEGIN { for (i = 0; i < 3000; i++) print "line number " i " of many, from here to there" }' >lines
"$EF" tokenize -t m - --threads 1 <lines >a 2>err && "$EF" tokenize -t m - --threads 4 --json <lines >b 2>err
[ "$(grep -c '' a)" = 3000 ] && cmp -s a b && pass || flunk "tokenize -, the same by any number of threads"
{ head -n 1000 lines && printf '\377\n' && tail -n 1000 lines; } | "$EF" tokenize -t m - >a 2>err
[ $? = 1 ] && grep -q 'line 1001: .*UTF-8' err && [ "$(grep -c '' a)" = 1000 ] && pass || flunk "tokenize -, a broken line"
refuses "tokenize, no text" "wanted texts, or - or --jsonl" "$EF" tokenize -t m
refuses "tokenize, not UTF-8" "UTF-8" "$EF" tokenize -t m "$(printf 'a\377')"
refuses "tokenize, odd pair" "wanted an even number" "$EF" tokenize -t m --pair a b c
refuses "tokenize, id too large" "wanted one below" "$EF" tokenize -t m --decode 99999999
refuses "tokenize, ids as JSON" "found token id 5000000000, wanted one below" sh -c "echo '[5000000000]' | '$EF' tokenize -t m --decode --jsonl"
refuses "tokenize, ids as JSON" "found token id -7, wanted one below" sh -c "echo '[-7]' | '$EF' tokenize -t m --decode --jsonl"
refuses "tokenize, no id" "wanted a token id" "$EF" tokenize -t m --decode x
refuses "tokenize, stride alone" "wants --max-length" "$EF" tokenize -t m --stride 3 x
refuses "tokenize, stride too large" "wanted a number below 4" "$EF" tokenize -t m --max-length 4 --stride 4 x
refuses "tokenize, unit" "wanted bytes or chars" "$EF" tokenize -t m --offsets words x
refuses "tokenize, no tokenizer" "found no tokenizer.json, vocab.txt" "$EF" tokenize -t "$root/docs" x
refuses "tokenize, both" "found --model beside it" "$EF" tokenize -t m -m m x
# A folder without tokenizer.json: what transformers makes of vocab.txt.
works "infer with tokenizer.json" "$EF" infer -m m "$TEXT"
cp txt a
if [ -f "$MODEL/vocab.txt" ]; then
    mv m/tokenizer.json . && cp "$MODEL/vocab.txt" m/
    works "infer with vocab.txt" "$EF" infer -m m "$TEXT"
    cmp -s txt a && pass || flunk "vocab.txt and tokenizer.json answer alike"
    works "build with vocab.txt" "$EF" build -f c.yml -o words.encoderfile
    works "infer, package of vocab.txt" ./words.encoderfile infer "$TEXT"
    sed 's/"model_id": .*//' txt >b && sed 's/"model_id": .*//' a | cmp -s - b && pass || flunk "packed vocab.txt answers alike"
    rm m/vocab.txt words.encoderfile && mv tokenizer.json m/
else
    skip "no vocab.txt beside the model"
fi
for kind in c_bert c_roberta c_xlmr; do
    prints "tokenize, $kind" '"tokens":\[' "$EF" tokenize -t "$root/tests/golden/text_models/$kind" "Hello world"
done
# Settings beside tokenizer.json reach the package.
echo '{"tokenizer_class": "BertTokenizer", "do_lower_case": false, "model_max_length": 24}' >m/tokenizer_config.json
works "build, cased by its settings" "$EF" build -f c.yml -o cased.encoderfile
prints "tokenize, cased by its settings" 'UNK' ./cased.encoderfile tokenize "BANGALORE"
prints "inspect, limit of its settings" '"max_length": 24' ./cased.encoderfile inspect
rm m/tokenizer_config.json cased.encoderfile
prints "bench" '"tokens_per_s"' "$P" bench --lengths 8,3 --repeat 2 --threads 1 --json
prints "bench, lone .onnx" 'tokens/s, .* GFLOP/s (.* % of the fp32 peak)' "$EF" bench -m m/model.onnx --lengths 4 --repeat 1
npy "1, 3" 2 5 3 >ids.npy
npy "1, 3" 1 1 1 >mask.npy
npy "1, 3" 0 0 0 >types.npy
prints "onnx run" 'logits.npy: float\[1,3,' "$EF" onnx run m/model.onnx -i input_ids=ids.npy -i attention_mask=mask.npy \
    -i token_type_ids=types.npy --output-dir outputs
refuses "onnx run, unknown input" "found input 'mesk', wanted one of: input_ids, attention_mask" "$EF" onnx run m/model.onnx \
    -i input_ids=ids.npy -i attention_mask=mask.npy -i token_type_ids=types.npy -i mesk=mask.npy --output-dir outputs
[ -s outputs/logits.npy ] && pass || flunk "onnx run writes its outputs"
mkdir -p cases/good/test_data_set_0 cases/bad/test_data_set_0 cases/odd/test_data_set_0
tensor() { number 1 2; number 2 7; int64s "$@" | block 9; }
{ node Add y x x | block 1; value x 7 1 | block 11; value y 7 1 | block 12; } | model >cases/good/model.onnx
cp cases/good/model.onnx cases/bad/
{ node Addd y x x | block 1; value x 7 1 | block 11; value y 7 1 | block 12; } | model >cases/odd/model.onnx
for c in good bad odd; do tensor 1 2 >cases/$c/test_data_set_0/input_0.pb; done
for c in good odd; do tensor 2 4 >cases/$c/test_data_set_0/output_0.pb; done
tensor 2 5 >cases/bad/test_data_set_0/output_0.pb
"$EF" onnx test cases >txt 2>err
[ $? = 1 ] && [ "$(tail -n 1 txt)" = "1 passed, 1 failed, 1 unsupported" ] && pass || flunk "onnx test: $(tail -n 1 txt)"
printf 'good\nodd\n' >names
prints "onnx check" 'text encoder: yes, batches without padding' "$EF" onnx check m/model.onnx
prints "onnx check --json" '"unknown_operators": {}' "$EF" onnx check --json m/model.onnx
"$EF" onnx check cases/odd/model.onnx >txt 2>err
[ $? = 1 ] && grep -q 'unknown operators: Addd 1' txt && pass || flunk "onnx check, unknown operator"
prints "onnx explain" 'layout: ragged' "$EF" onnx explain m/model.onnx --tokens 16
prints "onnx explain, kernels" 'Attention *ragged *attention' "$EF" onnx explain m
prints "onnx explain --json" '"kernel": "gemm_f32"' "$EF" onnx explain --json m/model.onnx
refuses "onnx explain, two files" 'found 2 files' "$EF" onnx explain m/model.onnx m/model.onnx
refuses "onnx check, no file" 'no-such' "$EF" onnx check no-such.onnx
refuses "onnx check, not a model" 'names' "$EF" onnx check names
works "onnx convert --optimize" "$EF" onnx convert m/model.onnx converted/a.onnx --opset 20 --optimize --external
[ -s converted/a.onnx ] && [ -s converted/a.onnx.data ] && pass || flunk "onnx convert --external writes two files"
prints "onnx check, converted" 'batches without padding' "$EF" onnx check converted/a.onnx
works "onnx convert, down" "$EF" onnx convert converted/a.onnx converted/b.onnx --opset 13 --inline
prints "onnx check, opset 13" 'opset 13' "$EF" onnx check converted/b.onnx
for f in m/model.onnx converted/a.onnx converted/b.onnx; do
    "$EF" onnx run $f -i input_ids=ids.npy -i attention_mask=mask.npy -i token_type_ids=types.npy \
        -o converted/out-$(basename $f) >/dev/null 2>err && pass || flunk "onnx run $f after convert"
done
mv converted/a.onnx.data converted/gone
"$EF" onnx check converted/a.onnx >txt 2>err
[ $? = 1 ] && grep -q 'missing external data: a.onnx.data' txt && pass || flunk "onnx check, missing data"
refuses "onnx convert, opset 9" 'wanted a number from 11 to 28' "$EF" onnx convert m/model.onnx converted/c.onnx --opset 9
refuses "onnx convert, no rule" 'Addd' "$EF" onnx convert cases/odd/model.onnx converted/c.onnx --opset 17
refuses "onnx convert, one file" 'IN and OUT' "$EF" onnx convert m/model.onnx
refuses "onnx convert, both" 'not both' "$EF" onnx convert m/model.onnx converted/c.onnx --external --inline
[ ! -e converted/c.onnx ] && pass || flunk "a refused conversion leaves nothing"
prints "onnx test, branches and functions" ' 0 failed, 0 unsupported' "$EF" onnx test "$root/tests/golden/graphs"
prints "onnx test --optimize" ' 0 failed, 0 unsupported' "$EF" onnx test --optimize "$root/tests/golden/graphs"
prints "onnx test --list" '^1 passed, 0 failed, 1 unsupported' "$EF" onnx test --list names cases

# ---- build settings ----
fresh
for p in bf16 int8; do
    works "build --precision $p" "$EF" build -f c.yml -o $p.encoderfile --precision $p
    prints "inspect of $p" "\"precision\": \"$p\"" "$EF" inspect $p.encoderfile
    works "infer in $p" ./$p.encoderfile infer "Book a bus to Chennai"
done
refuses "precision of another name" 'wanted fp32, bf16 or int8' "$EF" build -f c.yml --no-build --precision fp7
works "output_path wins, parents are made" "$EF" build -f c.yml -o deep/er/y
[ -x deep/er/y ] && [ ! -e out ] && pass || flunk "output_path wins"
works "--output-dir" "$EF" build --output-dir other --config c.yml --no-download --cache-dir /nowhere
[ -x other/x.encoderfile ] && pass || flunk "--output-dir"
works "flags before the command" "$EF" --cache-dir /nowhere build -f c.yml --no-build
[ ! -e out ] && pass || flunk "--no-build writes nothing"
yaml "name: x" "path: m" "model_type: token_classification" "output_dir: out" "build: false"
works "build: false" "$EF" build -f c.yml
[ ! -e out ] && pass || flunk "build: false writes nothing"
yaml "name: org/x" "version: '2.0'" "path:" "  model_config_path: config.json" "  model_weights_path: model.onnx" \
    "  tokenizer_path: tokenizer.json" "model_type: token_classification" "tokenizer:" "  max_length: 16" \
    "  truncation_side: left" "  pad_strategy: {fixed: 16}"
works "explicit files, --directory" "$EF" build -f c.yml --directory m
[ -x m/org-x.encoderfile ] && pass || flunk "a slash in the name stays one file"
prints "settings arrive" '"max_length": 16' m/org-x.encoderfile inspect
grep -q '"direction": "Left"' txt && grep -q '"version": "2.0"' txt && pass || flunk "settings arrive: side and version"
works "build by variables" env MODEL_WEIGHTS_PATH=m/model.onnx TOKENIZER_PATH=m/tokenizer.json \
    MODEL_CONFIG_PATH=m/config.json MODEL_TYPE=token_classification MODEL_NAME=v "$EF" build --output-dir out
[ -x out/v.encoderfile ] && pass || flunk "build by variables"
fresh
works "a package as the base of another" "$EF" build -f c.yml --base-binary-path "$P"
cmp -s out/x.encoderfile "$P" && pass || flunk "packages are the same, byte for byte"
works "--target of this machine" "$EF" build -f c.yml --no-build --target "$(uname -m)-unknown-linux-gnu"

# ---- broken ONNX files ----
fresh && head -c 20000 "$MODEL/model.onnx" >m/model.onnx && breaks "truncated model" "model.onnx"
fresh && : >m/model.onnx && breaks "empty model" "empty file"
fresh && printf 'PK\003\004 a zip, not a model' >m/model.onnx && breaks "wrong magic" "model.onnx"
fresh && printf '\072\377\377\377\377\017' >m/model.onnx && breaks "huge length" "model.onnx"
fresh && rm m/model.onnx && breaks "no model" "model.onnx not found"
fresh && rm m/model.onnx && mkdir m/model.onnx && breaks "a folder as the model" "found a folder"
fresh && change model.onnx 's/Softmax/Softmix/g' && breaks "unknown operator" "Softmix"
fresh && change model.onnx 's/input_ids/input_idz/g' && breaks "input renamed" "Missing input_ids"
fresh && change model.onnx 's/attention_mask/attention_mesk/g' && breaks "unknown input" "attention_mesk"
fresh && change model.onnx 's/logits/logitz/g' && breaks "output renamed" "Model must return logits"
# shaped TYPE RANK OUTPUT-RANK: a tiny model whose logits come straight from a cast.
shaped() {
    { { node Cast logits input_ids; { text 1 to; number 3 1; number 20 2; } | block 5; } | block 1
      value input_ids "$1" "$2" | block 11; value logits 1 "$3" | block 12; } | model >m/model.onnx
}
fresh && shaped 1 2 3 && breaks "float input" "Input shape mismatch"
fresh && shaped 7 3 3 && breaks "input of rank 3" "Input shape mismatch"
fresh && shaped 7 2 2 && breaks "output of rank 2" "Model must return tensor of shape"
fresh && shaped 7 2 3 && breaks "a lie about the rank" "Model must return tensor of shape"
fresh && { node Add a b input_ids | block 1; node Add b a input_ids | block 1; node Identity logits b | block 1
    value input_ids 7 2 | block 11; value logits 1 3 | block 12; } | model >m/model.onnx && breaks "cycle" "cycl"
fresh && { node Add logits nowhere input_ids | block 1
    value input_ids 7 2 | block 11; value logits 1 3 | block 12; } | model >m/model.onnx && breaks "name from nowhere" "nowhere"
# external LOCATION: a weight in another file.
external() {
    { node Add logits w w | block 1
      { number 1 4; number 2 1; text 8 w; number 14 1; { text 1 location; text 2 "$1"; } | block 13; } | block 5
      value input_ids 7 2 | block 11; value logits 1 3 | block 12; } | model >m/model.onnx
}
fresh && external gone.bin && breaks "external data missing" "gone.bin"
fresh && external ../c.yml && breaks "external data outside the folder" "outside\|c.yml"
fresh && printf '1234' >m/short.bin && external short.bin && breaks "external data too short" "short.bin\|external\|w"

# ---- broken config.json, tokenizer.json, tokenizer_config.json ----
fresh && rm m/config.json && breaks "no config" "config.json not found"
fresh && : >m/config.json && breaks "empty config" "config.json"
fresh && echo '{"model_type": ' >m/config.json && breaks "bad JSON" "config.json: line"
fresh && echo '[1]' >m/config.json && breaks "config is a list" "wanted an object"
fresh && printf '{"model_type": "\377"}' >m/config.json && breaks "config is not UTF-8" "config.json"
fresh && change config.json 's/"id2label": {/"num_labels": 77, "id2label": {/' && breaks "label count" "label"
fresh && change config.json 's/"id2label": {/"id2label": 7, "x": {/' && breaks "labels of a wrong kind" "id2label"
for type in xlnet transfo-xl gpt2 bart t5; do # the name of a family is no reason against a graph, but against a checkpoint
    fresh && change config.json "s/\"model_type\": \"[a-z]*\"/\"model_type\": \"$type\"/"
    works "family $type as ONNX" "$EF" build -f c.yml && rm -r out m/model.onnx
    cp "$root/examples/bus-ner/model.safetensors" m && breaks "family $type as a checkpoint" "not supported as a checkpoint"
done
fresh && change config.json 's/ForTokenClassification/ForSequenceClassification/' && breaks "architecture" "Invalid model type"
fresh && rm m/tokenizer.json && breaks "no tokenizer" "tokenizer.json not found"
fresh && : >m/tokenizer.json && breaks "empty tokenizer" "tokenizer.json"
fresh && head -c 1000 "$MODEL/tokenizer.json" >m/tokenizer.json && breaks "truncated tokenizer" "tokenizer.json: line"
fresh && echo '{}' >m/tokenizer.json && breaks "tokenizer without keys" "tokenizer.json"
fresh && change tokenizer.json 's/"WordPiece"/"WordPizza"/' && breaks "unknown tokenizer kind" "WordPizza"
fresh && echo '3' >m/tokenizer_config.json && breaks "tokenizer_config" "tokenizer_config.json must be an object"
fresh && echo '{"model_max_length": "x"}' >m/tokenizer_config.json && breaks "model_max_length" "must be an int"
# Root reads everything, so a copy of the program is run as nobody.
fresh && chmod 000 m/config.json
if [ "$(id -u)" != 0 ]; then
    breaks "unreadable config" "Permission denied"
elif command -v setpriv >/dev/null; then
    cp "$EF" ef && chmod 755 . ef
    refuses "unreadable config" "Permission denied" setpriv --reuid 65534 --clear-groups ./ef build -f c.yml
else
    skip "unreadable file: root reads everything"
fi

# ---- broken YAML ----
fresh && printf 'encoderfile: [\n' >c.yml && breaks "bad YAML" "c.yml: line"
fresh && printf '\377\376' >c.yml && breaks "YAML is not UTF-8" "c.yml"
fresh && : >c.yml && breaks "empty YAML" "encoderfile"
fresh && rm c.yml && breaks "no YAML" "config not found"
fresh && echo "  naem: x" >>c.yml && sed -i '/  name/d' c.yml && breaks "unknown key" "unknown key .naem."
fresh && printf '  "a\\nb": x\n' >>c.yml && breaks "a key of two lines" "unknown key .a b."
fresh && echo "  output_pth: x" >>c.yml && breaks "nearest key" "did you mean .output_path."
fresh && sed -i '/name/d' c.yml && breaks "no name" "missing field .name."
fresh && sed -i '/model_type/d' c.yml && breaks "no type" "missing field .model_type."
fresh && sed -i '/path/d' c.yml && breaks "no path" "missing field .path."
fresh && sed -i 's/path: m/path: nowhere/' c.yml && breaks "no folder" "No such directory"
fresh && echo "  version: 1.0" >>c.yml && breaks "version is a number" "wanted a string"
fresh && sed -i 's/token_c/tokn_c/' c.yml && breaks "unknown type" "Invalid model type.*did you mean token_classification"
fresh && sed -i 's/token_c/image_c/' c.yml && breaks "image type" "found architecture BertForTokenClassification.*wanted one for image_classification"
fresh && sed -i 's/token_c/audio_c/' c.yml && breaks "a type that reads sound" "audio"
fresh && sed -i 's/token_classification/embedding/' c.yml && breaks "type against architecture" "Invalid model type"
fresh && echo "  transform: x" >>c.yml && breaks "script that is none" "transform:1: syntax error"
fresh && echo "  transform: x = 1" >>c.yml && breaks "script without functions" "Could not find .Postprocess. function"
fresh && echo "  transform: function Postprocess(t) return t:sum_axis(3) end" >>c.yml && breaks "script of a wrong shape" "rank 3"
fresh && echo "  transform: function Postprocess(t) while true do end end" >>c.yml && breaks "endless script" "over its "
fresh && echo "  transform: {path: no.lua}" >>c.yml && breaks "no script" "No such file: .no.lua."
fresh && echo "  transform: [1]" >>c.yml && breaks "script of a wrong kind" "transform: found a list"
fresh && printf '  transform: x = 1\n  lua_libs: [oi]\n' >>c.yml && breaks "unknown library" "Unknown Lua stdlib: oi"
fresh && printf '  transform: x = 1\n  lua_libs: [debug]\n' >>c.yml && breaks "debug library" "debug is not available"
fresh && printf '  transform: x = 1\n  lua_libs: io\n' >>c.yml && breaks "libraries of a wrong kind" "lua_libs: found a string, wanted a list"
fresh && echo "  validate_transform: 3" >>c.yml && breaks "validate_transform" "true or false"
fresh && printf '  transform: x = 1\n  validate_transform: false\n' >>c.yml && works "script that is not tried" "$EF" build -f c.yml
fresh && echo "function Postprocess(t) return t * 0 + 3 end" >s.lua && echo "  transform: {path: s.lua}" >>c.yml
works "build with a script" "$EF" build -f c.yml
package=$(ls out/*.encoderfile)
prints "scores of a script" '"score": 3.0' "$package" infer "hello world"
prints "inspect shows the script" '"transform": "function Postprocess' "$package" inspect
prints "new-transform" "function Postprocess(arr, mask)" "$EF" new-transform -m sentence_embedding
refuses "new-transform of nothing" "Unknown model type: x" "$EF" new-transform -m x
fresh && printf '  tokenizer:\n    truncation_side: up\n' >>c.yml && breaks "truncation_side" "truncation_side: found"
fresh && printf '  tokenizer:\n    max_lenght: 3\n' >>c.yml && breaks "tokenizer key" "did you mean .max_length."
fresh && printf '  tokenizer:\n    max_length: 1\n' >>c.yml && breaks "less than the special tokens" "max_length: found 1, wanted at least 2"

# ---- flags, disks, packages ----
fresh
refuses "unknown command" "unknown command" "$EF" biuld
refuses "unknown option" "did you mean --output-dir" "$EF" build --outpt-dir x
refuses "option without value" "wanted a value" "$EF" build -f
refuses "nothing to build" "MODEL_WEIGHTS_PATH" "$EF" build
refuses "runtime downloads" "runtime downloads" "$EF" build -f c.yml --runtime-version 0.7
refuses "another target" "target: found .riscv64" "$EF" build -f c.yml --target riscv64-unknown-linux-gnu
refuses "base that is no program" "no ELF header" "$EF" build -f c.yml --base-binary-path m/config.json
refuses "no text" "at least one text" "$P" infer
refuses "empty text" "Cannot tokenize empty string" "$P" infer ""
refuses "text that is not UTF-8" "UTF-8" "$P" infer "$(printf '\377')"
refuses "no model" "no payload" "$EF" infer
refuses "no model, only a text" "the first word is the model" "$EF" infer "$TEXT"
refuses "no such model" "nowhere" "$EF" infer -m nowhere "$TEXT"
refuses "build in a package" "package" "$P" build -f c.yml
prints "options of a package" '"name": "serve"' "$P" --help --json
grep -q '"name": "export"\|"name": "force-task-detection"' txt && flunk "a package has no commands that build" || pass
refuses "variables of a package" 'ENCODERFILE_HTTP_PORT: found "x"' env ENCODERFILE_HTTP_PORT=x "$P" serve
refuses "TLS" "both --cert-file and --key-file" "$P" serve --cert-file x
refuses "gRPC port" "grpc-port" "$P" serve --grpc-port 70000
refuses "no protocol" "Cannot disable both gRPC and HTTP" "$P" serve --disable-grpc --disable-http
refuses "a key that is empty" "--api-key: found nothing, wanted a key" "$P" serve --http-port 0 --api-key ''
for command in "serve --http-hostname 127.0.0.1 --http-port 0 --disable-grpc" "mcp --hostname 127.0.0.1 --port 0"; do
    for key in '' ' '; do
        refuses "$command: the environment's key is '$key'" "ENCODERFILE_API_KEY: found nothing, wanted a key" env ENCODERFILE_API_KEY="$key" timeout 20 "$P" $command
    done
done
keys() { printf "$1" >keys.txt; timeout 20 "$P" serve --http-hostname 127.0.0.1 --http-port 0 --disable-grpc --api-key-file keys.txt; }
refuses "keys: none" "--api-key-file: keys.txt: found no key, wanted one" keys '\357\273\277\n # none\n\t\r\n'
refuses "keys: an empty file" "--api-key-file: keys.txt: found no key" keys ''
refuses "keys: a space inside" "--api-key-file: keys.txt: line 3: found white space or a control character in a key" keys 'one\n\nt wo\n'
refuses "keys: a control character" "keys.txt: line 1: found white space or a control character" keys 'o\001ne\n'
refuses "keys: UTF-16" "keys.txt: line 1: found white space or a control character" keys '\377\376k\000\n\000'
refuses "a key with a space" "--api-key: line 1: found white space" "$P" serve --http-port 0 --api-key 'a b'
refuses "an origin that is empty" "--cors-origin: found nothing" "$P" serve --http-port 0 --cors-origin ''
refuses "port" "http-port" "$P" serve --http-port 70000
refuses "port of mcp" "error: --port: found \"70000\", wanted a number from 0 to 65535" "$P" mcp --port 70000
refuses "a word for mcp" "mcp: found \"x\", wanted options only" "$P" mcp x
refuses "mcp under half of TLS" "found no key, wanted both --cert-file and --key-file" "$P" mcp --port 0 --cert-file x
refuses "certificate that is none" "certificate: txt: found nothing in PEM" "$P" mcp --port 0 --cert-file txt --key-file txt
refuses "collector" "wanted http://HOST:PORT or https://HOST:PORT" "$P" serve --http-port 0 --otel-exporter-url grpc://x
refuses "collector, no roots" "otel-exporter-url: root certificates: none: No such file" env SSL_CERT_FILE=none "$P" serve --http-port 0 --otel-exporter-url https://localhost
for command in infer mcp; do refuses "$command: ORT" "a setting of ONNX Runtime" "$P" "$command" --device-id 1; done
refuses "lengths" "lengths" "$P" bench --lengths 3,x
refuses "precision" "precision" "$P" bench --precision bf16
refuses "offsets" "offsets" "$P" infer --offsets words x
refuses "onnx run without input" "input" "$EF" onnx run m/model.onnx
printf 'NUMPY' >broken.npy
refuses "onnx run, broken npy" "npy" "$EF" onnx run m/model.onnx -i input_ids=broken.npy
echo '"unfinished' >lines
"$P" tokenize --jsonl <lines >txt 2>err && flunk "broken line" || { grep -q 'line 1' err && pass || flunk "broken line"; }
"$P" infer "$TEXT" >/dev/full 2>err && flunk "full disk, stdout" || { grep -q 'cannot be written' err && pass || flunk "full disk, stdout"; }
# A limit on file size stands for a full disk: no root needed.
mkdir out
(trap '' XFSZ && ulimit -f 1000 && exec "$EF" build -f c.yml) >txt 2>err && flunk "full disk" || pass
grep -q 'cannot be written' err && [ -z "$(ls -A out)" ] && pass || flunk "full disk leaves nothing: $(ls -A out)"
mkdir out/x.encoderfile && refuses "a folder where the package goes" "cannot be written" "$EF" build -f c.yml
[ "$(ls -A out)" = x.encoderfile ] && pass || flunk "a folder where the package goes"
touch file && refuses "a file where a folder goes" "file" "$EF" build -f c.yml -o file/x
if mknod "$T/device" c 1 3 2>/dev/null && echo >"$T/device" 2>/dev/null; then # a node of our own: a mistake here must not cost the machine its /dev/null
    refuses "a device where the package goes" "not a regular file" "$EF" build -f c.yml -o "$T/device"
    works "infer to a device" "$P" infer -o "$T/device" "$TEXT"
    [ -c "$T/device" ] && pass || flunk "the device was replaced"
    rm -f "$T/device"
else
    skip "device nodes: only root makes them"
fi
touch reply.json && ln -s reply.json link && works "infer through a link" "$P" infer -o link "$TEXT"
[ -L link ] && [ -s reply.json ] && pass || flunk "the link was replaced"

size=$(($(wc -c <"$P")))
head -c $((size - 10)) "$P" >cut && chmod +x cut && refuses "truncated package" "stripped or truncated" ./cut infer x
refuses "truncated package, as a model" "Not a valid encoderfile" "$EF" inspect cut
# poke OFFSET OCTAL...: overwrites bytes of a copy of the package.
poke() {
    at=$1
    cp "$P" poked
    shift
    printf "$1" | dd of=poked bs=1 seek="$at" conv=notrunc 2>/dev/null
}
poke $((size - 12)) '\377\377\377\377\377\377\377\377' && refuses "manifest length" "manifest\|overflow" "$EF" inspect poked
poke $((size - 20)) '\377\377\377\377\377\377\377\377' && refuses "manifest offset" "overflow\|truncated" "$EF" inspect poked
poke $((size - 24)) '\002' && refuses "format version" "found version 2" "$EF" inspect poked
"$P" inspect >txt
member() { sed -n "/\"name\": \"$1\"/,/\"length\"/s/.*\"offset\": \([0-9]*\).*/\1/p" txt; }
poke "$(member tokenizer)" 'x' && refuses "damaged tokenizer" "tokenizer: SHA-256" "$EF" inspect poked --verify
"$P" inspect >txt
poke "$(member tokenizer_tables)" 'x' && refuses "damaged tables" "tokenizer_tables: SHA-256" "$EF" infer -m poked x
"$P" inspect >txt
poke "$(member panels)" 'x' && refuses "damaged weights" "panels: SHA-256" "$EF" inspect poked --verify
refuses "damaged weights, serve --verify" "panels: SHA-256" "$EF" serve -m poked --verify --http-port 0

# ---- the C API, where the example is built ----
example=$(dirname -- "$EF")/example
if [ -x "$example" ]; then
    prints "C API" '"results"' "$example" "$P" "$TEXT" "another"
    "$example" nowhere x 2>err >txt && flunk "C API: no model" || { grep -q nowhere err && pass || flunk "C API: no model"; }
else
    skip "examples/classify.c is not built"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
