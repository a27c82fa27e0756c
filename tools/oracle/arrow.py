#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrow.py - Arrow streams and files of pyarrow and Polars, with the values in them: tests/golden/arrow, for
test_data_arrow.c. Needs pyarrow and polars. FILE.json has a line a row; bytes are base64, dates and times ISO 8601.

  arrow.py            writes the golden files
  arrow.py check PROGRAM [TABLES]   random tables of any types through `PROGRAM map --keep all`, as streams and files,
                                    packed and not (default: 300): what is kept is as it was, and answers are those of JSON lines
  arrow.py engines PROGRAM [TABLES] tables as Polars, DuckDB, Daft and Spark write them, and answers as they read them
                                    (default: 200 each; engines that are not installed are skipped)
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
    """The rows as arrow_value gives them: dates and times by ISO 8601, maps as lists of pairs."""
    t = t.set_column(t.schema.get_field_index("duration"), "duration", t["duration"].cast(pa.int64()))
    out = t.to_pylist()
    for row in out:
        for name in ("date32", "time64", "timestamp"):
            row[name] = row[name] and row[name].isoformat().replace("+00:00", "Z")
        row["map"] = row["map"] and [{"key": k, "value": v} for k, v in row["map"]]
    return out


def write(name, t, writer, chunk, **options):
    path = os.path.join(HERE, name)
    with writer(path, t.schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
        w.write_table(t, max_chunksize=chunk)
    with open(path + ".json", "w") as f:
        for row in rows(t):
            f.write(json.dumps(plain(row)) + "\n")


def words(name, writer, lists, **options):
    """Batches whose dictionaries differ: more of the same words, or others."""
    path = os.path.join(HERE, name)
    batches = [pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([i % len(w) for i in range(4)], pa.int16()), pa.array(w))], ["word"])
               for w in lists]
    with writer(path, batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
        for b in batches:
            w.write_batch(b)
    with open(path + ".json", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in pa.Table.from_batches(batches).to_pylist())


def empty():
    """One batch, without rows."""
    none = pa.record_batch([pa.array([], pa.utf8()), pa.array([], pa.int64())], ["text", "id"])
    with pa.ipc.new_stream(os.path.join(HERE, "empty.arrows"), none.schema) as w:
        w.write_batch(none)


def unusual():
    """Types that few use."""
    kinds = pa.array([0, 1, 0, 1, 0], pa.int8())
    children = [pa.array(["a", "b", "c"]), pa.array([1, 2])]
    dense = pa.UnionArray.from_dense(kinds, pa.array([0, 0, 1, 1, 2], pa.int32()), children)
    sparse = pa.UnionArray.from_sparse(kinds, [pa.array(list("abcde")), pa.array(range(5))])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["x", "y"]))
    views = pa.array([[1], None, [2, 3], [], [4]], pa.list_view(pa.int64()))
    t = pa.table({"dense": dense, "sparse": sparse, "runs": runs, "views": views, "text": [f"text {i}" for i in range(5)]})
    with pa.ipc.new_stream(os.path.join(HERE, "unusual.arrows"), t.schema) as w:
        w.write_table(t)


def shared():
    """A few kilobytes whose rows are lists of millions: their items are the same ones again and again."""
    n, deep = 5000, 70
    ends = lambda: pa.array([n], pa.int32())
    runs = pa.array([7], pa.int8())
    for _ in range(2):
        runs = pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.RunEndEncodedArray.from_arrays(ends(), runs))
    views = pa.array([7] * deep, pa.int8())
    for _ in range(4):
        views = pa.ListViewArray.from_arrays(pa.array([0] * deep, pa.int32()), pa.array([deep] * deep, pa.int32()), views)
    words = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int8()), pa.array([[7] * n], pa.list_(pa.int8())))
    t = pa.table({"runs": runs, "views": views.slice(0, 1), "words": pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), words),
                  "text": ["a text"]})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(os.path.join(HERE, "shared.arrows"), t.schema, options=options) as w:
        w.write_table(t)


def strange():
    """A type that few know, dictionaries of unusual types, and columns of one name."""
    import polars
    texts = [f"bus {i} to Goa" for i in range(5)]
    frame = polars.DataFrame({"wide": polars.Series(range(5), dtype=polars.Int128), "text": texts, "id": range(5)})
    frame.write_ipc(os.path.join(HERE, "strange.arrow"), compat_level=polars.CompatLevel.newest())
    inner = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["x", "y"]))
    views = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 0]), pa.array([[1], [2, 3]], pa.list_view(pa.int8())))
    nested = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 0]), pa.StructArray.from_arrays([inner], ["word"]))
    t = pa.table([nested, pa.array(texts), views, pa.array(range(5)), pa.array(texts), pa.array(texts)],
                 names=["nested", "text", "views", "id", "twice", "twice"])
    with pa.ipc.new_stream(os.path.join(HERE, "twice.arrows"), t.schema) as w:
        w.write_table(t)


def golden():
    import polars
    os.makedirs(HERE, exist_ok=True)
    t = table()
    write("stream.arrows", t, pa.ipc.new_stream, 4)
    write("file.arrow", t, pa.ipc.new_file, 100)
    write("slice.arrows", t.slice(2, 4), pa.ipc.new_stream, 3)
    write("lz4.arrows", t, pa.ipc.new_stream, 4, compression="lz4")
    write("zstd.arrow", t, pa.ipc.new_file, 5, compression="zstd")
    words("deltas.arrow", pa.ipc.new_file, [["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"]], emit_dictionary_deltas=True)
    words("replaced.arrows", pa.ipc.new_stream, [["a", "b"], ["c"], ["c", "d"]])
    empty()
    unusual()
    strange()
    shared()
    frame = polars.DataFrame({"id": range(len(TEXTS)), "text": TEXTS, "vector": [[0.5, i] for i in range(len(TEXTS))]})
    for name, make in (("polars.arrows", frame.write_ipc_stream), ("polars.arrow", frame.write_ipc)):
        make(os.path.join(HERE, name))
        with open(os.path.join(HERE, name + ".json"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in frame.to_dicts())


def random_type(r, depth=0):
    simple = [pa.utf8(), pa.large_utf8(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3), pa.bool_(),
              pa.null(), pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("ns"),
              pa.timestamp("us"), pa.timestamp("s", "Asia/Kolkata"), pa.duration("ns"), pa.decimal128(12, 3), pa.decimal256(50, 2),
              pa.month_day_nano_interval(), *(getattr(pa, f"{u}int{b}")() for u in ("", "u") for b in (8, 16, 32, 64))]
    if depth == 0 and r.random() < 0.1:
        return pa.dictionary(r.choice([pa.int8(), pa.int32(), pa.uint16()]), r.choice([pa.utf8(), pa.int64()]))
    if depth > 2 or r.random() < 0.6:
        return r.choice(simple)
    inner = lambda: random_type(r, depth + 1)
    return r.choice([lambda: pa.list_(inner()), lambda: pa.large_list(inner()), lambda: pa.list_(inner(), r.randrange(4)),
                     lambda: pa.struct([pa.field(f"f{i}", inner()) for i in range(r.randrange(1, 4))]),
                     lambda: pa.map_(pa.utf8(), inner()), lambda: pa.list_view(inner()), lambda: pa.large_list_view(inner())])()


def random_column(r, n):
    """An array; now and then a union of two, or one in runs."""
    kind = random_type(r)
    values = lambda kind: pa.array([random_value(r, kind) for _ in range(n)], kind)
    column, way = values(kind), r.random()
    if way < 0.05 and not pa.types.is_dictionary(kind):
        ends = sorted(r.sample(range(1, n + 1), r.randrange(1, n + 1))) if n else []
        ends = ends[:-1] + [n] if n else []
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, r.choice([pa.int16(), pa.int32(), pa.int64()])), column[:len(ends)])
    if way < 0.1:
        codes = pa.array([r.choice([3, 7]) for _ in range(n)], pa.int8())
        at = pa.array(sorted(r.randrange(n) for _ in range(n)), pa.int32())
        return (pa.UnionArray.from_sparse(codes, [column, values(pa.utf8())], ["a", "b"], [3, 7]) if r.random() < 0.5
                else pa.UnionArray.from_dense(codes, at, [column, values(pa.utf8())], ["a", "b"], [3, 7]))
    return column


def random_value(r, t):
    import datetime
    import decimal
    if r.random() < 0.15 or pa.types.is_null(t):
        return None
    if pa.types.is_dictionary(t):
        return r.choice("abcde") if t.value_type == pa.utf8() else r.randrange(9)
    if pa.types.is_map(t):
        return [(str(i), random_value(r, t.item_type)) for i in range(r.randrange(3))]
    if pa.types.is_struct(t):
        return {f.name: random_value(r, f.type) for f in t}
    if pa.types.is_fixed_size_list(t):
        return [random_value(r, t.value_type) for _ in range(t.list_size)]
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_list_view(t) or pa.types.is_large_list_view(t):
        return [random_value(r, t.value_type) for _ in range(r.randrange(4))]
    if pa.types.is_fixed_size_binary(t):
        return r.randbytes(t.byte_width)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or t == pa.binary_view():
        return r.randbytes(r.randrange(30))
    if pa.types.is_boolean(t):
        return r.random() < 0.5
    if pa.types.is_floating(t):
        return r.choice([0.0, -1.5, 0.25, float("inf"), 1024.0])
    if pa.types.is_integer(t):
        return r.randrange(100)
    if pa.types.is_decimal(t):
        return decimal.Decimal(r.randrange(-999, 999)) / 10
    if pa.types.is_interval(t):
        return pa.MonthDayNano([r.randrange(9), r.randrange(9), r.randrange(9)])
    if pa.types.is_date(t):
        return datetime.date(2000 + r.randrange(30), 2, 3)
    if pa.types.is_timestamp(t):
        return datetime.datetime(2020, 1, 1 + r.randrange(9))
    if pa.types.is_duration(t):
        return datetime.timedelta(seconds=r.randrange(99))
    if pa.types.is_time(t):
        return datetime.time(r.randrange(24))
    return "".join(r.choice("abc \u00e9\U0001f68c") for _ in range(r.randrange(30)))


def random_texts(r, n):
    return [None if r.random() < 0.1 else "bus to Goa " + "".join(r.choice("abc \u00e9\U0001f68c") for _ in range(r.randrange(40)))
            for _ in range(n)]


def random_table(r):
    n = r.choice([0, 1, 2, 9, 60, 200])
    texts = random_texts(r, n)
    text = pa.array(texts, r.choice([pa.utf8(), pa.large_utf8(), pa.string_view()]))
    if r.random() < 0.2:
        text = pa.array(texts, pa.utf8()).dictionary_encode()
    t = {"id": pa.array(range(n), pa.int64()), "text": text}
    for i in range(r.randrange(5)):
        t[f"other{i}"] = random_column(r, n)
    names = list(t)
    r.shuffle(names)
    table = pa.table({k: t[k] for k in names})
    cut = r.randrange(4) if n > 10 and r.random() < 0.3 else 0  # a slice: offsets that do not begin with 0
    return texts[cut:], table.slice(cut)


MODEL = os.path.join(HERE, "..", "..", "..", "examples", "bus-ner")


def answers(program, *arguments, data=None):
    return subprocess.run([program, "map", "-m", MODEL, "--errors", "keep", *arguments], input=data, capture_output=True, check=True).stdout


def by_lines(program, texts):
    """The entities that `extract` finds, told by JSON lines."""
    lines = "".join(json.dumps({"text": x}) + "\n" for x in texts).encode()
    out = answers(program, "--output-format", "jsonl", "--extract", "true", "-", data=lines)
    return [json.loads(x) for x in out.splitlines()]


def same_answers(rows, lines):
    if len(rows) != len(lines):
        return False
    for row, line in zip(rows, lines):
        if ("error" in line) != (row["error"] is not None) or (row["entities"] is None) != ("error" in line):
            return False
        found = {}
        for e in row["entities"] or []:
            found.setdefault(e["label"], e["text"])
        if "error" not in line and found != {k: v for k, v in line["extracted"].items() if v is not None}:
            return False
    return True


def check(program, tables):
    r = random.Random(7)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            texts, t = random_table(r)
            path, back = os.path.join(folder, "t.arrow"), os.path.join(folder, "back.arrow")
            packed = pa.ipc.IpcWriteOptions(compression=r.choice([None, None, "lz4", "zstd"]))
            with (pa.ipc.new_file if number % 2 else pa.ipc.new_stream)(path, t.schema, options=packed) as w:
                w.write_table(t, max_chunksize=r.choice([1, 7, 64, 1000]))
            file = number % 4 < 2
            out = answers(program, path, "--keep", "all", *(["-o", back] if file else ["--output-format", "arrow"]))
            got = (pa.ipc.open_file(back) if file else pa.ipc.open_stream(out)).read_all()
            if file:
                os.unlink(back)
            got.validate(full=True)
            kept = got.select(t.schema.names)
            same = kept.schema.equals(t.schema) and kept.to_pylist() == t.to_pylist()
            if number % 20 == 0:
                same = same and same_answers(got.to_pylist(), by_lines(program, texts))
            if not same:
                print(f"FAILED: table {number}: {t.schema}")
            bad += not same
    print(f"{tables - bad} passed, {bad} failed, 0 skipped")
    return bad > 0


# ---- engines: what they write is read, what is written is read by them ----
def polars_io(folder):
    import polars as pl
    def write(t, path, n):
        pl.from_arrow(t).write_ipc(path, compression=["uncompressed", "lz4", "zstd"][n % 3])
    def read(path): # bytes: polars would map the file, which is removed
        with open(path, "rb") as f: return pl.read_ipc(f.read(), use_pyarrow=False).to_dicts()
    return write, read


def duckdb_io(folder):
    import duckdb
    con = duckdb.connect()
    def write(t, path, n):
        reader = con.sql("select id, text from t").to_arrow_reader(100)
        with pa.ipc.new_stream(path, reader.schema) as w:
            for b in reader:
                w.write_batch(b)
    def read(path):
        answers = pa.ipc.open_file(path).read_all()
        names = answers.schema.names
        return [dict(zip(names, row)) for row in con.sql("select * from answers").fetchall()]
    return write, read


def daft_io(folder):
    import daft
    def write(t, path, n):
        found = daft.from_arrow(t).to_arrow()
        with pa.ipc.new_stream(path, found.schema) as w:
            w.write_table(found)
    return write, lambda path: daft.from_arrow(pa.ipc.open_file(path).read_all()).to_pylist()


def spark_io(folder):
    from pyspark.sql import SparkSession
    spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    def write(t, path, n):
        found = spark.createDataFrame(t.cast(pa.schema([("id", pa.int64()), ("text", pa.utf8())]))).toArrow()
        with pa.ipc.new_stream(path, found.schema) as w:
            w.write_table(found)
    def read(path):
        rows = spark.createDataFrame(pa.ipc.open_file(path).read_all()).collect()
        return [row.asDict(recursive=True) for row in rows]
    return write, read


def engines(program, tables):
    passed = failed = skipped = 0
    for name, make in (("polars", polars_io), ("duckdb", duckdb_io), ("daft", daft_io), ("spark", spark_io)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                write, read = make(folder)
            except Exception as e:
                print(f"skipped: {name}: {str(e)[:100]}")
                skipped += 1
                continue
            r = random.Random(11)
            for number in range(tables):
                n = r.choice([1, 2, 30, 300])
                t = pa.table({"id": pa.array(range(n), pa.int64()), "text": random_texts(r, n)})
                path, out = os.path.join(folder, f"in{number}.arrow"), os.path.join(folder, "out.arrow")
                write(t, path, number)
                answers(program, path, "--keep", "id,text", "-o", out)
                want = pa.ipc.open_file(out).read_all().to_pylist()
                got = read(out)
                os.unlink(out)
                same = got == want and [(x["id"], x["text"]) for x in want] == list(zip(range(n), t["text"].to_pylist()))
                if not same:
                    print(f"FAILED: {name}, table {number}: found {str(got)[:300]}, wanted {str(want)[:300]}")
                passed, failed = passed + same, failed + (not same)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    what, count = sys.argv[1:2], int(sys.argv[3]) if len(sys.argv) > 3 else None
    if what == ["check"]:
        sys.exit(check(sys.argv[2], count or 300))
    sys.exit(engines(sys.argv[2], count or 200) if what == ["engines"] else golden())
