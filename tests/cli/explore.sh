#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# explore.sh [PROGRAM] - `explore` by its command line: one of ours, a file of torch's exporter, a package, two models, the
# HTML file and the page on this machine's own address.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1
DYNAMO=$ROOT/tests/golden/explore/model.onnx

works "export" "$EF" export "$BUS" bus --quantize
works "one of ours" "$EF" explore bus/model.onnx --json
for words in '"format":"encoderfile-explore-1"' '"tag_source":"metadata_props"' '"totals":{"nodes":115,"modules":25,"parameters":429523,' \
    '"name":"BertLayer.2","class":"BertLayer","scope":"bert.encoder.layer.2"' '"shape":\["batch","sequence",19\]' '"kernel":"attention"' \
    '"notes":\[\]' '"length":128'; do has "one of ours" "$words"; done
works "of torch's exporter" "$EF" explore "$DYNAMO" --length 32 --json
for words in '"tag_source":"namespace"' '"producer":"pytorch ' '"name":"BertLayer.1","class":"BertLayer"' '"parameters":5955' '"length":32'; do
    has "of torch's exporter" "$words"
done
works "a folder" "$EF" explore "$BUS" --json
has "a folder" '"name":"bus-ner"'
works "build" "$EF" build bus -o ner.encoderfile
works "a package" "$EF" explore ner.encoderfile --json
for words in '"form":"package"' '"tag_source":"metadata_props"' '"op":"Attention","domain":"encoderfile"' '"parameters":429523' \
    '"name":"BertSelfAttention"'; do has "a package" "$words"; done
lacks "a package: every node has its module" '(no module)'
works "a package shows itself" ./ner.encoderfile explore --json
has "a package shows itself" '"form":"package"'
works "two" "$EF" explore bus/model.onnx bus/model_quantized.onnx --json
[ "$(grep -c '"path":"bus/model' txt)" = 2 ] && pass || flunk "two models, a line each"
works "pictures" "$EF" explore "$ROOT/examples/road-signs" --json
has "pictures" '"op":"Conv"'
lacks "pictures have no tokens" '"length":'

# ---- HTML ----
works "html" "$EF" explore bus/model.onnx bus/model_quantized.onnx --html deep/both.html
has "html" '^wrote deep/both.html ('
for words in '^<!doctype html>' "default-src 'none'" 'export async function mount' 'id="explore-data"' '.x-grid {'; do
    grep -q -- "$words" deep/both.html && pass || flunk "html: no $words"
done
grep -q '{{' deep/both.html && flunk "html: something was not filled in" || pass
grep -Eq '(src|href)="?(https?:)?//' deep/both.html && flunk "html asks for other files" || pass
[ "$(grep -c '</script>' deep/both.html)" = 2 ] && pass || flunk "html: two scripts"
works "the same file again" "$EF" explore bus/model.onnx --html deep/both.html

# ---- the page ----
"$EF" explore bus/model.onnx --port 0 >address 2>err &
page=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s address ] || sleep 0.2; done
url=$(sed -n 's/^\(http[^ ]*\) .*/\1/p' address)
case $url in http://127.0.0.1:*) pass ;; *) flunk "the page's address: found \"$(cat address)\"" ;; esac
if command -v curl >/dev/null; then
    curl -s "$url" >txt && has "the page" '^<!doctype html>'
    for row in "200 GET / localhost" "404 GET /other localhost" "405 POST / localhost" "403 GET / evil.example"; do
        set -- $row
        found=$(curl -s -o /dev/null -w '%{http_code}' -X "$2" -H "Host: $4" "${url%/}$3")
        [ "$found" = "$1" ] && pass || flunk "$row: found $found"
    done
else
    skipped=$((skipped + 1)) && echo "  skipped: no curl"
fi
kill -INT $page && wait $page
check $? "an interrupt ends it"

# ---- refusals ----
refuses "no model" "found 0 models, wanted one" "$EF" explore
refuses "three" "found 3 models" "$EF" explore a b c
refuses "no such file" "nowhere.onnx" "$EF" explore nowhere.onnx --json
refuses "no model in it" "No such file\|not found" "$EF" explore deep --json
refuses "both" "--json" "$EF" explore bus/model.onnx --json --html x.html
refuses "over the model" "bus/model.onnx" "$EF" explore bus/model.onnx --html bus/model.onnx
refuses "length" "from 1 to 65536" "$EF" explore bus/model.onnx --json --length 0
printf 'no model' >bad.onnx && refuses "no ONNX" "bad.onnx" "$EF" explore bad.onnx --json
works "a text that is too long for the model" "$EF" explore "$DYNAMO" --length 500 --json
has "a text that is too long for the model" '"notes":\["'
finish
