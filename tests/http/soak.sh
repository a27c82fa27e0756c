#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# soak.sh [PROGRAM] - a server under load for SOAK seconds (default: 300), beside clients that send nonsense, leave
# in the middle or wait for nothing: every good request is answered, the same text gets the same answer at the end,
# and neither memory nor open files grow. Run by ./dev test-all; needs curl and a C compiler. The last line is "N
# passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=examples/bus-ner seconds=${SOAK:-300}
${CC:-cc} -O2 -D_GNU_SOURCE -o "$dir/load" bench/load.c || { skip "no C compiler" && finish; }
awk 'BEGIN {
    split("bus AC sleeper from Pune to Goa tomorrow Volvo Chennai non-AC Friday", word)
    for (i = 0; i < 400; i++) {
        text = ""
        for (n = 1 + i * 7919 % 40; n; n--) text = text word[1 + (i * 31 + n * 17) % 11] " "
        printf "{\"inputs\":[\"%s\"%s]}\n", text, i % 5 ? "" : ",\"" text text "\""
    }
}' >"$dir/bodies"

serve || { failed=1 && echo "  FAILED: no server" && finish; }
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"; } # KB
files() { ls "/proc/$server/fd" | wc -l; }
predict "$(head -1 "$dir/bodies")" >"$dir/first"
before=$(files)

"$dir/load" "$port" /predict "$dir/bodies" 32 "$seconds" 100 >"$dir/result" 2>&1 &
load=$!
end=$(($(date +%s) + seconds)) third=$(($(date +%s) + seconds / 3)) early= rounds=0
while [ "$(date +%s)" -lt $end ]; do
    [ -n "$early" ] || [ "$(date +%s)" -lt $third ] || early=$(memory)
    curl -s -m 0.02 -d @"$dir/bodies" -H "$JSON" "$url/predict" >"$dir/body"       # leaves
    curl -s -m 5 -d '{"inputs":[' -H "$JSON" "$url/predict" >"$dir/body"           # nonsense
    curl -s -m 5 --http2-prior-knowledge -d '{"inputs":[""]}' -H "$JSON" "$url/predict" >"$dir/body"
    curl -s -m 5 --limit-rate 1k "$url/openapi.json" -m 0.2 >"$dir/body"           # reads slowly, then leaves
    curl -s -m 5 "$url/metrics" >"$dir/metrics"
    rounds=$((rounds + 1))
    sleep 0.2
done
wait $load
check "every request under load" "$(cat "$dir/result")" '*"errors": 0[,}]*'
[ $rounds -ge 3 ] && passed=$((passed + 1)) || { failed=$((failed + 1)) && echo "  FAILED: $rounds rounds of others"; }
sleep 1
late=$(memory)
echo "  $(cat "$dir/result")"
echo "  $rounds rounds of others; resident $early KB after a third, $late KB at the end; files $before, then $(files)"
[ "$late" -le $((early + early / 5 + 4096)) ]
check "memory: $early KB after a third, $late KB at the end" $? 0
check "files: $before before" "$(($(files) <= before + 1))" 1
predict "$(head -1 "$dir/bodies")" >"$dir/last"
cmp -s "$dir/first" "$dir/last"
check "the same answer at the end" $? 0
stop TERM
check "exit code" "$code" 0
finish
