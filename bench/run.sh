#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - what `./dev bench` does: our program and the peers on the same model and the same shapes, in turns.
# MODEL=folder or .onnx (default examples/bus-ner), THREADS=1, BLOCKS=5, CASES=1x16,1x128,8x32,mixed.
# The virtual environment is made once, with ONNX Runtime; PEERS=all adds PyTorch and OpenVINO (2 GB).
set -eu
cd -- "$(dirname -- "$0")/.."
model=${MODEL:-examples/bus-ner}
cases=${CASES:-1x16,1x128,8x32,mixed}
venv=build/venv
if [ ! -f "$model/model.onnx" ] && [ -f "$model/model.safetensors" ]; then
    build/encoderfile export "$model" build/bench-model >/dev/null && model=build/bench-model
fi
[ ! -f "$model/model.onnx" ] || model=$model/model.onnx
[ -f "$model" ] || { echo "bench: $model: wanted an .onnx or a folder with model.onnx" >&2 && exit 1; }
make -s bench

if [ ! -f $venv/ready ]; then
    if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "peers: skipped: python3 with venv and pip is not there; our figures alone:"
        for lengths in 16 128 32,32,32,32,32,32,32,32; do
            build/encoderfile bench --model "$model" --lengths $lengths --threads "${THREADS:-1}" --repeat 200
        done
        exit
    fi
    echo "making $venv"
    python3 -m venv $venv
    $venv/bin/pip install -q --disable-pip-version-check onnxruntime onnx numpy tokenizers
    touch $venv/ready
fi
if [ "${PEERS:-}" = all ] && [ ! -f $venv/all ]; then
    $venv/bin/pip install -q --disable-pip-version-check torch transformers openvino onnxscript
    touch $venv/all
fi
work=build/bench-work
rm -f $work/results.jsonl
$venv/bin/python bench/peers.py build/encoderfile $work --models "$model" --cases "$cases" \
    --threads "${THREADS:-1}" --blocks "${BLOCKS:-5}"
exec $venv/bin/python bench/report.py --tables $work/results.jsonl
