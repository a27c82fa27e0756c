# SPDX-License-Identifier: Apache-2.0
"""Every ONNX file of the package silero-vad by ONNX Runtime and by `onnx run`: chunks of speech-like noise with their states,
at both sampling rates. Usage: python tools/oracle/silero.py PROGRAM FOLDER_OF_ONNX WORK_FOLDER
Prints the largest difference of each; 1e-4 is wanted. Needs numpy, onnxruntime."""
import glob
import os
import subprocess
import sys

import numpy as np
import onnxruntime as ort

CHUNKS = 12


def speech(n):
    t = np.arange(n) / 16000
    rng = np.random.default_rng(3)
    loud = (np.sin(2 * np.pi * 1.3 * t) > 0) * 0.4
    return (loud * np.sin(2 * np.pi * (140 + 30 * np.sin(9 * t)) * t) + 0.02 * rng.standard_normal(n)).astype(np.float32)


def feeds(session, rate):
    """Shapes as the file declares them; what it leaves open is one row of one window with its context."""
    wide = 576 if rate == 16000 else 288
    for i in session.get_inputs():
        if i.name == "input":
            rows = CHUNKS if i.shape[0] == "sequence_length" else 1
            samples = speech(wide * rows * CHUNKS)
            yield i.name, [samples[k * wide * rows:(k + 1) * wide * rows].reshape(rows, wide) for k in range(CHUNKS)]
        elif i.name == "sr":
            yield i.name, np.array(rate, np.int64)
        else:
            yield i.name, np.zeros([d if isinstance(d, int) and d else 1 for d in i.shape], np.float32)


def by_us(program, path, feed, names, work):
    line = [program, "onnx", "run", path, "-o", work]
    for name, value in feed.items():
        np.save(os.path.join(work, name + ".npy"), value)
        line += ["-i", "%s=%s" % (name, os.path.join(work, name + ".npy"))]
    subprocess.run(line, check=True, capture_output=True)
    return [np.load(os.path.join(work, n + ".npy")) for n in names]


def check(program, path, rate, work):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    feed = dict(feeds(session, rate))
    chunks, worst = feed["input"], 0.0
    states = [n for n in feed if n not in ("input", "sr")]
    for chunk in chunks:
        feed["input"] = chunk
        want, got = session.run(None, feed), by_us(program, path, feed, names, work)
        for a, b in zip(want, got):
            assert a.shape == b.shape, (path, a.shape, b.shape)
            worst = max(worst, float(np.abs(a.astype(np.float64) - b).max()))
        feed.update(zip(states, want[1:]))
    return worst


def main(program, folder, work):
    os.makedirs(work, exist_ok=True)
    bad = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        both = any(i.name == "sr" for i in ort.InferenceSession(path).get_inputs()) and "16k" not in path
        for rate in (16000, 8000) if both else (16000,):
            worst = check(program, path, rate, work)
            bad += worst > 1e-4
            print("%-34s %5d %8.2g" % (os.path.basename(path), rate, worst), flush=True)
    sys.exit(bad > 0)


main(*sys.argv[1:])
