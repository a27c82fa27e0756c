#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# infer_options.sh [PROGRAM] - options of a task as flags say what --params says; the short form for people; the model as
# the first word. Models: examples/bus-ner and random ones of tests/golden.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
GOLDEN=$ROOT/tests/golden/export QA=$ROOT/tests/golden/question_answering/bert
words='{"version": "1.0", "added_tokens": [{"id": 3, "content": "[MASK]", "single_word": false, "lstrip": false,
"rstrip": false, "normalized": false, "special": true}], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
"decoder": null, "post_processor": null, "model": {"type": "WordLevel", "unk_token": "u",
"vocab": {"u": 0, "a": 1, "b": 2, "[MASK]": 3}}}'
folder() { # NAME SOURCE: a model with a tokenizer of four words
    cp -r "$GOLDEN/$2" "$1" && rm -f "$1"/*.npy && echo "$words" >"$1/tokenizer.json"
    echo '{"mask_token": "[MASK]"}' >"$1/tokenizer_config.json"
}
folder masks distilbert && folder labels roberta && folder vectors modernbert
# alike FLAGS JSON MODEL TEXT...: both ask for the same, and not for what is answered anyway.
alike() {
    flags=$1 json=$2 model=$3 && shift 3
    works "$model $flags" "$EF" infer "$model" $flags "$@" && mv txt by_flags
    works "$model $json" "$EF" infer "$model" --params "$json" "$@" && cmp -s txt by_flags && pass || flunk "$flags is not $json"
    works "$model" "$EF" infer "$model" "$@" && cmp -s txt by_flags && flunk "$flags has no effect" || pass
}
TEXT="AC sleeper bus from Bangalore to Mumbai"
alike "--aggregation simple" '{"aggregation":"simple"}' "$BUS" "$TEXT"
alike "--extract" '{"extract":true}' "$BUS" "$TEXT"
alike "--extract=true --return-tokens=true" '{"extract":true,"return_tokens":true}' "$BUS" "$TEXT"
alike "--top-k 2" '{"top_k":2}' labels "a b"
alike "--return-tokens true" '{"return_tokens":true}' labels "a b"
alike "--top-k 3" '{"top_k":3}' masks "a [MASK]"
alike "--dimensions 5 --normalize" '{"dimensions":5,"normalize":true}' vectors "a b"
alike "--encoding base64" '{"encoding":"base64"}' vectors "a b"
alike "--top-k 2 --max-answer-len 3" '{"top_k":2,"max_answer_len":3}' "$QA" "Who wrote this?" "It was written by a woman in London long ago."
works "map takes them" sh -c "printf '\"$TEXT\"\n' | '$EF' map '$BUS' --aggregation simple"
has "map takes them" '"entity_group":"SRC"'
refuses "an option of another task" '--aggregation: found a model for sequence_classification, wanted one for token_classification' \
    "$EF" infer labels --aggregation simple a
refuses "a number out of its limits" '--top-k: found "0", wanted a number from 1' "$EF" infer labels --top-k 0 a
refuses "a word that is none" '--aggregation: found "some", wanted none, simple, first, average or max' "$EF" infer "$BUS" --aggregation some a
refuses "too many dimensions" 'dimensions: found 999, wanted 1 to 24' "$EF" infer vectors --dimensions 999 a
refuses "flags of tasks are told apart from typos" 'did you mean --dimensions' "$EF" infer vectors --dimension 3 a

# ---- for people ----
prints "text: words and labels" '^  - B-SRC: "Bangalore"$' "$EF" infer "$BUS" -f text "$TEXT"
has "text: what was asked" "^\"$TEXT\"\$"
prints "text: entities" 'entity_group "SRC", score 0\.[0-9]*, word "bangalore", start 20, end 29' "$EF" infer "$BUS" -f text --aggregation simple "$TEXT"
prints "text: labels by their scores" '^  - 0\.[0-9]* "LABEL_' "$EF" infer labels -f text "a b"
[ "$(sed -n 's/^  - \([0-9.]*\) .*/\1/p' txt | sort -rn | head -1)" = "$(sed -n 's/^  - \([0-9.]*\) .*/\1/p' txt | head -1)" ]
check $? "text: the best label first"
prints "text: masks" 'score 0\.[0-9]*, token [0-9]*, token_str "' "$EF" infer masks -f text "a [MASK]"
prints "text: vectors" 'embedding 24 numbers: .* \.\.\.' "$EF" infer vectors --task sentence_embedding -f text "a b"
prints "text: weights of words" '^  - [0-9.]* "' "$EF" infer masks --task sparse_embedding -f text "a b"
prints "text: an answer" 'answer ".*", score 0\.' "$EF" infer "$QA" -f text "Who wrote this?" "It was written by a woman in London."
printf 'a\033[2Jb' >odd && works "text: no control characters" "$EF" infer labels -f text "$(cat odd)"
LC_ALL=C grep -q "$(printf '\033')" txt && flunk "text: a control character" || pass
prints "a pipe gets JSON" '^  "results": \[' "$EF" infer "$BUS" "$TEXT"
if command -v script >/dev/null; then
    script -qc "'$EF' infer '$BUS' '$TEXT'" /dev/null >txt 2>err </dev/null
    has "a terminal gets the short form" 'B-SRC: "Bangalore"'
    script -qc "'$EF' infer --json '$BUS' '$TEXT'" /dev/null >txt 2>err </dev/null
    has "and JSON when asked" '"results": \['
else
    skipped=$((skipped + 2)) && echo "  skipped: no script(1): a terminal gets the short form"
fi

# ---- the model as the first word ----
prints "bench MODEL" 'tokens/s' "$EF" bench "$BUS" --lengths 5 -n 1
prints "tokenize MODEL" '"ids":\[' "$EF" tokenize "$BUS" "from Pune"
prints "inspect MODEL" '"encoderfile_config"' "$EF" inspect "$BUS"
refuses "one model only" 'found "b", wanted options only' "$EF" serve "$BUS" b
finish
