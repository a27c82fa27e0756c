# SPDX-License-Identifier: Apache-2.0
"""Polars: a lazy frame whose rows go through one process, frame by frame.

    from encoderfile_c import polars as ef
    ef.scan(pl.scan_parquet("in.parquet"), "my.encoderfile", column="text", keep=["id"]).sink_parquet("out.parquet")
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from . import stream as _stream


def scan(frame: Any, package: str, column: str = "text", keep: Sequence[str] | None = None, threads: int = 1, **options: Any) -> Any:
    """The frame with its answers. keep: default: every column but the text's."""
    import polars as pl

    given = frame.collect_schema()
    names = [n for n in given.names() if n != column] if keep is None else list(keep)
    found = pl.DataFrame(_stream.schema(package, column=column, **options).empty_table()).schema
    encode = _stream.Encoder(package, column=column, threads=threads, **options)
    columns = [column, *([options["column2"]] if options.get("column2") else [])]

    def answer(rows: pl.DataFrame) -> pl.DataFrame:
        texts = rows.select(columns).to_arrow().combine_chunks()
        return pl.concat([rows.select(names), pl.DataFrame(pa.Table.from_batches(encode(texts).to_batches()))], how="horizontal")

    schema = {**{n: given[n] for n in names}, **found}
    return frame.map_batches(answer, schema=schema, streamable=True)
