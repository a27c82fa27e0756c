# SPDX-License-Identifier: Apache-2.0
"""Model.map_arrow: batches of Arrow in and out. Streams are made and read by ctypes; with pyarrow, Polars and DuckDB where these are installed."""
from __future__ import annotations

import ctypes
import errno
import gc
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from typing import Any, ClassVar

import numpy as np

import encoderfile_c as ef
from encoderfile_c import errors
from test_core import NER, SIGNS, SLOW, TEXT, VECTORS, check_flat, python, rounds

PROGRAM = os.environ.get("EF_PROGRAM", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "encoderfile"))
LABELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "pipelines", "labels")


def golden(*names: str) -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", *names)

def golden_rows(*names: str) -> list[Any]:
    with open(golden(*names), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---- Arrow's C structs ----
class Schema(Structure):
    pass


class Array(Structure):
    pass


class Stream(Structure):
    pass


Release = ctypes.CFUNCTYPE(None, c_void_p)
GetSchema = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array))
GetError = ctypes.CFUNCTYPE(c_void_p, POINTER(Stream))
Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                   ("children", POINTER(POINTER(Schema))), ("dictionary", c_void_p), ("release", c_void_p), ("private", c_void_p)]
Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
                  ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))), ("dictionary", c_void_p), ("release", c_void_p),
                  ("private", c_void_p)]
Stream._fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p), ("private", c_void_p)]
STREAM, SCHEMA = b"arrow_array_stream", b"arrow_schema"

api = ctypes.pythonapi
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def call(function: int | None, kind: Any, *arguments: Any) -> Any:
    assert function
    return ctypes.cast(function, kind)(*arguments)


class Source:
    """A stream whose callbacks are Python code: columns id (int64) and another one of texts."""

    alive: ClassVar[list[Source]] = []  # until all is released, and a little longer: a callback may be on its way back

    def __init__(self, *batches: list[str | None] | Exception, column: str = "text", form: str = "u") -> None:
        self.batches, self.column, self.form = list(batches), column.encode(), form.encode()
        self.asked = self.first = 0
        self.released = False
        self.threads: set[int] = set()
        self.why: Any = None
        self.held: dict[int, Any] = {}  # what structs that are not released point into
        self.calls = (GetSchema(self.get_schema), GetNext(self.get_next), GetError(self.get_error), Release(self.end))
        self.drop_schema, self.drop_array = Release(self.drop(Schema)), Release(self.drop(Array))
        self.stream = Stream(*(ctypes.cast(one, c_void_p).value for one in self.calls), None)
        Source.alive = [one for i, one in enumerate(Source.alive) if one.held or not one.released or i + 8 > len(Source.alive)] + [self]

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return api.PyCapsule_New(ctypes.addressof(self.stream), STREAM, None)

    def end(self, stream: int) -> None:
        self.released = True
        Stream.from_address(stream).release = None

    def drop(self, kind: Any) -> Any:
        """Children may have been taken out; their key is their private number."""
        def release(address: int) -> None:
            one = kind.from_address(address)
            for i in range(one.n_children):
                if one.children[i].contents.release:
                    self.drop(kind)(ctypes.addressof(one.children[i].contents))
            one.release = None
            del self.held[one.private]
        return release

    def hold(self, one: Any, *what: Any) -> Any:
        self.first += 1
        one.private = self.first
        self.held[self.first] = (one, what)
        return one

    def get_schema(self, stream: Any, out: Any) -> int:
        end = ctypes.cast(self.drop_schema, c_void_p).value
        parts = [self.hold(Schema(form, name, None, 2, 0, None, None, end, None))
                 for form, name in ((b"l", b"id"), (self.form, self.column))]
        children = (POINTER(Schema) * 2)(*map(ctypes.pointer, parts))
        out[0] = self.hold(Schema(b"+s", b"", None, 0, 2, children, None, end, None), children, parts)
        return 0

    def get_next(self, stream: Any, out: Any) -> int:
        self.threads.add(threading.get_ident())
        if not self.batches:
            out[0] = Array()
            return 0
        batch = self.batches.pop(0)
        if isinstance(batch, Exception):
            self.why = ctypes.create_string_buffer(f"{type(batch).__name__}: {batch}".encode())
            return errno.EIO
        texts = [(one or "").encode() for one in batch]
        ids = np.arange(self.asked, self.asked + len(batch), dtype=np.int64)
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        valid = np.packbits([one is not None for one in batch] or [True], bitorder="little")
        data = ctypes.create_string_buffer(b"".join(texts))
        self.asked += len(batch)
        self.ids = ids.ctypes.data
        end = ctypes.cast(self.drop_array, c_void_p).value
        numbers = (c_void_p * 2)(None, ids.ctypes.data)
        strings = (c_void_p * 3)(valid.ctypes.data, offsets.ctypes.data, ctypes.addressof(data))
        none = (c_void_p * 1)(None)
        one = self.hold(Array(len(batch), 0, 0, 2, 0, numbers, None, None, end, None), numbers, ids)
        two = self.hold(Array(len(batch), -1, 0, 3, 0, strings, None, None, end, None), strings, valid, offsets, data)
        children = (POINTER(Array) * 2)(ctypes.pointer(one), ctypes.pointer(two))
        out[0] = self.hold(Array(len(batch), 0, 0, 1, 2, none, children, None, end, None), none, children, one, two)
        return 0

    def get_error(self, stream: Any) -> int | None:
        return ctypes.addressof(self.why) if self.why else None


class Reader:
    """What a stream's capsule has, read by ctypes. gil: its functions are called with the GIL held, as some libraries do."""

    def __init__(self, results: Any, gil: bool = False) -> None:
        self.capsule = results if "capsule" in str(type(results)).lower() else results.__arrow_c_stream__()
        self.address = api.PyCapsule_GetPointer(self.capsule, STREAM)
        self.stream = Stream.from_address(self.address)
        make = ctypes.PYFUNCTYPE if gil else ctypes.CFUNCTYPE
        self.kinds = [make(c_int, POINTER(Stream), POINTER(Schema)), make(c_int, POINTER(Stream), POINTER(Array)), make(None, c_void_p)]

    def names(self) -> list[str]:
        schema = Schema()
        assert call(self.stream.get_schema, self.kinds[0], byref(self.stream), byref(schema)) == 0
        names = [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
        call(schema.release, self.kinds[2], ctypes.addressof(schema))
        return names

    def next(self) -> Array | None:
        array = Array()
        code = call(self.stream.get_next, self.kinds[1], byref(self.stream), byref(array))
        if code:
            why = ctypes.cast(call(self.stream.get_last_error, GetError, byref(self.stream)), c_char_p).value
            raise OSError(code, why.decode() if why else None)
        return array if array.release else None

    def drop(self, array: Array) -> None:
        call(array.release, self.kinds[2], ctypes.addressof(array))

    def rows(self) -> int:
        n = 0
        while (array := self.next()) is not None:
            n += array.length
            self.drop(array)
        return n

    def release(self) -> None:
        call(self.stream.release, self.kinds[2], self.address)


def is_null(array: Array, row: int) -> bool:
    valid = array.buffers[0]
    return bool(valid) and not ctypes.cast(valid, POINTER(ctypes.c_uint8))[row // 8] >> row % 8 & 1


def lengths(array: Array) -> list[int]:
    offsets = ctypes.cast(array.buffers[1], POINTER(ctypes.c_int32))
    return [offsets[i + 1] - offsets[i] for i in range(array.length)]


class Batches(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.ner = ef.Model(NER, threads=1)

    def test_rows(self) -> None:
        for gil in (False, True):
            source = Source([TEXT, None, "to Goa"], [], [""])
            reader = Reader(self.ner.map_arrow(source, keep=["id"]), gil)
            self.assertEqual(reader.names(), ["id", "entities", "error"])
            first = reader.next()
            assert first is not None
            ids, entities, error = (first.children[i].contents for i in range(3))
            self.assertEqual(ids.buffers[1], source.ids, "a copy was made")
            wanted = [len(self.ner.run("ner", one, {"aggregation_strategy": "first"})) for one in (TEXT, "to Goa")]
            self.assertEqual(lengths(entities), [wanted[0], 0, wanted[1]])
            self.assertEqual([is_null(entities, i) for i in range(3)], [False, True, False])
            self.assertEqual([is_null(error, i) for i in range(3)], [True, False, True])
            reader.drop(first)
            self.assertEqual(reader.rows(), 1)
            self.assertIsNone(reader.next())
            reader.release()
            del reader
            self.assertTrue(source.released and not source.held)

    def test_options(self) -> None:
        vectors = ef.Model(VECTORS, threads=1)
        for options, width in (({}, 16), ({"dimensions": 4}, 4)):
            reader = Reader(vectors.map_arrow(Source(["the cat"], column="body"), column="body", **options))
            first = reader.next()
            assert first is not None
            self.assertEqual(lengths(first.children[0].contents), [width])
            reader.drop(first)
        tokens = Reader(self.ner.map_arrow(Source([TEXT]), results="tokens", keep="all"))
        self.assertEqual(tokens.names(), ["id", "text", "tokens", "error"])

    def test_a_capsule_may_come_alone(self) -> None:
        source = Source(["to Goa"])
        self.assertEqual(Reader(self.ner.map_arrow(source.__arrow_c_stream__())).rows(), 1)
        self.assertEqual(Reader(self.ner.map_arrow(self.ner.map_arrow(Source(["to Goa"]), keep="text"), column="text")).rows(), 1)

    def test_read_once(self) -> None:
        source = Source(["to Goa"], ["to Pune"])
        results = self.ner.map_arrow(source)
        for _ in range(2):  # who looks at the columns only leaves the rest
            self.assertEqual(Reader(results).names(), ["entities", "error"])
            schema = Schema.from_address(api.PyCapsule_GetPointer(results.__arrow_c_schema__(), SCHEMA))
            self.assertEqual(schema.n_children, 2)
        self.assertFalse(source.released)
        reader = Reader(results.__arrow_c_stream__(requested_schema=None))
        for again in (results.__arrow_c_stream__, results.__arrow_c_schema__):
            with self.assertRaisesRegex(errors.InputError, "read once"):
                again()
        reader.drop(reader.next())  # type: ignore[arg-type]
        del reader  # halfway: the rest goes with it
        self.assertTrue(source.released)
        with self.assertRaisesRegex(errors.InputError, "read once"):
            results.__arrow_c_stream__()
        with self.assertRaises(TypeError):
            results.__arrow_c_stream__(1, 2)
        with self.assertRaises(TypeError):
            ef.ArrowStream()

    def test_nobody_reads(self) -> None:
        source = Source(["to Goa"])
        results = self.ner.map_arrow(source)
        capsule = results.__arrow_c_stream__()
        del results
        self.assertFalse(source.released)
        del capsule
        self.assertTrue(source.released)

    def test_a_batch_outlives_all(self) -> None:
        model, source = ef.Model(NER, threads=1), Source([TEXT])
        reader = Reader(model.map_arrow(source, keep="text"))
        first = reader.next()
        assert first is not None
        reader.release()
        model.close()
        del model, reader
        gc.collect()
        self.assertEqual(ctypes.string_at(first.children[0].contents.buffers[2]), TEXT.encode())
        call(first.release, Release, ctypes.addressof(first))
        self.assertEqual(source.held, {})

    def test_wrong_data(self) -> None:
        class Raising:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                raise KeyError("mine")

        class Attribute:
            @property
            def __arrow_c_stream__(self) -> object:
                raise OSError("yours")

        class Number:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return 5

        other = Source()
        wrong: list[tuple[Any, Any, str]] = [
            (5, TypeError, "wanted an object with __arrow_c_stream__"), ([TEXT], TypeError, "found <class 'list'>"), (None, TypeError, "NoneType"),
            (Number(), TypeError, "found <class 'int'>"), (Raising(), KeyError, "mine"), (Attribute(), OSError, "yours"), (Source, TypeError, ""),
            (api.PyCapsule_New(ctypes.addressof(other.stream), SCHEMA, None), TypeError, "capsule"),
        ]
        for data, kind, says in wrong:
            with self.subTest(repr(data)[:40]), self.assertRaisesRegex(kind, says):
                self.ner.map_arrow(data)
        with self.assertRaises(TypeError):
            self.ner.map_arrow()
        released = Source()
        released.end(ctypes.addressof(released.stream))
        with self.assertRaisesRegex(errors.InputError, "found a stream that was released"):
            self.ner.map_arrow(released)

    def test_wrong_columns_and_options(self) -> None:
        wrong: list[tuple[dict[str, Any], Any, str]] = [
            ({"column": "txt"}, errors.InputError, 'did you mean "text"'), ({"keep": ["ids"]}, errors.InputError, 'did you mean "id"'),
            ({"keep": "zzzzzzzz"}, errors.InputError, '"keep" names another one'), ({"kep": "id"}, errors.InputError, 'did you mean "keep"'),
            ({"keep": 5}, errors.InputError, "wanted a list of names"), ({"column": 5}, errors.InputError, "wanted a name"),
            ({"results": "foo"}, errors.InputError, "foo"), ({"inputs": "a"}, errors.InputError, "unknown key"),
            ({"keep": object()}, TypeError, ""), ({"column": "id"}, ValueError, 'column "id"'),
        ]
        for options, kind, says in wrong:
            source = Source([TEXT])
            with self.subTest(options), self.assertRaisesRegex(kind, says):
                self.ner.map_arrow(source, **options)
            self.assertTrue(source.asked == 0 and not source.held)

    def test_an_input_that_raises(self) -> None:
        for gil in (False, True):
            source = Source([TEXT], ValueError("row 7 is no text"))
            reader = Reader(self.ner.map_arrow(source), gil)
            first = reader.next()
            assert first is not None
            reader.drop(first)
            for _ in range(2):
                with self.assertRaisesRegex(OSError, "the input: ValueError: row 7 is no text") as caught:
                    reader.next()
                self.assertEqual(caught.exception.errno, errno.EIO)

    def test_closed(self) -> None:
        def threads() -> int:
            return len(os.listdir("/proc/self/task"))

        before = threads()
        model = ef.Model(NER, threads=2)
        results = model.map_arrow(Source([TEXT], ["to Goa"]))
        model.close()
        self.assertTrue(model.closed and threads() > before)
        with self.assertRaisesRegex(errors.InputError, "the model is closed"):
            model.map_arrow(Source([TEXT]))
        reader = Reader(results)  # it is open as long as they live
        self.assertEqual(reader.rows(), 2)
        self.assertGreater(threads(), before)
        reader.release()
        self.assertEqual(threads(), before)


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.ner = ef.Model(NER, threads=1)

    def test_another_thread_reads(self) -> None:
        wrong: list[Any] = []

        def work(gil: bool) -> None:
            for _ in range(rounds(10, 500)):
                source = Source([TEXT, "to Goa"], ["bus"])
                reader = Reader(self.ner.map_arrow(source, keep="id"), gil)
                n = reader.rows()
                reader.release()
                if n != 3 or source.held or source.threads != {threading.get_ident()}:
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])
        results = self.ner.map_arrow(Source([TEXT]))
        moved = threading.Thread(target=lambda: wrong.append(Reader(results).rows()))
        moved.start()
        moved.join()
        self.assertEqual(wrong, [1])

    def test_others_run_meanwhile(self) -> None:
        """A caller that holds the GIL gives it up while a batch is made."""
        for gil in (False, True):
            reader = Reader(self.ner.map_arrow(Source(["bus from Bangalore to Mumbai " * 20] * (200 if SLOW else 1000))), gil)
            reader.names()
            inside, ticks, done = [0.0, 0.0], [], threading.Event()

            def tick() -> None:
                while not done.wait(0.002):
                    ticks.append(time.monotonic())

            other = threading.Thread(target=tick)
            other.start()
            inside[0] = time.monotonic()
            first = reader.next()
            inside[1] = time.monotonic()
            done.set()
            other.join()
            assert first is not None
            reader.drop(first)
            self.assertGreater(sum(inside[0] < at < inside[1] for at in ticks), 5, f"in {inside[1] - inside[0]:.3f} s")

    def test_log_lines_of_other_threads(self) -> None:
        """Python code gets a log line from whatever thread, also while the one that reads held the GIL."""
        lines: list[str] = []
        ef.set_log(lambda level, text: lines.append(text))
        try:
            self.assertEqual(Reader(ef.Model(NER, threads=2).map_arrow(Source([TEXT] * 50)), gil=True).rows(), 50)
        finally:
            ef.set_log(None)

    def foreign(self, reader: Reader, gil: bool = False) -> None:
        """release of the stream on a thread that Python does not know. gil: whoever waits for that thread holds the GIL."""
        libc, thread = ctypes.PyDLL(None) if gil else ctypes.CDLL(None), ctypes.c_ulong()
        self.assertEqual(libc.pthread_create(byref(thread), None, c_void_p(reader.stream.release), c_void_p(reader.address)), 0)
        libc.pthread_join(thread, None)

    def test_released_by_a_thread_of_another_library(self) -> None:
        for i in range(rounds(50, 1000)):
            model = self.ner if i % 10 else ef.Model(VECTORS, threads=1)
            count, source = sys.getrefcount(model), Source([TEXT], [TEXT])
            if i % 2:  # no Python code
                source.stream.release, source.released = ctypes.cast(ctypes.CDLL(None).abs, c_void_p).value, True
            reader = Reader(model.map_arrow(source))
            reader.drop(reader.next())  # type: ignore[arg-type]
            self.assertEqual(sys.getrefcount(model), count + 1)
            self.foreign(reader, gil=i % 2 == 1)
            self.assertTrue(source.released and not reader.stream.release)
            until = time.monotonic() + 10  # the main thread drops it when it next takes the GIL
            while sys.getrefcount(model) > count and time.monotonic() < until:
                time.sleep(0.001)
            self.assertEqual(sys.getrefcount(model), count)

    def test_more_than_python_remembers(self) -> None:
        """Python takes note of so many calls for its main thread, and no more: then the next map_arrow drops what waits."""
        count, found = sys.getrefcount(self.ner), []

        def many() -> None:
            nothing = ctypes.cast(ctypes.CDLL(None).abs, c_void_p)
            readers = [Reader(self.ner.map_arrow(Source([TEXT]))) for _ in range(50)]
            while api.Py_AddPendingCall(nothing, None) == 0:
                pass
            for one in readers:
                self.foreign(one)
            found.append(sys.getrefcount(self.ner))
            del readers
            self.ner.map_arrow(Source([TEXT]))
            found.append(sys.getrefcount(self.ner))

        other = threading.Thread(target=many)
        other.start()
        other.join()
        self.assertEqual(found, [count + 50, count])

    def test_memory_is_flat(self) -> None:
        model, options = self.ner, {"keep": ["id"]}

        def work(n: int) -> None:
            for i in range(n):
                results = model.map_arrow(Source([TEXT, None], ["to Goa"]), **options)
                results.__arrow_c_schema__()
                reader = Reader(results, gil=i % 2 == 0)
                reader.names()
                if i % 3:
                    reader.rows()
                if i % 5 == 0:
                    reader.release()
                for wrong in (lambda: model.map_arrow(Source([TEXT]), column="txt"), lambda: model.map_arrow(5), results.__arrow_c_stream__):
                    try:
                        wrong()
                    except (TypeError, ValueError):
                        pass

        watched = (model, options, TEXT, True, ef.ArrowStream, ef.Model, errors.InputError)
        check_flat(self, work, watched, (rounds(100, 1000), rounds(300, 20000)))


class Ends(unittest.TestCase):
    """Python ends, or a child is forked, while results are there."""

    HEAD = f"""
            import sys, threading, time
            sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
            import encoderfile_c as ef
            from test_arrow import NER, TEXT, Reader, Source
            model = ef.Model(NER, threads=2)
    """
    CASES: ClassVar[dict[str, str]] = {
        "unread": "results = model.map_arrow(Source([TEXT]))",
        "halfway": "reader = Reader(model.map_arrow(Source([TEXT] * 100, [TEXT]))); reader.next()",
        "a capsule": "capsule = model.map_arrow(Source([TEXT])).__arrow_c_stream__(); del model",
        "in a module": "import json; json.results = model.map_arrow(Source([TEXT])); json.reader = Reader(json.results); json.reader.next()",
        "a cycle": "a = [model.map_arrow(Source([TEXT]))]; a.append(a); del model",
        "daemons": """
            def work():
                while True: Reader(model.map_arrow(Source([TEXT] * 200)), gil=True).rows(); Reader(model.map_arrow(Source([TEXT] * 200))).rows()
            for _ in range(3): threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
        """,
        "released late": """
            import ctypes
            reader = Reader(model.map_arrow(Source([TEXT]))); reader.next()
            libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
            libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(reader.stream.release), ctypes.c_void_p(reader.address))
            libc.pthread_join(thread, None)
        """,
    }

    def test_python_ends(self) -> None:
        import textwrap

        for name, code in self.CASES.items():
            with self.subTest(name):
                done = python(textwrap.dedent(self.HEAD) + textwrap.dedent(code))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("Fatal", done.stderr)

    def test_fork(self) -> None:
        import textwrap

        done = python(textwrap.dedent(self.HEAD) + textwrap.dedent("""
            import os
            reader = Reader(model.map_arrow(Source([TEXT], [TEXT]))); reader.drop(reader.next())
            pid = os.fork()
            if pid == 0:
                code = 1
                try: model.map_arrow(Source([TEXT]))
                except ef.UnavailableError: code = 2
                try: reader.next()
                except OSError as error: code += "process" in str(error)
                os._exit(code)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), reader.rows())
        """))
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "3 1"), done.stderr)

    def test_nothing_else_is_imported(self) -> None:
        import textwrap

        done = python(textwrap.dedent(self.HEAD) + "print(Reader(model.map_arrow(Source([TEXT]))).rows(), 'pyarrow' in sys.modules)")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "1 False"), done.stderr)


def has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
class Pyarrow(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        import pyarrow

        cls.pa = pyarrow
        cls.ner = ef.Model(NER, threads=1)
        cls.table = pyarrow.table({"id": [1, 2, 3], "text": [TEXT, None, "to Goa"]})

    def test_tables_and_readers(self) -> None:
        pa = self.pa
        wanted = [[one["text"] for one in found] if found else None for found in pa.table(self.ner.map_arrow(self.table))["entities"].to_pylist()]
        self.assertEqual(wanted, [["AC", "sleeper", "Bangalore", "Mumbai"], None, ["Goa"]])
        for data in (self.table, self.table.to_reader(1), self.table.to_batches()[0],
                     self.table.cast(pa.schema([("id", pa.int64()), ("text", pa.large_utf8())])),
                     self.table.cast(pa.schema([("id", pa.int64()), ("text", pa.string_view())]))):
            results = self.ner.map_arrow(data, keep=["id"])
            self.assertEqual(pa.schema(results).names, ["id", "entities", "error"])
            reader = pa.RecordBatchReader.from_stream(results)
            found = reader.read_all()
            found.validate(full=True)
            self.assertEqual(found["id"].to_pylist(), [1, 2, 3])
            self.assertEqual([[one["text"] for one in row] if row else None for row in found["entities"].to_pylist()], wanted)
            self.assertIn("null", found["error"].to_pylist()[1])
            with self.assertRaises(errors.InputError):
                pa.table(results)

    def test_pairs(self) -> None:
        texts, others = ["is it big?", "who", "where"], ["very big", None, "in Goa"]
        table = self.pa.table({"text": texts, "other": self.pa.array(others, self.pa.string_view())})
        with ef.Model(LABELS) as model:
            found = self.pa.table(model.map_arrow(table, column2="other"))["score"].to_pylist()
            wanted = [max(model.predict([(a, b) if b else a])["results"][0]["scores"]) for a, b in zip(texts, others)]
            alone = self.pa.table(model.map_arrow(table))["score"].to_pylist()
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
            self.assertEqual([a == b for a, b in zip(found, alone)], [False, True, False])
            with self.assertRaisesRegex(errors.InputError, "found no column \"others\": did you mean \"other\""):
                self.pa.table(model.map_arrow(table, column2="others"))

    def command(self, model: str, table: Any, *flags: str) -> Any:
        """What `map` makes of the table."""
        if not os.path.exists(PROGRAM):
            self.skipTest("no build/encoderfile to compare with")
        with tempfile.TemporaryDirectory() as folder:
            source, found = os.path.join(folder, "in.arrow"), os.path.join(folder, "found.arrow")
            with self.pa.OSFile(source, "wb") as file, self.pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
            done = subprocess.run([PROGRAM, "map", "-m", model, source, "-o", found, "--errors", "keep", "--threads", "1", *flags], capture_output=True, text=True)
            self.assertTrue(os.path.exists(found), done.stderr)
            return self.pa.ipc.open_file(found).read_all().replace_schema_metadata(None)

    def check_as_command(self, model: str, table: Any, wrong: int, *flags: str, **options: Any) -> None:
        """map_arrow answers like `map`, also where the batch is a slice of a larger one."""
        pa = self.pa
        wanted = self.command(model, table, *flags)
        self.assertEqual((wanted.num_rows, wanted["error"].null_count), (table.num_rows, table.num_rows - wrong), wanted["error"].to_pylist())
        with ef.Model(model, threads=1) as opened:
            found = pa.table(opened.map_arrow(table, **options))
            found.validate(full=True)
            self.assertEqual((found.column_names, found.to_pylist()), (wanted.column_names, wanted.to_pylist()))
            large = pa.concat_tables([table.slice(1), table, table]).combine_chunks().to_batches()[0]
            batch = large.slice(table.num_rows - 1, table.num_rows)
            self.assertEqual(pa.table(opened.map_arrow(batch, **options)).to_pylist(), wanted.to_pylist())

    def test_texts_of_any_column_as_the_command(self) -> None:
        pa = self.pa
        texts = ["bus to Goa", None, "AC sleeper to Mumbai", ""]
        for column in (pa.array(texts), pa.array(texts).dictionary_encode(), pa.array([one and one.encode() for one in texts], pa.large_binary()),
                       pa.nulls(4)):
            with self.subTest(str(column.type)):
                self.check_as_command(NER, pa.table({"text": column, "odd": pa.array([1, 2, 3, 4], pa.duration("s"))}), 4 if column.type == pa.null() else 2)
        lists: list[Any] = [["is it big?", "very big"], None, ["who", "in Goa"]]
        for kind in (pa.list_(pa.string()), pa.large_list(pa.string_view()), pa.list_(pa.string(), 2)):
            with self.subTest(str(kind)):
                self.check_as_command(LABELS, pa.table({"text": pa.array(lists, kind)}), 1)
        pairs = pa.table({"text": ["is it big?", "who", "where"], "text_pair": ["very big", None, "in Goa"]})
        self.check_as_command(LABELS, pairs, 0)
        self.check_as_command(LABELS, pairs.rename_columns(["text", "other"]), 0, "--column2", "other", column2="other")

    def test_questions_and_choices_as_the_command(self) -> None:
        pa = self.pa
        asked = pa.table({"context": ["Ada was here", "Goa is there", None], "id": [1, 2, 3], "question": ["Who?", "Where?", "When?"]})
        self.check_as_command(golden("question_answering", "bert"), asked, 1)
        self.check_as_command(golden("question_answering", "bert"), asked, 1, "--top-k", "2", top_k=2)
        rows = [row for row in golden_rows("multiple_choice", "choices.jsonl") if row["model"] == "bert"]
        choices: list[Any] = [row["choices"] for row in rows]
        choices[0] = None
        for kind in (pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.dictionary(pa.int8(), pa.string()))):
            with self.subTest(str(kind)):
                self.check_as_command(golden("multiple_choice", "bert"), pa.table({"prompt": [row["prompt"] for row in rows], "choices": pa.array(choices, kind)}), 1)
        with ef.Model(golden("multiple_choice", "bert")) as model:
            with self.assertRaisesRegex(errors.InputError, 'found no column "choices"'):
                model.map_arrow(asked.rename_columns(["prompt", "id", "x"]))
            with self.assertRaisesRegex(ValueError, "column: found a model whose records have keys of their own"):
                model.map_arrow(asked, column="context")

    def test_pages_as_the_command(self) -> None:
        pa = self.pa
        rows = golden_rows("documents", "pages.jsonl")[:2]
        path = golden("documents", "invoice.png")
        with open(path, "rb") as file:
            image = file.read()
        boxes = pa.array([row["boxes"] for row in rows], pa.list_(pa.list_(pa.int32(), 4)))
        page = pa.table({"words": [row["words"] for row in rows], "boxes": boxes, "question": ["What is the total?", None], "image": [image, image]})
        self.check_as_command(golden("documents", "layoutlm_qa"), page, 1)
        self.check_as_command(golden("documents", "layoutlmv3_qa"), page, 1)
        self.check_as_command(golden("documents", "layoutlmv3_tags"), page.drop(["question"]), 0)
        self.check_as_command(golden("documents", "layoutlmv3_class"), page.drop(["image"]).append_column("path", [[path, path + ".gone"]]), 1)
        struct = pa.array([{"bytes": image, "path": None}, {"bytes": None, "path": path}], pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
        self.check_as_command(golden("documents", "layoutlmv3_tags"), page.drop(["question"]).set_column(2, "image", struct), 0)

    def test_pictures_and_sounds_as_the_command(self) -> None:
        pa = self.pa
        struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        picture, sound = golden("images", "cmyk.jpg"), golden("sounds", "speech.flac")
        cases: list[tuple[str, str, list[str]]] = [
            (picture, "image", [golden("pictures", name) for name in ("vit", "segformer", "yolos", "vit_vectors")]),
            (sound, "audio", [golden("speech", name) for name in ("ctc", "wav2vec2", "vectors")]),
        ]
        for path, key, models in cases:
            with open(path, "rb") as file:
                data = file.read()
            paths, files, dicts = [path, None, path + ".gone"], [data, data[:20], data], [{"bytes": data, "path": "x"}, {"bytes": None, "path": path}, None]
            for model in models:
                with self.subTest(model):
                    self.check_as_command(model, pa.table({"path": paths}), 2)
                    self.check_as_command(model, pa.table({"file": paths}), 2, "--column", "file", column="file")
                    self.check_as_command(model, pa.table({key: files}), 1)
                    self.check_as_command(model, pa.table({key: pa.array(files, pa.binary_view())}), 1)
                    self.check_as_command(model, pa.table({key: pa.array(dicts, struct)}), 1)
                    self.check_as_command(model, pa.table({"x": pa.array(dicts, struct)}), 1, "--column", "x", column="x")
        samples = [0.5 * math.sin(i / 7) for i in range(4000)]
        for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 4000), pa.list_(pa.float16())):
            values = pa.array([samples, None, samples[::-1]], pa.list_(pa.float32())).cast(kind)
            with self.subTest(str(kind)):
                self.check_as_command(golden("speech", "ctc"), pa.table({"array": values, "sampling_rate": [16000, 16000, 8000]}), 1)
        inside = pa.array([{"array": samples, "sampling_rate": 16000, "path": None}, None], pa.struct([("array", pa.list_(pa.float64())), ("path", pa.string()), ("sampling_rate", pa.int64())]))
        self.check_as_command(golden("speech", "ctc"), pa.table({"audio": inside}), 1)

    def test_kept_columns_of_any_type(self) -> None:
        pa = self.pa
        kept = pa.table({
            "text": ["to Goa", "bus"], "words": pa.array(["a", "b"]).dictionary_encode(), "lists": [[1, 2], None], "maps": [{"a": 1}, {"a": None}],
            "when": pa.array([1, None], pa.timestamp("us", "UTC")), "views": pa.array(["x" * 30, None], pa.string_view()),
        }).replace_schema_metadata({"whole": "table"})
        kept = kept.set_column(3, pa.field("maps", kept["maps"].type, metadata={"a key": "a value"}), kept["maps"])
        found = pa.table(self.ner.map_arrow(kept, keep="all"))
        found.validate(full=True)
        for name in kept.column_names:
            with self.subTest(name):
                self.assertTrue(found[name].equals(kept[name]))
                self.assertTrue(found.schema.field(name).equals(kept.schema.field(name), check_metadata=True))
        address = kept["views"].chunk(0).buffers()[1].address
        self.assertEqual(found["views"].chunk(0).buffers()[1].address, address, "a copy was made")

    def test_a_generator_that_raises(self) -> None:
        def batches() -> Any:
            yield self.table.to_batches()[0]
            raise KeyError("row 7")

        reader = self.pa.RecordBatchReader.from_stream(self.ner.map_arrow(self.pa.RecordBatchReader.from_batches(self.table.schema, batches())))
        self.assertEqual(reader.read_next_batch().num_rows, 3)
        with self.assertRaisesRegex(self.pa.ArrowException, "row 7"):
            reader.read_next_batch()

    def test_as_it_is_asked_for(self) -> None:
        asked: list[int] = []

        def batches() -> Any:
            for i in range(3):
                asked.append(i)
                yield self.table.to_batches()[0]

        reader = self.pa.RecordBatchReader.from_stream(self.ner.map_arrow(self.pa.RecordBatchReader.from_batches(self.table.schema, batches())))
        self.assertEqual(asked, [])
        reader.read_next_batch()
        self.assertEqual(asked, [0])
        self.assertEqual((reader.read_all().num_rows, asked), (6, [0, 1, 2]))

    def test_threads_of_python_behind_and_before_it(self) -> None:
        """The input waits for a thread of Python's, and several read."""
        import queue

        wrong: list[Any] = []

        def work() -> None:
            pipe: queue.Queue[Any] = queue.Queue(1)
            threading.Thread(target=lambda: [pipe.put(one) for one in [*self.table.to_batches(1), None]]).start()
            reader = self.pa.RecordBatchReader.from_batches(self.table.schema, iter(pipe.get, None))
            found = self.pa.table(self.ner.map_arrow(reader, keep=["id"]))
            if found["id"].to_pylist() != [1, 2, 3]:
                wrong.append(found)

        for _ in range(rounds(5, 100)):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        self.assertEqual(wrong, [])

    @unittest.skipUnless(has("polars"), "Polars is not installed")
    def test_polars(self) -> None:
        import polars as pl

        frame = pl.DataFrame({"id": [1, 2, 3], "text": [TEXT, None, "to Goa"]})
        found = pl.DataFrame(self.ner.map_arrow(frame, keep=["id"]))
        self.assertEqual(found["id"].to_list(), [1, 2, 3])
        self.assertEqual([None if row is None else len(row) for row in found["entities"].to_list()], [4, None, 1])
        if hasattr(pl, "scan_arrow_c_stream"):
            lazy = pl.scan_arrow_c_stream(self.ner.map_arrow(frame, keep=["id"]))
            self.assertEqual(lazy.filter(pl.col("error").is_null()).select("id").collect()["id"].to_list(), [1, 3])

    @unittest.skipUnless(has("duckdb"), "DuckDB is not installed")
    def test_duckdb(self) -> None:
        import duckdb

        con = duckdb.connect()
        second = con.cursor()
        query = "select i as id, 'bus to Goa' as text from range(5000) t(i)"
        found = self.ner.map_arrow(con.sql(query), keep=["id"])
        self.assertEqual(second.sql("select count(*), sum(id), sum(len(entities)) from found").fetchall(), [(5000, 12497500, 5000)])
        with self.assertRaisesRegex(Exception, "read once"):
            second.sql("select count(*) from found").fetchall()
        found = self.ner.map_arrow(self.table, keep="all")
        self.assertEqual(con.sql("select id, text from found where error is null order by id desc").fetchall(), [(3, "to Goa"), (1, TEXT)])
        found = self.ner.map_arrow(self.table, keep="all")
        con.register("rows_found", found)
        self.assertEqual(con.sql("select count(*) from rows_found").fetchall(), [(3,)])


if __name__ == "__main__":
    unittest.main()
