# SPDX-License-Identifier: Apache-2.0
"""SparseEncoder, with the calls and results of sentence-transformers; without torch a small class stands for its sparse tensors."""
from __future__ import annotations

import os
from typing import Any

from ._arrays import has_torch, is_torch, numpy, to_numpy, torch
from ._encoder import check_device, is_texts
from ._head import GraphHead, SparseHead
from ._vectors import VectorEncoder


class SparseArray:
    """A vector or rows of vectors that are mostly zero: where they are not, and what stands there."""

    is_sparse = True

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...]) -> None:
        self._indices = indices   # [dimensions, n], in order
        self._values = values     # [n]
        self.shape = shape

    @classmethod
    def from_dense(cls, dense: Any) -> SparseArray:
        np = numpy()
        where = np.stack(np.nonzero(dense)).astype(np.int64)
        return cls(where, dense[tuple(where)], tuple(dense.shape))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    def coalesce(self) -> SparseArray:
        return self

    def indices(self) -> Any:
        return self._indices

    def values(self) -> Any:
        return self._values

    def to_dense(self) -> Any:
        np = numpy()
        out = np.zeros(self.shape, dtype=self._values.dtype)
        out[tuple(self._indices)] = self._values
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        dense = self.to_dense()
        return dense if dtype is None else dense.astype(dtype)

    def tolist(self) -> list[Any]:
        found: list[Any] = self.to_dense().tolist()
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> Any:
        if self.ndim == 1:
            return self.to_dense()[row]
        row = range(self.shape[0])[row]
        chosen = self._indices[0] == row
        return SparseArray(self._indices[1:, chosen], self._values[chosen], self.shape[1:])

    def cpu(self) -> SparseArray:
        return self

    def __repr__(self) -> str:
        return f"SparseArray(shape={self.shape}, values={len(self._values)})"


def _dense(embeddings: Any) -> Any:
    """A numpy array of whatever encode gives."""
    if is_torch(embeddings):
        return embeddings.to_dense().numpy() if embeddings.is_sparse else embeddings.numpy()
    if isinstance(embeddings, (list, tuple)):
        return numpy().stack([_dense(one) for one in embeddings])
    return embeddings.to_dense() if isinstance(embeddings, SparseArray) else to_numpy(embeddings)


class SparseEncoder(VectorEncoder):
    """A weight for each word of the vocabulary (SPLADE)."""

    model_type = "SparseEncoder"
    task = "sparse-embedding"
    chunk = 64      # each text has a number for every word of the vocabulary
    usual = "dot"
    usual_modules = {"Transformer": {}, "SpladePooling": {"pooling_strategy": "max", "activation_function": "relu"}}
    behind_prompt = ("batch_size", "show_progress_bar", "convert_to_tensor", "convert_to_sparse_tensor", "save_to_cpu", "device", "max_active_dims",
                     "pool", "chunk_size")
    splade_pooling_chunk_size: int | None = None  # has no effect: how many tokens sentence-transformers holds at once

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, max_active_dims: int | None = None, **options: Any) -> None:
        super().__init__(model_name_or_path, **options)
        self.max_active_dims: int | None = self._settings.get("max_active_dims") if max_active_dims is None else max_active_dims

    @staticmethod
    def _is_unusual(kind: str, settings: dict[str, Any]) -> bool:
        return kind == "SpladePooling" and (settings.get("pooling_strategy") == "sum" or settings.get("activation_function") == "log1p_relu")

    def _saved_settings(self) -> dict[str, Any]:
        return {**super()._saved_settings(), **({} if self.max_active_dims is None else {"max_active_dims": self.max_active_dims})}

    def _saved_modules(self) -> list[tuple[str, str, dict[str, Any]]]:
        pooling = {**self.usual_modules["SpladePooling"], "embedding_dimension": self._info["dimensions"]}
        return [("", "sentence_transformers.sparse_encoder.models.MLMTransformer", {}),
                ("1_SpladePooling", "sentence_transformers.sparse_encoder.models.SpladePooling", pooling)]

    def _make_head(self, **options: Any) -> GraphHead:
        return SparseHead(self._path, task=self.task, **options)

    def encode(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
               show_progress_bar: bool | None = None, convert_to_tensor: bool = True, convert_to_sparse_tensor: bool = True,
               save_to_cpu: bool = False, device: Any = None, max_active_dims: int | None = None, pool: Any = None,
               chunk_size: int | None = None, sentences: Any = None, **kwargs: Any) -> Any:
        """Sparse [n, words]; of one text [words]. convert_to_tensor=False: a list of rows; convert_to_sparse_tensor=False: dense."""
        np = numpy()
        if sentences is not None:
            inputs = sentences
        check_device(device)
        limit = self._check_kwargs("encode", kwargs)
        self._check_batch(batch_size)
        most = max_active_dims if max_active_dims is not None else self.max_active_dims
        if most is not None and most <= 0:
            raise ValueError(f"max_active_dims must be a positive integer, got {most}.")
        single = not is_texts(inputs)
        texts = self._texts([inputs] if single else inputs)
        words = self._resolve_prompt(prompt, prompt_name) or ""
        if not texts:
            empty = self._made(np.zeros((0,), dtype=np.float32), convert_to_sparse_tensor)
            return empty if convert_to_tensor else []
        dense = _strongest(self._vectors(texts, words, batch_size, show_progress_bar, limit), most)
        if single:
            return self._made(dense[0], convert_to_sparse_tensor)
        if convert_to_tensor:
            return self._made(dense, convert_to_sparse_tensor)
        return [self._made(row, convert_to_sparse_tensor) for row in dense]

    def _made(self, dense: Any, sparse: bool) -> Any:
        if self.torch_results and has_torch():
            tensor = torch().from_numpy(dense)
            return tensor.to_sparse() if sparse else tensor
        return SparseArray.from_dense(dense) if sparse else dense

    def decode(self, embeddings: Any, top_k: int | None = None) -> Any:
        """[(word, weight)], the heaviest first; of several rows a list of these."""
        np = numpy()
        if top_k is not None and top_k <= 0:
            raise ValueError(f"top_k must be a positive integer, got {top_k}.")
        dense = _dense(embeddings)
        if dense.ndim not in (1, 2):
            raise ValueError(f"Input tensor must be 1D or 2D, got {dense.ndim}D.")
        found = []
        for row in dense[None] if dense.ndim == 1 else dense:
            active = np.nonzero(row)[0]
            order = active[np.argsort(-row[active], kind="stable")][:top_k]
            found.append([(self.model.tokenizer.id_to_token(int(i)), float(row[i])) for i in order])
        return found[0] if dense.ndim == 1 else found

    @staticmethod
    def sparsity(embeddings: Any) -> dict[str, float]:
        """active_dims: how many weights are not zero, on average; sparsity_ratio: the share of zeros."""
        np = numpy()
        dense = _dense(embeddings)
        if dense.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {dense.ndim}D.")
        rows = dense[None] if dense.ndim == 1 else dense
        if 0 in rows.shape:
            return {"active_dims": 0.0, "sparsity_ratio": 1.0}
        active = float(np.mean((rows != 0).sum(1).astype(np.float32)))
        return {"active_dims": active, "sparsity_ratio": 1.0 - active / rows.shape[1]}

    @staticmethod
    def intersection(embeddings_1: Any, embeddings_2: Any) -> Any:
        """The product where both have a weight."""
        np = numpy()
        first, second = _dense(embeddings_1), _dense(embeddings_2)
        if first.ndim != 1:
            raise ValueError(f"Expected 1D tensor for embeddings_1, but got {first.shape} shape.")
        if first.shape[-1] != second.shape[-1]:
            raise ValueError(f"Vocab dimension mismatch: embeddings_1 has {first.shape[-1]}, embeddings_2 has {second.shape[-1]}.")
        both = np.maximum(first * second, 0)
        return torch().from_numpy(both).to_sparse() if is_torch(embeddings_1) else SparseArray.from_dense(both)

    @staticmethod
    def _comparable(embeddings: Any) -> Any:
        return _dense(embeddings)


def _strongest(rows: Any, most: int | None) -> Any:
    """All but the `most` largest weights of each row become zero."""
    np = numpy()
    if most is None or most >= rows.shape[1]:
        return rows
    order = np.argpartition(-np.abs(rows), most - 1, axis=1)[:, :most]
    out = np.zeros_like(rows)
    np.put_along_axis(out, order, np.take_along_axis(rows, order, 1), 1)
    return out
