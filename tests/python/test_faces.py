# SPDX-License-Identifier: Apache-2.0
"""The classes that are shaped like those of other packages, against what those answered: the same types, keys, order and nesting,
ids equal, numbers within 1e-4."""
from __future__ import annotations

import base64
import importlib.util
import json
import os
import tempfile
import types
import unittest
from typing import Any

import face_cases
import numpy as np

import encoderfile_c
import encoderfile_c.similarity
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

    def test_fixed_shapes(self) -> None:
        tokenizer = encoderfile_c.ONNXTokenizer(os.path.join(face_cases.EXAMPLES, "bus-ner"), batch_size=2, sequence_length=8)
        found = tokenizer(["a bus", "to Goa", "AC sleeper bus from Bangalore to Mumbai tomorrow"])
        self.assertEqual({name: (one.shape, one.dtype.name) for name, one in found.items()},
                         {name: ((4, 8), "int64") for name in ("input_ids", "token_type_ids", "attention_mask")})
        self.assertEqual([len(part["input_ids"]) for part in tokenizer.chunks(["a"] * 5)], [2, 2, 2])
        self.assertEqual(tokenizer("a bus")["attention_mask"].tolist(), [[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0]])

    def test_errors_are_documented_ones(self) -> None:
        with self.assertRaises(EncoderfileError) as caught:
            encoderfile_c.SentenceTransformer("/no/such/folder")
        self.assertIsInstance(caught.exception, FileNotFoundError)


if __name__ == "__main__":
    unittest.main()
