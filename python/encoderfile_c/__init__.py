# SPDX-License-Identifier: Apache-2.0
"""Transformer encoders from Python, by the C library encoderfile: no torch, no transformers, no onnxruntime.

Importing this imports nothing else; each name is loaded on first use, and numpy where an array is first asked for.
"""
from __future__ import annotations

import importlib
from typing import Any

# Where each public name lives.
_NAMES: dict[str, str] = {
    **dict.fromkeys(("Model", "Tokenizer", "Encoding", "Graph", "Tensor", "export", "quantize", "add_config", "compare",
                     "verify", "validate", "inspect", "analyze", "metadata", "embed_metadata", "set_log"), "_core"),
    **dict.fromkeys(("EncoderfileError", "InputError", "MissingError", "IOFailure", "OutOfMemoryError", "DeadlineError",
                     "UnauthorizedError", "UnavailableError", "BadModelError", "UnsupportedError", "CancelledError",
                     "InternalError"), "errors"),
    **dict.fromkeys(("AutoTokenizer", "PreTrainedTokenizer", "BatchEncoding", "ONNXTokenizer"), "tokenization"),
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
__all__ = [*_NAMES, "__version__"]


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
    return sorted([*globals(), *__all__])
