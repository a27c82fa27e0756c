# SPDX-License-Identifier: Apache-2.0
"""Speech segments of spoken files (espeak-ng) by silero-vad's own Python loop and by `infer --task voice-activity-detection`, at
both sampling rates and with several parameters: the same samples are wanted.
Usage: python tools/oracle/voice_activity.py PROGRAM SILERO_PACKAGE WORK_FOLDER; with --golden as PROGRAM it writes
tests/golden/speech_activity to the last. Needs numpy, torch, onnxruntime, espeak-ng."""
import importlib.util
import json
import os
import subprocess
import sys
import types
import wave

import numpy as np
import torch

TEXTS = ["Hello world. This is a test.", "Now I speak again, after a long pause, for quite a while, so that there is something to cut.", "Yes."]
RULES = [{}, {"threshold": 0.3, "min_silence_duration_ms": 300}, {"speech_pad_ms": 200, "min_speech_duration_ms": 0},
         {"max_speech_duration_s": 1.5}, {"threshold": 0.8, "neg_threshold": 0.2}]
FILES = {16000: ["silero_vad.onnx", "silero_vad_16k_op15.onnx", "silero_vad_half.onnx", "silero_vad_op18_ifless.onnx",
                 "silero_vad_openvino_16k.onnx"], 8000: ["silero_vad.onnx", "silero_vad_op18_ifless.onnx"]}


def silero(package):
    for name in ("torchaudio", "silero_vad.tinygrad_model"):
        sys.modules.setdefault(name, types.ModuleType(name))
    spec = importlib.util.spec_from_file_location("utils_vad", package + "/utils_vad.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spoken(work):
    """Sentences with silence and a little noise between, at 16 kHz, 16 bits."""
    rng, parts = np.random.default_rng(1), []
    for i, text in enumerate(TEXTS):
        path = os.path.join(work, "part.wav")
        subprocess.run(["espeak-ng", "-s", str(130 + 20 * i), "-w", path, text], check=True)
        with wave.open(path) as w:
            x = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float64)
            rate = w.getframerate()
        at = np.arange(0, len(x) - 1, rate / 16000)
        parts += [np.interp(at, np.arange(len(x)), x), rng.normal(0, 40, 9000 + 13000 * i)]
    return np.clip(np.concatenate(parts), -32768, 32767).astype(np.int16)


def save(path, x, rate):
    with wave.open(path, "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(rate)
        w.writeframes(x.tobytes())


def own_loop(vad, path):
    """silero's wrapper; some files take no sampling rate."""
    loop = vad.OnnxWrapper(path)
    taken = {i.name for i in loop.session.get_inputs()}
    session = loop.session
    loop.session = types.SimpleNamespace(run=lambda _, feed: session.run(None, {k: v for k, v in feed.items() if k in taken}))
    loop.sample_rates = [8000, 16000]
    return loop


SMALL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, sequence] input, float[2, batch, 128] state, int64 sr) => (float[batch, 1] output, float[2, batch, 128] stateN) {
        axis = Constant <value_ints = [1]> ()
        first = Constant <value_int = 0> ()
        low = Constant <value_int = 8000> ()
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        less = Constant <value_float = 0.5> ()
        full = Constant <value_float = 1.0> ()
        old = Constant <value_float = 0.6> ()
        new = Constant <value_float = 0.4> ()
        sharp = Constant <value_float = 60.0> ()
        limit = Constant <value_float = 0.1> ()
        slow = Equal (sr, low)
        gain = Where (slow, less, full)
        loud = Mul (input, gain)
        square = Mul (loud, loud)
        power = ReduceMean <axes = [1], keepdims = 1> (square)
        volume = Sqrt (power)
        layer = Gather <axis = 0> (state, first)
        before = Slice (layer, zero, one, axis)
        kept = Mul (before, old)
        added = Mul (volume, new)
        smooth = Add (kept, added)
        over = Sub (smooth, limit)
        steep = Mul (over, sharp)
        output = Sigmoid (steep)
        wide = Unsqueeze (smooth, zero)
        shape = Shape (state)
        stateN = Expand (wide, shape)
    }"""


def golden(package, folder):
    """tests/golden/speech_activity: a small graph of silero's form that knows loud from quiet, a sound, and silero's segments of it."""
    import onnx
    vad, rate = silero(package), 16000
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    onnx.save(onnx.parser.parse_model(SMALL), path)
    t, rng = np.arange(int(1.3 * rate)) / rate, np.random.default_rng(2)
    loud = ((t > 0.11) & (t < 0.42)) | ((t > 0.6) & (t < 0.68)) | (t > 0.9)
    x = (32767 * np.clip(0.4 * loud * np.sin(2 * np.pi * 300 * t) + 0.01 * rng.standard_normal(len(t)), -1, 1)).astype(np.int16)
    save(os.path.join(folder, "sound.wav"), x, rate)
    with open(os.path.join(folder, "segments.tsv"), "w") as f:
        for rules in ({}, {"min_speech_duration_ms": 40, "speech_pad_ms": 0}, {"threshold": 0.95, "min_silence_duration_ms": 250}):
            found = vad.get_speech_timestamps(torch.from_numpy(x.astype(np.float32) / 32768), own_loop(vad, path), sampling_rate=rate, **rules)
            f.write("%s\t%s\n" % (json.dumps(rules), " ".join("%d-%d" % (s["start"], s["end"]) for s in found)))


def main(program, package, work):
    if program == "--golden":
        return golden(package, work)
    os.makedirs(work, exist_ok=True)
    vad, whole, bad = silero(package), spoken(work), 0
    for rate, files in FILES.items():
        x = whole if rate == 16000 else whole[::2].copy()
        path = os.path.join(work, "speech%d.wav" % rate)
        save(path, x, rate)
        for rules, name in ((r, n) for r in RULES for n in files):
            loop = own_loop(vad, os.path.join(package, "data", name))
            want = vad.get_speech_timestamps(torch.from_numpy(x.astype(np.float32) / 32768), loop, sampling_rate=rate, **rules)
            want = [(s["start"], s["end"]) for s in want]
            line = [program, "infer", "-m", os.path.join(package, "data", name), "--task", "voice-activity-detection",
                    "--format", "json", "--params", json.dumps(rules | {"sampling_rate": rate}), path]
            out = subprocess.run(line, capture_output=True, text=True)
            got = json.loads(out.stdout)["results"][0]["segments"] if out.returncode == 0 else out.stderr
            got = [(s["start_sample"], s["end_sample"]) for s in got] if out.returncode == 0 else got
            bad += got != want
            print("%5d %-30s %-60s %d segments %s" % (rate, name, rules, len(want), "same" if got == want else "%s, wanted %s" % (got, want)))
    sys.exit(bad > 0)


main(*sys.argv[1:])
