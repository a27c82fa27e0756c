#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page.sh - the page for browsers, without one: who gets it, its header fields, its size, and what its sources may not say.
# usage: tests/http/page.sh [PROGRAM]; needs curl. A browser opens it in tests/page. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=examples/bus-ner
BROWSER='Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'
head_of() { curl -s -m 20 -o /dev/null -D - "$@" | tr -d '\r'; }
field() { sed -n "s/^$1: //Ip" "$dir/head"; }
serve || { failed=1; echo "  FAILED: no server: $(cat "$dir/log")"; finish; }

# ---- who gets it ----
check 'a browser gets the page' "$(curl -s -H "$BROWSER" "$url/")" '<!doctype html>*'
check 'curl gets JSON' "$(curl -s "$url/")" '{"model_id":"bus-ner",*'
check 'no Accept: JSON' "$(curl -s -H 'Accept:' "$url/")" '{"model_id":"bus-ner",*'
check 'JSON by name' "$(curl -s -H 'Accept: application/json' "$url/")" '{"model_id":"bus-ner",*'
check 'both: JSON' "$(curl -s -H 'Accept: application/json, text/html' "$url/")" '{"model_id":"bus-ner",*'
check '/docs' "$(curl -s "$url/docs")" '<!doctype html>*'
check 'HEAD' "$(head_of -I -H "$BROWSER" "$url/")" 'HTTP/1.1 200 OK*Content-Type: text/html*'
check 'POST / is the model' "$(status -H "$JSON" -d '{"inputs":"Goa"}' "$url/")" 200
check 'POST /docs' "$(status -d x "$url/docs")" 405
for path in /ui/ /ui/nothing.js /ui/../ui/page.js /ui/page.js/ /ui/%70age.js /docs/ /ui; do
    check "$path" "$(status --path-as-is "$url$path")" 404
done

# ---- header fields ----
head_of -H "$BROWSER" -H 'Accept-Encoding: gzip' "$url/" > "$dir/head"
check 'packed' "$(field Content-Encoding)" gzip
check 'nosniff' "$(field X-Content-Type-Options)" nosniff
check 'Vary' "$(field Vary)" '*Accept*'
check 'the policy has no inline' "$(field Content-Security-Policy | grep -c 'unsafe\|http:\|https:\|[*]')" 0
check 'the policy' "$(field Content-Security-Policy)" "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; *frame-ancestors 'none'"
etag=$(field ETag)
check 'ETag' "$etag" '"????????????????"'
rm -f "$dir/body"
check 'held already' "$(status -H "$BROWSER" -H "If-None-Match: $etag" "$url/")" 304
check 'held already: nothing is sent' "$(cat "$dir/body" 2> /dev/null)" ''
check 'another is held' "$(status -H "$BROWSER" -H 'If-None-Match: "0"' "$url/")" 200
check 'after 304 the connection goes on' "$(curl -s -o /dev/null -w '%{http_code}' -H "$BROWSER" -H "If-None-Match: $etag" "$url/" --next -s -o /dev/null -w '%{http_code}' "$url/health")" 304200
if curl -V | grep -q HTTP2; then
    check 'HTTP/2: the page' "$(curl -s --http2-prior-knowledge -H "$BROWSER" "$url/")" '<!doctype html>*'
    check 'HTTP/2: held already' "$(status --http2-prior-knowledge -H "$BROWSER" -H "If-None-Match: $etag" "$url/")" 304
else
    skip "HTTP/2: curl has none"
fi
check 'caches tell JSON from the page' "$(head_of "$url/")" '*Vary: Accept*'
check 'the time of a request' "$(head_of -H "$JSON" -d '{"inputs":["Goa"]}' "$url/predict")" \
    '*Server-Timing: receive;dur=*, prepare;dur=*, queue;dur=*, compute;dur=*, total;dur=*'

# ---- every file: as it is in web/, packed or not ----
sum=0
for file in web/*.html web/*.css web/*.js web/*.svg; do
    name=${file#web/}
    check "$name: whole" "$(curl -s "$url/ui/$name" | cmp - "$file" && echo same)" same
    check "$name: unpacked" "$(curl -s --compressed "$url/ui/$name" | cmp - "$file" && echo same)" same
    case $name in *.js) type=text/javascript* ;; *.css) type=text/css* ;; *.html) type=text/html* ;; *) type=image/svg+xml ;; esac
    head_of "$url/ui/$name" > "$dir/head"
    check "$name: type" "$(field Content-Type)" "$type"
    check "$name: policy" "$(field Content-Security-Policy)" "default-src 'none'*"
    case $name in explore*) ;; *) sum=$((sum + $(curl -s -H 'Accept-Encoding: gzip' "$url/ui/$name" | wc -c))) ;; esac
done
check "the page is at most 120 KB packed (it is $sum bytes)" "$([ $sum -gt 10000 ] && [ $sum -le 122880 ] && echo yes)" yes
stop TERM

# ---- its sources: nothing of elsewhere, no markup out of strings, no inline script or style ----
check 'nothing of elsewhere' "$(grep -noE "(https?:)?//[a-z0-9.-]+\.[a-z]+[a-z0-9/]*" web/*.html web/*.css web/*.js | grep -v 'www.w3.org/2000/svg$' | head -3)" ''
check 'no markup out of strings' "$(grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser' web/*.js | head -3)" ''
check 'no inline script or style' "$(grep -nE '<script>|<style|[ ]style=|[ ]on[a-z]+=|javascript:' web/index.html web/docs.html | head -3)" ''

# ---- off ----
serve --no-ui || { failed=$((failed + 1)); echo "  FAILED: no server: $(cat "$dir/log")"; finish; }
check '--no-ui: JSON for browsers' "$(curl -s -H "$BROWSER" "$url/")" '{"model_id":"bus-ner",*'
check '--no-ui: /docs' "$(status "$url/docs")" 404
check '--no-ui: /ui/page.js' "$(status "$url/ui/page.js")" 404
check '--no-ui: not listed' "$(curl -s "$url/" | grep -c '"/docs"\|"/ui')" 0
stop TERM

# ---- with a key: the page is open, the model is not; examples come from the task ----
serve --api-key sesame || { failed=$((failed + 1)); echo "  FAILED: no server: $(cat "$dir/log")"; finish; }
check 'a key: the page' "$(status -H "$BROWSER" "$url/")$(status "$url/ui/page.js")$(status "$url/docs")" 200200200
check 'a key: the model' "$(status -H "$JSON" -d '{"inputs":["Goa"]}' "$url/predict")" 401
check 'examples' "$(curl -s "$url/openapi.json")" '*"examples":\[{"inputs":\["AC sleeper bus from Bangalore to Mumbai tomorrow",*'
stop TERM
finish
