# SPDX-License-Identifier: Apache-2.0
"""What a script does around a pipeline: the processor of a folder, a pipeline of it, and how fast that is."""
from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from .. import _core
from .._source import source
from ..errors import EncoderfileError
from ..pipelines import Pipeline
from ..preprocessing import AutoFeatureExtractor, AutoImageProcessor
from ..tokenization import AutoTokenizer
from .errors import ProcessorNotFoundError
from .inference import pipeline
from .processors import ONNXProcessor

MAKERS: dict[str, Callable[[str], Any]] = {
    "processor": ONNXProcessor, "tokenizer": AutoTokenizer.from_pretrained, "image_processor": AutoImageProcessor.from_pretrained,
    "feature_extractor": AutoFeatureExtractor.from_pretrained,
}


def load_preprocessor(model_path: str | os.PathLike[str]) -> Any:
    """A processor of several kinds of input, else a tokenizer, an image processor or a feature extractor: what the model has."""
    path = source(model_path)
    try:
        kind = (_core.inspect(path).get("processor") or {}).get("type")
        if kind in MAKERS:
            return MAKERS[kind](path)
    except EncoderfileError as error:
        raise ProcessorNotFoundError(str(error)) from error
    raise ProcessorNotFoundError(f"{path}: no tokenizer, nor preprocessor_config.json")


def create_inference_pipeline(model_path: str | os.PathLike[str], task: str | None = None, device: str = "cpu", batch_size: int = 1) -> Pipeline:
    """A pipeline with the processor beside the model; without a task, the one that the ONNX file names."""
    return pipeline(task, os.fspath(model_path), device=device, batch_size=batch_size)


def benchmark_inference(pipe: Callable[[Any], Any], inputs: Any, num_runs: int = 100, warmup_runs: int = 10) -> dict[str, float]:
    """Times of a call in milliseconds, and calls per second: mean_ms, std_ms, min_ms, max_ms, throughput."""
    if num_runs < 1 or warmup_runs < 0:
        raise ValueError(f"found {num_runs} runs and {warmup_runs} before them, wanted one or more, and none or more")
    took = []
    for _ in range(warmup_runs + num_runs):
        start = time.perf_counter()
        pipe(inputs)
        took.append((time.perf_counter() - start) * 1000)
    took = took[warmup_runs:]
    mean = statistics.fmean(took)
    return {"mean_ms": mean, "std_ms": statistics.pstdev(took), "min_ms": min(took), "max_ms": max(took), "throughput": 1000 / mean}
