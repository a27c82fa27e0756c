#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py - compiles encoderfile_c/_core.abi3.so for this machine, so that PYTHONPATH=python works from the tree.

The wheel is built from the same sources and flags: sources() and FLAGS are the only list of them."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE if (HERE / "Makefile").exists() else HERE.parent  # a source archive has both in one folder
TARGET = HERE / "encoderfile_c" / "_core.abi3.so"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Wno-missing-field-initializers", "-fPIC",
         "-fvisibility=hidden", "-pthread"]
EXPORTS = HERE / "native" / "exports.map"  # one name leaves the file: PyInit__core


def sources() -> list[Path]:
    """The C files of the extension, beside the library itself."""
    return sorted((HERE / "native").glob("*.c"))


def compile_line(compiler: list[str], extra: list[str], library: Path, libraries: list[str], out: Path,
                 python_headers: str | None = None) -> list[str]:
    headers = python_headers or sysconfig.get_path("include")
    return [*compiler, *FLAGS, *extra, f"-I{ROOT / 'include'}", f"-I{headers}", "-shared", "-o", str(out),
            *map(str, sources()), str(library), f"-Wl,--version-script={EXPORTS}", "-Wl,--gc-sections", "-pthread", *libraries]


def make_library(compiler: str) -> Path:
    """The library without server and TLS, position independent."""
    library = Path("build/lib/libencoderfile.a")
    subprocess.check_call(["make", "-s", "-j2", f"CC={compiler}", "PARTS=library", str(library)], cwd=ROOT)
    return ROOT / library


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", help="from `make PARTS=library`, which is run first where this is not given")
    parser.add_argument("--libs", default="-lyaml -llua5.4 -lexpat -ljpeg -lpng16 -lwebp -lFLAC -logg -lzstd -lz -lm",
                        help="what it needs")
    parser.add_argument("--cc", default=os.environ.get("CC", "gcc"))
    parser.add_argument("--cflags", default=os.environ.get("CFLAGS", "-O2 -g"))
    parser.add_argument("--out", default=str(TARGET))
    a = parser.parse_args()
    library = Path(a.library) if a.library else make_library(a.cc)
    line = compile_line(a.cc.split(), a.cflags.split(), library, a.libs.split(), Path(a.out))
    return subprocess.call(line)


if __name__ == "__main__":
    sys.exit(main())
