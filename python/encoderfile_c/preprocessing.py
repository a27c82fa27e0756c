# SPDX-License-Identifier: Apache-2.0
"""AutoImageProcessor and AutoFeatureExtractor of transformers: pictures and sounds to arrays, made by the library from a model's files."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._arrays import is_torch, numpy, torch
from ._folder import read_json
from ._source import source
from .errors import UnsupportedError
from .pipelines import read_picture
from .tokenization import BatchEncoding


class BatchFeature(BatchEncoding):
    """Arrays by name: as keys, and as attributes."""


def batch(found: Mapping[str, Any], kind: str | None) -> BatchFeature:
    """Without a kind of tensors a list of arrays, one for each input."""
    if kind not in (None, "np", "numpy", "pt", "pytorch"):
        raise ValueError(f"{kind} is not a valid TensorType, please select one of ['pt', 'np', 'mlx']")
    arrays = {name: numpy().asarray(value) for name, value in found.items()}
    if kind is None:
        return BatchFeature({name: list(array) for name, array in arrays.items()})
    return BatchFeature({name: torch().from_numpy(array.copy()) if kind.startswith("p") else array for name, array in arrays.items()})


def _on_white(picture: Any) -> Any:
    """A picture with alpha over a white ground, as processors of transformers 5 with do_convert_rgb make it RGB."""
    if hasattr(picture, "getbands"):  # Pillow's
        from PIL import Image

        if "A" not in picture.getbands() and picture.info.get("transparency") is None:
            return picture
        picture = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", picture.size, (255, 255, 255, 255)), picture).convert("RGB")
    if not hasattr(picture, "__array_interface__") or picture.ndim != 3 or picture.shape[2] != 4:
        return picture
    share = picture[..., 3:] / 255
    return numpy().round(share * picture[..., :3] + (1 - share) * 255).astype(picture.dtype)


class _Preprocessor:
    """The settings of preprocessor_config.json are attributes. They cannot be changed: the library reads the files."""

    kind = ""    # what inspect calls it

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name_or_path = os.fspath(path)
        about = _core.inspect(path).get("processor") or {}
        if about.get("type") not in (self.kind, "processor"):
            raise UnsupportedError(f"{self.name_or_path}: found a model with a {about.get('type')}, wanted one with a {self.kind}")
        self.model = _core.Model(path)
        self._settings: dict[str, Any] = read_json(self.name_or_path, "preprocessor_config.json") or {}

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], revision: str | None = None, **_: Any) -> Any:
        """A model's folder, file, or name on the Hub."""
        return cls(source(pretrained_model_name_or_path, revision))

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def to_dict(self) -> dict[str, Any]:
        return dict(self._settings)

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:
        os.makedirs(save_directory, exist_ok=True)
        with open(os.path.join(save_directory, "preprocessor_config.json"), "w", encoding="utf-8") as file:
            json.dump(self._settings, file, indent=2)

    def _refuse(self, options: Mapping[str, Any]) -> None:
        """Settings for one call are taken where they are those of the files."""
        for name, value in options.items():
            if value is not None and value != self._settings.get(name):
                raise UnsupportedError(f"{name}: found {value!r}, wanted what the model's files say ({self._settings.get(name)!r})")


class ImageProcessor(_Preprocessor):
    """Pictures (paths, URLs, base64, PIL, arrays) to pixel_values."""

    kind = "image_processor"
    model_input_names = ("pixel_values",)

    def __call__(self, images: Any, return_tensors: str | None = None, **options: Any) -> BatchFeature:
        self._refuse(options)
        pictures = images if isinstance(images, (list, tuple)) else [images]
        if not pictures:
            raise ValueError("images: found none, wanted at least one")
        pictures = [one.numpy() if is_torch(one) else one for one in pictures]
        if self._settings.get("do_convert_rgb"):
            pictures = [_on_white(one) for one in pictures]
        return batch(self.model.prepare([{"image": read_picture(one)} for one in pictures]), return_tensors)

    preprocess = __call__


class FeatureExtractor(_Preprocessor):
    """Sounds (arrays of samples) to input_values or input_features."""

    kind = "feature_extractor"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.sampling_rate = int(self._settings.get("sampling_rate") or (_core.inspect(path).get("audio") or {}).get("sampling_rate") or 16000)

    def __call__(self, raw_speech: Any, padding: bool | str = False, sampling_rate: int | None = None, return_tensors: str | None = None,
                 **options: Any) -> BatchFeature:
        """Sounds of several lengths want padding=True, but where the extractor makes one length of all."""
        self._refuse(options)
        if sampling_rate not in (None, self.sampling_rate):
            raise ValueError(f"sampling_rate: found {sampling_rate}, wanted {self.sampling_rate}, which this model was trained on")
        if padding not in (False, True, None, "longest", "do_not_pad"):
            raise UnsupportedError(f"padding: found {padding!r}, wanted True or False")
        sounds = [self._samples(one) for one in self._several(raw_speech)]
        each = [self._prepare([one]) for one in sounds]
        found = {name: [one[name][0] for one in each] for name in each[0]}
        if any(len({array.shape for array in arrays}) > 1 for arrays in found.values()):
            if padding in (True, "longest"):
                return batch(self._padded(sounds), return_tensors)
            if return_tensors is not None:
                raise ValueError("found sounds of several lengths, wanted padding=True to have tensors of them")
        return BatchFeature(found) if return_tensors is None else batch(found, return_tensors)

    def _prepare(self, sounds: list[Any]) -> dict[str, Any]:
        made = self.model.prepare([{"audio": one, "sampling_rate": self.sampling_rate} for one in sounds])
        return {name: one.numpy() for name, one in made.items()}

    def _padded(self, sounds: list[Any]) -> dict[str, Any]:
        """Rows of the longest one's length. Without a mask the silence behind a sound counts as sound, as in transformers."""
        if self._settings.get("return_attention_mask"):
            return self._prepare(sounds)
        longest = max(len(one) for one in sounds)
        return self._prepare([numpy().pad(one, (0, longest - len(one))) for one in sounds])

    @staticmethod
    def _several(sounds: Any) -> list[Any]:
        """One sound is samples; several are a list of such."""
        several = isinstance(sounds, (list, tuple)) and len(sounds) > 0 and hasattr(sounds[0], "__len__")
        found = list(sounds) if several else [sounds]
        if any(one is None or not len(one) for one in found):
            raise ValueError("raw_speech: found no samples, wanted some")
        return found

    @staticmethod
    def _samples(sound: Any) -> Any:
        np = numpy()
        samples = np.asarray(sound, dtype=np.float32)
        if samples.ndim != 1:
            raise ValueError(f"raw_speech: found samples of shape {samples.shape}, wanted one channel")
        return np.ascontiguousarray(samples)


class AutoImageProcessor:
    """As transformers' AutoImageProcessor."""

    @staticmethod
    def from_pretrained(pretrained_model_name_or_path: str | os.PathLike[str], **options: Any) -> ImageProcessor:
        made: ImageProcessor = ImageProcessor.from_pretrained(pretrained_model_name_or_path, **options)
        return made


class AutoFeatureExtractor:
    """As transformers' AutoFeatureExtractor."""

    @staticmethod
    def from_pretrained(pretrained_model_name_or_path: str | os.PathLike[str], **options: Any) -> FeatureExtractor:
        made: FeatureExtractor = FeatureExtractor.from_pretrained(pretrained_model_name_or_path, **options)
        return made
