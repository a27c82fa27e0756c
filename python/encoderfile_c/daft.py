# SPDX-License-Identifier: Apache-2.0
"""Daft: a class whose answers are a struct column; one process for each worker, kept between batches.

    from encoderfile_c import daft as ef
    encode = ef.encoder("my.encoderfile")
    df = df.with_column("found", encode(df["text"]))    # a struct: entities, error ...

Rows may come back in another order over several files: carry a key along.
"""
from __future__ import annotations

from typing import Any

import pyarrow as pa

from . import stream as _stream


def encoder(package: str, threads: int = 1, max_concurrency: int | None = None, batch_size: int = 4096, **options: Any) -> Any:
    """To be called with a column of texts."""
    import daft

    found = _stream.schema(package, column="text", **options)
    dtype = daft.DataType.from_arrow_type(pa.struct(list(found)))

    @daft.cls(max_concurrency=max_concurrency)
    class Encode:
        def __init__(self) -> None:
            self.encode = _stream.Encoder(package, column="text", threads=threads, **options)

        @daft.method.batch(return_dtype=dtype, batch_size=batch_size)
        def __call__(self, text: daft.Series) -> daft.Series:
            array = text.to_arrow()
            array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
            answer = self.encode(pa.RecordBatch.from_arrays([array], ["text"]))
            return daft.Series.from_arrow(pa.StructArray.from_arrays(answer.columns, fields=list(answer.schema)))

    return Encode()
