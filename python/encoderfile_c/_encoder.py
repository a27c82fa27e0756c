# SPDX-License-Identifier: Apache-2.0
"""What SentenceTransformer, CrossEncoder and SparseEncoder have in common: the model, prompts, lengths, pools, devices."""
from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from . import _core
from ._arrays import has_torch, numpy, torch
from ._folder import read_json
from ._modules import Module, modules_of
from ._saving import change_json, copy_model, write_modules
from ._source import LOADING, source
from .errors import UnsupportedError
from .ort import Config
from .tokenization import PreTrainedTokenizer

logger = logging.getLogger("encoderfile_c")
CHUNK = 1024  # texts of one call of the library, which batches them itself
# Keys that change no number: these are of tokenizers, or are looked at elsewhere.
_NO_EFFECT = LOADING | {"clean_up_tokenization_spaces", "from_slow", "legacy", "model_max_length", "padding_side", "revision", "subfolder",
                        "truncation_side", "use_fast"}
_OPTIONS = ("threads", "replicas", "kernels", "tokenizer", "processor", "pooling", "normalize", "precision")


def is_column(value: Any) -> bool:
    """What a dataset of Hugging Face's datasets has under a name: dataset["text"]."""
    return type(value).__name__ == "Column" and type(value).__module__.startswith("datasets.")


def is_texts(value: Any) -> bool:
    """A batch, not one input: a list, a tuple, an array of str, a column of a dataset."""
    return isinstance(value, (list, tuple)) or is_column(value) or (hasattr(value, "dtype") and getattr(value, "ndim", 0) >= 1
                                                                        and value.dtype.kind in "UO")


class ModelCard:
    """The three fields that evaluations read."""

    def __init__(self, name: str) -> None:
        self.model_name: str | None = name
        self.base_model: str | None = None
        self.base_model_revision: str | None = None


def check_device(device: Any) -> None:
    """ValueError: a device, or one of a list of them, that is not the CPU."""
    for one in device if isinstance(device, (list, tuple)) else (device,):
        if one is not None and str(one) not in ("cpu", "cpu:0"):
            raise ValueError(f"device: found {one!r}, wanted \"cpu\": this library runs on CPUs only")


class BaseEncoder:
    model_type = ""               # the class that saved files name
    task: str | None = None       # what the model is opened for; None: what its files say
    torch_results = False         # True: what sentence-transformers returns as torch tensors is torch tensors where it is installed
    training = False
    usual_prompts: tuple[str, ...] = ()
    usual_modules: dict[str, dict[str, Any]] = {"Transformer": {}}  # those of a folder without modules.json, and their settings

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, device: Any = None, prompts: dict[str, str] | None = None,
                 default_prompt_name: str | None = None, cache_folder: str | None = None, trust_remote_code: bool = False,
                 revision: str | None = None, local_files_only: bool = False, token: Any = None,
                 model_kwargs: dict[str, Any] | None = None, processor_kwargs: dict[str, Any] | None = None,
                 config_kwargs: dict[str, Any] | None = None, model_card_data: Any = None, backend: str = "torch",
                 tokenizer_kwargs: dict[str, Any] | None = None, **unknown: Any) -> None:
        if unknown:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {next(iter(unknown))!r}")
        if backend not in ("torch", "onnx", "openvino"):
            raise ValueError(f"Unsupported backend: {backend}. Backend must be one of 'torch', 'onnx', 'openvino'.")
        check_device(device)
        self.model_name_or_path = os.fspath(model_name_or_path)
        self.backend = backend
        self._path = source(model_name_or_path, revision)
        self._options = {name: value for name, value in (model_kwargs or {}).items() if name in _OPTIONS}
        self._handle: _core.Model | None = None
        self._pid = 0
        self._tokenizer: PreTrainedTokenizer | None = None
        self.model  # opened now, so that what is wrong with it is said now
        self._info = self.model.info()
        self._settings: dict[str, Any] = read_json(self._path, "config_sentence_transformers.json") or self._packaged_settings()
        self._own_prompts: dict[str, str] = dict(self._settings.get("prompts") or {})
        self._own_default: str | None = self._settings.get("default_prompt_name")
        self.prompts: dict[str, str] = self._all_prompts(prompts or {})
        self.default_prompt_name = default_prompt_name or self._own_default
        if self.default_prompt_name is not None and self.default_prompt_name not in self.prompts:
            raise ValueError(f"Default prompt name '{self.default_prompt_name}' not found in the configured prompts dictionary with "
                             f"keys {list(self.prompts)!r}.")
        processing = {**(tokenizer_kwargs or {}), **(processor_kwargs or {})}
        self._check_settings("processor_kwargs", processing, "tokenizer_config.json")
        self._check_settings("config_kwargs", config_kwargs or {}, "config.json")
        self._own_length: int | None = processing.get("model_max_length")
        self._told: int | None = None   # what the tokenizer was told of it
        self._side: str | None = processing.get("truncation_side")
        self._longest: int = self._info["max_tokens"]
        self.model_card_data = model_card_data or ModelCard(self.model_name_or_path)

    def _check_settings(self, name: str, given: dict[str, Any], file: str) -> None:
        """Refuses what would make another model of it than its files do."""
        own = {"num_labels": len(self._info["labels"]), **(read_json(self._path, file) or {})}
        for key, value in given.items():
            if key not in _NO_EFFECT and (key not in own or own[key] != value):
                raise UnsupportedError(f"{name}: found {key}={value!r}, wanted {own.get(key)!r}: a model is run as its files say, and {file} says so")

    def _packaged_settings(self) -> dict[str, Any]:
        """Of a package its prompts, the default one's name, and whether their tokens count."""
        made = _core.inspect(self._path).get("vector") if os.path.isfile(self._path) else None
        if made is None:
            return {}
        prompts: dict[str, str] = made["prompts"] or {}
        usual = next((name for name, text in prompts.items() if text == made["prompt"]), None)
        return {"prompts": prompts, "default_prompt_name": usual, "include_prompt": made["include_prompt"]}

    def _all_prompts(self, given: dict[str, str]) -> dict[str, str]:
        """The usual names, what was given, and of the model's file what neither has."""
        named: dict[str, str | None] = {**dict.fromkeys(self.usual_prompts), **given}
        for name, text in self._own_prompts.items():
            if named.get(name) is None:
                named[name] = text
        return {name: text or "" for name, text in named.items()}

    # ---- the model ----

    @property
    def model(self) -> _core.Model:
        """Open in this process: a child of fork opens its own."""
        if self._handle is None or self._pid != os.getpid():
            self._handle = _core.Model(self._path, task=self.task, **self._options)
            self._pid = os.getpid()
            self._tokenizer = None
        return self._handle

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own_length": self._length, "_handle": None, "_tokenizer": None, "_reference": None}

    @property
    def tokenizer(self) -> PreTrainedTokenizer:
        model = self.model
        if self._tokenizer is None:
            if model.tokenizer is None:
                raise AttributeError("this model reads no texts")
            length = self.max_seq_length
            self._tokenizer = PreTrainedTokenizer(model.tokenizer)
            self._tokenizer.name_or_path = self._path
            self._files_side = self._tokenizer.truncation_side
            self._tokenizer.truncation_side = self._side or self._files_side
            if length:
                self._tokenizer.model_max_length = length
            self._told = self._tokenizer.model_max_length
        return self._tokenizer

    @property
    def _length(self) -> int | None:
        """The length that was set, here or at the tokenizer."""
        if self._tokenizer is not None and self._tokenizer.model_max_length != self._told:
            return self._tokenizer.model_max_length
        return self._own_length

    def _cuts_otherwise(self) -> bool:
        """Whether texts are to be cut at another end than the model's files say."""
        return bool(self._side or self._tokenizer) and self.tokenizer.truncation_side != self._files_side

    @property
    def max_seq_length(self) -> int | None:
        return self._length if self._length is not None else self._longest

    @max_seq_length.setter
    def max_seq_length(self, value: int | None) -> None:
        self._own_length = value
        if value and self._tokenizer is not None:
            self._tokenizer.model_max_length = self._told = value

    def get_max_seq_length(self) -> int | None:
        return self.max_seq_length

    @property
    def dtype(self) -> Any:
        return torch().float32 if self.torch_results and has_torch() else "float32"

    @property
    def device(self) -> Any:
        return torch().device("cpu") if self.torch_results and has_torch() else "cpu"

    _target_device = device

    @property
    def config(self) -> Any:
        """config.json as attributes; None of a package."""
        found = read_json(self._path, "config.json")
        return None if found is None else Config(found)

    # ---- its modules: names and settings ----

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return iter(modules_of(self, self._path, self.usual_modules).items())

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    __iter__ = children

    def __len__(self) -> int:
        return len(list(self.children()))

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"  ({name}): {module}" for name, module in self.named_children()), ")"])

    def _first_module(self) -> Module:
        return self[0]

    def _last_module(self) -> Module:
        return self[-1]

    # ---- as of a torch module; nothing here is trained, and all is float32 on the CPU ----

    def to(self, *args: Any, **options: Any) -> Any:
        for one in (*args, options.get("device")):
            if isinstance(one, (str, int)) or type(one).__name__ == "device":
                check_device(one)
        return self

    def cuda(self, device: Any = None) -> Any:
        return self.to("cuda" if device is None else device)

    def eval(self) -> Any:
        return self

    def train(self, mode: bool = True) -> Any:
        return self._untrained(mode, "train()")

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        return self._untrained(requires_grad, "requires_grad_()")

    def _untrained(self, asked: bool, name: str) -> Any:
        if asked:
            raise UnsupportedError(f"{name}: this library runs models and does not train them")
        return self

    cpu = half = float = to

    def evaluate(self, evaluator: Any, output_path: str | None = None) -> Any:
        """What the evaluator returns, which is called with this model."""
        if output_path is not None:
            os.makedirs(output_path, exist_ok=True)
        return evaluator(self, output_path)

    # ---- saving ----

    def save(self, path: str | os.PathLike[str], model_name: str | None = None, create_model_card: bool = True,
             train_datasets: list[str] | None = None, safe_serialization: bool = True) -> None:
        """The model's files, with prompts and the other settings as they are now. A README.md is copied, none is written."""
        lost = {"pooling", "normalize"} & set(self._options)
        if lost:
            raise UnsupportedError(f"model_kwargs: found {sorted(lost)}, which no file of the model says: open it without them to save it")
        copy_model(self._path, path)
        write_modules(path, self._saved_modules())
        change_json(path, "config_sentence_transformers.json", self._saved_settings())
        if self._length is not None:
            change_json(path, "tokenizer_config.json", {"model_max_length": self._length})
            change_json(path, "sentence_bert_config.json", {"max_seq_length": self._length}, only_there=True)

    def save_pretrained(self, path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        self.save(path, *args, **options)

    def _saved_settings(self) -> dict[str, Any]:
        return {"model_type": self.model_type, "prompts": self.prompts, "default_prompt_name": self.default_prompt_name}

    def _saved_modules(self) -> list[tuple[str, str, dict[str, Any]]]:
        """What modules.json gets, where there is none: a path, a class, settings."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the model's memory."""
        if self._handle is not None:
            self._handle.close()

    # ---- prompts ----

    def _resolve_prompt(self, prompt: str | None, prompt_name: str | None) -> str | None:
        if prompt is not None:
            return prompt
        if prompt_name is not None:
            if prompt_name not in self.prompts:
                raise ValueError(f"Prompt name '{prompt_name}' not found in the configured prompts dictionary with keys "
                                 f"{list(self.prompts)!r}.")
            return self.prompts[prompt_name]
        return None if self.default_prompt_name is None else self.prompts.get(self.default_prompt_name)

    def _prompt_params(self, prompt: str) -> tuple[dict[str, Any] | None, bool]:
        """How the library is told: its params, and whether it knows this prompt at all."""
        default = self._own_prompts.get(self._own_default or "", "") or ""
        if prompt == default:
            return None, True
        for name, text in self._own_prompts.items():
            if text == prompt:
                return {"prompt_name": name}, True
        return None, False

    # ---- pools of processes: one process uses all cores, so there is nothing to start ----

    def start_multi_process_pool(self, target_devices: Any = None) -> dict[str, Any]:
        check_device(target_devices)
        return {"input": None, "output": None, "processes": []}

    @staticmethod
    def stop_multi_process_pool(pool: Any) -> None:
        return None

    # ---- small things of calls ----

    def _texts(self, inputs: Any) -> list[Any]:
        """A batch as a list of str and pairs of str."""
        rows = inputs.tolist() if hasattr(inputs, "tolist") else list(inputs)
        return [self._text(one) for one in rows]

    @staticmethod
    def _text(one: Any) -> Any:
        if isinstance(one, str):
            return one
        if isinstance(one, dict) and isinstance(one.get("text"), str) and len(one) == 1:
            return one["text"]
        if isinstance(one, (list, tuple)) and len(one) == 2 and all(isinstance(part, str) for part in one):
            return (one[0], one[1])
        raise ValueError(f"Unsupported input type: {type(one).__name__}. Expected a str, a pair of str or {{'text': str}}.")

    @staticmethod
    def _check_batch(batch_size: int) -> None:
        if batch_size <= 0:
            raise ValueError(f"batch_size must be a positive integer, got {batch_size}.")

    def _check_kwargs(self, name: str, kwargs: dict[str, Any]) -> int | None:
        """The length that processing_kwargs asks for; other keywords are refused."""
        unused = set(kwargs) - {"task", "processing_kwargs"}
        if unused:
            raise ValueError(f"{type(self).__name__}.{name}() has been called with additional keyword arguments that this model does "
                             f"not use: {list(unused)}. As per {type(self).__name__}.get_model_kwargs(), this model does not accept "
                             "any additional keyword arguments.")
        return self._asked_length(kwargs)

    @staticmethod
    def _asked_length(kwargs: dict[str, Any]) -> int | None:
        asked = (kwargs.get("processing_kwargs") or {}).get("text") or {}
        return asked.get("max_length")

    def get_model_kwargs(self) -> list[str]:
        return []

    @property
    def modalities(self) -> list[str]:
        return ["text"]

    def supports(self, modality: Any) -> bool:
        return modality in self.modalities

    def get_backend(self) -> str:
        return self.backend

    def _tensor(self, array: Any) -> Any:
        """As sentence-transformers would give it."""
        return torch().from_numpy(array) if self.torch_results and has_torch() else array

    @staticmethod
    def _bar(total: int, size: int, show: bool | None) -> Iterator[int]:
        if show is None:
            show = logger.getEffectiveLevel() in (logging.INFO, logging.DEBUG)
        steps = range(0, total, size)
        if show:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
            except ImportError:
                logger.info("the progress bar needs tqdm, which is not installed")
            else:
                return iter(tqdm(steps, desc="Batches"))
        return iter(steps)

    def _lengths(self, texts: Sequence[Any]) -> list[int]:
        return [len(one) for one in self.tokenizer.backend.encode(list(texts))]

    def _flatten(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Zeros for the types of a pair's second text, where the library feeds those."""
        if "token_type_ids" in arrays and arrays["token_type_ids"].any():
            types = self.model.prepare(("a", "a")).get("token_type_ids")
            if types is not None and not types.numpy().any():
                arrays["token_type_ids"] = numpy().zeros_like(arrays["token_type_ids"])
        return arrays

    def _deprecated(self, old: str, new: str) -> None:
        warnings.warn(f"The `{old}` method has been renamed to `{new}`.", FutureWarning, stacklevel=3)


def gather(blocks: Iterator[Any], count: int) -> Any:
    """Blocks of rows as one array."""
    np = numpy()
    parts = list(blocks)
    out = parts[0] if len(parts) == 1 else np.concatenate(parts)
    assert len(out) == count
    return out


__all__ = ["BaseEncoder", "CHUNK", "check_device", "gather", "is_column", "is_texts", "logger"]
