#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tasks.sh - what the original's own tests ask of a server, for each task and for a package with a transform that uses
# every library it may. usage: tests/http/tasks.sh [PROGRAM]; needs curl and ../shared/fixtures. Last line: "N passed,
# N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
FIXTURES=../shared/fixtures/dummy

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
task embedding embeddings '*"id2label":null}'
task sentence_embedding embedding '*"id2label":null}'
task sequence_classification predicted_label '*"id2label":{"0":"good","1":"bad"}}'
task token_classification tokens '*"id2label":{"0":"good","1":"bad"}}'

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
finish
