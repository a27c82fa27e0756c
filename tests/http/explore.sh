#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# explore.sh - GET /ui/model.json: who gets it, that it is made once, and that a server answers meanwhile.
# usage: tests/http/explore.sh [PROGRAM]; needs curl. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=examples/bus-ner
KEY='Authorization: Bearer secret'
serve --api-key secret || { failed=1; echo "  FAILED: no server: $(cat "$dir/log")"; finish; }

refused 'without a key' 401 unauthorized "$url/ui/model.json"
# The first one makes it; others that come meanwhile are told to ask again, and predictions go on.
for i in 1 2 3 4; do curl -s -m 20 -o "$dir/report$i" -w '%{http_code}' -H "$KEY" "$url/ui/model.json" > "$dir/status$i" & pids="${pids-} $!"; done
check 'predictions go on' "$(curl -s -m 20 -H "$KEY" -H "$JSON" -d '{"inputs":["Goa"]}' -o /dev/null -w '%{http_code}' "$url/predict")" 200
for pid in $pids; do wait "$pid"; done
for i in 1 2 3 4; do check "at once: $i" "$(cat "$dir/status$i")" '[25]0[03]'; done
check 'now it is there' "$(status -H "$KEY" "$url/ui/model.json")" 200
check 'the report' "$(cat "$dir/body")" '{"format":"encoderfile-explore-1","models":\[{"name":"bus-ner",*"totals":{"nodes":115,*"parameters":429523,*'
cp "$dir/body" "$dir/first"
check 'again' "$(status -H "$KEY" "$url/ui/model.json")" 200
cmp -s "$dir/first" "$dir/body"
check 'made once: the same bytes' $? 0
check 'packed' "$(status --compressed -H "$KEY" "$url/ui/model.json")" 200
cmp -s "$dir/first" "$dir/body"
check 'packed: the same bytes' $? 0
check 'HEAD' "$(curl -s -I -H "$KEY" "$url/ui/model.json" | head -1 | tr -d '\r')" 'HTTP/1.1 200 OK'
check 'POST' "$(status -H "$KEY" -d x "$url/ui/model.json")" 405
check 'listed' "$(curl -s -H "$KEY" "$url/")" '*"/ui/model.json"*'
stop TERM

serve --no-ui || { failed=$((failed + 1)); finish; }
check 'without the page there is none' "$(status "$url/ui/model.json")" 404
stop TERM
finish
