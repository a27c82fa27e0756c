# SPDX-License-Identifier: Apache-2.0
"""Vectors in fewer bits, as sentence_transformers.quantize_embeddings makes them."""
from __future__ import annotations

import logging
from typing import Any

from ._arrays import is_torch, numpy, to_numpy

logger = logging.getLogger(__name__)
PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


def _ranges(embeddings: Any, precision: str, calibration: Any) -> Any:
    np = numpy()
    if calibration is None:
        if embeddings.ndim == 1 or embeddings.shape[0] == 1:
            raise ValueError(f"{precision}: the ranges cannot be computed from a single embedding: give `ranges` or "
                             "`calibration_embeddings`, from a representative set")
        if embeddings.shape[0] < 100:
            logger.warning("%s: the ranges are those of %d embeddings only: give `ranges` or `calibration_embeddings`", precision,
                           len(embeddings))
        calibration = embeddings
    return np.vstack((np.min(calibration, axis=0), np.max(calibration, axis=0)))


def quantize_embeddings(embeddings: Any, precision: str, ranges: Any = None, calibration_embeddings: Any = None) -> Any:
    """int8 and uint8: 256 steps of each dimension's range. binary and ubinary: a bit for each, 1 above 0."""
    np = numpy()
    if isinstance(embeddings, list):
        if not embeddings:
            return []
        if is_torch(embeddings[0]) or isinstance(embeddings[0], np.ndarray):
            matrices = [to_numpy(one) for one in embeddings]
            if matrices[0].ndim == 2:
                if precision.endswith("int8") and ranges is None:
                    ranges = _ranges(np.concatenate(matrices), precision, calibration_embeddings)
                return [quantize_embeddings(one, precision, ranges) for one in matrices]
    vectors = to_numpy(embeddings)
    if vectors.dtype in (np.uint8, np.int8):
        raise Exception("Embeddings to quantize must be float rather than int8 or uint8.")
    if precision == "float32":
        return vectors.astype(np.float32)
    if precision in ("int8", "uint8"):
        return _quantize_steps(vectors, precision, ranges, calibration_embeddings)
    if precision == "binary":
        return (np.packbits(vectors > 0, axis=-1) - 128).astype(np.int8)
    if precision == "ubinary":
        return np.packbits(vectors > 0, axis=-1)
    raise ValueError(f"Precision {precision!r} is not supported, must be one of {list(PRECISIONS)}")


def _quantize_steps(vectors: Any, precision: str, ranges: Any, calibration: Any) -> Any:
    np = numpy()
    if vectors.ndim == 2 and len(vectors) == 0:
        return np.zeros(vectors.shape, dtype=precision)
    if ranges is None:
        ranges = _ranges(vectors, precision, calibration)
    ranges = np.asarray(ranges).astype(np.float32, copy=False)
    steps = (ranges[1] - ranges[0]) / 255
    steps = np.where(steps == 0, 1, steps)
    codes = np.clip(np.floor((vectors - ranges[0]) / steps), 0, 255)
    return codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8)
