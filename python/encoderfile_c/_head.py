# SPDX-License-Identifier: Apache-2.0
"""The modules of a sentence-transformers folder on numpy: what the library does for a text, open to what it has no option for
(any prompt, another length, the vectors of the tokens, an empty text). The library's own way is faster."""
from __future__ import annotations

import json
import math
import os
from typing import Any

from . import _core
from ._arrays import numpy
from ._folder import read_json
from .errors import UnsupportedError


def read_safetensors(path: str) -> dict[str, Any]:
    np = numpy()
    types = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    out = {}
    for name, one in header.items():
        if one["dtype"] not in types:
            raise UnsupportedError(f"{path}: {name}: found {one['dtype']}, wanted one of {', '.join(types)}")
        begin, end = one["data_offsets"]
        out[name] = np.frombuffer(data[begin:end], types[one["dtype"]]).reshape(one["shape"])
    return out


def _pool(mode: str, tokens: Any, mask: Any) -> Any:
    """tokens [B, T, H], mask [B, T] of 0 and 1 -> [B, H]."""
    np = numpy()
    wide = mask[..., None].astype(np.float32)
    count = np.maximum(wide.sum(1), 1e-9)
    if mode == "cls":
        return tokens[np.arange(len(tokens)), mask.argmax(1)]
    if mode == "max":
        return np.where(wide == 0, np.float32("-inf"), tokens).max(1)
    if mode == "mean":
        return (tokens * wide).sum(1) / count
    if mode == "mean_sqrt_len_tokens":
        return (tokens * wide).sum(1) / np.sqrt(count)
    if mode == "weightedmean":
        weights = wide * np.arange(1, tokens.shape[1] + 1, dtype=np.float32)[None, :, None]
        return (tokens * weights).sum(1) / np.maximum(weights.sum(1), 1e-9)
    if mode == "lasttoken":
        last = tokens.shape[1] - 1 - mask[:, ::-1].argmax(1)
        return tokens[np.arange(len(tokens)), last] * (mask.max(1) > 0)[:, None]
    raise UnsupportedError(f"pooling {mode!r}: not known here")


_MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
_KEYS = ("pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
         "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")


def pooling_modes(settings: dict[str, Any]) -> list[str]:
    """Of a config.json of Pooling: newer files have a word or a list, others a key for each."""
    found = settings.get("pooling_mode")
    if found is not None:
        return list(found) if isinstance(found, (list, tuple)) else [found]
    return [mode for mode, key in zip(_MODES, _KEYS) if settings.get(key, mode == "mean")]


def unusual_pooling(settings: dict[str, Any]) -> bool:
    """Several ways in an order of their own, or the first token behind the prompt: the library has its one order, and [CLS]."""
    modes = pooling_modes(settings)
    return modes != [mode for mode in _MODES if mode in modes] or ("cls" in modes and settings.get("include_prompt") is False)


def module_settings(folder: str) -> list[tuple[str, dict[str, Any]]]:
    """Class and config.json of the modules behind the first."""
    rows = read_json(folder, "modules.json") or []
    return [(one["type"].rpartition(".")[2], read_json(folder, one["path"], "config.json") or {}) for one in rows[1:]]


def _activation(name: str, x: Any) -> Any:
    np = numpy()
    kind = name.rpartition(".")[2]
    if kind == "Identity":
        return x
    if kind == "Tanh":
        return np.tanh(x)
    if kind == "ReLU":
        return np.maximum(x, 0)
    if kind == "GELU":
        return (x * np.float32(0.5) * (1 + np.vectorize(math.erf, otypes=[np.float32])(x / math.sqrt(2)))).astype(np.float32)
    if kind == "Sigmoid":
        return 1 / (1 + np.exp(-x))
    if kind == "SiLU":
        return x / (1 + np.exp(-x))
    raise UnsupportedError(f"activation {name!r}: not known here")


class GraphHead:
    """A graph of texts, and what makes one row of numbers for each text of what it gives for each token."""

    skips_prompt = False    # rows of prompt tokens do not count

    def __init__(self, path: str, **options: Any) -> None:
        self.graph = _core.Graph(path, **options)
        self.inputs = [one["name"] for one in self.graph.inputs]

    def tokens(self, features: dict[str, Any]) -> Any:
        """[B, T, H] of the transformer."""
        out = self.graph.run({name: features[name] for name in self.inputs if name in features})
        for tensor in out.values():
            if len(tensor.shape) == 3:
                return tensor.numpy()
        raise UnsupportedError("the graph gives no vector for each token")

    def finish(self, tokens: Any, mask: Any, prompt: int) -> Any:
        """[B, D]: prompt tokens at the front are left out where the model says so."""
        raise NotImplementedError

    def include_prompt(self, include: bool) -> None:
        """From now on, whatever the model's files say."""


class SparseHead(GraphHead):
    """SPLADE: of each word the largest log(1 + max(logit, 0)) of all tokens, or their sum; "log1p_relu" is one logarithm more."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.settings = dict(module_settings(path)).get("SpladePooling", {})

    def finish(self, tokens: Any, mask: Any, prompt: int) -> Any:
        np = numpy()
        weights = np.log1p(np.where(mask[..., None] == 0, np.float32(0), np.maximum(tokens, 0)))
        if self.settings.get("activation_function") == "log1p_relu":
            weights = np.log1p(weights)
        return weights.sum(1) if self.settings.get("pooling_strategy") == "sum" else weights.max(1)


class SentenceHead(GraphHead):
    """The modules behind the transformer, and the transformer's graph."""

    def __init__(self, folder: str, **options: Any) -> None:
        if not os.path.isdir(folder):
            raise UnsupportedError(f"{folder}: an empty text, a prompt that the model does not name, another max_seq_length and the "
                                   "vectors of tokens need the model's folder, and this is a file")
        super().__init__(folder, **options)
        self.modules = [(one["type"].rpartition(".")[2], one["path"]) for one in read_json(folder, "modules.json") or []]
        self.settings: dict[str, dict[str, Any]] = {path: read_json(folder, path, "config.json") or {} for _, path in self.modules if path}
        self.weights = {}
        for kind, path in self.modules:
            if kind in ("Dense", "LayerNorm"):
                self.weights[path] = read_safetensors(os.path.join(folder, path, "model.safetensors"))
        if not self.modules:
            self.modules, self.settings = [("Transformer", ""), ("Pooling", "own")], {"own": {"pooling_mode": "mean"}}

    @property
    def skips_prompt(self) -> bool:  # type: ignore[override]
        return any(kind == "Pooling" and self.settings[path].get("include_prompt") is False for kind, path in self.modules)

    def include_prompt(self, include: bool) -> None:
        for kind, path in self.modules:
            if kind == "Pooling":
                self.settings[path]["include_prompt"] = include

    def finish(self, tokens: Any, mask: Any, prompt: int) -> Any:
        np = numpy()
        if prompt and self.skips_prompt:
            mask = mask.copy()
            first = mask.argmax(1)
            for row, at in zip(mask, first):
                row[at:at + prompt] = 0
        x: Any = None
        for kind, path in self.modules:
            if kind == "Pooling":
                x = np.concatenate([_pool(mode, tokens, mask) for mode in pooling_modes(self.settings[path])], axis=1)
            elif kind == "Dense":
                weights, settings, before = self.weights[path], self.settings[path], x
                x = x @ weights["linear.weight"].T + weights.get("linear.bias", np.float32(0))
                x = _activation(settings.get("activation_function", "Tanh"), x)
                if settings.get("use_residual"):
                    x = x + (before @ weights["residual.weight"].T if "residual.weight" in weights else before)
            elif kind == "LayerNorm":
                weights = self.weights[path]
                x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
                x = x * weights["norm.weight"] + weights["norm.bias"]
            elif kind == "Normalize":
                x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
            elif kind not in ("Transformer", "Dropout"):  # Dropout is of training
                raise UnsupportedError(f"module {kind!r}: not known here")
        return x
