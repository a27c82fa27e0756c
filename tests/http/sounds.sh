#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sounds.sh - a server of a model that hears: base64, data URIs, samples, raw bodies, forms, the Hub's route, MCP, and what is
# refused. usage: tests/http/sounds.sh [PROGRAM]; needs curl. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=tests/golden/speech/ctc
P=tests/golden/sounds/speech.flac
Q=tests/golden/sounds/stereo.flac
serve --max-seconds 3 || { failed=1; echo "  FAILED: no server: $(cat "$dir/log")"; finish; }
base64 < "$P" | tr -d '\n' > "$dir/b64"
body() { printf '%s' "$1"; cat "$dir/b64"; printf '%s' "$2"; }
said='{"text":"ET ETETE ETETEE E E EETETE ETET"}'

# ---- /predict ----
body '{"inputs":"' '"}' > "$dir/one"
check base64 "$(curl -s -H "$JSON" -d @"$dir/one" "$url/predict")" "{\"results\":\[$said\],\"model_id\":\"ctc\"}"
body '{"inputs":[{"audio":"data:audio/flac;base64,' '"}],"return_timestamps":"word","metadata":{"a":"b"}}' > "$dir/uri"
check "a data URI" "$(curl -s -H "$JSON" -d @"$dir/uri" "$url/predict")" \
    '{"results":\[{"text":"ET ETETE*","chunks":\[{"text":"ET","timestamp":\[0.0,0.04\]},*\]}\],"model_id":"ctc","metadata":{"a":"b"}}'
for type in audio/flac audio/wav audio/x-wav application/octet-stream; do
    check "a raw body: $type" "$(curl -s -H "Content-Type: $type" --data-binary @$P "$url/predict")" "{\"results\":\[$said\],*"
done
tone() { awk -v key="$1" -v rate="$2" 'BEGIN { printf "{\"inputs\":{\"%s\":[", key; for (i = 0; i < rate / 5; i++) printf "%s%.4f", i ? "," : "", sin(i * 2764 / rate) / 2; printf "],\"sampling_rate\":%d}}", rate }'; }
tone array 16000 > "$dir/array"
tone raw 16000 > "$dir/raw"
check "samples" "$(curl -s -H "$JSON" -d @"$dir/array" "$url/predict")" '{"results":\[{"text":"*"}\],*'
check "samples by their other name" "$(curl -s -H "$JSON" -d @"$dir/raw" "$url/predict")" "$(curl -s -H "$JSON" -d @"$dir/array" "$url/predict" | sed 's/[[]/\\[/g')"
sed 's/"array":\(\[[^]]*\]\)/"array":[\1,\1]/' "$dir/array" > "$dir/two"
check "two channels" "$(curl -s -H "$JSON" -d @"$dir/two" "$url/predict")" "$(curl -s -H "$JSON" -d @"$dir/array" "$url/predict" | sed 's/[[]/\\[/g')"
check "a form" "$(curl -s -F 'payload={"a":"b"}' -F files=@$P -F audio=@$Q "$url/predict/multipart")" \
    "{\"results\":\[$said,{\"text\":\"E EE\"}\],\"model_id\":\"ctc\",\"metadata\":{\"a\":\"b\"}}"
check "options of a form" "$(curl -s -F return_timestamps=char -F file=@$Q "$url/predict")" '{"results":\[{"text":"E EE","chunks":\[{"text":"E","timestamp":\[0.02,0.06\]},*'

# ---- the Hub: as huggingface_hub's client sends it ----
check "hub: raw" "$(curl -s -H 'Content-Type: audio/flac' --data-binary @$P "$url/")" "$said"
check "hub: no type" "$(curl -s -H 'Content-Type:' --data-binary @$P "$url/")" "$said"
body '{"inputs":"' '","parameters":{"return_timestamps":"char","chunk_length_s":0.5,"stride_length_s":[0.1,0.1]}}' > "$dir/hub"
check "hub: parameters" "$(curl -s -H "$JSON" -d @"$dir/hub" "$url/")" '{"text":"ET ETETE EE E E EETETEE EETE","chunks":\[{"text":"E","timestamp":\[0.0,0.02\]},*'

# ---- MCP ----
body '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"automatic_speech_recognition","arguments":{"inputs":["' '"]}}}' > "$dir/mcp"
check mcp "$(curl -s -H "$JSON" -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2025-06-18' -d @"$dir/mcp" "$url/mcp")" '*"structuredContent":{"results":\[{"text":"ET ETETE*'

# ---- what is told ----
check /model "$(curl -s "$url/model")" '{"model_id":"ctc","model_type":"automatic_speech_recognition",*'
check openapi "$(curl -s "$url/openapi.json")" '*"sampling_rate"*'

# ---- refused ----
refused "a text" 422 invalid_input -H "$JSON" -d '{"inputs":["I love this"]}' "$url/predict"
check "a text: words" "$(cat "$dir/body")" '*inputs\[0\]: sound: found text that is not base64*'
refused "a URL" 422 invalid_input -H "$JSON" -d '{"inputs":["https://example.com/a.wav"]}' "$url/predict"
refused "a number" 422 invalid_input -H "$JSON" -d '{"inputs":[{"audio":3}]}' "$url/predict"
refused "no rate" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[0,0]}}' "$url/predict"
check "no rate: words" "$(cat "$dir/body")" '*sampling_rate: found nothing, wanted one beside array*'
refused "1 Hz" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[0,0],"sampling_rate":1}}' "$url/predict"
refused "1 MHz" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[0,0],"sampling_rate":1000000}}' "$url/predict"
refused "no samples" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[],"sampling_rate":16000}}' "$url/predict"
refused "a sample that is none" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[0,"x"],"sampling_rate":16000}}' "$url/predict"
check "a sample that is none: words" "$(cat "$dir/body")" '*array\[1\]: found a string, wanted a number*'
refused "infinite samples" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[0,1e99],"sampling_rate":16000}}' "$url/predict"
refused "channels of two lengths" 422 invalid_input -H "$JSON" -d '{"inputs":{"array":[[0,0],[0]],"sampling_rate":16000}}' "$url/predict"
refused "nothing" 422 invalid_input -H "$JSON" -d '{"inputs":[]}' "$url/predict"
refused "too short" 422 invalid_input -H 'Content-Type: audio/wav' --data-binary @tests/golden/sounds/mono.wav "$url/predict"
refused "plain text" 415 unsupported_media_type -H 'Content-Type: text/plain' -d hello "$url/predict"
refused "an empty body" 422 invalid_input -H 'Content-Type: audio/wav' -d '' "$url/predict"
head -c 700 $P > "$dir/cut.flac"
refused "a truncated file" 422 invalid_input -H 'Content-Type: audio/flac' --data-binary @"$dir/cut.flac" "$url/predict"
{ head -c 44 tests/golden/sounds/mono.wav | head -c 40; printf '\300\324\001\000'; head -c 120000 /dev/zero; } > "$dir/long.wav"
refused "over --max-seconds" 413 too_large -H 'Content-Type: audio/wav' --data-binary @"$dir/long.wav" "$url/predict"
printf 'OggS\0\2\0\0\0\0\0\0' > "$dir/a.ogg"
refused "Ogg" 415 unsupported_media_type -H 'Content-Type: audio/ogg' --data-binary @"$dir/a.ogg" "$url/predict"
check "Ogg: words" "$(cat "$dir/body")" '*ffmpeg -i FILE.ogg -ac 1 -ar 16000 FILE.wav*'
refused "a word that is none" 422 invalid_input -H "$JSON" -d '{"inputs":"AAAA","return_timestamps":"line"}' "$url/predict"
check "a route of texts" "$(status -H "$JSON" -d '{"inputs":"x"}' "$url/tokenize")$(cat "$dir/body")" '424*'
stop TERM
check "exit code" "$code" 0

# ---- the other tasks ----
MODEL=tests/golden/speech/wav2vec2
serve || { failed=$((failed + 1)); finish; }
check "labels" "$(curl -s -H 'Content-Type: audio/flac' --data-binary @$P "$url/predict")" '{"results":\[{"labels":\[{"label":"no","index":1,"score":0.299*},*{"label":"up"*}\]}\],*'
check "hub: all labels" "$(curl -s -H 'Content-Type: audio/flac' --data-binary @$P "$url/")" '\[{"score":0.299*,"label":"no"},*{"score":0.072*,"label":"right"}\]'
body '{"inputs":"' '","parameters":{"top_k":2,"function_to_apply":"none"}}' > "$dir/top"
check "hub: two logits" "$(curl -s -H "$JSON" -d @"$dir/top" "$url/")" '\[{"score":*,"label":"no"},{"score":*,"label":"left"}\]'
stop TERM
MODEL=tests/golden/speech/vectors
serve || { failed=$((failed + 1)); finish; }
check "vectors" "$(curl -s -H 'Content-Type: audio/flac' --data-binary @$P "$url/predict")" '{"results":\[{"embedding":\[-0.355*\]}\],*'
check "hub: vectors" "$(curl -s -H 'Content-Type: audio/flac' --data-binary @$P "$url/")" '\[-0.355*\]'
stop TERM

# ---- a sound for a model of pictures ----
MODEL=tests/golden/pictures/vit
serve || { failed=$((failed + 1)); finish; }
refused "to a model of pictures" 422 invalid_input -H 'Content-Type: audio/flac' --data-binary @$P "$url/predict"
stop TERM
finish
