#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# habits.sh [PROGRAM] - what users of other tools type is understood, or answered with the right name; PORT; what `serve`
# warns of, and what it waits for when it is stopped.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
unset PORT ENCODERFILE_HTTP_PORT ENCODERFILE_PORT
logged() { grep -q -- "$2" log && pass || { cp log err && flunk "$1: the log lacks \"$2\""; }; }
quiet() { grep -q -- "$2" log && { cp log err && flunk "$1: the log has \"$2\""; } || pass; }
# serving COMMAND...: runs it until it serves; $server is its process, $port its port.
serving() {
    : >log # the one of the server before must not be seen
    "$@" >/dev/null 2>log </dev/null &
    server=$!
    for i in $(seq 100); do grep -q ' serving ' log && break || sleep 0.2; done
    port=$(sed -n 's/.*http:[^ ]*:\([0-9]*\).*/\1/p' log)
}
stop() { kill "$server" && wait "$server" 2>/dev/null; }

serving "$EF" serve --model-id "$BUS" --host 127.0.0.1 -p 0 --max-batch-tokens 512 --max_concurrent_requests 8 --device cpu --disable-grpc
stop && logged "words of other tools" 'on http://127.0.0.1:'
quiet "on this machine alone" 'no API key'
refuses "a command of other tools" 'unknown command "predict": did you mean "infer"' "$EF" predict x
refuses "a name without its organization" 'a name on the Hub, hf:bert-base-uncased' "$EF" infer bert-base-uncased x
refuses "a device" '--device: found "cuda", wanted cpu or auto' "$EF" serve "$BUS" --device cuda
refuses "a type" 'unknown option --dtype: .*build --precision' "$EF" serve "$BUS" --dtype float16
refuses "workers" 'unknown option --workers: .*--threads' "$EF" serve "$BUS" --workers 4
refuses "a limit of ours by its other name" '--batch-tokens: found "x"' "$EF" serve "$BUS" --max-batch-tokens x
refuses "an underscore" '--http-port: found "x"' "$EF" serve "$BUS" --http_port x
works "build --output" "$EF" build "$BUS" --output named.encoderfile --dtype int8
[ -x named.encoderfile ] && pass || flunk "build --output"
works "infer --num-threads" "$EF" infer --model-id "$BUS" --num-threads 1 "from Pune to Goa"

# ---- PORT ----
serving env PORT=0 "$EF" serve "$BUS" --disable-grpc
stop && logged "PORT" 'PORT=0 is taken for --http-port'
logged "no key, and not this machine alone" 'warn no API key is set'
serving env PORT=1 ENCODERFILE_PORT=0 "$EF" serve "$BUS" --disable-grpc --api-key secret
stop && quiet "a variable of ours wins over PORT" 'PORT=1'
quiet "a key is set" 'no API key'
serving env PORT=1 "$EF" serve "$BUS" --http-hostname 127.0.0.1 --port 0 --disable-grpc
stop && quiet "a flag wins over PORT" 'PORT=1'
serving env PORT=/dev/ttyS0 "$EF" serve "$BUS" --host 127.0.0.1 --disable-grpc --port 0
stop && quiet "a flag, so PORT is not looked at" 'ttyS0'
env PORT=/dev/ttyS0 "$EF" mcp "$BUS" --stdio >txt 2>log </dev/null
check $? "PORT beside --stdio" && quiet "PORT beside --stdio" 'ttyS0'

# ---- the end ----
serving "$EF" serve "$BUS" --host 127.0.0.1 --port 0 --disable-grpc
stop && logged "nothing to wait for" 'info stopping$'
if command -v bash >/dev/null; then
    serving "$EF" serve "$BUS" --host 127.0.0.1 --port 0 --disable-grpc
    body='{"inputs": ["from Pune"]}'
    bash -c "exec 3<>/dev/tcp/127.0.0.1/$port && printf 'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n{' >&3 &&
        : >sent && until [ -e told ]; do sleep 0.05; done && printf '%s' '${body#?}' >&3 && head -1 <&3" >txt 2>err </dev/null &
    client=$!
    until [ -e sent ]; do sleep 0.05; done
    sleep 0.3 && kill $server
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q stopping log && break || sleep 0.1; done
    : >told && wait $server && wait $client
    logged "a request that still arrives" 'stopping: waiting for 1 request (1 still arriving'
    has "it is answered" 'HTTP/1.1 200'
else
    skipped=$((skipped + 2)) && echo "  skipped: no bash: what a stop waits for"
fi
finish
