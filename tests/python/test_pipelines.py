# SPDX-License-Identifier: Apache-2.0
"""pipeline(): every case that transformers' own pipelines wrote for the C tests, through Python; the types and the errors of
tools/oracle/python_calls.py; and what only Python can say."""
import base64
import copy
import io
import json
import pathlib
import pickle
import shutil
import tempfile
import threading
import types
import unittest
import warnings

import numpy as np

import encoderfile_c
from encoderfile_c import pipeline
from encoderfile_c._arrays import has_torch
from encoderfile_c.pipelines import PipelineIterator

try:
    from PIL import Image
except ImportError:
    Image = None

GOLDEN = pathlib.Path("tests/golden")
PICTURES, SOUNDS = GOLDEN / "images", GOLDEN / "sounds"
_opened = {}


def opened(task, model, **more):
    key = (task, str(model), json.dumps(more))
    if key not in _opened:
        _opened[key] = pipeline(task, model, **more)
    return _opened[key]


def tearDownModule():
    for pipe in _opened.values():
        pipe.close()


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def near(found, wanted, places=1e-3):
    """Equal, with numbers about the same, whatever their types."""
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return isinstance(found, (int, float, np.floating)) and abs(float(found) - wanted) <= max(places, 1e-4 * abs(wanted))
    if isinstance(wanted, list):
        return isinstance(found, (list, tuple)) and len(found) == len(wanted) and all(near(a, b, places) for a, b in zip(found, wanted))
    if isinstance(wanted, dict):
        return isinstance(found, dict) and list(found) == list(wanted) and all(near(found[key], wanted[key], places) for key in wanted)
    return found == wanted


def typed(x):
    """As tools/oracle/python_calls.py writes results."""
    if isinstance(x, np.float32):
        return {"float32": float(x)}
    if isinstance(x, np.float64):
        return {"float64": float(x)}
    if isinstance(x, tuple):
        return {"tuple": [typed(v) for v in x]}
    if isinstance(x, dict):
        return {key: typed(value) for key, value in x.items()}
    return [typed(v) for v in x] if isinstance(x, list) else x


class Golden(unittest.TestCase):
    """What transformers returned for the same call."""

    def check(self, found, wanted, places=1e-3):
        self.assertTrue(near(found, wanted, places), f"found {str(found)[:400]}, wanted {str(wanted)[:400]}")

    def test_texts(self):
        for case in lines(GOLDEN / "pipelines/cases_4.jsonl") + lines(GOLDEN / "pipelines/cases_5.jsonl"):
            with self.subTest(task=case["task"], inputs=case["inputs"], parameters=case["parameters"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pipe = opened(case["task"], GOLDEN / "pipelines" / case["model"])
                found = pipe(**case["parameters"]) if case["inputs"] is None else pipe(case["inputs"], **case["parameters"])
                self.check(found, case["result"])

    def test_pictures(self):
        for case in json.loads((GOLDEN / "pictures/cases.json").read_text()):
            with self.subTest(case=case["case"], picture=case["picture"], params=case["params"]):
                pipe = opened(None, GOLDEN / "pictures" / case["case"])
                found = pipe(str(PICTURES / case["picture"]), **case["params"])
                if pipe.task == "image-segmentation":
                    self.segments(found, case["result"])
                else:
                    self.check(found, case["result"])

    def test_features_of_pictures(self):
        """Maps whole; of ViT the class token's (the other rows: python/calls.jsonl)."""
        for case in json.loads((GOLDEN / "pictures/resnet_hidden/cases.json").read_text()):
            with self.subTest(case=case["case"], picture=case["picture"]):
                self.check(opened("image-feature-extraction", GOLDEN / "pictures/resnet_hidden")(str(PICTURES / case["picture"])), case["result"], 1e-4)
        for case in json.loads((GOLDEN / "pictures/cases.json").read_text()):
            if case["case"] == "vit_hidden":
                with self.subTest(case=case["case"], picture=case["picture"]):
                    found = opened("image-feature-extraction", GOLDEN / "pictures/vit_hidden")(str(PICTURES / case["picture"]))
                    self.assertEqual(np.asarray(found).shape, (1, 10, 16))
                    self.check(found[0][0], case["result"], 1e-4)
        with self.assertRaisesRegex(ValueError, "No pooled output was returned"):
            opened("image-feature-extraction", GOLDEN / "pictures/vit_hidden")(str(PICTURES / case["picture"]), pool=True)

    def segments(self, found, wanted):
        self.assertEqual([(row["label"], row["score"]) for row in found], [(row["label"], row["score"]) for row in wanted])
        for row, golden in zip(found, wanted):
            if Image is None:
                self.assertEqual(row["mask"][:8], b"\x89PNG\r\n\x1a\n")
                continue
            self.assertEqual((row["mask"].mode, list(row["mask"].size)), ("L", golden["size"]))
            pixels, value = [], 0
            for run in golden["runs"]:  # of 0 and 255 in turn
                pixels += [value] * run
                value = 255 - value
            self.assertLessEqual(np.count_nonzero(np.asarray(row["mask"]).reshape(-1) != np.asarray(pixels)), 1)

    def test_pictures_with_texts(self):
        for case in json.loads((GOLDEN / "pairs/cases.json").read_text()):
            with self.subTest(case=case["case"], picture=case["picture"], params=case["params"]):
                pipe = opened("zero-shot-image-classification", GOLDEN / "pairs" / case["case"])
                self.check(pipe(str(PICTURES / case["picture"]), **case["params"]), case["result"])
        with self.assertRaises(TypeError):
            pipe(str(PICTURES / case["picture"]))
        with self.assertRaises(IndexError):
            pipe(str(PICTURES / case["picture"]), candidate_labels=[])
        self.assertEqual({row["label"] for row in pipe(str(PICTURES / case["picture"]), candidate_labels="ab")}, {"a", "b"})

    def test_sounds(self):
        for case in json.loads((GOLDEN / "speech/cases.json").read_text()):
            if isinstance(case["result"], dict) and "mean" in case["result"]:
                case["result"] = case["result"]["mean"]
            lower = case["case"] == "ctc_lower"  # another tokenizer of ctc
            with self.subTest(case=case["case"], sound=case["sound"], params=case["params"]):
                folder = GOLDEN / "speech" / ("ctc" if lower else case["case"])
                pipe = opened(case["task"], folder, **({"tokenizer": str(GOLDEN / "speech/ctc_lower")} if lower else {}))
                found = pipe(str(SOUNDS / case["sound"]), **case["params"])
                self.check(found, case["result"])
                self.check(pipe((SOUNDS / case["sound"]).read_bytes(), **case["params"]), case["result"])

    def test_pages(self):
        pages = {page["page"]: page for page in lines(GOLDEN / "documents/pages.jsonl")}
        for case in lines(GOLDEN / "documents/cases.jsonl"):
            page = pages[case["page"]]
            if not case["model"].endswith("_qa"):
                continue
            with self.subTest(model=case["model"], page=case["page"], question=case["question"], params=case["params"]):
                pipe = opened("document-question-answering", GOLDEN / "documents" / case["model"])
                boxes = [(word, box) for word, box in zip(page["words"], page["boxes"])]
                image = GOLDEN / "documents" / f"{case['page']}.png"
                found = pipe(str(image) if image.exists() else None, case["question"], boxes, **case["params"])
                self.check(found, case["result"])


class Calls(unittest.TestCase):
    """Types, containers and errors, as tools/oracle/python_calls.py found them."""

    def test_calls(self):
        for case in lines(GOLDEN / "python/calls.jsonl"):
            if "Image" in case["call"] and Image is None or "return_tensors" in case["call"]:
                continue
            with self.subTest(task=case["task"], more=case["more"], call=case["call"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pipe = opened(case["task"], case["model"], **case["more"])
                try:
                    found = typed(eval(case["call"], {"pipe": pipe, "np": np, "Image": Image}))
                except Exception as error:
                    names = [kind.__name__ for kind in type(error).__mro__]
                    self.assertIn(case.get("error", "no error"), names, f"raised {error!r}, wanted {case.get('result')}")
                else:
                    self.assertIn("result", case, f"found {found}, wanted {case.get('error')}")
                    self.assertTrue(near(found, case["result"], 1e-4), f"found {found}, wanted {case['result']}")


class OnlyHere(unittest.TestCase):
    def test_return_tensors(self):
        pipe = opened("feature-extraction", GOLDEN / "pipelines/vectors")
        self.assertEqual(tuple(pipe("Ada", return_tensors=True).shape), np.asarray(pipe("Ada")).shape)

    def test_lazy(self):
        asked = []

        def texts():
            for text in ("Ada", "b", "c"):
                asked.append(text)
                yield text

        found = opened("text-classification", GOLDEN / "pipelines/labels")(texts())
        self.assertIsInstance(found, PipelineIterator)
        self.assertEqual(asked, [])
        next(found)
        self.assertEqual(asked, ["Ada"])
        self.assertEqual(len(list(found)), 2)
        self.assertRaises(TypeError, len, found)

    def test_batch_size_reads_ahead(self):
        asked = []
        found = opened("text-classification", GOLDEN / "pipelines/labels")((asked.append(i) or "text" for i in range(5)), batch_size=2)
        next(found)
        self.assertEqual(asked, [0, 1])

    def test_dataset(self):
        class Dataset:
            def __getitem__(self, i):
                if i == 3:
                    raise IndexError
                return "Ada"

            def __len__(self):
                return 3

        found = opened("ner", GOLDEN / "pipelines/tags")(Dataset())
        self.assertEqual(len(found), 3)
        self.assertEqual(len(list(found)), 3)

    def test_many_inputs_keep_their_order(self):
        pipe = opened("text-classification", GOLDEN / "pipelines/labels")
        texts = [f"{i} was born in {i}" for i in range(150)]
        self.assertEqual(pipe(texts), [pipe(text)[0] for text in texts])

    def test_threads(self):
        pipe = opened("ner", GOLDEN / "pipelines/tags")
        wanted, found = pipe("Ada Lovelace"), [None] * 8
        threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, pipe("Ada Lovelace"))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 8)

    def test_task_of_the_model(self):
        for folder, task in (("labels", "text-classification"), ("tags", "token-classification"), ("masks", "fill-mask"),
                             ("answers", "question-answering"), ("vectors", "feature-extraction")):
            with pipeline(model=GOLDEN / "pipelines" / folder) as pipe:
                self.assertEqual(pipe.task, task)

    def test_refused(self):
        with self.assertRaises(KeyError):
            pipeline("text-generation", "examples/bus-ner")
        with self.assertRaises(FileNotFoundError):
            pipeline("ner", "nothing/of/that/kind")
        with self.assertRaises(ValueError):
            pipeline("ner", "examples/bus-ner", device="cuda:0")
        with pipeline("ner", "examples/bus-ner", device="cpu:0") as pipe:
            self.assertEqual(str(pipe.device), "cpu")
        with self.assertRaises(RuntimeError):
            pipeline()
        with self.assertRaises(TypeError):
            pipeline("ner", 5)
        with self.assertRaises(TypeError):
            pipeline("ner", "examples/bus-ner", agregation_strategy="simple")

    def test_open_model(self):
        with encoderfile_c.Model("examples/bus-ner") as model:
            found = pipeline("ner", model, aggregation_strategy="simple")("bus to Goa")
        self.assertEqual(found[-1]["entity_group"], "DEST")

    def test_questions(self):
        pipe = opened("question-answering", GOLDEN / "pipelines/answers")
        one = pipe(question="Who?", context="Ada was born in London.")
        self.assertEqual(list(one), ["score", "start", "end", "answer"])
        self.assertEqual(pipe({"question": "Who?", "context": "Ada was born in London."}), one)
        self.assertEqual(pipe(question=["Who?", "Who?"], context="Ada was born in London."), [one, one])
        self.assertEqual(pipe([{"question": "Who?", "context": "Ada was born in London."}]), one)
        for question, context, says in (("", "a", "`question` cannot be empty"), ("a", "", "`context` cannot be empty")):
            with self.assertRaisesRegex(ValueError, says):
                pipe(question=question, context=context)
        self.assertEqual(pipe("Who?", "Ada was born in London."), one)  # transformers 4.57
        with self.assertRaisesRegex(ValueError, r"top_k parameter should be >= 1 \(got 0\)"):
            pipe(question="a", context="b", top_k=0)

    def test_samples(self):
        pipe = opened("audio-classification", GOLDEN / "speech/wav2vec2")
        sound = (np.sin(np.arange(16000) / 20) / 4).astype(np.float32)
        wanted = pipe({"raw": sound, "sampling_rate": 16000})
        self.assertEqual(pipe(sound), wanted)
        self.assertEqual(pipe({"array": sound, "sampling_rate": 16000}), wanted)
        self.assertEqual(pipe([sound]), [wanted])
        for wrong, kind in ((np.zeros((2, 100), np.float32), ValueError), ([0.0, 1.0], TypeError), (None, TypeError), ({"raw": sound}, ValueError)):
            with self.subTest(wrong=type(wrong).__name__), self.assertRaises(kind):
                pipe([wrong] if isinstance(wrong, list) else wrong)

    def test_samples_without_a_rate_have_the_models(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(GOLDEN / "speech/wav2vec2", folder, dirs_exist_ok=True)
            settings = pathlib.Path(folder, "preprocessor_config.json")
            settings.write_text(json.dumps({**json.loads(settings.read_text()), "sampling_rate": 8000}))
            sound = (np.sin(np.arange(8000) / 20) / 4).astype(np.float32)
            with pipeline("audio-classification", folder) as pipe, encoderfile_c.Model(folder) as model:
                wanted = pipe({"raw": sound, "sampling_rate": 8000})
                self.assertNotEqual(pipe({"raw": sound, "sampling_rate": 16000}), wanted)
                self.assertEqual(pipe(sound), wanted)
                self.assertEqual(pipeline("audio-classification", model)(sound), wanted)
                self.assertEqual(pipe.feature_extractor.sampling_rate, 8000)
                self.assertEqual(pipe.feature_extractor(sound)["input_values"].shape, (1, 8000))

    def test_what_a_pipeline_has(self):
        pipe = opened("ner", GOLDEN / "pipelines/tags")
        config = json.loads((GOLDEN / "pipelines/tags/config.json").read_text())
        self.assertEqual(pipe.model.config.id2label, {int(key): label for key, label in config["id2label"].items()})
        self.assertEqual((pipe.model.config.model_type, str(pipe.model.device)), (config["model_type"], "cpu"))
        self.assertEqual(pipe.device, pipe.model.device)
        if has_torch():
            self.assertEqual((pipe.device.type, pipe.model.device.type), ("cpu", "cpu"))
        self.assertEqual(pipe.tokenizer("Ada")["input_ids"], list(pipe.model.tokenizer.encode("Ada").ids))
        self.assertEqual(pipe.predict("Ada Lovelace"), pipe("Ada Lovelace"))
        self.assertEqual(pipe.transform(["Ada"]), pipe(["Ada"]))
        self.assertIs(pipeline("ner", pipe.model).model.core, pipe.model.core)
        self.assertIsNone(pipe.image_processor)
        with encoderfile_c.Model(GOLDEN / "pipelines/tags") as model:
            self.assertEqual(pipeline("ner", model).model.config.id2label, pipe.model.config.id2label)
        with tempfile.TemporaryDirectory() as folder:
            pipe.save_pretrained(folder)
            with pipeline(model=folder) as copy:
                self.assertEqual(copy("Ada Lovelace"), pipe("Ada Lovelace"))

    def test_processor_of_pictures(self):
        processor = opened("image-classification", "examples/road-signs").image_processor
        settings = json.loads(pathlib.Path("examples/road-signs/preprocessor_config.json").read_text())
        self.assertEqual(processor.size, settings["size"])
        stop = "examples/road-signs/pictures/stop.png"
        wanted = processor(stop)["pixel_values"]
        self.assertEqual(wanted.ndim, 4)
        np.testing.assert_array_equal(processor(images=stop, return_tensors="np").pixel_values, wanted)
        self.assertEqual(processor((stop, stop)).pixel_values.shape, (2, *wanted.shape[1:]))
        with self.assertRaisesRegex(ValueError, "is not a valid TensorType"):
            processor(stop, return_tensors="tensorflow")
        sound = np.zeros(16000, np.float32)
        extractor = opened("audio-classification", GOLDEN / "speech/wav2vec2").feature_extractor
        np.testing.assert_array_equal(extractor(raw_speech=sound, sampling_rate=16000).input_values, extractor(sound)["input_values"])

    def test_an_empty_text_is_its_special_tokens(self):
        """Also where a tokenizer makes no blank of white space; what `predict` is given stays refused."""
        with encoderfile_c.Model(GOLDEN / "strides/roberta") as model:
            self.assertEqual(pipeline("ner", model)(""), [])
            with self.assertRaisesRegex(ValueError, "Cannot tokenize empty string"):
                model.predict([""])

    def test_speech(self):
        pipe = opened("automatic-speech-recognition", GOLDEN / "speech/ctc")
        with self.assertRaises(ValueError):
            pipe(str(SOUNDS / "speech.flac"), return_timestamps=True)
        with self.assertRaisesRegex(ValueError, "Only Whisper can return language"):
            pipe(str(SOUNDS / "speech.flac"), return_language=True)
        found = pipe(str(SOUNDS / "speech.flac"), return_timestamps="word")
        self.assertIsInstance(found["chunks"][0]["timestamp"], tuple)
        self.assertIsInstance(found["chunks"][0]["timestamp"][0], np.float64)
        none = pipe(str(SOUNDS / "speech.flac"), chunk_length_s=.5, stride_length_s=[0, 0])
        self.assertEqual(pipe(str(SOUNDS / "speech.flac"), chunk_length_s=.5, stride_length_s=0), none)  # and 0 is not False
        self.assertNotEqual(pipe(str(SOUNDS / "speech.flac"), chunk_length_s=.5), none)
        extra = pipe({"raw": np.zeros(8000, np.float32), "sampling_rate": 16000, "id": 7})
        self.assertEqual(extra["id"], [7])

    def test_a_tokenizer_as_an_object(self):
        """It is the one that texts go through; the length that it was given counts."""
        model, text = GOLDEN / "pipelines/labels", "Ada Lovelace was born in London"
        with tempfile.TemporaryDirectory() as made:
            shutil.copytree(model, made, dirs_exist_ok=True)
            for path in pathlib.Path(made).glob("*token*"):
                path.unlink()
            tokenizer = encoderfile_c.AutoTokenizer.from_pretrained(model)
            with pipeline("text-classification", made, tokenizer=tokenizer) as pipe:
                self.assertEqual(pipe(text), opened("text-classification", model)(text))
                tokenizer.model_max_length = 5
                cut = opened("text-classification", model)(text, truncation=True, max_length=5)
                self.assertEqual(pipe(text, truncation=True), cut)
                self.assertNotEqual(pipe(text), cut)

    def test_keywords_of_the_tokenizer(self):
        """Those that nothing here can do are refused by their names; with a Model that is open already, those that need the graph."""
        pipe, masks = opened("text-classification", GOLDEN / "pipelines/labels"), opened("fill-mask", GOLDEN / "pipelines/masks")
        with self.assertRaisesRegex(TypeError, "return_tensors"):
            pipe("Ada", return_tensors="np")
        with self.assertRaisesRegex(ValueError, "split_special_tokens"):
            pipe("Ada", split_special_tokens=True)
        with self.assertRaisesRegex(TypeError, "return_tensors"):
            masks("[MASK]", tokenizer_kwargs={"return_tensors": "np"})
        with self.assertRaisesRegex(ValueError, "add_special_tokens"):
            masks("[MASK]", tokenizer_kwargs={"add_special_tokens": False})
        with self.assertWarnsRegex(UserWarning, "have no effect: foo"):
            pipe("Ada", foo=1)
        with encoderfile_c.Model(GOLDEN / "pipelines/labels") as model, self.assertRaisesRegex(ValueError, "wanted a pipeline of a path"):
            opened_already = pipeline("text-classification", model)
            self.assertEqual(opened_already("Ada", add_special_tokens=True, stride=0), pipe("Ada"))
            opened_already("Ada", add_special_tokens=False)

    def test_targets_as_an_array(self):
        pipe = opened("fill-mask", GOLDEN / "pipelines/masks")
        self.assertEqual(pipe("Ada [MASK]", targets=np.array(["a", "b"])), pipe("Ada [MASK]", targets=["a", "b"]))

    def test_templates_of_pictures(self):
        """One without a place for the label is taken, as in transformers: the labels are alike then."""
        pipe, picture = opened("zero-shot-image-classification", GOLDEN / "pairs/clip"), str(next(PICTURES.glob("base420*.jpg")))
        found = pipe(picture, candidate_labels=["cat", "dog", "cat"], hypothesis_template="a picture")
        self.assertEqual([row["label"] for row in found], ["cat", "dog", "cat"])
        np.testing.assert_allclose([row["score"] for row in found], 1 / 3, atol=1e-6)
        twice = pipe(picture, candidate_labels=["cat", "dog"], hypothesis_template="{0} and {0}")
        self.assertEqual(sorted(row["label"] for row in twice), ["cat", "dog"])

    def test_a_processor_as_an_object(self):
        picture, model = str(next(PICTURES.glob("base420*.jpg"))), GOLDEN / "export_vision/vit"
        with tempfile.TemporaryDirectory() as made:
            shutil.copytree(model, made, dirs_exist_ok=True)
            settings = json.loads(pathlib.Path(made, "preprocessor_config.json").read_text())
            pathlib.Path(made, "preprocessor_config.json").write_text(json.dumps({**settings, "image_mean": [0, 0, 0]}))
            processor = encoderfile_c.AutoImageProcessor.from_pretrained(made)
            with pipeline("image-classification", model, image_processor=processor) as pipe, pipeline("image-classification", made) as other:
                self.assertEqual(pipe(picture), other(picture))
                self.assertNotEqual(pipe(picture), opened("image-classification", model)(picture))

    def test_lengths_of_other_files(self):
        """transformers knows the tokenizer's model_max_length alone: nothing is cut to another word of its file, or to sentences' own limit."""
        text = "Ada was born in London. " * 3
        for task, model, more in (("ner", "tags", {}), ("text-classification", "labels", {"truncation": True}), ("feature-extraction", "vectors", {"truncation": True}),
                                  ("zero-shot-classification", "labels", {"candidate_labels": ["a", "b"]}), (None, "tags", {}),
                                  ("fill-mask", "masks", {"tokenizer_kwargs": {"truncation": True}}), ("question-answering", "answers", {})):
            with self.subTest(task), tempfile.TemporaryDirectory() as made, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shutil.copytree(GOLDEN / "pipelines" / model, made, dirs_exist_ok=True)
                settings = pathlib.Path(made, "tokenizer_config.json")
                settings.write_text(json.dumps({**json.loads(settings.read_text()), "max_length": 12}))
                given = {"question": "Who?", "context": text} if task == "question-answering" else "[MASK] " + text if task == "fill-mask" else text
                for path in (made, made + "/model.safetensors"):
                    with pipeline(task, path) as pipe:
                        self.assertEqual(pipe(given, **more), opened(task, GOLDEN / "pipelines" / model)(given, **more))

    def test_zero_shot_of_pictures_by_name_and_by_place(self):
        pipe, picture = opened("zero-shot-image-classification", GOLDEN / "pairs/clip"), str(next(PICTURES.glob("base420*.jpg")))
        wanted = pipe(picture, candidate_labels=["cat", "dog"])
        for call in (lambda: pipe(picture, ["cat", "dog"]), lambda: pipe(image=picture, candidate_labels=["cat", "dog"]),
                     lambda: pipe(images=picture, candidate_labels=["cat", "dog"], foo=1, tokenizer_kwargs={}), lambda: pipe([picture], ["cat", "dog"])[0]):
            self.assertEqual(call(), wanted)
        with self.assertRaisesRegex(ValueError, "tokenizer_kwargs"):
            pipe(picture, ["cat"], tokenizer_kwargs={"max_length": 5})

    def test_targets_without_tokens(self):
        pipe = opened("fill-mask", GOLDEN / "pipelines/masks")
        for targets in ("", " ", [""], ["", " "]):
            with self.subTest(targets), self.assertRaisesRegex(ValueError, "At least one target must be provided when passed."):
                pipe("Ada [MASK]", targets=targets)
        with self.assertRaises(ValueError):
            pipe("Ada [MASK]", targets=[5])
        with self.assertWarnsRegex(UserWarning, "it is left out"):
            self.assertEqual(pipe("Ada [MASK]", targets=["", "river"]), pipe("Ada [MASK]", targets=["river"]))

    def test_batch_sizes_and_arguments_that_cannot_be(self):
        for task, model, drops in (("text-classification", "labels", False), ("ner", "tags", False), ("feature-extraction", "vectors", True)):
            pipe = opened(task, GOLDEN / "pipelines" / model)
            for size in (0, -1):
                for inputs in (["Ada", "x"], (text for text in ["Ada"])):
                    with self.subTest(task, size=size), self.assertRaisesRegex(ValueError, f"batch_size should be a positive integer value, but got batch_size={size}"):
                        pipe(inputs, batch_size=size)
            self.assertEqual(pipe("Ada", batch_size=0), pipe("Ada"))
            with self.subTest(task), self.assertWarnsRegex(UserWarning, "Ignoring args") if drops else self.assertRaisesRegex(TypeError, "takes 2 positional arguments but 3 were given"):
                pipe("Ada", "x")

    def test_model_kwargs_of_torch(self):
        for one in ({"torch_dtype": "auto"}, {"attn_implementation": "eager", "low_cpu_mem_usage": True}, {"cache_dir": "x", "local_files_only": True}):
            with self.subTest(one), pipeline("ner", GOLDEN / "pipelines/tags", model_kwargs={**one, "threads": 1}) as pipe:
                self.assertEqual(pipe("Ada Lovelace"), opened("ner", GOLDEN / "pipelines/tags")("Ada Lovelace"))
        with self.assertRaises(TypeError):
            pipeline("ner", GOLDEN / "pipelines/tags", model_kwargs={"thread": 1})

    def test_labels_that_were_changed(self):
        """In model.config.id2label, as in transformers: the whole dict or an entry of it."""
        stop = "examples/road-signs/pictures/stop.png"
        for task, model, given in (("text-classification", GOLDEN / "pipelines/labels", "Ada was born"), ("image-classification", "examples/road-signs", stop)):
            with self.subTest(task), pipeline(task, model) as pipe:
                best, second = pipe(given, top_k=2)
                pipe.model.config.id2label = {i: label.upper() for i, label in pipe.model.config.id2label.items()}
                self.assertEqual(pipe(given, top_k=2), [{**one, "label": one["label"].upper()} for one in (best, second)])
                self.assertEqual(pipe([given], top_k=1), [[{**best, "label": best["label"].upper()}]])
                self.assertEqual(pickle.loads(pickle.dumps(pipe))(given), pipe(given))
                if task == "text-classification":
                    self.assertTrue(pipe(given, add_special_tokens=False)[0]["label"].isupper())
        with pipeline("ner", GOLDEN / "pipelines/tags") as pipe:
            before = pipe("Ada Lovelace", ignore_labels=[])
            pipe.model.config.id2label.update({pipe.model.config.label2id["O"]: "MISC", pipe.model.config.label2id["B-PER"]: "O"})
            named = {"O": "MISC", "B-PER": "O"}
            after = [{**row, "entity": named.get(row["entity"], row["entity"])} for row in before]
            self.assertEqual(pipe("Ada Lovelace", ignore_labels=[]), after)
            self.assertEqual(pipe("Ada Lovelace"), [row for row in after if row["entity"] != "O"])
            with self.assertRaisesRegex(ValueError, "labels that were changed"):
                pipe("Ada Lovelace", aggregation_strategy="simple")

    def test_a_truncation_side_that_was_set(self):
        with pipeline("text-classification", GOLDEN / "pipelines/labels", truncation=True, max_length=4) as pipe:
            first, last, long = pipe("a b")[0], pipe("d e")[0], "a b c d e"
            self.assertEqual(pipe(long)[0], first)
            pipe.tokenizer.truncation_side = "left"
            self.assertTrue(near(pipe(long)[0], last, 1e-5))
            self.assertFalse(near(last, first, 1e-3))

    def test_a_problem_type_that_was_set(self):
        with pipeline("text-classification", GOLDEN / "pipelines/labels", top_k=None) as pipe:
            usual = pipe("Ada")
            for problem, function in (("multi_label_classification", "sigmoid"), ("regression", "none"), ("single_label_classification", "softmax")):
                with self.subTest(problem):
                    pipe.model.config.problem_type = problem
                    self.assertEqual(pipe("Ada"), pipe("Ada", function_to_apply=function))
            self.assertEqual(pipe("Ada"), usual)

    def test_pickled(self):
        """For workers of a pool and joblib: opened again there, with the settings as they are now."""
        sound = np.sin(np.arange(16000) / 20).astype(np.float32)
        for task, model, given, more in (
                ("text-classification", GOLDEN / "pipelines/labels", "Ada was born", {"top_k": 2}), ("ner", GOLDEN / "pipelines/tags", "Ada Lovelace", {"model_kwargs": {"threads": 1}}),
                ("feature-extraction", GOLDEN / "pipelines/vectors", "Ada", {}), (None, GOLDEN / "pipelines/masks", "Ada [MASK]", {}),
                ("image-classification", "examples/road-signs", "examples/road-signs/pictures/stop.png", {}), ("audio-classification", GOLDEN / "speech/wav2vec2", sound, {})):
            with self.subTest(task), pipeline(task, model, **more) as pipe:
                wanted = pipe(given)
                for again in (pickle.loads(pickle.dumps(pipe)), copy.deepcopy(pipe)):
                    self.assertEqual((type(again), again.task, again(given)), (type(pipe), pipe.task, wanted))
                    again.close()
                self.assertIs(copy.copy(pipe).model, pipe.model)
                if task == "text-classification":
                    pipe(given, add_special_tokens=False)  # by the graph alone
                    pipe.tokenizer.model_max_length = 3
                    self.assertEqual(pickle.loads(pickle.dumps(pipe))(given, truncation=True), pipe(given, truncation=True))
        with encoderfile_c.Model(GOLDEN / "pipelines/tags") as open_model, self.assertRaisesRegex(TypeError, "of a Model that is open"):
            pickle.dumps(pipeline("ner", open_model))

    def test_numbers_of_numpy(self):
        asked = {"question": "Who was born?", "context": "Ada Lovelace was born in London"}
        sound = np.sin(np.arange(16000) / 20).astype(np.float32)
        for task, model, given, name, number in (
                ("fill-mask", "pipelines/masks", "Ada [MASK]", "top_k", np.int64(2)), ("question-answering", "pipelines/answers", asked, "top_k", np.int32(2)),
                ("audio-classification", "speech/wav2vec2", sound, "top_k", np.int64(1)),
                ("object-detection", "export_vision/yolos", np.full((40, 30, 3), 99, np.uint8), "threshold", np.float32(0.125))):
            with self.subTest(task):
                pipe = opened(task, GOLDEN / model)
                self.assertEqual(pipe(given, **{name: number}), pipe(given, **{name: number.item()}))

    def test_calls_by_name(self):
        asked = {"question": "Who was born?", "context": "Ada Lovelace was born in London"}
        pipe = opened("question-answering", GOLDEN / "pipelines/answers")
        self.assertEqual(pipe((asked, asked)), pipe([asked, asked]))
        self.assertEqual(pipe([]), [])
        pipe = opened("zero-shot-classification", GOLDEN / "pipelines/labels")
        self.assertEqual(pipe(sequences="Ada", candidate_labels=["a", "b"]), pipe("Ada", ["a", "b"]))

    def test_sounds_of_decoders_and_dicts(self):
        samples = np.sin(np.arange(4000) / 9).astype(np.float32)
        ctc, labels = opened("automatic-speech-recognition", GOLDEN / "speech/ctc"), opened("audio-classification", GOLDEN / "speech/wav2vec2")
        rate = ctc.feature_extractor.sampling_rate

        class Decoder:  # as torchcodec's
            def get_all_samples(self):
                return types.SimpleNamespace(data=samples[None], sample_rate=rate)

        for pipe in (ctc, labels):
            self.assertEqual(pipe(Decoder()), pipe(samples))
        self.assertEqual(list(ctc({"raw": samples, "array": 1, "path": "x.wav", "id": 7, "sampling_rate": rate})), ["text", "array", "path", "id"])
        self.assertEqual(list(ctc({"array": samples, "path": "x.wav", "id": 7, "sampling_rate": rate})), ["text", "id"])
        with self.assertRaisesRegex(ValueError, "stride: found one in the dict"):
            ctc({"raw": samples, "sampling_rate": rate, "stride": (100, 100)})

    @unittest.skipIf(Image is None, "no Pillow")
    def test_alpha_on_white(self):
        """A processor that converts to RGB does so on white; a pipeline leaves alpha out before, as does a processor that does not convert."""
        noise = np.random.default_rng(1).integers(0, 256, (30, 40, 4), dtype=np.uint8)
        picture = Image.fromarray(noise)
        white = Image.alpha_composite(Image.new("RGBA", picture.size, (255, 255, 255, 255)), picture).convert("RGB")
        keyed = Image.fromarray(noise[..., :3]).quantize(8)
        keyed.info["transparency"] = 3
        holes = np.asarray(keyed.convert("RGB")).copy()
        holes[np.asarray(keyed) == 3] = 255
        clip = encoderfile_c.AutoImageProcessor.from_pretrained(GOLDEN / "pairs/clip")
        for given, wanted, away in ((picture, white, 0), (keyed, Image.fromarray(holes), 0), (noise, white, 0.05), (white, white, 0)):
            found, other = (clip(one, return_tensors="np")["pixel_values"] for one in (given, wanted))
            self.assertLessEqual(np.abs(found - other).max(), away)
        plain = encoderfile_c.AutoImageProcessor.from_pretrained("examples/road-signs")
        self.assertTrue(np.array_equal(plain(picture, return_tensors="np")["pixel_values"], plain(picture.convert("RGB"), return_tensors="np")["pixel_values"]))

    def test_masks(self):
        pipe = opened("image-segmentation", GOLDEN / "pictures/segformer")
        picture = next(PICTURES.glob("base420*.jpg"))
        mask = pipe(str(picture))[0]["mask"]
        if Image is None:
            self.assertEqual(mask[:8], b"\x89PNG\r\n\x1a\n")
        else:
            self.assertEqual((mask.mode, mask.size), ("L", Image.open(picture).size))

    @unittest.skipIf(Image is None, "no Pillow")
    def test_sources_of_a_picture_agree(self):
        pipe = opened("image-classification", "examples/road-signs")
        path = pathlib.Path("examples/road-signs/pictures/stop.png")
        wanted = pipe(str(path))
        picture, data = Image.open(path).convert("RGB"), base64.b64encode(path.read_bytes()).decode()
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        for name, other in (("path", path), ("pil", picture), ("array", np.asarray(picture)), ("base64", data), ("data url", "data:image/png;base64," + data),
                            ("lines", base64.encodebytes(path.read_bytes()).decode()), ("larger numbers", np.asarray(picture).astype(np.int64)),
                            ("whole floats", np.asarray(picture).astype(np.float32))):
            with self.subTest(name):
                self.assertTrue(near(pipe(other), wanted, 1e-6))


if __name__ == "__main__":
    unittest.main()
