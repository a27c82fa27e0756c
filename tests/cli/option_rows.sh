#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# option_rows.sh [PROGRAM] - one row of an option is its flag, its environment variable, its line of --help, its object of
# --help --json and its line of docs/options.md. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1

# up NAME VARIABLE=VALUE... -- FLAGS...: starts `serve` on any free port of this machine, waits for the line that says so,
# and ends it. The line is in err.
up() {
    name=$1 && shift
    variables= && : >err
    while [ "$1" != -- ]; do variables="$variables $1" && shift; done
    shift
    ENCODERFILE_HTTP_HOSTNAME=127.0.0.1 ENCODERFILE_HTTP_PORT=0 ENCODERFILE_GRPC_PORT=0 env $variables \
        timeout 20 "$EF" serve -m "$BUS" "$@" >txt 2>err </dev/null &
    server=$!
    for i in $(seq 100); do grep -q ' serving \|error:' err || { kill -0 $server 2>/dev/null && sleep 0.05; }; done
    grep -q ' serving ' err
    check $? "$name: starts"
    kill $server 2>/dev/null && wait $server 2>/dev/null
}
logged() { grep -q -- "$2" err && pass || flunk "$1: log lacks \"$2\""; }
silent() { grep -q -- "$2" err && flunk "$1: log has \"$2\"" || pass; }
# refused WORDS VARIABLE=VALUE... -- ARGUMENTS...: exit 2 (or 1: no such file), one line with the words.
refused() {
    words=$1 && shift
    variables= && : >err
    while [ "$1" != -- ]; do variables="$variables $1" && shift; done
    shift
    env $variables timeout 10 "$EF" "$@" >txt 2>err </dev/null
    [ $? -le 2 ] && ! grep -q serving err && [ "$(grep -c . err)" = 1 ] && grep -q -- "$words" err && pass || flunk "$variables $*: wanted \"$words\""
}

# ---- flag, variable, default ----
up "variables alone" -- && logged "address" 'on http://127.0.0.1:[1-9]' && logged "gRPC's port" 'gRPC.*127.0.0.1:[1-9]'
up "a count" ENCODERFILE_THREADS=2 -- && logged "a variable over the default" ', 2 threads)'
up "flag over variable" ENCODERFILE_THREADS=2 ENCODERFILE_HTTP_HOSTNAME=127.0.0.2 -- --threads 3 --http-hostname 127.0.0.1
logged "flag over variable" ', 3 threads) on http://127.0.0.1:'
up "a flag's variable that a flag decides is not read" ENCODERFILE_THREADS=many -- --threads 1
up "--port decides over http-port's variable" ENCODERFILE_HTTP_PORT=1 -- --port 0
up "--http-port decides over port's variable" ENCODERFILE_HTTP_PORT=1 ENCODERFILE_PORT=1 -- --http-port 0
up "on" -u ENCODERFILE_GRPC_PORT ENCODERFILE_DISABLE_GRPC=yes -- && silent "disable-grpc" 'gRPC.*127.0.0.1:'
up "off" ENCODERFILE_DISABLE_GRPC=false ENCODERFILE_VERIFY=0 -- && logged "disable-grpc=false" 'gRPC.*127.0.0.1:'
up "a flag wins over what it excludes" ENCODERFILE_HTTP_PORT=1 ENCODERFILE_HTTP_HOSTNAME=127.0.0.1 -- --disable-http --grpc-hostname 127.0.0.1
up "a word" ENCODERFILE_LOG_LEVEL=warn ENCODERFILE_MAX_BODY=5 -- --log-level info
works "no variable for other commands" env ENCODERFILE_FORMAT=nonsense ENCODERFILE_THREADS=x "$EF" infer -m "$BUS" "bus to Goa"
works "mcp --stdio decides over what it excludes" env ENCODERFILE_PORT=x ENCODERFILE_API_KEY= "$EF" mcp -m "$BUS" --stdio
refused 'nowhere' ENCODERFILE_MODEL=nowhere -- serve --port 0
refused 'ENCODERFILE_API_KEY_FILE: none: No such file' ENCODERFILE_API_KEY_FILE=none -- serve -m "$BUS" --port 0

# ---- Kubernetes ----
up "a service called encoderfile" ENCODERFILE_PORT=tcp://10.0.0.1:80 -- && logged "tcp://" 'ENCODERFILE_PORT: ignored "tcp://10.0.0.1:80": Kubernetes'
for port in HTTP_PORT GRPC_PORT PORT; do
    env ENCODERFILE_$port=tcp://10.0.0.1:80 "$EF" serve -m nowhere >txt 2>err </dev/null
    logged "$port" "ENCODERFILE_$port: ignored" && logged "$port" "error: nowhere"
done
env ENCODERFILE_PORT=tcp://10.0.0.1:80 "$EF" mcp -m nowhere >txt 2>err </dev/null
logged "mcp" "ENCODERFILE_PORT: ignored"
refused 'ENCODERFILE_QUEUE: found "tcp://10.0.0.1:80"' ENCODERFILE_QUEUE=tcp://10.0.0.1:80 -- serve -m "$BUS" --port 0
refused '--http-port: found "tcp://10.0.0.1:80"' -- serve -m "$BUS" --http-port tcp://10.0.0.1:80

# ---- bad values: flag or variable, value, limits ----
refused 'error: ENCODERFILE_HTTP_PORT: found "70000", wanted a number from 0 to 65535' ENCODERFILE_HTTP_PORT=70000 -- serve
refused 'error: --http-port: found "70000", wanted a number from 0 to 65535' ENCODERFILE_HTTP_PORT=0 -- serve --http-port 70000
refused 'ENCODERFILE_THREADS: found "-1", wanted a number from 1 to 4096' ENCODERFILE_THREADS=-1 -- mcp
refused 'ENCODERFILE_MAX_BODY: found "1MB", wanted a number from 1 to 1099511627776' ENCODERFILE_MAX_BODY=1MB -- serve
refused 'ENCODERFILE_BATCH_MS: found "0.5", wanted a number from 1 to 60000' ENCODERFILE_BATCH_MS=0.5 -- serve
refused 'ENCODERFILE_DRAIN: found "99999999999999999999"' ENCODERFILE_DRAIN=99999999999999999999 -- serve
refused 'ENCODERFILE_LOG_LEVEL: found "loud", wanted error, warn, info or debug' ENCODERFILE_LOG_LEVEL=loud -- serve
refused 'ENCODERFILE_DISABLE_GRPC: found "maybe", wanted true or false' ENCODERFILE_DISABLE_GRPC=maybe -- serve
refused 'ENCODERFILE_NORMALIZE: found "1", wanted true or false' ENCODERFILE_NORMALIZE=1 -- serve
refused 'ENCODERFILE_MODEL: found nothing, wanted a value' ENCODERFILE_MODEL= -- serve
refused 'ENCODERFILE_CORS_ORIGIN: found nothing, wanted a value' ENCODERFILE_CORS_ORIGIN= -- serve
refused 'ENCODERFILE_HTTP_PORT: found "", wanted a number' ENCODERFILE_HTTP_PORT= -- serve
refused 'ENCODERFILE_API_KEY: found nothing, wanted a key' ENCODERFILE_API_KEY= -- serve
refused 'ENCODERFILE_HTTP_PORT: found ENCODERFILE_DISABLE_HTTP beside it' ENCODERFILE_HTTP_PORT=1 ENCODERFILE_DISABLE_HTTP=1 -- serve
refused 'ENCODERFILE_HTTP_PORT: found ENCODERFILE_PORT beside it' ENCODERFILE_HTTP_PORT=1 ENCODERFILE_PORT=1 -- serve
refused 'Cannot disable both' ENCODERFILE_DISABLE_GRPC=1 -- serve --disable-http
refused 'wanted both --cert-file and --key-file' ENCODERFILE_CERT_FILE=x -- serve
refused '--repeat: found "0", wanted a number from 1 to 1048576' -- bench -m "$BUS" --repeat 0
refused '--offsets: found "words", wanted bytes or chars' -- infer -m "$BUS" --offsets words x
refused 'did you mean --max-body?' -- serve -m "$BUS" --max-boddy 5
ENCODERFILE_API_KEY='two words' "$EF" serve -m "$BUS" >txt 2>err </dev/null
logged "a key is never shown" 'ENCODERFILE_API_KEY: line 1: found white space' && silent "a key is never shown" 'two words'

# ---- --help and --help --json ----
works "--help --json" "$EF" --help --json
mv txt all.json
tr -d '\n' <all.json >line.jsonl
prints "it is JSON" '"embedding\|results' "$EF" infer -m "$BUS" -i line.jsonl --field version
sed -n 's/^      "name": "\(.*\)",$/\1/p' all.json >commands
"$EF" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\( [a-z]\{1,\}\)\{0,1\}\)  .*/\1/p' | cmp -s - commands && [ "$(wc -l <commands)" -gt 25 ]
check $? "every command is listed"
while read -r command; do
    "$EF" $command --help </dev/null | sed -n 's/^  .\{4\}--\([a-zA-Z0-9_-]*\).*/\1/p' >listed
    "$EF" $command --help --json </dev/null | sed -n 's/^          "name": "\(.*\)",$/\1/p' >told
    cmp -s listed told
    check $? "$command: --help and --help --json list the same"
done <commands
[ -s listed ] && pass || flunk "options were compared"
prints "one command, in any order" '"ENCODERFILE_HTTP_PORT"' "$EF" --json serve --help
has "default" '^          "default": 8080,$' && has "limits" '^          "most": 65535,$' && has "kind" '"kind": "port"'
lacks "one command alone" '"name": "infer"'
prints "--help" 'longest request body; default 32 MiB' "$EF" serve --help
has "--help" 'ENCODERFILE_MAX_BODY'

# ---- docs ----
"$ROOT/tools/options-page" "$EF" >page.md
diff page.md "$ROOT/docs/options.md" >err 2>&1
check $? "docs/options.md is what ./dev docs writes"
finish
