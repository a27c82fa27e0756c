# SPDX-License-Identifier: Apache-2.0
"""What can go wrong: EncoderfileError, and below it classes that are also the built-in exception a caller expects."""
from __future__ import annotations

import json
import os
from typing import Any

__all__ = [
    "BadModelError", "CancelledError", "DeadlineError", "EncoderfileError", "InputError", "InternalError", "IOFailure",
    "MissingError", "OutOfMemoryError", "UnauthorizedError", "UnavailableError", "UnsupportedError",
]


class EncoderfileError(Exception):
    """The base of all of them. `code` is the name of the library's code: "invalid_input", "bad_model", ..."""

    code: str = "internal"


class InputError(EncoderfileError, ValueError):
    """An input or an option that is wrong; a model that is closed."""

    code = "invalid_input"


class MissingError(EncoderfileError, FileNotFoundError):
    """No such file, folder or name."""

    code = "not_found"


class IOFailure(EncoderfileError, OSError):
    """The operating system said no."""

    code = "io"


class OutOfMemoryError(EncoderfileError, MemoryError):
    """The call needed more memory than there is. The process goes on."""

    code = "memory"


class DeadlineError(EncoderfileError, TimeoutError):
    """The answer would come too late."""

    code = "deadline"


class UnauthorizedError(EncoderfileError, PermissionError):
    """The Hub wants a key, or another one."""

    code = "unauthorized"


class UnavailableError(EncoderfileError, RuntimeError):
    """Not now: too many calls wait, or the model belongs to the process that this one was forked from."""

    code = "unavailable"


class BadModelError(EncoderfileError, ValueError):
    """A model, tokenizer or package that is broken."""

    code = "bad_model"


class UnsupportedError(EncoderfileError, ValueError):
    """Well formed, but nothing here can run it; or an input of a kind that this model does not take."""

    code = "unsupported"


class CancelledError(EncoderfileError):
    """The caller ended it: its progress function returned False."""

    code = "cancelled"


class InternalError(EncoderfileError, RuntimeError):
    """A mistake of the library: please report it."""

    code = "internal"


CLASSES: dict[str, type[EncoderfileError]] = {
    "usage": InputError,
    "bad_request": InputError,
    "invalid_input": InputError,
    "empty": InputError,
    "too_large": InputError,
    "method": InputError,
    "media_type": InputError,
    "not_found": MissingError,
    "io": IOFailure,
    "memory": OutOfMemoryError,
    "timeout": DeadlineError,
    "deadline": DeadlineError,
    "unauthorized": UnauthorizedError,
    "overloaded": UnavailableError,
    "unavailable": UnavailableError,
    "bad_model": BadModelError,
    "unsupported": UnsupportedError,
    "cancelled": CancelledError,
    "internal": InternalError,
}

def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else os.fspath(value)


_encode = json.JSONEncoder(default=_plain).encode


def dumps(value: Any) -> str:
    """JSON of options; a path may stand for its text, and numpy's numbers and arrays for Python's."""
    return _encode(value)
