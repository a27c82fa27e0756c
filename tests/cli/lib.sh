# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the scripts of this folder share; read with `.` from the root of the tree, with the script's "$@". Then
# $EF is the program, the working folder is an empty one that goes at the end, txt and err hold what the last
# command wrote, and `finish` prints "N passed, N failed, N skipped".
ROOT=$PWD
EF=$(realpath "${1:-build/encoderfile}")
BUS=$ROOT/examples/bus-ner
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 # a name that is no path is looked for in the cache, and nowhere else
passed=0 failed=0 skipped=0
: >err

pass() { passed=$((passed + 1)); }
flunk() { failed=$((failed + 1)) && echo "  FAILED: $1" && sed 's/^/    /' err | head -20; }
check() { if [ "$1" = 0 ]; then pass; else flunk "$2"; fi; }
# works NAME COMMAND...: exit 0. prints NAME WORDS COMMAND...: exit 0, words on stdout. refuses: exit not 0, words on
# stderr. fails: exit not 0, words on stdout.
works() {
    name=$1 && shift
    "$@" >txt 2>err </dev/null
    check $? "$name"
}
prints() {
    name=$1 words=$2 && shift 2
    "$@" >txt 2>err </dev/null
    check $? "$name"
    has "$name" "$words"
}
refuses() {
    name=$1 words=$2 && shift 2
    if "$@" >txt 2>err </dev/null; then flunk "$name: exit 0"; else
        grep -q -- "$words" err
        check $? "$name: wanted \"$words\""
    fi
}
fails() {
    name=$1 words=$2 && shift 2
    if "$@" >txt 2>err </dev/null; then flunk "$name: exit 0"; else has "$name" "$words"; fi
}
has() { grep -q -- "$2" txt && pass || flunk "$1: output lacks \"$2\""; }
lacks() { grep -q -- "$2" txt && flunk "$1: output has \"$2\"" || pass; }

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
