# SPDX-License-Identifier: Apache-2.0
"""ORTModelFor… of Optimum: tensors in, tensors out, by the library's engine. numpy gives numpy, torch gives torch."""
from __future__ import annotations

import json
import logging
import mmap
import os
import re
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from . import _core
from ._arrays import cpu, has_torch, is_torch, numpy, torch
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
    """config.json as attributes; id2label has numbers as keys. Labels that it does not name are called LABEL_0, LABEL_1, ...,
    two of them where it does not say how many."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._written = dict(data)
        labels = data.get("id2label")
        if labels is None:
            count = data.get("num_labels")
            labels = {i: f"LABEL_{i}" for i in range(2 if count is None else count)}
        named = {int(key): value for key, value in labels.items()} if isinstance(labels, dict) else dict(enumerate(labels))
        back = data.get("label2id") or {value: key for key, value in named.items()}
        self._data = {"problem_type": None, "task_specific_params": None, "architectures": None, **data, "id2label": named, "label2id": back}

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("_data", {})
        if name == "num_labels" and data:
            return len(data["id2label"])
        if name in data:
            return data[name]
        raise AttributeError(f"config.json has no {name!r}")

    def to_dict(self) -> dict[str, Any]:
        return dict(self._data)

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        """config.json as it was read."""
        os.makedirs(save_directory, exist_ok=True)
        with open(os.path.join(save_directory, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self._written, file, indent=2, ensure_ascii=False)
            file.write("\n")

    def __repr__(self) -> str:
        return f"Config {self._data}"


class ModelOutput(OrderedDict[str, Any]):
    """By name, by attribute, or by number. A field that the graph does not give is None as an attribute, and no key."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __getattr__(self, name: str) -> Any:
        if name in self or name in self.fields:
            return self.get(name)
        raise AttributeError(name)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self.values())


class BaseModelOutput(ModelOutput):
    fields = ("last_hidden_state", "hidden_states", "attentions")


class BaseModelOutputWithPooling(ModelOutput):
    fields = ("last_hidden_state", "pooler_output", "hidden_states", "attentions")


class _TaskOutput(ModelOutput):
    fields = ("loss", "logits", "hidden_states", "attentions")


class SequenceClassifierOutput(_TaskOutput): ...
class TokenClassifierOutput(_TaskOutput): ...
class MaskedLMOutput(_TaskOutput): ...
class MultipleChoiceModelOutput(_TaskOutput): ...
class ImageClassifierOutput(_TaskOutput): ...
class SemanticSegmenterOutput(_TaskOutput): ...
class CausalLMOutput(_TaskOutput): ...


class QuestionAnsweringModelOutput(ModelOutput):
    fields = ("loss", "start_logits", "end_logits", "hidden_states", "attentions")


class XVectorOutput(ModelOutput):
    fields = ("loss", "logits", "embeddings", "hidden_states", "attentions")


class ZeroShotImageClassificationOutput(ModelOutput):
    fields = ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds")


PROVIDER = "CPUExecutionProvider"
TYPES = {"float32": "float", "float64": "double"}  # as ONNX names them; the others have numpy's names


class Session:
    """What code asks of onnxruntime's InferenceSession, answered by the graph."""

    def __init__(self, graph: _core.Graph, path: Path) -> None:
        self._graph = graph
        self._model_path = os.fspath(path)

    @staticmethod
    def _described(tensors: list[dict[str, Any]]) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=one["name"], shape=list(one["shape"]), type=f"tensor({TYPES.get(one['dtype'], one['dtype'])})")
                for one in tensors]

    def get_inputs(self) -> list[SimpleNamespace]:
        return self._described(self._graph.inputs)

    def get_outputs(self) -> list[SimpleNamespace]:
        return self._described(self._graph.outputs)

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {PROVIDER: {}}

    def run(self, output_names: list[str] | None, input_feed: dict[str, Any], run_options: Any = None) -> list[Any]:
        found = self._graph.run(input_feed, output_names)
        return [found[name].numpy() for name in output_names or found]


def _onnx_file(folder: str) -> Path | None:
    """The file that Optimum takes of a folder: the outermost model.onnx, else the first .onnx. None: there is none."""
    found = [path for path in Path(folder).glob("**/*.onnx") if path.is_file()]
    return min(found, key=lambda path: (path.name != "model.onnx", len(path.parts), path), default=None)


def _external_data(onnx: Path) -> list[str]:
    """Files beside it that hold its weights, by the names that its tensors give them: entries "location", of a varint and as many bytes."""
    with open(onnx, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = re.finditer(rb"\n\x08location\x12([\x80-\xff]?[\x00-\x7f])", data)
        spans = {(one.end(), sum((byte & 127) << 7 * i for i, byte in enumerate(one[1]))) for one in found}
        names = {os.fsdecode(data[at:at + size]) for at, size in spans}
    inside = {name for name in names if "\0" not in name and not Path(name).is_absolute() and ".." not in Path(name).parts}
    return sorted(name for name in inside if (onnx.parent / name).is_file())


def _copy_onnx(onnx: Path, folder: str | os.PathLike[str]) -> None:
    for name in (onnx.name, *_external_data(onnx)):
        to = Path(folder) / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if not (to.exists() and to.samefile(onnx.parent / name)):
            shutil.copyfile(onnx.parent / name, to)


class ORTModel:
    """A graph with its config. from_pretrained makes one."""

    output_class: type[ModelOutput] = ModelOutput
    output_fields: tuple[str, ...] = ()   # empty: all that the graph gives
    positional: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids")
    main_input_name = "input_ids"
    filled: Mapping[str, int] = {"token_type_ids": 0}   # inputs that may be missing, and the number that stands in all of their places
    model_type = "onnx_model"

    def __init__(self, graph: _core.Graph, config: Config, path: str) -> None:
        self.graph = graph
        self.config = config
        self.path = Path(path)   # the .onnx; of a checkpoint, which was exported in memory, its folder
        self.model_save_dir = self.path if self.path.is_dir() else self.path.parent
        self.session = self.model = Session(graph, self.path)
        self.preprocessors: list[Any] = []
        self._inputs = {one["name"]: one for one in graph.inputs}
        self.input_names, self.input_shapes, self.input_dtypes = self._tables(self.session.get_inputs())
        self.output_names, self.output_shapes, self.output_dtypes = self._tables(self.session.get_outputs())
        self.providers, self.provider = self.session.get_providers(), PROVIDER
        self.provider_options = self.session.get_provider_options()
        self.provider_option = self.provider_options[PROVIDER]
        self.use_io_binding = False

    @staticmethod
    def _tables(tensors: list[SimpleNamespace]) -> tuple[dict[str, int], dict[str, Any], dict[str, str]]:
        """Places, shapes and types by name."""
        return ({one.name: i for i, one in enumerate(tensors)}, {one.name: one.shape for one in tensors}, {one.name: one.type for one in tensors})

    @property
    def model_path(self) -> Path:
        return self.path

    @property
    def model_name(self) -> str:
        return self.path.name

    @property
    def device(self) -> Any:
        """torch's, where that is installed."""
        return cpu()

    @property
    def dtype(self) -> Any:
        """Of the first input or output that holds floats: torch's, where that is installed, else its name."""
        kinds = [one["dtype"] for one in [*self.graph.inputs, *self.graph.outputs] if "float" in one["dtype"]]
        name = kinds[0] if kinds else "float32"
        return getattr(torch(), name) if has_torch() else name

    # ---- opening and saving ----

    @classmethod
    def from_pretrained(cls, model_id: str | os.PathLike[str], config: Any = None, export: bool = False, subfolder: str = "",
                        revision: str | None = None, provider: str = PROVIDER, providers: Any = None,
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
        source = cls._source(folder, file_name)
        settings = {name: options[name] for name in ("threads", "kernels", "precision") if name in options}
        graph = _core.Graph(source, **settings)
        base = folder if os.path.isdir(folder) else os.path.dirname(folder)
        found = config.to_dict() if hasattr(config, "to_dict") else config
        found = found or read_json(base, "config.json") or read_json(path, "config.json") or {}
        return cls(graph, Config(found), source)

    @staticmethod
    def _source(folder: str, file_name: str | None) -> str:
        if not os.path.isdir(folder):
            return folder
        if file_name is not None:
            path = os.path.join(folder, file_name)
            if not os.path.isfile(path):
                raise MissingError(f"{path}: no such file")
            return path
        onnx = _onnx_file(folder)
        if onnx is None:
            logger.info("%s: no .onnx: the checkpoint is exported in memory", folder)
        return folder if onnx is None else str(onnx)

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        """config.json, the .onnx, and the files that hold its weights, if there are any."""
        self.config.save_pretrained(save_directory)
        if self.path.suffix == ".onnx":
            _copy_onnx(self.path, save_directory)
            return
        with tempfile.TemporaryDirectory() as made:
            _core.export(self.path, made)
            _copy_onnx(Path(made) / "model.onnx", save_directory)

    def to(self, *args: Any, **options: Any) -> Any:
        from ._encoder import check_device

        for one in (*args, options.get("device")):
            if isinstance(one, (str, int)) or type(one).__name__ == "device":
                check_device(one)
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
        self._fill(given)
        feeds = {name: self._feed(name, given.get(name), tensors) for name in self._inputs}
        found = self.graph.run(feeds)
        arrays = {name: torch().from_numpy(one.numpy()) if tensors else one.numpy() for name, one in found.items()}
        return self._result(arrays, return_dict)

    def _fill(self, given: dict[str, Any]) -> None:
        """Inputs that are missing and may be, of the ids' shape and kind."""
        ids = given.get("input_ids")
        for name, number in self.filled.items():
            if ids is not None and name in self._inputs and given.get(name) is None:
                given[name] = ids * 0 + number if is_torch(ids) else numpy().full_like(ids, number)

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
    filled = {"attention_mask": 1}

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

    filled: Mapping[str, int] = {}
