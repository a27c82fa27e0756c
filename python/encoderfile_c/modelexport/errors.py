# SPDX-License-Identifier: Apache-2.0
"""What a processor can say. All are ValueErrors, too."""
from __future__ import annotations

from typing import Any


class ONNXProcessorError(ValueError):
    """The base of all of them."""


class ModelLoadError(ONNXProcessorError):
    """The ONNX file cannot be opened."""


class MetadataError(ONNXProcessorError):
    """Its metadata are broken."""


class ShapeError(ONNXProcessorError):
    """Arrays that do not have the graph's shape."""

    def __init__(self, expected: Any, actual: Any, tensor: str = "") -> None:
        super().__init__(f"{tensor or 'tensor'}: found shape {actual}, wanted {expected}")
        self.expected = expected
        self.actual = actual
        self.tensor = tensor


class UnsupportedModalityError(ONNXProcessorError):
    """Inputs of a kind that the model does not read."""


class ProcessorNotFoundError(ONNXProcessorError):
    """No tokenizer or preprocessor_config.json beside the model."""


class ConfigurationError(ONNXProcessorError):
    """config.json is missing or says nothing of use."""
