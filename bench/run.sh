#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - what `./dev bench` does: our program and ONNX Runtime on the same model and the same shapes, in turns.
# MODEL=folder or .onnx (default examples/bus-ner), THREADS=1, ROUNDS=12. The virtual environment is made once.
set -eu
cd -- "$(dirname -- "$0")/.."
model=${MODEL:-examples/bus-ner}
venv=build/venv
if [ ! -f "$model/model.onnx" ] && [ -f "$model/model.safetensors" ]; then
    build/encoderfile export "$model" build/bench-model >/dev/null && model=build/bench-model
fi
[ -f "$model" ] || [ -f "$model/model.onnx" ] || { echo "bench: $model: wanted an .onnx or a folder with model.onnx" >&2 && exit 1; }

if [ ! -f $venv/ready ]; then
    if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        echo "ONNX Runtime: skipped: python3 with venv and pip is not there; our figures alone:"
        for lengths in 16 128 32,32,32,32,32,32,32,32; do
            build/encoderfile bench --model "$model" --lengths $lengths --threads "${THREADS:-1}" --repeat 200
        done
        exit
    fi
    echo "making $venv"
    python3 -m venv $venv
    $venv/bin/pip install -q --disable-pip-version-check onnxruntime numpy tokenizers
    touch $venv/ready
fi
exec $venv/bin/python bench/peers.py build/encoderfile "$model" "${THREADS:-1}" "${ROUNDS:-12}"
