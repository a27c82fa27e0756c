#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parquet.py - Parquet files of five writers (pyarrow, Spark, DuckDB, Polars, Daft), with the values in them:
tests/golden/parquet, for test_data_parquet.c. And random tables through our reader and writer.

  parquet.py                         writes the golden files; a writer that is absent is left out, and said
  parquet.py check TURN [TABLES]     random tables of pyarrow through `TURN turn IN OUT`, read by pyarrow (default: 10000)
  parquet.py engines TURN [TABLES]   the same of each other engine: it writes, it reads ours (default: 200)
  parquet.py keep PROGRAM [TABLES]   random tables as Arrow and as Parquet with ARROW:schema through `PROGRAM map --keep all`: their
                                     types as pyarrow reads them, but for what docs/scale.md says is lost (default: 200)
  parquet.py memory PROGRAM [MB]     resident memory of `map` on a file of 20 GB of which little is text, and on a row group
                                     with 200 MB of text in one page or in many (default: at most 300 MB)

TURN is build/tests/test_data_parquet. rows.json has a line a row, of every file, as arrow_value gives it: times and dates
by ISO 8601, decimals as text.
"""
import base64
import datetime
import decimal
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "parquet")


# ---- random tables ----
WORDS = ["", "a", "bus", "Pune to Goa", "é", "日本語", "x" * 40, "the same", "the same again", "🚌"]


def flat_types(pa, rng):
    p = rng.randint(1, 38)
    return rng.choice([
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
        pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.string(), pa.binary(), pa.binary(rng.randint(1, 20)),
        pa.date32(), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.timestamp("ms"), pa.timestamp("us"),
        pa.timestamp("ns", tz="UTC"), pa.timestamp("us", tz="UTC"), pa.decimal128(p, rng.randint(0, p)),
        pa.decimal256(rng.randint(39, 76), 5)])


def some_type(pa, rng, depth=0):
    kind = rng.random()
    if depth > 2 or kind < 0.6: return flat_types(pa, rng)
    nullable = rng.random() < 0.7
    if kind < 0.75:
        return pa.struct([pa.field(f"m{i}", some_type(pa, rng, depth + 1), rng.random() < 0.7)
                          for i in range(rng.randint(1, 3))])
    if kind < 0.95: return pa.list_(pa.field("element", some_type(pa, rng, depth + 1), nullable))
    return pa.map_(pa.string(), pa.field("value", some_type(pa, rng, depth + 1), nullable))


def some_value(pa, rng, t, nullable, nulls):
    if nullable and rng.random() < nulls: return None
    if pa.types.is_struct(t): return {f.name: some_value(pa, rng, f.type, f.nullable, nulls) for f in t}
    if pa.types.is_map(t):
        return [(rng.choice(WORDS), some_value(pa, rng, t.item_type, t.item_field.nullable, nulls))
                for _ in range(rng.choice([0, 1, 2, 5]))]
    if pa.types.is_list(t):
        return [some_value(pa, rng, t.value_type, t.value_field.nullable, nulls) for _ in range(rng.choice([0, 1, 2, 3, 9]))]
    if pa.types.is_boolean(t): return rng.random() < 0.5
    if pa.types.is_integer(t):
        signed = pa.types.is_signed_integer(t)
        top = (1 << t.bit_width - signed) - 1
        low = -top - 1 if signed else 0
        return rng.choice([rng.randint(low, top), low, top, max(low, min(top, rng.randint(0, 9)))])
    if pa.types.is_float16(t): return __import__("numpy").float16(rng.randint(-200, 200) / 8)
    if pa.types.is_floating(t): return rng.choice([0.0, -1.5, rng.randint(-99, 99) / 8])
    if pa.types.is_string(t): return rng.choice(WORDS) + rng.choice(["", str(rng.randint(0, 999))])
    if pa.types.is_fixed_size_binary(t) and not pa.types.is_decimal(t): return rng.randbytes(t.byte_width)
    if pa.types.is_binary(t): return rng.randbytes(rng.choice([0, 1, 7, 30]))
    if pa.types.is_decimal(t):
        v = rng.choice([rng.randint(-9, 9), rng.randint(-10 ** t.precision + 1, 10 ** t.precision - 1)])
        return decimal.Context(prec=80).scaleb(decimal.Decimal(v), -t.scale)
    if pa.types.is_date(t): return datetime.date(1970, 1, 1) + datetime.timedelta(rng.randint(-9999, 30000))
    return rng.randint(0, 86399) * {"ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}[t.unit]


def some_table(pa, rng):
    rows, nulls = rng.choice([0, 1, 3, 20, 100, 700]), rng.choice([0, 0.1, 0.5, 1])
    fields = [pa.field(f"c{i}", some_type(pa, rng), rng.random() < 0.7) for i in range(rng.randint(1, 4))]
    repeats = rng.random() < 0.3                                     # runs, for dictionaries
    columns = []
    for f in fields:
        v = [some_value(pa, rng, f.type, f.nullable, nulls) for _ in range(min(rows, 5) if repeats else rows)]
        if repeats and v: v = [rng.choice(v) for _ in range(rows)]
        columns.append(pa.array(v, f.type))
    return pa.table(columns, schema=pa.schema(fields))


def leaves(pa, prefix, f):
    """(path, type) of each leaf, as Parquet names them."""
    t, path = f.type, prefix + [f.name]
    if pa.types.is_struct(t): return [x for k in t for x in leaves(pa, path, k)]
    if pa.types.is_map(t): return [x for k in (t.key_field, t.item_field) for x in leaves(pa, path + ["key_value"], k)]
    if pa.types.is_list(t): return leaves(pa, path + ["list"], t.value_field)
    return [(".".join(path), t)]


def some_encoding(pa, rng, t):
    if pa.types.is_decimal(t) or pa.types.is_boolean(t): return "PLAIN"
    if pa.types.is_string(t) or pa.types.is_binary(t) and not pa.types.is_fixed_size_binary(t):
        return rng.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
    if pa.types.is_fixed_size_binary(t): return rng.choice(["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"])
    if pa.types.is_floating(t): return rng.choice(["PLAIN", "BYTE_STREAM_SPLIT"])
    return rng.choice(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])


def write_somehow(pa, pq, rng, t, path):
    compliant = rng.random() < 0.8
    how = dict(compression=rng.choice(["none", "snappy", "gzip", "zstd", "lz4"]), store_schema=False,
               data_page_version=rng.choice(["1.0", "2.0"]), row_group_size=rng.choice([1, 7, 64, 10000]),
               data_page_size=rng.choice([64, 1000, 1 << 20]), write_batch_size=rng.choice([1, 16, 1024]),
               write_page_checksum=rng.random() < 0.5, use_compliant_nested_type=compliant,
               write_page_index=rng.random() < 0.2, store_decimal_as_integer=rng.random() < 0.5)
    if rng.random() < 0.5: how["dictionary_pagesize_limit"] = rng.choice([20, 200, 1 << 20])
    else:
        names = [x for f in t.schema for x in leaves(pa, [], f)]
        how.update(use_dictionary=False, column_encoding={n: some_encoding(pa, rng, k) for n, k in names})
        if any(pa.types.is_decimal(k) for _, k in names): how["store_decimal_as_integer"] = False
    pq.write_table(t, path, **how)


def turned(program, pairs):
    r = subprocess.run([program, "turn"] + [x for p in pairs for x in p], capture_output=True, text=True)
    if r.returncode: sys.exit(f"{r.stdout}{r.stderr}status {r.returncode}")


def check(program, tables):
    import pyarrow as pa
    import pyarrow.parquet as pq
    unread = 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, tables, 50):
            pairs = []
            for seed in range(first, min(first + 50, tables)):
                rng = random.Random(seed)
                path, table = os.path.join(folder, f"{seed}.parquet"), some_table(pa, rng)
                write_somehow(pa, pq, rng, table, path)
                pairs.append((path, path + ".ours", table))
            turned(program, [p[:2] for p in pairs])
            for theirs, ours, want in pairs:
                try: got = pq.ParquetFile(ours).read()
                except pa.ArrowInvalid as e:
                    if not unreadable(pa, pq, theirs): sys.exit(f"{ours}: {e}")
                    unread += 1
                    continue
                got.validate(full=True)
                if not same(want, got):
                    keep = os.path.join(tempfile.gettempdir(), "parquet-differs.parquet")
                    os.replace(theirs, keep), os.replace(ours, keep + ".ours")
                    sys.exit(f"table {os.path.basename(theirs)} differs: {keep}\n{want.schema}\n{got.schema}")
                os.remove(theirs), os.remove(ours)
    print(f"{tables} tables of pyarrow: equal; {unread} of them that pyarrow itself could not read, nor ours")


def unreadable(pa, pq, path):
    try: pq.ParquetFile(path).read()
    except pa.ArrowInvalid: return True
    return False


def same(want, got):
    return want.schema.equals(got.schema) and want.equals(got)


# ---- golden files ----
ROWS = 60


def golden_columns():
    """Columns that every engine knows, as Python values."""
    day, stamp = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 5, 250000)
    each = range(ROWS)
    return {
        "id": list(each), "text": [None if i % 7 == 3 else f"bus {i} from Pune to Goa" for i in each],
        "word": [["Pune", "Goa", "é", ""][i % 4] for i in each], "flag": [None if i % 5 == 0 else i % 3 == 0 for i in each],
        "score": [i / 8 for i in each], "small": [None if i == 9 else i - 30 for i in each],
        "day": [day + datetime.timedelta(i) for i in each], "time": [stamp + datetime.timedelta(seconds=i) for i in each],
        "price": [None if i % 11 == 4 else decimal.Decimal(i * 37 - 500) / 100 for i in each],
        "vector": [None if i % 9 == 2 else [j / 4 for j in range(i % 4)] for i in each],
        "tags": [None if i % 8 == 1 else [None if j == 2 else f"t{j}" for j in range(i % 5)] for i in each],
        "place": [None if i % 6 == 5 else {"city": ["Pune", None, "Goa"][i % 3], "at": i * 10} for i in each],
        "entities": [None if i % 10 == 7 else [{"label": f"L{j}", "start": j, "score": j / 2} for j in range(i % 3)] for i in each],
    }


def golden_table(pa):
    c = golden_columns()
    kinds = {"id": pa.int64(), "text": pa.string(), "word": pa.string(), "flag": pa.bool_(), "score": pa.float64(),
             "small": pa.int16(), "day": pa.date32(), "time": pa.timestamp("us"), "price": pa.decimal128(9, 2),
             "vector": pa.list_(pa.float32()), "tags": pa.list_(pa.string()),
             "place": pa.struct([("city", pa.string()), ("at", pa.int32())]),
             "entities": pa.list_(pa.struct([("label", pa.string()), ("start", pa.int32()), ("score", pa.float32())]))}
    return pa.table({k: pa.array(v, kinds[k]) for k, v in c.items()})


def plain(v):
    """A value as arrow_value gives it, in JSON."""
    if isinstance(v, dict): return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)): return [plain(x) for x in v]
    if isinstance(v, bytes): return base64.b64encode(v).decode()
    if isinstance(v, datetime.date): return v.isoformat()
    if isinstance(v, decimal.Decimal): return str(v)
    return v


def spark_session():
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
        "spark.sql.session.timeZone", "UTC").config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def spark_write(spark, table, path):
    import glob
    import shutil
    import pyarrow.parquet as pq
    pq.write_table(table, path + ".in", store_schema=False)
    spark.read.parquet(path + ".in").coalesce(1).write.mode("overwrite").parquet(path + ".dir")
    os.replace(glob.glob(path + ".dir/part-*.parquet")[0], path)
    shutil.rmtree(path + ".dir"), os.remove(path + ".in")


def duck_write(table, path, how="format parquet"):
    import duckdb
    con = duckdb.connect()
    con.register("t", table)
    con.execute(f"copy t to '{path}' ({how})")


def daft_write(table, path):
    import daft
    import glob
    import shutil
    daft.from_arrow(table).write_parquet(path + ".dir")
    os.replace(glob.glob(path + ".dir/*.parquet")[0], path)
    shutil.rmtree(path + ".dir")


def golden():
    import pyarrow as pa
    import pyarrow.parquet as pq
    os.makedirs(HERE, exist_ok=True)
    t, at = golden_table(pa), lambda name: os.path.join(HERE, name)
    pq.write_table(t, at("pyarrow.parquet"))
    pq.write_table(t, at("pyarrow-v2-zstd.parquet"), compression="zstd", data_page_version="2.0", row_group_size=25,
                   store_schema=False, write_page_checksum=True)
    pq.write_table(t, at("pyarrow-delta-lz4.parquet"), compression="lz4", use_dictionary=False, store_schema=False, column_encoding={
        "id": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "word": "DELTA_LENGTH_BYTE_ARRAY", "score": "BYTE_STREAM_SPLIT",
        "small": "DELTA_BINARY_PACKED", "vector.list.element": "BYTE_STREAM_SPLIT"}, data_page_size=200, write_batch_size=8)
    pq.write_table(t, at("pyarrow-gzip.parquet"), compression="gzip", row_group_size=7, store_schema=False, data_page_size=64)
    writers = ["pyarrow.parquet", "pyarrow-v2-zstd.parquet", "pyarrow-delta-lz4.parquet", "pyarrow-gzip.parquet"]
    def attempt(name, write):
        try: write(), writers.append(name)
        except ImportError as e: print(f"left out: {name}: {e}")
    def polars_write():
        import polars
        polars.from_arrow(t).write_parquet(at("polars.parquet"))
    attempt("duckdb.parquet", lambda: duck_write(t, at("duckdb.parquet")))
    attempt("duckdb-v2.parquet", lambda: duck_write(t, at("duckdb-v2.parquet"), "format parquet, parquet_version v2"))
    attempt("polars.parquet", polars_write)
    attempt("daft.parquet", lambda: daft_write(t, at("daft.parquet")))
    attempt("spark.parquet", lambda: spark_write(spark_session(), t, at("spark.parquet")))
    with open(at("rows.json"), "w") as f:
        for row in t.to_pylist(): f.write(json.dumps(plain(row), ensure_ascii=False) + "\n")
    pq.write_table(int96_table(), at("int96.parquet"), use_deprecated_int96_timestamps=True, store_schema=False)
    pq.write_table(pa.table({"text": ["x"]}), at("refused-brotli.parquet"), compression="brotli", store_schema=False)
    with_a_secret(at)
    attempt("duckdb-arrays.parquet", lambda: null_arrays(at))
    meanings(at)
    deep_lists(at)
    old_pages(at)
    tensors(at)
    print("wrote", *writers)


# ---- other engines ----
def engine_table(pa, rng):
    """Types that all of them have."""
    def kind(depth):
        k = rng.random()
        if depth > 1 or k < 0.6:
            return rng.choice([pa.int32(), pa.int64(), pa.int16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(),
                               pa.date32(), pa.timestamp("us"), pa.decimal128(rng.randint(1, 18), 1)])
        if k < 0.8: return pa.struct([(f"m{i}", kind(depth + 2)) for i in range(rng.randint(1, 3))])
        return pa.list_(kind(2) if k < 0.9 else pa.struct([(f"m{i}", kind(depth + 2)) for i in range(rng.randint(1, 3))]))
    rows, nulls = rng.choice([1, 3, 50, 400]), rng.choice([0, 0.1, 0.5])
    fields = [pa.field(f"c{i}", kind(0)) for i in range(rng.randint(1, 4))]
    return pa.table([pa.array([some_value(pa, rng, f.type, True, nulls) for _ in range(rows)], f.type) for f in fields],
                    schema=pa.schema(fields))


def engine_rows():
    """name: (write(table, path), read(path) -> rows as Python values)"""
    found = {}
    try:
        import duckdb
        how = ["format parquet", "format parquet, parquet_version v2", "format parquet, codec zstd", "format parquet, codec lz4_raw"]
        found["duckdb"] = (lambda t, p: duck_write(t, p, how[len(p) % len(how)]),
                           lambda p: duckdb.connect().execute(f"from read_parquet('{p}')").fetchall())
    except ImportError: print("skipped: duckdb is absent")
    try:
        import polars
        found["polars"] = (lambda t, p: polars.from_arrow(t).write_parquet(p), lambda p: polars.read_parquet(p).rows())
    except ImportError: print("skipped: polars is absent")
    try:
        import daft
        found["daft"] = (daft_write, lambda p: daft.read_parquet(p).to_pylist())
    except ImportError: print("skipped: daft is absent")
    try:
        spark = spark_session()
        found["spark"] = (lambda t, p: spark_write(spark, t, p), lambda p: spark.read.parquet(p).collect())
    except Exception as e: print(f"skipped: spark is absent: {str(e)[:100]}")
    return found


def engines(program, tables):
    import pyarrow as pa
    for name, (write, read) in engine_rows().items():
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(tables):
                path = os.path.join(folder, "t" * (1 + seed % 4) + ".parquet")
                write(engine_table(pa, random.Random(seed)), path)
                ours = os.path.join(folder, f"ours{seed}.parquet")
                turned(program, [(path, ours)])
                if read(path) != read(ours):
                    keep = os.path.join(tempfile.gettempdir(), f"parquet-{name}-differs.parquet")
                    os.replace(path, keep), os.replace(ours, keep + ".ours")
                    sys.exit(f"{name}: table {seed} differs: {keep}")
                os.remove(ours)
        print(f"{tables} tables of {name}: equal", flush=True)


# ---- columns that are kept ----
def int96_table():
    import pyarrow as pa
    times = [datetime.datetime(2024, 2, 29, 12, 30, 5, 250000), None, datetime.datetime(1970, 1, 1), datetime.datetime(1902, 12, 31, 23, 59, 59, 999999)]
    return pa.table({"text": ["x"] * 4, "old": pa.array(times, pa.timestamp("ns")), "more": pa.array([times[:2], None, [], times[2:]], pa.list_(pa.timestamp("ns")))})


def with_a_secret(at):
    """One column is encrypted; the footer and the text are not. The key goes nowhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.parquet import encryption

    class Keys(encryption.KmsClient):
        def wrap_key(self, key, name): return base64.b64encode(key)
        def unwrap_key(self, key, name): return base64.b64decode(key)
    how = encryption.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["secret"]}, plaintext_footer=True)
    keys = encryption.CryptoFactory(lambda connection: Keys()).file_encryption_properties(encryption.KmsConnectionConfig(), how)
    t = pa.table({"id": [1, 2], "text": ["AC sleeper bus to Goa", "Volvo to Pune"], "secret": ["a", "b"]})
    pq.write_table(t, at("secret.parquet"), encryption_properties=keys, store_schema=False)


def null_arrays(at):
    """Arrays of one length, some of them null: DuckDB writes entries for all items of those, too."""
    import duckdb
    duckdb.sql("copy (select 'bus to Goa' as text, v::int[2] as flat, w::int[2][2] as deep, x::varchar[2] as pair from (values "
               "(null, null, null), ([1, 2], [[1, 2], null], ['Pune', 'Goa']), (null, [null, [null, 4]], null), ([null, 5], null, ['a', null])) "
               f"t(v, w, x)) to '{at('duckdb-arrays.parquet')}'")


def deep_lists(at):
    """Lists in lists, in structs and in maps; pages and row groups of some rows. deep.json: the same as lines."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    boxes = [[[10 * i + j] * j for j in range(i % 4)] for i in range(12)]
    boxes[2], boxes[3][1], boxes[7][2][1] = None, None, None
    t = pa.table({
        "text": [f"bus {i}" for i in range(12)], "boxes": pa.array(boxes, pa.list_(pa.list_(pa.int64()))),
        "pages": pa.array([[{"name": f"p{j}", "boxes": boxes[(i + j) % 12]} for j in range(i % 3)] for i in range(12)],
                          pa.list_(pa.struct([("name", pa.string()), ("boxes", pa.list_(pa.list_(pa.int64())))]))),
        "words": pa.array([None if i == 5 else [[[["a", None], []], None], []][:i % 3] for i in range(12)], pa.list_(pa.list_(pa.list_(pa.list_(pa.string()))))),
        "named": pa.array([[(f"k{j}", boxes[(i + j) % 12]) for j in range(i % 3)] for i in range(12)], pa.map_(pa.string(), pa.list_(pa.list_(pa.int64()))))})
    pq.write_table(t, at("deep.parquet"), store_schema=False, row_group_size=5, data_page_size=20, write_batch_size=1)
    with open(at("deep.json"), "w") as f:
        for row in t.to_pylist():
            row["named"] = [{"key": k, "value": v} for k, v in row["named"]]
            f.write(json.dumps(row) + "\n")


def meanings(at):
    """Columns whose types Arrow does not have, and columns whose types Parquet does not have."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
    duckdb.connect().execute(f"""copy (select 'bus ' || i as text, ('00112233-4455-6677-8899-aabbccddee' || i)::uuid as id, '{{}}'::json as json,
        interval 3 days as span, time '12:00:01' as clock, timetz '12:00:01+01' as zoned, {{'a': '1'::json}} as deep
        from range(10, 14) t(i)) to '{at("meant.parquet")}' (format parquet)""")
    texts = [f"bus {i}" for i in range(4)]
    t = pa.table({
        "text": texts, "took": pa.array(range(4), pa.duration("ms")), "at": pa.array(range(4), pa.timestamp("us", "Europe/Berlin")), "null": pa.nulls(4),
        "large": pa.array(texts, pa.large_utf8()), "lists": pa.array([texts, None] * 2, pa.large_list(pa.large_utf8())),
        "word": pa.array(texts).dictionary_encode(), "json": pa.array(["{}"] * 4, pa.json_()), "id": pa.array([bytes(range(16))] * 4, pa.uuid()),
        "deep": pa.array([{"took": 1, "large": b"x"}, None] * 2, pa.struct([("took", pa.duration("s")), ("large", pa.large_binary())])),
        "bits": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 1, None], pa.int8()))})
    pq.write_table(t, at("told.parquet"), compression="none")


def old_pages(at):
    """As pyarrow before 3.0 wrote them: pages of version 2 are packed, and their headers deny it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    t = pa.table({"text": ["bus to Goa", None] * 10, "n": pa.array([7, 8] * 10, pa.int32())})
    path, ours, theirs = at("old-pages.parquet"), b"parquet-cpp-arrow version " + pa.__version__.encode(), b"parquet-cpp version 1.5.1-SNAPSHOT"
    pq.write_table(t, path, data_page_version="2.0", use_dictionary=False, store_schema=False)
    chunks = pq.read_metadata(path).row_group(0)
    with open(path, "rb") as f: data = bytearray(f.read())
    for i in range(chunks.num_columns):
        second = re.compile(rb"\x5c(\x15.){6}\x11", re.S).search(data, chunks.column(i).data_page_offset)  # six small numbers, and true
        data[second.end() - 1] = 0x12
    assert data.count(bytes([len(ours)]) + ours) == 1
    footer = int.from_bytes(data[-8:-4], "little") + len(theirs) - len(ours)
    data = data[:-8].replace(bytes([len(ours)]) + ours, bytes([len(theirs)]) + theirs) + footer.to_bytes(4, "little") + b"PAR1"
    with open(path, "wb") as f: f.write(data)
    assert pq.read_table(path).equals(t)


def tensors(at):
    """Tensors of a fixed shape, which are stored as lists of one length: of a column that may be null, and of one that may not."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    kind = pa.fixed_shape_tensor(pa.float32(), [2])
    column = pa.ExtensionArray.from_storage(kind, pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)))
    schema = pa.schema([("text", pa.string()), ("maybe", kind), pa.field("there", kind, nullable=False), ("inside", pa.struct([("maybe", kind)]))])
    inside = pa.StructArray.from_arrays([column], ["maybe"])
    pq.write_table(pa.table([["bus to Goa"] * 2, column, column, inside], schema=schema), at("tensors.parquet"), compression="none")


def kept_type(pa, t):
    """What is left of a type: lists have no fixed length, views are texts."""
    item = lambda f: pa.field(f.name, kept_type(pa, f.type), f.nullable)
    if t == pa.string_view(): return pa.string()
    if t == pa.binary_view(): return pa.binary()
    if pa.types.is_fixed_size_list(t): return pa.list_(item(t.value_field))
    if pa.types.is_list(t): return pa.list_(item(t.value_field))
    if pa.types.is_large_list(t): return pa.large_list(item(t.value_field))
    if pa.types.is_struct(t): return pa.struct([item(f) for f in t])
    if pa.types.is_map(t): return pa.map_(t.key_type, kept_type(pa, t.item_type))
    return t


def is_kept(pa, t):
    """Intervals and lists of no length, of which pyarrow writes other values, and types that have no place in Parquet."""
    return not any(word in str(t) for word in ("month_day_nano", ">[0]", "union", "run_end", "list_view"))


def keep(program, tables):
    import arrow
    import pyarrow as pa
    import pyarrow.parquet as pq
    r = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for number in range(tables):
            _, t = arrow.random_table(r)
            t = t.select([f.name for f in t.schema if is_kept(pa, f.type)])
            wanted = pa.table({f.name: pa.array(t[f.name].to_pylist(), kept_type(pa, f.type)) for f in t.schema})
            pq.write_table(wanted, at("wanted.parquet"))
            try: pq.write_table(t, at("in.parquet"))
            except pa.ArrowNotImplementedError: pq.write_table(wanted, at("in.parquet"))  # views in lists
            wanted = pq.read_table(at("wanted.parquet"))
            with pa.ipc.new_file(at("in.arrow"), t.schema) as w: w.write_table(t)
            for name in ("in.arrow", "in.parquet"):
                arrow.answers(program, at(name), "--keep", "all", "-o", at("out.parquet"))
                got = pq.read_table(at("out.parquet"))
                os.unlink(at("out.parquet"))
                got.validate(full=True)
                kept = got.select(t.schema.names)
                if kept.schema != wanted.schema or kept.to_pylist() != wanted.to_pylist():
                    sys.exit(f"table {number}, {name}: found {kept.schema}\nwanted {wanted.schema}")
    print(f"{tables} tables as Arrow and as Parquet: kept")


# ---- memory ----
def peak(program, path, out, seconds=20):
    """MB; it is stopped after some seconds: more is read as more is answered."""
    import time
    model = os.path.join(HERE, "..", "..", "..", "examples", "bus-ner")
    if os.path.exists(out): os.remove(out)
    run = subprocess.Popen([program, "map", "-m", model, path, "--keep", "id", "-o", out], stderr=subprocess.DEVNULL)
    most, end = 0, time.time() + seconds
    while run.poll() is None and time.time() < end:
        try:
            with open(f"/proc/{run.pid}/status") as f: lines = [x.split()[1] for x in f if x.startswith("VmHWM")]
            most = max([most] + [int(x) // 1024 for x in lines])
        except OSError: pass
        time.sleep(0.1)
    run.kill(), run.wait()
    return most


def memory(program, limit):
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = 1000000
    text = [f"{i:09d} " + "bus from Pune to Goa " * 9 for i in range(rows)]
    t = pa.table({"id": pa.array(range(rows), pa.int64()), "text": text})
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for name, how in (("many pages", {}), ("one page", dict(data_page_size=1 << 30, write_batch_size=rows, max_rows_per_page=rows))):
            for codec in ("none", "snappy"):
                pq.write_table(t, at("t.parquet"), row_group_size=rows, compression=codec, use_dictionary=False, **how)
                found[f"200 MB in {name}, {codec}"] = peak(program, at("t.parquet"), at("out.parquet"))
        pq.write_table(t.slice(0, 5000), at("s.parquet"))
        with open(at("s.parquet"), "rb") as f: data = f.read()
        end = int.from_bytes(data[-8:-4], "little") + 8
        with open(at("sparse.parquet"), "wb") as f:                  # 19.5 GB that no wanted column has
            f.write(data[:-end]), f.seek(19_500_000_000, 1), f.write(data[-end:])
        found["20 GB, little of it text"] = peak(program, at("sparse.parquet"), at("out.parquet"))
        os.unlink(at("sparse.parquet"))
        rows = 10_000_000                                            # in one row group
        null = pa.table({"id": pa.array(range(rows), pa.int64()), "text": pa.nulls(rows, pa.string())})
        pq.write_table(null, at("t.parquet"), row_group_size=rows)
        found["10 million rows without a text"] = peak(program, at("t.parquet"), at("out.parquet"))
    for name, mb in found.items(): print(f"{name}: {mb} MB")
    sys.exit(max(found.values()) > limit)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "golden"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else None
    if what == "check": check(sys.argv[2], count or 10000)
    elif what == "engines": engines(sys.argv[2], count or 200)
    elif what == "keep": keep(sys.argv[2], count or 200)
    elif what == "memory": memory(sys.argv[2], count or 300)
    else: golden()
