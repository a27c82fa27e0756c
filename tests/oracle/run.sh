#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM] - the built program against the frameworks themselves, on models with random weights and on the
# bundled one: the scripts of tools/oracle that judge. ORACLE names a Python that has them (default: python3). A
# script whose modules are not there is skipped, by name. Run by ./dev test-all; the last line is "N passed, N failed,
# N skipped".
cd -- "$(dirname -- "$0")/../.." || exit 1
EF=$(realpath "${1:-build/encoderfile}") python=${ORACLE:-python3} passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1

# has MODULE or MODULE:MAJOR_VERSION
has() {
    "$python" - "$1" 2>/dev/null <<'END'
import importlib.metadata, importlib.util, sys
name, _, major = sys.argv[1].partition(":")
found = importlib.util.find_spec(name) is not None
sys.exit(not found or (major != "" and importlib.metadata.version(name).split(".")[0] != major))
END
}
# judge MODULES SCRIPT ARGUMENTS...: what it prints is its verdict, its exit code counts.
judge() {
    modules=$1 script=$2 && shift 2
    for module in $(echo "$modules" | tr , ' '); do
        has "$module" && continue
        skipped=$((skipped + 1)) && echo "  skipped: $script: no Python module $module (ORACLE=$python)"
        return
    done
    begin=$(date +%s)
    "$python" "tools/oracle/$script" "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $script: exit status $status"; fi
    echo "$script: $(($(date +%s) - begin)) s" && tail -n "$([ $status = 0 ] && echo 2 || echo 20)" "$work/log"
}

"$EF" export examples/bus-ner "$work/bus-ner" >/dev/null || exit 1
judge onnxruntime,tokenizers compare.py "$EF" "$work/bus-ner" token_classification 100
judge huggingface_hub hub_cache.py "$EF" examples/bus-ner
judge onnx,onnxruntime graph_fuzz.py "$EF" --count 1000
judge onnx,onnxruntime,lxml extract.py "$EF" "$work/extract" "$work/bus-ner/model.onnx"
judge onnx,onnxruntime,lxml graphml.py "$EF" "$work/graphml" "$work/bus-ner/model.onnx"
judge onnx,onnxruntime,tokenizers quantize.py "$EF" "$work/quantize" "$work/bus-ner" --target avx2 --count 200 # the CPUs on which its products saturate
for package in magika rapidocr_onnxruntime nudenet; do judge onnxruntime,$package foreign_models.py "$EF" --package $package; done
judge torch,transformers:5,onnx,onnxruntime,safetensors export.py "$EF" "$work/export"
judge torch,transformers:5,onnx,onnxruntime,safetensors export_vision.py "$EF" "$work/export_vision"
judge torch,transformers:5,onnx,onnxruntime,safetensors export_sound.py "$EF" "$work/export_sound"
judge torch,transformers:5,onnx,onnxruntime,onnxscript tags.py "$EF" "$work/tags"
judge torch,transformers:5,onnx,pytesseract,PIL documents.py check "$EF"
[ -x build/tests/test_engine ] || make -s build/tests/test_engine
judge torch,transformers:5,onnx,onnxruntime,onnxscript long.py check "$EF" build/tests/test_engine "$work/long"
judge torch,transformers:4,optimum.onnxruntime optimum_load.py compare "$EF" "$work/optimum" examples/bus-ner
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
