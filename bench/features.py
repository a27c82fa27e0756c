#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""features.py - features of sounds beside transformers' numpy code: one thread, CPU time, in turns.

    make build/bench/features && python bench/features.py [--turns 5]

Prints the least CPU time of each in milliseconds, and the median over the turns of numpy's time over ours in that turn. "the
samples alone" is the arithmetic of Wav2Vec2's extractor without what its call does around it. Needs transformers."""
import argparse
import os
import statistics
import subprocess
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
import numpy as np
import transformers as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATE, RUNS = 16000, 20
ROWS = [("Wav2Vec2FeatureExtractor", 30), ("Wav2Vec2FeatureExtractor", 5), ("WhisperFeatureExtractor", 30), ("ASTFeatureExtractor", 10)]


def best(run):
    least = 1e9
    for _ in range(RUNS):
        start = time.process_time()
        run()
        least = min(least, time.process_time() - start)
    return least * 1e3


class Ours:
    def __init__(self, name, n):
        self.line = f"{RUNS} {n}\n"
        self.process = subprocess.Popen([f"{ROOT}/build/bench/features", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def best(self):
        self.process.stdin.write(self.line)
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def theirs(name, x):
    extractor = getattr(tf, name)()
    yield "whole call", lambda: extractor(x, sampling_rate=RATE, return_tensors="np")
    if name == "Wav2Vec2FeatureExtractor":
        yield "the samples alone", lambda: extractor.zero_mean_unit_var_norm([x], None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    o = parser.parse_args()
    import transformers.models.audio_spectrogram_transformer.feature_extraction_audio_spectrogram_transformer as ast
    ast.is_speech_available = lambda: False  # their numpy paths
    tf.models.whisper.feature_extraction_whisper.is_torch_available = lambda: False
    print("| features | seconds | ours, ms | numpy, ms | times |\n|---|---|---|---|---|")
    for name, seconds in ROWS:
        n = seconds * RATE
        x = ((np.arange(n) * 7919 % 1000) / 500 - 1).astype(np.float32)
        ours = Ours(name, n)
        for what, run in theirs(name, x):
            turns = [(ours.best(), best(run)) for _ in range(o.turns)]
            print(f"| {name}, {what} | {seconds} | {min(t[0] for t in turns):.3f} | {min(t[1] for t in turns):.3f} | "
                  f"{statistics.median(t[1] / t[0] for t in turns):.1f} |", flush=True)
        ours.process.stdin.close()


if __name__ == "__main__":
    main()
