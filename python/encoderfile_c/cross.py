# SPDX-License-Identifier: Apache-2.0
"""CrossEncoder, with the calls and results of sentence-transformers, on numpy."""
from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable

from . import _core
from ._arrays import has_torch, numpy, to_numpy, torch
from ._encoder import CHUNK, BaseEncoder, check_device, gather, is_column, logger
from ._folder import read_json
from .errors import UnsupportedError


class Activation:
    """Stands for the torch module of the same name, without torch."""

    torch_name = ""

    def __call__(self, x: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Sigmoid(Activation):
    torch_name = "torch.nn.modules.activation.Sigmoid"

    def __call__(self, x: Any) -> Any:
        return 1 / (1 + numpy().exp(-x))


class Identity(Activation):
    torch_name = "torch.nn.modules.linear.Identity"

    def __call__(self, x: Any) -> Any:
        return x


_ACTIVATIONS: dict[str, type[Activation]] = {"Sigmoid": Sigmoid, "Identity": Identity}


def _activation(function: Callable[[Any], Any], scores: Any, tensors: bool) -> Any:
    """One of ours, or anything that takes an array, or a tensor of torch; tensors: it is given one where torch is installed."""
    named = _ACTIVATIONS.get(type(function).__name__) if type(function).__module__.startswith("torch.") else None
    if named or isinstance(function, Activation):
        return (named() if named else function)(scores)
    if type(function).__module__.startswith("torch.") or (tensors and has_torch()):
        return to_numpy(function(torch().from_numpy(scores)))
    try:
        return to_numpy(function(scores))
    except (AttributeError, TypeError):
        if "torch" not in sys.modules:
            raise
        return to_numpy(function(torch().from_numpy(scores)))  # torch.sigmoid, or a function that calls it


def _named_activation(path: str) -> Callable[[Any], Any] | None:
    """What a model's file names: ours, or torch's own; None: code of others, which is not run."""
    module, _, name = path.rpartition(".")
    if not path.startswith("torch."):
        logger.warning("activation_fn: found %s, wanted a class of torch: the default is used", path)
        return None
    if name in _ACTIVATIONS:
        return _ACTIVATIONS[name]()
    try:
        function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)()
    except ImportError:
        raise UnsupportedError(f"activation_fn: found {path}, which needs torch, and torch is not installed") from None
    return function


class CrossEncoder(BaseEncoder):
    """Scores of pairs of texts. Options of Model (threads, precision, ...) go into model_kwargs."""

    model_type = "CrossEncoder"
    task = "text-classification"

    def __init__(self, model_name_or_path: str | os.PathLike[str] | None = None, num_labels: int | None = None,
                 max_length: int | None = None, activation_fn: Callable[[Any], Any] | None = None, device: Any = None, *,
                 default_activation_function: Callable[[Any], Any] | None = None, model_name: str | None = None,
                 automodel_args: dict[str, Any] | None = None, tokenizer_args: dict[str, Any] | None = None,
                 config_args: dict[str, Any] | None = None, cache_dir: str | None = None, classifier_dropout: float | None = None,
                 **options: Any) -> None:
        path = model_name_or_path if model_name_or_path is not None else model_name
        if path is None:
            raise TypeError("CrossEncoder.__init__() missing 1 required argument: 'model_name_or_path'")
        older = {"model_kwargs": automodel_args, "processor_kwargs": tokenizer_args, "config_kwargs": config_args}
        super().__init__(path, device=device, **{**older, **options})
        self._graph: _core.Graph | None = None
        self.num_labels: int = len(self._info["labels"]) or int(self.model.vectors(["a"]).shape[1])
        if num_labels not in (None, self.num_labels):
            raise ValueError(f"num_labels: found {num_labels}, wanted {self.num_labels}, which this model has")
        if max_length is not None:
            self.max_seq_length = max_length
        usual = Sigmoid() if self.num_labels == 1 else Identity()
        self.activation_fn: Callable[[Any], Any] = activation_fn or default_activation_function or self._own_activation() or usual
        if self.activation_fn is usual and os.path.isfile(self._path):
            logger.warning("%s: a package does not keep the activation_fn that a model's files may name: %s is used. Give activation_fn", self._path, usual)

    def _own_activation(self) -> Callable[[Any], Any] | None:
        """Newer models name it beside their prompts, older ones in config.json."""
        config = read_json(self._path, "config.json") or {}
        older = config.get("sentence_transformers") or {"activation_fn": config.get("sbert_ce_default_activation_function")}
        for path in (self._settings.get("activation_fn"), older.get("activation_fn")):
            found = _named_activation(path) if path else None
            if found is not None:
                return found
        return None

    @property
    def default_activation_function(self) -> Callable[[Any], Any]:
        return self.activation_fn

    def _saved_settings(self) -> dict[str, Any]:
        function = self.activation_fn
        kind = type(function)
        name = function.torch_name if isinstance(function, Activation) else f"{kind.__module__}.{kind.__qualname__}"
        return {**super()._saved_settings(), "activation_fn": name}

    def _saved_modules(self) -> list[tuple[str, str, dict[str, Any]]]:
        settings = {"transformer_task": "sequence-classification", "module_output_name": "scores",
                    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}
        return [("", "sentence_transformers.base.modules.transformer.Transformer", settings)]

    @property
    def max_length(self) -> int | None:
        return self.max_seq_length

    @max_length.setter
    def max_length(self, value: int | None) -> None:
        self.max_seq_length = value

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_graph": None}

    @staticmethod
    def _is_pair(inputs: Any) -> bool:
        if isinstance(inputs, (list, tuple)) or is_column(inputs):
            return len(inputs) > 0 and not isinstance(inputs[0], (list, tuple))
        if hasattr(inputs, "dtype") and inputs.dtype.kind in "UO":
            return bool(inputs.size) and inputs.ndim < 2
        return True

    def predict(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
                show_progress_bar: bool | None = None, activation_fn: Callable[[Any], Any] | None = None,
                apply_softmax: bool | None = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, pool: Any = None, chunk_size: int | None = None, sentences: Any = None,
                activation_fct: Callable[[Any], Any] | None = None, **kwargs: Any) -> Any:
        """float32 [n], of models with several labels [n, labels]; of one pair its score or scores."""
        np = numpy()
        if sentences is not None:
            inputs = sentences
        check_device(device)
        self._check_batch(batch_size)
        limit = self._asked_length(kwargs)  # other keywords have no effect, as there
        single = self._is_pair(inputs)
        pairs = self._texts([inputs.tolist() if hasattr(inputs, "tolist") else inputs] if single else inputs)
        words = self._resolve_prompt(prompt, prompt_name) or ""
        pairs = [one if not words else words + one if isinstance(one, str) else (words + one[0], one[1]) for one in pairs]
        scores = self._logits(pairs, batch_size, show_progress_bar, limit) if pairs else np.array([])
        if len(scores):
            scores = self._scored(scores, activation_fn or activation_fct or self.activation_fn, bool(apply_softmax))
        return self._converted(scores, convert_to_numpy, convert_to_tensor, single)

    def _scored(self, scores: Any, function: Callable[[Any], Any], softmax: bool) -> Any:
        np = numpy()
        scores = _activation(function, scores, self.torch_results)
        if self.num_labels == 1 and scores.ndim > 1:
            scores = scores[:, 0]
        if softmax and scores.ndim > 1:
            high = np.exp(scores - scores.max(1, keepdims=True))
            scores = high / high.sum(1, keepdims=True)
        return scores.astype(np.float32, copy=False)

    @staticmethod
    def _converted(scores: Any, to_array: bool, to_tensor: bool, single: bool) -> Any:
        np = numpy()
        if to_tensor or not to_array:
            scores = torch().from_numpy(np.ascontiguousarray(scores, dtype=np.float32))
            scores = scores if to_tensor else list(scores)
        return scores[0] if single else scores

    def _logits(self, pairs: list[Any], size: int, show: bool | None, limit: int | None) -> Any:
        """[n, labels]. Rows with an empty text, or longer than a length that was set, go through the graph alone."""
        np = numpy()
        slow = {i for i, one in enumerate(pairs) if "" in (one if isinstance(one, tuple) else (one,))}
        limit = limit or self._length
        if (limit is not None and limit != self._longest) or self._cuts_otherwise():
            slow |= {i for i, n in enumerate(self._lengths(pairs)) if n > min(limit or self._longest, self._longest)}
        fast = [i for i in range(len(pairs)) if i not in slow]
        out = np.empty((len(pairs), self.num_labels), dtype=np.float32)
        if fast:
            out[fast] = gather((self.model.vectors([pairs[i] for i in fast[at:at + CHUNK]]).numpy()
                                for at in self._bar(len(fast), CHUNK, show)), len(fast))
        order = sorted(slow)
        for at in range(0, len(order), size):
            rows = order[at:at + size]
            out[rows] = self._by_hand([pairs[i] for i in rows], limit)
        return out

    def _by_hand(self, pairs: list[Any], limit: int | None) -> Any:
        if self._graph is None:
            options = {name: value for name, value in self._options.items() if name in ("threads", "kernels", "precision")}
            self._graph = _core.Graph(self._path, task=self.task, **options)
        tokenizer = self.tokenizer
        found = tokenizer.backend.arrays(pairs, pad=True, pad_id=tokenizer.pad_token_id or 0, max_length=limit or self._longest,
                                         cut_left=tokenizer.truncation_side == "left")
        feeds = self._flatten({one["name"]: found[one["name"]].numpy() for one in self._graph.inputs})
        return next(iter(self._graph.run(feeds).values())).numpy()

    def rank(self, query: str, documents: list[str], top_k: int | None = None, return_documents: bool = False,
             prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32, show_progress_bar: bool | None = None,
             activation_fn: Callable[[Any], Any] | None = None, device: Any = None, pool: Any = None, chunk_size: int | None = None,
             activation_fct: Callable[[Any], Any] | None = None, **older: Any) -> list[dict[str, Any]]:
        """[{corpus_id, score}], the best first; with return_documents text too."""
        unknown = set(older) - {"apply_softmax", "convert_to_numpy", "convert_to_tensor", "num_workers"}  # which have no effect
        if unknown:
            raise TypeError(f"{type(self).__name__}.rank() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        if self.num_labels != 1:
            raise ValueError("CrossEncoder.rank() only works for models with num_labels=1. "
                             "Consider using CrossEncoder.predict() with input pairs instead.")
        scores = self.predict([[query, one] for one in documents], prompt_name, prompt, batch_size, show_progress_bar,
                              activation_fn or activation_fct, device=device)
        found = [{"corpus_id": i, "score": score, **({"text": documents[i]} if return_documents else {})}
                 for i, score in enumerate(scores.tolist())]
        return sorted(found, key=lambda one: one["score"], reverse=True)[:top_k]
