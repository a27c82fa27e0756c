# SPDX-License-Identifier: Apache-2.0
# reference.py - what is right, as transformers and sentence-transformers have it (tests/golden/clients.json, written by
# tools/oracle/clients.py), and the lines of the table: client, call, whose answer it is compared with, result. Every script
# of this folder imports it, calls check() or attempt() for each call of its client, and ends with finish().
import json
import math
import os
import sys

import numpy
from tokenizers import Tokenizer

counts = {"passed": 0, "failed": 0, "skipped": 0}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/clients.json")) as file:
    golden = json.load(file)
ST, PIPELINE = "sentence-transformers", "transformers"  # whose answer it is


def url(model):
    return os.environ["EF_URL_" + model.upper()]


def check(client, call, right, note="", by="-"):
    right = bool(right)
    counts["passed" if right else "failed"] += 1
    print(f"  {'' if right else 'FAILED: '}| {client} | {call} | {by} | {note or ('equal' if right else 'DIFFERENT')} |", flush=True)


def attempt(client, call, work, by="-"):
    """work returns (right, note); what it raises is a failure with a name."""
    try:
        right, note = work()
    except Exception as error:  # a client that breaks is what we are here to see
        right, note = False, f"{type(error).__name__}: {str(error)[:200]}"
    check(client, call, right, note, by)


def finish():
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    sys.exit(1 if counts["failed"] else 0)


def tokenizer(model):
    return Tokenizer.from_file(os.path.join(os.environ["EF_MODELS"], model, "tokenizer.json"))


# ---- what is right ----
def vector(text):
    """Of length 1."""
    return golden["vectors"]["normalized"][text]


def mean(text):
    return golden["vectors"]["mean"][text]


def ranking(query, texts):
    """(index, score), the best first."""
    return next(r["ranks"] for r in golden["rank"] if r["query"] == query and r["texts"] == texts)


# ---- whether an answer is that ----
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


def summary(names, what):
    """For the table: all of them, if that is short."""
    text = ", ".join(str(n) for n in names)
    return f"equal: {text}" if len(text) < 40 else f"{len(names)} {what} equal"


def same_scores(got, wanted):
    """Lists of (name, score): the same names in the same order, scores near."""
    right = [g[0] for g in got] == [w[0] for w in wanted] and all(near(g[1], w[1]) for g, w in zip(got, wanted))
    return right, summary([g[0] for g in got], "scores") if right else f"{got} for {wanted}"


def same_spans(got, wanted):
    """Lists of (label, start, end)."""
    got, wanted = [tuple(g) for g in got], [tuple(w) for w in wanted]
    return got == wanted, summary([f"{a} {b}-{c}" for a, b, c in got], "spans") if got == wanted else f"{got} for {wanted}"
