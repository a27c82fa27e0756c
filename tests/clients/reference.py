# SPDX-License-Identifier: Apache-2.0
# reference.py - ONNX Runtime and tokenizers say what is right; lines of the table say whether a client got it. Every script
# of this folder imports it, calls check() for each call of its client, and ends with finish().
import json
import math
import os
import sys

import numpy
import onnxruntime
from tokenizers import Tokenizer

NAME = os.path.basename(sys.argv[0])
counts = {"passed": 0, "failed": 0, "skipped": 0}


def url(model):
    return os.environ["EF_URL_" + model.upper()]


def check(client, call, right, note=""):
    right = bool(right)
    counts["passed" if right else "failed"] += 1
    print(f"  {'' if right else 'FAILED: '}| {client} | {call} | {note or ('equal' if right else 'DIFFERENT')} |", flush=True)


def attempt(client, call, work):
    """work returns (right, note); what it raises is a failure with a name."""
    try:
        right, note = work()
    except Exception as error:  # a client that breaks is what we are here to see
        right, note = False, f"{type(error).__name__}: {str(error)[:200]}"
    check(client, call, right, note)


def finish():
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    sys.exit(1 if counts["failed"] else 0)


class Model:
    def __init__(self, name):
        folder = os.path.join(os.environ["EF_MODELS"], name)
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"))
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        self.labels = [self.config["id2label"][str(i)] for i in range(len(self.config.get("id2label", {})))]

    def run(self, *texts):
        """One text or a pair: the first output, without the batch."""
        e = self.tokenizer.encode(*texts)
        given = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        feed = {i.name: numpy.array([given[i.name]], dtype=numpy.int64) for i in self.session.get_inputs()}
        return e, self.session.run(None, feed)[0][0]

    def vector(self, text):
        x = self.run(text)[1].mean(axis=0)
        return x / numpy.linalg.norm(x)

    def scores(self, *texts):
        x = self.run(*texts)[1]
        return softmax(x) if len(x) > 1 else 1 / (1 + numpy.exp(-x))

    def ranking(self, query, texts):
        """(index, score), the best first."""
        scores = [float(self.scores(query, t)[0]) for t in texts]
        return sorted(enumerate(scores), key=lambda p: -p[1])


def softmax(x):
    e = numpy.exp(x - x.max())
    return e / e.sum()


def cosine(a, b):
    a, b = numpy.asarray(a, dtype=numpy.float64).ravel(), numpy.asarray(b, dtype=numpy.float64).ravel()
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


def same_vectors(got, wanted):
    """The least cosine, as a note."""
    if len(got) != len(wanted):
        return False, f"{len(got)} vectors for {len(wanted)}"
    worst = min(cosine(a, b) for a, b in zip(got, wanted))
    return worst >= 0.9999, f"cosine {worst:.6f}"


def near(a, b):
    return abs(a - b) <= 1e-4
