# SPDX-License-Identifier: Apache-2.0
"""Daft: a class whose answers are a struct column; one process for each worker, kept between batches.

    from encoderfile_c import daft as ef
    encode = ef.encoder("my.encoderfile")
    df = df.with_column("found", encode(df["text"]))    # a struct: entities, error ...

Rows may come back in another order over several files: carry a key along. Among the metrics of a frame that was
collected (df.metrics): encoderfile_rows and encoderfile_failed_rows.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from . import stream as _stream


def encoder(package: str, column: str | Sequence[str] = "text", threads: int = 1, max_concurrency: int | None = None, batch_size: int = 4096,
            **options: Any) -> Any:
    """To be called with a column of texts; of tasks that read several columns with as many, whose names there are `column`'s:
    encoder(package, ["question", "context"])(df["q"], df["page"])."""
    import daft
    from daft.udf.metrics import increment_counter

    if "keep" in options:
        raise TypeError("keep: found it, wanted none: the frame keeps its columns beside the answers'")
    names = list(_stream.sent(column, options))
    found = _stream.schema(package, column=column, **options)
    dtype = daft.DataType.from_arrow_type(pa.struct(list(found)))

    @daft.cls(max_concurrency=max_concurrency)
    class Encode:
        def __init__(self) -> None:
            self.encode = _stream.Encoder(package, column=column, threads=threads, **options)

        @daft.method.batch(return_dtype=dtype, batch_size=batch_size)
        def __call__(self, *given: daft.Series) -> daft.Series:
            arrays = [one.to_arrow() for one in given]
            arrays = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in arrays]
            answer = self.encode(pa.RecordBatch.from_arrays(arrays, names))
            error = answer.column("error")
            increment_counter("encoderfile_rows", len(error))
            increment_counter("encoderfile_failed_rows", len(error) - error.null_count)
            return daft.Series.from_arrow(pa.StructArray.from_arrays(answer.columns, fields=list(answer.schema)))

    return Encode()
