# SPDX-License-Identifier: Apache-2.0
# tei_calls.py - requests as clients of text-embeddings-inference send them (llama-index, litellm, its own examples): it has no
# package of its own, so they are plain HTTP.
import json
import urllib.request

import numpy

from reference import Model, attempt, finish, near, same_vectors, url

TEXTS = ["book a bus from pune to rome", "a very bad film", "[MASK] of the sea"]
embed, labels, rank, mask = Model("embed"), Model("labels"), Model("rank"), Model("mask")


def post(model, path, **body):
    request = urllib.request.Request(url(model) + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


attempt("TEI", "/embed", lambda: same_vectors(post("embed", "/embed", inputs=TEXTS, truncate=True), [embed.vector(t) for t in TEXTS]))
attempt("TEI", "/embed, normalize=false", lambda: (numpy.allclose(
    post("embed", "/embed", inputs=TEXTS[0], normalize=False)[0], embed.run(TEXTS[0])[1].mean(axis=0), atol=1e-4), ""))
attempt("TEI", "/embed, prompt_name", lambda: same_vectors(
    post("embed", "/embed", inputs="bus", prompt_name="query"), [embed.vector("book a bus")]))


def every_token():
    got, wanted = post("embed", "/embed_all", inputs=TEXTS), [embed.run(t)[1] for t in TEXTS]
    return [len(g) for g in got] == [len(w) for w in wanted] and all(
        numpy.allclose(g, w, atol=1e-4) for g, w in zip(got, wanted)), f"{sum(len(g) for g in got)} tokens"


attempt("TEI", "/embed_all", every_token)


def sparse():
    for text, got in zip(TEXTS, post("mask", "/embed_sparse", inputs=TEXTS)):
        weights = numpy.log1p(numpy.maximum(mask.run(text)[1], 0)).max(axis=0)
        dense = numpy.zeros_like(weights)
        dense[[g["index"] for g in got]] = [g["value"] for g in got]
        if not numpy.allclose(dense, weights, atol=1e-4) or [g["index"] for g in got] != sorted(g["index"] for g in got):
            return False, text
    return True, f"{len(got)} of {len(weights)} words"


attempt("TEI", "/embed_sparse", sparse)


def predict(inputs, singles, **more):
    got = post("labels", "/predict", inputs=inputs, **more)
    got = got if isinstance(inputs, list) and isinstance(inputs[0], list) else [got]
    for one, texts in zip(got, singles):
        scores = labels.run(*texts)[1] if more.get("raw_scores") else labels.scores(*texts)
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        if [o["label"] for o in one] != [labels.labels[i] for i in order] or not all(
                near(o["score"], scores[i]) for o, i in zip(one, order)):
            return False, str(one)
    return len(got) == len(singles), ", ".join(o["label"] for o in one)


attempt("TEI", "/predict, a text", lambda: predict(TEXTS[0], [TEXTS[:1]]))
attempt("TEI", "/predict, a pair", lambda: predict(TEXTS[:2], [TEXTS[:2]], raw_scores=True))
attempt("TEI", "/predict, a batch", lambda: predict([[TEXTS[0]], TEXTS[:2]], [TEXTS[:1], TEXTS[:2]]))


def rerank():
    got = post("rank", "/rerank", query="a bus", texts=TEXTS, truncate=False, truncation_direction="Right", return_text=True)
    wanted = rank.ranking("a bus", TEXTS)
    return [g["index"] for g in got] == [i for i, _ in wanted] and all(
        near(g["score"], s) and g["text"] == TEXTS[i] for g, (i, s) in zip(got, wanted)), str([g["index"] for g in got])


attempt("TEI", "/rerank", rerank)


def vertex():
    got = post("embed", "/vertex", instances=[{"inputs": t} for t in TEXTS])["predictions"]
    return same_vectors([g[0] for g in got], [embed.vector(t) for t in TEXTS])


attempt("TEI", "/vertex", vertex)


def tokens():
    got = post("embed", "/tokenize", inputs=TEXTS)
    wanted = [embed.tokenizer.encode(t) for t in TEXTS]
    return [[t["id"] for t in g] for g in got] == [w.ids for w in wanted], f"{sum(len(g) for g in got)} tokens"


attempt("TEI", "/tokenize", tokens)
attempt("TEI", "/decode", lambda: (post("embed", "/decode", ids=embed.tokenizer.encode(TEXTS[0]).ids) == [TEXTS[0]], ""))
finish()
