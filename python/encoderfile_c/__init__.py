# SPDX-License-Identifier: Apache-2.0
"""Transformer encoders from Python, by the C library encoderfile: no torch, no transformers, no onnxruntime.

Importing this imports nothing else; each name is loaded on first use, and numpy where an array is first asked for.
"""
from __future__ import annotations

import importlib
from typing import Any

# Where each public name lives.
_NAMES: dict[str, str] = {
    **dict.fromkeys(("Model", "Tokenizer", "Encoding", "Graph", "Tensor", "export", "quantize", "build", "add_config", "compare",
                     "verify", "validate", "inspect", "analyze", "metadata", "embed_metadata", "set_log"), "_core"),
    **dict.fromkeys(("EncoderfileError", "InputError", "MissingError", "IOFailure", "OutOfMemoryError", "DeadlineError",
                     "UnauthorizedError", "UnavailableError", "BadModelError", "UnsupportedError", "CancelledError",
                     "InternalError"), "errors"),
}
__all__ = [*_NAMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = importlib.import_module("._core", __name__).version
    elif name in _NAMES:
        value = getattr(importlib.import_module("." + _NAMES[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
