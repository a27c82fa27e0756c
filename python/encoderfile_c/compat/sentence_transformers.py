# SPDX-License-Identifier: Apache-2.0
"""Stands in for the package sentence_transformers in this process:

    import encoderfile_c.compat.sentence_transformers as compat
    compat.install()
    from sentence_transformers import SentenceTransformer   # LangChain, LlamaIndex, Haystack, BERTopic do this

Only sys.modules is changed, no file. Results that sentence-transformers gives as torch tensors are torch tensors where torch is
installed, and numpy arrays elsewhere."""
from __future__ import annotations

import functools
import importlib.machinery
import sys
import types
from typing import Any, Callable

from .. import cross, sentence, similarity, sparse
from .._arrays import has_torch, numpy, torch
from ..quantization import quantize_embeddings

NAME = "sentence_transformers"
VERSION = "6.2.0"  # whose interface this is


def _class(base: type, module: str) -> Any:
    """The face under the other package's name, which callers look for in str(type(model))."""
    return type(base.__name__, (base,), {"__module__": f"{NAME}.{module}", "__doc__": base.__doc__, "torch_results": True})


SentenceTransformer = _class(sentence.SentenceTransformer, "sentence_transformer.model")
CrossEncoder = _class(cross.CrossEncoder, "cross_encoder.model")
SparseEncoder = _class(sparse.SparseEncoder, "sparse_encoder.model")


class StaticEmbedding:
    """Is only looked for by isinstance: no model here is one."""


StaticEmbedding.__module__ = f"{NAME}.models"

_TOP: dict[str, Any] = {
    "SentenceTransformer": SentenceTransformer,
    "CrossEncoder": CrossEncoder,
    "SparseEncoder": SparseEncoder,
    "SimilarityFunction": similarity.SimilarityFunction,
    "quantize_embeddings": quantize_embeddings,
    "__version__": VERSION,
}


def _tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a torch tensor as its result, where torch is installed."""
    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        return torch().from_numpy(found) if isinstance(found, numpy().ndarray) and has_torch() else found

    return wrapped


_SCORES = ("cos_sim", "pytorch_cos_sim", "dot_score", "euclidean_sim", "manhattan_sim", "pairwise_cos_sim", "pairwise_dot_score",
           "pairwise_euclidean_sim", "pairwise_manhattan_sim")
_UTIL = {name: getattr(similarity, name) for name in similarity.__all__} | {"quantize_embeddings": quantize_embeddings}
_UTIL |= {name: _tensors(_UTIL[name]) for name in _SCORES}
MODULES: dict[str, dict[str, Any]] = {
    "": _TOP,
    "util": _UTIL,
    "util.similarity": {name: value for name, value in _UTIL.items() if name != "quantize_embeddings"},
    "util.quantization": {"quantize_embeddings": quantize_embeddings},
    "quantization": {"quantize_embeddings": quantize_embeddings},
    "similarity_functions": {"SimilarityFunction": similarity.SimilarityFunction},
    "models": {"StaticEmbedding": StaticEmbedding},
    "sentence_transformer": {"SentenceTransformer": SentenceTransformer},
    "sentence_transformer.model": {"SentenceTransformer": SentenceTransformer},
    "cross_encoder": {"CrossEncoder": CrossEncoder},
    "cross_encoder.model": {"CrossEncoder": CrossEncoder},
    "sparse_encoder": {"SparseEncoder": SparseEncoder},
    "sparse_encoder.model": {"SparseEncoder": SparseEncoder},
}


def installed() -> bool:
    """Whether the name stands for this module now."""
    return getattr(sys.modules.get(NAME), "_encoderfile_c", False)


def install() -> None:
    """From now on `import sentence_transformers` gives these classes. RuntimeError: the real one is loaded already."""
    if installed():
        return
    if NAME in sys.modules:
        raise RuntimeError(f"{NAME} is imported already, from {getattr(sys.modules[NAME], '__file__', 'somewhere')}: call install() "
                           "before the first import of it, or of what imports it")
    for path, names in MODULES.items():
        full = f"{NAME}.{path}" if path else NAME
        module: Any = types.ModuleType(full, __doc__)
        module.__spec__ = importlib.machinery.ModuleSpec(full, None, is_package=True)
        module.__path__ = []
        module._encoderfile_c = True
        for name, value in names.items():
            setattr(module, name, value)
        sys.modules[full] = module
    for path in MODULES:
        if path:
            parent, _, name = f"{NAME}.{path}".rpartition(".")
            setattr(sys.modules[parent], name, sys.modules[f"{NAME}.{path}"])


def uninstall() -> None:
    """The name is free again; objects that were made stay as they are."""
    if installed():
        for path in MODULES:
            sys.modules.pop(f"{NAME}.{path}" if path else NAME, None)
