# SPDX-License-Identifier: Apache-2.0
"""The classes that are shaped like those of other packages, against what those answered: the same types, keys, order and nesting,
ids equal, numbers within 1e-4."""
from __future__ import annotations

import base64
import collections.abc
import copy
import enum
import importlib.util
import json
import os
import pathlib
import pickle
import shutil
import signal
import tempfile
import time
import types
import unittest
from typing import Any

import face_cases
import numpy as np

import encoderfile_c
import encoderfile_c.compat.sentence_transformers
import encoderfile_c.ort
import encoderfile_c.similarity
from encoderfile_c._arrays import has_torch
from encoderfile_c.errors import EncoderfileError

NEAR = 1e-4
STRICT = False  # a torch tensor is to be one here, too


def read(name: str) -> Any:
    with open(os.path.join(face_cases.GOLDEN, "python", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def array(told: dict[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(told["bytes"]), told["kept"]).reshape(told["shape"])


def difference(found: Any, wanted: Any, at: str = "") -> str | None:
    """Where they differ, in words; None: they do not. A torch tensor of the other package may be a numpy array here."""
    if isinstance(wanted, dict) and "raises" in wanted:
        raised = found.get("raises", []) if isinstance(found, dict) else []
        return None if wanted["raises"][0] in [*raised, *["Exception"] * bool(raised)] else f"{at}: found {found}, wanted {wanted}"
    if isinstance(wanted, dict) and isinstance(found, dict):
        if "array" in wanted:
            return different_arrays(found, wanted, at)
        if list(found) != list(wanted):
            return f"{at}: found {found}, wanted {wanted}"
        if "scalar" in wanted:
            same = found["scalar"] == wanted["scalar"] and abs(found["value"] - wanted["value"]) <= NEAR
            return None if same else f"{at}: found {found}, wanted {wanted}"
        kind = next(iter(wanted))
        ours, theirs = found[kind], wanted[kind]
        if len(ours) != len(theirs):
            return f"{at}: found {len(ours)} of them, wanted {len(theirs)}"
        if kind == "dict" and [key for key, _ in ours] != [key for key, _ in theirs]:
            return f"{at}: found keys {[key for key, _ in ours]}, wanted {[key for key, _ in theirs]}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            wrong = difference(a[1], b[1], f"{at}.{b[0]}") if kind == "dict" else difference(a, b, f"{at}[{i}]")
            if wrong:
                return wrong
        return None
    if isinstance(wanted, float) and isinstance(found, float):
        return None if abs(found - wanted) <= NEAR else f"{at}: found {found}, wanted {wanted}"
    return None if type(found) is type(wanted) and found == wanted else f"{at}: found {found}, wanted {wanted}"


def different_arrays(found: dict[str, Any], wanted: dict[str, Any], at: str) -> str | None:
    if found.get("array") != wanted["array"] or found.get("shape") != wanted["shape"]:
        return f"{at}: found {found.get('array', str(found)[:200])} {found.get('shape')}, wanted {wanted['array']} {wanted['shape']}"
    if STRICT and found.get("torch", False) != wanted.get("torch", False):
        return f"{at}: found torch {found.get('torch', False)}, wanted {wanted.get('torch', False)}"
    ours, theirs = array(found), array(wanted)
    if ours.dtype.kind in "f":
        far = float(np.abs(ours - theirs).max(initial=0))
        return None if far <= NEAR else f"{at}: they are {far} apart"
    off = int((ours != theirs).sum())
    # a code of int8 may fall on either side of a step
    return None if off == 0 or (ours.dtype.itemsize == 1 and np.abs(ours.astype(int) - theirs.astype(int)).max() <= 1 and off <= ours.size // 50) \
        else f"{at}: {off} of {ours.size} differ"


class Faces(unittest.TestCase):
    def check(self, file: str, groups: dict[str, dict[str, face_cases.Case]], classes: Any) -> None:
        golden = read(file)
        self.assertLessEqual(set(groups), set(golden))
        for group, cases in groups.items():
            for name, case in cases.items():
                with self.subTest(group=group, case=name):
                    found = json.loads(json.dumps(face_cases.answer(case, classes)))
                    wrong = difference(found, golden[group][name])
                    if wrong:
                        self.fail(wrong[:400])

    def test_sentence_transformers(self) -> None:
        classes = types.SimpleNamespace(SentenceTransformer=encoderfile_c.SentenceTransformer, CrossEncoder=encoderfile_c.CrossEncoder,
                                        SparseEncoder=encoderfile_c.SparseEncoder, quantize_embeddings=encoderfile_c.quantize_embeddings,
                                        util=encoderfile_c.similarity)
        self.check("st", face_cases.GROUPS, classes)

    def test_activation_of_a_package(self) -> None:
        """It keeps none: what is taken is said, but not where it was given."""
        with tempfile.TemporaryDirectory() as made:
            package = os.path.join(made, "one.encoderfile")
            encoderfile_c.build(os.path.join(face_cases.GOLDEN, face_cases.ONE), package)
            with self.assertLogs("encoderfile_c", "WARNING") as logs:
                found = encoderfile_c.CrossEncoder(package).predict(face_cases.PAIRS)
            self.assertRegex(logs.output[0], "does not keep the activation_fn .* Sigmoid")
            with self.assertNoLogs("encoderfile_c", "WARNING"):
                logits = encoderfile_c.CrossEncoder(package, activation_fn=lambda x: x).predict(face_cases.PAIRS)
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-logits)), atol=1e-6)

    def test_tokenizers_are_pickled(self) -> None:
        """For the workers of a data loader, and datasets.map; with the settings as they are now."""
        tokenizer = encoderfile_c.AutoTokenizer.from_pretrained(os.path.join(face_cases.EXAMPLES, "bus-ner"), truncation_side="left")
        tokenizer.pad_token, tokenizer.model_max_length = "[UNK]", 5
        for again in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
            options = {"padding": "max_length", "truncation": True}
            self.assertEqual(dict(again(face_cases.TEXTS, **options)), dict(tokenizer(face_cases.TEXTS, **options)))
            self.assertEqual((again.pad_token, again.vocab_size), ("[UNK]", tokenizer.vocab_size))
        batch = pickle.loads(pickle.dumps(tokenizer(["the cat", "a"], padding=True, return_tensors="np")))
        self.assertEqual(batch.input_ids.shape, batch["attention_mask"].shape)
        with self.assertRaisesRegex(ValueError, "comes from another process"):
            batch.word_ids()
        with self.assertRaisesRegex(TypeError, "of a Model that is open"):
            pickle.dumps(encoderfile_c.PreTrainedTokenizer(encoderfile_c.Model(os.path.join(face_cases.EXAMPLES, "bus-ner")).tokenizer))

    def test_settings_of_another_model(self) -> None:
        """What would change numbers, and is not done here, is named."""
        folder = os.path.join(face_cases.GOLDEN, face_cases.MODEL)
        for options, words in (({"config_kwargs": {"hidden_act": "relu"}}, "config_kwargs: found hidden_act='relu', wanted 'gelu'"),
                               ({"processor_kwargs": {"do_lower_case": 7}}, "processor_kwargs: found do_lower_case=7"),
                               ({"tokenizer_kwargs": {"foo": 1}}, "processor_kwargs: found foo=1, wanted None")):
            with self.assertRaisesRegex(encoderfile_c.UnsupportedError, words):
                encoderfile_c.SentenceTransformer(folder, **options)
        theirs = enum.Enum("SimilarityFunction", {"DOT": "dot"})
        model = encoderfile_c.SentenceTransformer(folder, similarity_fn_name=theirs.DOT)  # type: ignore[arg-type]
        self.assertEqual(model.similarity_fn_name, "dot")
        model.similarity_fn_name = None
        self.assertEqual(model.similarity_fn_name, "cosine")

    def test_column_of_a_dataset(self) -> None:
        """dataset["text"] is a batch: a class of the package datasets that is neither a list nor an array."""
        class Column(collections.abc.Sequence):  # type: ignore[type-arg]
            def __init__(self, rows: list[Any]) -> None:
                self.rows = rows

            def __getitem__(self, i: Any) -> Any:
                return self.rows[i]

            def __len__(self) -> int:
                return len(self.rows)

        Column.__module__ = "datasets.arrow_dataset"
        for model, folder in (("SentenceTransformer", face_cases.MODEL), ("SparseEncoder", face_cases.MASKS)):
            with self.subTest(model):
                encode = getattr(encoderfile_c, model)(os.path.join(face_cases.GOLDEN, folder)).encode
                self.assertEqual(encode(Column(face_cases.TEXTS)).tolist(), encode(face_cases.TEXTS).tolist())
        cross = encoderfile_c.CrossEncoder(os.path.join(face_cases.GOLDEN, face_cases.ONE))
        self.assertEqual(cross.predict(Column(face_cases.PAIRS)).tolist(), cross.predict(face_cases.PAIRS).tolist())

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_functions_of_torch(self) -> None:
        """Where a function of torch is given, its tensors are, and bfloat16 is a kind of number."""
        import torch

        pairs, folder = face_cases.PAIRS, os.path.join(face_cases.GOLDEN, face_cases.ONE)
        for classes in (encoderfile_c, encoderfile_c.compat.sentence_transformers):
            model = classes.CrossEncoder(folder)
            scores = model.predict(pairs)
            for function in (torch.sigmoid, lambda x: x.sigmoid(), lambda x: torch.sigmoid(x)):
                np.testing.assert_allclose(model.predict(pairs, activation_fn=function), scores, atol=1e-6)
        made = torch.tensor([[1.5, -2.0], [0.25, 4.0]], dtype=torch.bfloat16)
        self.assertEqual(encoderfile_c.quantize_embeddings(made, "ubinary").tolist(), [[128], [192]])
        self.assertEqual(encoderfile_c.SentenceTransformer(os.path.join(face_cases.GOLDEN, face_cases.MODEL)).similarity(made, made).shape, (2, 2))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_with_torch(self) -> None:
        """The classes that stand in for sentence_transformers give torch tensors where it does."""
        global STRICT
        from encoderfile_c.compat import sentence_transformers as compat

        classes = types.SimpleNamespace(SentenceTransformer=compat.SentenceTransformer, CrossEncoder=compat.CrossEncoder,
                                        SparseEncoder=compat.SparseEncoder)
        groups = {name: cases for name, cases in face_cases.GROUPS.items() if name not in ("quantize", "util")}
        STRICT = True
        try:
            self.check("st", groups, classes)
        finally:
            STRICT = False

    def test_tokenizers(self) -> None:
        self.check("tokenizers", face_cases.TOKENIZER_GROUPS, encoderfile_c)

    def test_tokenize(self) -> None:
        """What transformers 5.22 answers: of a list the tokens of its first text, and the errors of a call."""
        tokenizer = encoderfile_c.AutoTokenizer.from_pretrained("tests/golden/pipelines/labels")
        for given, wanted in (("a b", ["a", "b"]), (["a b", "c"], ["a", "b"]), ([["a", "b"]], ["a", "b"]), (("a", "b"), ["a"]), ("", []), ([""], [])):
            with self.subTest(given=given):
                self.assertEqual(tokenizer.tokenize(given), wanted)
        for given, kind in ((5, ValueError), ([5], ValueError), (None, ValueError), ([None], ValueError), ([], IndexError), ([[]], TypeError)):
            with self.subTest(given=given), self.assertRaises(kind):
                tokenizer.tokenize(given)
        self.assertEqual(tokenizer.tokenize("a", "b"), ["a", "b"])
        self.assertEqual(tokenizer.tokenize("a", add_special_tokens=True), ["[CLS]", "a", "[SEP]"])
        self.assertRaises(TypeError, tokenizer.tokenize, "a", ["b"])
        self.assertRaisesRegex(encoderfile_c.UnsupportedError, "split_special_tokens", tokenizer, "a", split_special_tokens=True)

    def test_tokens_that_are_not_in_the_vocabulary(self) -> None:
        """They are text all the same: of Unigram an unknown token is what stood there."""
        text = "Zoë 漢字 @ x"
        for name in ("xlm-roberta", "deberta-v2"):
            tokenizer = encoderfile_c.AutoTokenizer.from_pretrained("tests/golden/question_answering/" + name)
            self.assertIn(tokenizer.unk_token_id, tokenizer(text)["input_ids"])
            self.assertEqual(tokenizer.convert_tokens_to_string(tokenizer.tokenize(text)), text)
        bert = encoderfile_c.AutoTokenizer.from_pretrained("tests/golden/pipelines/labels")
        self.assertEqual(bert.convert_tokens_to_string(["zzz", "##qqq", "über"]), "zzzqqq über")
        with self.assertRaises(TypeError):
            bert.convert_tokens_to_string(["a", 5])

    def test_zero_bytes(self) -> None:
        """A text goes on behind them."""
        tokenizer = encoderfile_c.AutoTokenizer.from_pretrained("tests/golden/strides/roberta")
        ids = tokenizer("a\0b c\0")["input_ids"]
        self.assertEqual(tokenizer.convert_ids_to_tokens(ids), ["<s>", "a", "\u0100", "b", "\u0120c", "\u0100", "</s>"])
        self.assertEqual(tokenizer.decode(ids), "<s>a\0b c\0</s>")
        self.assertEqual(tokenizer.decode(ids, skip_special_tokens=True), "a\0b c\0")

    def test_a_tokenizer_is_saved(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = encoderfile_c.AutoTokenizer.from_pretrained("examples/bus-ner").save_pretrained(folder)
            self.assertLessEqual({"tokenizer.json", "tokenizer_config.json"}, {os.path.basename(path) for path in paths})
            again = encoderfile_c.AutoTokenizer.from_pretrained(folder)
            self.assertEqual(again("bus to Goa"), encoderfile_c.AutoTokenizer.from_pretrained("examples/bus-ner")("bus to Goa"))
            opened = encoderfile_c.tokenization.PreTrainedTokenizer(encoderfile_c.Tokenizer(folder))
            with self.assertRaisesRegex(encoderfile_c.UnsupportedError, "open already"):
                opened.save_pretrained(folder)

    def test_a_package_knows_its_prompts(self) -> None:
        """By name, the default one, and no prompt where encode_document finds none: as the folder that it is made of."""
        prompts = {"query": "query: ", "other": "the ", "document": ""}
        calls = (lambda m: m.encode(face_cases.TEXTS), lambda m: m.encode_query("the cat"), lambda m: m.encode_document("the cat"),
                 lambda m: m.encode("the cat", prompt_name="other"))
        for own in ({"default_prompt_name": "query"}, {}):
            with face_cases.changed(face_cases.MODEL, config_sentence_transformers={"prompts": prompts, **own}) as folder:
                encoderfile_c.build(folder, folder + ".encoderfile")
                theirs, ours = encoderfile_c.SentenceTransformer(folder), encoderfile_c.SentenceTransformer(folder + ".encoderfile")
                self.assertEqual((ours.prompts, ours.default_prompt_name), (prompts, own.get("default_prompt_name")))
                for call in (*calls, *(() if own else (lambda m: m.encode("the cat", prompt="a dog "),))):
                    np.testing.assert_allclose(call(ours), call(theirs), atol=1e-5)
                self.assertGreater(abs(ours.encode_query("the cat") - ours.encode_document("the cat")).max(), .01)

    def test_modules_that_nothing_here_can_run(self) -> None:
        """They are named, whatever files the folder lacks beside them."""
        for kind, usual in (("StaticEmbedding", False), ("Router", False), ("LayerNorm", True), ("WordWeights", True)):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as made:
                rows = [{"type": "sentence_transformers.models.Transformer", "path": ""}, {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
                if usual:
                    shutil.copytree("tests/golden/sentence/mean", made, dirs_exist_ok=True)
                rows = [*(rows if usual else []), {"type": "sentence_transformers.models." + kind, "path": "2_" + kind}]
                pathlib.Path(made, "modules.json").write_text(json.dumps(rows))
                with self.assertRaisesRegex(encoderfile_c.UnsupportedError, f"modules.json: found sentence_transformers.models.{kind}, wanted Transformer"):
                    encoderfile_c.SentenceTransformer(made).encode("the cat")

    def test_ctrl_c_ends_many_texts(self) -> None:
        """Within the call, not behind it."""
        class Ended(Exception):
            pass

        def end(*_: Any) -> None:
            raise Ended

        tokenizer = encoderfile_c.AutoTokenizer.from_pretrained(os.path.join(face_cases.EXAMPLES, "bus-ner"))
        texts = ["bus from Bangalore to Mumbai " * 20] * 8000
        begun = time.monotonic()
        tokenizer.backend.encode(texts)
        whole = time.monotonic() - begun
        before = signal.signal(signal.SIGALRM, end)
        try:
            begun = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, whole / 10)
            with self.assertRaises(Ended):
                tokenizer.backend.encode(texts)
            self.assertLess(time.monotonic() - begun, 0.1 + whole / 2)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(tokenizer("bus to Goa")["input_ids"], tokenizer.encode("bus to Goa"))

    def test_optimum(self) -> None:
        classes = types.SimpleNamespace(**{name: getattr(encoderfile_c, name) for name in dir(encoderfile_c) if name.startswith("ORT")},
                                        onnx_folder=face_cases.tokenizer_path)
        self.check("ort", face_cases.ORT_GROUPS, classes)

    def test_pictures_and_saving(self) -> None:
        signs = os.path.join(face_cases.EXAMPLES, "road-signs")
        core = encoderfile_c.Model(signs, threads=1)
        pixels = np.random.default_rng(1).integers(0, 255, (40, 30, 3), np.uint8)
        given = core.prepare({"image": pixels})["pixel_values"].numpy()
        model = encoderfile_c.ORTModelForImageClassification.from_pretrained(signs)
        out = model(given)
        self.assertEqual((type(out).__name__, list(out)), ("ImageClassifierOutput", ["logits"]))
        np.testing.assert_allclose(out.logits[0], core.tensors({"image": pixels})[0].numpy().reshape(-1), atol=1e-4)
        with tempfile.TemporaryDirectory() as made:
            model.save_pretrained(made)
            self.assertEqual(sorted(os.listdir(made)), ["config.json", "model.onnx"])
            again = encoderfile_c.ORTModelForImageClassification.from_pretrained(made, file_name="model.onnx")
            np.testing.assert_allclose(again(pixel_values=given).logits, out.logits, atol=1e-5)
            self.assertEqual(again.config.id2label, model.config.id2label)

    def test_saving_what_was_exported(self) -> None:
        labels = os.path.join(face_cases.GOLDEN, "pipelines", "labels")
        ids = np.array([[2, 5, 6, 3]])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        with tempfile.TemporaryDirectory() as made:
            encoderfile_c.export(labels, os.path.join(made, "exported"))
            os.makedirs(os.path.join(made, "hub", "onnx"))
            shutil.copy(os.path.join(made, "exported", "model.onnx"), os.path.join(made, "hub", "onnx", "model.onnx"))
            shutil.copy(os.path.join(made, "exported", "config.json"), os.path.join(made, "hub", "config.json"))
            wanted = encoderfile_c.ORTModelForSequenceClassification.from_pretrained(labels)(**feeds).logits
            for name, path in (("exported", "exported/model.onnx"), ("hub", "hub/onnx/model.onnx"), ("exported/model.onnx", "exported/model.onnx")):
                with self.subTest(of=name):
                    model = encoderfile_c.ORTModelForSequenceClassification.from_pretrained(os.path.join(made, name))
                    self.assertEqual((str(model.path), model.model_name), (os.path.join(made, path), "model.onnx"))
                    saved = os.path.join(made, "saved", name.replace("/", "-"))
                    model.save_pretrained(saved)
                    model.save_pretrained(saved)
                    self.assertEqual(sorted(os.listdir(saved)), ["config.json", "model.onnx"])
                    again = encoderfile_c.ORTModelForSequenceClassification.from_pretrained(saved)
                    np.testing.assert_array_equal(again(**feeds).logits, wanted)
                    self.assertEqual(again.config.to_dict(), model.config.to_dict())

    def test_saving_external_data(self) -> None:
        """Weights beside the file go with it: those that it names, inside of its folder."""
        with tempfile.TemporaryDirectory() as made:
            folder, long = pathlib.Path(made), "w" * 200
            (folder / "in/deep").mkdir(parents=True)
            names = ("model.onnx_data", "deep/more.bin", long, "../outside", "absent")
            entries = [b"\n\x08location\x12" + (bytes([len(name)]) if len(name) < 128 else bytes([len(name) & 127 | 128, len(name) >> 7])) + name.encode()
                       for name in names]
            for name in ("in/model.onnx_data", "in/deep/more.bin", "in/" + long, "in/other.bin", "outside"):
                (folder / name).write_bytes(name.encode())
            (folder / "in/model.onnx").write_bytes(b"".join(entries) + b"\n\x08location\x12")
            encoderfile_c.ort._copy_onnx(folder / "in/model.onnx", folder / "out")
            found = sorted(path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*") if path.is_file())
            self.assertEqual(found, ["deep/more.bin", "model.onnx", "model.onnx_data", long])

    def test_inputs_that_may_be_missing(self) -> None:
        """optimum-onnx 0.1.0: token_type_ids are zeros, the mask of a text beside pictures ones, and nothing else is made up."""
        ids = np.array([[2, 5, 6, 3]])
        mask = np.ones_like(ids)
        tagger = encoderfile_c.ORTModelForTokenClassification.from_pretrained(os.path.join(face_cases.EXAMPLES, "bus-ner"))
        full = tagger(ids, mask, np.zeros_like(ids)).logits
        np.testing.assert_array_equal(tagger(ids, mask).logits, full)
        np.testing.assert_array_equal(tagger(input_ids=ids, attention_mask=mask, token_type_ids=None).logits, full)
        for given in ({"input_ids": ids}, {"attention_mask": mask}, {}):
            with self.subTest(given=list(given)), self.assertRaises(ValueError):
                tagger(**given)
        with self.assertRaises(ValueError):
            encoderfile_c.ORTModelForCustomTasks.from_pretrained(os.path.join(face_cases.EXAMPLES, "bus-ner"))(input_ids=ids, attention_mask=mask)
        clip = encoderfile_c.ORTModelForZeroShotImageClassification.from_pretrained(os.path.join(face_cases.GOLDEN, "pairs", "clip"))
        pixels = np.random.default_rng(1).standard_normal((1, 3, 24, 24)).astype(np.float32)
        np.testing.assert_array_equal(clip(ids, pixels).logits_per_image, clip(ids, pixels, mask).logits_per_image)

    def test_attributes(self) -> None:
        """Those of a model and of its answers in optimum-onnx 0.1.0."""
        labels = os.path.join(face_cases.GOLDEN, "pipelines", "labels")
        with tempfile.TemporaryDirectory() as made:
            encoderfile_c.export(labels, made)
            config = json.loads(pathlib.Path(made, "config.json").read_text())
            model = encoderfile_c.ORTModelForSequenceClassification.from_pretrained(made)
            names = list(model.input_names)
            self.assertEqual(model.input_shapes, {name: ["batch_size", "sequence_length"] for name in names})
            self.assertEqual(model.input_dtypes, dict.fromkeys(names, "tensor(int64)"))
            self.assertEqual((model.output_shapes, model.output_dtypes), ({"logits": ["batch_size", 3]}, {"logits": "tensor(float)"}))
            self.assertEqual((model.provider, model.provider_options, model.preprocessors, model.model_type),
                             ("CPUExecutionProvider", {"CPUExecutionProvider": {}}, [], "onnx_model"))
            self.assertEqual((str(model.dtype), str(model.device)), ("torch.float32" if has_torch() else "float32", "cpu"))
            feeds = {name: np.array([[1, 1, 1]]) for name in names}
            out = model(**feeds)
            self.assertEqual((out.loss, out.hidden_states, out.attentions, list(out)), (None, None, None, ["logits"]))
            for wrong in ("pooler_output", "start_logits"):
                self.assertFalse(hasattr(out, wrong))
            with self.assertRaises(KeyError):
                out["loss"]
            self.assertEqual([one.name for one in model.session.get_inputs()], names)
            np.testing.assert_array_equal(model.session.run(["logits"], feeds)[0], out.logits)
            for name in ("id2label", "label2id"):
                config.pop(name, None)
            for count, wanted in ((None, 2), (3, 3)):
                pathlib.Path(made, "config.json").write_text(json.dumps(config if count is None else {**config, "num_labels": count}))
                bare = encoderfile_c.ORTModelForSequenceClassification.from_pretrained(made).config
                self.assertEqual((bare.num_labels, bare.id2label), (wanted, {i: f"LABEL_{i}" for i in range(wanted)}))
                self.assertEqual(bare.label2id, {f"LABEL_{i}": i for i in range(wanted)})

    def test_fixed_shapes(self) -> None:
        tokenizer = encoderfile_c.ONNXTokenizer(os.path.join(face_cases.EXAMPLES, "bus-ner"), batch_size=2, sequence_length=8)
        found = tokenizer(["a bus", "to Goa", "AC sleeper bus from Bangalore to Mumbai tomorrow"])
        self.assertEqual({name: (one.shape, one.dtype.name) for name, one in found.items()},
                         {name: ((4, 8), "int64") for name in ("input_ids", "token_type_ids", "attention_mask")})
        self.assertEqual([len(part["input_ids"]) for part in tokenizer.chunks(["a"] * 5)], [2, 2, 2])
        self.assertEqual(tokenizer("a bus")["attention_mask"].tolist(), [[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]])

    def test_arguments_by_place(self) -> None:
        """batch_size and what follows it, as encode takes them."""
        model = encoderfile_c.SentenceTransformer(os.path.join(face_cases.GOLDEN, "sentence", "mean"), prompts={"query": "q: ", "document": "d: "})
        sparse = encoderfile_c.SparseEncoder(os.path.join(face_cases.GOLDEN, "pipelines", "masks"))
        for name in ("encode_query", "encode_document"):
            with self.subTest(name):
                np.testing.assert_array_equal(getattr(model, name)(["a"], None, None, 2, False), getattr(model, name)(["a"]))
                self.assertEqual(getattr(sparse, name)("a", None, None, 2, False, True, False).shape, sparse.encode("a").shape)

    def test_odd_arguments_of_tokenizers(self) -> None:
        tokenizer = encoderfile_c.AutoTokenizer.from_pretrained(os.path.join(face_cases.GOLDEN, "sentence", "mean"))
        for call in (tokenizer.decode, tokenizer.batch_decode):
            for wrong in ("the cat", ["the", "cat"]):
                with self.subTest(wrong), self.assertRaisesRegex(TypeError, "wanted ids"):
                    call(wrong)
        cut = tokenizer("the cat sat", truncation=True, max_length=3)["input_ids"]
        for true in (1, np.bool_(True)):
            self.assertEqual(tokenizer("the cat sat", truncation=true, max_length=3)["input_ids"], cut)

    def test_scores_of_the_stand_in(self) -> None:
        """util's functions give torch tensors of arrays, too, where torch is installed."""
        from encoderfile_c.compat import sentence_transformers as compat

        a, b = face_cases.rows(3, 4, 1), face_cases.rows(3, 4, 2)
        for name in compat._SCORES:
            with self.subTest(name):
                found = compat.MODULES["util"][name](a, b)
                np.testing.assert_array_equal(np.asarray(found), getattr(encoderfile_c.similarity, name)(a, b))
                self.assertEqual(type(found).__module__.partition(".")[0], "torch" if has_torch() else "numpy")

    def test_a_length_that_the_tokenizer_was_given(self) -> None:
        """It is the model's, too, as in sentence-transformers; the last one that was set counts."""
        path = os.path.join(face_cases.GOLDEN, "sentence", "mean")
        for kind, call, given in ((encoderfile_c.SentenceTransformer, "encode", face_cases.TEXTS), (encoderfile_c.CrossEncoder, "predict", face_cases.PAIRS)):
            with self.subTest(kind.__name__):
                short, model = (kind(os.path.join(face_cases.GOLDEN, "pipelines", "one") if call == "predict" else path) for _ in range(2))
                short.max_seq_length, model.tokenizer.model_max_length = 6, 6
                self.assertEqual(model.max_seq_length, 6)
                for one in (model, pickle.loads(pickle.dumps(model))):
                    np.testing.assert_array_equal(getattr(one, call)(given), getattr(short, call)(given))
                model.max_seq_length = 9
                self.assertEqual((model.max_seq_length, model.tokenizer.model_max_length), (9, 9))
                self.assertFalse(np.array_equal(getattr(model, call)(given), getattr(short, call)(given)))

    def test_what_is_printed_of_a_model(self) -> None:
        model = encoderfile_c.SentenceTransformer(os.path.join(face_cases.GOLDEN, "sentence", "mean"))
        self.assertRegex(repr(model), r"^SentenceTransformer\(\n  \(0\): Transformer\(.*\)\n  \(1\): Pooling\(.*\)\n\)$")

    def test_encode_of_a_subclass(self) -> None:
        """encode_query calls it by names, as in sentence-transformers."""
        class Unit(encoderfile_c.SentenceTransformer):
            def encode(self, inputs: Any, **options: Any) -> Any:  # type: ignore[override]
                return super().encode(inputs, **{**options, "normalize_embeddings": True})

        model = Unit(os.path.join(face_cases.GOLDEN, "sentence", "mean"))
        for vector in (model.encode_query("a"), model.encode_document("a", None, None, 1, False)):
            self.assertAlmostEqual(float(np.linalg.norm(vector)), 1, places=5)
        with self.assertRaisesRegex(TypeError, "wanted at most 11"):
            model.encode_query("a", None, None, *[None] * 12)

    def test_older_calls_of_cross_encoders(self) -> None:
        path = os.path.join(face_cases.GOLDEN, "pipelines", "one")
        model = encoderfile_c.CrossEncoder(path, 1, 12, None, "cpu")
        self.assertEqual((model.num_labels, model.max_length), (1, 12))
        with self.assertRaisesRegex(ValueError, "config_kwargs: found num_hidden_layers=99"):
            encoderfile_c.CrossEncoder(path, config_args={"num_hidden_layers": 99})
        one = model.predict(("a query", "an answer"))
        self.assertEqual(model.predict(np.array(["a query", "an answer"])), one)
        self.assertEqual(model.predict(np.array([["a query", "an answer"]], dtype=object)[0]), one)
        wanted = model.rank("a query", ["an answer", "a dog"])
        self.assertEqual(model.rank("a query", ["an answer", "a dog"], apply_softmax=True, num_workers=0, convert_to_tensor=False), wanted)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'topk'"):
            model.rank("a query", ["an answer"], topk=1)

    def test_only_the_cpu(self) -> None:
        path = os.path.join(face_cases.GOLDEN, "sentence", "mean")
        model = encoderfile_c.SentenceTransformer(path, device="cpu")
        cross = encoderfile_c.CrossEncoder(os.path.join(face_cases.GOLDEN, "pipelines", "one"))
        sparse = encoderfile_c.SparseEncoder(os.path.join(face_cases.GOLDEN, "pipelines", "masks"))
        for device in (None, "cpu", "cpu:0", ["cpu", "cpu"], []):
            self.assertEqual(model.encode("a", device=device).shape, (16,))
        graph = encoderfile_c.ort.ORTModelForFeatureExtraction.from_pretrained(path)
        self.assertIs(graph.to("cpu"), graph)
        refused = {"graph": lambda: graph.to("cuda"), "open": lambda: encoderfile_c.SentenceTransformer(path, device="cuda"), "encode": lambda: model.encode("a", device="cuda:0"),
                   "one of two": lambda: model.encode(["a"], device=["cpu", "cuda"]), "pool": lambda: model.start_multi_process_pool(["cuda:0"]),
                   "to": lambda: model.to("mps"), "to device": lambda: model.to(device="cuda"), "number": lambda: model.to(0),
                   "cuda": lambda: model.cuda(), "predict": lambda: cross.predict(("a", "b"), device="cuda"),
                   "rank": lambda: cross.rank("a", ["b"], device="cuda"), "sparse": lambda: sparse.encode("a", device="cuda")}
        for name, call in refused.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, "runs on CPUs only"):
                call()

    def test_what_is_not_there_says_so(self) -> None:
        path = os.path.join(face_cases.GOLDEN, "sentence", "mean")
        model = encoderfile_c.SentenceTransformer(path)
        for call in (model.train, model.requires_grad_):
            with self.assertRaisesRegex(ValueError, "does not train"):
                call()
        with self.assertRaisesRegex(AttributeError, "auto_model"):
            model[0].auto_model
        with self.assertRaisesRegex(ValueError, "inside the model's own"):
            model.save(os.path.join(path, "inside"))
        with self.assertRaisesRegex(ValueError, "pooling"):
            encoderfile_c.SentenceTransformer(os.path.join(face_cases.GOLDEN, "pipelines", "vectors"), model_kwargs={"pooling": "cls"}).save("/tmp/x")
        with tempfile.TemporaryDirectory() as made:
            package = os.path.join(made, "mean.encoderfile")
            encoderfile_c.build(path, package)
            packed = encoderfile_c.SentenceTransformer(package)
            self.assertIsNone(packed.config)
            np.testing.assert_allclose(packed.encode("the cat"), model.encode("the cat"), atol=1e-5)
            with self.assertRaisesRegex(ValueError, "needs the model's folder"):
                packed.save(os.path.join(made, "saved"))

    def test_files_of_a_saved_model(self) -> None:
        path = os.path.join(face_cases.GOLDEN, "sentence", "mean")
        model = encoderfile_c.SentenceTransformer(path)
        with tempfile.TemporaryDirectory() as made:
            model.save_pretrained(made)
            self.assertEqual(sorted(os.listdir(made)), sorted(os.listdir(path)))
            model.prompts["mine"] = "the "
            model.save(made)
            first = encoderfile_c.SentenceTransformer(made)
            first.max_seq_length = 5
            first.save(made)                                        # onto itself
            again = encoderfile_c.SentenceTransformer(made)
            self.assertEqual((again.prompts["mine"], again.max_seq_length), ("the ", 5))
            pickled = pickle.loads(pickle.dumps(again))
            self.assertTrue(np.array_equal(pickled.encode("a cat"), again.encode("a cat")))

    def test_errors_are_documented_ones(self) -> None:
        with self.assertRaises(EncoderfileError) as caught:
            encoderfile_c.SentenceTransformer("/no/such/folder")
        self.assertIsInstance(caught.exception, FileNotFoundError)


if __name__ == "__main__":
    unittest.main()
