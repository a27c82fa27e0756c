# SPDX-License-Identifier: Apache-2.0
"""Processors whose arrays have the shapes that a graph was exported with. A size that the graph leaves open stays as it comes.

What is given instead of a processor of transformers is the path of a model: its files, or those beside it, say what is to be done."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .._folder import read_json
from .._source import source
from ..errors import EncoderfileError
from ..pipelines import read_picture
from ..preprocessing import FeatureExtractor, ImageProcessor
from ..tokenization import ONNXTokenizer as FixedTokenizer
from .errors import ModelLoadError, ONNXProcessorError, ProcessorNotFoundError, ShapeError, UnsupportedModalityError

__all__ = ["ONNXAudioProcessor", "ONNXAutoProcessor", "ONNXFeatureExtractor", "ONNXImageProcessor", "ONNXProcessor", "ONNXTokenizer", "ONNXVideoProcessor"]

# Of a graph's input, by its name; else by its shape.
MODALITY_OF_NAME = (
    ("text", ("input_ids", "token", "text", "attention_mask", "token_type_ids")),
    ("image", ("pixel", "image", "vision", "visual")),
    ("audio", ("audio", "wave", "mel", "spectrogram", "input_values", "input_features")),
    ("video", ("video", "frames", "clip", "temporal")),
)


def modality_of_input(name: str, shape: Sequence[Any]) -> str:
    for modality, parts in MODALITY_OF_NAME:
        if any(part in name for part in parts):
            return modality
    if len(shape) == 2:
        return "audio" if isinstance(shape[1], int) and shape[1] > 1000 else "text"
    return {3: "audio", 4: "image", 5: "video"}.get(len(shape), "text")


def _fill(items: list[Any], size: int | None) -> list[Any]:
    """The last one again, up to a whole number of batches."""
    missing = -len(items) % size if size else 0
    return items + items[-1:] * missing


def _items(value: Any, what: str) -> list[Any]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not items or any(one is None for one in items):
        raise ONNXProcessorError(f"{what}: found nothing, wanted at least one")
    return items


def _arrays(found: Mapping[str, Any]) -> dict[str, Any]:
    import numpy

    return {name: numpy.asarray(value) for name, value in found.items()}


def _texts(value: Any, what: str) -> list[str]:
    """A text or several; what is no text, or has none in it, is an error."""
    texts = _items(value.tolist() if hasattr(value, "tolist") else value, what)
    for text in texts:
        if not isinstance(text, str):
            raise ONNXProcessorError(f"{what}: found {type(text).__name__}, wanted a text or a list of texts")
        if not text.strip():
            raise ONNXProcessorError(f"{what}: found an empty text, wanted one with something in it")
    return texts


class ONNXTokenizer(FixedTokenizer):
    """Texts to int64 [batch_size, sequence_length]: longer ones are cut, shorter ones padded. Empty ones are an error."""

    def __call__(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        return super().__call__(_texts(text, "text"), text_pair, **options)

    preprocess = __call__


class _Prepared:
    """A processor that is a model's path: the library makes the tensors."""

    def __init__(self, processor: Any) -> None:
        self.processor: Any = processor.model if isinstance(processor, (FeatureExtractor, ImageProcessor)) else processor
        self._model: _core.Model | None = None

    @property
    def own(self) -> bool:
        return isinstance(self.processor, (str, os.PathLike, _core.Model))

    def prepare(self, items: list[Any]) -> dict[str, Any]:
        if self._model is None:
            self._model = self.processor if isinstance(self.processor, _core.Model) else _core.Model(source(self.processor))
        return _arrays(self._model.prepare(items))

    def check(self, found: dict[str, Any], name: str, wanted: Sequence[int | None]) -> dict[str, Any]:
        shape = found[name].shape
        if len(shape) != len(wanted) or any(want is not None and have != want for have, want in zip(shape[1:], wanted[1:])):
            raise ShapeError(tuple(wanted), tuple(shape), name)
        return found


class ONNXImageProcessor(_Prepared):
    """Pictures of any size to float32 [batch_size, channels, height, width]."""

    def __init__(self, processor: Any, batch_size: int | None = 1, height: int | None = 224, width: int | None = 224,
                 num_channels: int | None = 3) -> None:
        super().__init__(processor)
        self.batch_size, self.height, self.width, self.num_channels = batch_size, height, width, num_channels

    def __call__(self, images: Any, **_: Any) -> dict[str, Any]:
        pictures = _fill(_items(images, "images"), self.batch_size)
        if self.own:
            found = self.prepare([{"image": read_picture(one)} for one in pictures])
        else:
            size = {"size": {"height": self.height, "width": self.width}} if self.height and self.width else {}
            found = _arrays(self.processor(images=pictures, return_tensors="np", **size))
        return self.check(found, "pixel_values", (self.batch_size, self.num_channels, self.height, self.width))

    preprocess = __call__


def _sampling_rate(extractor: Any) -> int:
    """What its files or its attribute say; 16000 where nothing does."""
    if not isinstance(extractor, (str, os.PathLike)):
        return int(getattr(extractor, "sampling_rate", None) or 16000)
    path = source(extractor)
    found = (read_json(path, "preprocessor_config.json") or {}).get("sampling_rate")
    try:
        return int(found or (_core.inspect(path).get("audio") or {}).get("sampling_rate") or 16000)
    except EncoderfileError:
        return 16000


class ONNXFeatureExtractor(_Prepared):
    """Sounds of any length to arrays of a fixed length. Without a length, as the model's extractor makes them; without a rate, that
    of the model's files."""

    def __init__(self, extractor: Any, batch_size: int | None = 1, sequence_length: int | None = 16000, sampling_rate: int | None = None) -> None:
        super().__init__(extractor)
        self.extractor = extractor
        self.batch_size, self.sequence_length = batch_size, sequence_length
        self._rate = sampling_rate

    @property
    def sampling_rate(self) -> int:
        if self._rate is None:
            self._rate = _sampling_rate(self.extractor)
        return self._rate

    def _fixed(self, one: Any) -> Any:
        import numpy

        samples = numpy.asarray(one, dtype=numpy.float32).reshape(-1)
        if self.sequence_length is None:
            return samples
        cut = samples[:self.sequence_length]
        return numpy.pad(cut, (0, self.sequence_length - len(cut)))

    def __call__(self, audio: Any, sampling_rate: int | None = None, **_: Any) -> dict[str, Any]:
        if audio is None or (hasattr(audio, "__len__") and len(audio) == 0):
            raise ONNXProcessorError("audio: found nothing, wanted at least one sound")
        several = isinstance(audio, (list, tuple)) and len(audio) > 0 and hasattr(audio[0], "__len__")
        sounds = _fill([self._fixed(one) for one in _items(audio if several else [audio], "audio")], self.batch_size)
        rate = sampling_rate or self.sampling_rate
        if self.own:
            return self.prepare([{"audio": one, "sampling_rate": rate} for one in sounds])
        return _arrays(self.processor(sounds, sampling_rate=rate, return_tensors="np"))

    preprocess = __call__


ONNXAudioProcessor = ONNXFeatureExtractor


class ONNXVideoProcessor:
    """Here for its name: nothing here decodes video, nor runs a model of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UnsupportedModalityError("video: nothing here decodes it. ONNXImageProcessor takes single pictures")


class ONNXProcessor:
    """Several kinds of input: call(text=, images=, audio=) gives the tensors of all of them."""

    def __init__(self, processor: Any, modality_configs: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.processor = processor
        configs = {name: dict(config) for name, config in (modality_configs or {}).items()}
        self.tokenizer = ONNXTokenizer(processor, **{"batch_size": None, "sequence_length": None, **configs.get("text", {})})
        self.image_processor = ONNXImageProcessor(processor, **{"batch_size": None, "height": None, "width": None, "num_channels": None,
                                                                **configs.get("image", {})})
        self.feature_extractor = ONNXFeatureExtractor(processor, **{"batch_size": None, "sequence_length": None, **configs.get("audio", {})})

    def __call__(self, text: Any = None, images: Any = None, audio: Any = None, **_: Any) -> dict[str, Any]:
        if text is None and images is None and audio is None:
            raise ONNXProcessorError("found no input, wanted text=, images= or audio=")
        found: dict[str, Any] = {}
        if text is not None:
            found |= dict(self.tokenizer(text))
        if images is not None:
            found |= self.image_processor(images)
        if audio is not None:
            found |= self.feature_extractor(audio)
        return found

    preprocess = __call__


def _size(shape: Sequence[Any], axis: int, given: int | None = None) -> int | None:
    if given is not None:
        return given
    return shape[axis] if axis < len(shape) and isinstance(shape[axis], int) and shape[axis] > 0 else None


class ONNXAutoProcessor:
    """from_model(path) looks at the graph's inputs and the files beside it, and makes the processor that fits."""

    onnx_model_path: str
    hf_model_path: str | os.PathLike[str] | None
    validation_enabled: bool
    supported_modalities: list[str]
    shape_sources: dict[str, str | None]  # who says a tensor's sizes: "sidecar", "graph", "session"
    _inputs: list[dict[str, Any]]
    _outputs: list[dict[str, Any]]
    _sizes: dict[str, list[Any]]
    _processor: Any

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("ONNXAutoProcessor is made by ONNXAutoProcessor.from_model(onnx_model_path)")

    @classmethod
    def from_model(cls, onnx_model_path: str | os.PathLike[str], hf_model_path: str | os.PathLike[str] | None = None,
                   base_processor: Any = None, validation_enabled: bool = True, batch_size: int | None = None,
                   sequence_length: int | None = None) -> ONNXAutoProcessor:
        self = object.__new__(cls)
        path = os.fspath(onnx_model_path)
        if not os.path.exists(path):
            raise ModelLoadError(f"{path}: no such file")
        options: dict[str, Any] = {} if hf_model_path is None else {"tokenizer": os.fspath(hf_model_path), "processor": os.fspath(hf_model_path)}
        try:
            graph = _core.Graph(path)
            self._inputs, self._outputs = graph.inputs, graph.outputs
            graph.close()
        except EncoderfileError as error:
            raise ModelLoadError(str(error)) from error
        self.onnx_model_path, self.hf_model_path, self.validation_enabled = path, hf_model_path, validation_enabled
        self._shapes(path)
        found = {modality_of_input(one["name"], self._sizes[one["name"]]) for one in self._inputs}
        self.supported_modalities = [name for name, _ in MODALITY_OF_NAME if name in found]
        try:
            base = base_processor if base_processor is not None else _core.Model(path, **options)
        except EncoderfileError as error:
            raise ProcessorNotFoundError(f"{path}: {error}") from error
        self._processor = self._make(base, hf_model_path or path, batch_size, sequence_length)
        return self

    def _shapes(self, path: str) -> None:
        """Sizes as the export's sidecar, else the graph says them."""
        self._sizes = {one["name"]: list(one["shape"]) for one in self._inputs}
        try:
            feeds = (_core.inspect(path).get("processor") or {}).get("feeds") or []
        except EncoderfileError:
            feeds = []
        self.shape_sources = {feed["name"]: feed.get("shape_from") for feed in feeds}
        for feed in feeds:
            if feed["name"] in self._sizes:
                self._sizes[feed["name"]] = list(feed["shape"])

    def _of(self, modality: str) -> list[Any]:
        return next((self._sizes[one["name"]] for one in self._inputs if modality_of_input(one["name"], self._sizes[one["name"]]) == modality), [])

    def _make(self, base: Any, path: Any, batch: int | None, length: int | None) -> Any:
        text, image, audio = self._of("text"), self._of("image"), self._of("audio")
        configs: dict[str, dict[str, Any]] = {
            "text": {"batch_size": _size(text, 0, batch), "sequence_length": _size(text, 1, length), "input_names": self._names("text")},
            "image": {"batch_size": _size(image, 0, batch), "num_channels": _size(image, 1), "height": _size(image, 2), "width": _size(image, 3)},
            "audio": {"batch_size": _size(audio, 0, batch), "sequence_length": _size(audio, 1, length) if len(audio) == 2 else None,
                      "sampling_rate": _sampling_rate(path if isinstance(base, _core.Model) else base) if audio else None},
        }
        kinds = self.supported_modalities
        if kinds == ["text"]:
            tokenizer = base.tokenizer if isinstance(base, _core.Model) else base
            if tokenizer is None:
                raise ProcessorNotFoundError(f"{path}: no tokenizer beside it, nor inside of it")
            return ONNXTokenizer(_python_tokenizer(tokenizer), **configs["text"])
        if kinds == ["image"]:
            return ONNXImageProcessor(base, **configs["image"])
        if kinds == ["audio"]:
            return ONNXFeatureExtractor(base, **configs["audio"])
        if "video" in kinds:
            raise UnsupportedModalityError(f"{path}: reads video, which nothing here decodes")
        processor = ONNXProcessor.__new__(ONNXProcessor)
        processor.processor = base
        tokenizer = base.tokenizer if isinstance(base, _core.Model) else base
        processor.tokenizer = ONNXTokenizer(_python_tokenizer(tokenizer), **configs["text"])
        processor.image_processor = ONNXImageProcessor(base, **configs["image"])
        processor.feature_extractor = ONNXFeatureExtractor(base, **configs["audio"])
        return processor

    def _names(self, modality: str) -> list[str]:
        return [one["name"] for one in self._inputs if modality_of_input(one["name"], self._sizes[one["name"]]) == modality]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._processor(*args, **kwargs)

    preprocess = __call__

    @property
    def processor(self) -> Any:
        """One of the four."""
        return self._processor

    @property
    def modality_type(self) -> str:
        return self.supported_modalities[0] if len(self.supported_modalities) == 1 else "multimodal"

    @property
    def tensor_names(self) -> list[str]:
        return [one["name"] for one in self._inputs]

    @property
    def output_names(self) -> list[str]:
        return [one["name"] for one in self._outputs]

    @property
    def tokenizer(self) -> Any:
        return getattr(self._processor, "tokenizer", None)

    @property
    def batch_size(self) -> int | None:
        return getattr(self._processor, "batch_size", None)

    @property
    def sequence_length(self) -> int | None:
        return getattr(self._processor, "sequence_length", None)

    def encode(self, text: str, **options: Any) -> Any:
        if self.tokenizer is None:
            raise UnsupportedModalityError(f"{self.onnx_model_path}: reads {self.modality_type}, not text")
        return self.tokenizer.encode(text, **options)

    def decode(self, token_ids: Any, **options: Any) -> Any:
        if self.tokenizer is None:
            raise UnsupportedModalityError(f"{self.onnx_model_path}: reads {self.modality_type}, not text")
        return self.tokenizer.decode(token_ids, **options)

    def get_input_spec(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: {"shape": self._sizes[one["name"]], "dtype": one["dtype"]} for one in self._inputs}

    def get_output_spec(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: {"shape": list(one["shape"]), "dtype": one["dtype"]} for one in self._outputs}


def _python_tokenizer(tokenizer: Any) -> Any:
    from ..tokenization import PreTrainedTokenizer

    return PreTrainedTokenizer(tokenizer) if isinstance(tokenizer, (str, os.PathLike, _core.Tokenizer)) else tokenizer
