#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM] - the built program against the frameworks themselves, on models with random weights and on the
# bundled one: the scripts of tools/oracle that judge. ORACLE names a Python that has them (python3 unless told). A
# script whose modules are not there is skipped, by name. Run by ./dev test-all; the last line is "N passed, N failed,
# N skipped".
cd -- "$(dirname -- "$0")/../.." || exit 1
EF=$(realpath "${1:-build/encoderfile}") python=${ORACLE:-python3} passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1

# judge MODULES SCRIPT ARGUMENTS...: what it prints is its verdict, its exit code counts.
judge() {
    modules=$1 script=$2 && shift 2
    for module in $(echo "$modules" | tr , ' '); do
        "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$module') is None)" 2>/dev/null && continue
        skipped=$((skipped + 1)) && echo "  skipped: $script: no Python module $module (ORACLE=$python)"
        return
    done
    begin=$(date +%s)
    "$python" "tools/oracle/$script" "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    if [ $status = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $script: exit status $status"; fi
    echo "$script: $(($(date +%s) - begin)) s" && tail -n "$([ $status = 0 ] && echo 2 || echo 20)" "$work/log"
}

"$EF" export examples/bus-ner "$work/bus" >/dev/null || exit 1
judge onnxruntime,tokenizers compare.py "$EF" "$work/bus" token_classification 100
judge onnx,onnxruntime graph_fuzz.py "$EF" --count 1000
judge onnx,onnxruntime extract.py "$EF" "$work/extract" "$work/bus/model.onnx"
judge onnx,onnxruntime,lxml graphml.py "$EF" "$work/graphml" "$work/bus/model.onnx"
judge onnx,onnxruntime,tokenizers quantize.py "$EF" "$work/quantize" "$work/bus" --count 200
judge torch,transformers,onnx,onnxruntime,safetensors export.py "$EF" "$work/export"
judge torch,transformers,onnx,onnxruntime,onnxscript tags.py "$EF" "$work/tags"
judge torch,transformers,optimum.onnxruntime optimum_load.py "$EF" "$work/optimum" examples/bus-ner
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
