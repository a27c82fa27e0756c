# SPDX-License-Identifier: Apache-2.0
"""SentenceTransformer, with the calls and results of sentence-transformers, on numpy."""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._arrays import numpy, torch
from ._encoder import check_device, is_texts
from ._head import GraphHead, SentenceHead, unusual_pooling
from ._vectors import VectorEncoder
from .quantization import PRECISIONS, quantize_embeddings
from .tokenization import BatchEncoding


class SentenceTransformer(VectorEncoder):
    """A vector for each text. Options of Model (threads, precision, ...) go into model_kwargs."""

    model_type = "SentenceTransformer"
    task = "sentence-embedding"
    usual_modules = {"Transformer": {}, "Pooling": {"pooling_mode": "mean", "include_prompt": True}}
    behind_prompt = ("batch_size", "show_progress_bar", "output_value", "precision", "convert_to_numpy", "convert_to_tensor", "device",
                     "normalize_embeddings", "truncate_dim", "pool", "chunk_size")

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, truncate_dim: int | None = None, **options: Any) -> None:
        super().__init__(model_name_or_path, **options)
        self.truncate_dim: int | None = self._settings.get("truncate_dim") if truncate_dim is None else truncate_dim

    @staticmethod
    def _is_unusual(kind: str, settings: dict[str, Any]) -> bool:
        return unusual_pooling(settings) if kind == "Pooling" else kind == "Dense" and bool(settings.get("use_residual"))

    def _make_head(self, **options: Any) -> GraphHead:
        return SentenceHead(self._path, task="feature-extraction", **options)  # of a pair the types of its tokens count

    # ---- encode ----

    def encode(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
               show_progress_bar: bool | None = None, output_value: str | None = "sentence_embedding", precision: str = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool = False, truncate_dim: int | None = None, pool: Any = None,
               chunk_size: int | None = None, sentences: Any = None, **kwargs: Any) -> Any:
        """float32 [n, dimensions]; of one text its vector. The other forms are those of sentence-transformers."""
        if sentences is not None:
            inputs = sentences
        check_device(device)
        limit = self._check_kwargs("encode", kwargs)
        self._check_batch(batch_size)
        if precision is not None and precision not in PRECISIONS:
            raise ValueError(f"Precision {precision!r} is not supported, must be one of {list(PRECISIONS)}")
        single = not is_texts(inputs)
        texts = self._texts([inputs] if single else inputs)
        words = self._resolve_prompt(prompt, prompt_name) or ""
        cut = self.truncate_dim if truncate_dim is None else truncate_dim
        if output_value != "sentence_embedding":
            found: Any = self._features(texts, words, batch_size, limit, output_value, cut)
            if output_value is not None and precision not in (None, "float32"):
                found = quantize_embeddings(found, precision)
            return found[0] if single else found
        if texts:
            out = self._vectors(texts, words, batch_size, show_progress_bar, limit)
            out = self._finish(out, cut, normalize_embeddings, precision)
        else:
            out = numpy().array([])
        return self._converted(out, convert_to_numpy, convert_to_tensor, single)

    def encode_multi_process(self, inputs: Any = None, pool: Any = None, prompt_name: str | None = None, prompt: str | None = None,
                             batch_size: int = 32, chunk_size: int | None = None, sentences: Any = None, **options: Any) -> Any:
        return self.encode(inputs if sentences is None else sentences, prompt_name, prompt, batch_size, **options)

    def _finish(self, out: Any, cut: int | None, normalize: bool, precision: str | None) -> Any:
        np = numpy()
        if cut is not None:
            out = np.ascontiguousarray(out[:, :cut])
        if normalize:
            out = out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.float32(1e-12))
        return out if precision in (None, "float32") else quantize_embeddings(out, precision)

    def _converted(self, out: Any, to_numpy: bool, to_tensor: bool, single: bool) -> Any:
        np = numpy()
        if to_tensor:
            out = torch().from_numpy(np.ascontiguousarray(out)) if len(out) else torch().tensor([])
        elif not to_numpy:
            out = [torch().from_numpy(np.ascontiguousarray(row)) for row in out]
        elif not len(out):
            out = np.array([])
        return out[0] if single else out

    # ---- vectors of tokens ----

    def _features(self, texts: list[Any], prompt: str, size: int, limit: int | None, what: str | None, cut: int | None) -> list[Any]:
        found: list[Any] = [None] * len(texts)
        for rows, features, tokens, vectors in self._batches(texts, prompt, size, limit):
            for k, i in enumerate(rows):
                if what == "token_embeddings":
                    mask = features["attention_mask"][k]
                    found[i] = self._tensor(tokens[k, :int(mask.nonzero()[0].max(initial=0)) + 1])
                    continue
                every = {**{name: self._tensor(array[k]) for name, array in self._taken(features).items()},
                         "modality": "text", **({"prompt_length": self._prompt_tokens(prompt)} if prompt else {}),
                         "token_embeddings": self._tensor(tokens[k]), "sentence_embedding": self._tensor(vectors[k, :cut])}
                if what is not None and what not in every:
                    raise KeyError(f"output_value: found {what!r}, wanted one of {list(every)} or None")
                found[i] = every if what is None else every[what]
        return found

    def _taken(self, features: dict[str, Any]) -> dict[str, Any]:
        return {name: array for name, array in features.items() if name in self.tokenizer.model_input_names}

    def preprocess(self, inputs: Any, prompt: str | None = None, **_: Any) -> BatchEncoding:
        """Padded int64 arrays, as the transformer takes them."""
        texts = [self._with(prompt or "", one) for one in self._texts(inputs)]
        arrays = self._taken(self._arrays(texts))
        length = {"prompt_length": self._prompt_tokens(prompt)} if prompt else {}
        return BatchEncoding({**{name: self._tensor(array) for name, array in arrays.items()}, "modality": "text", **length})

    def tokenize(self, texts: Any, **options: Any) -> BatchEncoding:
        return self.preprocess(texts, **options)

    # ---- saving ----

    def _saved_settings(self) -> dict[str, Any]:
        return {**super()._saved_settings(), **({} if self.truncate_dim is None else {"truncate_dim": self.truncate_dim})}

    def _saved_modules(self) -> list[tuple[str, str, dict[str, Any]]]:
        pooling = {**self.usual_modules["Pooling"], "embedding_dimension": self._info["dimensions"]}
        return [("", "sentence_transformers.models.Transformer", {}), ("1_Pooling", "sentence_transformers.models.Pooling", pooling)]

    # ---- sizes ----

    def get_embedding_dimension(self) -> int | None:
        own = super().get_embedding_dimension()
        if self.truncate_dim is None:
            return own
        return self.truncate_dim if own is None else min(own, self.truncate_dim)

    @contextmanager
    def truncate_embeddings(self, truncate_dim: int | None) -> Iterator[None]:
        """Within it, encode gives so many dimensions."""
        before, self.truncate_dim = self.truncate_dim, truncate_dim
        try:
            yield
        finally:
            self.truncate_dim = before

    truncate_sentence_embeddings = truncate_embeddings

    def set_pooling_include_prompt(self, include_prompt: bool) -> None:
        self._include_set = True
        self._head().include_prompt(include_prompt)
