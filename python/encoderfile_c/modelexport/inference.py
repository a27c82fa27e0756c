# SPDX-License-Identifier: Apache-2.0
"""Pipelines by an ONNX file alone, the class for a folder, and entities as a dict."""
from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import _core, ort
from .._source import source
from ..pipelines import Pipeline
from ..pipelines import pipeline as make_pipeline
from .errors import ConfigurationError
from .metadata import ONNXMetadataReader, config_of, task_of_class

logger = logging.getLogger(__name__)

TEXT_TASKS = ("feature-extraction", "text-classification", "sentiment-analysis", "token-classification", "ner", "question-answering", "fill-mask",
              "zero-shot-classification", "sentence-similarity", "text-ranking", "sentence-embedding", "sparse-embedding", "multiple-choice")
VISION_TASKS = ("image-classification", "image-segmentation", "object-detection", "image-feature-extraction", "depth-estimation", "image-to-image",
                "mask-generation", "image-embedding")
AUDIO_TASKS = ("audio-classification", "automatic-speech-recognition", "asr", "audio-feature-extraction", "voice-activity-detection")
MULTIMODAL_TASKS = ("document-question-answering", "visual-question-answering", "vqa", "zero-shot-image-classification", "image-to-text")
NAMES = {"asr": "automatic-speech-recognition", "named-entity-recognition": "token-classification", "sentiment-analysis": "text-classification"}
CUT: dict[str, dict[str, Any]] = {"text-classification": {"truncation": True}, "feature-extraction": {"truncation": True},
                                "fill-mask": {"tokenizer_kwargs": {"truncation": True}}}


def _parameter_of(task: str, processor: Any) -> str:
    """Which keyword of pipeline() a processor belongs to: by its own kind, else by the task."""
    name = type(processor).__name__
    kind = getattr(processor, "modality_type", None)
    if kind is not None:
        return {"text": "tokenizer", "image": "image_processor", "audio": "feature_extractor"}.get(kind, "processor")
    for part, parameter in (("Tokenizer", "tokenizer"), ("ImageProcessor", "image_processor"), ("FeatureExtractor", "feature_extractor"),
                            ("AudioProcessor", "feature_extractor"), ("Processor", "processor")):
        if part in name:
            return parameter
    for tasks, parameter in ((VISION_TASKS, "image_processor"), (AUDIO_TASKS, "feature_extractor"), (MULTIMODAL_TASKS, "processor")):
        if task in tasks:
            return parameter
    return "tokenizer"


def _path_of(processor: Any) -> str | None:
    """The files behind a processor that is not the model's own."""
    for attribute in ("hf_model_path", "onnx_model_path", "name_or_path", "processor", "extractor", "tokenizer"):
        value = getattr(processor, attribute, None)
        if isinstance(value, (str, os.PathLike)) and os.fspath(value):
            return os.fspath(value)
    return None


def create_pipeline(task: str, model: Any, data_processor: Any = None, **kwargs: Any) -> Pipeline:
    """A pipeline whose processor goes where the task wants it: tokenizer, image_processor, feature_extractor or processor.

    Fixed shapes are kept by the library itself: a processor is taken for the files it was made from, and for whether it cuts texts
    (one of a fixed length does)."""
    task = NAMES.get(task, task)
    parameter = None
    if data_processor is not None:
        parameter = _parameter_of(task, data_processor)
        path = os.fspath(data_processor) if isinstance(data_processor, (str, os.PathLike)) else _path_of(data_processor)
        if path is not None and not path.endswith(".onnx"):
            kwargs.setdefault(parameter, path)
        if getattr(data_processor, "sequence_length", None) and parameter == "tokenizer":
            kwargs = {**CUT.get(task, {}), **kwargs}
    pipe = make_pipeline(task, model, **kwargs)
    if parameter is not None:
        setattr(pipe, parameter, data_processor)
    return pipe


def _onnx_of(model: Any) -> str | None:
    if not isinstance(model, (str, os.PathLike)):
        return None
    path = Path(source(model))
    return str(path / "model.onnx") if (path / "model.onnx").is_file() else str(path) if path.suffix == ".onnx" else None


def _infer_task(model: Any) -> str:
    folder = Path(source(model))
    return task_of_class((config_of(folder if folder.is_dir() else folder.parent).get("architectures") or [""])[0])


def pipeline(task: str | None = None, model: Any = None, processor: Any = None, **kwargs: Any) -> Pipeline:
    """As create_pipeline; without a task, the one that the ONNX file names. force_task_detection=True takes the architecture's."""
    force = kwargs.pop("force_task_detection", False)
    if task is None:
        onnx = _onnx_of(model)
        metadata = ONNXMetadataReader().read_metadata(onnx) if onnx else None
        if metadata and metadata.get("pipeline_task"):
            task = str(metadata["pipeline_task"])
            logger.info("Auto-detected task: %s", task)
        elif force:
            task = _infer_task(model)
        else:
            raise ValueError("Task not specified and model lacks metadata. "
                             "Please specify task explicitly or use a model with embedded metadata.")
    return create_pipeline(task, model, processor, **kwargs)


ORT_CLASSES = {
    "feature-extraction": ort.ORTModelForFeatureExtraction, "text-classification": ort.ORTModelForSequenceClassification,
    "token-classification": ort.ORTModelForTokenClassification, "question-answering": ort.ORTModelForQuestionAnswering,
    "fill-mask": ort.ORTModelForMaskedLM, "multiple-choice": ort.ORTModelForMultipleChoice,
    "image-classification": ort.ORTModelForImageClassification, "image-segmentation": ort.ORTModelForSemanticSegmentation,
    "zero-shot-image-classification": ort.ORTModelForZeroShotImageClassification, "audio-classification": ort.ORTModelForAudioClassification,
    "audio-frame-classification": ort.ORTModelForAudioFrameClassification, "audio-xvector": ort.ORTModelForAudioXVector,
    "automatic-speech-recognition": ort.ORTModelForCTC, "object-detection": ort.ORTModelForCustomTasks,
    "document-question-answering": ort.ORTModelForQuestionAnswering,
}


class AutoModelForONNX:
    """The ORTModelFor... class that a folder is for."""

    @staticmethod
    def from_pretrained(model_dir: str | os.PathLike[str], task: str | None = None, **kwargs: Any) -> Any:
        folder = Path(source(model_dir))
        if not (folder / "config.json").is_file():
            raise ConfigurationError(f"{folder}: config.json is missing. Export the model with its configuration files: export_with_config")
        task = task or AutoModelForONNX.detect_task(folder)
        if task not in ORT_CLASSES:
            raise ValueError(f"task: found {task!r}, wanted one of {', '.join(sorted(ORT_CLASSES))}")
        return ORT_CLASSES[task].from_pretrained(folder, **kwargs)

    @staticmethod
    def detect_task(folder: Path) -> str:
        config = config_of(folder)
        if config.get("task"):
            return str(config["task"])
        names = config.get("architectures") or []
        if names:
            return task_of_class(names[0])
        if (folder / "task.txt").is_file():
            return (folder / "task.txt").read_text("utf-8").strip()
        logger.warning("%s: nothing names its task, taken for feature-extraction", folder)
        return "feature-extraction"


class BusNERInference:
    """Entities of a query. use_onnx is taken and ignored: the answers are the same."""

    def __init__(self, model_dir: str | os.PathLike[str], use_onnx: bool = True) -> None:
        self.model = _core.Model(source(model_dir))
        self.labels = self.model.info()["labels"]

    def _types(self) -> list[str]:
        names: dict[str, None] = {}
        for label in self.labels:
            if label != "O":
                names[label.split("-", 1)[-1]] = None
        return list(names)

    def extract(self, query: str) -> dict[str, str | None]:
        """Type to text, for every type; None where there is none."""
        return self.batch_extract([query])[0]

    def batch_extract(self, queries: Iterable[str]) -> list[dict[str, str | None]]:
        queries = list(queries)
        for query in queries:
            if not isinstance(query, str):
                raise TypeError(f"query: found {type(query).__name__}, wanted a text")
        asked = [query for query in queries if query.strip()]
        found = iter(self.model.predict(asked, {"extract": True})["results"] if asked else [])
        return [dict(next(found)["extracted"]) if query.strip() else dict.fromkeys(self._types()) for query in queries]

    def extract_detailed(self, query: str) -> dict[str, Any]:
        """With each entity's text, label and place in the query, in characters."""
        entities = self.extract(query)
        rows = self.model.run("ner", [query], {"aggregation_strategy": "first"}) if query.strip() else []
        raw = [{"text": query[row["start"]:row["end"]], "label": row["entity_group"], "start": row["start"], "end": row["end"]} for row in rows]
        return {"query": query, "entities": entities, "raw_entities": raw}
