#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory.sh - requests that want more memory than there is: by --max-inflight, and by the system (ulimit -v). Each is
# answered, the server stays, and what it holds stays near the limit.
# usage: tests/http/memory.sh [PROGRAM]; needs curl and Linux. Last line: "N passed, N failed, N skipped".
. "$(dirname -- "$0")/lib.sh" || exit 1
MODEL=examples/bus-ner
[ -r /proc/self/status ] || { skip "no /proc"; finish; }

words() { yes w | head -n "$1" | tr '\n' ' '; } # so many, of two bytes each
{ printf '{"inputs":"'; words 15500000; printf '"}'; } > "$dir/31mb"
{ printf '{"inputs":"'; words 4000000; printf '"}'; } > "$dir/8mb"
one=$(words 2500)
list() { printf '{"inputs":['; yes "\"$one\"," | head -n $(($1 - 1)); printf '"%s"]}' "$one"; }
list 4096 > "$dir/list"
list 256 > "$dir/part"
{ printf '{"inputs":"'; words 8000000; printf '"}'; } | gzip -1 > "$dir/packed"

send() { status -H "$JSON" --data-binary "@$dir/$1" "$url/$2"; }
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$server/status"; }
alive() { check "$1: the server stays" "$(predict '{"inputs":["bus from Goa"]}')" '{"results":*'; }

# ---- by the limit ----
LIMIT=100000000
serve --max-inflight $LIMIT || { failed=1; cat "$dir/log"; finish; }
predict '{"inputs":["bus from Goa to Pune tomorrow"]}' > /dev/null
before=$(peak)
check "31 MB of text" "$(send 31mb tokenize)" 413
check "31 MB: says why" "$(cat "$dir/body")" '*needs more than*wanted at most 100000000*'
check "8 MB of text" "$(send 8mb tokenize)" 413
check "a list of long texts" "$(send list predict)" 413
check "16 MB packed" "$(status -H "$JSON" -H 'Content-Encoding: gzip' --data-binary "@$dir/packed" "$url/tokenize")" 413
alive "by the limit"
grown=$(($(peak) - before))
check "peak memory: 1.5 times the limit at most ($grown kB)" "$((grown * 1024 * 2 <= LIMIT * 3))" 1
check "nothing is left" "$(curl -s "$url/metrics" | grep '^encoderfile_session_bytes ')" 'encoderfile_session_bytes 0'
stop TERM
check "the end" "$code" 0

# ---- by the system ----
starved() { (ulimit -v 600000 && exec "$PROGRAM" "$@"); }
if "$PROGRAM" version > /dev/null 2>&1 && starved version > /dev/null 2>&1; then # a sanitizer needs more
    REAL=$PROGRAM
    printf '#!/bin/sh\nulimit -v 600000\nexec "%s" "$@"\n' "$(realpath "$REAL")" > "$dir/starved"
    chmod +x "$dir/starved"
    PROGRAM=$dir/starved
    serve --max-inflight 4000000000 || { failed=$((failed + 1)); cat "$dir/log"; finish; }
    check "31 MB of text without memory" "$(send 31mb tokenize)" 503
    check "it says so" "$(cat "$dir/body")" '*out of memory*try again*'
    alive "after 31 MB"
    check "8 MB of text with little" "$(send 8mb tokenize)" '[25]0[03]'
    alive "after 8 MB"
    check "a list of long texts with little" "$(send part predict)" '[25]0[03]'
    alive "after the list"
    stop TERM
    check "the end without memory" "$code" 0
else
    skip "no ulimit -v for this program"
fi
finish
