# SPDX-License-Identifier: Apache-2.0
"""A model's folder to a folder with model.onnx and everything that Optimum wants beside it."""
from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any, Union

from .. import _core
from .._source import source
from ..errors import EncoderfileError
from .metadata import MetadataExtractor, ONNXMetadataReader

StrPath = Union[str, "os.PathLike[str]"]
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json",
                   "merges.txt", "spiece.model", "sentencepiece.bpe.model")
IMAGE_FILES = ("preprocessor_config.json", "processor_config.json")
LINE = "=" * 60


def _folder(model: StrPath) -> Path:
    """The model's own folder: a path, or what was downloaded."""
    path = Path(source(model))
    if not path.exists():
        raise FileNotFoundError(f"{model}: no such folder")
    return path


def _size(count: int) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1024 or unit == "MB":
            return f"{count} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024  # type: ignore[assignment]
    return ""


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords as the options of `encoderfile export`: static_shapes=(1, 128) is --static-shapes 1,128."""
    out = {}
    for key, value in kwargs.items():
        if value is not None and value is not False:
            out[key.replace("_", "-")] = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    return out


def _target(path: StrPath) -> Path:
    """The folder that an export makes: of NAME.onnx it is NAME."""
    out = Path(path)
    return out.with_suffix("") if out.suffix == ".onnx" else out


def export_with_config(model_name_or_path: StrPath, output_dir: StrPath, input_text: str | None = None, strategy: str = "htp",
                       clean_onnx: bool = False, **kwargs: Any) -> Path:
    """Exports a model with its configuration files; the folder, which for NAME.onnx is NAME. Other keywords are options of
    `encoderfile export`: opset=17.

    input_text is what other exporters trace with; nothing is traced here."""
    out = _target(output_dir)
    folder = _folder(model_name_or_path)
    options = {"strategy": strategy, **_options({"clean_onnx": clean_onnx, **kwargs})}
    try:
        report = _core.export(folder, out, options)
    except EncoderfileError as error:
        if (out / "model.onnx").exists() and not (out / "config.json").exists():
            raise RuntimeError(f"Failed to copy configuration files: {error}\n"
                               "The ONNX model was exported but may not be compatible with Optimum.") from error
        raise
    if not (out / "config.json").exists():
        raise FileNotFoundError("config.json was not created. The model cannot be used with Optimum.")
    print(f"✅ Model exported successfully to {out}")
    print("   Files created:")
    for file in report["files"]:
        print(f"   - {file['name']}: {_size(file['size'])}")
    return out


def export_onnx_with_hierarchy(model_name: StrPath, output_path: StrPath, **kwargs: Any) -> Path:
    """The ONNX file alone."""
    warnings.warn("This function exports ONNX without config files. The model will not work with Optimum. Use export_with_config instead.",
                  DeprecationWarning, stacklevel=2)
    kwargs.pop("input_text", None)
    _core.export(_folder(model_name), output_path, _options({"no_config": True, **kwargs}))
    return Path(output_path)


def validate_optimum_compatibility(model_dir: StrPath) -> bool:
    """Whether Optimum loads the folder, by what its loader looks at; says why not."""
    if not isinstance(model_dir, (str, os.PathLike)) or not os.fspath(model_dir):
        print(f"❌ No folder: found {model_dir!r}, wanted the path of an exported model")
        return False
    folder = Path(os.fsdecode(model_dir))
    missing = [name for name in ("model.onnx", "config.json") if not (folder / name).exists()]
    if missing:
        print(f"❌ Missing required files: {', '.join(missing)}")
        return False
    try:
        report = _core.validate(folder)
    except EncoderfileError as error:
        print(f"❌ Failed to load with Optimum: {error}")
        return False
    wrong = [f"{check['name']}: {check['detail']}" for check in report["checks"] if check["state"] == "failed"]
    if report["compatible"] and not wrong:
        print("✅ Model is compatible with Optimum!")
        return True
    print(f"❌ Failed to load with Optimum: {'; '.join(wrong)}")
    return False


def add_config_to_existing_model(onnx_path: StrPath, model_name: StrPath) -> None:
    """Config and tokenizer files beside an ONNX file that was exported without."""
    _core.add_config(onnx_path, _folder(model_name))
    print(f"✅ Added config files to {Path(onnx_path).parent}")


class ConfigurationCopier:
    """Copies the files of a model's folder, one kind at a time."""

    @staticmethod
    def _copy(model_name: StrPath, output_dir: StrPath, names: tuple[str, ...]) -> None:
        folder, out = _folder(model_name), Path(output_dir)
        out.mkdir(parents=True, exist_ok=True)
        for name in names:
            if (folder / name).is_file():
                shutil.copyfile(folder / name, out / name)

    def copy_model_config(self, model_name: StrPath, output_dir: StrPath) -> None:
        if not (_folder(model_name) / "config.json").is_file():
            raise FileNotFoundError(f"{model_name}: config.json: config required, and the model has none")
        self._copy(model_name, output_dir, ("config.json",))

    def copy_tokenizer(self, model_name: StrPath, output_dir: StrPath) -> None:
        self._copy(model_name, output_dir, TOKENIZER_FILES)

    def copy_image_processor(self, model_name: StrPath, output_dir: StrPath) -> None:
        self._copy(model_name, output_dir, IMAGE_FILES)


class HierarchyTagPreservationExporter:
    """Exports with hierarchy tags, and with config, processor and task inside of the file."""

    def __init__(self) -> None:
        self.metadata_extractor = MetadataExtractor()

    def export_with_metadata(self, model_name_or_path: StrPath, output_path: StrPath, embed_metadata: bool = True, **kwargs: Any) -> dict[str, Any]:
        """{"onnx_path", "metadata"}; the metadata are None when they are not embedded."""
        options = _options({"no_config": True, "no_embed_metadata": not embed_metadata, **kwargs})
        _core.export(_folder(model_name_or_path), output_path, options)
        metadata = ONNXMetadataReader(cache_metadata=False).read_metadata(output_path) if embed_metadata else None
        return {"onnx_path": output_path, "metadata": metadata}


def export_to_onnx(model_path: StrPath, output_path: StrPath, quantize: bool = False) -> None:
    """A model of entities to a folder with model.onnx, its files and its label maps; with quantize an int8 model, too."""
    folder, out = _folder(model_path), _target(output_path)
    print(LINE)
    print("EXPORTING MODEL TO ONNX FORMAT")
    print(LINE)
    print(f"Source: {folder}")
    print(f"Output: {out}")
    print(f"Quantization: {'INT8' if quantize else 'none'}")
    for step, what in enumerate(("Loading tokenizer...", "Exporting model to ONNX...", "Saving ONNX model...", "Copying label mappings..."), 1):
        if step == 2:
            _core.export(folder, out)
        print(f"[Step {step}/4] {what}")
    if quantize:
        print("[Optional] Applying INT8 quantization...")
        try:
            _core.quantize(out)
        except EncoderfileError as error:
            print(f"Quantization failed: {error}")
    print(LINE)
    print("EXPORT COMPLETE")
    for file in sorted(out.iterdir()):
        if file.is_file():
            print(f"  - {file.name} ({file.stat().st_size / 1e6:.2f} MB)")
    print(LINE)


def verify_onnx_model(onnx_path: StrPath) -> None:
    """Runs sample queries, which suit the model's task, and prints what is found in them."""
    report = _core.verify(onnx_path)
    print("VERIFYING ONNX MODEL")
    print(LINE)
    print("\nTest Results:")
    for result in report["results"]:
        print(f"\nQuery: \"{result.pop('query')}\"")
        for entity in result.pop("entities", ()):
            print(f"  - {entity['label']}: \"{entity['word']}\"")
        for name, value in result.items():
            print(f"  - {name}: {value}")
    print("\nVERIFICATION COMPLETE")
    print(LINE)
