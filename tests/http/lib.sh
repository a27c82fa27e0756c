# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the scripts of this folder share; read with `.`, with the script's "$@". $PROGRAM is the program, $MODEL
# what `serve` starts, $url where it answers, $dir a folder that goes at the end.
PROGRAM=${1:-build/encoderfile}
passed=0 failed=0 skipped=0
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit $?; }
skip() { skipped=$((skipped + 1)); echo "  skipped: $1"; }
command -v curl > /dev/null || { skip "no curl"; finish; }
[ -x "$PROGRAM" ] || { skip "no $PROGRAM"; finish; }

dir=$(mktemp -d) server=
trap '[ -n "$server" ] && kill "$server" 2> /dev/null; rm -rf "$dir"' EXIT

# check NAME FOUND WANTED (a pattern of case)
check() {
    case $2 in
    $3) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)); echo "  FAILED: $1: found '$(printf %.300s "$2")', wanted '$3'" ;;
    esac
}

# serve FLAGS...: starts it on a free port and waits until it answers.
serve() {
    : > "$dir/log" # not the last server's: a busy machine may be late with the redirection
    "$PROGRAM" serve --model "$MODEL" --http-hostname 127.0.0.1 --http-port 0 --grpc-port 0 "$@" 2> "$dir/log" &
    server=$!
    tries=0 port=
    while [ -z "$port" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        port=$(sed -n 's/.*https*:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$dir/log")
        tries=$((tries + 1))
    done
    url=http://127.0.0.1:$port
    [ -n "$port" ]
}

stop() { # SIGNAL: and its exit code
    kill -"$1" "$server"
    wait "$server"
    code=$?
    server=
}

status() { curl -s -m 20 -o "$dir/body" -w '%{http_code}' "$@"; }
predict() { curl -s -m 20 -H 'Content-Type: application/json' -d "$1" "$url/predict"; }
refused() { # NAME WANTED_STATUS WANTED_TYPE CURL_ARGUMENTS...
    name=$1 want=$2 type=$3
    shift 3
    check "$name: status" "$(status "$@")" "$want"
    check "$name: body" "$(cat "$dir/body")" "{\"error\":{\"message\":\"*\",\"type\":\"$type\",\"param\":*,\"code\":$want},\"message\":\"*\",\"code\":$want,\"type\":\"$type\"}"
}
JSON='Content-Type: application/json'
