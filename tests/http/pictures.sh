#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pictures.sh - a server of a model that reads pictures: base64, data URIs, raw bodies, forms, the Hub's route, MCP, and what is
# refused. usage: tests/http/pictures.sh [PROGRAM]; needs curl. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=tests/golden/pictures/vit
P=tests/golden/images/cmyk.jpg
Q=tests/golden/images/png6_8_13x11.png
serve --max-pixels 60000 || { failed=1; echo "  FAILED: no server: $(cat "$dir/log")"; finish; }
labels='{"labels":\[{"label":"bird","index":6,"score":0.48*{"label":"tree","index":5,"score":0.258*}\]}'
base64 < "$P" | tr -d '\n' > "$dir/b64"
body() { printf '%s' "$1"; cat "$dir/b64"; printf '%s' "$2"; }

# ---- /predict ----
body '{"inputs":"' '"}' > "$dir/one"
check base64 "$(curl -s -H "$JSON" -d @"$dir/one" "$url/predict")" "{\"results\":\[$labels\],\"model_id\":\"vit\"}"
body '{"inputs":[{"image":"data:image/jpeg;base64,' '"}],"top_k":1,"metadata":{"a":"b"}}' > "$dir/uri"
check "a data URI" "$(curl -s -H "$JSON" -d @"$dir/uri" "$url/predict")" \
    '{"results":\[{"labels":\[{"label":"bird","index":6,"score":0.48*}\]}\],"model_id":"vit","metadata":{"a":"b"}}'
check "a raw body" "$(curl -s -H 'Content-Type: image/jpeg' --data-binary @$P "$url/predict")" "{\"results\":\[$labels\],*"
check "bytes" "$(curl -s -H 'Content-Type: application/octet-stream' --data-binary @$P "$url/predict")" "{\"results\":\[$labels\],*"
gzip -c "$dir/one" > "$dir/one.gz"
check "gzip" "$(curl -s -H "$JSON" -H 'Content-Encoding: gzip' --data-binary @"$dir/one.gz" "$url/predict")" "{\"results\":\[$labels\],*"

# ---- forms: the Rust encoderfile's route ----
check "a form" "$(curl -s -F 'payload={"a":"b"}' -F files=@$P -F files=@$Q "$url/predict/multipart")" \
    "{\"results\":\[$labels,{\"labels\":*}\],\"model_id\":\"vit\",\"metadata\":{\"a\":\"b\"}}"
check "options of a form" "$(curl -s -F top_k=1 -F image=@$Q "$url/predict")" '{"results":\[{"labels":\[{"label":"*"*}\]}\],"model_id":"vit"}'
refused "a form without files" 422 invalid_input -F 'payload={}' "$url/predict/multipart"
check "its words" "$(cat "$dir/body")" '*Cannot classify empty image list*'
refused "a broken payload" 422 invalid_input -F 'payload={' -F files=@$P "$url/predict/multipart"
refused "no boundary" 400 bad_request -H 'Content-Type: multipart/form-data' -d x "$url/predict/multipart"
refused "a form that does not end" 400 bad_request -H 'Content-Type: multipart/form-data; boundary=b' -d 'x' "$url/predict/multipart"
refused "GET" 405 method_not_allowed "$url/predict/multipart"

# ---- the Hub: raw bytes with or without a type; base64 with parameters ----
top='\[{"label":"bird","score":0.48*},*{"label":"cat"*}\]'
check "hub: raw" "$(curl -s -H 'Content-Type: image/jpeg' --data-binary @$P "$url/")" "$top"
check "hub: no type" "$(curl -s -H 'Content-Type:' --data-binary @$P "$url/")" "$top"
body '{"inputs":"' '","parameters":{"top_k":2,"function_to_apply":"none"}}' > "$dir/hub"
check "hub: parameters" "$(curl -s -H "$JSON" -d @"$dir/hub" "$url/")" '\[{"label":"bird","score":1.66*},{"label":"tree","score":1.026*}\]'

# ---- MCP ----
body '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"image_classification","arguments":{"top_k":1,"inputs":["' '"]}}}' > "$dir/mcp"
check mcp "$(curl -s -H "$JSON" -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' -d @"$dir/mcp" "$url/mcp")" '*"structuredContent":{"results":\[{"labels":\[{"label":"bird"*'

# ---- what is told ----
check /model "$(curl -s "$url/model")" '{"model_id":"vit","model_type":"image_classification","id2label":{"0":"cat",*'
check openapi "$(curl -s "$url/openapi.json")" '*"/predict/multipart"*'

# ---- refused ----
refused "a text" 422 invalid_input -H "$JSON" -d '{"inputs":["I love this"]}' "$url/predict"
check "a text: words" "$(cat "$dir/body")" '*inputs\[0\]: picture: found text that is not base64*'
refused "a URL" 422 invalid_input -H "$JSON" -d '{"inputs":["https://example.com/a.jpg"]}' "$url/predict"
check "a URL: words" "$(cat "$dir/body")" '*URLs are not fetched*'
refused "a number" 422 invalid_input -H "$JSON" -d '{"inputs":[{"image":3}]}' "$url/predict"
refused "plain text" 415 unsupported_media_type -H 'Content-Type: text/plain' -d hello "$url/predict"
refused "an empty body" 422 invalid_input -H 'Content-Type: image/png' -d '' "$url/predict"
head -c 700 $P > "$dir/cut.jpg"
refused "a truncated file" 422 invalid_input -H 'Content-Type: image/jpeg' --data-binary @"$dir/cut.jpg" "$url/predict"
{ head -c 6 tests/golden/images/plain_37x29.gif; printf '\377\000\377\000'; tail -c +11 tests/golden/images/plain_37x29.gif; } > "$dir/large.gif"
refused "over --max-pixels" 413 too_large -H 'Content-Type: image/gif' --data-binary @"$dir/large.gif" "$url/predict"
printf 'II*\0' > "$dir/a.tiff"
refused "TIFF" 415 unsupported_media_type -H 'Content-Type: image/tiff' --data-binary @"$dir/a.tiff" "$url/predict"
check "a route of texts" "$(status -H "$JSON" -d '{"inputs":"x"}' "$url/tokenize")$(cat "$dir/body")" '424*'
stop TERM
check "exit code" "$code" 0

# ---- the other tasks ----
MODEL=tests/golden/pictures/yolos
serve || { failed=$((failed + 1)); finish; }
check "objects" "$(curl -s -H 'Content-Type: image/jpeg' --data-binary @$P "$url/")" '\[{"score":0.89*,"label":"dog","box":{"xmin":12,"ymin":-7,"xmax":45,"ymax":7}},*'
body '{"inputs":"' '","parameters":{"threshold":0.99}}' > "$dir/none"
check "a threshold" "$(curl -s -H "$JSON" -d @"$dir/none" "$url/")" '\[\]'
refused "a threshold that is none" 422 invalid_input -H "$JSON" -d '{"inputs":"AAAA","threshold":2}' "$url/predict"
stop TERM
MODEL=tests/golden/pictures/segformer
serve || { failed=$((failed + 1)); finish; }
check "segments" "$(curl -s -H 'Content-Type: image/jpeg' --data-binary @$P "$url/")" '\[{"score":null,"label":"road","mask":"iVBOR*"},{"score":*}\]'
stop TERM
MODEL=tests/golden/pictures/vit_vectors
serve || { failed=$((failed + 1)); finish; }
body '{"model":"x","input":[{"image":"' '"}],"dimensions":4}' > "$dir/openai"
check "/v1/embeddings" "$(curl -s -H "$JSON" -d @"$dir/openai" "$url/v1/embeddings")" '{"object":"list","data":\[{"object":"embedding","embedding":\[*,*,*,*\],"index":0}\],"model":"vit_vectors",*'
check "vectors: /predict" "$(curl -s -H 'Content-Type: image/jpeg' --data-binary @$P "$url/predict")" '{"results":\[{"embedding":\[*\]}\],*'
refused "vectors: a text" 422 invalid_input -H "$JSON" -d '{"input":["no picture"]}' "$url/v1/embeddings"
check "as the body calls it" "$(cat "$dir/body")" '*"message":"input\[0\]: picture: found text that is not base64*"param":"input\[0\]"*'
head -c 40 /dev/zero | base64 > "$dir/zeros"
refused "vectors: no picture" 422 invalid_input -H "$JSON" -d "{\"input\":[\"$(cat "$dir/zeros")\"]}" "$url/v1/embeddings"
check "so, too" "$(cat "$dir/body")" '*"message":"input\[0\]: picture: found 40 bytes*'
refused "patches that are not there" 422 invalid_input -F files=@$P -F patches=true "$url/predict"
stop TERM
MODEL=tests/golden/pictures/vit_hidden
serve || { failed=$((failed + 1)); finish; }
check "patches" "$(curl -s -F files=@$P -F patches=true "$url/predict")" '{"results":\[{"embedding":\[*\],"patches":\[{"embedding":\[*\]},*{"embedding":\[*\]}\]}\],*'
stop TERM

# ---- pictures with texts ----
MODEL=tests/golden/pairs/clip
P=tests/golden/images/base420_37x29.jpg
base64 < "$P" | tr -d '\n' > "$dir/b64"
serve || { failed=$((failed + 1)); finish; }
pair='\[{"label":"cat","index":0,"score":0.9425*},{"label":"dog","index":1,"score":0.057*}\]'
body '{"inputs":"' '","candidate_labels":["cat","dog"]}' > "$dir/one"
check "zero-shot" "$(curl -s -H "$JSON" -d @"$dir/one" "$url/predict")" "{\"results\":\[{\"labels\":$pair}\],\"model_id\":\"clip\"}"
check "a form" "$(curl -s -F files=@$P -F candidate_labels=cat -F candidate_labels=dog "$url/predict/multipart")" "{\"results\":\[{\"labels\":$pair}\],*"
check "a form with a list" "$(curl -s -F files=@$P -F 'candidate_labels=["cat","dog"]' "$url/predict")" "{\"results\":\[{\"labels\":$pair}\],*"
body '{"inputs":"' '","parameters":{"candidate_labels":["cat","dog"]}}' > "$dir/hub"
check "hub" "$(curl -s -H "$JSON" -d @"$dir/hub" "$url/")" '\[{"score":0.9425*,"label":"cat"},{"score":0.057*,"label":"dog"}\]'
check "labels that are known" "$(curl -s "$url/metrics" | grep '^encoderfile_labels_total')" '*cached="no"} 2*cached="yes"} 6*'
refused "raw, without labels" 422 invalid_input -H 'Content-Type: image/jpeg' --data-binary @$P "$url/predict"
check "its words" "$(cat "$dir/body")" '*candidate_labels: found nothing*'
body '{"input":["a cat",{"image":"' '"},{"text":"a cat"}]}' > "$dir/both"
check "/v1/embeddings" "$(curl -s -H "$JSON" -d @"$dir/both" "$url/v1/embeddings" | grep -o '"embedding":\[[^,]*')" \
    "*:\[0.4568*:\[0.1672*:\[0.4568*"
body '{"inputs":{"source_sentence":{"image":"' '"},"sentences":["a cat","a dog"]}}' > "$dir/similar"
check "/similarity" "$(curl -s -H "$JSON" -d @"$dir/similar" "$url/similarity")" '\[*,*\]'
check "/embed" "$(curl -s -H "$JSON" -d '{"inputs":"a cat"}' "$url/embed")" '\[\[0.4568*'
refused "neither" 422 invalid_input -H "$JSON" -d '{"input":[{"txet":"x"}]}' "$url/v1/embeddings"
check "openapi" "$(curl -s "$url/openapi.json")" '*"candidate_labels"*'
stop TERM

# ---- a picture for a model of texts ----
MODEL=tests/golden/families/gpt2
serve --task sentiment-analysis || { failed=$((failed + 1)); finish; }
refused "to a model of texts" 415 unsupported_media_type -H 'Content-Type: image/jpeg' --data-binary @$P "$url/predict"
refused "as JSON, too" 422 invalid_input -H "$JSON" -d @"$dir/uri" "$url/predict"
check "the form's route" "$(status -F files=@$P "$url/predict/multipart")" 424
stop TERM
finish
