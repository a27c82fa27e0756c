#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parquet.py - what Parquet costs beside a model: CPU of `map` from Parquet to Parquet a row, against the compute of the same
rows (`bench` with their lengths) and against reading and writing alone. Needs pyarrow.

  parquet.py PACKAGE [--rows 20000] [--turns 5] [--turn build/tests/test_data_parquet]

CPU seconds of child processes, one thread, in turns, the best of each: under load that is what can be compared. Starting is
measured with 64 rows and taken off."""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

WORDS = "bus sleeper AC from to tomorrow morning evening Pune Goa Mumbai Chennai Delhi Orange Travels seat window Volvo".split()


def cpu(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def lengths(package, texts):
    """Tokens of each text."""
    out = subprocess.run([package, "tokenize", *texts], capture_output=True, text=True, check=True).stdout
    return [len(json.loads(line)["ids"]) for line in out.splitlines()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("package")
    p.add_argument("--rows", type=int, default=20000)
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--turn", default="build/tests/test_data_parquet")
    a = p.parse_args()
    import pyarrow as pa
    import pyarrow.parquet as pq
    rng, few, batch = random.Random(7), 64, 60
    kinds = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(5, 16))) for _ in range(batch)]
    texts = [kinds[i % batch] for i in range(a.rows)]                # of the lengths that `bench` computes
    tokens = ",".join(map(str, lengths(a.package, kinds)))
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        t = pa.table({"id": pa.array(range(a.rows), pa.int64()), "text": texts})
        pq.write_table(t, at("in.parquet")), pq.write_table(t.slice(0, few), at("few.parquet"))
        best, runs = {}, (20, 20 + max(a.rows // batch, 100))           # as many rows as `map` gets
        for _ in range(a.turns):
            def note(name, seconds): best[name] = min(seconds, best.get(name, seconds))
            for k in runs: note(("compute", k), cpu(a.package, "bench", "--lengths", tokens, "--threads", "1", "-n", str(k)))
            for name in ("few", "in"):
                if os.path.exists(at("out.parquet")): os.remove(at("out.parquet"))
                note(("map", name), cpu(a.package, "map", at(name + ".parquet"), "--threads", "1", "--keep", "id", "-o",
                                        at("out.parquet")))
            if os.path.exists(a.turn):
                pairs = [at("few.parquet"), at("x"), at("out.parquet"), at("y")]
                note(("turn", "few"), cpu(a.turn, "turn", *pairs[:2]))
                note(("turn", "in"), cpu(a.turn, "turn", *pairs))
    compute = (best["compute", runs[1]] - best["compute", runs[0]]) / (runs[1] - runs[0]) / batch * 1e6
    mapped = (best["map", "in"] - best["map", "few"]) / (a.rows - few) * 1e6
    print(f"compute                  {compute:8.2f} us of CPU a row")
    print(f"map                      {mapped:8.2f} us of CPU a row")
    if ("turn", "in") in best:
        print(f"read and write alone     {(best['turn', 'in'] - best['turn', 'few']) / a.rows * 1e6:8.2f} us of CPU a row")
    print(f"map above compute        {mapped - compute:8.2f} us, {100 * (mapped / compute - 1):.1f} %")


if __name__ == "__main__": sys.exit(main())
