# SPDX-License-Identifier: Apache-2.0
"""What SentenceTransformer and SparseEncoder have in common: queries and documents, similarity, and vectors by two ways: the library's
own, and through the graph alone for what the library has no option for."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ._arrays import numpy
from ._encoder import BaseEncoder, gather
from ._head import GraphHead, module_settings
from .similarity import SimilarityFunction


class VectorEncoder(BaseEncoder):
    """One row of numbers for each text."""

    chunk = 1024            # texts of one call of the library, which batches them itself
    usual = "cosine"        # the similarity of models that name none
    usual_prompts = ("query", "document")
    behind_prompt: tuple[str, ...] = ()     # arguments of encode by their places

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, similarity_fn_name: str | SimilarityFunction | None = None,
                 **options: Any) -> None:
        super().__init__(model_name_or_path, **options)
        own = self._settings.get("similarity_fn_name")
        own = own if own in SimilarityFunction.possible_values() else None  # "maxsim" is one of vectors of tokens
        self._similarity = SimilarityFunction.of(similarity_fn_name or own or self.usual)
        self._reference: GraphHead | None = None
        self._include_set = False
        modules = module_settings(self._path)
        self._unusual = any(self._is_unusual(kind, settings) for kind, settings in modules)
        self._skips_prompt = any(settings.get("include_prompt") is False for settings in (self._settings, *(own for _, own in modules)))

    # ---- queries and documents ----

    def encode(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
               **options: Any) -> Any:
        raise NotImplementedError

    def encode_query(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, *others: Any, **options: Any) -> Any:
        """encode with the prompt "query"."""
        if prompt_name is None and prompt is None and "query" in self.prompts:
            prompt_name = "query"
        return self.encode(inputs=inputs, prompt_name=prompt_name, prompt=prompt, **self._named(others), **{"task": "query", **options})

    def encode_document(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None, *others: Any, **options: Any) -> Any:
        """encode with the first of the prompts "document", "passage", "corpus"."""
        if prompt_name is None and prompt is None:
            prompt_name = next((name for name in ("document", "passage", "corpus") if name in self.prompts), None)
        return self.encode(inputs=inputs, prompt_name=prompt_name, prompt=prompt, **self._named(others), **{"task": "document", **options})

    def _named(self, others: tuple[Any, ...]) -> dict[str, Any]:
        """Arguments by place behind the prompt."""
        if len(others) > len(self.behind_prompt):
            raise TypeError(f"found {len(others)} arguments behind prompt, wanted at most {len(self.behind_prompt)}: {', '.join(self.behind_prompt)}")
        return dict(zip(self.behind_prompt, others))

    # ---- the library's way, and the other ----

    def _vectors(self, texts: list[Any], prompt: str, batch_size: int, show: bool | None, limit: int | None) -> Any:
        """[n, dimensions]."""
        np = numpy()
        params, known = self._prompt_params(prompt)
        slow = self._slow(texts, prompt, known, limit)
        if not slow:
            given = texts if known else [self._with(prompt, one) for one in texts]
            return gather((self.model.vectors(given[at:at + self.chunk], params).numpy()
                           for at in self._bar(len(given), self.chunk, show)), len(texts))
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
        if self._unusual or (prompt and self._include_set) or (not known and (own or (prompt and self._skips_prompt))):
            return list(range(len(texts)))
        if prompt and self._skips_prompt and self._prompt_tokens(prompt) != self._prompt_tokens(prompt.strip()):
            return list(range(len(texts)))  # a space at its end is a token, which the library does not count
        limit = limit or self._length
        slow = {i for i, text in enumerate(texts) if self._is_empty(text, prompt and not known)}
        if (limit is not None and limit != self._longest) or self._cuts_otherwise():
            bound = min(limit or self._longest, self._longest)
            lengths = self._lengths([self._with(prompt, one) for one in texts])
            slow |= {i for i, n in enumerate(lengths) if n > bound}
        return sorted(slow)

    @staticmethod
    def _is_empty(text: Any, behind: Any) -> bool:
        """Whether the library is given an empty text, alone or in a pair: `behind` a prompt the first of them is none."""
        first, second = (text, None) if isinstance(text, str) else text
        return second == "" or (first == "" and not behind)

    @staticmethod
    def _is_unusual(kind: str, settings: dict[str, Any]) -> bool:
        """Whether a module has a setting that the library does not know, and the head does."""
        return False

    def _make_head(self, **options: Any) -> GraphHead:
        raise NotImplementedError

    def _head(self) -> GraphHead:
        if self._reference is None:
            options = {name: value for name, value in self._options.items() if name in ("threads", "kernels", "precision")}
            self._reference = self._make_head(**options)
        return self._reference

    def _batches(self, texts: list[Any], prompt: str, size: int, limit: int | None) -> Iterator[tuple[list[int], dict[str, Any], Any, Any]]:
        """Batches of texts of like length: their indexes, features, rows of tokens and of texts."""
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
                                   "cut_left": tokenizer.truncation_side == "left",
                                   "pad_left": tokenizer.padding_side == "left" if left is None else left}
        found = tokenizer.backend.arrays(texts, **options)
        return self._flatten({name: found[name].numpy() for name in ("input_ids", "token_type_ids", "attention_mask")})

    def _by_hand(self, texts: list[Any], prompt: str, size: int, limit: int | None) -> Any:
        np = numpy()
        out: Any = None
        for rows, _, _, vectors in self._batches(texts, prompt, size, limit):
            out = np.empty((len(texts), vectors.shape[1]), dtype=np.float32) if out is None else out
            out[rows] = vectors
        return out

    # ---- saving ----

    def _saved_settings(self) -> dict[str, Any]:
        return {**super()._saved_settings(), "similarity_fn_name": self.similarity_fn_name}

    # ---- similarity ----

    @property
    def similarity_fn_name(self) -> str:
        return str(self._similarity.value)

    @similarity_fn_name.setter
    def similarity_fn_name(self, value: str | SimilarityFunction | None) -> None:
        self._similarity = SimilarityFunction.of(value or self.usual)

    @staticmethod
    def _comparable(embeddings: Any) -> Any:
        """As the functions of similarity take them."""
        return embeddings

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n, m] by similarity_fn_name; a torch tensor where torch tensors were given."""
        found = SimilarityFunction.to_similarity_fn(self._similarity)(self._comparable(embeddings1), self._comparable(embeddings2))
        return self._tensor(found) if isinstance(found, numpy().ndarray) else found

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n]: each row with the other's."""
        function = SimilarityFunction.to_similarity_pairwise_fn(self._similarity)
        found = function(self._comparable(embeddings1), self._comparable(embeddings2))
        return self._tensor(found) if isinstance(found, numpy().ndarray) else found

    # ---- sizes ----

    def get_embedding_dimension(self) -> int | None:
        return self._info["dimensions"] or None

    def get_sentence_embedding_dimension(self) -> int | None:
        self._deprecated("get_sentence_embedding_dimension", "get_embedding_dimension")
        return self.get_embedding_dimension()


__all__ = ["VectorEncoder"]
