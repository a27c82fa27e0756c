#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh [PROGRAM] - what the documents say, beside what is there: links, options, variables, YAML keys, routes, metrics,
# limits, messages, C functions and fields, gRPC services, the table of architectures. The last line is "N passed, N failed,
# N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/docs/lib.sh || exit 1
pages="README.md CONTRIBUTING.md CHANGELOG.md $(echo docs/*.md examples/*/README.md)"
# each NAME PATTERN FILE... <LIST: every word of the list stands in one of the files, as the pattern with its @ replaced.
each() {
    name=$1 pattern=$2 && shift 2
    counted=0
    while read -r word; do
        counted=$((counted + 1))
        grep -qF -- "$(printf %s "$pattern" | sed "s|@|$word|")" "$@" && pass || flunk "$name: $word is not in $*"
    done
    [ $counted -gt 0 ] && pass || flunk "$name: nothing was compared"
}
# none NAME: the list $work/strange is empty.
none() { [ ! -s "$work/strange" ] && pass || flunk "$1: $(tr '\n' ' ' <"$work/strange")"; }

# ---- links ----
# Every link of a page as "page target anchor".
awk '
    FNR == 1 { fenced = 0 }
    /^ *```/ { fenced = !fenced }
    fenced { next }
    {
        gsub(/`[^`]*`/, "")
        while (match($0, /\]\([^)]+\)/)) {
            target = substr($0, RSTART + 2, RLENGTH - 3)
            $0 = substr($0, RSTART + RLENGTH)
            if (target !~ /^[a-z]+:/) print FILENAME, target
        }
    }' $pages >"$work/links"
# The anchors of a page, as GitHub makes them of its headings.
anchors() {
    awk '/^ *```/ { fenced = !fenced } !fenced && /^#+ / { sub(/^#+ /, ""); $0 = tolower($0); gsub(/[^a-z0-9 _-]/, ""); gsub(/ /, "-"); print }' "$1"
}
while read -r page target; do
    file=${target%%#*} anchor=
    case $target in *#*) anchor=${target#*#} ;; esac
    path=$(dirname "$page")/$file
    [ -n "$file" ] || path=$page
    if ! [ -e "$path" ]; then
        flunk "$page: $target leads nowhere"
    elif [ -n "$anchor" ]; then
        anchors "$path" | grep -qx -- "$anchor" && pass || flunk "$page: $target has no such heading"
    else
        pass
    fi
done <"$work/links"
[ "$(wc -l <"$work/links")" -gt 100 ] && pass || flunk "links were found"
for page in docs/*.md; do
    grep -q "](docs/$(basename "$page"))\|]($(basename "$page")[)#]" README.md docs/*.md CONTRIBUTING.md && pass || flunk "$page: no page leads to it"
done

# ---- options, variables ----
"$EF" --help --json </dev/null >"$work/help.json"
sed -n 's/^          "name": "\(.*\)",$/\1/p' "$work/help.json" | sort -u >"$work/options"
sed -n 's/^          "environment": "\(.*\)",$/\1/p' "$work/help.json" | sort -u >"$work/variables"
sed -n 's/^          "yaml": "\(.*\)",$/\1/p' "$work/help.json" | sort -u >"$work/keys"
each "options" '--@' docs/options.md <"$work/options"
each "YAML keys" '`@`' docs/options.md <"$work/keys"
# Words that are options of others, or of ours under other names (src/cli).
cat >"$work/others" <<'END'
addext aggregation_strategy auto-truncate build-arg cacert cap-drop cpu cflags check chmod cors-allow-origin count cpunodebind data-binary dense-path
dtype errors foreground golden grpc_python_out help hf-token host hostname http2 json max-batch-tokens max-client-batch-size
libs max-concurrent-requests membind model-id model-type now once only onnx-io opsets otlp-endpoint payload-limit port prometheus-port
python_out read-only report rm static strict strip-section-headers strategy target tool variants version workers
array basefile cleanup cpus-per-task requeue return sshloginfile transfer transferfile
END
{ cat "$work/options" && tr ' ' '\n' <"$work/others"; } | sort -u >"$work/known"
grep -ohE -- '(^|[^a-zA-Z0-9_-])--[a-z][a-z0-9_-]+' README.md docs/*.md deploy/* | sed 's/.*--//' | sort -u | comm -23 - "$work/known" >"$work/strange"
none "options that nobody has"
grep -ohE 'ENCODERFILE_[A-Z_]+' README.md docs/*.md deploy/* | sort -u | comm -23 - "$work/variables" |
    grep -vxE 'ENCODERFILE_|ENCODERFILE_(PORT|HOSTNAME)' >"$work/strange"
none "variables that nobody reads"
# A limit of docs/security.md has the default that docs/options.md, written from the rows, gives.
sed -n 's/^| `--\([a-z-]*\)` | \([^|]*\) | [0-9c].*/\1 \2/p' docs/security.md >"$work/limits"
while read -r option value; do
    sed -n '/^## serve/,/^## mcp/p' docs/options.md | grep -q "^| \`--$option [A-Z]*\` |.*| $value |" && pass || flunk "docs/security.md: --$option: found $value"
done <"$work/limits"
[ "$(wc -l <"$work/limits")" -gt 7 ] && pass || flunk "limits were compared"

# ---- C ----
awk '/^static inline|^#/ { next } { print }' include/encoderfile.h | grep -oE '\bef_[a-z_]+\(' | tr -d '(' | sort -u >"$work/functions"
each "C functions" '`@`' docs/c-api.md <"$work/functions"
awk '/^typedef struct \{/ { inside = 1; next }
    inside && /^} ef_/ { inside = 0 }
    inside && !/^ *\*/ { sub(/\/\*.*/, ""); gsub(/\[[^]]*\]/, ""); sub(/;.*/, ""); if ($0 !~ /[a-z]/) next
        n = split($0, part, ","); for (i = 1; i <= n; i++) { gsub(/[* ]+$/, "", part[i]); m = split(part[i], word, /[* ]+/); if (word[m] != "") print word[m] } }' \
    include/encoderfile.h | sort -u >"$work/fields"
each "C fields" '`@`' docs/c-api.md <"$work/fields"
grep -oE '\bEF_[A-Z0-9_]+' include/encoderfile.h | sort -u >"$work/constants"
each "C constants" '`@`' docs/c-api.md <"$work/constants"

# ---- gRPC ----
find docs/proto -name '*.proto' | xargs awk '
    FNR == 1 { package = "" }
    /^package / { package = $2; sub(/;/, "", package) }
    /^service / { print "service", package, $2 }
    /^ *rpc / { sub(/\(.*/, "", $2); print "rpc", package, $2 }' >"$work/rpc"
sed -n 's/^service \(tei.*\) \(.*\)/\1.\2/p' "$work/rpc" >"$work/services"
each "gRPC services" '`@`' docs/grpc.md <"$work/services"
sed -n 's/^service encoderfile\.\([^ ]*\) .*/\1/p' "$work/rpc" >"$work/tasks"
each "gRPC services of tasks" '`@`' docs/tasks.md <"$work/tasks"
# A method that has its stream beside it is told once.
sed -n 's/^rpc [^ ]* //p' "$work/rpc" | sort -u | sed 's/\(.\)Stream$/\1/' | sort -u >"$work/methods"
each "gRPC methods" '`@`' docs/grpc.md <"$work/methods"

# ---- what is linked ----
"$EF" licenses --json </dev/null | sed -n 's/^ *"component": "\(.*\)",$/\1/p' | grep -vx encoderfile >"$work/list"
tr '\n' ' ' <docs/security.md >"$work/security"
each "components" '@' "$work/security" <"$work/list"
sed -n '/^libraries=/,/"$/p' dev | grep -oE '[a-z0-9.+-]+-dev' | sed 's/^lib//; s/-dev$//; s/[0-9.]*$//; s/^z1g$/zlib/; s/^zlib1g$/zlib/; s/^ssl$/openssl/; s/^jpeg.*/libjpeg/; s/^c$/glibc/' >"$work/list"
tr '[:upper:]' '[:lower:]' <docs/building.md >"$work/building"
each "libraries to compile with" '@' "$work/building" <"$work/list"

# ---- the size that README tells ----
size=$(sed -n 's/^| program part of the package, [0-9-]* | \([0-9]*\)\.\([0-9]\) MB.*/\1\2/p' README.md)
found=$(($(wc -c <"$EF") / 100000))
[ -n "$size" ] && [ $((found - size)) -lt 10 ] && [ $((size - found)) -lt 10 ] && pass || flunk "README.md: the program has $found tenths of a MB, not $size"

# ---- architectures ----
if [ -x build/models-page ]; then
    for page in README.md docs/models.md; do
        build/models-page | tools/between $page architectures | cmp -s - $page && pass || flunk "$page: the table of architectures is old: ./dev docs"
    done
else
    skip "no build/models-page"
fi

# ---- the picture ----
if command -v script >/dev/null && command -v curl >/dev/null; then
    tools/terminal-svg plain <docs/terminal.svg >"$work/old.svg"
    tools/terminal-svg "$EF" 2>"$work/err" | tools/terminal-svg plain | diff "$work/old.svg" - >"$work/err"
    told "docs/terminal.svg is what ./dev docs writes"
else
    skip "no script or no curl"
fi

# ---- a server: routes and metrics ----
serve() { # FLAGS...: on any free port; its address becomes $url
    : >"$work/log" # a busy machine may be late with the redirection
    "$EF" serve "$BUS" --http-hostname 127.0.0.1 --http-port 0 --disable-grpc "$@" >"$work/txt" 2>"$work/log" </dev/null &
    server=$! port=
    for i in $(seq 200); do
        port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
        [ -n "$port" ] || { kill -0 $server 2>/dev/null && sleep 0.05; }
    done
    url=http://127.0.0.1:$port
}
if command -v curl >/dev/null; then
    : >"$work/routes" && : >"$work/statuses"
    for task in token_classification sentence_embedding; do
        serve --task $task
        curl -s -m 10 "$url/openapi.json" | tr -d '\n' | grep -oE '"/[a-z0-9_./{}-]*": ?\{"?(get|post)' | sed 's/"\(\/[^"]*\)".*/\1/' >>"$work/routes"
        curl -s -m 10 "$url/openapi.json" | grep -oE '"[2-5][0-9][0-9]":' | tr -dc '0-9\n' >>"$work/statuses"
        curl -s -m 10 "$url/" | grep -oE '"path":"[^"]*"' | sed 's/"path":"\(.*\)"/\1/' >>"$work/routes"
        curl -s -m 10 -o /dev/null -H 'Content-Type: application/json' -d '{"inputs": "a"}' "$url/embed"
        curl -s -m 10 "$url/metrics" | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' >"$work/metrics"
        kill $server && wait $server 2>/dev/null
    done
    sort -u "$work/routes" >"$work/list"
    each "routes" '@' docs/http.md docs/dialects.md <"$work/list"
    sort -u "$work/statuses" >"$work/list"
    sed -n '/^## Errors/,$p' docs/http.md >"$work/errors" && printf '200 202 204 403 406 421 424\n' >>"$work/errors" # the rest: mcp.md, dialects.md
    each "statuses" '@' "$work/errors" <"$work/list"
    grep -v '^te_' "$work/metrics" >"$work/list"
    each "metrics" '`@`' docs/operations.md <"$work/list"
    # And the other way: names in guides and rules.
    sed -n '/^## Metrics/,/^## Capacity/p' docs/operations.md | grep '^| `' | grep -oE '`(encoderfile|process)_[a-z_]+`' | tr -d '`' >"$work/named"
    grep -oE '(encoderfile|process)_[a-z_]+' deploy/prometheus-rules.yaml | sed 's/_bucket$//' >>"$work/named"
    sort -u "$work/named" | grep -vxE 'encoderfile_' >"$work/named-once"
    while read -r name; do
        grep -qx "$name" "$work/metrics" && pass || flunk "a series that no server has: $name"
    done <"$work/named-once"
    [ "$(wc -l <"$work/named-once")" -gt 25 ] && pass || flunk "metrics were compared"
else
    skip "no curl"
fi
# Every route of the rows, whatever the model.
sed -n 's/^ *{ "[A-Z]*", "\(\/[^"]*\)".*/\1/p' src/server/routes.c src/dialect/*.c | sort -u >"$work/list"
each "rows of routes" '`@`' docs/http.md docs/dialects.md <"$work/list"

# ---- options of a request ----
sed -n 's/^    { "\([a-z_]*\)", SET_.*/\1/p' src/task/options.c >"$work/list"
each "options of a request" '| `@` |' docs/http.md <"$work/list"

# ---- messages of docs/troubleshooting.md ----
# A message is there if a cell of the first column, up to its first ..., is part of it.
explained() {
    sed -n 's/^| `\([^`]*\)`.*/\1/p' docs/troubleshooting.md | sed 's/ *\.\.\..*//; s/ "x".*//' >"$work/symptoms"
    grep -qF -f "$work/symptoms" "$work/err" && pass || flunk "docs/troubleshooting.md: not explained: $1"
}
wrong() { # NAME COMMAND...: fails, and the message is explained
    name=$1 && shift
    if timeout 20 "$@" >"$work/txt" 2>"$work/err" </dev/null; then flunk "$name: exit 0"; else explained "$name"; fi
}
bad=$work/model
fresh() { rm -rf "$bad" && cp -r "$BUS" "$bad"; }
fresh && printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' >"$bad/model.safetensors"
wrong "a git-lfs pointer" "$EF" infer "$bad" x
fresh && head -c 500000 "$BUS/model.safetensors" >"$bad/model.safetensors"
wrong "a download that broke off" "$EF" infer "$bad" x
fresh && mv "$bad/model.safetensors" "$bad/adapter_model.safetensors" && echo '{"base_model_name_or_path": "x", "peft_type": "LORA"}' >"$bad/adapter_config.json"
wrong "an adapter alone" "$EF" infer "$bad" x
fresh && rm "$bad"/tokenizer* "$bad/vocab.txt" && wrong "no tokenizer" "$EF" infer "$bad" x
fresh && rm "$bad/config.json" && wrong "no config.json" "$EF" infer "$bad" x
fresh && sed -i 's/"model_type": "bert"/"model_type": "x"/' "$bad/config.json" && wrong "an unknown family" "$EF" export "$bad" "$work/out"
fresh && sed -i 's/BertForTokenClassification/SomethingElse/' "$bad/config.json" && wrong "no task" "$EF" infer "$bad" x
wrong "a name that is not in the cache" env HF_HUB_OFFLINE=1 HF_HUB_CACHE="$work/none" "$EF" infer org/name x
wrong "another task" "$EF" infer "$BUS" --task question_answering x
wrong "no model" "$EF" infer x
cp "$EF" "$work/bare" && chmod -x "$work/bare" && wrong "no mode" "$work/bare"

finish
