#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# curl.sh - curl against every dialect. What the numbers should be is the Python clients' business; here: status, shape.
passed=0 failed=0
row() { # row CALL WANTED-STATUS WANTED-REGEX URL [CURL ARGUMENTS]
    call=$1 status=$2 regex=$3 && shift 3
    got=$(curl -s -m 20 -w '\n%{http_code} %{http_version}' "$@")
    if [ "$(printf %s "$got" | tail -1 | cut -d' ' -f1)" = "$status" ] && printf %s "$got" | grep -qE -- "$regex"; then
        passed=$((passed + 1)) && echo "  | curl | $call | - | $status |"
    else
        failed=$((failed + 1)) && echo "  FAILED: | curl | $call | $(printf %s "$got" | cut -c1-300) |"
    fi
}
post() { # post MODEL PATH BODY WANTED-STATUS WANTED-REGEX [CURL ARGUMENTS]
    eval "base=\$EF_URL_$1"
    path=$2 body=$3 status=$4 regex=$5 && shift 5
    row "POST $path $body $*" "$status" "$regex" "$base$path" -H 'Content-Type: application/json' -d "$body" "$@"
}
get() {
    eval "base=\$EF_URL_$1"
    path=$2 status=$3 regex=$4 && shift 4
    row "GET $path $*" "$status" "$regex" "$base$path" "$@"
}
F='-?[0-9.e-]+'

get EMBED /health 200 'OK!'
get EMBED /info 200 '^\{"model_id":"embed","model_sha":null,"model_dtype":"float32","served_model_name":"embed"'
get EMBED /v1/models 200 '"data":\[\{"id":"embed"'
get EMBED /mcp 405 '"error"'
post EMBED /embed '{"inputs":"a bus"}' 200 "^\[\[$F(,$F){31}\]\]"
post EMBED /embed '{"inputs":["a bus","rome"],"truncate":true}' 200 "^\[\[$F(,$F){31}\],\[$F(,$F){31}\]\]"
post EMBED /embed '{"inputs":""}' 400 '"error_type":"Empty"'
post EMBED /embed_all '{"inputs":"a bus"}' 200 "^\[\[(\[$F(,$F){31}\],?){4}\]\]"
post EMBED /embed_sparse '{"inputs":"a bus"}' 424 '"error_type":"Backend"'
post EMBED /similarity '{"inputs":{"source_sentence":"a","sentences":["a","b"]}}' 200 '^\[1\.0,'
post EMBED /tokenize '{"inputs":"a bus"}' 200 '^\[\[\{"id":2,"text":"\[CLS\]","special":true,"start":null,"stop":null\}'
post EMBED /decode '{"ids":[2,6,12,3]}' 200 '^\["a bus"\]'
post EMBED /v1/embeddings '{"input":"a bus"}' 200 '^\{"object":"list","data":\[\{"object":"embedding","embedding":\['
post EMBED /predict '{"inputs":["a bus"]}' 200 '^\{"results":\[\{"embedding":\['
post MASK /embed_sparse '{"inputs":"a bus"}' 200 '^\[\[\{"index":[0-9]+,"value":[0-9.e-]+\}'
post LABELS /predict '{"inputs":"good"}' 200 '^\[\{"score":[0-9.]+,"label":"[a-z]+"\},'
post LABELS /predict '{"inputs":["good","bad"]}' 200 '^\{"results":\['
post LABELS /predict '{"inputs":["good","bad"],"raw_scores":true}' 200 '^\[\{"score":'
post LABELS /predict '{"inputs":[]}' 422 'Cannot tokenize empty string'
post RANK /rerank '{"query":"a","texts":["b","c"],"return_text":true}' 200 '^\[\{"index":[01],"text":"[bc]","score":'
post RANK /rerank '{"query":"a","documents":["b"]}' 200 '"results":\[\{"index":0,"relevance_score":'
post NER / '{"inputs":"Book a bus from Pune","parameters":{}}' 200 '^\[\{"entity_group":"SRC"'
post EMBED /mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' 200 '"name":"run_encoder"'
post EMBED /mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' 403 '"error"' -H 'Origin: https://evil.example'
post EMBED /mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' 421 '"error"' -H 'Host: evil.example'
post EMBED /mcp '{"jsonrpc":"2.0","method":"notifications/initialized"}' 202 ''
# HTTP/2 on the same port; the last line of what row() looks at is "STATUS VERSION".
get EMBED /health 200 '^200 1\.1$' --http1.1
get EMBED /health 200 '^200 2$' --http2-prior-knowledge
post EMBED /embed '{"inputs":"a bus"}' 200 '^200 2$' --http2-prior-knowledge
post EMBED /embed '{"inputs":""}' 400 '^\{"error":.*"error_type":"Empty"\}' --http2-prior-knowledge
post EMBED /mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' 200 '"name":"run_encoder"' --http2-prior-knowledge
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
