# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/speech_segments.tsv: probabilities of speech, parameters, and the segments that silero-vad makes of
them (its get_speech_timestamps_from_probs). Usage: python tools/oracle/speech_segments.py SILERO_PACKAGE OUT
A line: rate, samples, threshold, neg_threshold (-1: its default), min_speech_ms, min_silence_ms, pad_ms, max_speech_s
(0: any), probabilities in thousandths, segments as start-end. Needs numpy, torch."""
import importlib.util
import sys
import types

import numpy as np


def silero(package):
    for name in ("torchaudio", "silero_vad.tinygrad_model"):  # not needed for this
        sys.modules.setdefault(name, types.ModuleType(name))
    spec = importlib.util.spec_from_file_location("utils_vad", package + "/utils_vad.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_speech_timestamps_from_probs


def probabilities(rng, n):
    """Stretches of speech and silence of many lengths, with doubtful windows between."""
    out = []
    while len(out) < n:
        out += list(np.clip(rng.choice([0.05, 0.3, 0.42, 0.6, 0.95]) + rng.normal(0, 0.08, rng.integers(1, 14)), 0, 1))
    return [int(1000 * p) for p in out[:n]]


def main(package, out):
    make, rng = silero(package), np.random.default_rng(4)
    with open(out, "w") as f:
        for k in range(60):
            rate = 16000 if k % 3 else 8000
            window = 512 if rate == 16000 else 256
            p = probabilities(rng, int(rng.integers(0, 90)))
            rules = dict(threshold=float(rng.choice([0.5, 0.35, 0.7])), neg_threshold=None if k % 4 else 0.2,
                         min_speech_duration_ms=int(rng.choice([250, 0, 90])), min_silence_duration_ms=int(rng.choice([100, 33, 400])),
                         speech_pad_ms=int(rng.choice([30, 0, 111])), max_speech_duration_s=float(rng.choice([np.inf, 1.0, 0.3])))
            samples = max(len(p) * window - int(rng.integers(0, window)), 0)
            # probabilities are float32, as a model gives them
            found = make([float(np.float32(x / 1000)) for x in p], sampling_rate=rate, audio_length_samples=samples, **rules)
            most = rules["max_speech_duration_s"]
            words = [rate, samples, rules["threshold"], -1 if rules["neg_threshold"] is None else rules["neg_threshold"],
                     rules["min_speech_duration_ms"], rules["min_silence_duration_ms"], rules["speech_pad_ms"],
                     0 if np.isinf(most) else most, ",".join(map(str, p)), " ".join("%d-%d" % (s["start"], s["end"]) for s in found)]
            f.write("\t".join(map(str, words)) + "\n")


main(*sys.argv[1:])
