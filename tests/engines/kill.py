#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill.py PACKAGE [ROWS] [KILLS] - `map` is killed with SIGKILL at random times and goes on with --resume: the output must be
byte for byte that of a run that was left alone. JSON lines; an Arrow file, with batches of any size and dictionaries that
grow; an Arrow stream. Needs pyarrow."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import pyarrow as pa

package, rows, kills = sys.argv[1], int((sys.argv + ["", "40000"])[2] or 40000), int((sys.argv + ["", "", "5"])[3] or 5)
r = random.Random(int(os.environ.get("SEED", "1")))
TEXTS = ["AC sleeper bus from Bangalore to Mumbai tomorrow", "VRL Non-AC from Chennai to Hyderabad next Friday", "Volvo from Pune to Goa %d", None]


def inputs(folder):
    texts = [t and t.replace("%d", str(i)) for i, t in ((i, TEXTS[i % 4]) for i in range(rows))]
    with open(folder + "/in.jsonl", "w") as f:
        f.writelines(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts))
    schema = pa.schema([("id", pa.int64()), ("text", pa.utf8()), ("word", pa.dictionary(pa.int32(), pa.utf8()))])
    words, at = ["a"], 0
    with pa.OSFile(folder + "/in.arrow", "wb") as f, \
            pa.ipc.new_file(f, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        while at < rows:
            n = min(r.choice([0, 1, 100, 1000, 3000]), rows - at)
            if r.random() < .3:
                words.append(f"w{len(words)}")
            word = pa.DictionaryArray.from_arrays(pa.array([i % len(words) for i in range(n)], pa.int32()), pa.array(words))
            w.write_batch(pa.record_batch([pa.array(range(at, at + n), pa.int64()), pa.array(texts[at:at + n], pa.utf8()), word], schema=schema))
            at += n


def run(*arguments):
    return subprocess.run([package, "map", *arguments], capture_output=True)


def case(folder, source, name, options):
    alone, out = f"{folder}/alone.{name}", f"{folder}/out.{name}"
    begin = time.time()
    first = run(source, "-o", alone, *options)
    wall = time.time() - begin
    if first.returncode:
        return f"status {first.returncode}: {first.stderr.decode()[-300:]}"
    done, status = 0, -9
    while status:
        p = subprocess.Popen([package, "map", source, "-o", out, "--resume", *options], stderr=subprocess.PIPE)
        try:
            told = p.communicate(timeout=None if done == kills else .01 + r.random() * wall * .6)[1]
            status = p.returncode
            if status:
                return f"status {status}: {told.decode()[-300:]}"
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            done += 1
    with open(alone, "rb") as a, open(out, "rb") as b:
        same = a.read() == b.read()
    print(f"{name} {' '.join(options)}: killed {done} times, {os.path.getsize(out)} bytes, {'the same' if same else 'OTHERS'}")
    return None if same else "other bytes"


failed = 0
cases = [("in.arrow", "arrow", ["--keep", "all"]), ("in.jsonl", "arrow", ["--keep", "id", "--batch-rows", "500"]),
         ("in.arrow", "arrows", ["--keep", "id,word"]), ("in.jsonl", "jsonl", ["--errors", "keep"])]
with tempfile.TemporaryDirectory() as folder:
    inputs(folder)
    for source, name, options in cases:
        wrong = case(folder, folder + "/" + source, name, options)
        for f in ("alone", "out"):
            if os.path.exists(f"{folder}/{f}.{name}"):
                os.unlink(f"{folder}/{f}.{name}")
        if wrong:
            print(f"FAILED: {name} {options}: {wrong}")
            failed += 1
print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
