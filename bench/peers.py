# SPDX-License-Identifier: Apache-2.0
"""peers.py PROGRAM MODEL_FOLDER THREADS ROUNDS - our `bench --json` and ONNX Runtime on the same shapes.

Rounds alternate (ours, theirs, ours, ...), so that a slow minute of the machine hits both; the figure of each is
the best of all rounds. ONNX Runtime gets its best of three ways to run rows of different lengths: padded, sorted in
eights, one by one. A ratio above 1 means that we are faster.
"""
import json
import os
import random
import subprocess
import sys
import time

import numpy as np
import onnxruntime as ort

program, folder, threads, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def mixed(n=32, low=6, high=128):
    """Lengths as real texts have them: many short ones, a few long ones; always the same."""
    rng = random.Random(0)
    return [min(high, max(low, round(rng.lognormvariate(3.2, 0.6)))) for _ in range(n)]


CASES = {"1x16": [16], "1x128": [128], "8x32": [32] * 8, "32 mixed": mixed()}
SECONDS = 0.5  # of each side in each round


def session():
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    path = os.path.join(folder, "model.onnx") if os.path.isdir(folder) else folder
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(s, lengths, vocabulary=1000):
    """Padded inputs for rows of these lengths, by the names that the graph asks for."""
    shape = (len(lengths), max(lengths))
    mask = (np.arange(shape[1])[None] < np.array(lengths)[:, None]).astype(np.int64)
    ids = np.arange(shape[0] * shape[1]).reshape(shape) * 7919 % vocabulary
    known = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": np.zeros(shape),
             "position_ids": np.broadcast_to(np.arange(shape[1]), shape)}
    types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float)": np.float32}
    return {i.name: known[i.name].astype(types[i.type]) for i in s.get_inputs()}


def ways(s, lengths):
    """Ways to run these rows: each a list of batches."""
    yield [feed(s, lengths)]
    if len(set(lengths)) > 1:
        order = sorted(lengths)
        yield [feed(s, order[i:i + 8]) for i in range(0, len(order), 8)]
        yield [feed(s, [n]) for n in lengths]


def theirs(s, batches):
    best, until = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        begin = time.perf_counter()
        for batch in batches:
            s.run(None, batch)
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def ours(lengths, repeat):
    line = [program, "bench", "--model", folder, "--lengths", ",".join(map(str, lengths)),
            "--threads", str(threads), "--repeat", str(repeat), "--json"]
    return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def steal():
    """Time that the machine below us took, and all time, so far."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return fields[7], sum(fields)


def main():
    s = session()
    before = steal()
    print(f"{folder}, {threads} thread(s), best of {rounds} rounds, ONNX Runtime {ort.__version__}")
    for name, lengths in CASES.items():
        choices = list(ways(s, lengths))
        for batches in choices:
            theirs(s, batches)  # warm
        best, peer = float("inf"), float("inf")
        repeat = max(5, int(SECONDS * 1e3 / ours(lengths, 5)["best_ms"]))
        for _ in range(rounds):
            mine = ours(lengths, repeat)
            best = min(best, mine["best_ms"])
            peer = min([peer] + [theirs(s, batches) for batches in choices])
        print(f"{name:>9}  ours {best:9.3f} ms  ONNX Runtime {peer:9.3f} ms  ratio {peer / best:5.2f}"
              f"  ({mine['isa']})", flush=True)
    after = steal()
    share = 100 * (after[0] - before[0]) / max(1, after[1] - before[1])
    print(f"load average {os.getloadavg()[0]:.2f}, steal {share:.1f}%")


main()
