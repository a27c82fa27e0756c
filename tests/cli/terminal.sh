#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# terminal.sh [PROGRAM] - the command line as a person meets it: pipes whose reader leaves, Ctrl-C in `map`, progress on a
# terminal only, --json.
cd -- "$(dirname -- "$0")/../.." && . tests/cli/lib.sh || exit 1

# ---- a reader that leaves: no word about it, and the status of a broken pipe ----
works "a package" "$EF" build "$BUS" -o p.encoderfile
yes '"from Pune to Goa tomorrow"' | head -3000 >lines.jsonl
works "an ONNX model" "$EF" export "$BUS" made
for command in "--help" "--help --json" "version --json" "infer $BUS a b" "infer $BUS --entities a" "inspect $BUS" "map $BUS lines.jsonl" \
    "bench $BUS -n 1 --lengths 4" "tokenize $BUS a" "onnx explain made/model.onnx" "onnx check made/model.onnx" "verify made" \
    "extract -m $BUS a" "build $BUS --no-build" "analyze made/model.onnx" "validate made" "new-transform -m embedding" "licenses" \
    "man" "completions bash" "metadata read made/model.onnx"; do
    rm -f gone
    { until [ -e gone ]; do sleep 0.01; done; sleep 0.02; "$EF" $command 2>err; echo $? >status; } </dev/null | touch gone
    sed -i '/ info /d' err
    [ "$(cat status)" = 141 ] && [ ! -s err ] && pass || flunk "$command: status $(cat status)"
done

# ---- Ctrl-C ----
for i in 1 2 3 4 5 6 7 8; do cat lines.jsonl; done >many.jsonl
"$EF" map "$BUS" many.jsonl -o out.jsonl --threads 1 >txt 2>err </dev/null &
run=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s out.jsonl ] && break || sleep 0.1; done
kill -TERM $run
wait $run
[ $? = 130 ] && grep -q 'interrupted: out.jsonl has [0-9]* whole lines; the same command with --resume' err
check $? "map, interrupted"
[ "$(tail -c 1 out.jsonl)" = "" ] && [ "$(wc -l <out.jsonl)" -lt 24000 ] && pass || flunk "map, interrupted: whole lines"
head -2000 many.jsonl >few.jsonl && head -1000 out.jsonl >begun.jsonl
works "and resumed" "$EF" map "$BUS" few.jsonl -o begun.jsonl --resume
[ "$(wc -l <begun.jsonl)" = 2000 ] && pass || flunk "and resumed"

# ---- progress ----
works "no progress elsewhere" "$EF" map "$BUS" lines.jsonl
grep -q 'MB/s' err && flunk "progress is for terminals" || pass

# ---- --json ----
prints "onnx convert --json" '"opset": 20' "$EF" onnx convert made/model.onnx b.onnx --opset 20 --json
prints "onnx test --json" '"name":"if_data","outcome":"passed"' "$EF" onnx test --json "$ROOT/tests/golden/graphs"
prints "inspect --json" '"encoderfile_config"' "$EF" inspect --json "$BUS"
for command in $("$EF" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort -u); do
    case $command in serve | mcp | new-transform | completions | man | onnx | metadata) continue ;; esac # a server, a script, texts, groups
    "$EF" $command --help | grep -q -- ' --json ' && pass || flunk "$command has no --json"
done

# ---- completions and manual pages: of the rows ----
"$EF" completions bash >bash.sh && "$EF" completions zsh >zsh.sh && "$EF" completions fish >fish.sh
check $? "completions"
for shell in bash zsh fish; do
    command -v $shell >/dev/null || { skipped=$((skipped + 1)) && echo "  skipped: no $shell" && continue; }
    works "$shell reads its completions" $shell -n $shell.sh
done
# completes WORDS WANTED LINE...: what bash offers behind the line.
completes() {
    wanted=$1 && shift
    bash -c 'source ./bash.sh && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _encoderfile && echo "${COMPREPLY[@]}"' bash "$@" >txt 2>err
    grep -q -- "^$wanted\$" txt && pass || flunk "bash: $*: found $(cat txt)"
}
if command -v bash >/dev/null; then
    completes 'build bench' encoderfile b
    completes '--access-log' encoderfile serve m --acc
    completes 'none text json' encoderfile serve --access-log ''
    completes 'none simple first average max' encoderfile infer m --aggregation ''
    completes 'check convert' encoderfile onnx c
    completes '--opset --optimize' encoderfile onnx convert --op
fi
if command -v fish >/dev/null; then
    prints "fish: words" '^json' fish -c 'source fish.sh; complete -C "encoderfile serve --access-log "'
fi
prints "man" '^.TH "encoderfile' "$EF" man
for command in build serve "onnx run"; do prints "man $command" "^.SH OPTIONS" "$EF" man $command; done
prints "man serve" 'ENCODERFILE_HTTP_PORT' "$EF" man serve
refuses "man of nothing" 'found "nothing", wanted a command' "$EF" man nothing
./p.encoderfile completions bash >txt && has "a package completes its own name" 'complete -o filenames -F _p_encoderfile p.encoderfile'
lacks "a package has no build" "'build'"
prints "infer in a package" '^usage: encoderfile infer \[TEXT...\]' ./p.encoderfile infer --help

# ---- licences: of all that the Makefile links ----
works "licenses" "$EF" licenses && cp txt all
for name in libyaml Lua Expat nghttp2 OpenSSL zlib 'GNU C Library' libgcc; do
    grep -q "^$name	" all && pass || flunk "licenses: $name"
done
for text in 'GNU LESSER GENERAL PUBLIC LICENSE' 'Apache License' 'Permission is hereby granted, free of charge' 'Altered source versions'; do
    grep -q "$text" all && pass || flunk "licenses: the text \"$text\""
done
./p.encoderfile licenses | cmp -s - all && pass || flunk "a package has the same notices"
prints "licenses --json" '"component": "zlib"' "$EF" licenses --json
(cd "$ROOT" && tools/notices 0 -lnothing) >txt 2>err && flunk "a library without a row" || pass
finish
