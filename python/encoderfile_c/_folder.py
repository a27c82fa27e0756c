# SPDX-License-Identifier: Apache-2.0
"""Where a model lies, by its path or its name on the Hub, and the settings beside it."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def _cache() -> Path:
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))


def _cached(name: str, revision: str) -> Path | None:
    """The snapshot of a model that was downloaded before, by this program or by huggingface_hub."""
    base = _cache() / ("models--" + name.replace("/", "--"))
    ref = base / "refs" / revision
    commit = ref.read_text().strip() if ref.is_file() else revision
    folder = base / "snapshots" / commit
    return folder if folder.is_dir() else None


def find_model(name_or_path: str | os.PathLike[str], revision: str | None = None) -> str:
    """What Model and Graph open: a path that is there, the folder of a downloaded model, or "hf:NAME"."""
    path = os.fspath(name_or_path)
    if os.path.exists(path) or path.startswith("hf:"):
        return path
    if path.count("/") <= 1 and not path.startswith((".", "/", "~")):
        for name in (path, "sentence-transformers/" + path) if "/" not in path else (path,):
            folder = _cached(name, revision or "main")
            if folder is not None:
                return str(folder)
        if "/" in path:
            return "hf:" + path
    return path


def read_json(folder: str, *parts: str) -> Any:
    """A JSON file of the model's folder; None where there is none."""
    path = os.path.join(folder, *parts)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)
