#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""adapters.py PROGRAM PACKAGE - what the adapters of python/encoderfile_c send, keep and refuse; of engines those that are
installed. Needs pyarrow."""
import contextlib
import importlib.util
import os
import pickle
import sys
import unittest

import pyarrow as pa

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PYTHON = os.path.join(ROOT, "python")
sys.path.insert(0, PYTHON)
os.environ["PYTHONPATH"] = PYTHON + os.pathsep + os.environ.get("PYTHONPATH", "")
from encoderfile_c import stream  # noqa: E402

PROGRAM, PACKAGE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ANSWERS = os.path.join(ROOT, "tests", "golden", "question_answering", "bert")
PAGES = pa.record_batch({"id": [1, 2], "q": ["Who?", "Where?"], "page": ["Ada was here", "Goa is there"]})
BOTH = {"question": "q", "context": "page"}


def has(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


def flags(**options):
    line = stream.command(PACKAGE, "text", 1, None, options)
    return line[line.index("--column") + 2:]


@contextlib.contextmanager
def stream_encoder(**options):
    encode = stream.Encoder(PACKAGE, **options)
    yield encode
    encode.close()


class Core(unittest.TestCase):
    def test_options(self):
        self.assertEqual(flags(top_k=3, normalize=True, aggregation=None), ["--top-k", "3", "--normalize", "true"])
        self.assertEqual(flags(candidate_labels=["a", "b"], params={"multi_label": True}),
                         ["--params", '{"multi_label": true, "candidate_labels": ["a", "b"]}'])

    def test_several_columns(self):
        self.assertEqual(stream.schema(ANSWERS, list(BOTH), program=PROGRAM).names[0], "answer")
        (found,) = stream.stream(ANSWERS, [PAGES], BOTH, keep="all", program=PROGRAM)
        self.assertEqual(found.column("id").to_pylist(), [1, 2])
        self.assertEqual(found.column("error").null_count, 2)
        (same,) = stream.stream(ANSWERS, [PAGES.rename_columns(["id", *BOTH])], list(BOTH), keep=["id"], program=PROGRAM)
        self.assertTrue(found.equals(same))
        kept = pickle.loads(pickle.dumps(stream.Encoder(ANSWERS, BOTH, keep=["id"], program=PROGRAM)))
        self.assertTrue(found.equals(kept(PAGES)))
        kept.close()

    def test_nulls(self):
        none, some = pa.record_batch({"text": pa.nulls(2)}), pa.record_batch({"text": ["bus to Goa"]})
        for batches in ([none, some], [some, none]):
            found = [batch.column("error").null_count for batch in stream.stream(PACKAGE, batches)]
            self.assertEqual(found, [0 if batch is none else 1 for batch in batches])
        with stream_encoder() as encode:
            encode(none)
            self.assertEqual(encode(some).column("entities").to_pylist()[0][0]["text"], "Goa")
            with self.assertRaisesRegex(TypeError, "found columns"):
                encode(pa.record_batch({"text": [1.5]}))
            self.assertEqual(encode(some).num_rows, 1)
            with self.assertRaisesRegex(TypeError, 'found a dict, wanted .* batch_format="pyarrow"'):
                encode({"text": ["bus to Goa"]})

    def test_tables(self):
        table = pa.table({"text": pa.chunked_array([["bus to Goa"], ["a", "b"]]), "id": [1, 2, 3]})
        self.assertEqual([batch.num_rows for batch in stream.stream(PACKAGE, table, keep=["id"])], [1, 2])
        self.assertEqual(list(stream.stream(PACKAGE, table[:0])), [])
        twice = pa.record_batch([["bus"], [1], [2]], names=["text", "id", "id"])
        with self.assertRaisesRegex(ValueError, "two columns are called 'id'"):
            list(stream.stream(PACKAGE, [twice], keep="all"))
        self.assertEqual([batch.num_rows for batch in stream.stream(PACKAGE, [twice])], [1])

    def test_refused(self):
        batch = pa.record_batch({"text": ["bus to Goa"], "error": ["x"], "id": [1]})
        def stream_of(*args, **options):
            return list(stream.stream(PACKAGE, [batch], *args, **options))
        with self.assertRaisesRegex(KeyError, "did you mean 'text'"):
            stream_of("txt")
        with self.assertRaisesRegex(KeyError, "no column 'ids'.*did you mean 'id'"):
            stream_of(keep=["ids"])
        with self.assertRaisesRegex(TypeError, "found 'id', wanted a list"):
            stream_of(keep="id")
        with self.assertRaisesRegex(ValueError, "ahead: found 0, wanted 1 or more"):
            stream_of(ahead=0)
        for call in (lambda: stream_of(keep=["error"]), lambda: stream_of(keep="all"),
                     lambda: stream.schema(PACKAGE, keep=batch.schema)):
            with self.assertRaisesRegex(ValueError, "'error' is a column of the results"):
                call()


class Engines(unittest.TestCase):
    @has("duckdb")
    def test_duckdb(self):
        import duckdb
        from encoderfile_c import duckdb as adapter
        rows = adapter.table(duckdb.connect(), "select 'bus to Goa' as text, 1 as id", PACKAGE).read_all()
        self.assertEqual(rows.column_names, ["id", "entities", "error"])
        self.assertEqual(rows.to_pylist()[0]["entities"][0]["text"], "Goa")
        with self.assertRaisesRegex(ValueError, "'entities' is a column of the results"):
            adapter.table(duckdb.connect(), "select 'a' as text, 1 as entities", PACKAGE)
        with self.assertRaisesRegex(KeyError, "did you mean 'text'"):
            adapter.table(duckdb.connect(), "select 'a' as text", PACKAGE, column="texts")

    @has("polars")
    def test_polars(self):
        import polars as pl
        from encoderfile_c import polars as adapter
        frame = pl.LazyFrame({"q": ["Who?"], "page": ["Ada was here"], "id": [7]})
        rows = adapter.scan(frame, ANSWERS, BOTH, program=PROGRAM).collect()
        self.assertEqual(rows.columns[:2], ["id", "answer"])
        self.assertEqual(rows["error"].null_count(), 1)
        self.assertTrue(rows.equals(adapter.scan(frame.collect(), ANSWERS, BOTH, program=PROGRAM).collect()))
        none = adapter.scan(pl.LazyFrame(schema={"text": pl.String, "id": pl.Int64}), PACKAGE).collect()
        self.assertEqual((none.columns, none.height), (["id", "entities", "error"], 0))
        with self.assertRaisesRegex(ValueError, "'error' is a column of the results"):
            adapter.scan(pl.LazyFrame({"text": ["a"], "error": ["b"]}), PACKAGE)

    @has("pyspark")
    def test_spark(self):
        from encoderfile_c import spark as adapter
        self.assertEqual(adapter.schema(PACKAGE).names, ["entities", "error"])
        with self.assertRaisesRegex(TypeError, "like: found none, wanted the schema of the frame"):
            adapter.schema(PACKAGE, keep=["id"])

    @has("daft")
    def test_daft(self):
        import daft
        from encoderfile_c import daft as adapter
        frame = daft.from_pydict({"q": ["Who?"], "page": ["Ada was here"]})
        found = frame.select(adapter.encoder(ANSWERS, list(BOTH), program=PROGRAM)(frame["q"], frame["page"]).alias("f")).to_pydict()["f"][0]
        self.assertIsNone(found["error"])
        self.assertTrue(found["answer"])
        with self.assertRaisesRegex(TypeError, "keep: found it, wanted none"):
            adapter.encoder(PACKAGE, keep=["id"])


if __name__ == "__main__":
    done = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not done.wasSuccessful())
