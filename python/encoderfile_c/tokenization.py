# SPDX-License-Identifier: Apache-2.0
"""Tokenizers with the calls and results of transformers' fast tokenizers, on numpy and lists."""
from __future__ import annotations

import logging
import os
import shutil
from collections import UserDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _core
from ._arrays import as_tensors, is_torch, numpy
from ._source import source
from .errors import InputError, UnsupportedError

logger = logging.getLogger(__name__)

ENDLESS = int(1e30)  # model_max_length of a tokenizer that has no limit
LARGE = 2**31 - 1     # and what counts as none
_CUTS = {"longest_first": "longest", "only_first": "first", "only_second": "second"}
_FILES = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
          "sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model", "sentencepiece.model"}
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class CharSpan(NamedTuple):
    """From the first character to the one behind the last."""

    start: int
    end: int


class TokenSpan(NamedTuple):
    """From the first token to the one behind the last."""

    start: int
    end: int


@dataclass(frozen=True)
class AddedToken:
    """A token that is cut out of a text before anything else looks at it."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    def __str__(self) -> str:
        return self.content


class BatchEncoding(UserDict[str, Any]):
    """What a call returns: a dict whose keys are attributes too, and the Encodings behind it.

    Methods that ask for one place take its index, or first the index of the text in the batch. A text's places are counted in
    characters, tokens and words; sequence_index 1 is the second text of a pair."""

    def __init__(self, data: Mapping[str, Any] | None = None, encodings: Sequence[_core.Encoding] | None = None,
                 n_sequences: int | None = None) -> None:
        super().__init__(data or {})
        self._encodings = list(encodings) if encodings is not None else None
        self.n_sequences = n_sequences  # 2 for pairs; None: not made by a tokenizer

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
        if self._encodings is not None:
            return self._encodings[key]
        if isinstance(key, slice):
            return {name: values[key] for name, values in self.data.items()}
        raise KeyError("Invalid key. Only three types of key are available: (1) string, (2) integers for backend Encoding, "
                       "and (3) slices for data subsetting.")

    def __getstate__(self) -> dict[str, Any]:
        """The arrays and lists; the Encodings stay in their process."""
        return {**self.__dict__, "_encodings": None}

    @property
    def is_fast(self) -> bool:
        return self._encodings is not None

    @property
    def encodings(self) -> list[_core.Encoding] | None:
        return self._encodings

    def _one(self, index: int) -> _core.Encoding:
        if self._encodings is None:
            raise ValueError("there are no encodings: the result was not made by a tokenizer, or comes from another process")
        return self._encodings[index]

    def tokens(self, batch_index: int = 0) -> list[str]:
        return self._one(batch_index).tokens

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        return self._one(batch_index).word_ids

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """0 for the first text, 1 for the second, None for special tokens."""
        return self._one(batch_index).sequence_ids

    def _place(self, batch_or_index: int, index: int | None) -> tuple[_core.Encoding, int]:
        """The encoding that is meant, and the place in it."""
        return (self._one(0), batch_or_index) if index is None else (self._one(batch_or_index), index)

    def _tokens_of(self, one: _core.Encoding, sequence: int) -> list[int]:
        """The tokens of one text; of a text that there is not: all."""
        if sequence >= (self.n_sequences or 1):
            return list(range(len(one)))
        return [i for i, text in enumerate(one.sequence_ids) if text == sequence]

    def token_to_sequence(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        one, token = self._place(batch_or_token_index, token_index)
        return one.sequence_ids[token] if token < len(one) else None

    def token_to_chars(self, batch_or_token_index: int, token_index: int | None = None) -> CharSpan | None:
        one, token = self._place(batch_or_token_index, token_index)
        return None if token >= len(one) or one.special_tokens_mask[token] else CharSpan(*one.offsets[token])

    def token_to_word(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        one, token = self._place(batch_or_token_index, token_index)
        return one.word_ids[token] if token < len(one) else None

    def char_to_token(self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0) -> int | None:
        one, char = self._place(batch_or_char_index, char_index)
        offsets = one.offsets
        return next((i for i in self._tokens_of(one, sequence_index) if offsets[i][0] <= char < offsets[i][1]), None)

    def char_to_word(self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0) -> int | None:
        one, _ = self._place(batch_or_char_index, char_index)
        token = self.char_to_token(batch_or_char_index, char_index, sequence_index)
        return None if token is None else one.word_ids[token]

    def word_to_tokens(self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0) -> TokenSpan | None:
        one, word = self._place(batch_or_word_index, word_index)
        words = one.word_ids
        found = [i for i in self._tokens_of(one, sequence_index) if words[i] == word]
        return TokenSpan(found[0], found[-1] + 1) if found else None

    def word_to_chars(self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0) -> CharSpan:
        one, word = self._place(batch_or_word_index, word_index)
        span = self.word_to_tokens(batch_or_word_index, word_index, sequence_index)
        if span is None:
            raise TypeError(f"word {word} has no tokens")
        return CharSpan(one.offsets[span.start][0], one.offsets[span.end - 1][1])

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


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _may_be_text(value: Any, depth: int = 3) -> bool:
    """A str, or lists that begin with one, up to three deep."""
    return _is_text(value) or (_is_list(value) and depth > 0 and (len(value) == 0 or _may_be_text(value[0], depth - 1)))


class PreTrainedTokenizer:
    """Texts to ids and back. `AutoTokenizer.from_pretrained(path)` makes one."""

    is_fast = True

    def __init__(self, path: str | os.PathLike[str] | _core.Tokenizer, **settings: Any) -> None:
        self.backend = path if isinstance(path, _core.Tokenizer) else _core.Tokenizer(path)
        self.name_or_path = "" if isinstance(path, _core.Tokenizer) else os.fspath(path)
        about = self.backend.describe()
        self.model_max_length: int = int(about["model_max_length"] or ENDLESS)
        self.padding_side: str = about["padding_side"]
        self.truncation_side: str = about["truncation_side"]
        self.model_input_names: list[str] = about["model_input_names"]
        self.clean_up_tokenization_spaces: bool = about["clean_up_tokenization_spaces"]
        self._special: dict[str, Any] = {role: about[role] for role in _ROLES if about.get(role)}
        self.additional_special_tokens: list[str] = about["additional_special_tokens"]
        self._added: dict[int, AddedToken] = {one.pop("id"): AddedToken(**one) for one in about["added_tokens"]}
        self._tidies = about["model"] != "BPE"  # what is there to tidy would be the text's own
        self._word_end = "</w>" if str(about["tokenizer_class"]).removesuffix("Fast") == "CLIPTokenizer" else ""  # a space, in texts
        self.vocab_size: int = about["vocab_size"]
        self._vocabulary: dict[str, int] | None = None
        for name, value in settings.items():
            if name in ("model_max_length", "padding_side", "truncation_side", "model_input_names", *_ROLES):
                setattr(self, name, value)

    # ---- in other processes: its files are read again there ----

    def __getstate__(self) -> dict[str, Any]:
        if not self.name_or_path:
            raise TypeError("cannot pickle a tokenizer of a Model that is open: AutoTokenizer.from_pretrained(path) makes one that can be")
        return {**self.__dict__, "backend": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.backend = _core.Tokenizer(self.name_or_path)

    # ---- what it has ----

    def __getattr__(self, name: str) -> Any:
        special = self.__dict__.get("_special", {})
        if name in special or name in _ROLES:
            return special.get(name)
        if name.endswith("_token_id") and name[:-3] in _ROLES:
            token = special.get(name[:-3])
            return None if token is None else self.backend.token_to_id(token)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """A token's role may be given to another one: by its name, or to pad_token_id and the like by its id."""
        role = name.removesuffix("_id")
        if role not in _ROLES:
            super().__setattr__(name, value)
            return
        token = self.backend.id_to_token(value) if role != name and value is not None else value
        roles = {**self._special, role: None if token is None else str(token)}
        self._special = {each: roles[each] for each in _ROLES if roles.get(each) is not None}

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> tuple[str, ...]:
        """Copies the files it was made of; returns their new paths."""
        path = self.name_or_path
        folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
        names = sorted(_FILES.intersection(os.listdir(folder))) if path else []
        if not names:
            raise UnsupportedError(f"save_pretrained: found {path or 'a tokenizer that was open already'!r}, wanted one of a folder with its files")
        os.makedirs(save_directory, exist_ok=True)
        return tuple(shutil.copy(os.path.join(folder, name), os.path.join(save_directory, name)) for name in names)

    def __len__(self) -> int:
        return len(self.backend)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(name_or_path={self.name_or_path!r}, vocab_size={self.vocab_size}, "
                f"model_max_length={self.model_max_length}, padding_side={self.padding_side!r}, "
                f"truncation_side={self.truncation_side!r}, special_tokens={self.special_tokens_map})")

    @property
    def special_tokens_map(self) -> dict[str, str]:
        return dict(self._special)

    @property
    def extra_special_tokens(self) -> list[str]:
        return self.additional_special_tokens

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        return dict(self._added)

    @property
    def added_tokens_encoder(self) -> dict[str, int]:
        return {str(token): i for i, token in sorted(self._added.items())}

    def get_added_vocab(self) -> dict[str, int]:
        return self.added_tokens_encoder

    @property
    def all_special_tokens(self) -> list[str]:
        return list(dict.fromkeys([*self._special.values(), *self.additional_special_tokens]))

    @property
    def all_special_ids(self) -> list[int]:
        return [i for i in map(self.backend.token_to_id, self.all_special_tokens) if i is not None]

    @property
    def max_len_single_sentence(self) -> int:
        """Tokens of a text beside the special ones."""
        return self.model_max_length - self.num_special_tokens_to_add()

    @property
    def max_len_sentences_pair(self) -> int:
        return self.model_max_length - self.num_special_tokens_to_add(pair=True)

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

    def get_special_tokens_mask(self, token_ids_0: Sequence[int], token_ids_1: Sequence[int] | None = None,
                                already_has_special_tokens: bool = False) -> list[int]:
        """1 where an id is that of a special token."""
        if not already_has_special_tokens:
            raise NotImplementedError(f"{type(self).__name__} does not implement get_special_tokens_mask for non-formatted sequences")
        if token_ids_1 is not None:
            raise ValueError("You should not supply a second sequence if the provided sequence of ids is already formatted with special "
                             "tokens for the model.")
        special = set(self.all_special_ids)
        return [int(int(i) in special) for i in token_ids_0]

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
        return self.backend.join([token for token in tokens if token is not None])

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **options: Any) -> list[str]:
        """Of several texts the tokens of the first, as in transformers."""
        return self(text, pair, add_special_tokens=add_special_tokens, **options).tokens()

    def encode(self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, **options: Any) -> Any:
        """The ids alone."""
        return self(text, text_pair, add_special_tokens=add_special_tokens, **options)["input_ids"]

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool | None = None,
               **_: Any) -> Any:
        """A text; of a batch of ids a list of them."""
        if hasattr(token_ids, "tolist"):
            token_ids = token_ids.tolist()
        if isinstance(token_ids, str):
            raise TypeError("token_ids: found a str, wanted ids")
        if isinstance(token_ids, int):
            token_ids = [token_ids]
        if token_ids and not isinstance(token_ids[0], int) and hasattr(token_ids[0], "__len__"):
            return [self.decode(one, skip_special_tokens, clean_up_tokenization_spaces) for one in token_ids]
        if any(i < 0 for i in token_ids):
            raise OverflowError("out of range integral type conversion attempted: an id below 0")
        size = len(self)
        text = self.backend.decode([i for i in token_ids if i < size], skip_special_tokens)
        if self._word_end:
            text = text.replace(self._word_end, " ").strip()
        clean = self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        return _clean(text) if clean and self._tidies else text

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False,
                     clean_up_tokenization_spaces: bool | None = None, **_: Any) -> list[str]:
        """A list of texts: one for ids that are no batch."""
        found = self.decode(sequences, skip_special_tokens, clean_up_tokenization_spaces)
        return found if isinstance(found, list) else [found]

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
        **others: Any,
    ) -> BatchEncoding:
        if others.get("split_special_tokens"):
            raise UnsupportedError("split_special_tokens: found True, wanted False: special tokens in a text are always taken as such")
        if text is None and text_target is not None:
            text, text_pair = text_target, text_pair_target
        inputs, single = self._inputs(text, text_pair, is_split_into_words)
        options = self._options(padding, truncation, max_length, pad_to_multiple_of, padding_side)
        try:
            found = self.backend.encode(inputs, special=add_special_tokens, stride=stride if "cut" in options else 0,
                                        overflow=return_overflowing_tokens, **options)
        except InputError as problem:
            if "surrogates" not in str(problem):
                raise
            raise TypeError(f"found a text that is not Unicode: {problem}") from None
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
        pairs = isinstance(inputs[0], tuple) or "words_pair" in inputs[0]
        return BatchEncoding(data, found, 2 if pairs else 1).convert_to_tensors(return_tensors)

    def _wants(self, name: str, asked: bool | None) -> bool:
        return name in self.model_input_names if asked is None else asked

    def _inputs(self, text: Any, pair: Any, words: bool) -> tuple[list[Any], bool]:
        """The inputs as the library takes them, and whether they were one."""
        if text is None:
            raise ValueError("You need to specify either `text` or `text_target`.")
        if hasattr(text, "tolist") and not isinstance(text, str):
            text = text.tolist()
        if not _may_be_text(text) or (pair is not None and not _may_be_text(pair)):
            raise ValueError("text input must be of type `str` (single example), `list[str]` (batch or single pretokenized example) "
                             "or `list[list[str]]` (batch of pretokenized examples).")
        batched = _is_list(text) and (not words or (len(text) > 0 and _is_list(text[0])))
        if not batched:
            return [self._input((text, pair) if pair else text, words)], True
        if len(text) == 0:
            raise IndexError("list index out of range")
        if isinstance(pair, str):
            raise TypeError("when tokenizing batches of text, `text_pair` must be a list or tuple with the same length as `text`.")
        if pair is not None and len(text) != len(pair):
            raise ValueError(f"batch length of `text`: {len(text)} does not match batch length of `text_pair`: {len(pair)}.")
        return [self._input(one, words) for one in (text if pair is None else zip(text, pair))], False

    @staticmethod
    def _input(given: Any, words: bool) -> Any:
        """A text, its words, or a pair of either. Two texts where words are asked for are two words."""
        if words and _is_list(given) and all(map(_is_text, given)):
            return {"words": list(given)}
        if words and _is_list(given) and len(given) == 2 and all(_is_list(one) and all(map(_is_text, one)) for one in given):
            return {"words": list(given[0]), "words_pair": list(given[1])}
        if not words and _is_text(given):
            return given
        if not words and _is_list(given) and len(given) == 2 and all(map(_is_text, given)):
            return tuple(given)
        raise TypeError(f"found {given!r:.80}, wanted " + ("a list of words, or two such lists" if words else "a str, or two of them"))

    def _options(self, padding: bool | str, truncation: bool | str | None, max_length: int | None, multiple: int | None,
                 side: str | None) -> dict[str, Any]:
        options: dict[str, Any] = {"cut_left": self.truncation_side == "left"}
        if padding not in (True, False, "longest", "max_length", "do_not_pad"):
            raise ValueError(f"{padding} is not a valid PaddingStrategy, please select one of ['longest', 'max_length', 'do_not_pad']")
        if truncation not in (True, False, None, "do_not_truncate", *_CUTS):
            raise ValueError(f"{truncation} is not a valid TruncationStrategy, please select one of "
                             f"{['only_first', 'only_second', 'longest_first', 'do_not_truncate']}")
        if truncation is None and padding is False and max_length is not None:
            truncation = "longest_first"
        limit = min(self.model_max_length, LARGE) if max_length is None else max_length
        endless = max_length is None and limit == LARGE
        cuts = truncation not in (None, False, "do_not_truncate") and not endless
        pads = padding not in (False, "do_not_pad") and not (padding == "max_length" and endless)
        if cuts:
            options.update(max_length=limit, cut=_CUTS.get(str(truncation), "longest"))
        if pads:
            self._check_pads()
            options.update(pad=True, pad_id=self.pad_token_id, pad_left=(side or self.padding_side) == "left",
                           pad_multiple=multiple or 0, pad_length=limit if padding == "max_length" else 0)
        if cuts and pads and multiple and limit % multiple != 0:
            raise ValueError(f"Truncation and padding are both activated but truncation length ({limit}) is not a multiple of "
                             f"pad_to_multiple_of ({multiple}).")
        return options

    def encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> BatchEncoding:
        return self(text, text_pair, **options)

    def batch_encode_plus(self, batch_text_or_text_pairs: Any, **options: Any) -> BatchEncoding:
        return self(batch_text_or_text_pairs, **options)

    def _check_pads(self) -> None:
        if self.pad_token is None:
            raise ValueError("Asking to pad but the tokenizer does not have a padding token. Please select a token to use as "
                             "`pad_token` `(tokenizer.pad_token = tokenizer.eos_token e.g.)`.")

    def pad(self, encoded_inputs: Any, padding: bool | str = True, max_length: int | None = None,
            pad_to_multiple_of: int | None = None, padding_side: str | None = None, return_attention_mask: bool | None = None,
            return_tensors: str | None = None, verbose: bool = True) -> BatchEncoding:
        """Encodings of several calls to one length, or one of them. What is no input of the tokenizer's own stays as it is."""
        if isinstance(encoded_inputs, (list, tuple)):
            encoded_inputs = {name: [one[name] for one in encoded_inputs] for name in encoded_inputs[0]}
        return_tensors = return_tensors or _kind(encoded_inputs["input_ids"])
        data = {name: _list(rows) for name, rows in dict(encoded_inputs).items()}
        ids = data["input_ids"]
        single = len(ids) > 0 and isinstance(ids[0], int)
        if single:
            data = {name: [row] for name, row in data.items()}
        data = {name: [_list(row) for row in rows] for name, rows in data.items()}
        ids = data["input_ids"]
        if (self._wants("attention_mask", return_attention_mask) if ids else return_attention_mask) and "attention_mask" not in data:
            data["attention_mask"] = [[1] * len(row) for row in ids]
        width = max((len(row) for row in ids), default=0)
        if padding == "max_length":
            width = max_length or (self.model_max_length if self.model_max_length < LARGE else 0)
        if ids and padding not in (False, None, "do_not_pad") and (width or padding != "max_length"):
            self._check_pads()
        if pad_to_multiple_of:
            width = -(-width // pad_to_multiple_of) * pad_to_multiple_of
        fill = {"input_ids": self.pad_token_id, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}
        left = (padding_side or self.padding_side) == "left"
        for name, rows in data.items():
            if padding not in (False, None, "do_not_pad") and name in fill:
                more = [[fill[name]] * (width - len(row)) for row in rows]
                data[name] = [extra + row if left else row + extra for row, extra in zip(rows, more)]
        if single:
            data = {name: rows[0] for name, rows in data.items()}
        return BatchEncoding(data).convert_to_tensors(return_tensors)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], **settings: Any) -> PreTrainedTokenizer:
        return cls(source(pretrained_model_name_or_path, settings.pop("revision", None)), **settings)


def _list(row: Any) -> Any:
    return row.tolist() if hasattr(row, "tolist") else list(row) if isinstance(row, tuple) else row


def _kind(rows: Any) -> str | None:
    """Arrays that are padded stay arrays, and tensors of torch such."""
    first = rows[0] if isinstance(rows, (list, tuple)) and rows else rows
    return "pt" if is_torch(first) else "np" if hasattr(first, "__array_interface__") else None


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
