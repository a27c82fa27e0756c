# SPDX-License-Identifier: Apache-2.0
"""Polars: a lazy frame whose rows go through one process, frame by frame.

    from encoderfile_c import polars as ef
    ef.scan(pl.scan_parquet("in.parquet"), "my.encoderfile", column="text", keep=["id"]).sink_parquet("out.parquet")
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import stream as _stream


def scan(frame: Any, package: str, column: _stream.Columns = "text", keep: Sequence[str] = "all", threads: int | None = None,
         **options: Any) -> Any:
    """The frame with its answers. keep: default: every column but those that are sent. threads: default: those of Polars."""
    import polars as pl

    frame = frame.lazy()  # a DataFrame, too
    given = frame.collect_schema()
    gone = _stream.sent(column, options)
    names = _stream.kept(given.names(), keep, gone)
    _stream.there(given.names(), [*gone.values(), *names])
    results = _stream.schema(package, column=column, **options)
    _stream.apart(names, results)
    found = pl.DataFrame(results.empty_table()).schema
    encode = _stream.Encoder(package, column=column, threads=threads or pl.thread_pool_size(), **options)

    def answer(rows: pl.DataFrame) -> pl.DataFrame:
        texts = rows.select(list(gone.values())).to_arrow().combine_chunks()
        return pl.concat([rows.select(names), pl.DataFrame(encode(texts))], how="horizontal")

    schema = {**{n: given[n] for n in names}, **found}
    return frame.map_batches(answer, schema=schema, streamable=True)
