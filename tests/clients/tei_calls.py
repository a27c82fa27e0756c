# SPDX-License-Identifier: Apache-2.0
# tei_calls.py - requests as clients of text-embeddings-inference send them (llama-index, litellm, its own examples): it has no
# package of its own, so they are plain HTTP.
import json
import urllib.request

import numpy

from reference import PIPELINE, ST, attempt, finish, golden, mean, ranking, same_scores, same_vectors, tokenizer, url, vector

TEXTS = ["book a bus from pune to rome", "a very bad film", "[MASK] of the sea"]


def post(model, path, **body):
    request = urllib.request.Request(url(model) + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


attempt("TEI", "/embed", lambda: same_vectors(post("embed", "/embed", inputs=TEXTS, truncate=True), [vector(t) for t in TEXTS]), ST)
attempt("TEI", "/embed, normalize=false", lambda: (numpy.allclose(
    post("embed", "/embed", inputs=TEXTS[0], normalize=False)[0], mean(TEXTS[0]), atol=1e-4), ""), ST)
attempt("TEI", "/embed, prompt_name", lambda: same_vectors(
    post("embed", "/embed", inputs="bus", prompt_name="query"), [golden["vectors"]["prompt"]]), ST)


def every_token():
    got, wanted = post("embed", "/embed_all", inputs=TEXTS), [golden["vectors"]["hidden"][t] for t in TEXTS]
    return [len(g) for g in got] == [len(w) for w in wanted] and all(
        numpy.allclose(g, w, atol=1e-4) for g, w in zip(got, wanted)), f"{sum(len(g) for g in got)} tokens"


attempt("TEI", "/embed_all", every_token, PIPELINE)


def sparse():
    for text, got in zip(TEXTS, post("mask", "/embed_sparse", inputs=TEXTS)):
        right, note = same_scores([(g["index"], g["value"]) for g in got], golden["sparse"][text])
        if not right:
            return False, note
    return True, f"{len(got)} words"


attempt("TEI", "/embed_sparse", sparse, ST)


def predict(inputs, names, **more):
    """names: of the golden scores, one for each that is asked for."""
    got = post("labels", "/predict", inputs=inputs, **more)
    got = got if isinstance(inputs, list) and isinstance(inputs[0], list) else [got]
    wanted = golden["labels"]["none" if more.get("raw_scores") else "softmax"]
    both = [(f"{i} {o['label']}", o["score"]) for i, one in enumerate(got) for o in one]
    return same_scores(both, [(f"{i} {label}", score) for i, name in enumerate(names) for label, score in wanted[name]])


attempt("TEI", "/predict, a text", lambda: predict(TEXTS[0], TEXTS[:1]), PIPELINE)
attempt("TEI", "/predict, a pair", lambda: predict(TEXTS[:2], ["PAIR"], raw_scores=True), PIPELINE)
attempt("TEI", "/predict, a batch", lambda: predict([[TEXTS[0]], TEXTS[:2]], [TEXTS[0], "PAIR"]), PIPELINE)


def rerank():
    got = post("rank", "/rerank", query="a bus", texts=TEXTS, truncate=False, truncation_direction="Right", return_text=True)
    right, note = same_scores([(g["index"], g["score"]) for g in got], ranking("a bus", TEXTS))
    return right and all(g["text"] == TEXTS[g["index"]] for g in got), note


attempt("TEI", "/rerank", rerank, ST)


def vertex():
    got = post("embed", "/vertex", instances=[{"inputs": t} for t in TEXTS])["predictions"]
    return same_vectors([g[0] for g in got], [vector(t) for t in TEXTS])


attempt("TEI", "/vertex", vertex, ST)


def tokens():
    got = post("embed", "/tokenize", inputs=TEXTS)
    wanted = [tokenizer("embed").encode(t) for t in TEXTS]
    return [[t["id"] for t in g] for g in got] == [w.ids for w in wanted], f"{sum(len(g) for g in got)} tokens"


attempt("TEI", "/tokenize", tokens, "tokenizers")
attempt("TEI", "/decode", lambda: (post("embed", "/decode", ids=tokenizer("embed").encode(TEXTS[0]).ids) == [TEXTS[0]], ""), "tokenizers")
finish()
