#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# h2.sh - the built program as curl sees it over HTTP/2 and TLS: the same bytes as over HTTP/1.1.
# usage: tests/http/h2.sh [PROGRAM]; needs curl with HTTP/2, and openssl. Last line: "N passed, N failed, N skipped".
PROGRAM=${1:-build/encoderfile}
MODEL=examples/bus-ner
passed=0 failed=0 skipped=0
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit $?; }
skip() { skipped=$((skipped + 1)); echo "  skipped: $1"; }
curl --version 2> /dev/null | grep -q ' HTTP2 ' || { skip "no curl with HTTP/2"; finish; }
command -v openssl > /dev/null || { skip "no openssl"; finish; }

dir=$(mktemp -d) server=
trap '[ -n "$server" ] && kill "$server" 2> /dev/null; rm -rf "$dir"' EXIT

# check NAME FOUND WANTED (a pattern of case)
check() {
    case $2 in
    $3) passed=$((passed + 1)) ;;
    *) failed=$((failed + 1)); echo "  FAILED: $1: found '$(printf %.300s "$2")', wanted '$3'" ;;
    esac
}

# serve FLAGS...: starts it on a free port and waits until it says where.
serve() {
    : > "$dir/log"
    "$PROGRAM" serve --model "$MODEL" --http-hostname 127.0.0.1 --http-port 0 "$@" 2> "$dir/log" &
    server=$!
    tries=0 url=
    while [ -z "$url" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        url=$(sed -n 's/.*\(https*:\/\/127.0.0.1:[0-9]*\).*/\1/p' "$dir/log")
        tries=$((tries + 1))
    done
    [ -n "$url" ] || { failed=$((failed + 1)); cat "$dir/log"; finish; }
}

stop() {
    kill -TERM "$server"
    wait "$server"
    check "$1: exit code" "$?" 0
    server=
}

# certificate NAME: NAME.pem and NAME.key, signed by itself
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/$1.key" -out "$dir/$1.pem" \
        -days 2 -subj "/CN=$1" -addext subjectAltName=IP:127.0.0.1 2> /dev/null
}

JSON='Content-Type: application/json'
body() { curl -s -m 30 "$@"; }
version() { curl -s -m 30 -o /dev/null -w '%{http_version} %{http_code}' "$@"; }
many=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "%s\"a text with some words in it, number %d\"", i ? "," : "", i }')
printf '{"inputs":[%s]}' "$many" > "$dir/many"

# both NAME CURL_ARGUMENTS: the same answer over HTTP/1.1 and HTTP/2, called so.
both() {
    name=$1
    shift
    check "$name: HTTP/2" "$(version "$@")" '2 *'
    body --http1.1 "$@" > "$dir/one"
    body "$@" > "$dir/two"
    check "$name: same bytes" "$(cmp "$dir/one" "$dir/two" 2>&1)" ''
}

# answers NAME CURL_ARGUMENTS...: the usual things
answers() {
    label=$1
    shift
    both "$label health" "$@" "$url/health"
    both "$label page" "$@" "$url/openapi.json"
    both "$label packed page" "$@" -H 'Accept-Encoding: gzip' "$url/openapi.json"
    both "$label predict" "$@" -H "$JSON" -d '{"inputs":["Volvo from Pune to Goa on Sunday"]}' "$url/predict"
    both "$label many" "$@" -H "$JSON" -d "@$dir/many" "$url/predict"
    both "$label lines" "$@" -H 'Content-Type: application/x-ndjson' --data-binary '"one"
"two words"' "$url/predict"
    both "$label error" "$@" -H "$JSON" -d '{"inputs":7}' "$url/predict"
    both "$label no route" "$@" "$url/nothing"
    check "$label HEAD" "$(version -I "$@" "$url/health")" '2 200'
    check "$label too long" "$(version "$@" -H "$JSON" --data-binary "@$PROGRAM" "$url/predict")" '2 413'
}

serve --max-body 100000
answers plain --http2-prior-knowledge
check 'HTTP/1.1 is still there' "$(version "$url/health")" '1.1 200'
check 'an upgrade is not taken' "$(version --http2 "$url/health")" '1.1 200'
if command -v h2load > /dev/null; then
    found=$(h2load -n 2000 -c 2 -m 100 "$url/health" | sed -n 's/^status codes: //p')
    check '100 streams' "$found" '2000 2xx, 0 3xx, 0 4xx, 0 5xx'
fi
stop plain

certificate server
certificate client
serve --max-body 100000 --cert-file "$dir/server.pem" --key-file "$dir/server.key"
answers TLS --http2 --cacert "$dir/server.pem"
check 'TLS 1.2' "$(version --http2 --tls-max 1.2 --cacert "$dir/server.pem" "$url/health")" '2 200'
check 'HTTP/1.1 under TLS' "$(version --http1.1 --cacert "$dir/server.pem" "$url/health")" '1.1 200'
check 'not trusted' "$(version "$url/health")" '* 000'
check 'no TLS' "$(version "http${url#https}/health")" '1.1 400'
certificate server
kill -HUP "$server"
sleep 1
check 'new certificate' "$(version --cacert "$dir/server.pem" "$url/health")" '2 200'
stop TLS

serve --cert-file "$dir/server.pem" --key-file "$dir/server.key" --client-ca-file "$dir/client.pem"
check 'client certificate' "$(version --cacert "$dir/server.pem" --cert "$dir/client.pem" --key "$dir/client.key" \
    "$url/health")" '2 200'
check 'none' "$(version --cacert "$dir/server.pem" "$url/health")" '* 000'
stop clients
"$PROGRAM" serve --model "$MODEL" --cert-file "$dir/server.pem" --key-file "$dir/client.key" 2> "$dir/log"
check 'wrong key: exit code' "$?" 1
check 'wrong key' "$(cat "$dir/log")" '*client.key: found the key of another certificate, wanted that of*server.pem*'
finish
