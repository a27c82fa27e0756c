# SPDX-License-Identifier: Apache-2.0
"""modelexport: the snippets of the documents it is described in, run as written but for the module's name, and what they leave open."""
import contextlib
import io
import json
import pathlib
import shutil
import tempfile
import unittest
import warnings

import numpy as np

import encoderfile_c
from encoderfile_c import AutoTokenizer, ORTModelForTokenClassification, modelexport
from encoderfile_c.modelexport import (
    AutoModelForONNX, BusNERInference, ConfigurationCopier, HierarchyTagPreservationExporter, MetadataExtractor, ONNXAutoProcessor,
    ONNXMetadataReader, add_config_to_existing_model, create_pipeline, export_onnx_with_hierarchy, export_to_onnx, export_with_config,
    pipeline, validate_optimum_compatibility, verify_onnx_model,
)
from encoderfile_c.modelexport.metadata import task_of_class

NER, GOLDEN = pathlib.Path("examples/bus-ner"), pathlib.Path("tests/golden")


def quiet(function, *args, **kwargs):
    """What it returns and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        found = function(*args, **kwargs)
    return found, out.getvalue()


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.holder.name)
        cls.exported, cls.said = quiet(export_with_config, NER, cls.tmp / "deep/er/exported")
        cls.onnx = cls.exported / "model.onnx"

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()


class Export(Folder):
    def test_files(self):
        for name in ("model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json", "export_metadata.json", "label2id.json"):
            self.assertTrue((self.exported / name).exists(), name)
            self.assertIn(f"   - {name}: ", self.said)
        self.assertIn(f"✅ Model exported successfully to {self.exported}", self.said)
        self.assertEqual(json.loads((self.exported / "config.json").read_text())["id2label"], json.loads((NER / "config.json").read_text())["id2label"])
        about = json.loads((self.exported / "export_metadata.json").read_text())
        self.assertLessEqual({"source_model", "export_strategy", "clean_onnx", "export_timestamp"}, set(about))

    def test_loads_and_infers(self):
        model = ORTModelForTokenClassification.from_pretrained(self.exported)
        tokenizer = AutoTokenizer.from_pretrained(self.exported)
        outputs = model(**tokenizer("Test input", return_tensors="np"))
        self.assertEqual((outputs.logits.shape[0], outputs.logits.shape[2]), (1, 19))

    def test_vision(self):
        out, _ = quiet(export_with_config, "examples/road-signs", self.tmp / "signs")
        model = encoderfile_c.ORTModelForImageClassification.from_pretrained(out)
        processor = ONNXAutoProcessor.from_model(out / "model.onnx")
        outputs = model(**processor("examples/road-signs/pictures/stop.png"))
        self.assertEqual(outputs.logits.argmax(-1)[0], next(i for i, name in model.config.id2label.items() if name == "stop"))

    def test_clean(self):
        quiet(export_with_config, NER, self.tmp / "clean", clean_onnx=True)
        named, _ = quiet(export_with_config, NER, self.tmp / "named.onnx")
        self.assertEqual(named, self.tmp / "named")
        self.assertTrue((named / "config.json").is_file())
        quiet(export_to_onnx, NER, self.tmp / "also.onnx")
        self.assertTrue((self.tmp / "also/config.json").is_file())
        self.assertEqual(encoderfile_c.analyze(self.tmp / "clean/model.onnx").get("tagged", 0), 0)

    def test_missing_model(self):
        with self.assertRaises(FileNotFoundError):
            export_with_config(self.tmp / "nothing", self.tmp / "out")

    def test_strategy(self):
        with self.assertRaises(ValueError):
            quiet(export_with_config, NER, self.tmp / "other", strategy="other")

    def test_config_is_required(self):
        bare = self.tmp / "bare"
        bare.mkdir()
        shutil.copy(NER / "model.safetensors", bare)
        with self.assertRaises((FileNotFoundError, RuntimeError, ValueError)):
            quiet(export_with_config, bare, self.tmp / "bare-out")
        with self.assertRaisesRegex(FileNotFoundError, "config required"):
            ConfigurationCopier().copy_model_config(bare, self.tmp / "bare-out")

    def test_deprecated(self):
        with self.assertWarns(DeprecationWarning):
            export_onnx_with_hierarchy(NER, self.tmp / "alone.onnx")
        self.assertTrue((self.tmp / "alone.onnx").is_file())

    def test_validate(self):
        self.assertEqual(quiet(validate_optimum_compatibility, self.exported), (True, "✅ Model is compatible with Optimum!\n"))
        found, said = quiet(validate_optimum_compatibility, self.tmp)
        self.assertEqual((found, said), (False, "❌ Missing required files: model.onnx, config.json\n"))
        for nothing in (None, 5, "", b"exported", []):
            found, said = quiet(validate_optimum_compatibility, nothing)
            self.assertIs(found, False)
            self.assertIn("❌ No folder", said)
        broken = self.tmp / "broken"
        shutil.copytree(self.exported, broken)
        (broken / "model.onnx").write_bytes(b"no model")
        found, said = quiet(validate_optimum_compatibility, broken)
        self.assertFalse(found)
        self.assertIn("❌ Failed to load with Optimum", said)

    def test_add_config(self):
        folder = self.tmp / "late"
        folder.mkdir()
        shutil.copy(self.onnx, folder / "model.onnx")
        before = (folder / "model.onnx").read_bytes()
        found, said = quiet(add_config_to_existing_model, folder / "model.onnx", str(NER))
        self.assertIsNone(found)
        self.assertEqual(said, f"✅ Added config files to {folder}\n")
        self.assertTrue((folder / "config.json").exists() and (folder / "tokenizer.json").exists())
        self.assertEqual((folder / "model.onnx").read_bytes(), before)

    def test_copier(self):
        copier, out = ConfigurationCopier(), self.tmp / "copied"
        copier.copy_model_config(str(NER), out)
        copier.copy_tokenizer(str(NER), out)
        copier.copy_image_processor("examples/road-signs", out)
        self.assertLessEqual({"config.json", "tokenizer.json", "preprocessor_config.json"}, {path.name for path in out.iterdir()})


class Metadata(Folder):
    def test_reader(self):
        reader = ONNXMetadataReader()
        found = reader.read_metadata(str(self.onnx))
        self.assertEqual((found["metadata_version"], found["pipeline_task"]), ("2.0", "token-classification"))
        self.assertEqual(found["model_config"]["model_type"], "bert")
        self.assertEqual(found["processor_config"]["processor_type"], "AutoTokenizer")
        self.assertIs(reader.read_metadata(str(self.onnx)), found)
        self.assertIsNot(ONNXMetadataReader(cache_metadata=False).read_metadata(str(self.onnx)), found)
        for wrong in (str(self.tmp / "nothing.onnx"), None):
            with self.assertLogs(level="WARNING"):
                self.assertIsNone(reader.read_metadata(wrong))

    def test_exporter(self):
        found = HierarchyTagPreservationExporter().export_with_metadata(str(NER), self.tmp / "own.onnx")
        self.assertEqual(found["metadata"]["pipeline_task"], "token-classification")
        without = HierarchyTagPreservationExporter().export_with_metadata(str(NER), self.tmp / "without.onnx", embed_metadata=False)
        self.assertIsNone(without["metadata"])
        self.assertIsNone(ONNXMetadataReader().read_metadata(self.tmp / "without.onnx"))

    def test_extractor(self):
        extractor = MetadataExtractor()
        config = extractor.extract_model_config(NER)
        self.assertEqual(set(config), {"architectures", "model_type", "hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size",
                                       "num_labels", "id2label", "label2id", "task_specific_params"})
        self.assertEqual((config["num_labels"], config["task_specific_params"]), (19, {}))
        self.assertIsNone(extractor.extract_model_config({})["hidden_size"])
        self.assertEqual(extractor.detect_task_type(NER), "token-classification")
        self.assertEqual(extractor.detect_task_type({"architectures": ["Unheard"]}), "feature-extraction")
        self.assertEqual(extractor.extract_processor_config("examples/road-signs")["processor_type"], "AutoImageProcessor")
        tokenizer = extractor.extract_processor_config(AutoTokenizer.from_pretrained(NER))
        self.assertEqual(tokenizer["special_tokens"], extractor.extract_processor_config(NER)["special_tokens"])
        self.assertEqual(set(extractor.extract_all(NER)), {"model_config", "processor_config", "task"})

        class Held:
            class config:  # noqa: N801: as transformers has it
                @staticmethod
                def to_dict():
                    return {"architectures": ["BertForMaskedLM"]}

        self.assertEqual(extractor.detect_task_type(Held()), "fill-mask")

    def test_tasks_of_classes(self):
        for task, names in {
            "text-classification": "Bert Roberta DistilBert Albert Deberta DebertaV2 Electra XLMRoberta MPNet ModernBert Camembert".split(),
            "token-classification": "Bert Roberta DistilBert LayoutLM LayoutLMv3 Lilt Deberta Electra".split(),
            "question-answering": "Bert Roberta DistilBert Deberta MPNet Electra".split(),
            "fill-mask": "Bert Roberta DistilBert ModernBert Esm Albert".split(),
            "image-classification": "ViT Beit Swin ResNet ConvNext Dinov2 MobileNetV2 DeiT".split(),
            "object-detection": "Detr Yolos ConditionalDetr".split(),
            "automatic-speech-recognition": "Wav2Vec2 Hubert WavLM".split(),
        }.items():
            part = {"text-classification": "ForSequenceClassification", "token-classification": "ForTokenClassification", "question-answering":
                    "ForQuestionAnswering", "fill-mask": "ForMaskedLM", "image-classification": "ForImageClassification", "object-detection":
                    "ForObjectDetection", "automatic-speech-recognition": "ForCTC"}[task]
            for name in names:
                with self.subTest(name + part):
                    self.assertEqual(task_of_class(name + part), task)
        self.assertEqual(task_of_class("Wav2Vec2ForSequenceClassification"), "audio-classification")
        self.assertEqual(task_of_class("CLIPModel"), "zero-shot-image-classification")


class Pipelines(Folder):
    def test_without_a_task(self):
        alone = self.tmp / "alone"
        alone.mkdir()
        shutil.copy(self.onnx, alone / "model.onnx")  # nothing beside it
        pipe = pipeline(model=str(alone / "model.onnx"))
        self.assertEqual(pipe.task, "token-classification")
        self.assertEqual(pipe("bus to Goa", aggregation_strategy="simple")[-1]["entity_group"], "DEST")

    def test_no_metadata(self):
        quiet(export_with_config, NER, self.tmp / "old", no_embed_metadata=True)
        with self.assertRaisesRegex(ValueError, "Task not specified and model lacks metadata"):
            pipeline(model=str(self.tmp / "old/model.onnx"))
        self.assertEqual(pipeline(model=str(self.tmp / "old/model.onnx"), force_task_detection=True).task, "token-classification")
        self.assertEqual(pipeline("ner", str(self.tmp / "old")).task, "ner")

    def test_create_pipeline(self):
        processor = ONNXAutoProcessor.from_model(self.onnx)
        pipe = create_pipeline("token-classification", str(self.onnx), data_processor=processor)
        self.assertIs(pipe.tokenizer, processor)
        self.assertTrue(pipe("bus to Goa"))
        signs = create_pipeline("image-classification", "examples/road-signs", data_processor="examples/road-signs")
        self.assertEqual(signs("examples/road-signs/pictures/stop.png")[0]["label"], "stop")
        self.assertEqual(signs.image_processor, "examples/road-signs")
        model = ORTModelForTokenClassification.from_pretrained(self.exported)
        self.assertEqual(create_pipeline("ner", model)("bus to Goa"), pipe("bus to Goa"))

    def test_auto_model(self):
        self.assertIsInstance(AutoModelForONNX.from_pretrained(self.exported), ORTModelForTokenClassification)
        with self.assertRaises(modelexport.ConfigurationError):
            AutoModelForONNX.from_pretrained(self.tmp)
        with self.assertRaises(ValueError):
            AutoModelForONNX.from_pretrained(self.exported, task="text-generation")


class Processors(Folder):
    def test_dynamic(self):
        processor = ONNXAutoProcessor.from_model(self.onnx)
        self.assertEqual((processor.modality_type, processor.supported_modalities), ("text", ["text"]))
        self.assertEqual(processor.tensor_names, ["input_ids", "attention_mask", "token_type_ids"])
        self.assertEqual(processor.output_names, ["logits"])
        short, long = processor("Goa"), processor("a bus to Goa on Sunday")
        self.assertLess(short["input_ids"].shape[1], long["input_ids"].shape[1])
        self.assertEqual(set(short), set(processor.tensor_names))
        self.assertEqual(short["input_ids"].dtype, np.int64)
        self.assertFalse(hasattr(ONNXAutoProcessor, "from_pretrained"))
        with self.assertRaises(TypeError):
            ONNXAutoProcessor()

    def test_fixed(self):
        quiet(export_with_config, NER, self.tmp / "fixed", static_shapes=(2, 16))
        processor = ONNXAutoProcessor.from_model(self.tmp / "fixed/model.onnx")
        self.assertEqual((processor.batch_size, processor.sequence_length), (2, 16))
        for texts, rows in (("Goa", 2), (["Goa", "Pune " * 50], 2), (["a", "b", "c"], 4)):
            with self.subTest(texts=texts):
                self.assertEqual({value.shape for value in processor(texts).values()}, {(rows, 16)})
        model = ORTModelForTokenClassification.from_pretrained(self.tmp / "fixed")
        self.assertEqual(model(**processor("bus to Goa")).logits.shape, (2, 16, 19))

    def test_cut_to_fixed_shapes(self):
        """A pipeline whose tokenizer has a fixed length cuts what is longer."""
        for model, task, text in (("labels", "text-classification", "Ada "), ("labels", "sentiment-analysis", "Ada "),
                                  ("vectors", "feature-extraction", "Ada "), ("masks", "fill-mask", "[MASK] "), ("tags", "ner", "Ada ")):
            with self.subTest(task=task):
                folder, _ = quiet(export_with_config, GOLDEN / "pipelines" / model, self.tmp / ("fixed-" + task), static_shapes=(1, 8))
                tokenizer = modelexport.ONNXTokenizer(AutoTokenizer.from_pretrained(folder), batch_size=1, sequence_length=8)
                for processor in (tokenizer, ONNXAutoProcessor.from_model(folder / "model.onnx")):
                    pipe = create_pipeline(task, folder / "model.onnx", data_processor=processor)
                    self.assertEqual(pipe(text + "x " * 99), pipe(text + "x " * 30))

    def test_no_text(self):
        processor = ONNXAutoProcessor.from_model(self.onnx)
        for wrong in ([], None, 5, "", "  ", ["Goa", None], ["Goa", 5], ["Goa", " "]):
            with self.subTest(given=wrong), self.assertRaises(modelexport.ONNXProcessorError):
                processor(wrong)
        self.assertEqual(processor(np.array(["Goa", "Pune"]))["input_ids"].shape[0], 2)
        self.assertEqual(processor.decode(processor.encode("bus to goa"), skip_special_tokens=True), "bus to goa")

    def test_rate_of_sounds(self):
        """That of preprocessor_config.json, beside the graph or where one says."""
        folder = pathlib.Path(shutil.copytree(GOLDEN / "speech/wav2vec2", self.tmp / "slow"))
        told = json.loads((folder / "preprocessor_config.json").read_text())
        (folder / "preprocessor_config.json").write_text(json.dumps({**told, "sampling_rate": 8000}))
        (self.tmp / "bare-sound").mkdir()
        shutil.copy(folder / "model.onnx", self.tmp / "bare-sound/sound.onnx")
        shutil.copy(folder / "config.json", self.tmp / "bare-sound")
        for given in ((folder / "model.onnx",), (self.tmp / "bare-sound/sound.onnx", folder)):
            processor = ONNXAutoProcessor.from_model(*given)
            self.assertEqual(processor.processor.sampling_rate, 8000)
            self.assertEqual(processor(np.ones(1600, np.float32))["input_values"].shape, (1, 1600))
        self.assertEqual(modelexport.ONNXFeatureExtractor(folder).sampling_rate, 8000)
        self.assertEqual(modelexport.ONNXFeatureExtractor(folder, sampling_rate=44100).sampling_rate, 44100)
        for wrong in (None, [], np.zeros(0, np.float32)):
            with self.assertRaises(modelexport.ONNXProcessorError):
                processor(wrong)

    def test_video(self):
        with self.assertRaises(modelexport.UnsupportedModalityError):
            modelexport.ONNXVideoProcessor("a model", num_frames=16)

    def test_overrides(self):
        processor = ONNXAutoProcessor.from_model(self.onnx, batch_size=3, sequence_length=7)
        self.assertEqual(processor("Goa")["input_ids"].shape, (3, 7))

    def test_wrappers(self):
        tokenizer = modelexport.ONNXTokenizer(AutoTokenizer.from_pretrained(NER), batch_size=2, sequence_length=8)
        self.assertEqual(tokenizer("Goa")["input_ids"].shape, (2, 8))
        images = modelexport.ONNXImageProcessor("examples/road-signs", 2, 32, 32)
        size = json.loads(pathlib.Path("examples/road-signs/preprocessor_config.json").read_text())["size"]
        images.height, images.width = size["height"], size["width"]
        self.assertEqual(images("examples/road-signs/pictures/stop.png")["pixel_values"].shape, (2, 3, size["height"], size["width"]))
        images.height += 1
        with self.assertRaises(modelexport.ShapeError):
            images("examples/road-signs/pictures/stop.png")
        with self.assertRaises(modelexport.ONNXProcessorError):
            images([])
        sound = modelexport.ONNXFeatureExtractor(str(GOLDEN / "speech/wav2vec2"), 2, 4000)
        for length in (100, 9000):
            found = sound(np.ones(length, np.float32))
            self.assertEqual(found["input_values"].shape, (2, 4000))

    def test_several_kinds(self):
        processor = modelexport.ONNXProcessor(str(GOLDEN / "pairs/clip"), {"text": {"sequence_length": 12}})
        picture = next((GOLDEN / "images").glob("base420*.jpg"))
        found = processor(text=["a cat", "a dog"], images=str(picture))
        self.assertEqual(found["input_ids"].shape, (2, 12))
        self.assertEqual(found["pixel_values"].ndim, 4)
        with self.assertRaises(modelexport.ONNXProcessorError):
            processor()

    def test_refused(self):
        with self.assertRaises(modelexport.ModelLoadError):
            ONNXAutoProcessor.from_model(self.tmp / "nothing.onnx")
        (self.tmp / "bad.onnx").write_bytes(b"no model")
        with self.assertRaises(modelexport.ModelLoadError):
            ONNXAutoProcessor.from_model(self.tmp / "bad.onnx")
        self.assertTrue(issubclass(modelexport.ModelLoadError, ValueError))


class Helpers(Folder):
    def test_preprocessors(self):
        """Pixels are those of a pipeline, which test_pipelines.py holds against transformers."""
        images = encoderfile_c.AutoImageProcessor.from_pretrained("examples/road-signs")
        pixels = np.random.default_rng(1).integers(0, 255, (40, 30, 3), np.uint8)
        wanted = encoderfile_c.Model("examples/road-signs").prepare({"image": pixels})["pixel_values"].numpy()
        for given, rows in ((pixels, 1), ([pixels, pixels], 2)):
            found = images(given, return_tensors="np")
            self.assertEqual((list(found), found.pixel_values.shape, found.pixel_values.dtype.name), (["pixel_values"], (rows, 3, 48, 48), "float32"))
            np.testing.assert_array_equal(found.pixel_values[-1], wanted[0])
        self.assertIsInstance(images(images=pixels)["pixel_values"], list)
        self.assertEqual(images.size, {"height": 48, "width": 48})
        self.assertEqual(images(pixels, size={"height": 48, "width": 48}, return_tensors="np").pixel_values.shape, (1, 3, 48, 48))
        for wrong in ({"size": {"height": 9, "width": 9}}, {"do_resize": False}, {"return_tensors": "tf"}):
            with self.subTest(given=wrong), self.assertRaises(ValueError):
                images(pixels, **wrong)
        with self.assertRaises(ValueError):
            images([])
        with self.assertRaises(ValueError):
            encoderfile_c.AutoImageProcessor.from_pretrained(NER)
        images.save_pretrained(self.tmp / "saved-images")
        self.assertEqual(json.loads((self.tmp / "saved-images/preprocessor_config.json").read_text()), images.to_dict())
        wrapped = modelexport.ONNXImageProcessor(images, 2, 48, 48)
        self.assertEqual(wrapped(pixels)["pixel_values"].shape, (2, 3, 48, 48))

    def test_feature_extractor(self):
        extractor = encoderfile_c.AutoFeatureExtractor.from_pretrained(GOLDEN / "speech/wav2vec2")
        long, short = np.sin(np.arange(3000)).astype(np.float32), np.sin(np.arange(1000)).astype(np.float32)
        found = extractor(long, sampling_rate=16000, return_tensors="np")["input_values"]
        np.testing.assert_allclose(found[0], (long - long.mean()) / np.sqrt(long.var() + 1e-7), atol=1e-5)
        self.assertEqual([one.shape for one in extractor([long, short])["input_values"]], [(3000,), (1000,)])
        both = extractor([long, short], padding=True, return_tensors="np")["input_values"]
        padded = np.pad(short, (0, 2000))    # without a mask, its silence is part of the mean: transformers 5.22
        np.testing.assert_allclose(both[1], (padded - padded.mean()) / np.sqrt(padded.var() + 1e-7), atol=1e-5)
        for wrong in ({"sampling_rate": 8000}, {"max_length": 9}, {"padding": "max_length"}):
            with self.subTest(given=wrong), self.assertRaises(ValueError):
                extractor(long, **wrong)
        for sounds in (None, [], [long, []], [[long]], [long, short]):
            with self.subTest(sounds=str(sounds)[:20]), self.assertRaises(ValueError):
                extractor(sounds, return_tensors="np")
        self.assertEqual(modelexport.ONNXFeatureExtractor(extractor, 2, 500)(long)["input_values"].shape, (2, 500))

    def test_load_preprocessor(self):
        for path, kind in ((NER, "PreTrainedTokenizer"), ("examples/road-signs", "ImageProcessor"), (GOLDEN / "speech/wav2vec2", "FeatureExtractor"),
                           (GOLDEN / "pairs/clip", "ONNXProcessor")):
            self.assertEqual(type(modelexport.load_preprocessor(path)).__name__, kind)
        with self.assertRaises(modelexport.ProcessorNotFoundError):
            modelexport.load_preprocessor(self.tmp / "nothing")

    def test_pipeline_and_its_times(self):
        for given in (self.onnx, self.exported):
            self.assertEqual(modelexport.create_inference_pipeline(given).task, "token-classification")
        with self.assertRaises(ValueError):
            modelexport.create_inference_pipeline(self.onnx, device="cuda")
        calls = []
        found = modelexport.benchmark_inference(calls.append, "bus to Goa", num_runs=5, warmup_runs=2)
        self.assertEqual(calls, ["bus to Goa"] * 7)
        self.assertEqual(list(found), ["mean_ms", "std_ms", "min_ms", "max_ms", "throughput"])
        self.assertTrue(0 < found["min_ms"] <= found["mean_ms"] <= found["max_ms"])
        with self.assertRaises(ValueError):
            modelexport.benchmark_inference(calls.append, "bus to Goa", num_runs=0)


class Entities(Folder):
    def test_export_and_verify(self):
        found, said = quiet(export_to_onnx, str(NER), str(self.tmp / "ner"), quantize=True)
        self.assertIsNone(found)
        steps = [line for line in said.splitlines() if line.startswith("[")]
        self.assertEqual(steps, ["[Step 1/4] Loading tokenizer...", "[Step 2/4] Exporting model to ONNX...", "[Step 3/4] Saving ONNX model...",
                                 "[Step 4/4] Copying label mappings...", "[Optional] Applying INT8 quantization..."])
        for name in ("model.onnx", "model_quantized.onnx", "vocab.txt", "label2id.json", "id2label.json"):
            self.assertTrue((self.tmp / "ner" / name).exists(), name)
        _, said = quiet(verify_onnx_model, self.tmp / "ner")
        for line in ('  - B-BUS_TYPE: "AC"', '  - B-SEAT_TYPE: "sleeper"', '  - B-SRC: "Bangalore"', '  - B-DEST: "Mumbai"', '  - B-DATE: "tomorrow"',
                     '  - B-OPERATOR: "VRL"', '  - B-BUS_TYPE: "Non-AC"', '  - B-SRC: "Chennai"', '  - B-DEST: "Hyderabad"', '  - B-DATE: "next"'):
            self.assertIn(line + "\n", said)
        self.assertLess(said.index("VERIFYING ONNX MODEL"), said.index("VERIFICATION COMPLETE"))

    def test_verify_of_other_tasks(self):
        for folder, words in (("pipelines/labels", "  - label: "), ("pipelines/masks", "  - masks: [{'word': "), ("sentence/mean", "  - dimensions: 16"),
                              ("speech/wav2vec2", "  - output_shape: [1, 7]")):
            with self.subTest(folder):
                _, said = quiet(verify_onnx_model, pathlib.Path("tests/golden", folder))
                self.assertIn(words, said)
                self.assertIn("VERIFICATION COMPLETE", said)

    def test_inference(self):
        ner = BusNERInference(self.exported, use_onnx=True)
        result = ner.extract("AC sleeper from Bangalore to Mumbai")
        self.assertEqual({key: value for key, value in result.items() if value},
                         {"SRC": "Bangalore", "DEST": "Mumbai", "BUS_TYPE": "AC", "SEAT_TYPE": "sleeper"})
        self.assertEqual(len(result), 9)
        self.assertEqual(ner.batch_extract(["", "bus to Goa"])[1]["DEST"], "Goa")
        self.assertEqual(ner.batch_extract(text for text in ["", "bus to Goa"])[1]["DEST"], "Goa")
        self.assertEqual(set(ner.extract("  ").values()), {None})
        for wrong in (ner.extract, ner.extract_detailed):
            with self.assertRaises(TypeError):
                wrong(None)
        query = "AC  sleeper\tfrom Bangalore"
        for entity in ner.extract_detailed(query)["raw_entities"]:
            self.assertEqual(query[entity["start"]:entity["end"]], entity["text"])


if __name__ == "__main__":
    unittest.main()
