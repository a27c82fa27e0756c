#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# openapi.sh - schemathesis (PyPI) against our own OpenAPI document, one server per task, with the program and the models
# of tests/clients, which come first. usage: tests/http/openapi.sh [PROGRAM]; SCHEMATHESIS names another tool, EXAMPLES how
# many cases a route. Without them: skipped, or failed where EF_CLIENTS=required.
PROGRAM=$(realpath "${1:-build/encoderfile}")
tool=${SCHEMATHESIS:-$PWD/build/clients/venv/bin/schemathesis}
models=$PWD/build/clients/models example=$PWD/examples golden=$PWD/tests/golden
passed=0 failed=0 skipped=0 server=
dir=$(mktemp -d)
trap '[ -n "$server" ] && kill "$server" 2> /dev/null; rm -rf "$dir"' EXIT
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit $?; }
skip() {
    if [ "${EF_CLIENTS:-}" = required ]; then failed=$((failed + 1)) && echo "  FAILED: $1"; return; fi
    skipped=$((skipped + 1)) && echo "  skipped: $1"
}
command -v "$tool" > /dev/null || { skip "no schemathesis"; finish; }

cd "$dir" || exit 1 # the tool leaves a folder behind
while read -r model task; do
    [ -d "$model" ] || { skip "no $model" && continue; }
    "$PROGRAM" serve --model "$model" --model-type "$task" --http-hostname 127.0.0.1 --http-port 0 2> "$dir/log" </dev/null &
    server=$! port= tries=0
    while [ -z "$port" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$dir/log")
        tries=$((tries + 1))
    done
    if "$tool" run "http://127.0.0.1:$port/openapi.json" --no-color --max-examples "${EXAMPLES:-40}" \
        --phases examples,coverage,fuzzing > "$dir/out" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "  $(basename "$model") as $task: $(grep -E 'generated' "$dir/out")"
    else
        failed=$((failed + 1))
        echo "  FAILED: $model as $task" && grep -A12 -E '^- ST|^[0-9]+\. Test' "$dir/out" | cut -c1-300 | head -60
    fi
    kill "$server" && wait "$server"
    server=
done <<LIST
$models/embed embedding
$models/embed sentence_embedding
$models/labels sequence_classification
$models/rank sequence_classification
$models/mask fill_mask
$models/mask sparse_embedding
$example/bus-ner token_classification
$golden/multiple_choice/bert multiple_choice
LIST
finish
