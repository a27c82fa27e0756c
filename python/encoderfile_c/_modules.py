# SPDX-License-Identifier: Apache-2.0
"""What stands for the modules of a sentence-transformers folder (model[0], model[1]): their names and settings. Their work is the library's."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._folder import read_json
from ._head import pooling_modes

if TYPE_CHECKING:
    from ._encoder import BaseEncoder


class Module:
    """A setting of its config.json is an attribute; it has no weights and cannot be called."""

    def __init__(self, owner: BaseEncoder, settings: dict[str, Any]) -> None:
        self._owner = owner
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        raise AttributeError(f"{type(self).__name__}: found {name!r}, wanted one of its settings {list(settings)}: its work is done by the library")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings})"


class Transformer(Module):
    """The first one: model[0].max_seq_length and .tokenizer are those of the model."""

    @property
    def max_seq_length(self) -> int | None:
        return self._owner.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, value: int | None) -> None:
        self._owner.max_seq_length = value

    @property
    def tokenizer(self) -> Any:
        return self._owner.tokenizer

    @property
    def config(self) -> Any:
        return self._owner.config

    def get_embedding_dimension(self) -> int | None:
        size: int | None = getattr(self._owner.config, "hidden_size", None)
        return size

    get_word_embedding_dimension = get_embedding_dimension


class Pooling(Module):
    """model[1].pooling_mode, .include_prompt"""

    @property
    def pooling_mode(self) -> str | tuple[str, ...]:
        modes = pooling_modes(self._settings)
        return modes[0] if len(modes) == 1 else tuple(modes)

    @property
    def include_prompt(self) -> bool:
        return bool(self._settings.get("include_prompt", True))

    @property
    def embedding_dimension(self) -> int | None:
        """Of one way of pooling; several stand one behind another."""
        named = self._settings.get("embedding_dimension", self._settings.get("word_embedding_dimension"))
        return getattr(self._owner.config, "hidden_size", None) if named is None else named

    def get_embedding_dimension(self) -> int | None:
        size = self.embedding_dimension
        return size and size * len(pooling_modes(self._settings))

    get_sentence_embedding_dimension = get_embedding_dimension


_CLASSES: dict[str, type[Module]] = {"Transformer": Transformer, "MLMTransformer": Transformer, "Pooling": Pooling}


def modules_of(owner: BaseEncoder, path: str, usual: dict[str, dict[str, Any]]) -> dict[str, Module]:
    """By their names. A folder without modules.json has the usual ones: class and settings."""
    rows = read_json(path, "modules.json")
    if rows is None:
        return {str(i): _class(kind)(owner, settings) for i, (kind, settings) in enumerate(usual.items())}
    return {str(row.get("name", i)): _class(row["type"].rpartition(".")[2])(owner, _settings(path, i, row["path"])) for i, row in enumerate(rows)}


def _class(kind: str) -> type[Module]:
    return _CLASSES.get(kind) or type(kind, (Module,), {})


def _settings(path: str, i: int, inside: str) -> dict[str, Any]:
    """Of the first module these are sentence_bert_config.json: config.json is that of transformers."""
    return read_json(path, inside, "config.json" if i else "sentence_bert_config.json") or {}


__all__ = ["Module", "Pooling", "Transformer", "modules_of"]
