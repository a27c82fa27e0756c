# SPDX-License-Identifier: Apache-2.0
"""pipeline(task, model): what transformers' pipelines take and return, for every task that the program has.

The C library answers each input as the pipeline of that name does (docs/run.md). What is here is Python's part of the
contract: which objects are one input and which are many, the types of the results, and the errors.
"""
from __future__ import annotations

import base64
import functools
import io
import os
import struct
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from . import _core
from ._arrays import cpu, has_torch, torch
from ._folder import find_model, read_json
from ._head import GraphHead
from ._source import LOADING, source
from .errors import EncoderfileError
from .tokenization import LARGE, PreTrainedTokenizer

__all__ = ["Pipeline", "PipelineException", "PipelineIterator", "pipeline", "supported_tasks"]

AT_ONCE = 64  # inputs of one call of the library, which forms its own batches of them


class PipelineException(Exception):
    """A text that the pipeline can do nothing with."""

    def __init__(self, task: str, model: str | None, reason: str) -> None:
        super().__init__(reason)
        self.task = task
        self.model = model


def _single(x: float) -> float:
    """The float of 32 bits that was printed as x, as transformers gives it."""
    return float(struct.unpack("f", struct.pack("f", x))[0])


def _ordered(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: _single(row[key]) if key == "score" and row[key] is not None else row[key] for key in keys}


class PipelineIterator:
    """What a generator or a dataset gives: answers when they are asked for, one for each input."""

    def __init__(self, pipe: Pipeline, inputs: Iterable[Any], params: dict[str, Any], at_once: int) -> None:
        self._pipe, self._inputs, self._params, self._at_once = pipe, inputs, params, at_once
        self._length = inputs if hasattr(inputs, "__len__") else None
        self._made = self._answers()

    def _answers(self) -> Iterator[Any]:
        waiting: list[Any] = []
        for one in self._inputs:
            waiting.append(one)
            if len(waiting) == self._at_once:
                yield from self._pipe._batched(waiting, self._params, self._at_once)
                waiting = []
        if waiting:
            yield from self._pipe._batched(waiting, self._params, self._at_once)

    def __iter__(self) -> PipelineIterator:
        return self

    def __next__(self) -> Any:
        return next(self._made)

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("object of type 'PipelineIterator' has no len(): a generator was given")
        return len(self._length)  # type: ignore[arg-type]


class PipelineModel:
    """What `pipe.model` is: the Model, with what code that was written for transformers looks for beside it."""

    def __init__(self, core: _core.Model, name: str) -> None:
        self.core, self.name_or_path, self.training = core, name, False

    @property
    def device(self) -> Any:
        """torch's, where that is installed."""
        return cpu()

    def __getattr__(self, name: str) -> Any:
        if name == "config":
            self.config = _config(self.core, self.name_or_path)
            return self.config
        return getattr(self.__dict__["core"], name)

    def renamed(self) -> dict[str, str]:
        """Of the model's labels those that config.id2label calls otherwise by now."""
        if "config" not in self.__dict__:
            return {}
        now = self.config.id2label
        return {label: now[i] for i, label in enumerate(self.core.info()["labels"]) if now.get(i, label) != label}

    def eval(self) -> PipelineModel:
        return self

    def to(self, device: Any = None, *_: Any, **__: Any) -> PipelineModel:
        _check_device(device)
        return self

    def __repr__(self) -> str:
        return f"<PipelineModel of {self.name_or_path or self.core!r}>"


def _config(model: _core.Model, name: str) -> Any:
    """config.json as attributes; of a package or a Model that is open already what these tell of it."""
    from .ort import Config

    folder = name if os.path.isdir(name) else os.path.dirname(name)
    data = read_json(folder, "config.json") if os.path.isdir(name) or name.endswith(".onnx") else None
    if data is None and name:
        data = {key: value for key, value in (_core.inspect(name).get("model_config") or {}).items() if value is not None}
    data = data or {}
    labels = model.info()["labels"]
    if labels:
        data.setdefault("id2label", dict(enumerate(labels)))
        data.setdefault("label2id", {label: i for i, label in enumerate(labels)})
    return Config({"_name_or_path": name, "name_or_path": name, "problem_type": None, **data})


class Processor:
    """What prepares pictures or sounds, inside the library: its settings as attributes, and the arrays that the model is given."""

    def __init__(self, pipe: Pipeline) -> None:
        self._pipe = pipe

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # while it is being unpickled
            raise AttributeError(name)
        if name == "_settings":
            path = self.__dict__["_pipe"].name
            self._settings = {"sampling_rate": self._pipe._rate()} if isinstance(self._pipe, _SoundPipeline) else {}
            self._settings |= (read_json(path, "preprocessor_config.json") if os.path.isdir(path) else None) or {}
            return self._settings
        if name in self._settings:
            return self._settings[name]
        raise AttributeError(f"preprocessor_config.json has no {name!r}")

    def to_dict(self) -> dict[str, Any]:
        return dict(self._settings)

    def __call__(self, inputs: Any = None, return_tensors: str | None = None, **named: Any) -> Any:
        """The graph's inputs for one or several pictures or sounds, as arrays, or as the tensors that are asked for."""
        from .preprocessing import batch

        inputs = next((named[name] for name in ("images", "raw_speech", "audio") if name in named), inputs)
        many = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        return batch(self._pipe.model.prepare([self._pipe._read(one, {}) for one in many]), return_tensors or "np")


def _is_dataset(inputs: Any) -> bool:
    """datasets.Dataset, torch's Dataset and what wraps them."""
    return any(kind.__name__ in ("Dataset", "IterableDataset", "KeyDataset", "IterableDatasetDict") for kind in type(inputs).__mro__)


class Pipeline:
    """One task on one model. Each subclass is a task."""

    whole: ClassVar[bool | None] = None  # False: texts are cut to the tokenizer's model_max_length; None: as the library cuts them

    task: str = ""  # as it was asked for: "ner" is one, too
    aliases: ClassVar[tuple[str, ...]] = ()
    accepted: ClassVar[tuple[str, ...]] = ()  # parameters of a call
    strict: ClassVar[bool] = True  # any other is a TypeError; else it is ignored, as transformers ignores it
    keys: ClassVar[tuple[str, ...]] = ()  # of a result, in transformers' order
    drops: ClassVar[bool] = False  # more arguments by place are a warning; else a TypeError

    def __init__(self, model: _core.Model, *, name: str = "", tokenizer: Any = None, batch_size: int | None = None,
                 num_workers: int | None = None, options: Mapping[str, Any] | None = None, **params: Any) -> None:
        self.model: Any = PipelineModel(model, name)
        self._ask = model.run
        self.name = name
        self._options = options or {}  # that the model was opened with
        self._tokenizer = tokenizer
        self.framework = "encoderfile"
        self._batch_size = batch_size
        self._params = self._sanitize(params)

    # ---- in other processes: its files are opened again there ----

    def __getstate__(self) -> dict[str, Any]:
        if not self.name:
            raise TypeError("cannot pickle a pipeline of a Model that is open: pipeline(task, path) makes one that can be")
        return {**self.__dict__, "model": self.model.__dict__.get("config"), "_ask": None, **({"_head": None} if "_head" in self.__dict__ else {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        core, _ = _open(self.name, self._options.get("task"), dict(self._options))
        self.model, self._ask = PipelineModel(core, self.name), core.run
        if state["model"] is not None:
            self.model.config = state["model"]

    def __copy__(self) -> Pipeline:
        """Another one on the same open model."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    # ---- what it has ----

    @property
    def tokenizer(self) -> Any:
        """As transformers' tokenizers are called; None: the model reads no texts."""
        if self._tokenizer is None and self.model.tokenizer is not None:
            self._tokenizer = PreTrainedTokenizer(self.model.tokenizer)
            self._tokenizer.name_or_path = self.name
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @functools.cached_property
    def device(self) -> Any:
        return cpu()

    image_processor: Any = None
    feature_extractor: Any = None

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        """Copies the model with what belongs to it: a folder whole, a file as it is."""
        import shutil

        if not self.name:
            raise ValueError("save_pretrained: found a Model that was open already, wanted a pipeline of a path")
        if os.path.isdir(self.name):
            shutil.copytree(self.name, save_directory, dirs_exist_ok=True)
        else:
            os.makedirs(save_directory, exist_ok=True)
            shutil.copy(self.name, save_directory)

    # ---- parameters ----

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        for key in params:
            if key not in self.accepted and self.strict:
                raise TypeError(f"{type(self).__name__}._sanitize_parameters() got an unexpected keyword argument {key!r}")
        return {key: value for key, value in params.items() if key in self.accepted}

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        """Of the parameters those that the library is given."""
        return {key: value for key, value in params.items() if value is not None}

    # ---- a call ----

    def __call__(self, inputs: Any, *args: Any, num_workers: int | None = None, batch_size: int | None = None, **kwargs: Any) -> Any:
        if args:
            self._check_more(args)
        params = {**self._params, **self._sanitize(kwargs)}
        at_once = batch_size if batch_size is not None else 1 if self._batch_size is None else self._batch_size
        lazy = isinstance(inputs, types.GeneratorType) or _is_dataset(inputs)
        if not lazy and not isinstance(inputs, list):
            return self._batched([inputs], params, 1)[0]
        if not lazy and not inputs:
            raise IndexError("list index out of range")
        if not isinstance(at_once, int) or at_once < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={at_once}")
        return PipelineIterator(self, inputs, params, at_once) if lazy else self._batched(list(inputs), params, at_once)

    def _check_more(self, args: tuple[Any, ...]) -> None:
        """Arguments by place behind the inputs."""
        if not self.drops:
            raise TypeError(f"{type(self).__name__}.__call__() takes 2 positional arguments but {len(args) + 2} were given")
        warnings.warn(f"Ignoring args : {args!r:.200}", stacklevel=4)

    def predict(self, X: Any) -> Any:
        """As scikit-learn calls it."""
        return self(X)

    transform = predict

    def _batched(self, inputs: Sequence[Any], params: dict[str, Any], at_once: int) -> list[Any]:
        """Results of a list, which the caller wants in batches of this size: of no task but one does it show in them."""
        return self._many(inputs, params)

    def _many(self, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        read = [self._read(one, params) for one in inputs]
        sent = self._sent(params)
        out: list[Any] = []
        for i in range(0, len(read), AT_ONCE):
            part = read[i:i + AT_ONCE]
            found = self._named(self._run(part, sent), params)
            out += [self._finish(one, given, params) for one, given in zip(found, inputs[i:i + AT_ONCE])]
        return out

    def _run(self, inputs: list[Any], sent: dict[str, Any]) -> list[Any]:
        found = self._ask(type(self).task, inputs, sent)
        return [found] if len(inputs) == 1 else found

    def _named(self, found: list[Any], params: dict[str, Any]) -> list[Any]:
        """With the labels that config.id2label has by now."""
        names = self.model.renamed() if "label" in self.keys else {}
        for row in (row for rows in found for row in rows if names):
            row["label"] = names.get(row["label"], row["label"])
        return found

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        """One input as the library takes it."""
        return one

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        """What the library answered, as transformers types it."""
        if self.keys and isinstance(found, list):
            return [] if params.get("top_k") == 0 else [_ordered(row, self.keys) for row in found]
        return found

    def close(self) -> None:
        """Releases the model."""
        self.model.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.task} of {self.name}>"


# ---- texts ----

class _TextPipeline(Pipeline):
    """Inputs are texts. An empty one is what its special tokens say."""

    whole: ClassVar[bool | None] = True  # texts are cut where that is asked for, and else as long as the model takes them
    _most: int | None = None  # tokens that the model takes; 0: any number

    def _text(self, one: Any) -> str:
        if one is None:
            raise ValueError("You need to specify either `text` or `text_target`.")
        if not isinstance(one, str):
            raise ValueError(f"text input must be of type `str` (single example) or a list of them: found {type(one).__name__}")
        return one

    def _first_of_batch(self, texts: Sequence[Any]) -> Any:
        """A tuple is one input. transformers makes a batch of it, which works if all are of one length, and answers for its first row."""
        lengths = {len(self.model.tokenizer.encode(self._text(text)).ids) for text in texts}
        if len(lengths) > 1:
            raise ValueError("found a tuple of texts, which is one input, wanted a list of texts")
        return texts[0]

    def _check_fits(self, cut: Mapping[str, Any], text: str, second: str | None = None) -> None:
        """An error where the text has more tokens than the model takes and `cut` (of _cutting) does not shorten it."""
        if self._most is None:
            self._most = int(self.model.info()["max_tokens"])
        most = self._most
        left = most if cut and (cut.get("max_length") or most) <= most else 0  # that a cut text has at most
        if not most or left or len((text + (second or "")).encode("utf-8", "surrogatepass")) + 4 <= most:
            return
        count = min(len(self.model.tokenizer.encode((text, second) if second else text).ids), cut.get("max_length", 1 << 30))
        if count > most:
            raise RuntimeError(f"found a text of {count} tokens, wanted at most {most}: truncation=True cuts it")

    def _cut(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """As _cutting; without a max_length to the tokenizer's, where the model takes more."""
        cut = _cutting(asked)
        length, most = getattr(self.tokenizer, "model_max_length", None), int(self.model.info()["max_tokens"])
        if cut and "max_length" not in cut and length and length < (most or LARGE):
            cut["max_length"] = length
        return cut

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        return self._text(one)


# Keywords of a tokenizer's call; those of the second row have no effect on what a model is given for one text.
_TOKENIZER = {"text", "text_pair", "text_target", "text_pair_target", "add_special_tokens", "padding", "truncation", "max_length", "stride",
              "is_split_into_words", "pad_to_multiple_of", "padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask",
              "return_overflowing_tokens", "return_special_tokens_mask", "return_offsets_mapping", "return_length", "verbose",
              "split_special_tokens"}
_NO_EFFECT = {"pad_to_multiple_of", "return_overflowing_tokens", "return_special_tokens_mask", "return_offsets_mapping", "return_length", "verbose"}
_DEFAULTS = {"add_special_tokens": True, "stride": 0, "is_split_into_words": False, "split_special_tokens": False}
_PADDINGS = (True, False, "longest", "max_length", "do_not_pad")


def _check_keywords(asked: Mapping[str, Any]) -> None:
    """Errors of keywords of a tokenizer's call that are wrong, or that nothing here can do."""
    if "return_tensors" in asked:
        raise TypeError("found return_tensors, wanted none: it is the pipeline's own")
    for name in ("text_target", "text_pair_target", "split_special_tokens"):
        if asked.get(name):
            raise ValueError(f"{name}: found {asked[name]!r:.80}, wanted none: it is not supported")
    if not isinstance(asked.get("add_special_tokens", True), bool):
        raise TypeError(f"add_special_tokens: found {asked['add_special_tokens']!r:.80}, wanted True or False")
    padding = asked.get("padding", False)
    if getattr(padding, "value", padding) not in _PADDINGS:
        raise ValueError(f"{padding} is not a valid PaddingStrategy, please select one of ['longest', 'max_length', 'do_not_pad']")
    length = asked.get("max_length")
    if length is not None and not isinstance(length, int):
        raise TypeError(f"max_length: found {length!r:.80}, wanted a whole number")
    if length is not None and length < 0:
        raise OverflowError(f"max_length: found {length}, wanted 0 or more")
    unknown = sorted(set(asked) - _TOKENIZER)
    if unknown:
        warnings.warn(f"keywords that no tokenizer takes have no effect: {', '.join(unknown)}", stacklevel=5)


TRUNCATIONS = ("only_first", "only_second", "longest_first", "do_not_truncate")


def _cutting(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the library is told of a tokenizer's truncation and max_length; nothing: texts are not cut."""
    how, length = asked.get("truncation"), asked.get("max_length")
    if how is None and length is not None and not asked.get("padding"):
        how = True
    if not how:
        return {}
    how = "longest_first" if how is True else getattr(how, "value", how)
    if how not in TRUNCATIONS:
        raise ValueError(f"{how!r} is not a valid TruncationStrategy, please select one of {list(TRUNCATIONS)}")
    if how == "do_not_truncate":
        return {}
    return {"truncation": how} if length is None else {"truncation": how, "max_length": max(int(length), 1)}  # 0 cuts nothing, as 1


def _not_a_pair() -> ValueError:
    return ValueError("The pipeline received invalid inputs, if you are trying to send text pairs, you can try to send a"
                      ' dictionary `{"text": "My text", "text_pair": "My pair"}` in order to send a text pair.')


def _scores(logits: Any, function: Any, problem: Any) -> Any:
    """Of one row: as `function` says, or what the model is for."""
    import numpy

    function = getattr(function, "name", function) or (
        "NONE" if problem == "regression" else "SIGMOID" if problem == "multi_label_classification" or len(logits) == 1 else "SOFTMAX")
    if function.upper() == "SIGMOID":
        return 1 / (1 + numpy.exp(-logits))
    if function.upper() == "SOFTMAX":
        high = numpy.exp(logits - logits.max())
        return high / high.sum()
    return logits


class TextClassificationPipeline(_TextPipeline):
    task, aliases = "text-classification", ("sentiment-analysis",)
    accepted = ("top_k", "function_to_apply")  # and every keyword of the tokenizer's call
    keys = ("label", "score")
    functions = ("SIGMOID", "SOFTMAX", "NONE")

    def __init__(self, model: _core.Model, **options: Any) -> None:
        self._head: GraphHead | None = None
        super().__init__(model, **options)

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = dict(params)
        function = params.get("function_to_apply")
        if isinstance(function, str) and function.upper() not in self.functions:
            raise KeyError(function.upper())
        if "top_k" in params and not (params["top_k"] is None or isinstance(params["top_k"], int)):
            del params["top_k"]
        _check_keywords(self._keywords(params))
        return params

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        result = super().__call__(inputs, *args, **kwargs)
        return [result] if isinstance(inputs, str) and "top_k" not in kwargs else result

    def _keywords(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in params.items() if key not in self.accepted}

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        function = params.get("function_to_apply") or self._function_of_the_problem()
        return {"top_k": None, **({"function_to_apply": function.lower()} if isinstance(function, str) else {}), **self._cut(params)}

    def _function_of_the_problem(self) -> str | None:
        """What config.problem_type asks for that was set on the open model."""
        config = self.model.__dict__.get("config")
        problem = None if config is None else vars(config).get("problem_type")
        if problem is None:
            return None
        several = len(self.model.info()["labels"]) > 1 and problem != "multi_label_classification"
        return "none" if problem == "regression" else "softmax" if several else "sigmoid"

    # ---- what the library has no option for goes through the tokenizer here, and the graph alone ----

    def _many(self, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if not self._unusual(self._keywords(params)) and not any(isinstance(one, Mapping) and set(one) - {"text", "text_pair"} for one in inputs):
            return super()._many(inputs, params)
        found = self._named([self._of_graph(one, params) for one in inputs], params)
        return [self._finish(rows, one, params) for rows, one in zip(found, inputs)]

    @functools.cached_property
    def _own_side(self) -> str:
        """Where the library cuts."""
        return str(self.model.tokenizer.describe()["truncation_side"])

    def _unusual(self, asked: Mapping[str, Any]) -> bool:
        """Whether keywords of the tokenizer change what the model is given in another way than by cutting."""
        usual = {"text", "text_pair", "truncation", "max_length", "padding", *_NO_EFFECT}
        if any(key in _TOKENIZER - usual and value is not None and value != _DEFAULTS.get(key) for key, value in asked.items()):
            return True
        if self._cut(asked) and getattr(self.tokenizer, "truncation_side", self._own_side) != self._own_side:
            return True
        pads = getattr(asked.get("padding"), "value", asked.get("padding")) == "max_length" or asked.get("pad_to_multiple_of")
        return bool(pads) and self.tokenizer.padding_side == "left"

    def _of_graph(self, one: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
        import numpy

        features = self._features(one, self._keywords(params))
        if self._head is None:
            if not self.name:
                raise ValueError("keywords of the tokenizer other than truncation, max_length and padding: found some with a Model that was "
                                 "open already, wanted a pipeline of a path")
            options = {key: value for key, value in self._options.items() if key in ("threads", "kernels", "precision")}
            self._head = GraphHead(self.name, task=type(self).task, **options)
        feeds = {name: features.get(name, numpy.full_like(features["input_ids"], name == "attention_mask")) for name in self._head.inputs}
        logits = next(iter(self._head.graph.run(feeds).values())).numpy()[0].reshape(-1)
        scores = _scores(logits, params.get("function_to_apply"), getattr(self.model.config, "problem_type", None))
        return [{"label": label, "score": float(score)} for label, score in zip(self.model.info()["labels"], scores)]

    def _features(self, one: Any, asked: dict[str, Any]) -> dict[str, Any]:
        """The arrays of one input, as the tokenizer gives them."""
        given: dict[str, Any] = dict(one) if isinstance(one, Mapping) else self._texts(one)
        twice = sorted(set(given) & set(asked))
        if twice:
            raise TypeError(f"{twice[0]}: found it in the input and as a keyword, wanted one of them")
        asked = {**given, **asked}
        _check_keywords(asked)
        cut = self._cut(asked)
        if cut and asked.get("max_length") is None:
            asked["max_length"] = cut.get("max_length") or int(self.model.info()["max_tokens"]) or None
        if not asked.get("return_overflowing_tokens"):
            asked.pop("return_overflowing_tokens", None)
        found = self.tokenizer(**{key: value for key, value in asked.items() if key in _TOKENIZER - {"split_special_tokens"}}, return_tensors="np")
        features = {name: found[name][:1] for name in ("input_ids", "attention_mask", "token_type_ids") if name in found}
        most, count = int(self.model.info()["max_tokens"]), features["input_ids"].shape[1]
        if count == 0 or most and count > most:
            raise RuntimeError(f"found a text of {count} tokens, wanted 1 to {most}: truncation=True cuts it")
        return features

    @staticmethod
    def _texts(one: Any) -> dict[str, Any]:
        if not isinstance(one, list):
            return {"text": one}
        if len(one) != 1 or not isinstance(one[0], list) or len(one[0]) != 2:
            raise _not_a_pair()
        return {"text": one[0][0], "text_pair": one[0][1]}

    def close(self) -> None:
        super().close()
        if self._head is not None:
            self._head.graph.close()

    # ---- the library's way ----

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if isinstance(one, tuple) and one:
            one = self._first_of_batch(one)
        if isinstance(one, Mapping):
            if "text_pair" in one and "text_pair" in params:
                raise TypeError("text_pair: found it in the input and as a keyword, wanted one of them")
            first, second = one.get("text"), one.get("text_pair", params.get("text_pair"))
        elif isinstance(one, list):
            if len(one) != 1 or not isinstance(one[0], list) or len(one[0]) != 2:
                raise _not_a_pair()
            first, second = one[0]
        else:
            first, second = one, params.get("text_pair")
        text, pair = self._text(first), None if second is None else self._text(second)
        self._check_fits(self._cut(params), text, pair)
        return (text, pair) if pair else text

    def _run(self, inputs: list[Any], sent: dict[str, Any]) -> list[Any]:
        found = super()._run(inputs, sent)
        return [one if isinstance(one, list) else [one] for one in found]

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        rows = sorted((_ordered(row, self.keys) for row in found), key=lambda row: row["score"], reverse=True)
        if "top_k" not in params:
            return rows[0]
        return rows[:params["top_k"]]


class TokenClassificationPipeline(_TextPipeline):
    task, aliases = "token-classification", ("ner",)
    whole = False
    accepted = ("aggregation_strategy", "ignore_labels", "stride", "offset_mapping", "delimiter", "is_split_into_words")
    strategies = ("NONE", "SIMPLE", "FIRST", "AVERAGE", "MAX")

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        strategy = params.get("aggregation_strategy")
        strategy = getattr(strategy, "value", strategy)
        if isinstance(strategy, str):
            if strategy.upper() not in self.strategies:
                raise KeyError(strategy.upper())
            params["aggregation_strategy"] = strategy.lower()
        if params.get("stride") is not None and params.get("aggregation_strategy") == "none":
            raise ValueError("`stride` was provided to process all the text but `aggregation_strategy=\"none\"`, "
                             "please select another one instead.")
        return params

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        lazy = isinstance(inputs, types.GeneratorType) or _is_dataset(inputs)
        if not lazy and not (isinstance(inputs, (str, list, tuple)) and (isinstance(inputs, str) or inputs)):
            raise ValueError("At least one input is required.")
        if isinstance(inputs, tuple):
            raise ValueError("a tuple is one input, and no text: wanted a list of texts")
        words = kwargs.get("is_split_into_words", self._params.get("is_split_into_words"))
        if words and isinstance(inputs, list) and not all(isinstance(one, list) for one in inputs):
            inputs = [inputs]
        return super().__call__(inputs, *args, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        names = ("aggregation_strategy", "ignore_labels", "stride", "delimiter")
        sent, most = {key: params[key] for key in names if params.get(key) is not None}, int(self.model.info()["max_tokens"])
        if self.model.renamed():
            if sent.get("aggregation_strategy", "none") != "none":
                raise ValueError(f"aggregation_strategy: found {sent['aggregation_strategy']!r} with labels that were changed in model.config.id2label, "
                                 "wanted \"none\": entities are grouped by the labels of the model's files")
            sent["ignore_labels"] = []
        length = getattr(self._tokenizer, "model_max_length", None)  # of a tokenizer that was given, or where it was set
        if length and length > 0 and (not most or length < most):
            if sent.get("stride", 0) >= length:
                raise ValueError(f"stride: found {sent['stride']}, wanted one below `tokenizer.model_max_length` {length}")
            if length < LARGE:
                sent["max_length"] = int(length)
        return sent

    def _named(self, found: list[Any], params: dict[str, Any]) -> list[Any]:
        names = self.model.renamed()
        if not names:
            return found
        left = params.get("ignore_labels")
        left = ["O"] if left is None else left
        rows = [[{**row, "entity": names.get(row["entity"], row["entity"])} for row in rows] for rows in found]
        return [[row for row in each if row["entity"] not in left] for each in rows]

    def _check_stride(self, text: str, stride: int | None) -> None:
        """A text that is cut to a length that was set needs windows which go on."""
        length = getattr(self._tokenizer, "model_max_length", 0)
        room = length - self._tokenizer.num_special_tokens_to_add() if length and stride else 0
        if stride and length and stride >= max(room, 1) and len(self._tokenizer(text)["input_ids"]) > length:
            raise ValueError(f"stride: found {stride}, wanted one below {room}: `tokenizer.model_max_length` {length} without special tokens")

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if not params.get("is_split_into_words"):
            self._check_stride(self._text(one), params.get("stride"))
            return one
        if not isinstance(one, list):
            raise ValueError("When `is_split_into_words=True`, `sentence` must be a list of tokens.")
        for word in one:
            if not isinstance(word, str):
                raise TypeError(f"words: found {type(word).__name__}, wanted a str")
        return {"words": one or [""]}  # no words are as an empty one

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        import numpy

        for row in found:
            row["score"] = numpy.float32(row["score"])
        return found


def _some(sent: dict[str, Any]) -> dict[str, Any]:
    """The library gives one answer at least: of none it is asked for one, which is left out afterwards."""
    return {**sent, "top_k": 1} if sent.get("top_k") == 0 else sent


class FillMaskPipeline(_TextPipeline):
    task = "fill-mask"
    accepted = ("top_k", "targets", "tokenizer_kwargs")
    keys = ("score", "token", "token_str", "sequence")

    def __init__(self, model: _core.Model, **options: Any) -> None:
        mask = model.tokenizer.describe().get("mask_token")
        self._mask = str(mask["content"] if isinstance(mask, Mapping) else mask or "")
        super().__init__(model, **options)

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        if not self._mask:
            raise PipelineException(self.task, self.name, "The tokenizer does not define a `mask_token`.")
        targets = params.get("targets")
        tokenizer = self.model.tokenizer
        lengths = {word: 1 if tokenizer.token_to_id(self._text(word)) is not None else len(tokenizer.encode(word, special=False).ids)
                   for word in ([targets] if isinstance(targets, str) else () if targets is None else targets)}
        if targets is not None and not any(lengths.values()):
            raise ValueError("At least one target must be provided when passed.")
        for word, length in lengths.items():
            if length != 1:
                warnings.warn(f"The specified target token `{word}` does not exist in the model vocabulary: "
                              f"{'its first part is taken' if length else 'it is left out'}.", stacklevel=4)
        asked = params.get("tokenizer_kwargs") or {}
        _check_keywords(asked)
        for name in sorted(set(asked) & _TOKENIZER - {"padding", "truncation", "max_length", "return_attention_mask", *_NO_EFFECT}):
            if name != "return_token_type_ids" and asked[name] is not None and asked[name] != _DEFAULTS.get(name):
                raise ValueError(f"tokenizer_kwargs: found {name}={asked[name]!r:.80}, wanted truncation, max_length or padding")
        return params

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().__call__(inputs, *args, **kwargs)
        return found[0] if isinstance(inputs, list) and len(inputs) == 1 else found

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        sent = {key: params[key] for key in ("top_k", "targets") if params.get(key) is not None}
        if "targets" in sent and not isinstance(sent["targets"], str):
            sent["targets"] = list(sent["targets"])
        most = len(self.model.tokenizer)
        if sent.get("top_k", 1) < 0 or sent.get("top_k", 1) > most and "targets" not in sent:
            raise RuntimeError(f"selected index k out of range: found top_k={sent['top_k']}, wanted 0 to {most}")
        return {**_some(sent), **self._cut(params.get("tokenizer_kwargs") or {})}

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if isinstance(one, (tuple, list)):  # a batch, of which the first row is answered
            first = self._first_of_batch(one)
            one = first if all(self._mask in text for text in one) else ""
        text = self._text(one)
        if self._mask not in text:
            raise self._maskless()
        self._check_fits(self._cut(params.get("tokenizer_kwargs") or {}), text)
        return text

    def _maskless(self) -> PipelineException:
        return PipelineException(self.task, self.name, f"No mask_token ({self._mask}) found on the input")

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        if not found:
            raise self._maskless()  # it stood in what was cut
        if isinstance(found[0], list):
            return [[self._unpadded(row, i, given, params) for row in self._finish(one, given, params)] for i, one in enumerate(found)]
        return super()._finish(found, given, params)

    def _unpadded(self, row: dict[str, Any], mask: int, given: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Of a text with several masks, whose special tokens stay: without those of padding, be they its own or the answer."""
        pad = self.tokenizer.pad_token
        if pad is None or not isinstance(given, str) or (row["token"] != self.tokenizer.pad_token_id and pad not in given):
            return row
        ids = self.tokenizer(given, **self._cut(params.get("tokenizer_kwargs") or {}))["input_ids"]
        ids[[i for i, token in enumerate(ids) if token == self.tokenizer.mask_token_id][mask]] = row["token"]
        return {**row, "sequence": self.tokenizer.decode([token for token in ids if token != self.tokenizer.pad_token_id])}


def _as_tensor(array: Any) -> Any:
    """What return_tensors=True gives: torch's where it is installed, else numpy's."""
    return torch().from_numpy(array) if has_torch() else array


class FeatureExtractionPipeline(_TextPipeline):
    task = "feature-extraction"
    drops = True
    accepted = ("truncation", "tokenize_kwargs", "return_tensors")
    strict = False

    def __init__(self, model: _core.Model, **options: Any) -> None:
        super().__init__(model, **options)
        self._head: GraphHead | None = None

    @staticmethod
    def _asked(params: dict[str, Any]) -> dict[str, Any]:
        """Keywords of the tokenizer's call."""
        given = {} if params.get("truncation") is None else {"truncation": params["truncation"]}
        if given and "truncation" in (params.get("tokenize_kwargs") or {}):
            raise ValueError("truncation parameter defined twice (given as keyword argument as well as in tokenize_kwargs)")
        return {**given, **(params.get("tokenize_kwargs") or {})}

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        truncation = self._asked(params).get("truncation")
        return {} if truncation is None else {"truncation": bool(truncation)}

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        text, truncation = self._text(one), self._asked(params).get("truncation")
        self._check_fits(self._cut({"truncation": truncation}), text)
        return text

    def _batched(self, inputs: Sequence[Any], params: dict[str, Any], at_once: int) -> list[Any]:
        """Rows of one batch have the length of its longest, as in transformers: behind a text stand the vectors of its padding."""
        asked = self._asked(params)
        length = self._cut(asked).get("max_length", LARGE)  # the library cuts to what the model takes only
        cut = any(len(self._text(one).encode("utf-8", "surrogatepass")) + 4 > length for one in inputs)
        special = bool(set(asked) - {"truncation"}) or cut
        if not self.name or (at_once == 1 and not special):
            return self._many(inputs, params)
        out: list[Any] = []
        for at in range(0, len(inputs), at_once):
            texts = [self._text(one) for one in inputs[at:at + at_once]]
            features = self._features(texts, params, at_once > 1)
            alike = not special and features["attention_mask"].all()
            out += self._many(texts, params) if alike else self._of_graph(features, params)
        return out

    def _features(self, texts: list[str], params: dict[str, Any], pads: bool) -> dict[str, Any]:
        tokenizer, most = PreTrainedTokenizer(self.model.tokenizer), self.model.info()["max_tokens"]
        if pads and tokenizer.pad_token is None:
            raise ValueError("Pipeline with tokenizer without pad_token cannot do batching. You can try to set it with "
                             "`pipe.tokenizer.pad_token_id = model.config.eos_token_id`.")
        if most:
            tokenizer.model_max_length = min(self.tokenizer.model_max_length, most)
        asked = {"return_token_type_ids": True, "return_attention_mask": True, **self._asked(params)}
        asked["padding"] = asked["padding"] if asked.get("padding") == "max_length" else pads
        found = tokenizer(texts, **{**asked, "return_tensors": "np"})
        if most and found["input_ids"].shape[1] > most:
            raise RuntimeError(f"found a text of {found['input_ids'].shape[1]} tokens, wanted at most {most}: truncation=True cuts it")
        return dict(found)

    def _of_graph(self, features: dict[str, Any], params: dict[str, Any]) -> list[Any]:
        if self._head is None:
            options = {key: value for key, value in self._options.items() if key in ("threads", "kernels", "precision")}
            self._head = GraphHead(self.name, task=type(self).task, **options)
        return [self._finish(row[None], None, params) for row in self._head.tokens(features)]

    def close(self) -> None:
        super().close()
        if self._head is not None:
            self._head.graph.close()

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        import numpy

        array = numpy.asarray(found, dtype=numpy.float32)
        return _as_tensor(array) if params.get("return_tensors") else array.tolist()


class ZeroShotClassificationPipeline(_TextPipeline):
    task = "zero-shot-classification"
    whole = False
    accepted = ("candidate_labels", "hypothesis_template", "multi_label", "multi_class")
    strict = False

    def __init__(self, model: _core.Model, **options: Any) -> None:
        super().__init__(model, **options)
        if not any(label.lower().startswith("entail") for label in model.info()["labels"]):
            warnings.warn("no label of the model begins with \"entail\": the last one is taken for it", stacklevel=3)

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.pop("sequences", inputs)
        if len(args) == 1 and "candidate_labels" not in kwargs:
            kwargs["candidate_labels"] = args[0]
        elif args:
            raise ValueError(f"Unable to understand extra arguments {args}")
        return super().__call__(inputs, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        if "candidate_labels" not in params:
            raise TypeError("ZeroShotClassificationPipeline.__call__() missing 1 required argument: 'candidate_labels'")
        labels, template = self._labels(params), self._template(params)
        if not labels:
            raise ValueError("You must include at least one label and at least one sequence.")
        if template.format(labels[0]) == template:
            raise ValueError(f'The provided hypothesis_template "{template}" was not able to be formatted with the target labels. '
                             "Make sure the passed template includes formatting syntax such as {} where the label should go.")
        return {"candidate_labels": [template.format(label) for label in labels], "hypothesis_template": "{}",
                "multi_label": bool(params.get("multi_label"))}

    @staticmethod
    def _template(params: dict[str, Any]) -> str:
        return str(params.get("hypothesis_template", "This example is {}."))

    @staticmethod
    def _labels(params: dict[str, Any]) -> list[Any]:
        labels = params["candidate_labels"]
        return [part.strip() for part in labels.split(",") if part.strip()] if isinstance(labels, str) else list(labels)

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if not isinstance(one, str):
            if len(one) == 0:
                raise IndexError("tuple index out of range")
            one = str(one[0]) if hasattr(one, "dtype") else one[0]  # several are one input, whose first is answered
        if one == "":
            raise ValueError("You must include at least one label and at least one sequence.")
        return self._text(one)

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        of: dict[str, list[Any]] = {}  # hypotheses are what the library was given; one may be that of several labels
        for label in self._labels(params):
            of.setdefault(self._template(params).format(label), []).append(label)
        return {"sequence": found["sequence"], "labels": [of[hypothesis].pop() for hypothesis in found["labels"]],
                "scores": [_single(x) for x in found["scores"]]}


class QuestionAnsweringPipeline(Pipeline):
    task = "question-answering"
    whole = False
    accepted = ("top_k", "topk", "doc_stride", "max_answer_len", "max_seq_len", "max_question_len", "handle_impossible_answer",
                "align_to_words", "padding")
    strict = False
    keys = ("score", "start", "end", "answer")

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        if "topk" in params:
            params["top_k"] = params.pop("topk")
        for key in ("top_k", "max_answer_len"):
            if params.get(key) is not None and params[key] < 1:
                raise ValueError(f"{key} parameter should be >= 1 (got {params[key]})")
        return params

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        question, context = kwargs.pop("question", None), kwargs.pop("context", None)
        if args:
            two = isinstance(inputs, str) and len(args) == 1 and isinstance(args[0], str)
            inputs = [{"question": inputs, "context": args[0]}] if two else [inputs, *args]
        for other in ("data", "X"):
            inputs = kwargs.pop(other, inputs)
        if question is not None or context is not None:
            inputs = self._pairs(question, context)
        if inputs is None:
            raise ValueError("Unknown arguments: wanted question= and context=, or a dict with both")
        if isinstance(inputs, tuple):
            inputs = list(inputs)
        if isinstance(inputs, list) and not inputs:
            return []
        one = isinstance(inputs, list) and len(inputs) == 1
        found = super().__call__(inputs, **kwargs)
        return found[0] if one else found

    @staticmethod
    def _pairs(question: Any, context: Any) -> Any:
        if isinstance(question, list) and isinstance(context, str):
            return [{"question": one, "context": context} for one in question]
        if isinstance(question, list) and isinstance(context, list):
            if len(question) != len(context):
                raise ValueError("Questions and contexts don't have the same lengths")
            return [{"question": q, "context": c} for q, c in zip(question, context)]
        if isinstance(question, str) and isinstance(context, str):
            return {"question": question, "context": context}
        raise ValueError("Arguments can't be understood")

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in params.items() if value is not None and key != "padding"}

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if not isinstance(one, Mapping):
            raise ValueError(f"{one} argument needs to be of type (SquadExample, dict)")
        for key in ("question", "context"):
            if key not in one:
                raise KeyError("You need to provide a dictionary with keys {question:..., context:...}")
            if one[key] is None:
                raise ValueError(f"`{key}` cannot be None")
            if not isinstance(one[key], str) or not one[key]:
                raise ValueError(f"`{key}` cannot be empty")
        return one["question"], one["context"]

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        return super()._finish(found, given, params) if isinstance(found, list) else _ordered(found, self.keys)


# ---- pictures ----

def _source_error(text: str, why: object) -> ValueError:
    return ValueError("Incorrect image source. Must be a valid URL starting with `http://` or `https://`, a valid path to an image file, "
                      f"or a base64 encoded string. Got {text[:200]}. Failed with {why}")


def _picture_of_text(text: str, timeout: float | None) -> bytes:
    if text.startswith(("http://", "https://")):
        import urllib.request

        with urllib.request.urlopen(text, timeout=timeout) as reply:  # noqa: S310: the caller named it
            return bytes(reply.read())
    if os.path.isfile(text):
        with open(text, "rb") as file:
            return file.read()
    try:
        data = text.split(",", 1)[1] if text.startswith("data:image/") else text
        return base64.b64decode("".join(data.split()), validate=True)  # in lines, as base64.encodebytes writes it
    except (ValueError, IndexError) as error:
        raise _source_error(text, error) from None


def read_picture(one: Any, timeout: float | None = None) -> Any:
    """A path, a URL, base64, a PIL image or an array [height, width, channels] as the library takes it."""
    if isinstance(one, os.PathLike):
        one = os.fspath(one)
    if isinstance(one, str):
        data = _picture_of_text(one, timeout)
        if not data:
            raise _source_error(one, "an empty file")
        return data
    if hasattr(one, "convert") and hasattr(one, "tobytes"):  # PIL, also where it was turned by its camera
        from PIL import ImageOps  # pyright: ignore[reportMissingImports]

        picture = ImageOps.exif_transpose(one).convert("RGB")
        return memoryview(picture.tobytes()).cast("B", (picture.height, picture.width, 3))
    if hasattr(one, "__array_interface__") or hasattr(one, "__array__"):
        import numpy

        array = numpy.ascontiguousarray(one)
        if array.dtype.kind in "iuf" and array.dtype != numpy.uint8 and numpy.array_equal(array, array.clip(0, 255).astype(numpy.uint8)):
            array = array.astype(numpy.uint8)  # the same pixels in larger numbers
        if array.dtype == numpy.uint8 and array.ndim in (2, 3):
            return array
    raise TypeError("Incorrect format used for image. Should be an url linking to an image, a base64 string, a local path, or a PIL image: "
                    f"found {type(one).__name__}")


class _PicturePipeline(Pipeline):
    accepted: ClassVar[tuple[str, ...]] = ("timeout",)

    def __init__(self, model: _core.Model, **options: Any) -> None:
        super().__init__(model, **options)
        self.image_processor = Processor(self)

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.pop("images", inputs)
        if inputs is None:
            raise ValueError(f"Cannot call the {self.task} pipeline without an inputs argument!")
        return super().__call__(inputs, *args, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in params.items() if value is not None and key != "timeout"}

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        return {"image": read_picture(one, params.get("timeout"))}

    def _run(self, inputs: list[Any], sent: dict[str, Any]) -> list[Any]:
        try:
            return super()._run(inputs, sent)
        except EncoderfileError as error:
            if "subtask" in str(error) or "picture" not in str(error) and "image" not in str(error):
                raise
            raise _source_error("a picture", error) from error


class ImageClassificationPipeline(_PicturePipeline):
    task = "image-classification"
    accepted = ("top_k", "function_to_apply", "timeout")
    keys = ("label", "score")
    usual = 5  # labels of an answer

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        function = params.get("function_to_apply")
        if isinstance(function, str):
            if function.lower() not in ("sigmoid", "softmax", "none"):
                raise ValueError(f"{function.lower()} is not a valid ClassificationFunction, please select one of ['sigmoid', 'softmax', 'none']")
            params["function_to_apply"] = function.lower()
        return params

    def _first(self, params: dict[str, Any]) -> int:
        """top_k, as the end of a slice: -1 leaves out the last."""
        first = self.usual if params.get("top_k") is None else params["top_k"]
        if not hasattr(first, "__index__"):
            raise TypeError(f"top_k: found {first!r:.80}, wanted a whole number")
        return int(first)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        first, labels = self._first(params), len(self.model.info()["labels"])
        return super()._sent({**params, "top_k": max(1, min(first, labels) if first >= 0 else labels)})

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        return [_ordered(row, self.keys) for row in found][:self._first(params)]


class ObjectDetectionPipeline(_PicturePipeline):
    task = "object-detection"
    drops = True
    accepted = ("threshold", "timeout")
    keys = ("score", "label", "box")


class ImageSegmentationPipeline(_PicturePipeline):
    task = "image-segmentation"
    accepted = ("subtask", "threshold", "mask_threshold", "overlap_mask_area_threshold", "timeout")
    keys = ("score", "label", "mask")

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        rows = super()._finish(found, given, params)
        for row in rows:
            row["mask"] = _mask(base64.b64decode(row["mask"]))
        return rows


def _mask(png: bytes) -> Any:
    """PIL's image where it is installed, else the bytes of the PNG file."""
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError:
        return png
    picture = Image.open(io.BytesIO(png))
    return picture if picture.mode == "L" else picture.convert("L")


class ImageFeatureExtractionPipeline(_PicturePipeline):
    task = "image-feature-extraction"
    drops = True
    accepted = ("pool", "return_tensors", "timeout")
    strict = False

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("image_processor_kwargs"):
            raise ValueError("image_processor_kwargs: found some, wanted none: pictures are prepared as preprocessor_config.json says")
        return super()._sanitize(params)

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.pop("images", inputs)
        return Pipeline.__call__(self, inputs, *args, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"pool": bool(params.get("pool"))}

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        import numpy

        array = numpy.asarray(found, dtype=numpy.float32)
        return _as_tensor(array) if params.get("return_tensors") else array.tolist()


class ZeroShotImageClassificationPipeline(_PicturePipeline):
    task = "zero-shot-image-classification"
    accepted = ("candidate_labels", "hypothesis_template", "timeout")
    strict = False
    keys = ("score", "label")

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("tokenizer_kwargs"):
            raise ValueError("tokenizer_kwargs: found some, wanted none: texts are cut and padded as the model needs it")
        return super()._sanitize(params)

    def __call__(self, image: Any = None, candidate_labels: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        given = {} if candidate_labels is None else {"candidate_labels": candidate_labels}
        return super().__call__(kwargs.pop("inputs", image), **given, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("candidate_labels") is None:
            raise TypeError("ZeroShotImageClassificationPipeline.preprocess() missing 1 required argument: 'candidate_labels'")
        labels = list(params["candidate_labels"])
        if not labels:
            raise IndexError("list index out of range")
        template = str(params.get("hypothesis_template") or "This is a photo of {}.")
        return {**super()._sent({**params, "candidate_labels": [template.format(label) for label in labels]}), "hypothesis_template": "{}"}

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        template = str(params.get("hypothesis_template") or "This is a photo of {}.")
        named: dict[str, list[Any]] = {}  # several labels, where the template does not tell them apart
        for label in params["candidate_labels"]:
            named.setdefault(template.format(label), []).append(label)
        rows = super()._finish(found, given, params)
        return [{**row, "label": named[row["label"]].pop(0)} for row in rows]


# ---- sounds ----

class _SoundPipeline(Pipeline):
    stereo: ClassVar[bool] = False

    def __init__(self, model: _core.Model, **options: Any) -> None:
        super().__init__(model, **options)
        self.feature_extractor = Processor(self)

    def _rate(self) -> int:
        """The rate of samples that come without one: the model's."""
        if not hasattr(self, "_own_rate"):
            self._own_rate = _rate_of(self.name) if self.name else _rate_by_trying(self.model)
        return self._own_rate

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        rate: int | None = None
        if isinstance(one, os.PathLike):
            one = os.fspath(one)
        if isinstance(one, str):
            if one.startswith(("http://", "https://")):
                return {"audio": _picture_of_text(one, None)}
            with open(one, "rb") as file:
                return {"audio": file.read()}
        if isinstance(one, (bytes, bytearray)):
            return {"audio": bytes(one)}
        if isinstance(one, Mapping):
            if "sampling_rate" not in one or not ("raw" in one or "array" in one):
                raise ValueError(f"When passing a dictionary to {type(self).__name__}, the dict needs to contain a "
                                 '"raw" key containing the numpy array representing the audio and a "sampling_rate" key, '
                                 "containing the sampling_rate associated with that array")
            if one.get("stride") is not None:
                raise ValueError("stride: found one in the dict, wanted none: it is not supported; chunk_length_s and stride_length_s are")
            rate, one = one["sampling_rate"], one["raw"] if one.get("raw") is not None else one.get("array")
        elif hasattr(one, "get_all_samples"):  # torchcodec's AudioDecoder, of which the sounds of a dataset are
            samples = one.get_all_samples()
            rate, one = samples.sample_rate, samples.data[0] if len(samples.data) == 1 else samples.data
        return {"audio": self._samples(one), "sampling_rate": int(rate or self._rate())}

    def _samples(self, one: Any) -> Any:
        import numpy

        if type(one).__module__.split(".")[0] == "torch":
            one = one.numpy()
        if not isinstance(one, numpy.ndarray):
            raise TypeError(f"We expect a numpy ndarray or torch tensor as input, got `{type(one)}`")
        if one.ndim == 2 and self.stereo:
            one = one.mean(axis=0 if one.shape[0] < one.shape[1] else 1)
        if one.ndim != 1:
            raise ValueError(f"We expect a single channel audio input for {type(self).__name__}")
        return numpy.ascontiguousarray(one, dtype=numpy.float32)


USUAL_RATE = 16000


def _rate_of(name: str) -> int:
    return int((_core.inspect(name).get("audio") or {}).get("sampling_rate") or USUAL_RATE)


def _rate_by_trying(model: _core.Model) -> int:
    """Of a model that is open already: how many samples a second of sound becomes; of spectrograms it cannot be seen."""
    import numpy

    found = model.prepare({"audio": numpy.zeros(USUAL_RATE, numpy.float32), "sampling_rate": USUAL_RATE}).get("input_values")
    return USUAL_RATE if found is None or len(found.shape) != 2 else int(found.shape[1])


class AudioClassificationPipeline(_SoundPipeline):
    task = "audio-classification"
    accepted = ("top_k", "function_to_apply")
    strict = False
    keys = ("score", "label")

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        function = params.get("function_to_apply")
        if function is not None and function not in ("softmax", "sigmoid", "none"):
            raise ValueError(f"Invalid value for `function_to_apply`: {function}. Valid options are ['softmax', 'sigmoid', 'none']")
        return params

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        count = len(self.model.info()["labels"])
        wanted = params.get("top_k")
        if wanted is not None and not hasattr(wanted, "__index__"):
            raise TypeError(f"top_k: found {wanted!r:.80}, wanted a whole number")
        if wanted is not None and wanted < 0:
            raise RuntimeError(f"selected index k out of range: found top_k={wanted}, wanted 0 or more")
        return _some({**super()._sent(params), "top_k": count if wanted is None else int(min(wanted, count))})


class AutomaticSpeechRecognitionPipeline(_SoundPipeline):
    task = "automatic-speech-recognition"
    accepted = ("return_timestamps", "chunk_length_s", "stride_length_s")
    strict = False
    stereo = True

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("return_language"):
            raise ValueError("Only Whisper can return language for now.")
        params = super()._sanitize(params)
        if params.get("return_timestamps") and params["return_timestamps"] not in ("char", "word"):
            raise ValueError("CTC can either predict character level timestamps, or word level timestamps. "
                             "Set `return_timestamps='char'` or `return_timestamps='word'` as required.")
        return {key: value for key, value in params.items() if value is not None and value is not False}

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        import numpy

        out: dict[str, Any] = {"text": found["text"]}
        if "chunks" in found:
            out["chunks"] = [{"text": chunk["text"], "timestamp": tuple(None if t is None else numpy.float64(t) for t in chunk["timestamp"])}
                             for chunk in found["chunks"]]
        if isinstance(given, Mapping):
            own = ("raw", "sampling_rate", "stride") + (("path", "array") if given.get("raw") is None else ())
            out |= {key: [value] for key, value in given.items() if key not in own}
        return out


# ---- pages ----

class DocumentQuestionAnsweringPipeline(Pipeline):
    task = "document-question-answering"
    whole = False
    accepted = ("top_k", "doc_stride", "max_answer_len", "max_seq_len", "max_question_len", "handle_impossible_answer", "lang", "padding",
                "tesseract_config", "timeout", "word_boxes")
    strict = False
    keys = ("score", "answer", "start", "end")

    def _sanitize(self, params: dict[str, Any]) -> dict[str, Any]:
        params = super()._sanitize(params)
        for key in ("top_k", "max_answer_len"):
            if params.get(key) is not None and params[key] < 1:
                raise ValueError(f"{key} parameter should be >= 1 (got {params[key]})")
        return params

    def __call__(self, image: Any = None, question: str | None = None, word_boxes: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        if isinstance(question, str):
            inputs: Any = {"question": question, "image": image}
            if word_boxes is not None:
                inputs["word_boxes"] = word_boxes
        else:
            inputs = image
        return super().__call__(inputs, **kwargs)

    def _sent(self, params: dict[str, Any]) -> dict[str, Any]:
        left = ("padding", "tesseract_config", "timeout", "word_boxes")
        return {key: value for key, value in params.items() if value is not None and key not in left}

    def _read(self, one: Any, params: dict[str, Any]) -> Any:
        if not isinstance(one, Mapping) or not isinstance(one.get("question"), str):
            raise ValueError("wanted an image and a question, or a dict with both")
        page: dict[str, Any] = {"question": one["question"]}
        boxes = self._boxes(one, params)
        if one.get("image") is not None:
            page["image"] = read_picture(one["image"], params.get("timeout"))
        if boxes is not None:
            page["words"] = [word for word, _ in boxes if word != ""]
            page["boxes"] = [[int(side) for side in box] for word, box in boxes if word != ""]
        elif "image" not in page:
            raise ValueError("You must provide an image or word_boxes. If you provide an image, the pipeline will automatically "
                             "run OCR to derive words and boxes")
        return page

    # ---- words without a character: they are no tokens, but have their place among the words ----

    @staticmethod
    def _boxes(one: Any, params: dict[str, Any]) -> Any:
        return one.get("word_boxes", params.get("word_boxes")) if isinstance(one, Mapping) else None

    def _many(self, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        wordless = [boxes is not None and all(word == "" for word, _ in boxes) for boxes in (self._boxes(one, params) for one in inputs)]
        asked = [one for one, none in zip(inputs, wordless) if not none]
        found = iter(super()._many(asked, params) if asked else [])
        impossible = [{"score": 1.0, "answer": "", "start": 0, "end": 0}] if params.get("handle_impossible_answer") else []
        return [list(impossible) if none else next(found) for none in wordless]

    def _finish(self, found: Any, given: Any, params: dict[str, Any]) -> Any:
        rows, boxes = super()._finish(found, given, params), self._boxes(given, params)
        words = [word for word, _ in boxes or ()]
        if "" in words:
            places = [i for i, word in enumerate(words) if word != ""]
            for row in rows:
                if row["answer"]:
                    row["start"], row["end"] = places[row["start"]], places[row["end"]]
                    row["answer"] = " ".join(words[row["start"]:row["end"] + 1])
        return rows


# ---- tasks without a pipeline of transformers: what the program answers ----

class _ListPipeline(_TextPipeline):
    """The first text, and those to hold against it: a list is one input."""

    whole = None

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return self.model.run(type(self).task, self._texts(inputs), self._sent(self._sanitize(kwargs)))

    def _texts(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, Mapping):
            first = next((inputs[key] for key in ("source_sentence", "query") if key in inputs), None)
            others: list[Any] = next((inputs[key] for key in ("sentences", "texts") if key in inputs), [])
            return [first, *others]
        return list(inputs)


class SentenceSimilarityPipeline(_ListPipeline):
    task = "sentence-similarity"
    accepted = ("truncation", "prompt")


class TextRankingPipeline(_ListPipeline):
    task = "text-ranking"
    accepted = ("truncation", "raw_scores", "return_text")


class SentenceEmbeddingPipeline(_TextPipeline):
    whole = None
    task = "sentence-embedding"
    accepted = ("normalize", "dimensions", "truncate", "pooling")


class SparseEmbeddingPipeline(_TextPipeline):
    whole = None
    task = "sparse-embedding"
    accepted = ("top_k", "truncate")


class MultipleChoicePipeline(Pipeline):
    task = "multiple-choice"


class ImageEmbeddingPipeline(_PicturePipeline):
    task = "image-embedding"
    accepted = ("normalize", "dimensions", "timeout")


class AudioFeatureExtractionPipeline(_SoundPipeline):
    task = "audio-feature-extraction"
    accepted = ("normalize", "dimensions")


class VoiceActivityDetectionPipeline(_SoundPipeline):
    task = "voice-activity-detection"
    accepted = ("threshold", "min_speech_ms", "min_silence_ms", "pad_ms")


_PIPELINES: tuple[type[Pipeline], ...] = (
    TextClassificationPipeline, TokenClassificationPipeline, FillMaskPipeline, FeatureExtractionPipeline, ZeroShotClassificationPipeline,
    QuestionAnsweringPipeline, ImageClassificationPipeline, ObjectDetectionPipeline, ImageSegmentationPipeline,
    ImageFeatureExtractionPipeline, ZeroShotImageClassificationPipeline, AudioClassificationPipeline, AutomaticSpeechRecognitionPipeline,
    DocumentQuestionAnsweringPipeline, SentenceSimilarityPipeline, TextRankingPipeline, SentenceEmbeddingPipeline, SparseEmbeddingPipeline,
    MultipleChoicePipeline, ImageEmbeddingPipeline, AudioFeatureExtractionPipeline, VoiceActivityDetectionPipeline,
)
_BY_NAME: dict[str, type[Pipeline]] = {name: kind for kind in _PIPELINES for name in (kind.task, *kind.aliases)}
# What a model's own task is called here; the others are called as their pipeline.
_OF_TASK = {
    "sequence_classification": "text-classification", "token_classification": "token-classification", "embedding": "feature-extraction",
    "sentence_embedding": "sentence-embedding", "masked_lm": "fill-mask", "image_segmentation": "image-segmentation",
    "semantic_segmentation": "image-segmentation", "image_features": "image-feature-extraction",
}


def supported_tasks() -> list[str]:
    """The names that pipeline() takes."""
    return sorted(_BY_NAME)


def _task_of(model: _core.Model) -> str:
    own = str(model.info()["task"])
    task = _OF_TASK.get(own, own.replace("_", "-"))
    if task not in _BY_NAME:
        raise ValueError(f"the model is for {own}, which has no pipeline: wanted one of {', '.join(supported_tasks())}")
    return task


def _check_device(device: Any) -> None:
    if device is not None and device != -1 and str(device) not in ("cpu", "cpu:0", "auto"):
        raise ValueError(f"device: found {device!r}, wanted \"cpu\": this library runs on CPUs only")


def _other_files(made: Any, model: Any) -> str | None:
    """The folder or file of a tokenizer or processor, by its path or as an object; None: it is the model's own, or has none."""
    if isinstance(made, (str, os.PathLike)):
        return os.fspath(made)
    path = getattr(made, "name_or_path", None)
    path = find_model(path) if isinstance(path, str) and path else ""
    if not os.path.isdir(path) and not (path.endswith(".json") and os.path.isfile(path)):
        return None
    own = find_model(model) if isinstance(model, (str, os.PathLike)) else ""
    return None if os.path.realpath(path) in (os.path.realpath(own), os.path.realpath(os.path.dirname(own))) else path


def _longest(path: str, task: str | None, options: Mapping[str, Any]) -> int | None:
    """Tokens that texts of this pipeline may have, as transformers counts: the tokenizer's model_max_length, or as many as the model
    takes. None: what the library says of the model (docs/tokenizer.md), which knows more places that name a length."""
    if os.path.isfile(path) and not path.endswith((".onnx", ".safetensors")):
        return None  # a package
    if task is None:
        task = _OF_TASK.get(own := str(_core.inspect(path)["encoderfile_config"]["model_type"]), own.replace("_", "-"))
    whole = _BY_NAME[task].whole if task in _BY_NAME else None
    folder = str(options.get("tokenizer") or path)
    settings = read_json(folder if os.path.isdir(folder) else os.path.dirname(folder), "tokenizer_config.json")
    length = (settings or {}).get("model_max_length")
    if whole is None or settings is None:
        return None
    return LARGE if whole or not isinstance(length, (int, float)) or not 0 < length < LARGE else int(length)


def _open(model: Any, task: str | None, options: dict[str, Any]) -> tuple[_core.Model, str]:
    """A path, a name on the Hub, an opened model, or an object that was made from a folder."""
    if isinstance(model, PipelineModel):
        return model.core, model.name_or_path
    if isinstance(model, _core.Model):
        return model, ""
    for attribute in ("path", "model_path", "model_save_dir", "name_or_path"):
        if not isinstance(model, (str, os.PathLike)) and isinstance(getattr(model, attribute, None), (str, os.PathLike)):
            model = getattr(model, attribute)
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: found {type(model).__name__}, wanted a path, a name on the Hub or a Model")
    path = source(model, options.pop("revision", None))
    return _core.Model(path, **{"task": task, "max_length": _longest(path, task, options), **options}), path


def pipeline(task: str | None = None, model: Any = None, config: Any = None, tokenizer: Any = None, feature_extractor: Any = None,
             image_processor: Any = None, video_processor: Any = None, processor: Any = None, revision: str | None = None,
             use_fast: bool = True, token: Any = None, device: Any = None, device_map: Any = None, dtype: Any = None,
             trust_remote_code: bool | None = None, model_kwargs: dict[str, Any] | None = None,
             pipeline_class: type[Pipeline] | None = None, **kwargs: Any) -> Pipeline:
    """A pipeline for `task` on `model`: a folder, an ONNX file, a package, a name on the Hub or a Model. Without a task, the model's own.

    `tokenizer` and the processors are folders or files other than the model's, or objects made of such. What only concerns PyTorch (use_fast, dtype, framework,
    trust_remote_code, also in model_kwargs) is taken and has no effect; a device other than the CPU is an error. Other keywords are parameters of every call.
    """
    if task is None and model is None:
        raise RuntimeError("Impossible to instantiate a pipeline without either a task or a model being specified.")
    if model is None:
        raise ValueError(f"model: found none, wanted a folder, a file or a name: there is no default model for {task}")
    if task is not None and task not in _BY_NAME:
        raise KeyError(f"Unknown task {task}, available tasks are {supported_tasks()}")
    _check_device(device)
    _check_device(device_map)
    for ignored in ("framework", "torch_dtype"):
        kwargs.pop(ignored, None)
    options: dict[str, Any] = {key: value for key, value in (model_kwargs or {}).items() if key not in LOADING}
    for name, value in (("tokenizer", tokenizer), ("processor", image_processor or feature_extractor or processor or video_processor)):
        other = _other_files(value, model)
        if other is not None:
            options[name] = other
    options["task"] = task and _BY_NAME[task].task
    opened, path = _open(model, options["task"], {**options, "revision": revision})
    kind = pipeline_class or _BY_NAME[task or _task_of(opened)]
    made = kind(opened, name=path, tokenizer=None if isinstance(tokenizer, (str, os.PathLike)) else tokenizer, options=options,
                **kwargs)
    made.task = task or made.task
    return made
