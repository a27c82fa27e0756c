#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# documents.sh - servers of models that read pages: words and boxes, the page's picture, forms, the Hub's route, MCP, words by a
# program that stands for Tesseract, and what is refused. usage: tests/http/documents.sh [PROGRAM]; needs curl. Last line: "N
# passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
D=tests/golden/documents P=tests/golden/documents/word.png # 97 x 41
cat > "$dir/tesseract" <<'END'
#!/bin/sh
/bin/cat > /dev/null
printf 'left\ttop\twidth\theight\ttext\n8\t12\t23\t9\tAda\n'
END
printf '#!/bin/sh\necho no data for eng >&2\nexit 1\n' > "$dir/broken"
chmod +x "$dir/tesseract" "$dir/broken"
start() { MODEL=$1; shift; serve "$@" || { failed=1; echo "  FAILED: no server: $(cat "$dir/log")"; finish; }; }
post() { curl -s -m 20 -H "$JSON" -d @"$1" "$url$2"; }
W='"words":["Ada"],"boxes":[[82,292,319,512]]'
Q='"question":"What is the total?"'
base64 < $P | tr -d '\n' > "$dir/b64"
body() { printf '%s' "$1"; cat "$dir/b64"; printf '%s' "$2"; }
ada='{"score":0.*,"answer":"Ada","start":0,"end":0}'

# ---- a model that sees the page, and may run Tesseract ----
start $D/layoutlmv3_qa --ocr "$dir/tesseract"
body "{\"inputs\":{$Q,$W,\"image\":\"" '"}}' > "$dir/one"
check "/predict" "$(post "$dir/one" /predict)" "{\"results\":\[{\"answers\":\[$ada\]}\],\"model_id\":\"layoutlmv3_qa\"}"
same=$(post "$dir/one" /predict)
body "{$Q,$W,\"image\":\"data:image/png;base64," '"}' > "$dir/plain"
check "without inputs" "$(post "$dir/plain" /predict)" "$(echo "$same" | sed 's/[][]/\\&/g')"
body "{$Q,\"image\":\"" '"}' > "$dir/read"
check "words that are read" "$(post "$dir/read" /predict)" "$(echo "$same" | sed 's/[][]/\\&/g')"
check "a form" "$(curl -s -F 'question=What is the total?' -F image=@$P "$url/predict")" "$(echo "$same" | sed 's/[][]/\\&/g')"
check "a form with words" "$(curl -s -F 'question=What is the total?' -F 'words=["Ada"]' -F 'boxes=[[82,292,319,512]]' -F image=@$P "$url/predict")" \
    "$(echo "$same" | sed 's/[][]/\\&/g')"
body '{"inputs":{"image":"' "\",$Q},\"parameters\":{\"top_k\":2,\"lang\":\"eng\"}}" > "$dir/hub"
check "the Hub's client" "$(post "$dir/hub" /)" "\[$ada,$ada\]"
body '{"inputs":{"image":"' "\",$Q},\"parameters\":{\"word_boxes\":[[\"Lovelace\",[1,2,3,4]]]}}" > "$dir/given"
check "its words" "$(post "$dir/given" /)" '\[{"score":*,"answer":"Lovelace","start":0,"end":0}\]'
body "{\"inputs\":[{$Q,$W,\"image\":\"" '"}]}' > "$dir/list"
check "a list" "$(post "$dir/list" /)" "\[\[$ada\]\]"
body '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"document_question_answering","arguments":{"inputs":{'"$Q,$W,\"image\":\"" '"}}}}' > "$dir/mcp"
check mcp "$(curl -s -H "$JSON" -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' -d @"$dir/mcp" "$url/mcp")" \
    '*"structuredContent":{"results":\[{"answers":\[{"score":0.*"answer":"Ada"*'
check /model "$(curl -s "$url/model")" '{"model_id":"layoutlmv3_qa","model_type":"document_question_answering"*'
check openapi "$(curl -s "$url/openapi.json")" '*"word_boxes"*'
refused "no picture" 422 invalid_input -H "$JSON" -d "{$Q,$W}" "$url/predict"
check "no picture: words" "$(cat "$dir/body")" '*inputs\[0\].image: found nothing, wanted one*'
body '{"inputs":{"image":"' "\",$Q},\"parameters\":{\"lang\":\"deu\"}}" > "$dir/deu"
check "another language: words" "$(post "$dir/deu" /)" '*parameters.lang: found *deu*, wanted one of*eng*'
refused "a box outside" 422 invalid_input -H "$JSON" -d "{$Q,\"image\":\"AA==\",\"words\":[\"a\"],\"boxes\":[[0,0,0,1001]]}" "$url/predict"
stop TERM

# ---- one that may not ----
start $D/layoutlm_qa
check "words and boxes" "$(predict "{$Q,$W}")" "{\"results\":\[{\"answers\":\[$ada\]}\],\"model_id\":\"layoutlm_qa\"}"
refused "no --ocr" 422 invalid_input -H "$JSON" -d @"$dir/read" "$url/predict"
check "no --ocr: words" "$(cat "$dir/body")" '*found an image without its words*--ocr PATH*'
stop TERM

# ---- who brings words does not wait for those whose words are read ----
printf '#!/bin/sh\nexec /bin/sleep 1.2\n' > "$dir/slow"
chmod +x "$dir/slow"
start $D/layoutlm_qa --threads 1 --ocr "$dir/slow"
for i in 1 2; do post "$dir/read" /predict > "$dir/slow.$i" & eval "slow$i=$!"; done
sleep 0.3
check "meanwhile" "$(curl -s -m 0.8 -H "$JSON" -d "{$Q,$W}" "$url/predict")" "{\"results\":\[{\"answers\":\[$ada\]}\],*"
wait "$slow1"
check "a slow one" "$(cat "$dir/slow.1")" '*the words of the page: tesseract: found no column*'
stop TERM
wait "$slow2"

# ---- one whose Tesseract is broken ----
start $D/layoutlmv3_class --ocr "$dir/broken"
check "labels" "$(body "{\"inputs\":{$W,\"image\":\"" '"}}' | curl -s -H "$JSON" -d @- "$url/")" '\[*{"score":*,"label":"letter"}*\]'
refused "a broken one" 503 unavailable -H 'Content-Type: image/png' --data-binary @$P "$url/predict"
check "a broken one: words" "$(cat "$dir/body")" '*broken: ended with status 1: no data for eng*'
stop TERM
finish
