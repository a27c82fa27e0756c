# SPDX-License-Identifier: Apache-2.0
"""Similarities of vectors, with the names of sentence_transformers.util. numpy arrays give numpy arrays, torch tensors torch
tensors; a vector alone is one row."""
from __future__ import annotations

from enum import Enum
from typing import Any, Callable

from ._arrays import is_torch, numpy, to_numpy, torch

__all__ = ["SimilarityFunction", "cos_sim", "dot_score", "euclidean_sim", "manhattan_sim", "pairwise_cos_sim", "pairwise_dot_score",
           "pairwise_euclidean_sim", "pairwise_manhattan_sim", "normalize_embeddings", "truncate_embeddings", "semantic_search",
           "community_detection", "pytorch_cos_sim", "paraphrase_mining", "paraphrase_mining_embeddings"]


class SimilarityFunction(Enum):
    COSINE = "cosine"
    DOT_PRODUCT = "dot"
    DOT = "dot"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"

    @classmethod
    def of(cls, value: Any) -> SimilarityFunction:
        """By its name, or by a member of the class of this name in sentence-transformers."""
        return cls(getattr(value, "value", value))

    @staticmethod
    def to_similarity_fn(similarity_function: str | SimilarityFunction) -> Callable[[Any, Any], Any]:
        return _ALL[SimilarityFunction.of(similarity_function)]

    @staticmethod
    def to_similarity_pairwise_fn(similarity_function: str | SimilarityFunction) -> Callable[[Any, Any], Any]:
        return _PAIRWISE[SimilarityFunction.of(similarity_function)]

    @staticmethod
    def possible_values() -> list[str]:
        return [one.value for one in SimilarityFunction]


def _floats(value: Any) -> Any:
    np = numpy()
    array = to_numpy(value)
    if array.dtype.kind != "f" or array.dtype == np.float16 or isinstance(value, (list, tuple)):
        array = array.astype(np.float32)
    return array


def _rows(value: Any) -> Any:
    array = _floats(value)
    return array[None] if array.ndim == 1 else array


def _unit(rows: Any) -> Any:
    np = numpy()
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def _like(result: Any, *given: Any) -> Any:
    for one in given:
        if is_torch(one) or (isinstance(one, (list, tuple)) and one and is_torch(one[0])):
            return torch().from_numpy(numpy().array(result))
    return numpy().asarray(result)


def cos_sim(a: Any, b: Any) -> Any:
    return _like(_unit(_rows(a)) @ _unit(_rows(b)).T, a, b)


pytorch_cos_sim = cos_sim


def dot_score(a: Any, b: Any) -> Any:
    return _like(_rows(a) @ _rows(b).T, a, b)


def euclidean_sim(a: Any, b: Any) -> Any:
    np = numpy()
    x, y = _rows(a), _rows(b)
    return _like(-np.array([np.sqrt(((row - y) ** 2).sum(-1)) for row in x], np.result_type(x, y)).reshape(len(x), len(y)), a, b)


def manhattan_sim(a: Any, b: Any) -> Any:
    np = numpy()
    x, y = _rows(a), _rows(b)
    return _like(-np.array([np.abs(row - y).sum(-1) for row in x], np.result_type(x, y)).reshape(len(x), len(y)), a, b)


def pairwise_cos_sim(a: Any, b: Any) -> Any:
    return _like((_unit(_floats(a)) * _unit(_floats(b))).sum(-1), a, b)


def pairwise_dot_score(a: Any, b: Any) -> Any:
    return _like((_floats(a) * _floats(b)).sum(-1), a, b)


def pairwise_euclidean_sim(a: Any, b: Any) -> Any:
    return _like(-numpy().sqrt(((_floats(a) - _floats(b)) ** 2).sum(-1)), a, b)


def pairwise_manhattan_sim(a: Any, b: Any) -> Any:
    return _like(-numpy().abs(_floats(a) - _floats(b)).sum(-1), a, b)


_ALL: dict[SimilarityFunction, Callable[[Any, Any], Any]] = {
    SimilarityFunction.COSINE: cos_sim,
    SimilarityFunction.DOT_PRODUCT: dot_score,
    SimilarityFunction.EUCLIDEAN: euclidean_sim,
    SimilarityFunction.MANHATTAN: manhattan_sim,
}
_PAIRWISE: dict[SimilarityFunction, Callable[[Any, Any], Any]] = {
    SimilarityFunction.COSINE: pairwise_cos_sim,
    SimilarityFunction.DOT_PRODUCT: pairwise_dot_score,
    SimilarityFunction.EUCLIDEAN: pairwise_euclidean_sim,
    SimilarityFunction.MANHATTAN: pairwise_manhattan_sim,
}


def normalize_embeddings(embeddings: Any) -> Any:
    return _like(_unit(to_numpy(embeddings)), embeddings)


def truncate_embeddings(embeddings: Any, truncate_dim: int | None) -> Any:
    return embeddings[..., :truncate_dim]


def semantic_search(query_embeddings: Any, corpus_embeddings: Any, query_chunk_size: int = 100, corpus_chunk_size: int = 500000,
                    top_k: int = 10, score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[dict[str, int | float]]]:
    """For each query the top_k rows of the corpus: [{corpus_id, score}], the best first."""
    np = numpy()
    queries, corpus = _rows(query_embeddings), _rows(corpus_embeddings)
    found: list[list[dict[str, int | float]]] = []
    for at in range(0, len(queries), query_chunk_size):
        scores = np.concatenate([to_numpy(score_function(queries[at:at + query_chunk_size], corpus[c:c + corpus_chunk_size]))
                                 for c in range(0, max(len(corpus), 1), corpus_chunk_size)], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
        found += [[{"corpus_id": int(i), "score": float(row[i])} for i in order] for row, order in zip(scores, best)]
    return found


def paraphrase_mining(model: Any, sentences: list[str], show_progress_bar: bool = False, batch_size: int = 32, query_chunk_size: int = 5000,
                      corpus_chunk_size: int = 100000, max_pairs: int = 500000, top_k: int = 100,
                      score_function: Callable[[Any, Any], Any] = cos_sim, truncate_dim: int | None = None, prompt_name: str | None = None,
                      prompt: str | None = None) -> list[list[float | int]]:
    """The texts that are most alike: [score, i, j], the best first; i is before j."""
    vectors = model.encode(sentences, show_progress_bar=show_progress_bar, batch_size=batch_size, truncate_dim=truncate_dim,
                           prompt_name=prompt_name, prompt=prompt)
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function)


def paraphrase_mining_embeddings(embeddings: Any, query_chunk_size: int = 5000, corpus_chunk_size: int = 100000, max_pairs: int = 500000,
                                 top_k: int = 100, score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[float | int]]:
    """Of each row its top_k nearest others, each pair once; of these the max_pairs best."""
    if len(embeddings) == 0:
        return []
    found = semantic_search(embeddings, embeddings, query_chunk_size, corpus_chunk_size, top_k + 1, score_function)
    pairs: dict[tuple[int, int], float] = {}
    for i, near in enumerate(found):
        others = [(int(one["corpus_id"]), one["score"]) for one in near if one["corpus_id"] != i]
        for j, score in others[:top_k]:
            pairs.setdefault((min(i, j), max(i, j)), score)
    return [[score, i, j] for (i, j), score in sorted(pairs.items(), key=lambda one: -one[1])[:max_pairs]]


def community_detection(embeddings: Any, threshold: float = 0.75, min_community_size: int = 10, batch_size: int = 1024,
                        show_progress_bar: bool = False) -> list[list[int]]:
    """Groups of rows that are as near to one of theirs, which comes first, as threshold says; the largest first, none shares a row."""
    np = numpy()
    rows = _unit(_rows(embeddings))
    groups: list[tuple[int, list[int]]] = []
    for at in range(0, len(rows), batch_size):
        for center, scores in enumerate(rows[at:at + batch_size] @ rows.T, at):
            near = np.nonzero(scores >= threshold)[0]
            if len(near) >= min_community_size:
                groups.append((center, near[np.argsort(-scores[near], kind="stable")].tolist()))
    taken: set[int] = set()
    out: list[list[int]] = []
    for center, group in sorted(groups, key=lambda one: len(one[1]), reverse=True):
        free = [i for i in group if i not in taken]
        if center not in taken and len(free) >= min_community_size:
            out.append([center] + [i for i in free if i != center])
            taken.update(out[-1])
    return sorted(out, key=len, reverse=True)
