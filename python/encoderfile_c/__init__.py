# SPDX-License-Identifier: Apache-2.0
"""Transformer encoders from Python, by the C library encoderfile: no torch, no transformers, no onnxruntime.

Importing this imports nothing else; each name is loaded on first use, and numpy where an array is first asked for.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names, for type checkers (tests/python/test_core.py holds them against each other)
    from ._core import Model as Model
    from ._core import Tokenizer as Tokenizer
    from ._core import Encoding as Encoding
    from ._core import Graph as Graph
    from ._core import Tensor as Tensor
    from ._core import ArrowStream as ArrowStream
    from ._core import export as export
    from ._core import quantize as quantize
    from ._core import add_config as add_config
    from ._core import compare as compare
    from ._core import explore as explore
    from ._core import verify as verify
    from ._core import validate as validate
    from ._core import inspect as inspect
    from ._core import analyze as analyze
    from ._core import metadata as metadata
    from ._core import embed_metadata as embed_metadata
    from ._core import set_log as set_log
    from .errors import EncoderfileError as EncoderfileError
    from .errors import InputError as InputError
    from .errors import MissingError as MissingError
    from .errors import IOFailure as IOFailure
    from .errors import OutOfMemoryError as OutOfMemoryError
    from .errors import DeadlineError as DeadlineError
    from .errors import UnauthorizedError as UnauthorizedError
    from .errors import UnavailableError as UnavailableError
    from .errors import BadModelError as BadModelError
    from .errors import UnsupportedError as UnsupportedError
    from .errors import CancelledError as CancelledError
    from .errors import InternalError as InternalError
    from .tokenization import AutoTokenizer as AutoTokenizer
    from .tokenization import PreTrainedTokenizer as PreTrainedTokenizer
    from .tokenization import BatchEncoding as BatchEncoding
    from .tokenization import ONNXTokenizer as ONNXTokenizer
    from .preprocessing import AutoImageProcessor as AutoImageProcessor
    from .preprocessing import AutoFeatureExtractor as AutoFeatureExtractor
    from .ort import ORTModel as ORTModel
    from .ort import ORTModelForFeatureExtraction as ORTModelForFeatureExtraction
    from .ort import ORTModelForSequenceClassification as ORTModelForSequenceClassification
    from .ort import ORTModelForTokenClassification as ORTModelForTokenClassification
    from .ort import ORTModelForQuestionAnswering as ORTModelForQuestionAnswering
    from .ort import ORTModelForMaskedLM as ORTModelForMaskedLM
    from .ort import ORTModelForMultipleChoice as ORTModelForMultipleChoice
    from .ort import ORTModelForImageClassification as ORTModelForImageClassification
    from .ort import ORTModelForSemanticSegmentation as ORTModelForSemanticSegmentation
    from .ort import ORTModelForZeroShotImageClassification as ORTModelForZeroShotImageClassification
    from .ort import ORTModelForAudioClassification as ORTModelForAudioClassification
    from .ort import ORTModelForAudioFrameClassification as ORTModelForAudioFrameClassification
    from .ort import ORTModelForCTC as ORTModelForCTC
    from .ort import ORTModelForAudioXVector as ORTModelForAudioXVector
    from .ort import ORTModelForCustomTasks as ORTModelForCustomTasks
    from .pipelines import pipeline as pipeline
    from .pipelines import Pipeline as Pipeline
    from .pipelines import PipelineException as PipelineException
    from .builder import build as build
    from .builder import EncoderfileBuilder as EncoderfileBuilder
    from .builder import TokenizerBuildConfig as TokenizerBuildConfig
    from .builder import BatchLongest as BatchLongest
    from .builder import Fixed as Fixed
    from .builder import TargetSpec as TargetSpec
    from .builder import ModelType as ModelType
    from .builder import InspectInfo as InspectInfo
    from .server import Server as Server
    from .sentence import SentenceTransformer as SentenceTransformer
    from .cross import CrossEncoder as CrossEncoder
    from .sparse import SparseEncoder as SparseEncoder
    from .similarity import SimilarityFunction as SimilarityFunction
    from .quantization import quantize_embeddings as quantize_embeddings

    __version__: str

# Where each public name lives.
_NAMES: dict[str, str] = {
    **dict.fromkeys(("Model", "Tokenizer", "Encoding", "Graph", "Tensor", "ArrowStream", "export", "quantize", "add_config", "compare",
                     "explore", "verify", "validate", "inspect", "analyze", "metadata", "embed_metadata", "set_log"), "_core"),
    **dict.fromkeys(("EncoderfileError", "InputError", "MissingError", "IOFailure", "OutOfMemoryError", "DeadlineError",
                     "UnauthorizedError", "UnavailableError", "BadModelError", "UnsupportedError", "CancelledError",
                     "InternalError"), "errors"),
    **dict.fromkeys(("AutoTokenizer", "PreTrainedTokenizer", "BatchEncoding", "ONNXTokenizer"), "tokenization"),
    **dict.fromkeys(("AutoImageProcessor", "AutoFeatureExtractor"), "preprocessing"),
    **dict.fromkeys(("ORTModel", "ORTModelForFeatureExtraction", "ORTModelForSequenceClassification",
                     "ORTModelForTokenClassification", "ORTModelForQuestionAnswering", "ORTModelForMaskedLM",
                     "ORTModelForMultipleChoice", "ORTModelForImageClassification", "ORTModelForSemanticSegmentation",
                     "ORTModelForZeroShotImageClassification", "ORTModelForAudioClassification",
                     "ORTModelForAudioFrameClassification", "ORTModelForCTC", "ORTModelForAudioXVector",
                     "ORTModelForCustomTasks"), "ort"),
    **dict.fromkeys(("pipeline", "Pipeline", "PipelineException"), "pipelines"),
    **dict.fromkeys(("build", "EncoderfileBuilder", "TokenizerBuildConfig", "BatchLongest", "Fixed", "TargetSpec", "ModelType", "InspectInfo"),
                    "builder"),
    "Server": "server",
    "SentenceTransformer": "sentence",
    "CrossEncoder": "cross",
    "SparseEncoder": "sparse",
    "SimilarityFunction": "similarity",
    "quantize_embeddings": "quantization",
}
__all__ = [*_NAMES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def _load(module: str) -> Any:
    try:
        return importlib.import_module("." + module, __name__)
    except ImportError:
        import sysconfig

        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            raise ImportError("encoderfile_c does not run on a free-threaded Python (this one): its compiled part needs the GIL. "
                              "Use the usual build of the same version") from None
        raise


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _load("_core").version
    elif name in _NAMES:
        value = getattr(_load(_NAMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
