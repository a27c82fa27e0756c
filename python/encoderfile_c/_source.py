# SPDX-License-Identifier: Apache-2.0
"""Where a model comes from: what _folder finds here; of a name that is not here yet, what was downloaded."""
from __future__ import annotations

import os

from ._folder import find_model
from ._program import download

# How a model is loaded in transformers, or made faster: keys that change no number.
LOADING = {"attn_implementation", "cache_dir", "code_revision", "dtype", "force_download", "local_files_only", "low_cpu_mem_usage", "output_attentions",
           "output_hidden_states", "reference_compile", "return_dict", "token", "torch_dtype", "trust_remote_code", "unpad_inputs", "use_cache",
           "use_memory_efficient_attention", "use_safetensors"}


def source(model: str | os.PathLike[str], revision: str | None = None) -> str:
    """A path that Model, Graph and the tools open."""
    path = find_model(model, revision)
    if not path.startswith("hf:"):
        return path
    if not os.fspath(model).startswith("hf:") and os.path.isdir(os.fspath(model).split("/")[0]):
        return os.fspath(model)  # "models/typo" is a path where there is a folder "models", and never asked for
    name = path.removeprefix("hf:")
    download(name if "@" in name or not revision else f"{name}@{revision}")
    name, _, named = name.partition("@")
    return find_model(name, revision or named or None)
