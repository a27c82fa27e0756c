# SPDX-License-Identifier: Apache-2.0
"""What an exporter knows of a model, and what an ONNX file says of itself."""
from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import _core
from .._source import source

logger = logging.getLogger(__name__)

CONFIG_KEYS = ("architectures", "model_type", "hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size", "num_labels",
               "id2label", "label2id", "task_specific_params")
# Parts of a class's name, the first that fits.
TASK_OF_CLASS = (
    ("ForSequenceClassification", "text-classification"), ("ForTokenClassification", "token-classification"),
    ("ForDocumentQuestionAnswering", "document-question-answering"), ("ForVisualQuestionAnswering", "visual-question-answering"),
    ("ForQuestionAnswering", "question-answering"), ("ForMaskedLM", "fill-mask"), ("ForPreTraining", "fill-mask"),
    ("ForMultipleChoice", "multiple-choice"), ("ForZeroShotObjectDetection", "zero-shot-object-detection"),
    ("ForObjectDetection", "object-detection"), ("ForSemanticSegmentation", "image-segmentation"),
    ("ForInstanceSegmentation", "image-segmentation"), ("ForUniversalSegmentation", "image-segmentation"),
    ("ForImageSegmentation", "image-segmentation"), ("ForZeroShotImageClassification", "zero-shot-image-classification"),
    ("ForImageClassification", "image-classification"), ("ForVideoClassification", "video-classification"),
    ("ForDepthEstimation", "depth-estimation"), ("ForAudioFrameClassification", "audio-frame-classification"),
    ("ForAudioClassification", "audio-classification"), ("ForXVector", "audio-xvector"), ("ForCTC", "automatic-speech-recognition"),
    ("ForSpeechSeq2Seq", "automatic-speech-recognition"), ("VisionEncoderDecoder", "image-to-text"),
    ("ForConditionalGeneration", "text2text-generation"), ("ForSeq2SeqLM", "text2text-generation"), ("ForCausalLM", "text-generation"),
    ("LMHeadModel", "text-generation"), ("CLIPModel", "zero-shot-image-classification"), ("SiglipModel", "zero-shot-image-classification"),
)
AUDIO_SEQUENCE = ("Wav2Vec2", "Hubert", "WavLM", "UniSpeech", "SEW", "Whisper", "Data2VecAudio")


def task_of_class(name: str) -> str:
    """The task of an architecture; one that is not known extracts features."""
    if "ForSequenceClassification" in name and name.startswith(AUDIO_SEQUENCE):
        return "audio-classification"
    return next((task for part, task in TASK_OF_CLASS if part in name), "feature-extraction")


def config_of(model: Any) -> dict[str, Any]:
    """config.json of a folder, of a dict, or of an object of transformers."""
    if isinstance(model, Mapping):
        return dict(model)
    if isinstance(model, (str, os.PathLike)):
        with open(Path(source(model)) / "config.json", encoding="utf-8") as file:
            return dict(json.load(file))
    config = getattr(model, "config", model)
    return dict(config.to_dict())


class MetadataExtractor:
    """Models are folders, names on the Hub, dicts of a config, or objects with a `config`."""

    def extract_model_config(self, model: Any) -> dict[str, Any]:
        config = config_of(model)
        labels = config.get("id2label")
        found = {key: config.get(key) for key in CONFIG_KEYS}
        found["architectures"] = found["architectures"] or []
        found["task_specific_params"] = found["task_specific_params"] or {}
        found["num_labels"] = found["num_labels"] if found["num_labels"] is not None else len(labels) if labels else None
        return found

    def extract_processor_config(self, processor: Any) -> dict[str, Any]:
        """Of a folder, or of a tokenizer, an image processor or a feature extractor."""
        if isinstance(processor, (str, os.PathLike)):
            return self._of_folder(Path(source(processor)))
        if hasattr(processor, "model_max_length"):
            special = getattr(processor, "special_tokens_map", {})
            return {"processor_type": "AutoTokenizer", "tokenizer_class": type(processor).__name__, "tokenizer_kwargs": {},
                    "do_lower_case": getattr(processor, "do_lower_case", None), "max_length": processor.model_max_length,
                    "padding": "max_length", "truncation": True, "model_max_length": processor.model_max_length,
                    "special_tokens": {key: str(value) for key, value in special.items() if isinstance(value, str)}}
        settings = processor.to_dict() if hasattr(processor, "to_dict") else dict(vars(processor))
        kind = "AutoFeatureExtractor" if "sampling_rate" in settings else "AutoImageProcessor" if "image_mean" in settings else "AutoProcessor"
        return {"processor_type": kind, **settings}

    @staticmethod
    def _of_folder(folder: Path) -> dict[str, Any]:
        def read(name: str) -> dict[str, Any]:
            path = folder / name
            return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}

        picture = read("preprocessor_config.json") or read("processor_config.json")
        if picture:
            kind = "AutoFeatureExtractor" if "sampling_rate" in picture else "AutoImageProcessor"
            return {"processor_type": kind, **picture}
        tokenizer = read("tokenizer_config.json")
        most = tokenizer.get("model_max_length")
        roles = ("unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
        special = {**tokenizer, **read("special_tokens_map.json")}
        named = {role: special[role]["content"] if isinstance(special[role], dict) else special[role] for role in roles if special.get(role)}
        return {"processor_type": "AutoTokenizer", "tokenizer_class": tokenizer.get("tokenizer_class"), "tokenizer_kwargs": {},
                "do_lower_case": tokenizer.get("do_lower_case"), "max_length": most, "padding": "max_length", "truncation": True,
                "model_max_length": most, "special_tokens": named}

    def detect_task_type(self, model: Any) -> str:
        names = config_of(model).get("architectures") or [""]
        return task_of_class(names[0])

    def extract_all(self, model: Any, processor: Any = None) -> dict[str, Any]:
        if processor is None and isinstance(model, (str, os.PathLike)):
            processor = model
        return {"model_config": self.extract_model_config(model),
                "processor_config": self.extract_processor_config(processor) if processor is not None else {},
                "task": self.detect_task_type(model)}


class ONNXMetadataReader:
    """Reads the hf_ metadata of an ONNX file; its weights are not read."""

    def __init__(self, cache_metadata: bool = True) -> None:
        self.cache_metadata = cache_metadata
        self._cache: dict[str, dict[str, Any] | None] = {}

    def read_metadata(self, onnx_path: str | os.PathLike[str]) -> dict[str, Any] | None:
        """Key to value, without the prefix; None: there are none, or they cannot be read (a warning says why)."""
        try:
            key = os.fspath(onnx_path)
            if self.cache_metadata and key in self._cache:
                return self._cache[key]
            found = {name: value for name, value in _core.metadata(key).items() if name not in ("valid", "warnings", "problems")} or None
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            logger.warning("Failed to read metadata: %s", error)
            return None
        if self.cache_metadata:
            self._cache[key] = found
        return found
