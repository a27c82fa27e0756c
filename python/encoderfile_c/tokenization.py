# SPDX-License-Identifier: Apache-2.0
"""Tokenizers with the calls and results of transformers' fast tokenizers, on numpy and lists."""
from __future__ import annotations

import logging
import os
from collections import UserDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _core
from ._arrays import as_tensors, numpy
from ._source import source

logger = logging.getLogger(__name__)

ENDLESS = int(1e30)  # model_max_length of a tokenizer that has no limit
_CUTS = {"longest_first": "longest", "only_first": "first", "only_second": "second"}
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class BatchEncoding(UserDict[str, Any]):
    """What a call returns: a dict whose keys are attributes too, and the Encodings behind it."""

    def __init__(self, data: Mapping[str, Any] | None = None, encodings: Sequence[_core.Encoding] | None = None) -> None:
        super().__init__(data or {})
        self._encodings = list(encodings) if encodings is not None else None

    def __getattr__(self, name: str) -> Any:
        if name == "data":  # while it is being unpickled
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.data[key]
        if isinstance(key, int) and self._encodings is not None:
            return self._encodings[key]
        if isinstance(key, slice):
            return {name: values[key] for name, values in self.data.items()}
        raise KeyError("Invalid key. Only three types of key are available: (1) string, (2) integers for backend Encoding, "
                       "and (3) slices for data subsetting.")

    @property
    def is_fast(self) -> bool:
        return self._encodings is not None

    @property
    def encodings(self) -> list[_core.Encoding] | None:
        return self._encodings

    def _one(self, index: int) -> _core.Encoding:
        if self._encodings is None:
            raise ValueError("there are no encodings: the result was not made by a tokenizer")
        return self._encodings[index]

    def tokens(self, batch_index: int = 0) -> list[str]:
        return self._one(batch_index).tokens

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        return self._one(batch_index).word_ids

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """0 for the first text, 1 for the second, None for special tokens."""
        one = self._one(batch_index)
        out: list[int | None] = []
        second, last = 0, -1      # where the last token of this text began; -1: it has none yet
        for (begin, _), special in zip(one.offsets, one.special_tokens_mask):
            if (special and last >= 0) or begin < last:  # a special token ends a text, and so does the start of another
                second, last = second + 1, -1
            out.append(None if special else min(second, 1))
            last = last if special else begin
        return out

    def token_to_chars(self, batch_or_token_index: int, token_index: int | None = None) -> tuple[int, int] | None:
        batch, token = (0, batch_or_token_index) if token_index is None else (batch_or_token_index, token_index)
        one = self._one(batch)
        return None if one.special_tokens_mask[token] else one.offsets[token]

    def char_to_token(self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0) -> int | None:
        batch, char = (0, batch_or_char_index) if char_index is None else (batch_or_char_index, char_index)
        texts = self.sequence_ids(batch)
        for i, (begin, end) in enumerate(self._one(batch).offsets):
            if texts[i] == sequence_index and begin <= char < end:
                return i
        return None

    def token_to_word(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        batch, token = (0, batch_or_token_index) if token_index is None else (batch_or_token_index, token_index)
        return self._one(batch).word_ids[token]

    def convert_to_tensors(self, tensor_type: str | None = None, prepend_batch_axis: bool = False) -> BatchEncoding:
        if tensor_type is not None:
            for name, values in self.data.items():
                self.data[name] = as_tensors([values] if prepend_batch_axis else values, tensor_type)
        return self

    def to(self, device: Any = None, **_: Any) -> BatchEncoding:
        """Arrays are where they are: nothing to do."""
        return self


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


class PreTrainedTokenizer:
    """Texts to ids and back. `AutoTokenizer.from_pretrained(path)` makes one."""

    is_fast = True

    def __init__(self, path: str | os.PathLike[str] | _core.Tokenizer, **settings: Any) -> None:
        self.backend = path if isinstance(path, _core.Tokenizer) else _core.Tokenizer(path)
        self.name_or_path = "" if isinstance(path, _core.Tokenizer) else os.fspath(path)
        about = self.backend.describe()
        self.model_max_length: int = about["model_max_length"] or ENDLESS
        self.padding_side: str = about["padding_side"]
        self.truncation_side: str = about["truncation_side"]
        self.model_input_names: list[str] = about["model_input_names"]
        self.clean_up_tokenization_spaces: bool = about["clean_up_tokenization_spaces"]
        self._special: dict[str, Any] = {role: about[role] for role in (*_ROLES, "additional_special_tokens") if about.get(role)}
        self.all_special_ids: list[int] = about["all_special_ids"]
        self.vocab_size: int = about["vocab_size"]
        self._vocabulary: dict[str, int] | None = None
        for name, value in settings.items():
            if name in ("model_max_length", "padding_side", "truncation_side", "model_input_names"):
                setattr(self, name, value)

    # ---- what it has ----

    def __getattr__(self, name: str) -> Any:
        special = self.__dict__.get("_special", {})
        if name in special or name in _ROLES:
            return special.get(name)
        if name.endswith("_token_id") and name[:-3] in _ROLES:
            token = special.get(name[:-3])
            return None if token is None else self.backend.token_to_id(token)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.backend)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(name_or_path={self.name_or_path!r}, vocab_size={self.vocab_size}, "
                f"model_max_length={self.model_max_length}, padding_side={self.padding_side!r}, "
                f"truncation_side={self.truncation_side!r}, special_tokens={self.special_tokens_map})")

    @property
    def special_tokens_map(self) -> dict[str, Any]:
        return dict(self._special)

    @property
    def all_special_tokens(self) -> list[str]:
        return [token for token in (self.backend.id_to_token(i) for i in self.all_special_ids) if token is not None]

    @property
    def pad_token_type_id(self) -> int:
        return 0

    def get_vocab(self) -> dict[str, int]:
        if self._vocabulary is None:
            pairs = ((self.backend.id_to_token(i), i) for i in range(len(self.backend)))
            self._vocabulary = {token: i for token, i in pairs if token is not None}
        return dict(self._vocabulary)

    @property
    def vocab(self) -> dict[str, int]:
        return self.get_vocab()

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return sum(self.backend.encode(("", "") if pair else "").special_tokens_mask)

    # ---- ids, tokens, texts ----

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        unknown = self.unk_token_id
        if isinstance(tokens, str):
            number = self.backend.token_to_id(tokens)
            return unknown if number is None else number
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        if isinstance(ids, int):
            return self.backend.id_to_token(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self.backend.id_to_token(int(i)) for i in ids if int(i) not in skipped]

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        ids = [self.backend.token_to_id(token) for token in tokens]
        return self.backend.decode([i for i in ids if i is not None])

    def tokenize(self, text: str, pair: str | None = None, add_special_tokens: bool = False, **_: Any) -> list[str]:
        return self.backend.encode(text if pair is None else (text, pair), special=add_special_tokens).tokens

    def encode(self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, **options: Any) -> Any:
        """The ids alone."""
        return self(text, text_pair, add_special_tokens=add_special_tokens, **options)["input_ids"]

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None,
               **_: Any) -> Any:
        """A text; of a batch of ids a list of them."""
        if hasattr(token_ids, "tolist"):
            token_ids = token_ids.tolist()
        if isinstance(token_ids, int):
            token_ids = [token_ids]
        if token_ids and not isinstance(token_ids[0], int) and hasattr(token_ids[0], "__len__"):
            return [self.decode(one, skip_special_tokens, clean_up_tokenization_spaces) for one in token_ids]
        text = self.backend.decode(token_ids, skip_special_tokens)
        clean = self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        return _clean(text) if clean else text

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False,
                     clean_up_tokenization_spaces: bool | None = None, **_: Any) -> list[str]:
        return [self.decode(one, skip_special_tokens, clean_up_tokenization_spaces) for one in sequences]

    # ---- the call ----

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        **_: Any,
    ) -> BatchEncoding:
        if text is None and text_target is not None:
            text, text_pair = text_target, text_pair_target
        inputs, single = self._inputs(text, text_pair, is_split_into_words)
        options = self._options(padding, truncation, max_length, pad_to_multiple_of, padding_side)
        found = self.backend.encode(inputs, special=add_special_tokens, stride=stride, overflow=return_overflowing_tokens, **options)
        owners = list(range(len(found)))
        if return_overflowing_tokens:
            owners = [i for i, one in enumerate(found) for _ in range(1 + len(one.overflowing))]
            found = [part for one in found for part in (one, *one.overflowing)]
        data: dict[str, Any] = {"input_ids": [one.ids for one in found]}
        if self._wants("token_type_ids", return_token_type_ids):
            data["token_type_ids"] = [one.type_ids for one in found]
        if self._wants("attention_mask", return_attention_mask):
            data["attention_mask"] = [one.attention_mask for one in found]
        if return_special_tokens_mask:
            data["special_tokens_mask"] = [one.special_tokens_mask for one in found]
        if return_offsets_mapping:
            data["offset_mapping"] = [one.offsets for one in found]
        if return_length:
            data["length"] = [len(one) for one in found]
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = owners
        if single and not return_overflowing_tokens and return_tensors is None:
            data = {name: values if name == "length" else values[0] for name, values in data.items()}
        return BatchEncoding(data, found).convert_to_tensors(return_tensors)

    def _wants(self, name: str, asked: bool | None) -> bool:
        return name in self.model_input_names if asked is None else asked

    def _inputs(self, text: Any, pair: Any, words: bool) -> tuple[list[Any], bool]:
        """The inputs as the library takes them, and whether they were one."""
        if text is None:
            raise ValueError("You need to specify either `text` or `text_target`.")
        if hasattr(text, "tolist") and not isinstance(text, str):
            text = text.tolist()
        if not isinstance(text, (str, list, tuple)):
            raise ValueError("text input must be of type `str` (single example), `list[str]` (batch or single pretokenized example) "
                             "or `list[list[str]]` (batch of pretokenized examples).")
        if words:
            batched = bool(text) and isinstance(text[0], (list, tuple))
        else:
            batched = isinstance(text, (list, tuple))
        if batched and len(text) == 0:
            raise IndexError("list index out of range")
        if batched and isinstance(pair, str):
            raise TypeError("when tokenizing batches of text, `text_pair` must be a list or tuple with the same length as `text`.")
        if batched and pair is not None and len(text) != len(pair):
            raise ValueError(f"batch length of `text`: {len(text)} does not match batch length of `text_pair`: {len(pair)}.")
        firsts = list(text) if batched else [text]
        seconds = [None] * len(firsts) if pair is None else list(pair) if batched else [pair]
        return [self._input(a, b, words) for a, b in zip(firsts, seconds)], not batched

    @staticmethod
    def _input(first: Any, second: Any, words: bool) -> Any:
        if words:
            return {"words": list(first)} if second is None else {"words": list(first), "words_pair": list(second)}
        if second is None and isinstance(first, (list, tuple)) and len(first) == 2:
            first, second = first
        if not _is_text(first) or (second is not None and not _is_text(second)):
            raise ValueError("text input must be of type `str` (single example), `list[str]` (batch or single pretokenized example) "
                             "or `list[list[str]]` (batch of pretokenized examples).")
        return first if second is None else (first, second)

    def _options(self, padding: bool | str, truncation: bool | str | None, max_length: int | None, multiple: int | None,
                 side: str | None) -> dict[str, Any]:
        options: dict[str, Any] = {"cut_left": self.truncation_side == "left"}
        if padding not in (True, False, None, "longest", "max_length", "do_not_pad"):
            raise ValueError(f"{padding} is not a valid PaddingStrategy, please select one of ['longest', 'max_length', 'do_not_pad']")
        if truncation not in (True, False, None, "do_not_truncate", *_CUTS):
            raise ValueError(f"{truncation} is not a valid TruncationStrategy, please select one of "
                             f"{['only_first', 'only_second', 'longest_first', 'do_not_truncate']}")
        if truncation not in (None, False, "do_not_truncate"):
            limit = self.model_max_length if max_length is None else max_length
            if limit < ENDLESS:
                options["max_length"] = limit
            options["cut"] = _CUTS["longest_first" if truncation is True else str(truncation)]
        if padding not in (None, False, "do_not_pad"):
            if self.pad_token is None:
                raise ValueError("Asking to pad but the tokenizer does not have a padding token. Please select a token to use as "
                                 "`pad_token` `(tokenizer.pad_token = tokenizer.eos_token e.g.)`.")
            options.update(pad=True, pad_id=self.pad_token_id, pad_left=(side or self.padding_side) == "left",
                           pad_multiple=multiple or 0)
            fixed = self.model_max_length if max_length is None else max_length
            if padding == "max_length" and fixed < ENDLESS:
                options["pad_length"] = fixed
        return options

    def encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> BatchEncoding:
        return self(text, text_pair, **options)

    def batch_encode_plus(self, batch_text_or_text_pairs: Any, **options: Any) -> BatchEncoding:
        return self(batch_text_or_text_pairs, **options)

    def pad(self, encoded_inputs: Any, padding: bool | str = True, max_length: int | None = None,
            pad_to_multiple_of: int | None = None, padding_side: str | None = None, return_attention_mask: bool | None = None,
            return_tensors: str | None = None, verbose: bool = True) -> BatchEncoding:
        """Encodings of several calls to one length."""
        if isinstance(encoded_inputs, (list, tuple)):
            encoded_inputs = {name: [one[name] for one in encoded_inputs] for name in encoded_inputs[0]}
        data = {name: [_list(row) for row in rows] for name, rows in dict(encoded_inputs).items()}
        if self._wants("attention_mask", return_attention_mask) and "attention_mask" not in data:
            data["attention_mask"] = [[1] * len(row) for row in data["input_ids"]]
        width = max((len(row) for row in data["input_ids"]), default=0)
        if padding == "max_length":
            width = self.model_max_length if max_length is None else max_length
        if pad_to_multiple_of:
            width = -(-width // pad_to_multiple_of) * pad_to_multiple_of
        fill = {"input_ids": self.pad_token_id, "special_tokens_mask": 1}
        left = (padding_side or self.padding_side) == "left"
        for name, rows in data.items():
            if padding not in (False, None, "do_not_pad") and rows and isinstance(rows[0], list):
                more = [[fill.get(name, 0)] * (width - len(row)) for row in rows]
                data[name] = [extra + row if left else row + extra for row, extra in zip(rows, more)]
        return BatchEncoding(data).convert_to_tensors(return_tensors)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **settings: Any) -> PreTrainedTokenizer:
        return cls(source(pretrained_model_name_or_path, settings.pop("revision", None)), **settings)


def _list(row: Any) -> Any:
    return row.tolist() if hasattr(row, "tolist") else row


def _clean(text: str) -> str:
    for mark in (".", "?", "!", ","):
        text = text.replace(" " + mark, mark)
    for spaced, joined in ((" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")):
        text = text.replace(spaced, joined)
    return text


class AutoTokenizer:
    """As transformers' AutoTokenizer: a folder's, a package's or a file's tokenizer."""

    @staticmethod
    def from_pretrained(pretrained_model_name_or_path: str | os.PathLike[str], *_: Any, **settings: Any) -> PreTrainedTokenizer:
        return PreTrainedTokenizer.from_pretrained(pretrained_model_name_or_path, **settings)


class ONNXTokenizer:
    """A tokenizer whose arrays have the fixed shape of a graph: int64 [batch_size, sequence_length].

    A size of None stays as it comes. More texts than batch_size are cut into calls of that size: `chunks` gives them."""

    def __init__(self, tokenizer: Any, batch_size: int | None = 1, sequence_length: int | None = 128,
                 input_names: Sequence[str] | None = None) -> None:
        self.tokenizer = PreTrainedTokenizer(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else tokenizer
        self.batch_size = batch_size
        self.sequence_length = sequence_length
        self.input_names = list(input_names) if input_names else list(self.tokenizer.model_input_names)

    def __getattr__(self, name: str) -> Any:
        if name == "tokenizer":
            raise AttributeError(name)
        return getattr(self.tokenizer, name)

    def chunks(self, text: Any, text_pair: Any = None) -> list[dict[str, Any]]:
        """One dict of arrays for each call of the graph."""
        texts = [text] if isinstance(text, str) else list(text)
        pairs = None if text_pair is None else [text_pair] if isinstance(text_pair, str) else list(text_pair)
        size = self.batch_size or max(len(texts), 1)
        out = []
        for at in range(0, len(texts), size):
            first, second = texts[at:at + size], None if pairs is None else pairs[at:at + size]
            missing = (self.batch_size or 0) - len(first)
            if missing > 0:
                first = first + [""] * missing
                second = None if second is None else second + [""] * missing
            out.append(self._arrays(first, second))
        return out

    def _arrays(self, texts: list[str], pairs: list[str] | None) -> dict[str, Any]:
        fixed = self.sequence_length is not None
        found = self.tokenizer(texts, pairs, padding="max_length" if fixed else True, truncation=True,
                               max_length=self.sequence_length, return_tensors="np", return_token_type_ids=True)
        return {name: found[name] for name in self.input_names if name in found}

    def __call__(self, text: Any, text_pair: Any = None, **_: Any) -> BatchEncoding:
        """The arrays of all texts; a number of texts that is no multiple of batch_size is filled up with empty ones."""
        parts = self.chunks(text, text_pair)
        np = numpy()
        return BatchEncoding({name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {})
