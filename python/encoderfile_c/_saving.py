# SPDX-License-Identifier: Apache-2.0
"""save(): the model's own files once more, and the settings as they are now."""
from __future__ import annotations

import json
import os
import shutil
from typing import Any

from ._folder import read_json
from .errors import UnsupportedError


def copy_model(source: str, target: str | os.PathLike[str]) -> None:
    """The files of the folder, without what lies hidden in it."""
    if not os.path.isdir(source):
        raise UnsupportedError(f"{source}: saving needs the model's folder, and this is a file")
    own, there = os.path.realpath(source), os.path.realpath(target)
    if own == there:
        return
    if os.path.commonpath([own, there]) == own:
        raise UnsupportedError(f"{os.fspath(target)}: found a folder inside the model's own, wanted another one")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))


def change_json(folder: str | os.PathLike[str], name: str, changes: dict[str, Any], only_there: bool = False) -> None:
    """Sets keys of a JSON file; only_there: where the file has them."""
    known = read_json(os.fspath(folder), name) or {}
    changes = {key: value for key, value in changes.items() if not only_there or key in known}
    if changes:
        _write(os.path.join(folder, name), {**known, **changes})


def write_modules(folder: str | os.PathLike[str], rows: list[tuple[str, str, dict[str, Any]]]) -> None:
    """modules.json, where there is none, and beside it each module's config.json: [(path, type, settings)]."""
    if os.path.isfile(os.path.join(folder, "modules.json")):
        return
    _write(os.path.join(folder, "modules.json"), [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind, _) in enumerate(rows)])
    for path, _, settings in rows:
        if path:
            os.makedirs(os.path.join(folder, path), exist_ok=True)
        if settings:
            _write(os.path.join(folder, path, "config.json" if path else "sentence_bert_config.json"), settings)


def _write(path: str, value: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)


__all__ = ["change_json", "copy_model", "write_modules"]
