#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tasks.sh - what the Rust encoderfile's own tests ask of a server, for each task and for a package with a transform that uses
# every library it may. usage: tests/http/tasks.sh [PROGRAM]; needs curl and ../shared/fixtures. Last line: "N passed,
# N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
FIXTURES=../shared/fixtures/dummy
given=$PROGRAM

results() { grep -o '"'"$1"'":' "$dir/body" | grep -c .; } # how often a key stands in the body

# ---- each task: test_http.rs ----
task() { # NAME KEY_OF_A_RESULT LABELS(a pattern)
    MODEL=$FIXTURES/$1
    [ -d "$MODEL" ] || { skip "$MODEL"; return; }
    serve --model-type "$1" || { failed=$((failed + 1)) && echo "  FAILED: $1: no server" && return; }
    check "$1: /health" "$(status "$url/health")$(cat "$dir/body")" '200"OK!"'
    check "$1: /openapi.json" "$(status "$url/openapi.json")" 200
    check "$1: /model" "$(status "$url/model")" 200
    check "$1: /model: labels" "$(cat "$dir/body")" "$3"
    check "$1: /predict" "$(status -H "$JSON" -d '{"inputs":["This is a test.","This is another, longer test."]}' "$url/predict")" 200
    check "$1: two results" "$(results "$2")" 2
    check "$1: no metadata" "$(results metadata)" 0
    check "$1: a reply's shape" "$(cat "$dir/body")" '{"results":\[{*}\],"model_id":"?*"}'
    check "$1: metadata" "$(status -H "$JSON" -d '{"inputs":["x"],"metadata":{"a":"b"}}' "$url/predict")$(cat "$dir/body")" '200{*,"metadata":{"a":"b"}}'
    refused "$1: empty inputs" 422 invalid_input -H "$JSON" -d '{"inputs":[]}' "$url/predict"
    refused "$1: no inputs" 422 invalid_input -H "$JSON" -d '{}' "$url/predict"
    refused "$1: GET /predict" 405 method_not_allowed "$url/predict"
    stop TERM
    check "$1: exit code" "$code" 0
}
task embedding embeddings '*"id2label":null,"max_length":*,"pooling":"mean","normalized":false,"dimensions":*}'
task sentence_embedding embedding '*"id2label":null,"max_length":*,"pooling":"mean","normalized":false,"dimensions":*}'
task sequence_classification predicted_label '*"id2label":{"0":"good","1":"bad"},"max_length":*}'
task token_classification tokens '*"id2label":{"0":"good","1":"bad"},"max_length":*}'

# ---- two labels that config.json does not name: LABEL_0 and LABEL_1 on every route ----
MODEL=tests/golden/families/gpt2
if serve --task sentiment-analysis; then
    check 'labels: /predict' "$(predict '{"inputs":["w1 w2"]}')" '*"predicted_label":"LABEL_[01]"*'
    check 'labels: top_k' "$(predict '{"inputs":["w1"],"top_k":2}')" '*"label":"LABEL_[01]"*"label":"LABEL_[01]"*'
    check 'labels: POST /' "$(curl -s -H "$JSON" -d '{"inputs":"w1"}' "$url/")" '*"label":"LABEL_[01]"*'
    check 'labels: /model' "$(curl -s "$url/model")" '*"id2label":{"0":"LABEL_0","1":"LABEL_1"},*'
    check 'labels: /info' "$(curl -s "$url/info")" '*"LABEL_0":0,"LABEL_1":1*'
    stop TERM
else
    failed=$((failed + 1)) && echo "  FAILED: two labels: no server" && cat "$dir/log"
fi

# ---- models whose input is more than a text ----
MODEL=tests/golden/multiple_choice/bert
if serve; then
    ask='{"inputs":[{"prompt":"Where was Ada born?","choices":["In London.","In Paris."]},{"prompt":"x","choices":["y"]}]}'
    check 'choices: /predict' "$(predict "$ask")" '{"results":\[{"logits":\[-1.8094*,"predicted_index":1,"predicted_choice":"In Paris."},{*"scores":\[1*"predicted_choice":"y"}\],"model_id":"bert"}'
    refused 'choices: a text' 422 invalid_input -H "$JSON" -d '{"inputs":"x"}' "$url/predict"
    check 'choices: /tokenize takes texts' "$(curl -s -H "$JSON" -d '{"inputs":"Ada"}' "$url/tokenize")" '\[\[{"id":*'
    refused 'choices: POST /, where GET alone is' 405 method_not_allowed -H "$JSON" -d '{"inputs":"x"}' "$url/"
    check 'choices: POST /: what there is' "$(curl -s -o "$dir/body" -D - -d x "$url/" | tr -d '\r' | grep -i '^allow:')" 'Allow: GET, HEAD, OPTIONS'
    check 'choices: a path of other models' "$(status -H "$JSON" -d '{"inputs":"x"}' "$url/embed")" 424
    check 'choices: its methods' "$(status -X PUT "$url/embed")" 405
    check 'choices: /openapi.json' "$(curl -s "$url/openapi.json")" '*"prompt"*"choices"*'
    many() { printf '{"prompt":"x","choices":["y"' && yes ',"y"' | head -"$(($1 - 1))" && printf ']}'; }
    { printf '{"inputs":' && many 4097 && printf '}'; } > "$dir/many"
    refused 'choices: too many' 422 invalid_input -H "$JSON" -d @"$dir/many" "$url/predict"
    check 'choices: too many: says so' "$(cat "$dir/body")" '*inputs: found 4097 choices in all, wanted at most 4096*'
    { printf '{"inputs":[' && many 4000 && printf ',' && many 100 && printf ']}'; } > "$dir/many"
    refused 'choices: too many in all' 422 invalid_input -H "$JSON" -d @"$dir/many" "$url/predict"
    { printf '{"inputs":[' && many 4000 && printf ',' && many 96 && printf ']}'; } > "$dir/many"
    check 'choices: as many as may be' "$(status -H "$JSON" -d @"$dir/many" "$url/predict")" 200
    check 'choices: no other route' "$(status -H "$JSON" -d '{"inputs":"x"}' "$url/embed")" '4??'
    stop TERM
else
    failed=$((failed + 1)) && echo "  FAILED: choices: no server" && cat "$dir/log"
fi
MODEL=tests/golden/boxes/layoutlm
if serve; then
    page='{"words":["Invoice","London"],"boxes":[[1,2,30,40],[50,2,90,40]]}'
    check 'boxes: /predict' "$(predict "{\"inputs\":$page}")" '{"results":\[{"tokens":\[{"token_info":{*"word":0}*"word":1}*'
    check 'boxes: entities' "$(predict "{\"inputs\":[$page,$page],\"aggregation\":\"first\"}")" '{"results":\[{"entities":*},{"entities":*'
    refused 'boxes: a text' 422 invalid_input -H "$JSON" -d '{"inputs":"x"}' "$url/predict"
    check 'boxes: the path of an error' "$(predict '{"inputs":{"words":["a"],"boxes":[[0,0,1,1001]]}}')" '*inputs\[0\].boxes\[0\]\[3\]: found 1001, wanted 0 to 1000*'
    check 'boxes: POST / wants words' "$(curl -s -H "$JSON" -d '{"inputs":"x"}' "$url/")" '*words and boxes*'
    check 'boxes: /openapi.json' "$(curl -s "$url/openapi.json")" '*"words"*"boxes"*"maximum":1000*'
    stop TERM
else
    failed=$((failed + 1)) && echo "  FAILED: boxes: no server" && cat "$dir/log"
fi

# ---- questions: answers as transformers' pipeline gives them (tests/golden/question_answering, bert, pair 1) ----
MODEL=tests/golden/question_answering/bert
pair=$(sed -n 2p "$MODEL/../pairs.jsonl")
post() { curl -s -m 20 -H "$JSON" -d "$1" "$url/"; }
if serve; then
    check 'questions: /predict' "$(predict "{\"inputs\":$pair}")" '{"results":\[{"answer":"machines","score":0.40861*,"start":56,"end":64}\],"model_id":"bert"}'
    check 'questions: a list' "$(predict "{\"inputs\":[$pair,[\"who\",\"Ada\"]]}")" '{"results":\[{"answer":"machines",*},{"answer":*}\],*}'
    check 'questions: top_k' "$(predict "{\"inputs\":$pair,\"top_k\":2}")" '*"answers":\[{"answer":"machines","score":0.41036*},{"answer":"wrote about machines","score":0.1765*}\]*'
    check 'questions: POST /' "$(post "{\"inputs\":$pair}")" '{"answer":"machines","score":0.40861*,"start":56,"end":64}'
    check 'questions: POST /, a list' "$(post "{\"inputs\":[$pair],\"parameters\":{}}")" '\[{"answer":"machines",*}\]'
    check 'questions: POST /, top_k' "$(post "{\"inputs\":$pair,\"parameters\":{\"top_k\":2}}")" '\[{"answer":"machines","score":0.41036*},{"answer":"wrote about machines",*}\]'
    check 'questions: POST / counts characters' "$(post '{"inputs":{"question":"who","context":"ééé"},"parameters":{"top_k":null}}')" '*"end":3}'
    check 'questions: /openapi.json' "$(curl -s "$url/openapi.json")" '*"handle_impossible_answer"*'
    check 'questions: /model' "$(curl -s "$url/model")" '*"model_type":"question_answering"*'
    refused 'questions: a text' 422 invalid_input -H "$JSON" -d '{"inputs":["x"]}' "$url/predict"
    check 'questions: a text: says so' "$(cat "$dir/body")" '*inputs\[0\]: found a string, wanted {*'
    refused 'questions: no context' 422 invalid_input -H "$JSON" -d '{"inputs":{"question":"x"}}' "$url/predict"
    check 'questions: no context: says so' "$(cat "$dir/body")" '*inputs\[0\].context: found nothing*'
    check 'questions: windows of few tokens' "$(post '{"inputs":{"question":"who","context":"Ada wrote about machines"},"parameters":{"max_seq_len":8}}')" '{"answer":*}'
    refused 'questions: windows without room' 422 invalid_input -H "$JSON" -d "{\"inputs\":$pair,\"max_seq_len\":1}" "$url/predict"
    refused 'questions: too long' 422 invalid_input -H "$JSON" -d "{\"inputs\":$pair,\"max_seq_len\":20,\"doc_stride\":19}" "$url/predict"
    check 'questions: POST /, a wrong one' "$(status -H "$JSON" -d '{"inputs":7}' "$url/")" 422
    check 'questions: /embed' "$(status -H "$JSON" -d '{"inputs":"x"}' "$url/embed")" 424
    stop TERM
else
    failed=$((failed + 1)) && echo "  FAILED: questions: no server" && cat "$dir/log"
fi

# ---- stride: entities to the end of a long text ----
MODEL=tests/golden/strides/bert
if serve; then
    text=$(printf 'Ada wrote about engines. %.0s' 1 2 3 4 5 6)
    last() { grep -o '"end":[0-9]*' | tail -1; }
    check 'stride: without' "$(post "{\"inputs\":\"$text\",\"parameters\":{}}" | last)" '"end":8?'
    check 'stride: POST /' "$(post "{\"inputs\":\"$text\",\"parameters\":{\"stride\":5}}" | last)" '"end":14?'
    check 'stride: /predict' "$(predict "{\"inputs\":\"$text\",\"stride\":5}" | last)" '"end":149'
    check 'stride: tokens alone' "$(post "{\"inputs\":\"$text\",\"parameters\":{\"stride\":5,\"aggregation_strategy\":\"none\"}}" | last)" '"end":14?'
    stop TERM
else
    failed=$((failed + 1)) && echo "  FAILED: stride: no server" && cat "$dir/log"
fi

# ---- a built package: test_build.rs ----
MODEL=$FIXTURES/token_classification
if [ -d "$MODEL" ]; then
    cat > "$dir/config.yml" << END
encoderfile:
  name: libs
  path: $(realpath "$MODEL")
  model_type: token_classification
  output_path: ./libs.encoderfile
  lua_libs: [coroutine, table, io, os, package, string, utf8, math]
  transform: |
    local where = package.path
    local function values()
        return Tensor({1, 2, 3})
    end
    function Postprocess(arr)
        local ok, t = coroutine.resume(coroutine.create(values))
        if not ok or #t ~= 3 then error("coroutine") end
        io.stderr:write("")
        local points = {}
        for _, point in utf8.codes("h\u{e9}llo") do table.insert(points, point) end
        if #points ~= 5 or math.max(table.unpack(points)) ~= 233 then error("utf8") end
        if os.time() <= 0 or string.upper("a") ~= "A" or not where then error("libraries") end
        return arr:softmax(3)
    end
END
    "$PROGRAM" build -f "$dir/config.yml" --directory "$dir" > "$dir/built" 2>&1
    check 'build: exit code' "$?" 0
    check 'build: says where' "$(cat "$dir/built")" '*libs.encoderfile*'
    PROGRAM=$dir/libs.encoderfile
    if [ -x "$PROGRAM" ] && MODEL=$PROGRAM && serve; then
        check 'package: /health' "$(curl -s "$url/health")" '"OK!"'
        check 'package: /predict' "$(status -H "$JSON" -d '{"inputs":["Hugging Face is a technology company based in New York and Paris."]}' "$url/predict")" 200
        check 'package: a result' "$(results tokens)" 1
        check 'package: scores are the transform'"'"'s' "$(cat "$dir/body")" '*"scores":\[0.*'
        stop TERM
        check 'package: exit code' "$code" 0
    else
        failed=$((failed + 1)) && echo "  FAILED: the package does not serve:" && cat "$dir/built" "$dir/log"
    fi
else
    skip "$MODEL"
fi

# ---- hostile scripts behind a server: each its own request's error, while others are answered ----
PROGRAM=$(realpath "$given")
cat > "$dir/hostile.yml" << END
encoderfile:
  name: hostile
  path: $(realpath examples/bus-ner)
  model_type: token_classification
  output_path: ./hostile.encoderfile
  lua_libs: [coroutine, table, io, os, package, string, math]
  transform: |
    local ways = {
        loop = function() while true do pcall(function() while true do end end) end end,
        bomb = function() local s = "x" while true do s = s .. s end end,
        command = function() os.execute("touch $dir/owned") end,
        file = function() io.open("$dir/owned", "w") end,
        bytecode = function() assert(load("\\27Lua")) end,
    }
    function Preprocess(text)
        if ways[text] then ways[text]() end
        return text
    end
END
"$PROGRAM" build -f "$dir/hostile.yml" --directory "$dir" > "$dir/built" 2>&1
PROGRAM=$dir/hostile.encoderfile MODEL=$dir/hostile.encoderfile
if [ -x "$PROGRAM" ] && serve --threads 1; then
    begin=$(date +%s)
    curl -s -m 60 -o "$dir/stuck" -w '%{http_code}' -H "$JSON" -d "{\"inputs\":[\"loop\"]}" "$url/predict" > "$dir/code" &
    client=$! beside=0
    while kill -0 $client 2> /dev/null; do
        [ "$(status -H "$JSON" -d '{"inputs":["next bus to the station"]}' "$url/predict")" = 200 ] || break
        kill -0 $client 2> /dev/null && beside=$((beside + 1))
    done
    wait $client
    check "loop: others meanwhile" "$([ $beside -ge 10 ] && echo enough)" enough
    check "loop: status" "$(cat "$dir/code")" 500
    check "loop: says so" "$(cat "$dir/stuck")" '*the script went over its *limit of *'
    check "loop: in time" "$([ $(($(date +%s) - begin)) -le 20 ] && echo yes)" yes
    refused 'bomb' 500 internal -H "$JSON" -d '{"inputs":["bomb"]}' "$url/predict"
    check 'bomb: says so' "$(cat "$dir/body")" '*over its memory limit of *'
    refused 'command' 500 internal -H "$JSON" -d '{"inputs":["command"]}' "$url/predict"
    check 'command: says so' "$(cat "$dir/body")" '*os.execute is not available in a transform*'
    refused 'file' 500 internal -H "$JSON" -d '{"inputs":["file"]}' "$url/predict"
    refused 'bytecode' 500 internal -H "$JSON" -d '{"inputs":["bytecode"]}' "$url/predict"
    check 'nothing was touched' "$(ls "$dir/owned" 2> /dev/null)" ''
    check 'and then' "$(status -H "$JSON" -d '{"inputs":["next bus"]}' "$url/predict")" 200
    stop TERM
    check 'hostile: exit code' "$code" 0
else
    failed=$((failed + 1)) && echo "  FAILED: the hostile package does not serve:" && cat "$dir/built" "$dir/log"
fi
finish
