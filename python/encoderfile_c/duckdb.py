# SPDX-License-Identifier: Apache-2.0
"""DuckDB: the rows of a query with their answers, as a reader of record batches, which a second connection takes.

    from encoderfile_c import duckdb as ef
    answers = ef.table(con, "select id, text from 'in.parquet'", "my.encoderfile", keep=["id"])
    duckdb.connect().execute("copy (from answers) to 'out.parquet'")

The first connection is busy with its query until the last answer.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from . import stream as _stream


def table(con: Any, query: str, package: str, column: _stream.Columns = "text", keep: Sequence[str] = "all", threads: int | None = None,
          rows: int = 8192, **options: Any) -> pa.RecordBatchReader:
    """keep: default: every column of the query but those that are sent. threads: default: those of the connection."""
    if threads is None:
        threads = int(con.execute("select current_setting('threads')").fetchall()[0][0])
    relation = con.sql(query)
    reader = relation.to_arrow_reader(rows) if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader(rows)
    gone = _stream.sent(column, options)
    names = _stream.kept(reader.schema.names, keep, gone)
    _stream.there(reader.schema.names, [*gone.values(), *names])
    kept = pa.schema([reader.schema.field(n) for n in names])
    found = _stream.schema(package, column=column, keep=kept, **options)
    answers = _stream.stream(package, reader, column=column, keep=names, threads=threads, **options)
    return pa.RecordBatchReader.from_batches(found, answers)
