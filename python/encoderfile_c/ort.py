# SPDX-License-Identifier: Apache-2.0
"""ORTModelFor… of Optimum: tensors in, tensors out, by the library's engine. numpy gives numpy, torch gives torch."""
from __future__ import annotations

import glob
import logging
import os
import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

from . import _core
from ._arrays import is_torch, numpy, torch
from ._folder import read_json
from ._source import source as find_model
from .errors import MissingError, UnsupportedError

logger = logging.getLogger(__name__)
_IGNORED = {"force_download", "local_files_only", "trust_remote_code", "cache_dir", "token", "use_auth_token", "provider_options",
            "session_options", "use_io_binding", "library_name", "task", "use_merged"}


class MissingFolderError(MissingError, ValueError):
    """No such folder: Optimum raises a ValueError here."""


class InputTypeError(TypeError, AttributeError):
    """An input that is no array: Optimum raises an AttributeError here."""


class MissingInputError(ValueError, TypeError):
    """An input that the graph has was not given: Optimum raises the one or the other."""


class Config:
    """config.json as attributes; id2label has numbers as keys."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = dict(data)
        labels = self._data.get("id2label")
        if isinstance(labels, dict):
            self._data["id2label"] = {int(key): value for key, value in labels.items()}

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("_data", {})
        if name in data:
            return data[name]
        if name == "num_labels":
            return len(data.get("id2label") or {}) or 2
        raise AttributeError(f"config.json has no {name!r}")

    def to_dict(self) -> dict[str, Any]:
        return dict(self._data)

    def __repr__(self) -> str:
        return f"Config {self._data}"


class ModelOutput(OrderedDict[str, Any]):
    """By name, by attribute, or by number."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self.values())


class BaseModelOutput(ModelOutput): ...
class BaseModelOutputWithPooling(ModelOutput): ...
class SequenceClassifierOutput(ModelOutput): ...
class TokenClassifierOutput(ModelOutput): ...
class QuestionAnsweringModelOutput(ModelOutput): ...
class MaskedLMOutput(ModelOutput): ...
class MultipleChoiceModelOutput(ModelOutput): ...
class ImageClassifierOutput(ModelOutput): ...
class SemanticSegmenterOutput(ModelOutput): ...
class CausalLMOutput(ModelOutput): ...
class XVectorOutput(ModelOutput): ...
class ZeroShotImageClassificationOutput(ModelOutput): ...


class ORTModel:
    """A graph with its config. from_pretrained makes one."""

    output_class: type[ModelOutput] = ModelOutput
    output_fields: tuple[str, ...] = ()   # empty: all that the graph gives
    positional: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids")
    main_input_name = "input_ids"

    def __init__(self, graph: _core.Graph, config: Config, model_path: str) -> None:
        self.graph = graph
        self.config = config
        self.model_path = Path(model_path)
        self.model_save_dir = self.model_path if self.model_path.is_dir() else self.model_path.parent
        self._inputs = {one["name"]: one for one in graph.inputs}
        self.input_names = {name: i for i, name in enumerate(self._inputs)}
        self.output_names = {one["name"]: i for i, one in enumerate(graph.outputs)}
        self.providers = ["CPUExecutionProvider"]
        self.use_io_binding = False
        self.device = "cpu"

    @property
    def dtype(self) -> str:
        return str(self.graph.outputs[0]["dtype"])

    # ---- opening and saving ----

    @classmethod
    def from_pretrained(cls, model_id: str | os.PathLike[str], config: Any = None, export: bool = False, subfolder: str = "",
                        revision: str | None = None, provider: str = "CPUExecutionProvider", providers: Any = None,
                        file_name: str | None = None, **options: Any) -> Any:
        """A folder with model.onnx or a checkpoint, an .onnx file, a model in the Hub's cache."""
        for name in [provider, *(providers or [])]:
            if not str(name).endswith("ExecutionProvider"):
                raise ValueError(f"Asked to use {name} as an ONNX Runtime execution provider, but the available execution providers are "
                                 "['CPUExecutionProvider'].")
        unknown = set(options) - _IGNORED - {"threads", "kernels", "precision"}
        if unknown:
            raise TypeError(f"from_pretrained() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        path = find_model(model_id, revision)
        if not os.path.exists(path):
            raise MissingFolderError(f"{path}: no such file or folder")
        folder = os.path.join(path, subfolder) if os.path.isdir(path) else path
        source = cls._source(folder, file_name, export)
        settings = {name: options[name] for name in ("threads", "kernels", "precision") if name in options}
        graph = _core.Graph(source, **settings)
        base = folder if os.path.isdir(folder) else os.path.dirname(folder)
        found = config.to_dict() if hasattr(config, "to_dict") else config
        found = found or read_json(base, "config.json") or read_json(path, "config.json") or {}
        return cls(graph, Config(found), source)

    @staticmethod
    def _source(folder: str, file_name: str | None, export: bool) -> str:
        if not os.path.isdir(folder):
            return folder
        if file_name is not None:
            path = os.path.join(folder, file_name)
            if not os.path.isfile(path):
                raise MissingError(f"{path}: no such file")
            return path
        if not export and not glob.glob(os.path.join(folder, "*.onnx")) and not glob.glob(os.path.join(folder, "onnx", "*.onnx")):
            logger.info("%s: no .onnx: the checkpoint is exported in memory", folder)
        return folder

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        """config.json and model.onnx."""
        os.makedirs(save_directory, exist_ok=True)
        if self.model_path.suffix == ".onnx":
            shutil.copyfile(self.model_path, os.path.join(save_directory, "model.onnx"))
        else:
            with tempfile.TemporaryDirectory() as made:
                _core.export(self.model_path, made)
                shutil.copyfile(os.path.join(made, "model.onnx"), os.path.join(save_directory, "model.onnx"))
        beside = self.model_save_dir / "config.json"
        if beside.is_file():
            shutil.copyfile(beside, os.path.join(save_directory, "config.json"))

    def to(self, *_: Any, **__: Any) -> Any:
        return self

    def eval(self) -> Any:
        return self

    def can_generate(self) -> bool:
        return False

    # ---- the call ----

    def __call__(self, *args: Any, return_dict: bool = True, **kwargs: Any) -> Any:
        return self.forward(*args, return_dict=return_dict, **kwargs)

    def forward(self, *args: Any, return_dict: bool = True, **kwargs: Any) -> Any:
        given = {**dict(zip(self.positional, args)), **kwargs}
        unknown = [name for name, value in given.items() if name not in self._inputs and value is not None]
        if unknown:
            logger.warning("%s: not taken by this graph: %s", type(self).__name__, ", ".join(unknown))
        tensors = any(is_torch(value) for value in given.values())
        feeds = {name: self._feed(name, given.get(name), tensors) for name in self._inputs}
        found = self.graph.run(feeds)
        arrays = {name: torch().from_numpy(one.numpy()) if tensors else one.numpy() for name, one in found.items()}
        return self._result(arrays, return_dict)

    def _feed(self, name: str, value: Any, tensors: bool) -> Any:
        np = numpy()
        if value is None:
            raise MissingInputError(f"Input {name} is required by model but not provided.")
        if is_torch(value) != tensors or not (is_torch(value) or isinstance(value, np.ndarray)):
            raise InputTypeError(f"{name}: found {type(value).__name__}, wanted all inputs as numpy arrays or all as torch tensors")
        array = value.detach().cpu().numpy() if tensors else value
        wanted = self._inputs[name]["dtype"]
        return np.ascontiguousarray(array, dtype=None if wanted == "bfloat16" else wanted)

    def _result(self, arrays: dict[str, Any], return_dict: bool) -> Any:
        names = [name for name in self.output_fields if name in arrays] or list(arrays)
        missing = [name for name in self.output_fields[:1] if name not in arrays]
        if missing:
            raise UnsupportedError(f"{type(self).__name__}: found a graph that gives {', '.join(arrays)}, wanted {missing[0]}")
        if not return_dict:
            return tuple(arrays[name] for name in names)
        return self.output_class((name, arrays[name]) for name in names)


class ORTModelForFeatureExtraction(ORTModel):
    output_class: type[ModelOutput] = BaseModelOutputWithPooling
    output_fields = ("last_hidden_state", "pooler_output")

    def _result(self, arrays: dict[str, Any], return_dict: bool) -> Any:
        self.output_class = BaseModelOutputWithPooling if "pooler_output" in arrays else BaseModelOutput
        return super()._result(arrays, return_dict)


class ORTModelForSequenceClassification(ORTModel):
    output_class, output_fields = SequenceClassifierOutput, ("logits",)


class ORTModelForTokenClassification(ORTModel):
    output_class, output_fields = TokenClassifierOutput, ("logits",)


class ORTModelForQuestionAnswering(ORTModel):
    output_class, output_fields = QuestionAnsweringModelOutput, ("start_logits", "end_logits")


class ORTModelForMaskedLM(ORTModel):
    output_class, output_fields = MaskedLMOutput, ("logits",)


class ORTModelForMultipleChoice(ORTModel):
    output_class, output_fields = MultipleChoiceModelOutput, ("logits",)


class ORTModelForImageClassification(ORTModel):
    output_class, output_fields = ImageClassifierOutput, ("logits",)
    positional, main_input_name = ("pixel_values",), "pixel_values"


class ORTModelForSemanticSegmentation(ORTModel):
    output_class, output_fields = SemanticSegmenterOutput, ("logits",)
    positional, main_input_name = ("pixel_values",), "pixel_values"


class ORTModelForZeroShotImageClassification(ORTModel):
    output_class = ZeroShotImageClassificationOutput
    output_fields = ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds")
    positional = ("input_ids", "pixel_values", "attention_mask")

    def _result(self, arrays: dict[str, Any], return_dict: bool) -> Any:
        return super()._result(arrays, True)  # as in Optimum, which knows no tuple here


class ORTModelForAudioClassification(ORTModel):
    output_class: type[ModelOutput] = SequenceClassifierOutput
    output_fields: tuple[str, ...] = ("logits",)
    positional, main_input_name = ("input_values", "attention_mask"), "input_values"


class ORTModelForAudioFrameClassification(ORTModelForAudioClassification):
    output_class = TokenClassifierOutput


class ORTModelForCTC(ORTModelForAudioClassification):
    output_class = CausalLMOutput


class ORTModelForAudioXVector(ORTModelForAudioClassification):
    output_class, output_fields = XVectorOutput, ("logits", "embeddings")


class ORTModelForCustomTasks(ORTModel):
    """Whatever the graph takes and gives."""
