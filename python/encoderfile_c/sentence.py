# SPDX-License-Identifier: Apache-2.0
"""SentenceTransformer, with the calls and results of sentence-transformers, on numpy."""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._arrays import numpy, torch
from ._encoder import CHUNK, BaseEncoder, gather, is_texts
from ._head import SentenceHead
from .quantization import PRECISIONS, quantize_embeddings
from .similarity import SimilarityFunction


class SentenceTransformer(BaseEncoder):
    """A vector for each text. Options of Model (threads, precision, ...) go into model_kwargs."""

    task = "sentence-embedding"

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, similarity_fn_name: str | SimilarityFunction | None = None,
                 truncate_dim: int | None = None, **options: Any) -> None:
        super().__init__(model_name_or_path, **options)
        self.truncate_dim = truncate_dim
        self._similarity = SimilarityFunction(similarity_fn_name or self._settings.get("similarity_fn_name") or "cosine")
        self._reference: SentenceHead | None = None
        self._include_set = False

    # ---- encode ----

    def encode(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
               show_progress_bar: bool | None = None, output_value: str | None = "sentence_embedding", precision: str = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool = False, truncate_dim: int | None = None, pool: Any = None,
               chunk_size: int | None = None, sentences: Any = None, **kwargs: Any) -> Any:
        """float32 [n, dimensions]; of one text its vector. The other forms are those of sentence-transformers."""
        if sentences is not None:
            inputs = sentences
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
            return found[0] if single else found
        out = self._vectors(texts, words, batch_size, show_progress_bar, limit)
        if len(out):
            out = self._finish(out, cut, normalize_embeddings, precision)
        return self._converted(out, convert_to_numpy, convert_to_tensor, single)

    def encode_query(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, **options: Any) -> Any:
        """encode with the prompt "query"."""
        if prompt_name is None and prompt is None and "query" in self.prompts:
            prompt_name = "query"
        return self.encode(inputs, prompt_name, prompt, **{"task": "query", **options})

    def encode_document(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, **options: Any) -> Any:
        """encode with the first of the prompts "document", "passage", "corpus"."""
        if prompt_name is None and prompt is None:
            prompt_name = next((name for name in ("document", "passage", "corpus") if name in self.prompts), None)
        return self.encode(inputs, prompt_name, prompt, **{"task": "document", **options})

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

    # ---- the library's way, and the other ----

    def _vectors(self, texts: list[Any], prompt: str, batch_size: int, show: bool | None, limit: int | None) -> Any:
        np = numpy()
        if not texts:
            return np.array([])
        params, known = self._prompt_params(prompt)
        slow = self._slow(texts, prompt, known, limit)
        if not slow:
            given = texts if known else [self._with(prompt, one) for one in texts]
            return gather((self.model.vectors(given[at:at + CHUNK], params).numpy() for at in self._bar(len(given), CHUNK, show)),
                          len(texts))
        chosen = set(slow)
        fast = [i for i in range(len(texts)) if i not in chosen]
        by_hand = self._by_hand([texts[i] for i in slow], prompt, batch_size, limit)
        out = np.empty((len(texts), by_hand.shape[1]), dtype=np.float32)
        out[slow] = by_hand
        if fast:
            out[fast] = self._vectors([texts[i] for i in fast], prompt, batch_size, show, limit)
        return out

    @staticmethod
    def _with(prompt: str, text: Any) -> Any:
        return prompt + text if isinstance(text, str) else (prompt + text[0], text[1])

    def _slow(self, texts: list[Any], prompt: str, known: bool, limit: int | None) -> list[int]:
        """Rows that the library has no option for."""
        own = self._own_prompts.get(self._own_default or "", "")
        if (prompt and self._include_set) or (not known and (own or (prompt and self._head().skips_prompt))):
            return list(range(len(texts)))
        limit = limit or self._length
        slow = {i for i, text in enumerate(texts) if (known or not prompt) and text in ("", ("", ""))}
        if limit is not None and limit != self._longest:
            bound = min(limit, self._longest)
            lengths = self._lengths([self._with(prompt, one) for one in texts])
            slow |= {i for i, n in enumerate(lengths) if n > bound}
        return sorted(slow)

    def _head(self) -> SentenceHead:
        if self._reference is None:
            options = {name: value for name, value in self._options.items() if name in ("threads", "kernels", "precision")}
            self._reference = SentenceHead(self._path, **options)
        return self._reference

    def _batches(self, texts: list[Any], prompt: str, size: int, limit: int | None) -> Iterator[tuple[list[int], dict[str, Any], Any, Any]]:
        """Batches of texts of like length: their indexes, features, vectors of tokens and of texts."""
        head = self._head()
        given = [self._with(prompt, one) for one in texts]
        skip = self._prompt_tokens(prompt) if prompt and head.skips_prompt else 0
        order = sorted(range(len(given)), key=lambda i: -len(given[i] if isinstance(given[i], str) else "".join(given[i])))
        for at in range(0, len(order), size):
            rows = order[at:at + size]
            features = self._arrays([given[i] for i in rows], limit, left=False)  # a text's place is not to depend on the others
            tokens = head.tokens(features)
            yield rows, features, tokens, head.finish(tokens, features["attention_mask"], skip)

    def _prompt_tokens(self, prompt: str) -> int:
        ids = self.tokenizer.backend.encode(prompt).ids
        ends = (self.tokenizer.sep_token_id, self.tokenizer.eos_token_id)
        return len(ids) - 1 if ids and ids[-1] in ends else len(ids)

    def _arrays(self, texts: list[Any], limit: int | None = None, left: bool | None = None) -> dict[str, Any]:
        tokenizer = self.tokenizer
        options: dict[str, Any] = {"pad": True, "pad_id": tokenizer.pad_token_id or 0, "max_length": limit or self.max_seq_length or 0,
                   "pad_left": tokenizer.padding_side == "left" if left is None else left}
        found = tokenizer.backend.arrays(texts, **options)
        return {name: found[name].numpy() for name in ("input_ids", "token_type_ids", "attention_mask")}

    def _by_hand(self, texts: list[Any], prompt: str, size: int, limit: int | None) -> Any:
        np = numpy()
        out: Any = None
        for rows, _, _, vectors in self._batches(texts, prompt, size, limit):
            out = np.empty((len(texts), vectors.shape[1]), dtype=np.float32) if out is None else out
            out[rows] = vectors
        return out

    def _features(self, texts: list[Any], prompt: str, size: int, limit: int | None, what: str | None, cut: int | None) -> list[Any]:
        if what not in ("token_embeddings", None):
            raise ValueError(f"output_value: found {what!r}, wanted 'sentence_embedding', 'token_embeddings' or None")
        found: list[Any] = [None] * len(texts)
        for rows, features, tokens, vectors in self._batches(texts, prompt, size, limit):
            for k, i in enumerate(rows):
                if what == "token_embeddings":
                    mask = features["attention_mask"][k]
                    found[i] = self._tensor(tokens[k, :int(mask.nonzero()[0].max(initial=0)) + 1])
                else:
                    found[i] = {**{name: self._tensor(array[k]) for name, array in self._taken(features).items()},
                                "modality": "text", **({"prompt_length": self._prompt_tokens(prompt)} if prompt else {}),
                                "token_embeddings": self._tensor(tokens[k]), "sentence_embedding": self._tensor(vectors[k, :cut])}
        return found

    def _taken(self, features: dict[str, Any]) -> dict[str, Any]:
        return {name: array for name, array in features.items() if name in self.tokenizer.model_input_names}

    def preprocess(self, inputs: Any, prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Padded int64 arrays, as the transformer takes them."""
        texts = [self._with(prompt or "", one) for one in self._texts(inputs)]
        arrays = self._taken(self._arrays(texts))
        return {**{name: self._tensor(array) for name, array in arrays.items()}, "modality": "text"}

    def tokenize(self, texts: Any, **options: Any) -> dict[str, Any]:
        return self.preprocess(texts, **options)

    # ---- similarity ----

    @property
    def similarity_fn_name(self) -> str:
        return str(self._similarity.value)

    @similarity_fn_name.setter
    def similarity_fn_name(self, value: str | SimilarityFunction) -> None:
        self._similarity = SimilarityFunction(value)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n, m] by similarity_fn_name; a torch tensor where torch tensors were given."""
        found = SimilarityFunction.to_similarity_fn(self._similarity)(embeddings1, embeddings2)
        return self._tensor(found) if isinstance(found, numpy().ndarray) else found

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n]: each row with the other's."""
        found = SimilarityFunction.to_similarity_pairwise_fn(self._similarity)(embeddings1, embeddings2)
        return self._tensor(found) if isinstance(found, numpy().ndarray) else found

    # ---- sizes ----

    def get_embedding_dimension(self) -> int | None:
        own = self._info["dimensions"] or None
        if self.truncate_dim is None:
            return own
        return self.truncate_dim if own is None else min(own, self.truncate_dim)

    def get_sentence_embedding_dimension(self) -> int | None:
        self._deprecated("get_sentence_embedding_dimension", "get_embedding_dimension")
        return self.get_embedding_dimension()

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
        for kind, path in self._head().modules:
            if kind == "Pooling":
                self._head().settings[path]["include_prompt"] = include_prompt
