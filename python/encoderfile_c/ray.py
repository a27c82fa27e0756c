# SPDX-License-Identifier: Apache-2.0
"""Ray Data: one process for each actor, kept between batches.

    from encoderfile_c.ray import Encoder
    ray.init(runtime_env={"working_dir": "models"})                     # sends models/my.encoderfile to every node
    ds.map_batches(Encoder, fn_constructor_kwargs=dict(package="my.encoderfile", keep=["id"]),
                   batch_format="pyarrow", batch_size=4096, compute=ray.data.ActorPoolStrategy(size=8), num_cpus=0.9)

Leave the readers a CPU: a pool that takes all of them waits for itself. An actor that dies is started again, and its
batch repeated. Among Ray's metrics: encoderfile_rows, encoderfile_failed_rows and encoderfile_seconds (of answering).
"""
from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from . import stream as _stream

__all__ = ["Encoder"]


class Encoder(_stream.Encoder):
    """package: a path on every node, or one in the runtime environment's folder. threads: default: the actor's CPUs."""

    def __init__(self, package: str, column: _stream.Columns = "text", keep: Sequence[str] = (), threads: int | None = None,
                 program: str | None = None, **options: Any) -> None:
        import ray
        from ray.util.metrics import Counter

        context: Any = ray.get_runtime_context()
        cpus = int(context.get_assigned_resources().get("CPU", 1))
        super().__init__(_stream.runnable(package), column, keep, threads or max(1, cpus), program, **options)

        def counter(name: str, what: str) -> Any:
            return Counter("encoderfile_" + name, what, tag_keys=("package",)).set_default_tags({"package": os.path.basename(package)})

        self._counters = [counter("rows", "rows answered"), counter("failed_rows", "rows with an error"),
                          counter("seconds", "time spent answering")]

    def __call__(self, rows: Any) -> Any:
        begin = time.monotonic()
        answers = super().__call__(rows)
        error = answers.column("error")
        for counter, value in zip(self._counters, (len(error), len(error) - error.null_count, time.monotonic() - begin)):
            if value:
                counter.inc(value)
        return answers
