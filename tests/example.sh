#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# example.sh OUT - the program of examples/, as built in OUT, on the bundled model: as a folder (safetensors) and as a
# package of it; and the demo's way, over an int8 ONNX model.
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
demo=$(dirname "$package")/demo && mkdir -p "$demo"
sed "s|build/|$demo/|" examples/bus-ner/demo.yml >"$demo/demo.yml"
"$out/encoderfile" export examples/bus-ner "$demo/bus-ner" --quantize >"$out/example.log" 2>&1
check "demo, export: $(tail -1 "$out/example.log")" $?
"$out/encoderfile" build -f "$demo/demo.yml" >"$out/example.log" 2>&1
check "demo, build: $(tail -1 "$out/example.log")" $?
said=$("$demo/bus-ner.encoderfile" infer --entities "VRL Non-AC from Chennai to Hyderabad next Friday" 2>&1)
echo "$said" | tr -d '\n' | grep -q 'B-OPERATOR: "VRL".*B-BUS_TYPE: "Non-AC".*B-SRC: "Chennai".*B-DEST: "Hyderabad".*B-DATE: "next"'
check "demo, entities: $said" $?
said=$("$out/example" tests "text" 2>&1)
[ $? = 1 ] && echo "$said" | grep -q 'not found'
check "a folder without a model: $said" $?

# The line that examples/classify.c tells, as it stands there; a sanitizer's library needs more.
if [ "$out" = build ]; then
    line=$(sed -n 's/^ \*     cc /cc /p; s/^ \*        -l/ -l/p' examples/classify.c | tr -d '\\\n')
    said=$(sh -c "$(echo "$line" | sed "s|-o classify|-o $out/classify|")" 2>&1)
    check "$line: $said" $?
    "$out/classify" examples/bus-ner "Volvo to Goa" >"$out/example.log" 2>&1
    check "classify: $(tail -1 "$out/example.log")" $?
fi
rm -rf "$package" "$out/example.log" "$out/classify" "$demo"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
