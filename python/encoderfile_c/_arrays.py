# SPDX-License-Identifier: Apache-2.0
"""numpy and torch, where they are first needed: importing the package imports neither."""
from __future__ import annotations

import importlib.util
import sys
from typing import Any


def numpy() -> Any:
    import numpy as np

    return np


def torch() -> Any:
    """torch, or an ImportError that says what needed it."""
    try:
        return __import__("torch")
    except ImportError:
        raise ImportError("tensors were asked for (convert_to_tensor, return_tensors=\"pt\"), and torch is not installed: "
                          "ask for numpy arrays, or install torch") from None


def has_torch() -> bool:
    return "torch" in sys.modules or importlib.util.find_spec("torch") is not None


def cpu() -> Any:
    """torch's device where that is installed, else its name."""
    return torch().device("cpu") if has_torch() else "cpu"


def is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


def to_numpy(value: Any) -> Any:
    """An array of a list, an array or a torch tensor."""
    np = numpy()
    if is_torch(value):
        value = _of_tensor(value)
    if isinstance(value, (list, tuple)) and value and is_torch(value[0]):
        value = [_of_tensor(one) for one in value]
    return np.asarray(value)


def _of_tensor(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch().bfloat16 else tensor).numpy()  # numpy has no bfloat16


def as_tensors(values: Any, kind: str) -> Any:
    """Nested lists as int64 arrays; rows of several lengths are an array of objects."""
    np = numpy()
    if kind not in ("np", "numpy", "pt", "pytorch"):
        raise ValueError(f"{kind} is not a valid TensorType, please select one of ['pt', 'np', 'mlx']")
    if isinstance(values, np.ndarray):
        array = values
    else:
        lengths = {len(row) for row in values} if values and isinstance(values[0], list) else set()
        if len(lengths) > 1:
            if kind in ("pt", "pytorch"):
                raise ValueError("Unable to create tensor, you should probably activate truncation and/or padding with "
                                 "'padding=True' 'truncation=True' to have batched tensors with the same length.")
            array = np.empty(len(values), dtype=object)
            array[:] = [np.asarray(row, dtype=np.int64) for row in values]
            return array
        array = np.asarray(values, dtype=np.int64)
    return torch().from_numpy(array) if kind in ("pt", "pytorch") else array
