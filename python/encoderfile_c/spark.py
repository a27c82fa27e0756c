# SPDX-License-Identifier: Apache-2.0
"""Spark: one process for each task, fed from mapInArrow.

    from encoderfile_c import spark as ef
    ef.ship(spark, "my.encoderfile")                                    # to every node, once
    out = df.mapInArrow(ef.map_in_arrow("my.encoderfile", keep=["id"]), ef.schema("my.encoderfile", df.schema, keep=["id"]))

A process lives as long as its task. One that dies fails the task, which Spark repeats (spark.task.maxFailures).
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from . import stream as _stream


def ship(spark: Any, package: str) -> None:
    """Sends the package to every node."""
    spark.sparkContext.addFile(os.path.abspath(package))


def _local(package: str) -> str:
    """The package on this node: as it was shipped, or at the path that was given."""
    from pyspark import SparkFiles

    path: str = SparkFiles.get(os.path.basename(package))
    return _stream.runnable(path) if os.path.exists(path) else package


def map_in_arrow(package: str, column: _stream.Columns = "text", keep: Sequence[str] = (), threads: int | None = None,
                 **options: Any) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for DataFrame.mapInArrow. threads: of each task; default: spark.task.cpus."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        cpus = threads or (context.cpus() if context is not None else 1)
        yield from _stream.stream(_local(package), batches, column=column, keep=keep, threads=cpus, **options)

    return run


def schema(package: str, like: Any = None, keep: Sequence[str] = (), column: _stream.Columns = "text", **options: Any) -> Any:
    """The StructType of the answers; like: the frame's schema, of which `keep` are in front. A column that is missing is found here,
    and not by every task."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    if like is None and keep:
        raise TypeError("like: found none, wanted the schema of the frame, which says what the columns of keep are")
    found = _stream.schema(package, column=column, **options)
    gone = _stream.sent(column, options)
    there = list(like.names) if like is not None else [*gone.values(), *keep]
    names = _stream.kept(there, keep, gone)
    _stream.there(there, [*gone.values(), *names])
    _stream.apart(names, found)
    return StructType([*(like[name] for name in names), *from_arrow_schema(found).fields])
