# SPDX-License-Identifier: Apache-2.0
# onnxruntime_calls.py - no client: ONNX Runtime on the files that our exporter made for the servers here, so that what is
# served is known to be the checkpoint's model.
import os

import numpy
import onnxruntime

from reference import PIPELINE, attempt, finish, golden, near, same_scores, same_vectors, tokenizer


def run(name, *texts):
    """The first output for a text or a pair, without the batch."""
    session = onnxruntime.InferenceSession(os.path.join(os.environ["EF_MODELS"], name, "model.onnx"))
    e = tokenizer(name).encode(*texts)
    given = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
    feed = {i.name: numpy.array([given[i.name]], dtype=numpy.int64) for i in session.get_inputs()}
    return session.run(None, feed)[0][0]


def hidden():
    wanted = golden["vectors"]["hidden"]
    return same_vectors([v for t in wanted for v in run("embed", t)], [v for rows in wanted.values() for v in rows])


def logits():
    wanted = golden["labels"]["none"]
    texts = [t for t in wanted if t != "PAIR"]
    got = [float(x) for t in texts for x in sorted(run("labels", t), reverse=True)]
    return all(near(a, b) for a, b in zip(got, [score for t in texts for _, score in wanted[t]])), f"{len(got)} logits"


def weights():
    rows = {t: numpy.log1p(numpy.maximum(run("mask", t), 0)).max(axis=0) for t in golden["sparse"]}
    got = [(i, float(v)) for row in rows.values() for i, v in enumerate(row) if v]
    right, note = same_scores(got, [p for pairs in golden["sparse"].values() for p in pairs])
    return right, f"{len(got)} weights" if right else note


attempt("ONNX Runtime", "embed, exported: hidden states", hidden, PIPELINE)
attempt("ONNX Runtime", "labels, exported: logits", logits, PIPELINE)
attempt("ONNX Runtime", "mask, exported: SPLADE's weights", weights, "sentence-transformers")
finish()
