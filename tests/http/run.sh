#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - the built program as a client sees it: every route, every status, concurrency, the end.
# usage: tests/http/run.sh [PROGRAM [MODEL_FOLDER]]; needs curl. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=${2:-}
for folder in ../shared/fixtures/dummy/token_classification examples/bus-ner; do
    [ -z "$MODEL" ] && { [ -f "$folder/model.onnx" ] || [ -f "$folder/model.safetensors" ]; } && MODEL=$folder
done
[ -n "$MODEL" ] || { skip "no model"; finish; }

if ! serve --max-body 100000; then
    failed=1
    echo "  FAILED: no server:" && cat "$dir/log"
    finish
fi

check 'a local server has a local gRPC port' "$(grep 'gRPC on' "$dir/log")" '*gRPC on 127.0.0.1:*'

# ---- routes ----
check health "$(curl -s "$url/health")" '"OK!"'
check model "$(curl -s "$url/model")" '{"model_id":"*","model_type":"*","id2label":{"0":"*'
check index "$(curl -s "$url/")" '*"/predict"*'
check openapi "$(curl -s "$url/openapi.json")" '{"openapi":"3.1.0",*"/predict":{"post":*"PredictReply":*}'
check 'HEAD: status' "$(status -I "$url/health")" 200
check 'HEAD: length' "$(cat "$dir/body")" '*Content-Length: 5*'
check 'metrics: the model was opened' "$(curl -s "$url/metrics" | tr '\n' ' ')" '* encoderfile_model_loads_total 1 *'
check 'metrics: bytes of its files' "$(curl -s "$url/metrics" | sed -n 's/^encoderfile_model_load_bytes_total //p')" '[1-9][0-9][0-9][0-9]*'
check 'metrics: seconds of opening' "$(curl -s "$url/metrics" | sed -n 's/^encoderfile_model_load_seconds_total //p')" '[0-9].[0-9]*[1-9]*'
check 'query string' "$(status "$url/health?x=1")" 200
check predict "$(predict '{"inputs":["hello world","second"]}')" '{"results":[{"tokens":[{"token_info":{"token":"*","token_id":*,"start":0,"end":*},"scores":\[*\],"label":"*","score":*'
check 'one text' "$(predict '{"inputs":"hello"}')" '{"results":[{"tokens":*'
check pairs "$(predict '{"inputs":[["a question","an answer"]]}')" '{"results":[{"tokens":*'
check metadata "$(predict '{"inputs":["x"],"metadata":{"k":"v"}}')" '*,"metadata":{"k":"v"}}'
check 'byte offsets' "$(predict '{"inputs":["ééé x"]}')" '*"start":7,"end":8*'
check 'char offsets' "$(predict '{"inputs":["ééé x"],"offsets":"chars"}')" '*"start":4,"end":5*'
check extract "$(predict '{"inputs":["x"],"extract":true}')" '{"results":\[{"extracted":{*}}\],*'
check charset "$(status -H "$JSON; charset=utf-8" -d '{"inputs":["x"]}' "$url/predict")" 200
check 'HTTP/1.0' "$(status -0 "$url/health")" 200
check 'HTTP/1.0 keep-alive' "$(curl -s -0 -i -H 'Connection: keep-alive' "$url/health")" '*Connection: keep-alive*'

# ---- errors ----
refused 'broken JSON' 400 bad_request -H "$JSON" -d '{"inputs":' "$url/predict"
refused 'no JSON' 400 bad_request -H "$JSON" -d '' "$url/predict"
refused 'no such route' 404 not_found "$url/nothing"
refused 'wrong method' 405 method_not_allowed -X DELETE "$url/predict"
check Allow "$(curl -s -i -X PUT "$url/health")" '*Allow: GET, HEAD, OPTIONS*'
head -c 200000 /dev/zero | tr '\0' ' ' > "$dir/large"
refused 'large body' 413 too_large -H "$JSON" -H 'Expect:' --data-binary "@$dir/large" "$url/predict"
refused 'large body in chunks' 413 too_large -H "$JSON" -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary "@$dir/large" "$url/predict"
refused 'no content type' 415 unsupported_media_type -H 'Content-Type:' -d '{}' "$url/predict"
refused 'content type that is no text' 415 unsupported_media_type -H "$(printf 'Content-Type: text/\377')" -d '{}' "$url/predict"
check 'content type that is no text: UTF-8' "$(cat "$dir/body")" '*found *"text/[?]*"*'
refused 'form' 415 unsupported_media_type -d 'a=b' "$url/predict"
refused 'wrong type' 422 invalid_input -H "$JSON" -d '{"inputs":[1]}' "$url/predict"
check param "$(cat "$dir/body")" '*"param":"inputs\[0\]"*'
refused 'missing inputs' 422 invalid_input -H "$JSON" -d '{}' "$url/predict"
refused 'empty list' 422 invalid_input -H "$JSON" -d '{"inputs":[]}' "$url/predict"
check 'empty list: words' "$(cat "$dir/body")" '*Cannot tokenize empty string*"param":"inputs"*'
refused 'empty text' 422 invalid_input -H "$JSON" -d '{"inputs":[""]}' "$url/predict"
refused 'bad offsets' 422 invalid_input -H "$JSON" -d '{"inputs":["x"],"offsets":"words"}' "$url/predict"
refused 'bad UTF-8' 400 bad_request -H "$JSON" --data-binary "$(printf '{"inputs":["\377"]}')" "$url/predict"
head -c 20000 /dev/zero | tr '\0' 'x' > "$dir/long"
refused 'long header' 431 too_large -H "X: $(cat "$dir/long")" "$url/health"

# ---- connections ----
check keep-alive "$(curl -s -o /dev/null -o /dev/null -w '%{num_connects} ' "$url/health" "$url/model")" '1 0 '
printf '{"inputs":["chunked"]}' > "$dir/small"
check chunked "$(curl -s -H "$JSON" -H 'Transfer-Encoding: chunked' --data-binary "@$dir/small" "$url/predict")" '{"results":*'
check Expect "$(curl -s -v -H "$JSON" -H 'Expect: 100-continue' --data-binary "@$dir/small" "$url/predict" 2>&1)" '*100 Continue*{"results":*'

# ---- the same answers alone and in company ----
texts='one:two words:three more words:a rather longer text with many more words in it, and a comma'
body() { printf '%s' "$texts" | tr ':' '\n' | sed -n "$1p" | sed 's/.*/{"inputs":["&","again"]}/'; }
i=0
while [ $i -lt 4 ]; do i=$((i + 1)); predict "$(body $i)" > "$dir/alone.$i"; done
i=0 clients=
while [ $i -lt 24 ]; do
    i=$((i + 1))
    predict "$(body $((i % 4 + 1)))" > "$dir/company.$i" &
    clients="$clients $!"
done
wait $clients
i=0 different=0
while [ $i -lt 24 ]; do
    i=$((i + 1))
    cmp -s "$dir/alone.$((i % 4 + 1))" "$dir/company.$i" || different=$((different + 1))
done
check concurrent "$different" 0

# ---- the end: what has begun is finished ----
many=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "%s\"a text with some words in it, number %d\"", i ? "," : "", i }')
{ printf '{"inputs":['; sleep 2; printf '%s]}' "$many"; } |
    curl -s -m 30 -H "$JSON" -H 'Expect:' -X POST -T - "$url/predict" > "$dir/last" &
client=$!
sleep 1
stop TERM
wait $client
check 'in flight' "$(tail -c 40 "$dir/last")" '*"model_id":"*"}'
check 'SIGTERM: exit code' "$code" 0
check 'gone' "$(status "$url/health")" 000
check 'no warnings' "$(grep -c ' warn ' "$dir/log")" 0

# ---- limits as flags ----
if serve --max-inputs 2; then
    refused 'too many inputs' 422 invalid_input -H "$JSON" -d '{"inputs":["a","b","c"]}' "$url/predict"
    timeout 20 "$PROGRAM" serve --model "$MODEL" --http-hostname 127.0.0.1 --http-port "$port" 2> "$dir/second"
    check 'port in use: exit code' "$?" 1
    check 'port in use: message' "$(cat "$dir/second")" "*127.0.0.1 port $port*in use*"
    stop INT
    check 'SIGINT: exit code' "$code" 0
fi

# ---- keys of a file: a byte order mark, comments, white space, an end without a line end ----
printf '\357\273\277# who may\r\n\r\n  first-key \t\r\n#old-key\n\nsecond#key' > "$dir/keys"
if ENCODERFILE_API_KEY=' third-key
' serve --api-key-file "$dir/keys" --api-key fourth-key; then
    for key in first-key second#key third-key fourth-key; do
        check "key $key" "$(status -H "Authorization: Bearer $key" "$url/model")" 200
    done
    for key in '# who may' old-key '#old-key' 'first-key%20' ''; do
        check "no key: $key" "$(status -H "Authorization: Bearer $key" "$url/model")" 401
    done
    stop TERM
fi

# ---- a client that is killed: its request goes with it ----
metric() { curl -s "$url/metrics" | sed -n "s/^encoderfile_$1 //p"; }
until_metric() { # NAME VALUE: waits for it, 20 s at most
    tries=0
    while [ "$(metric "$1")" != "$2" ] && [ $tries -lt 200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
if serve --threads 1; then
    awk 'BEGIN { printf "{\"inputs\":["; for (i = 0; i < 4000; i++) {
        printf "%s\"", i ? "," : ""; for (k = 0; k < 400; k++) printf "word "; printf "\"" } printf "]}" }' > "$dir/huge"
    curl -s -m 60 -H "$JSON" -H 'Expect:' --data-binary "@$dir/huge" "$url/predict" > /dev/null &
    client=$!
    until_metric 'http_connections' 2 # the client's, and the one that asks
    sleep 0.3
    kill -9 $client
    wait $client 2> /dev/null
    until_metric 'rejected_total{reason="client_gone"}' 1
    check 'killed client: its request' "$(metric 'rejected_total{reason="client_gone"}')" 1
    until_metric queue_length 0
    check 'killed client: the queue' "$(metric queue_length)" 0
    check 'killed client: connections' "$(metric http_connections)" 1
    check 'killed client: others' "$(predict '{"inputs":"hello"}')" '{"results":*'
    stop TERM
    check 'killed client: exit code' "$code" 0
fi

# ---- pytorch_model.bin: the same answer as from model.safetensors ----
torch=tests/golden/torch/ner
for form in . bin; do
    mkdir -p "$dir/$form/ner" && cp $torch/config.json $torch/vocab.txt $torch/$form/*model.* "$dir/$form/ner"
    MODEL=$dir/$form/ner
    serve || { failed=$((failed + 1)) && echo "  FAILED: pytorch_model.bin: no server: $(cat "$dir/log")" && continue; }
    predict '{"inputs":["sleeper bus from pune to goa tomorrow"]}' > "$dir/$form/answer"
    stop TERM
done
check 'pytorch_model.bin: an answer' "$(cat "$dir/bin/answer")" '{"results":*B-DST*"model_id":"ner"}'
check 'pytorch_model.bin: the same' "$(cmp "$dir/answer" "$dir/bin/answer" && echo same)" same
finish
