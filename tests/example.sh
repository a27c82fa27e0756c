#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# example.sh OUT - the program of examples/, as built in OUT, on the bundled model: as a folder and as a package.
out=${1:-build}
passed=0 failed=0
package=$out/example.encoderfile

check() { # WHAT STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $1"; fi
}

"$out/encoderfile" build -f examples/bus-ner/config.yml -o "$package" >"$out/example.log" 2>&1
check "build: $(tail -1 "$out/example.log")" $?
for model in examples/bus-ner "$package"; do
    said=$("$out/example" "$model" "Book a bus from Bangalore to Chennai" "Volvo to Goa" 2>&1)
    check "$model: $said" $?
    echo "$said" | grep -q '^bus-ner .*: token_classification on '
    check "$model: first line: $said" $?
    echo "$said" | grep -q '"results":.*"label": *"B-DEST"'
    check "$model: JSON: $said" $?
    echo "$said" | grep -q 'of the first text: 2 dimensions, 19 numbers in a row'
    check "$model: tensor: $said" $?
done
said=$("$out/example" tests "text" 2>&1)
[ $? = 1 ] && echo "$said" | grep -q 'not found'
check "a folder without a model: $said" $?
rm -f "$package" "$out/example.log"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
