# SPDX-License-Identifier: Apache-2.0
"""The extension module: what goes in and out, what is refused and how, threads, fork, signals, memory. EF_LONG=1: the long forms."""
from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import encoderfile_c as ef
from encoderfile_c import _core, errors

ROOT = Path(__file__).resolve().parents[2]
NER = str(ROOT / "examples" / "bus-ner")
SIGNS = str(ROOT / "examples" / "road-signs")
VECTORS = str(ROOT / "tests" / "golden" / "sentence" / "mean")
TEXT = "AC sleeper bus from Bangalore to Mumbai"
LONG = bool(os.environ.get("EF_LONG"))
SLOW = bool(os.environ.get("EF_SLOW"))  # a sanitizer or an emulator: fewer rounds


def rounds(short: int, long: int) -> int:
    return long if LONG else short // 10 + 1 if SLOW else short


def python(code: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter; what it prints and how it ends."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout, cwd=ROOT)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_flat(test: unittest.TestCase, call: Callable[[int], None], watched: Sequence[Any], times: tuple[int, int]) -> None:
    """After call(times[0]), call(times[1]) leaves neither references to what is watched nor memory. From Python 3.12 on None and True
    are immortal: Python itself no longer counts their references, an extension for the stable ABI of 3.11 still does."""
    if sys.version_info >= (3, 12):
        watched = [one for one in watched if one is not None and one is not True]
    call(times[0])
    gc.collect()
    counts, blocks, before = [sys.getrefcount(one) for one in watched], sys.getallocatedblocks(), resident()
    call(times[1])
    gc.collect()
    for one, count in zip(watched, counts):
        test.assertLess(abs(sys.getrefcount(one) - count), 50, f"references to {one!r:.60}")
    test.assertLess(sys.getallocatedblocks() - blocks, 500)
    if not SLOW:
        test.assertLess(resident() - before, 8 << 20)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.ner = ef.Model(NER, threads=1)
        cls.vectors = ef.Model(VECTORS, threads=1)

    def test_predict_and_run(self) -> None:
        found = self.ner.run("ner", TEXT, {"aggregation_strategy": "simple"})
        self.assertEqual([one["word"] for one in found], ["ac", "sleeper", "bangalore", "mumbai"])
        self.assertEqual(len(self.ner.predict([TEXT, "to Goa"])["results"]), 2)
        self.assertEqual(self.ner.info()["task"], "token_classification")
        self.assertEqual(self.ner.run(None, TEXT), self.ner.run("ner", [TEXT]))

    def test_vectors_are_those_of_predict(self) -> None:
        texts = ["the cat", "a dog sat", "x"]
        tensor = self.vectors.vectors(texts)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.nbytes, len(tensor)), ((3, 16), "float32", 192, 3))
        wanted = [one["embedding"] for one in self.vectors.predict(texts)["results"]]
        np.testing.assert_allclose(tensor.numpy(), wanted, atol=1e-6)
        self.assertEqual(self.vectors.vectors([]).shape, (0, 16))
        array = tensor.numpy()
        address = array.__array_interface__["data"][0]
        self.assertEqual(np.asarray(tensor).__array_interface__["data"][0], address, "a copy was made")
        array[0, 0] = 7  # one's own memory
        del tensor
        gc.collect()
        self.assertEqual(array[0, 0], 7)

    def test_graph(self) -> None:
        graph = ef.Graph(NER)
        feeds = {name: tensor for name, tensor in self.ner.prepare([TEXT]).items()}
        out = graph.run(feeds)["logits"]
        np.testing.assert_allclose(out.numpy()[0], self.ner.tensors(TEXT)[0].numpy(), atol=1e-5)
        self.assertEqual([one["name"] for one in graph.outputs], ["logits"])
        self.assertEqual(graph.inputs[0], {"name": "input_ids", "dtype": "int64", "shape": ["batch_size", "sequence_length"]})
        self.assertEqual(list(graph.run(feeds, ["logits"])), ["logits"])
        memory = out.numpy()
        graph.close()
        del graph, out
        gc.collect()
        self.assertTrue(np.isfinite(memory).all())

    def test_pictures(self) -> None:
        model = ef.Model(SIGNS, threads=1)
        file = next((Path(SIGNS) / "pictures").glob("*.png"))
        by_file = model.run(None, {"image": file.read_bytes()})
        self.assertEqual(by_file[0].keys(), {"label", "score"})
        pixels = np.zeros((20, 30, 3), dtype=np.uint8)
        self.assertEqual(len(model.predict([{"image": pixels}, {"image": pixels[:, :, 0].copy()}])["results"]), 2)
        for wrong in (pixels.astype(np.float32), pixels[:, ::2], np.zeros((2, 2, 2, 3), np.uint8), np.zeros((0, 3, 3), np.uint8), "x.png", 5):
            with self.subTest(type(wrong)), self.assertRaises((TypeError, ValueError)):
                model.predict({"image": wrong})

    def test_tokenizer(self) -> None:
        tokenizer = self.ner.tokenizer
        assert tokenizer is not None
        one = tokenizer.encode(TEXT)
        self.assertEqual(one.tokens[:3], ["[CLS]", "ac", "sleeper"])
        self.assertEqual((one.offsets[1], one.word_ids[:2], len(one)), ((0, 2), [None, 0], len(one.ids)))
        self.assertEqual(tokenizer.decode(one.ids, True), TEXT.lower())
        self.assertEqual(tokenizer.decode(np.array(one.ids), True), TEXT.lower())
        self.assertEqual(tokenizer.token_to_id("bus"), tokenizer.encode("bus", special=False).ids[0])
        self.assertEqual((tokenizer.id_to_token(0), tokenizer.id_to_token(10**9), tokenizer.token_to_id("nosuch")), ("[PAD]", None, None))
        arrays = tokenizer.arrays(["a bus", "b"], pad=True)
        self.assertEqual(arrays["attention_mask"].tolist(), [[1, 1, 1, 1], [1, 1, 1, 0]])
        with self.assertRaises(ValueError):
            tokenizer.arrays(["a bus", "b"])
        self.assertEqual(len(tokenizer), tokenizer.describe()["vocab_size"])

    def test_results_outlive_what_made_them(self) -> None:
        tokenizer, model = ef.Tokenizer(NER), ef.Model(NER)
        one, borrowed = tokenizer.encode(TEXT * 5, max_length=6, overflow=True), model.tokenizer
        parts, tensors = one.overflowing, model.prepare(TEXT)
        tokens, ids = one.tokens, tensors["input_ids"].tolist()
        tokenizer.close()
        model.close()
        del tokenizer, model
        gc.collect()
        self.assertEqual((one.tokens, tensors["input_ids"].tolist()), (tokens, ids))
        del one
        gc.collect()
        self.assertEqual(len(parts[-1].tokens), len(parts[-1].ids))
        self.assertTrue(borrowed.closed)

    def test_wrong_inputs(self) -> None:
        model = self.ner
        wrong: list[tuple[Any, type[Exception]]] = [
            (lambda: model.predict(5), TypeError), (lambda: model.predict(None), TypeError), (lambda: model.predict([None]), TypeError),
            (lambda: model.predict(b"x"), TypeError), (lambda: model.predict(""), ValueError), (lambda: model.predict(("a", "b", "c")), ValueError),
            (lambda: model.predict(("a", 5)), TypeError), (lambda: model.predict({}), ValueError), (lambda: model.predict({"foo": 1}), ValueError),
            (lambda: model.predict({"text": "a", "foo": 1}), ValueError), (lambda: model.predict({"text": 5}), TypeError),
            (lambda: model.predict({"image": b"no picture"}), ValueError), (lambda: model.predict({"audio": b"no sound"}), ValueError),
            (lambda: model.predict({"audio": np.zeros(5, np.float64)}), ValueError), (lambda: model.predict({"audio": np.zeros(5, np.float32)}), ValueError),
            (lambda: model.predict({"words": ["a"], "boxes": [[1, 2, 3]]}), ValueError), (lambda: model.predict({"words": ["a"], "boxes": [[1, 2, 3, "x"]]}), TypeError),
            (lambda: model.predict({"words": ["a"], "boxes": []}), ValueError), (lambda: model.predict({"words": "abc"}), TypeError),
            (lambda: model.predict({"words": ["a"], "boxes": [[0, 0, 2**40, 5]]}), ValueError),
            (lambda: model.predict("a\ud800"), errors.InputError), (lambda: model.predict(TEXT, 5), TypeError),
            (lambda: model.predict(TEXT, {"offsets": object()}), TypeError), (lambda: model.predict(TEXT, {"offsets": "foo"}), ValueError),
            (lambda: model.predict(), TypeError), (lambda: model.predict(TEXT, foo=1), TypeError), (lambda: model.run("foo", TEXT), ValueError),
            (lambda: model.run(5, TEXT), TypeError), (lambda: model.vectors(TEXT), ValueError), (lambda: ef.Model(None), TypeError),
            (lambda: ef.Model(5), TypeError), (lambda: ef.Model(), TypeError), (lambda: ef.Model(NER, foo=1), TypeError),
            (lambda: ef.Model(NER, threads="x"), TypeError), (lambda: ef.Model(NER, precision="foo"), ValueError),
            (lambda: ef.Model(NER, kernels="foo"), ValueError), (lambda: ef.Model("/no/such"), FileNotFoundError),
            (lambda: ef.Model(__file__), ValueError), (lambda: ef.Model("a\0b"), ValueError), (lambda: ef.Model.from_bytes(b"abc"), ValueError),
            (lambda: ef.Model.from_bytes("abc"), TypeError), (lambda: ef.Tokenizer("/no/such"), FileNotFoundError),
            (lambda: ef.Tokenizer(5), TypeError), (lambda: ef.Graph("/no/such"), FileNotFoundError), (lambda: ef.Tensor(), TypeError),
            (lambda: ef.Encoding(), TypeError), (lambda: ef.export("/no/such", "/tmp/x"), FileNotFoundError), (lambda: ef.export(NER), TypeError),
            (lambda: ef.inspect(NER, {"foo": 1}), ValueError), (lambda: ef.inspect(NER, 5), TypeError),
            (lambda: model.tokenizer.encode("a", cut="foo"), ValueError), (lambda: model.tokenizer.encode("a", max_length="x"), TypeError),
            (lambda: model.tokenizer.decode([-1]), ValueError), (lambda: model.tokenizer.decode(["a"]), TypeError),
            (lambda: model.tokenizer.decode(5), TypeError), (lambda: model.tokenizer.decode([2**70]), errors.InputError),
            (lambda: model.tokenizer.token_to_id(5), TypeError), (lambda: model.tokenizer.id_to_token("a"), TypeError),
            (lambda: ef.set_log(5), TypeError),
        ]
        for i, (call, kind) in enumerate(wrong):
            with self.subTest(i):
                with self.assertRaises(kind) as caught:
                    call()
                if isinstance(caught.exception, errors.EncoderfileError):
                    self.assertIs(errors.CLASSES[caught.exception.code], type(caught.exception))

    def test_errors_are_of_the_documented_classes(self) -> None:
        """InputError, also where Python itself found something wrong, and words that name what."""
        model, graph, signs = self.ner, ef.Graph(NER), ef.Model(SIGNS)
        ids = np.ones((2, 4), np.int64)
        good = {"input_ids": ids, "attention_mask": ids, "token_type_ids": ids * 0}
        ring: dict[str, Any] = {}
        ring["offsets"] = ring
        wrong: list[tuple[Any, str]] = [
            (lambda: model.predict("a\ud800"), "input 0: .*surrogates not allowed"), (lambda: model.predict(["a", ("b", "\udfff")]), "input 1: .*surrogates"),
            (lambda: model.predict(("a",)), "input 0: found a tuple of 1"), (lambda: model.predict({}), "input 0: found a dict without"),
            (lambda: model.predict({"text": "a", "foo": 1}), 'input 0: found the key \'foo\' beside "text"'),
            (lambda: model.predict({"words": ["a"], "boxes": [[1, 2, 3]]}), "a box of 3 numbers"),
            (lambda: model.predict({"words": ["a"], "boxes": [[0, 0, 2**40, 5]]}), "a box: found 1099511627776, wanted 0 to 1000"),
            (lambda: model.predict({"words": ["a"], "boxes": [[0, 0, 2**70, 5]]}), "a box: found a number of more than 64 bits"),
            (lambda: model.predict({"words": ["a"], "boxes": []}), "found 0 boxes, wanted 1"),
            (lambda: model.predict({"audio": np.zeros(9, np.float32)}), "found samples without a \"sampling_rate\""),
            (lambda: model.predict({"audio": np.zeros(9, np.float32), "sampling_rate": 0}), "sampling_rate: found 0"),
            (lambda: model.predict({"audio": np.zeros(9, np.float32), "sampling_rate": 2**40}), "sampling_rate: found 1099511627776"),
            (lambda: model.predict({"audio": np.zeros((2, 3, 4), np.float32), "sampling_rate": 8000}), r"array of float32 \[2, 3, 4\]"),
            (lambda: model.predict(TEXT, ring), "params: Circular reference"), (lambda: model.predict(TEXT, {"foo": 1}), 'unknown option "foo", wanted those of'),
            (lambda: model.predict(TEXT, {1: 2}), 'unknown option "1"'), (lambda: model.predict(TEXT, {"pooling": "cls"}), 'unknown option "pooling"'),
            (lambda: model.prepare(TEXT, {"foo": 1}), 'unknown option "foo"'),
            (lambda: model.run("n\0r", TEXT), "task: found 'n.x00r'"), (lambda: model.run("\ud800", TEXT), "task: .*surrogates"),
            (lambda: signs.predict({"image": np.zeros((4, 5, 2), np.uint8)}), r"array of uint8 \[4, 5, 2\], wanted"),
            (lambda: signs.predict({"image": np.zeros((0, 0, 3), np.uint8)}), r"array of uint8 \[0, 0, 3\], wanted"),
            (lambda: signs.predict({"image": np.zeros((4, 5, 3), np.float32)}), r"array of float32 \[4, 5, 3\], wanted"),
            (lambda: signs.predict({"image": np.zeros((4, 5, 3), np.uint8)[::2]}), "input 0: found an array that is not contiguous"),
            (lambda: signs.predict({"image": b"II*\0 and so on"}), "found TIFF, wanted JPEG, .* open it with Pillow and pass the Image"),
            (lambda: graph.run({**good, "input_ids": np.ones((2, 8), np.int64)[:, ::2]}), "input_ids: found an array that is not contiguous"),
            (lambda: graph.run({**good, "input_ids": np.array(["2020-01-01"], "M8[D]")}), "input_ids: cannot include dtype 'M'"),
            (lambda: graph.run({**good, "\ud800": ids}), "the name of an input: .*surrogates"),
            (lambda: ef.Model("a\0b"), "path: embedded null"), (lambda: ef.Graph("a\0b"), "path: embedded null"), (lambda: ef.Model("\ud800"), "path: .*surrogates"),
            (lambda: ef.Model(NER, task="a\0b"), "task: embedded null"), (lambda: ef.inspect("a\0b"), "model: embedded null"),
            (lambda: ef.export(NER, "a\0b"), "out: embedded null"), (lambda: ef.Model(NER, threads=-1), "threads: found -1, wanted 1 to 4096"),
            (lambda: ef.Model(NER, threads=10**9), "threads: found 1000000000"), (lambda: ef.Model(NER, threads=2**40), "threads: found 1099511627776"),
            (lambda: ef.Model(NER, threads=2**70), "threads: found a number of more than 64 bits"), (lambda: ef.Graph(NER, threads=-5), "threads: found -5"),
            (lambda: ef.Model(NER, replicas=-1), "replicas: found -1"),
        ]
        for i, (call, words) in enumerate(wrong):
            with self.subTest(i):
                with self.assertRaisesRegex(errors.EncoderfileError, words) as caught:
                    call()
                self.assertIsInstance(caught.exception, errors.InputError)
                self.assertIs(errors.CLASSES[caught.exception.code], errors.InputError)
        for name, call in (("threads", lambda: ef.Model(NER, threads=1.5)), ("model", lambda: ef.validate(5)), ("task", lambda: model.run(5, TEXT)),  # type: ignore[arg-type]
                           ("sampling_rate", lambda: model.predict({"audio": np.zeros(9, np.float32), "sampling_rate": "8"}))):
            with self.assertRaisesRegex(TypeError, f"{name}: found <class"):
                call()

    def test_pictures_with_planes(self) -> None:
        """torch's order of axes: one channel after the other."""
        model = ef.Model(SIGNS)
        rng = np.random.default_rng(5)
        for channels in (1, 3):
            picture = rng.integers(0, 256, (40, 50, channels), dtype=np.uint8)
            planes = np.ascontiguousarray(picture.transpose(2, 0, 1))
            self.assertEqual(model.predict({"image": planes}), model.predict({"image": picture}))

    def test_wrong_tensors(self) -> None:
        graph = ef.Graph(NER)
        ids = np.ones((2, 4), np.int64)
        good = {"input_ids": ids, "attention_mask": ids, "token_type_ids": np.zeros_like(ids)}
        graph.run(good)
        wrong: list[tuple[Any, type[Exception]]] = [
            ({}, ValueError), ({**good, "input_ids": [[1]]}, TypeError), ({**good, "input_ids": ids.astype(str)}, TypeError),
            ({**good, "input_ids": ids.astype(">i8")}, TypeError), ({**good, "input_ids": ids.astype(np.complex64)}, TypeError),
            ({**good, "input_ids": np.ones((2, 8), np.int64)[:, ::2]}, ValueError), ({**good, "input_ids": ids[0]}, ValueError),
            ({**good, "input_ids": np.ones((3, 4), np.int64)}, ValueError), ({**good, "input_ids": np.array(5)}, ValueError),
            ({**good, "input_ids": ids * 10**6}, ValueError), ({**good, "input_ids": -ids * 10**6}, ValueError),
            ({**good, "foo": ids}, ValueError), ({**good, 5: ids}, TypeError), ({**good, "input_ids": np.asfortranarray(np.ones((2, 4), np.int64))}, ValueError),
            (None, TypeError), ({**good, "input_ids": None}, TypeError),
        ]
        for i, (feeds, kind) in enumerate(wrong):
            with self.subTest(i), self.assertRaises(kind):
                graph.run(feeds)
        for texts in (np.array([["a", "b"]]), np.array([["a", "b"]], dtype=object), np.array([[b"a"]])):
            with self.subTest(texts.dtype), self.assertRaisesRegex(TypeError, "input_ids: found strings or objects, wanted numbers"):
                graph.run({**good, "input_ids": texts})
        for outputs, kind in (("logits", TypeError), (["foo"], (ValueError, FileNotFoundError)), ([5], TypeError)):
            with self.subTest(outputs), self.assertRaises(kind):
                graph.run(good, outputs)
        graph.close()
        with self.assertRaises(ValueError):
            graph.run(good)

    def test_closed(self) -> None:
        with ef.Model(NER) as model:
            tokenizer = model.tokenizer
        assert tokenizer is not None
        model.close()
        self.assertTrue(model.closed and tokenizer.closed)
        for call in (lambda: model.predict(TEXT), lambda: model.info(), lambda: model.tokenizer, lambda: tokenizer.encode("a"),
                     lambda: len(tokenizer), lambda: tokenizer.describe(), lambda: model.vectors("a"), lambda: model.prepare("a")):
            with self.assertRaises(errors.InputError):
                call()

    def test_from_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as made:
            program = Path(os.environ.get("EF_PROGRAM", ROOT / "build" / "encoderfile"))
            if not program.is_file():
                self.skipTest("no build/encoderfile to make a package of")
            out = os.path.join(made, "ner.encoderfile")
            _core.build(NER, out, {"base-binary-path": program})
            self.assertEqual(ef.Model(out).predict(TEXT)["results"], self.ner.predict(TEXT)["results"])
            data = Path(out).read_bytes()
            model = ef.Model.from_bytes(data)
            del data
            gc.collect()
            self.assertEqual(model.predict(TEXT)["results"], self.ner.predict(TEXT)["results"])


class Tools(unittest.TestCase):
    def test_round(self) -> None:
        with tempfile.TemporaryDirectory() as made:
            seen: list[tuple[str, int, int]] = []
            out = Path(made) / "onnx"
            report = ef.export(Path(NER), out, {"task": "ner"}, lambda *at: seen.append(at))
            self.assertTrue((out / "model.onnx").is_file())
            self.assertIsInstance(report, dict)
            self.assertTrue(seen, "no progress was told")
            self.assertTrue(ef.verify(out)["ok"])
            self.assertTrue(ef.validate(out)["compatible"])
            self.assertIn("model_config", ef.inspect(NER))
            self.assertIsInstance(ef.metadata(out / "model.onnx"), dict)
            self.assertIsInstance(ef.analyze(out / "model.onnx"), dict)
            self.explored(out)
            self.assertIsInstance(ef.quantize(out, None, {"no-report": True}), dict)
            self.assertTrue((out / "model_quantized.onnx").is_file())
            with self.assertRaises(errors.EncoderfileError):
                _core.build(NER, os.path.join(made, "x"))  # no program is named, and Python is none

    def explored(self, out: Path) -> None:
        """A model beside itself, and alone at another length; what is wrong is said."""
        found = ef.explore(out, out / "model.onnx", {"length": 24})
        self.assertEqual((found["format"], len(found["models"])), ("encoderfile-explore-1", 2))
        self.assertEqual(found["models"][0]["nodes"], ef.explore(out, options={"length": 24})["models"][0]["nodes"])
        for call, kind in ((lambda: ef.explore("/no/such"), FileNotFoundError), (lambda: ef.explore(out, None, {"foo": 1}), ValueError),
                           (lambda: ef.explore(out, 5), TypeError)):
            with self.assertRaises(kind):
                call()

    def test_progress_can_raise_and_cancel(self) -> None:
        def raising(*_: Any) -> None:
            raise KeyError("mine")

        with tempfile.TemporaryDirectory() as made:
            with self.assertRaisesRegex(KeyError, "mine"):
                ef.export(NER, os.path.join(made, "a"), None, raising)
            with self.assertRaises(errors.CancelledError):
                ef.export(NER, os.path.join(made, "b"), None, lambda *_: False)
            self.assertEqual(os.listdir(made), [])
            kept = os.path.join(made, "kept")
            os.mkdir(kept)
            with self.assertRaises(errors.CancelledError):
                ef.export(NER, os.path.join(kept, "d", "e"), None, lambda *_: False)
            self.assertEqual(os.listdir(kept), [])  # what was there stays
            with self.assertRaises(errors.CancelledError):
                ef.export(NER, kept, None, lambda *_: False)
            self.assertEqual(os.listdir(made), ["kept"])
            ef.export(NER, os.path.join(made, "c"))

    def test_log(self) -> None:
        lines: list[tuple[int, str]] = []
        ef.set_log(lambda level, text: lines.append((level, text)))
        try:
            ef.Model(NER).predict(TEXT)
        finally:
            ef.set_log(None)
        for level, text in lines:
            self.assertIsInstance(text, str)
            self.assertIn(level, range(4))


class Hard(unittest.TestCase):
    def test_threads(self) -> None:
        model = ef.Model(VECTORS, threads=2)
        tokenizer = model.tokenizer
        assert tokenizer is not None
        wanted, told = model.vectors(["the cat"]).tolist(), model.predict("the cat")
        wrong: list[Any] = []

        def work(seed: int) -> None:
            for i in range(rounds(300, 10000)):
                if (model.vectors(["the cat"]).tolist() != wanted or model.predict("the cat") != told
                        or tokenizer.encode("the cat").ids[0] != 2):
                    wrong.append((seed, i))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])

    def test_close_while_others_call(self) -> None:
        for _ in range(rounds(10, 100)):
            model = ef.Model(NER, threads=2)
            ended: list[str] = []

            def work() -> None:
                try:
                    while True:
                        model.predict([TEXT] * 20)
                except errors.InputError as error:
                    ended.append(str(error))

            threads = [threading.Thread(target=work) for _ in range(4)]
            for one in threads:
                one.start()
            model.predict(TEXT)
            model.close()
            for one in threads:
                one.join()
            self.assertEqual(ended, ["the model is closed"] * 4)

    def test_memory_is_flat(self) -> None:
        model = ef.Model(VECTORS, threads=1)
        graph = ef.Graph(NER, threads=1)
        ids = np.ones((1, 4), np.int64)
        feeds = {"input_ids": ids, "attention_mask": ids, "token_type_ids": ids}
        params = {"normalize": True}
        text = "the cat sat"

        def call(n: int) -> None:
            for _ in range(n):
                model.predict(text, params)
                model.vectors([text, text]).numpy()
                graph.run(feeds)["logits"].tolist()
                model.tokenizer.encode([text, (text, text)], overflow=True, max_length=4)[0].overflowing  # type: ignore[union-attr]
                for wrong in (5, {"text": 5}, ""):
                    try:
                        model.predict(wrong)
                    except (TypeError, ValueError):
                        pass

        watched = (text, ids, params, model, graph, None, True, ef.Tensor, ef.Encoding, errors.InputError)
        check_flat(self, call, watched, (rounds(300, 5000), rounds(1500, 100000)))

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "a sanitizer does not follow a fork of a busy process: its locks stay held in the child")
    def test_fork(self) -> None:
        done = python(f"""
            import os, sys, threading, time
            import encoderfile_c as ef
            model = ef.Model({NER!r}); graph = ef.Graph({NER!r}); st = ef.SentenceTransformer({VECTORS!r}); busy = True
            wanted = st.encode("the cat").tolist(); tok = ef.Tokenizer({NER!r})
            def work():
                while busy: model.predict([{TEXT!r}] * 4)
            threads = [threading.Thread(target=work) for _ in range(3)]
            for one in threads: one.start()
            for _ in range({rounds(5, 40)}):
                pid = os.fork()
                if pid == 0:
                    code = 1
                    try:
                        model.predict("a")
                    except ef.UnavailableError as error:
                        code = 0 if "process" in str(error) else 2
                    try:
                        graph.run({{}})
                    except ef.UnavailableError:
                        pass
                    else:
                        code = 3
                    if tok.encode("bus").ids[0] != 2: code = 4
                    if st.encode("the cat").tolist() != wanted: code = 5
                    model.close()
                    os._exit(code)
                _, status = os.waitpid(pid, 0)
                if status: print("child:", status); os._exit(1)
            busy = False
            for one in threads: one.join()
            print(len(model.predict("a bus")["results"]))
        """, timeout=300)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "1"), done.stderr)

    def test_ctrl_c_ends_a_long_call(self) -> None:
        done = python(f"""
            import os, signal, threading, time
            import encoderfile_c as ef
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
            model = ef.Model({NER!r}, threads=1)
            texts = ["bus from Bangalore to Mumbai " * 30] * 4000
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                model.predict(texts, {{"extract": True}})
            except KeyboardInterrupt:
                print("interrupted", len(model.predict("a bus")["results"]))
        """, timeout=600)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "interrupted 1"), done.stderr)

    def test_shutdown_while_predicting(self) -> None:
        for how in ("", "sys.exit(3)", "import _thread; _thread.interrupt_main(); time.sleep(5)"):
            done = python(f"""
                import sys, threading, time
                import encoderfile_c as ef
                model = ef.Model({NER!r}); v = ef.Model({VECTORS!r})
                def work():
                    while True: model.predict([{TEXT!r}] * 50); v.vectors(["a"] * 10)
                for _ in range(4): threading.Thread(target=work, daemon=True).start()
                time.sleep(0.3)
                {how}
            """)
            self.assertIn(done.returncode, (0, 1, 3, -2, 130), done.stderr)
            self.assertNotIn("Fatal", done.stderr)

    def test_import_is_light(self) -> None:
        done = python(f"""
            import sys
            import encoderfile_c as ef
            m = ef.Model({VECTORS!r}); t = m.vectors(["a"]); t.tolist(); m.predict("a"); m.tokenizer.encode("a").ids
            print("numpy" in sys.modules, "torch" in sys.modules)
        """)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "False False"), done.stderr)

    def test_every_name_is_there(self) -> None:
        told = set(re.findall(r"import (\w+) as \1$", Path(ef.__file__).read_text(encoding="utf-8"), re.M))
        self.assertEqual(told, set(ef._NAMES))
        for name in ef.__all__:
            self.assertTrue(hasattr(ef, name), name)

    def test_free_threaded_python_is_named(self) -> None:
        for free, says in ((1, "free-threaded"), (0, "no module")):
            with mock.patch("sysconfig.get_config_var", return_value=free), mock.patch.object(ef, "importlib") as fake:
                fake.import_module.side_effect = ImportError("no module")
                with self.assertRaisesRegex(ImportError, says):
                    ef.__getattr__("Model")
        with self.assertRaises(AttributeError):
            ef.nosuchname


class Compat(unittest.TestCase):
    def test_install(self) -> None:
        done = python(f"""
            import sys
            import encoderfile_c.compat.sentence_transformers as compat
            compat.install(); compat.install()
            import sentence_transformers
            from sentence_transformers import SentenceTransformer, CrossEncoder, SparseEncoder, quantize_embeddings, util
            from sentence_transformers.models import StaticEmbedding
            from sentence_transformers.util import cos_sim
            import sentence_transformers.cross_encoder
            m = SentenceTransformer({VECTORS!r}, device="cpu", cache_folder=None)
            assert "sentence_transformers" in str(type(m)) and isinstance(m, SentenceTransformer)
            pool = m.start_multi_process_pool(); assert m.encode_multi_process(["a"], pool).shape == (1, 16)
            SentenceTransformer.stop_multi_process_pool(pool)
            compat.uninstall(); assert "sentence_transformers" not in sys.modules
            sys.modules["sentence_transformers"] = sys
            try: compat.install()
            except RuntimeError as error: print("refused")
        """)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "refused"), done.stderr)

    def test_names_stand_once(self) -> None:
        self.assertIn(ef.SentenceTransformer.__name__, dir(ef))
        self.assertEqual(len(dir(ef)), len(set(dir(ef))))

    def test_pickle(self) -> None:
        import pickle

        model = ef.SentenceTransformer(VECTORS)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.encode("a"), model.encode("a"))


if __name__ == "__main__":
    unittest.main()
