#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# openapi.sh - schemathesis (PyPI) against our own OpenAPI document, one server per task.
# usage: tests/http/openapi.sh [PROGRAM]; SCHEMATHESIS names the program, EXAMPLES how many cases a route. Skipped without it.
PROGRAM=${1:-build/encoderfile}
tool=${SCHEMATHESIS:-schemathesis}
passed=0 failed=0 skipped=0 server=
dir=$(mktemp -d)
trap '[ -n "$server" ] && kill "$server" 2> /dev/null; rm -rf "$dir"' EXIT
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit $?; }
skip() { skipped=$((skipped + 1)); echo "  skipped: $1"; }
command -v "$tool" > /dev/null || { skip "no schemathesis"; finish; }

for task in embedding sentence_embedding sequence_classification token_classification; do
    model=../shared/fixtures/dummy/$task
    [ -d "$model" ] || { skip "$model"; continue; }
    "$PROGRAM" serve --model "$model" --model-type $task --http-hostname 127.0.0.1 --http-port 0 2> "$dir/log" &
    server=$! port= tries=0
    while [ -z "$port" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$dir/log")
        tries=$((tries + 1))
    done
    if "$tool" run "http://127.0.0.1:$port/openapi.json" --no-color --max-examples "${EXAMPLES:-40}" \
        --phases examples,coverage,fuzzing > "$dir/out" 2>&1; then
        passed=$((passed + 1))
        echo "  $task: $(grep -E 'generated' "$dir/out")"
    else
        failed=$((failed + 1))
        echo "  FAILED: $task" && grep -A12 -E '^- ST|^[0-9]+\. Test' "$dir/out" | cut -c1-300 | head -60
    fi
    kill "$server" && wait "$server"
    server=
done
finish
