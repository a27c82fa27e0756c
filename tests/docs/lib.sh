# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the scripts of this folder share; read with `.` from the root of the tree, with the script's "$@". $EF is the
# program, $BUS the bundled model, $work a folder that goes at the end.
EF=$(realpath "${1:-build/encoderfile}")
BUS=$PWD/examples/bus-ner
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
flunk() { failed=$((failed + 1)) && echo "  FAILED: $1"; }
skip() { skipped=$((skipped + 1)) && echo "  skipped: $1"; }
# told NAME: the last command's status; where it is not 0, what it wrote.
told() { [ $? = 0 ] && pass || { flunk "$1" && tail -5 "$work/err" | cut -c1-300 | sed 's/^/    | /'; }; }
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
