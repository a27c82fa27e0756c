#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# optimum.sh [PROGRAM] - `validate DIR` beside the real ORTModelForX.from_pretrained: every folder of tests/golden/optimum/folders.tsv is made
# as tools/oracle/optimum_load.py made it, and must get the verdict recorded in verdicts.tsv: does it load, and does it answer. Then the
# other question, whether this program runs it, and the exit status.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/optimum
export EF ROOT
mkdir made kept said

# base NAME BASE: the folder before it is changed; what an export gives is kept.
base() {
    case $2 in
    export*)
        from=kept/export-$(basename "$2")
        [ -d "$from" ] || "$EF" export "$ROOT/${2#* }" "$from" >/dev/null 2>&1
        ;;
    copy*) from=$ROOT/${2#* } ;;
    *)
        from=kept/$2
        [ -d "$from" ] || { cp -r "$GOLDEN/$2" "$from" && gzip -d "$from"/*.gz; }
        ;;
    esac
    cp -r "$from" "made/$1" && chmod -R u+w "made/$1"
}
# state CHECK: its word in the last report.
state() { awk -v c="$1" '$2 == c { print $1 }' txt; }
# A recorded "ok" is 1, an exception or "-" is 0.
is_ok() { [ "$1" = ok ] && echo 1 || echo 0; }

tab=$(printf '\t')
grep -v '^#' "$GOLDEN/folders.tsv" >rows
while IFS=$tab read -r name from class edit; do
    base "$name" "$from" && (cd "made/$name" && sh -ec "$edit") >err 2>&1 || { flunk "$name: cannot be made" && continue; }
    line=$(grep "^$name$tab" "$GOLDEN/verdicts.tsv")
    load=$(echo "$line" | cut -f2) run=$(echo "$line" | cut -f3)
    (cd made && "$EF" validate "$name") >txt 2>err </dev/null
    exit=$?
    cp txt "said/$name"
    grep -q "^$name: Optimum loads it, as $class" txt && says=1 || says=0
    [ $says = "$(is_ok "$load")" ] && pass || { cp txt err && flunk "$name: Optimum says \"$load\""; }
    [ "$load" != ok ] || [ "$(is_ok "$(state pipeline)")" = "$(is_ok "$run")" ] && pass || { cp txt err && flunk "$name: Optimum answers \"$run\""; }
    # status 1: it does not load, or a check failed; a warning is none.
    { [ "$load" = ok ] && ! grep -v ' runs ' txt | grep -q '^  failed'; } && want=0 || want=1
    [ $exit = $want ] && pass || { cp txt err && flunk "$name: exit status $exit, wanted $want"; }
    for check in config.json model.onnx loads runs; do
        [ -n "$(state $check)" ] || [ "$(state model.onnx)$check" = failedloads ] || { cp txt err && flunk "$name: no line for $check"; }
    done
done <rows
[ "$(grep -c . rows)" -ge 40 ] && pass || flunk "forty folders"

# ---- the other question: does this program run it ----
# own NAME WORDS WORDS: what the line `runs` and the last one say.
own() {
    cp "said/$1" txt
    has "$1: runs" "^  $2"
    has "$1: at the end" "^$1: this program $3"
}
own exported-bus "ok  *runs  *and answers, as token_classification" "runs it, as token_classification"
own bert "ok  *runs  *and answers, as sequence_classification" "runs it, as sequence_classification"
own weights-only "ok  *runs  *and answers, as token_classification" "runs it, as token_classification"
own type-nonsense "ok  *runs  *and answers, as sequence_classification" "runs it, as sequence_classification"
own exported-eurobert "warning  *runs  *the graph alone: there is no tokenizer" "does not run it"
own vit "ok  *runs  *and answers, as image_classification" "runs it, as image_classification"
own wav2vec2 "warning  *runs  *the graph alone: there is no tokenizer" "does not run it"
own onnx-cut "failed  *runs  *" "does not run it"
own tokenizer-broken "failed  *runs  *tokenizer.json: line 2" "does not run it"

# A sentence-transformers folder is one, whatever the class in config.json: as it is and exported; without modules.json it is none.
for model in mean last; do
    cp -r "$ROOT/tests/golden/sentence/$model" "made/st-$model" && "$EF" export "made/st-$model" "made/st-$model-onnx" >/dev/null 2>err
    for name in st-$model st-$model-onnx; do
        (cd made && "$EF" validate "$name") >"said/$name" 2>err </dev/null
        own $name "ok  *runs  *and answers, as sentence_embedding" "runs it, as sentence_embedding"
    done
done
rm made/st-mean-onnx/modules.json && "$EF" metadata embed made/st-mean-onnx/model.onnx "$ROOT/tests/golden/sentence/mean" --task feature-extraction >/dev/null
(cd made && "$EF" validate st-mean-onnx) >said/st-mean-onnx 2>err </dev/null
own st-mean-onnx "ok  *runs  *and answers, as embedding" "runs it, as embedding"

# ---- each check by its name (3.13), with what it found ----
# says NAME CHECK WORDS
says() {
    cp "said/$1" txt
    has "$1: $2" "^  [a-z]*  *$2  *$3"
}
says type-nonsense config.json 'model_type: found "nonsense", which transformers 4.57'
says type-number config.json 'model_type: found .*number'
says type-of-remote-code config.json 'auto_map .* trust_remote_code=True'
says a-bert-of-mine config.json "model_type is missing: Optimum takes it for bert"
says labels-by-name config.json 'id2label: found the key "zero"'
says weights-only model.onnx "not found, nor any other .onnx: Optimum would have to export"
says onnx-folder model.onnx "model.onnx: not a file"
says onnx-two-names model.onnx "not found, a.onnx is taken instead (of several"
says onnx-deeper model.onnx "onnx/model.onnx"
says t5-no-decoder model.onnx "found no decoder_model_merged.onnx"
says operator-unknown loads 'model.onnx: operator "Softmix" is not known'
says ir-too-new loads "model.onnx: IR version: found 99, ONNX Runtime reads up to 13"
says opset-too-new loads "model.onnx: opset: found 28, ONNX Runtime reads up to 26"
says tags-as-attributes loads "model.onnx: hierarchy_tag attributes"
says external-missing loads "model.onnx: .*y.onnx.data"
says vit processors "preprocessor_config.json gives pixel_values ?x3x?x?\|preprocessor_config.json gives pixel_values ?x?x?x?"
says no-tokenizer processors "for input_ids AutoTokenizer wants a tokenizer: not found (the model loads without)"
says preprocessor-broken processors "for pixel_values AutoImageProcessor .*preprocessor_config.json: line"
says lilt pipeline "ORTModelForTokenClassification does not hand on bbox, ORTModelForCustomTasks does"
says static-shapes pipeline "takes input_ids 1x12 alone: pad to that"
says output-misnamed pipeline "outputs: found logitz, wanted logits for text-classification"
works "--json" "$EF" validate --json made/vit
for words in '"compatible": true' '"loads": true' '"class": "ORTModelForImageClassification"' '"runs": true' '"name": "pipeline"'; do
    has "--json" "$words"
done
works "--json, another task" "$EF" validate --json made/wav2vec2
has "--json, another task" '"runs": false'
fails "--json, no" '"loads": false' "$EF" validate --json made/no-onnx
has "--json, missing" '"missing": \["model.onnx"\]\|"model.onnx"'
finish
