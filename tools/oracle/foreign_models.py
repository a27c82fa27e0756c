# SPDX-License-Identifier: Apache-2.0
"""Models that PyPI packages carry and nobody here trained: magika, rapidocr-onnxruntime, nudenet (AGPL: looked at where it is
installed, nothing of it is kept). Every ONNX file found in them, and in folders given, runs on random inputs of several sizes by
ONNX Runtime and by `encoderfile onnx run`: within 1e-4 of the largest number; `onnx check` must know every operator.
Usage: python tools/oracle/foreign_models.py PROGRAM [FOLDER...] [--package NAME...]"""
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

SIZES = ({"batch": 1, "side": 64}, {"batch": 2, "side": 96}) # of dims that a file leaves open
OVERRIDE = {"ch_PP-OCRv4_rec_infer.onnx": {2: 48}}           # its height is not open, though its file says so


def models(folders, packages):
    found = [Path(importlib.util.find_spec(name).origin).parent for name in packages]
    return sorted({p for folder in folders + found for p in Path(folder).rglob("*.onnx")})


def shape_of(path, given, size):
    named = OVERRIDE.get(path.name, {})
    return [d if isinstance(d, int) else named.get(i, size["batch" if i == 0 else "side"]) for i, d in enumerate(given)]


def numbers(kind, shape, rng):
    if kind == "tensor(float)":
        return rng.random(shape, dtype=np.float32)
    return rng.integers(0, 255, shape).astype({"tensor(int32)": np.int32, "tensor(int64)": np.int64}[kind])


def compare(program, path, size, work):
    rng = np.random.default_rng(1)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {i.name: numbers(i.type, shape_of(path, i.shape, size), rng) for i in session.get_inputs()}
    wanted = session.run(None, feed)
    command = [program, "onnx", "run", str(path), "-o", work]
    for k, (name, value) in enumerate(feed.items()):
        np.save(f"{work}/in{k}.npy", value)
        command += ["-i", f"{name}={work}/in{k}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    worst = 0
    for info, want in zip(session.get_outputs(), wanted):
        found = np.load(os.path.join(work, info.name.replace("/", "_") + ".npy"))
        if found.shape != want.shape:
            return f"{info.name}: found {found.shape}, wanted {want.shape}", 0
        worst = max(worst, float(np.abs(found - want).max() / max(1, np.abs(want).max())))
    return ("" if worst < 1e-4 else f"differs by {worst:.2g}"), worst


def main(program, folders, packages):
    failed = count = 0
    for path in models(folders, packages):
        said = subprocess.run([program, "onnx", "check", str(path)], capture_output=True, text=True).stdout
        if "unknown operators: none" not in said:
            failed += 1
            print(f"FAILED {path.name}: unknown operators")
        for size in SIZES:
            with tempfile.TemporaryDirectory() as work:
                trouble, worst = compare(program, path, size, work)
            count += 1
            failed += bool(trouble)
            print(f"{'FAILED ' if trouble else ''}{path.name} {size['batch']} x {size['side']}: {trouble or f'{worst:.2g}'}")
    print(f"{count - failed} of {count} runs as ONNX Runtime's")
    return failed > 0 or count == 0


if __name__ == "__main__":
    rest = sys.argv[2:]
    at = rest.index("--package") if "--package" in rest else len(rest)
    sys.exit(main(os.path.abspath(sys.argv[1]), [Path(p) for p in rest[:at]], rest[at + 1:]))
