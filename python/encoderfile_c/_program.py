# SPDX-License-Identifier: Apache-2.0
"""The encoderfile program that the wheel brings along: it serves, packs models, and downloads them."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator

from .errors import MissingError, UnavailableError


def _places() -> Iterator[str]:
    """Where it may lie, the likeliest first."""
    yield os.environ.get("EF_PROGRAM", "")
    here = os.path.dirname(os.path.abspath(__file__))
    packages = os.path.dirname(here)
    yield os.path.join(os.path.dirname(packages), "build", "encoderfile")  # the source tree
    for scheme in ("", *([sysconfig.get_preferred_scheme("user")] if sys.prefix == sys.base_prefix else [])):
        yield os.path.join(sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts"), "encoderfile")
    yield os.path.join(packages, "bin", "encoderfile")  # pip install --target
    yield os.path.join(packages, "..", "..", "..", "bin", "encoderfile")  # the packages of another environment on the path
    yield shutil.which("encoderfile") or ""


def find_program() -> str:
    """Its path. The environment's EF_PROGRAM names another."""
    for path in _places():
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise MissingError("the encoderfile program: not beside this package, wanted as the wheel installs it; EF_PROGRAM names another")


def download(name: str) -> None:
    """Puts a model of the Hub ("org/name@revision") into the cache that huggingface_hub has, too. The extension itself knows no TLS."""
    made = subprocess.run([find_program(), "inspect", "hf:" + name.removeprefix("hf:"), "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if made.returncode:
        lines = made.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnavailableError(f"{name}: {lines[-1] if lines else 'it could not be downloaded'}")


def main() -> None:
    """python -m encoderfile_c ARGUMENTS: the program."""
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
