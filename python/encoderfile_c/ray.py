# SPDX-License-Identifier: Apache-2.0
"""Ray Data: one process for each actor, kept between batches.

    from encoderfile_c.ray import Encoder
    ds.map_batches(Encoder, fn_constructor_kwargs=dict(package="/models/my.encoderfile", keep=["id"]),
                   batch_format="pyarrow", batch_size=4096, compute=ray.data.ActorPoolStrategy(size=8), num_cpus=0.9)

Leave the readers a CPU: a pool that takes all of them waits for itself. An actor that dies is started again, and its
batch repeated.
"""
from __future__ import annotations

from .stream import Encoder

__all__ = ["Encoder"]
