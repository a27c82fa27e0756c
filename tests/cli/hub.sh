#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hub.sh - models by their name, from a Hub on this machine (tests/hub/server.py): what is downloaded, what the cache
# holds, and every way in which a server, a proxy or a certificate can be wrong.
# usage: tests/cli/hub.sh [PROGRAM]; needs python3 and openssl, and skips without. EF_HUB_MB (16) and EF_HUB_KILLS (3):
# the download that is killed again and again.
. tests/cli/lib.sh
command -v python3 >/dev/null || { echo "  skipped: no python3" && skipped=1 && finish && exit; }
command -v openssl >/dev/null || { echo "  skipped: no openssl" && skipped=1 && finish && exit; }
mb=${EF_HUB_MB:-16} kills=${EF_HUB_KILLS:-3}
unset HF_HUB_OFFLINE HF_TOKEN HF_HOME HF_HUB_CACHE HF_TOKEN_PATH HTTPS_PROXY https_proxy NO_PROXY no_proxy SSL_CERT_FILE
unset SSL_CERT_DIR XDG_CACHE_HOME TRANSFORMERS_OFFLINE HUGGING_FACE_HUB_TOKEN HUGGINGFACE_HUB_CACHE

# ---- the models ----
mkdir -p models/ner models/large models/huge models/shards models/onnx models/sentence/1_Pooling models/sentence/2_Dense models/empty
cp "$BUS"/*.json "$BUS/vocab.txt" "$BUS/model.safetensors" "$BUS/README.md" models/ner/
rm -f models/ner/id2label.json models/ner/label2id.json
echo '{}' >models/empty/config.json
cp "$BUS/config.json" models/large/
head -c 10000000 /dev/urandom >models/large/large.dat # two pieces
head -c "$((mb * 1000000 + 12345))" /dev/urandom >models/huge/huge.dat
cp "$BUS/config.json" models/shards/
printf '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}}' \
    >models/shards/model.safetensors.index.json
printf one >models/shards/model-00001-of-00002.safetensors && printf two >models/shards/model-00002-of-00002.safetensors
printf three >models/shards/pytorch_model.bin
mkdir models/onnx/onnx && cp "$BUS"/tokenizer*.json "$BUS/config.json" models/onnx/
printf data >models/onnx/onnx/model.onnx_data && printf x >models/onnx/onnx/model_quantized.onnx
"$EF" export "$BUS" exported >/dev/null 2>&1 && cp exported/model.onnx models/onnx/onnx/model.onnx
cp models/ner/* models/sentence/
printf '[{"idx": 0, "path": "", "type": "Transformer"}, {"idx": 1, "path": "1_Pooling", "type": "Pooling"}, {"idx": 2, "path": "2_Dense"}]' \
    >models/sentence/modules.json
printf '{}' >models/sentence/1_Pooling/config.json && printf '{}' >models/sentence/2_Dense/config.json
printf dense >models/sentence/2_Dense/pytorch_model.bin

# ---- the servers: plain on loopback, and one under TLS ----
servers=
trap 'exec 8>&- 9>&-; [ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
# hub NAME FD FLAGS...: its ports in the file NAME
hub() {
    name=$1 fd=$2 && shift 2
    mkfifo "$name.in"
    python3 "$ROOT/tests/hub/server.py" models "$name.log" "$@" <"$name.in" >"$name" 2>"$name.err" &
    servers="$servers $!"
    if [ "$fd" = 8 ]; then exec 8>"$name.in"; else exec 9>"$name.in"; fi
    tries=0
    while ! grep -q storage "$name" && [ $tries -lt 200 ]; do sleep 0.05 && tries=$((tries + 1)); done
    : >"$name.log"
}
port() { sed -n "s/^$2 //p" "$1"; }
hub plain 8 --rate 60000000
export HF_ENDPOINT="http://127.0.0.1:$(port plain hub)" HF_HOME="$work/hf" HF_HUB_DOWNLOAD_TIMEOUT=10
[ -n "$(port plain hub)" ] || { cat plain.err && echo "  skipped: the server of tests/hub does not start" && skipped=1 && finish && exit; }

# cached ORG/NAME FILE: its path in the cache
cached() { echo "$HF_HOME/hub/models--$(echo "$1" | sed 's,/,--,')/snapshots/"*"/$2"; }
asked() { grep -c -- "$1" plain.log; }
# whole NAME ORG/MODEL FILE: the cache has that file, as it was sent, behind a link to a blob
whole() {
    at=$(cached "$2" "$3")
    if [ -L "$at" ] && cmp -s "$at" "models/${2#*/}/$3"; then pass; else flunk "$1: $3 is not in the cache as it was sent"; fi
}
nothing() { [ -e "$(cached "$2" "$3")" ] && flunk "$1: there is a $3" || pass; }
blobless() { # NAME ORG/MODEL: no file under a final name that has not the bytes it is called by
    for blob in "$HF_HOME/hub/models--$(echo "$2" | sed 's,/,--,')/blobs/"*; do
        case $(basename "$blob") in
            '*' | *.incomplete) ;;
            ????????????????????????????????????????????????????????????????)
                [ "$(sha256sum <"$blob" | cut -c1-64)" = "$(basename "$blob")" ] && pass || flunk "$1: a wrong blob" ;;
        esac
    done
}

# ---- names ----
prints "a name" '"model_type": "bert"' "$EF" inspect ok/ner
whole "a name" ok/ner model.safetensors
whole "a name" ok/ner tokenizer.json
nothing "not what no model needs" ok/ner README.md
before=$(wc -l <plain.log)
works "from the cache" "$EF" inspect ok/ner
[ "$(wc -l <plain.log)" = "$before" ] && pass || flunk "the cache answers without a request"
works "a name, offline" env HF_HUB_OFFLINE=1 HF_ENDPOINT=http://127.0.0.1:1 "$EF" inspect hf:ok/ner
refuses "another name, offline" "HF_HUB_OFFLINE is set" env HF_HUB_OFFLINE=1 "$EF" inspect offline/ner
works "a revision" "$EF" inspect ok/ner@v1
[ "$(cat "$HF_HOME/hub/models--ok--ner/refs/v1")" = "$(cat "$HF_HOME/hub/models--ok--ner/refs/main")" ] && pass || flunk "refs"
works "a revision with slashes" "$EF" inspect ok/ner@refs/pr/1
[ "$(asked 'revision/refs%2Fpr%2F1')" = 1 ] && pass || flunk "a revision is one part of the path"
works "a commit" env HF_HUB_OFFLINE=1 "$EF" inspect "ok/ner@$(cat "$HF_HOME/hub/models--ok--ner/refs/main")"
refuses "another commit than was asked for" "found the commit [0-9a-f]*, wanted 0123456789" "$EF" inspect "othersha/ner@0123456789012345678901234567890123456789"
refuses "no such revision" "no such revision" "$EF" inspect ok/ner@v2
refuses "no such file" "found no file nothing.onnx" "$EF" inspect ok/ner:nothing.onnx
refuses "a name that is none" "wanted ORG/NAME" "$EF" inspect hf:../../etc
refuses "a path stays one" "No such file" "$EF" inspect models/nothing
mkdir -p ok/ner && refuses "a path wins" "config.json" "$EF" inspect ok/ner
works "hf: wins over a path" "$EF" inspect hf:ok/ner
rm -r ok
works "no slash needs hf:" "$EF" inspect hf:ok/ner
refuses "no slash is a path" "No such file" "$EF" inspect gpt
refuses "no weights" "found no weights" "$EF" inspect ok/empty

# ---- every command that takes a model ----
prints "infer" 'B-SRC' "$EF" infer ok/ner "Volvo from Pune to Goa" --json
printf '"Volvo from Pune to Goa"\n' >lines.jsonl
prints "map" 'B-SRC' "$EF" map ok/ner lines.jsonl
works "bench" "$EF" bench ok/ner --lengths 8 --repeat 1
works "verify" "$EF" verify ok/ner "Volvo from Pune to Goa"
works "tokenize" "$EF" tokenize ok/ner "Pune to Goa"
works "export" "$EF" export ok/ner out && [ -f out/model.onnx ] && pass || flunk "export wrote nothing"
prints "an export has the name" '^ok/ner$' "$EF" metadata read out/model.onnx --key model_name
works "quantize" "$EF" quantize ok/onnx out-int8
works "build" "$EF" build ok/ner && [ -x ner.encoderfile ] && pass || flunk "build wrote no ner.encoderfile"
printf 'encoderfile:\n  name: yaml\n  path: hf:ok/ner\n  model_type: token_classification\n' >named.yml
works "build by YAML" "$EF" build -f named.yml && [ -x yaml.encoderfile ] && pass || flunk "build wrote no yaml.encoderfile"
"$EF" serve fresh/ner --http-hostname 127.0.0.1 --http-port 0 --disable-grpc >serve.txt 2>serve.err </dev/null &
server=$! tries=0
while ! grep -q 'http://127.0.0.1:[0-9]' serve.err && [ $tries -lt 200 ]; do sleep 0.05 && tries=$((tries + 1)); done
at=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*\).*,\1,p' serve.err | tail -n 1)
prints "serve" 'B-SRC' python3 -c "import sys, urllib.request as r
print(r.urlopen(r.Request(sys.argv[1] + '/predict', b'{\"inputs\": [\"Volvo from Pune to Goa\"]}', {'Content-Type': 'application/json'})).read())" "$at"
kill $server && wait $server

# ---- which files ----
works "a tokenizer alone" "$EF" tokenize -t words/ner "Pune to Goa"
nothing "a tokenizer has no weights" words/ner model.safetensors
"$EF" inspect ok/shards >txt 2>err
for f in model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors; do whole shards ok/shards $f; done
nothing "safetensors before pickles" ok/shards pytorch_model.bin
works "onnx/model.onnx" "$EF" inspect ok/onnx
whole "an .onnx" ok/onnx onnx/model.onnx && whole "its data" ok/onnx onnx/model.onnx_data
nothing "one .onnx" ok/onnx onnx/model_quantized.onnx
refuses "another by its name" "model_quantized.onnx" "$EF" inspect ok/onnx:onnx/model_quantized.onnx
whole "another by its name" ok/onnx onnx/model_quantized.onnx
"$EF" inspect ok/sentence >txt 2>err
for f in modules.json 1_Pooling/config.json 2_Dense/config.json 2_Dense/pytorch_model.bin model.safetensors; do whole modules ok/sentence $f; done

# ---- tokens, and who sees them ----
refuses "gated" "accept its terms at $HF_ENDPOINT/gated/ner, and set HF_TOKEN" "$EF" inspect gated/ner
refuses "gated, another account" "may not read it" env HF_TOKEN=bad "$EF" inspect gated/ner
works "gated, with a token" env HF_TOKEN=good "$EF" inspect gated/ner
grep -q '^127.0.0.1.*Bearer good' plain.log && pass || flunk "the token goes to the Hub"
grep -q '^localhost.*Bearer' plain.log && flunk "the token goes to the storage" || pass
refuses "private" "a private model needs HF_TOKEN" "$EF" inspect private/ner
printf ' good\n' >token
works "a token in a file" env HF_TOKEN_PATH="$PWD/token" "$EF" inspect private/ner
refuses "a token that is not valid" "HF_TOKEN is not valid" env HF_TOKEN=bad HF_HOME="$PWD/other" "$EF" inspect private/ner

# ---- servers that fail: all at once, since most of the time is spent waiting ----
cases=$(cat <<'END'
forbidden set HF_TOKEN (403)
gone not found at .* (404); nor is there such a file or folder here
limited wait 3600 s
repairs cannot answer now (status 503)
hints found over 16 replies of status 1xx
broken cannot answer now (status 500)
loop over 10 redirects
plain wanted https
noise found no HTTP/1.1 reply
header over 65536 bytes of header
silent no answer for 1 s
badjson wanted a closing quote
badsha wanted 40 hexadecimal digits
badetag without ETag
noetag without X-Repo-Commit
wrongsmall found bytes with the git SHA-1
wrongsize wanted 1724149 as the server said
wrongsum found bytes with the SHA-256
extra found 1724152 bytes
cutall the reply was cut off
storage500 cannot answer now (status 500)
stall found 1725148 bytes
END
)
large_cases=$(cat <<'END'
badrange found the range
wrongsum found bytes with the SHA-256
cutall the reply was cut off
END
)
fine="limit flaky reset chunked relative weak nosize outside cut" large_fine="ok norange expire cut"
jobs=
# begin MODEL ORG...: its output in MODEL-ORG.err
begin() {
    model=$1 && shift
    for org; do
        HF_HUB_DOWNLOAD_TIMEOUT=$([ "$org" = silent ] && echo 1 || echo 10) timeout 60 "$EF" inspect "$org/$model" >"$model-$org.txt" 2>"${model%:*}-$org.err" </dev/null &
        jobs="$jobs $!"
    done
}
begin ner $(echo "$cases" | cut -d' ' -f1) $fine
begin large:large.dat $(echo "$large_cases" | cut -d' ' -f1) $large_fine
wait $jobs
# refused MODEL FILE: what was said in each case, from stdin
refused() {
    while read -r org words; do
        cp "$1-$org.err" err
        grep -q "error: $org/$1: .*$words" err && pass || flunk "$1, $org: wanted \"$words\""
        nothing "$1, $org" "$org/$1" "$2"
        blobless "$1, $org" "$org/$1"
    done
}
echo "$cases" >cases && refused ner model.safetensors <cases
echo "$large_cases" >cases && refused large large.dat <cases
for org in $fine; do cp "ner-$org.err" err && whole "$org" "$org/ner" model.safetensors; done
for org in $large_fine; do
    cp "large-$org.err" err
    whole "large, $org" $org/large large.dat
    [ -z "$(find "$HF_HOME" -path "*$org--large*" -name '*.incomplete')" ] && pass || flunk "large, $org: something is left"
done
[ "$(grep -c 'storage/ok/large.*range=bytes' plain.log)" -ge 2 ] && pass || flunk "pieces: not by ranges"

# ---- a large file, and the end of a process at any time ----
huge() { "$EF" inspect "$1/huge:huge.dat" >txt 2>err </dev/null; }
unfinished() { find "$HF_HOME/hub" -path "*$1--huge*" -name '*.ef.incomplete' | grep .; }
# killed ORG SEED: begins, and is killed when some of it has come
killed() {
    "$EF" inspect "$1/huge:huge.dat" >/dev/null 2>&1 </dev/null &
    child=$! tries=0
    while ! unfinished "$1" >/dev/null && [ $tries -lt 200 ]; do sleep 0.05 && tries=$((tries + 1)); done
    sleep "$(awk -v seed="$2$$" -v mb="$mb" 'BEGIN { srand(seed); printf "%.2f", 0.05 + mb / 600 * rand() }')"
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
}
kills_done=0
while [ $kills_done -lt "$kills" ]; do
    killed kill $kills_done
    [ -e "$(cached kill/huge huge.dat)" ] && break
    kills_done=$((kills_done + 1))
done
[ $kills_done = "$kills" ] && pass || flunk "killed: done after $kills_done kills"
unfinished kill >/dev/null && pass || flunk "a killed download leaves nothing to continue"
huge kill
whole "after $kills_done kills" kill/huge huge.dat
blobless "after $kills_done kills" kill/huge
unfinished kill && flunk "killed: something is left" || pass
killed damage 1
printf 'damage' | dd of="$(unfinished damage)" conv=notrunc 2>/dev/null # as a power failure may leave it
huge damage
whole "damaged while it was stopped" damage/huge huge.dat
jobs=
for i in 1 2 3; do huge race & jobs="$jobs $!"; done
wait $jobs
whole "three at once" race/huge huge.dat
blobless "three at once" race/huge
[ "$(grep -c 'storage/race/huge.*range=bytes=0-' plain.log)" = 1 ] && pass || flunk "three at once: fetched more than once"
chmod -R a-w "$HF_HOME/hub/models--ok--ner" && works "a cache that cannot be written" "$EF" inspect ok/ner
chmod -R u+w "$HF_HOME/hub/models--ok--ner"

# ---- a copy that another program left: its list of files is not known ----
rm -r "$HF_HOME/hub/models--ok--ner/.no_exist"
works "the Hub is asked once" "$EF" inspect ok/ner
[ -d "$HF_HOME/hub/models--ok--ner/.no_exist" ] && pass || flunk "what the commit lacks was not noted"
rm -r "$HF_HOME/hub/models--ok--ner/.no_exist"
works "the Hub is away" env HF_ENDPOINT=http://127.0.0.1:1 "$EF" inspect ok/ner
grep -q 'warn .*using the copy in the cache' err && pass || flunk "the Hub is away: no warning"
works "offline without a list" env HF_HUB_OFFLINE=1 "$EF" inspect ok/ner
mv "$HF_HOME/hub/models--ok--ner" "$HF_HOME/hub/models--broken--ner"
works "the Hub is broken" "$EF" inspect broken/ner
mv "$HF_HOME/hub/models--broken--ner" "$HF_HOME/hub/models--ok--ner"
lost=$(cached ok/ner special_tokens_map.json) && rm "$(readlink -f "$lost")" "$lost"
works "what it lacks comes from the Hub" "$EF" inspect ok/ner
whole "what it lacks comes from the Hub" ok/ner special_tokens_map.json

# ---- TLS, proxies ----
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=authority" -keyout ca.key -out ca.pem 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=hub" -keyout hub.key -out hub.csr 2>/dev/null
printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:hub.test\n' >names
openssl x509 -req -in hub.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out hub.pem 2>/dev/null
hub tls 9 --cert hub.pem --key hub.key
HF_ENDPOINT="https://127.0.0.1:$(port tls hub)"
if SSL_CERT_FILE=$PWD/ca.pem "$EF" inspect tls/ner >txt 2>err; then pass; elif grep -q 'built without' err; then
    echo "  skipped: this program has no TLS" && skipped=1 && finish && exit
else flunk "TLS"; fi
whole "TLS" tls/ner model.safetensors
mkdir roots && cp ca.pem "roots/$(openssl x509 -hash -noout -in ca.pem).0"
works "a folder of roots" env SSL_CERT_DIR="$PWD/roots" "$EF" inspect tlsdir/ner
refuses "another authority" "certificate" env SSL_CERT_FILE="$PWD/hub.pem" "$EF" inspect tls2/ner
refuses "no authority" "No such file" env SSL_CERT_FILE=/nowhere "$EF" inspect tls2/ner
export SSL_CERT_FILE="$PWD/ca.pem" HF_ENDPOINT=https://hub.test
works "a proxy" env HTTPS_PROXY="http://127.0.0.1:$(port tls proxy)" HF_TOKEN=good "$EF" inspect proxied/ner
grep -q 'CONNECT hub.test:443' tls.log && pass || flunk "the proxy was not asked"
grep 'CONNECT' tls.log | grep -q good && flunk "the proxy sees the token" || pass
works "a proxy with a password" env https_proxy="http://me:sec%20ret@127.0.0.1:$(port tls proxy-with-password)" "$EF" inspect proxied2/ner
refuses "a proxy without its password" "wants a name and a password" env HTTPS_PROXY="127.0.0.1:$(port tls proxy-with-password)" "$EF" inspect proxied3/ner
refuses "a proxy that refuses" "status 502" env HF_ENDPOINT=https://refused.test HTTPS_PROXY="127.0.0.1:$(port tls proxy)" "$EF" inspect proxied3/ner
refuses "a certificate of another host" "mismatch" env HF_ENDPOINT=https://other.test HTTPS_PROXY="127.0.0.1:$(port tls proxy)" "$EF" inspect proxied3/ner
refuses "no proxy there" "proxy: cannot connect" env HTTPS_PROXY=http://127.0.0.1:1 "$EF" inspect proxied3/ner
refuses "not for this host" "hub.test" env NO_PROXY=.test HTTPS_PROXY="http://127.0.0.1:$(port tls proxy)" "$EF" inspect proxied3/ner
refuses "plain http elsewhere" "wanted https" env HF_ENDPOINT=http://hub.test "$EF" inspect proxied3/ner
finish
