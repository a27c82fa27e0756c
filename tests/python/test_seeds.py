# SPDX-License-Identifier: Apache-2.0
"""The Python snippets of the documents that modelexport is described in, as written but for the names of modules. The documents lie beside
a developer's checkout (../shared/seeds); where they do not, there is nothing to run. Models by the Hub's names are tiny ones in a cache made here."""
import ast
import contextlib
import inspect
import io
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest
from unittest import mock

import numpy as np

import encoderfile_c
from encoderfile_c import modelexport

ROOT = pathlib.Path.cwd()
SEEDS = ROOT / "../shared/seeds"
MODULES = {"modelexport": "encoderfile_c.modelexport", "inference": "encoderfile_c.modelexport", "optimum.onnxruntime": "encoderfile_c",
           "transformers": "encoderfile_c"}
HUB = {"distilbert-base-uncased-finetuned-sst-2-english": "tests/golden/pipelines/labels", "bert-base-uncased": "tests/golden/pipelines/masks",
       "google/vit-base-patch16-224": "tests/golden/export_vision/vit", "hf-internal-testing/tiny-random-bert": "tests/golden/pipelines/labels"}
# What snippets use without importing it.
ASSUMED = {"AutoTokenizer": encoderfile_c.AutoTokenizer, "AutoImageProcessor": encoderfile_c.AutoImageProcessor,
           "ORTModelForTokenClassification": encoderfile_c.ORTModelForTokenClassification, "Path": pathlib.Path, "shutil": shutil,
           **{name: getattr(modelexport, name) for name in modelexport.__all__}}
# Blocks that are no use of the package, by words in them.
LEFT_OUT = {"model.metadata_props = [": "the form of a file, as an assignment", "ORTQuantizer": "Optimum's quantizer: here, export_to_onnx(quantize=True)"}


def read(number):
    return next(SEEDS.glob(f"{number}_*.txt")).read_text("utf-8")


def is_use(block):
    """Whether it is code that a user writes: not a result, nor a definition of the package's own functions and classes."""
    try:
        nodes = ast.parse(block).body
    except SyntaxError:
        return False
    made = [node for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    return all(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in made) and not any(words in block for words in LEFT_OUT)


def uses(text):
    return [renamed(block) for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if is_use(block)]


def renamed(block):
    return re.sub(r"^(\s*from )(" + "|".join(map(re.escape, MODULES)) + r")(?= import)", lambda found: found[1] + MODULES[found[2]], block, flags=re.M)


def two_labels(folder):
    """A classifier of three labels becomes one of two: its last rows go, and what config.json says of them."""
    path = folder / "model.safetensors"
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, values, out = json.loads(data[8:8 + size]), data[8 + size:], b""
    for name, one in header.items():
        if name != "__metadata__":
            rows = one["shape"][0]
            array = np.frombuffer(values[slice(*one["data_offsets"])], np.uint8).reshape(rows, -1)
            if name.startswith("classifier."):
                array, one["shape"][0] = array[:2], 2
            one["data_offsets"] = [len(out), len(out) + array.nbytes]
            out += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + out)
    config = json.loads((folder / "config.json").read_text())
    labels = {"id2label": {"0": "NEGATIVE", "1": "POSITIVE"}, "label2id": {"NEGATIVE": 0, "POSITIVE": 1}}
    (folder / "config.json").write_text(json.dumps({**config, **labels}))


@unittest.skipUnless(SEEDS.is_dir(), "no ../shared/seeds")
class Seeds(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tmp = pathlib.Path(holder.name)
        environment = mock.patch.dict(os.environ, {"HF_HOME": str(self.tmp / "hf"), "HF_HUB_OFFLINE": "1"})
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("HF_HUB_CACHE", None)
        for name, path in HUB.items():
            place = self.tmp / "hf/hub" / ("models--" + name.replace("/", "--"))
            shutil.copytree(ROOT / path, place / "snapshots/0123456789abcdef", ignore=shutil.ignore_patterns("*.npy"))
            (place / "refs").mkdir()
            (place / "refs/main").write_text("0123456789abcdef")
            if path.endswith("labels"):
                two_labels(place / "snapshots/0123456789abcdef")
        (self.tmp / "here").mkdir()
        os.chdir(self.tmp / "here")
        self.addCleanup(os.chdir, ROOT)
        self.names = {"__name__": "seed", **ASSUMED}

    def run_block(self, block):
        """What it prints; its tests are run, too."""
        out = io.StringIO()
        before = dict(self.names)
        with contextlib.redirect_stdout(out):
            exec(compile(block, "a snippet", "exec"), self.names)
            for name, test in list(self.names.items()):
                if name.startswith("test_") and before.get(name) is not test and inspect.isfunction(test):
                    folder = self.tmp / name
                    folder.mkdir()
                    test(folder)
        return out.getvalue()

    def test_export_with_config(self):
        blocks = uses(read("001"))
        self.assertEqual(len(blocks), 4)
        said = [self.run_block(block) for block in blocks]
        for wrote in said:
            self.assertIn("Model exported successfully to ", wrote)
        names = self.names
        self.assertEqual(sorted(name for name in names if name.startswith("test_")),
                         ["test_end_to_end_inference", "test_export_creates_required_files", "test_optimum_compatibility"])
        self.assertEqual(names["outputs"].logits.shape, (1, 2))
        self.assertEqual(names["model"].config.id2label[0], "LABEL_0")
        picture = np.random.default_rng(1).integers(0, 255, (40, 30, 3), np.uint8)
        self.assertEqual(names["model"](**names["processor"](picture, return_tensors="np")).logits.shape, (1, 5))

    def test_self_contained(self):
        """The one call in the text on inference; the blocks define what is called."""
        text = read("002")
        self.assertEqual(uses(text), [])
        call = re.search(r"`(pipeline\(model=\"model\.onnx\"\))`", text)[1]
        self.run_block('HierarchyTagPreservationExporter().export_with_metadata("bert-base-uncased", "model.onnx")')
        self.run_block(f"pipe = {call}\nrows = pipe('the [MASK] sat')")
        self.assertEqual((self.names["pipe"].task, len(self.names["rows"])), ("fill-mask", 5))

    def test_auto_processor(self):
        """The example in the docstring; of the pipeline, the call that the text shows, for a graph of a fixed shape."""
        text = read("003")
        self.assertEqual(uses(text), [])
        example = re.search(r"^ *# Primary usage - .*?(?=^ *\"\"\")", text, re.M | re.S)[0]
        self.run_block('export_with_config("bert-base-uncased", ".", static_shapes=(1, 16))')
        self.run_block("\n".join(line.strip() for line in example.splitlines()))
        self.assertEqual({value.shape for value in self.names["result"].values()}, {(1, 16)})
        self.run_block('export_with_config("distilbert-base-uncased-finetuned-sst-2-english", "fixed", static_shapes=(1, 16))')
        self.assertIn("create_pipeline(task, model, data_processor=onnx_tokenizer)", text)
        self.run_block('task, model = "text-classification", "fixed/model.onnx"\n'
                       'onnx_tokenizer = ONNXTokenizer(AutoTokenizer.from_pretrained("fixed"), batch_size=1, sequence_length=16)\n'
                       'pipe = create_pipeline(task, model, data_processor=onnx_tokenizer)\nanswer = pipe("input text " * 99)')
        self.assertIn(self.names["answer"][0]["label"], ("NEGATIVE", "POSITIVE"))

    def test_entities(self):
        text = read("004")
        blocks = uses(text)
        self.assertEqual(len(blocks), 5)
        shutil.copytree(ROOT / "examples/bus-ner", "models/bus_ner_transformer", ignore=shutil.ignore_patterns("*.py", "*.md", "*.yml"))
        self.names.update(model_dir=pathlib.Path("models/bus_ner_transformer"), output_dir=pathlib.Path("models/bus_ner_onnx"))
        said = ""
        for block in blocks[:-1]:
            said += self.run_block(block)
        self.assertEqual(re.findall(r"^\[Step (\d)/4\]", said, re.M), ["1", "2", "3", "4"])
        self.assertLessEqual({"model.onnx", "config.json", "label2id.json", "id2label.json"}, {path.name for path in self.names["output_dir"].iterdir()})
        self.run_block("export_to_onnx(str(model_dir), str(output_dir), quantize=True)")
        found = self.run_block("verify_onnx_model(output_dir)")
        wanted = re.search(r"^```\n(VERIFYING ONNX MODEL\n.*?)^```$", text, re.M | re.S)[1]
        self.assertEqual([line for line in wanted.splitlines() if line.strip() and line not in found.splitlines()], [])
        said = self.run_block(blocks[-1])
        shown = dict(re.findall(r'^    "(\w+)": "([^"]*)",$', text[text.index("print(result)"):], re.M))
        self.assertEqual(len(shown), 4)
        self.assertEqual({key: self.names["result"][key] for key in shown}, shown)
        self.assertEqual(said.strip(), str(self.names["result"]))


if __name__ == "__main__":
    unittest.main()
