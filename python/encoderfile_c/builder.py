# SPDX-License-Identifier: Apache-2.0
"""Packages: build(), and the builder of the Rust encoderfile's Python package, name by name."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union

from . import _core
from ._program import find_program
from .errors import EncoderfileError

__all__ = ["BatchLongest", "EncoderfileBuilder", "EncoderfileConfig", "Fixed", "InspectInfo", "ModelConfig", "ModelType", "TargetSpec",
           "TokenizerBuildConfig", "TokenizerTruncationSide", "TokenizerTruncationStrategy", "build", "inspect", "read_metadata"]
StrPath = Union[str, "os.PathLike[str]"]


def _names_program(model: StrPath) -> bool:
    path = Path(model)
    return path.suffix in (".yml", ".yaml", ".json") and path.is_file() and "base_binary_path" in path.read_text("utf-8", "replace")


def build(model: StrPath, out: StrPath | None = None, options: dict[str, Any] | None = None, progress: Any = None) -> Any:
    """One executable of a model, or of what a YAML says: the report. The program in it is the one that came with this package, unless the
    YAML or the option "base-binary-path" names another."""
    chosen = dict(options or {})
    if not chosen.get("base-binary-path") and "target" not in chosen and not _names_program(model):
        chosen["base-binary-path"] = find_program()
    return _core.build(model, out, chosen, progress)


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class ModelType(_Word):
    Embedding = "embedding"
    SequenceClassification = "sequence_classification"
    TokenClassification = "token_classification"
    SentenceEmbedding = "sentence_embedding"
    ImageClassification = "image_classification"


class TokenizerTruncationSide(_Word):
    Left = "left"
    Right = "right"


class TokenizerTruncationStrategy(_Word):
    LongestFirst = "longest_first"
    OnlyFirst = "only_first"
    OnlySecond = "only_second"


@dataclass(frozen=True)
class BatchLongest:
    """Pads to the longest text of a batch."""


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """Pads to n tokens."""

    n: int


class TokenizerBuildConfig:
    def __init__(self, *, pad_strategy: BatchLongest | Fixed | None = None, truncation_side: str | None = None,
                 truncation_strategy: str | None = None, max_length: int | None = None, stride: int | None = None) -> None:
        if pad_strategy is not None and not isinstance(pad_strategy, (BatchLongest, Fixed)):
            raise TypeError(f"Class must be BatchLongest, Fixed, or None. Received: '{type(pad_strategy).__name__}'")
        self.pad_strategy = pad_strategy
        self.truncation_side = truncation_side
        self.truncation_strategy = truncation_strategy
        self.max_length = max_length
        self.stride = stride

    def to_dict(self) -> dict[str, Any]:
        pad: Any = self.pad_strategy
        pad = {"fixed": pad.n} if isinstance(pad, Fixed) else "batch_longest" if pad is not None else None
        found = {"pad_strategy": pad, "truncation_side": self.truncation_side and str(self.truncation_side),
                 "truncation_strategy": self.truncation_strategy and str(self.truncation_strategy), "max_length": self.max_length,
                 "stride": self.stride}
        return {key: value for key, value in found.items() if value is not None}


_ARCHITECTURES = ("x86_64", "aarch64")
_SYSTEMS = {"linux": "linux", "unknown-linux": "linux", "darwin": "darwin", "apple": "darwin", "windows": "windows", "pc-windows": "windows"}


class TargetSpec:
    """A machine: x86_64-unknown-linux-gnu, aarch64-linux."""

    def __init__(self, target: str) -> None:
        parts = target.split("-")
        system = next((_SYSTEMS[part] for part in parts[1:] if part in _SYSTEMS), None)
        if parts[0] not in _ARCHITECTURES or system is None:
            raise ValueError(f"Failed to parse target spec: found {target!r}, wanted as x86_64-unknown-linux-gnu")
        self.target, self.arch, self.os = target, parts[0], system
        self.abi = parts[-1] if parts[-1] not in _SYSTEMS and parts[-1] not in ("unknown", "apple", "pc") else None

    def __str__(self) -> str:
        return self.target

    def __repr__(self) -> str:
        return f"TargetSpec({self.target!r})"


@dataclass(frozen=True)
class ModelConfig:
    model_type: str | None
    num_labels: int | None
    id2label: dict[int, str] | None
    label2id: dict[str, int] | None


@dataclass(frozen=True)
class EncoderfileConfig:
    name: str
    version: str
    model_type: ModelType | str
    transform: str | None
    lua_libs: list[str] | None


@dataclass(frozen=True)
class InspectInfo:
    model_config: ModelConfig
    encoderfile_config: EncoderfileConfig


def inspect(path: StrPath) -> InspectInfo:
    """What a package says of itself. RuntimeError where it is none."""
    try:
        found = _core.inspect(path)
    except (EncoderfileError, OSError) as error:
        raise RuntimeError(f"Failed to inspect encoderfile: {error}") from error
    model, own = found["model_config"], found["encoderfile_config"]
    labels, libraries = model.get("id2label"), own.get("lua_libs")
    kind = own.get("model_type")
    return InspectInfo(
        ModelConfig(model.get("model_type"), model.get("num_labels"), {int(key): value for key, value in labels.items()} if labels else None,
                    model.get("label2id")),
        EncoderfileConfig(own["name"], own["version"], ModelType(kind) if kind in [one.value for one in ModelType] else kind,
                          own.get("transform"), [name for name, on in libraries.items() if on] if libraries else None))


read_metadata = inspect


class EncoderfileBuilder:
    """Settings of a package; build() writes it."""

    def __init__(self, *, name: str, version: str | None = None, model_type: ModelType | str, path: StrPath, output_path: StrPath | None = None,
                 cache_dir: StrPath | None = None, base_binary_path: StrPath | None = None, transform: str | None = None,
                 lua_libs: list[str] | None = None, tokenizer: TokenizerBuildConfig | None = None, validate_transform: bool = True,
                 target: TargetSpec | str | None = None) -> None:
        if str(model_type) not in [one.value for one in ModelType]:
            raise RuntimeError("Invalid model type")
        fields = {"name": name, "version": version, "model_type": str(model_type), "path": os.fspath(path), "transform": transform,
                  "lua_libs": lua_libs, "tokenizer": tokenizer.to_dict() if tokenizer else None, "validate_transform": validate_transform,
                  "target": str(target) if target else None}
        for key, value in (("output_path", output_path), ("cache_dir", cache_dir), ("base_binary_path", base_binary_path)):
            fields[key] = os.fspath(value) if value is not None else None
        self._fields: dict[str, Any] = {key: value for key, value in fields.items() if value is not None}
        self._config: str | None = None

    @classmethod
    def from_config(cls, config_path: StrPath) -> EncoderfileBuilder:
        """Of a YAML file."""
        if not os.path.isfile(config_path):
            raise OSError(f"Failed to load config file: {os.fspath(config_path)}: no such file")
        self = object.__new__(cls)
        self._fields, self._config = {}, os.path.abspath(config_path)
        return self

    def build(self, workdir: StrPath | None = None, version: str | None = None, no_download: bool = False,
              runtime_version: str | None = None) -> Path:
        """The package's path. Relative paths are those of workdir. `version` is of the program, which is this one: nothing is downloaded."""
        try:
            if self._config is not None:
                return self._of_config(workdir)
            with tempfile.TemporaryDirectory() as folder:
                config = Path(folder) / "encoderfile.yml"
                config.write_text(json.dumps({"encoderfile": self._within(workdir)}), "utf-8")  # JSON is YAML
                return Path(build(config)["output"])
        except EncoderfileError as error:
            raise RuntimeError(f"Error building encoderfile: {error}") from error

    def _within(self, workdir: StrPath | None) -> dict[str, Any]:
        """The settings, with paths that do not depend on where this process is."""
        base = os.path.abspath(workdir or ".")
        named = {"output_path": f"{self._fields['name']}.encoderfile", **self._fields}
        return {key: os.path.join(base, value) if key in ("path", "output_path", "cache_dir", "base_binary_path") else value
                for key, value in named.items()}

    def _of_config(self, workdir: StrPath | None) -> Path:
        """By the program itself where there is a folder to go to: it is the process that goes there."""
        assert self._config is not None
        if workdir is None:
            return Path(build(self._config)["output"])
        command = [find_program(), "build", "-f", self._config, "--directory", os.fspath(workdir), "--json"]
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(f"Error building encoderfile: {made.stderr.strip()}")
        return Path(workdir, json.loads(made.stdout)["output"])
