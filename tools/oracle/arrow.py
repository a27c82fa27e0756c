#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrow.py - Arrow streams and files of pyarrow and Polars, with the values in them: tests/golden/arrow, for
test_data_arrow.c. Needs pyarrow and polars. FILE.json has a line a row; bytes are base64, decimals their bytes.

  arrow.py            writes the golden files
  arrow.py check PROGRAM [TABLES]   random tables through `PROGRAM map`, as streams and as files (default: 300)
"""
import base64
import json
import os
import random
import subprocess
import sys
import tempfile

import pyarrow as pa

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "arrow")
TEXTS = ["a", None, "twelve bytes", "thirteen byte", "a much longer text than twelve bytes", "", "\U0001f68c Z\u00fcrich"]


def plain(x):
    """A value as JSON has it."""
    if isinstance(x, bytes):
        return base64.b64encode(x).decode()
    if isinstance(x, list):
        return [plain(v) for v in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x


def table():
    n = len(TEXTS)
    number = pa.array([None if x is None else len(x) / 4 for x in TEXTS], pa.float32())
    cycle = lambda values, kind: pa.array((values * n)[:n], kind)
    return pa.table({
        "utf8": TEXTS, "large": pa.array(TEXTS, pa.large_utf8()), "view": pa.array(TEXTS, pa.string_view()),
        "binary": pa.array([x and x.encode() for x in TEXTS], pa.binary()),
        "binary_view": pa.array([x and x.encode() for x in TEXTS], pa.binary_view()),
        "fixed_binary": cycle([b"abc", None, b"\0\1\2"], pa.binary(3)),
        "f32": number, "f16": number.cast(pa.float16()), "f64": number.cast(pa.float64()),
        "bool": cycle([True, None, False], pa.bool_()), "null": pa.nulls(n),
        **{f"{sign}int{bits}": cycle([1, None, 100], getattr(pa, f"{sign}int{bits}")())
           for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "negative": cycle([-1, -(1 << 40)], pa.int64()),
        "date32": cycle([1, None, 19000], pa.date32()), "time64": cycle([5, None], pa.time64("us")),
        "timestamp": cycle([1700000000000, None], pa.timestamp("ms", "UTC")), "duration": cycle([7], pa.duration("s")),
        "list": cycle([[1, None], None, []], pa.list_(pa.int32())),
        "large_list": cycle([["x"], None, []], pa.large_list(pa.utf8())),
        "fixed_list": cycle([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
        "struct": cycle([{"x": 1, "y": "q"}, None, {"x": None, "y": "r"}], pa.struct([("x", pa.int64()), ("y", pa.utf8())])),
        "dictionary": cycle(["p", None, "q"], pa.utf8()).dictionary_encode(),
        "entities": cycle([[{"label": "x", "score": 1.5}], None, []], pa.list_(pa.struct([("label", pa.utf8()), ("score", pa.float32())]))),
        "map": cycle([[("k", 1)], None], pa.map_(pa.utf8(), pa.int32())),
    })


def rows(t):
    """The rows as arrow_value gives them: times as their numbers, maps as lists of pairs."""
    for name, kind in (("date32", pa.int32()), ("time64", pa.int64()), ("timestamp", pa.int64()), ("duration", pa.int64())):
        t = t.set_column(t.schema.get_field_index(name), name, t[name].cast(kind))
    out = t.to_pylist()
    for row in out:
        row["map"] = row["map"] and [{"key": k, "value": v} for k, v in row["map"]]
    return out


def write(name, t, writer, chunk):
    path = os.path.join(HERE, name)
    with writer(path, t.schema) as w:
        w.write_table(t, max_chunksize=chunk)
    with open(path + ".json", "w") as f:
        for row in rows(t):
            f.write(json.dumps(plain(row)) + "\n")


def golden():
    import polars
    os.makedirs(HERE, exist_ok=True)
    t = table()
    write("stream.arrows", t, pa.ipc.new_stream, 4)
    write("file.arrow", t, pa.ipc.new_file, 100)
    write("slice.arrows", t.slice(2, 4), pa.ipc.new_stream, 3)
    frame = polars.DataFrame({"id": range(len(TEXTS)), "text": TEXTS, "vector": [[0.5, i] for i in range(len(TEXTS))]})
    for name, make in (("polars.arrows", frame.write_ipc_stream), ("polars.arrow", frame.write_ipc)):
        make(os.path.join(HERE, name))
        with open(os.path.join(HERE, name + ".json"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in frame.to_dicts())


def random_table(r):
    n = r.randrange(1, 200)
    texts = [None if r.random() < 0.1 else "bus to Goa " + "".join(r.choice("abc \u00e9\U0001f68c") for _ in range(r.randrange(40)))
             for _ in range(n)]
    kind = r.choice([pa.utf8(), pa.large_utf8(), pa.string_view()])
    text = pa.array(texts, kind)
    if r.random() < 0.2:
        text = pa.array(texts).dictionary_encode()
    t = {"id": list(range(n)), "text": text}
    for i in range(r.randrange(3)):
        t[f"other{i}"] = r.choice([pa.nulls(n), pa.array([[1.5] * r.randrange(3)] * n), pa.array([{"a": 1, "b": None}] * n)])
    names = list(t)
    r.shuffle(names)
    return texts, pa.table({k: t[k] for k in names})


def check(program, tables):
    r = random.Random(7)
    model = os.path.join(HERE, "..", "..", "..", "examples", "bus-ner")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            texts, t = random_table(r)
            lines = "".join(json.dumps({"id": i, "text": x}) + "\n" for i, x in enumerate(texts)).encode()
            path = os.path.join(folder, "t.arrow")
            with (pa.ipc.new_file if number % 2 else pa.ipc.new_stream)(path, t.schema) as w:
                w.write_table(t, max_chunksize=r.choice([1, 7, 64, 1000]))
            run = lambda args, data=None: [json.loads(x) for x in subprocess.run(
                [program, "map", "-m", model, "--keep-going", *args], input=data, capture_output=True).stdout.splitlines()]
            same = [{**x, "error": 0} if "error" in x else x for x in run([path])] == \
                   [{**x, "error": 0} if "error" in x else x for x in run(["-"], lines)]
            bad += not same
    print(f"{tables - bad} passed, {bad} failed, 0 skipped")
    return bad > 0


if __name__ == "__main__":
    sys.exit(check(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 300) if sys.argv[1:2] == ["check"] else golden())
