#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM] - real clients against the built program, on small models that our own exporter made; what they should get
# was written by transformers and sentence-transformers (tools/oracle/clients.py). They are installed here, once, into build/clients. Without Python or a network that is "skipped", and a
# failure where EF_CLIENTS=required.
cd -- "$(dirname -- "$0")/../.." || exit 1
EF_PROGRAM=$(realpath "${1:-build/encoderfile}")
venv=$PWD/build/clients/venv EF_MODELS=$PWD/build/clients/models here=$PWD/tests/clients
export EF_PROGRAM EF_MODELS
passed=0 failed=0 skipped=0 servers=
dir=$(mktemp -d)
trap '[ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$dir"' EXIT
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit; }
missing() {
    if [ "${EF_CLIENTS:-}" = required ]; then failed=1 && echo "  FAILED: $1"; else skipped=1 && echo "  skipped: $1"; fi
    finish
}

install() {
    cmp -s tests/clients/requirements.txt "$venv/installed" && return
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check -r tests/clients/requirements.txt &&
        cp tests/clients/requirements.txt "$venv/installed"
}
mkdir -p build/clients
install >"$dir/pip" 2>&1 || { tail -3 "$dir/pip" && missing "clients: they could not be installed"; }

rm -rf "$EF_MODELS"
"$venv/bin/python" tests/clients/models.py "$dir/checkpoints" || { failed=1 && finish; }
for name in embed labels infer rank mask; do
    "$EF_PROGRAM" export "$dir/checkpoints/$name" "$EF_MODELS/$name" >"$dir/log" 2>&1 || { cat "$dir/log" && failed=1 && finish; }
done

# start NAME COMMAND...: a server on any free port; its address becomes EF_URL_NAME.
start() {
    name=$1 port= tries=0 && shift
    "$@" 2>"$dir/$name" &
    servers="$servers $!"
    while [ -z "$port" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$dir/$name" | head -1)
        tries=$((tries + 1))
    done
    export "EF_URL_$name=http://127.0.0.1:$port"
}
serve() {
    name=$1 model=$2 && shift 2
    start "$name" "$EF_PROGRAM" serve --model "$model" --http-hostname 127.0.0.1 --http-port 0 "$@"
}
serve EMBED "$EF_MODELS/embed" --model-type sentence_embedding
serve LABELS "$EF_MODELS/labels"
serve INFER "$EF_MODELS/infer"
serve RANK "$EF_MODELS/rank"
serve MASK "$EF_MODELS/mask"
serve NER examples/bus-ner
start MCP "$EF_PROGRAM" mcp --model "$EF_MODELS/embed" --model-type sentence_embedding --hostname 127.0.0.1 --port 0

# One script per client; its table is ours.
run() {
    "$@" >"$dir/out" 2>&1
    grep '^  ' "$dir/out"
    sed -n '/^  | .* | - | /d; s/^  | /| /p' "$dir/out" >>"$table"
    set -- $(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$dir/out" | tail -1 | tr -dc '0-9 \n')
    [ $# = 3 ] || { set -- 0 1 0 && echo "  FAILED: no closing line" && tail -5 "$dir/out"; }
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}
table=build/clients/table.md # of what is compared with a reference: docs/clients.md shows it
printf '| client | call | as in | result |\n|---|---|---|---|\n' >"$table"
echo "  | client | call | as in | result |" && echo "  |---|---|---|---|"
for script in "$here"/*_calls.py; do
    run "$venv/bin/python" "$script"
done
run sh "$here/curl.sh"
finish
