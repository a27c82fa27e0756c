# SPDX-License-Identifier: Apache-2.0
# huggingface_calls.py - huggingface_hub's InferenceClient, which posts to the address it is given and to nothing else.
import numpy
from huggingface_hub import InferenceClient

from reference import Model, attempt, cosine, finish, near, same_vectors, softmax, url

TEXT = "book a bus from pune to rome"
NAME = "huggingface_hub"


def at(name, **more):
    return InferenceClient(url(name), **more)


embed, labels, nli, mask = Model("embed"), Model("labels"), Model("infer"), Model("mask")


def rows(x):
    return numpy.asarray(x).reshape(-1, embed.config["hidden_size"])


attempt(NAME, "feature_extraction", lambda: same_vectors(rows(at("embed").feature_extraction(TEXT)), [embed.vector(TEXT)]))


def plain():
    got = rows(at("embed").feature_extraction(TEXT, normalize=False))[0]
    raw = embed.run(TEXT)[1].mean(axis=0)
    return bool(numpy.allclose(got, raw, atol=1e-4)), "not normalized"


attempt(NAME, "feature_extraction, normalize=False", plain)


def similarity():
    others = ["a bus to rome", "a bad film"]
    got = at("embed").sentence_similarity(TEXT, others)
    wanted = [cosine(embed.vector(TEXT), embed.vector(t)) for t in others]
    return all(near(a, b) for a, b in zip(got, wanted)) and len(got) == 2, ""


attempt(NAME, "sentence_similarity", similarity)


def classification(**more):
    got = at("labels").text_classification(TEXT, **more)
    logits = labels.run(TEXT)[1]
    scores = logits if more.get("function_to_apply") == "none" else softmax(logits)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])[:more.get("top_k") or len(scores)]
    return [g.label for g in got] == [labels.labels[i] for i in order] and all(
        near(g.score, scores[i]) for g, i in zip(got, order)), ", ".join(g.label for g in got)


attempt(NAME, "text_classification", classification)
attempt(NAME, "text_classification, top_k=1", lambda: classification(top_k=1))
attempt(NAME, "text_classification, function_to_apply=none", lambda: classification(function_to_apply="none"))


def zero_shot(multi):
    candidates = ["film", "hotel", "bus"]
    got = at("infer").zero_shot_classification(TEXT, candidates, multi_label=multi)
    logits = [nli.run(TEXT, f"This example is {c}.")[1] for c in candidates]
    if multi:
        scores = [softmax(x[[0, 2]])[1] for x in logits]
    else:
        scores = softmax(numpy.array([x[2] for x in logits]))
    order = sorted(range(3), key=lambda i: -scores[i])
    return [g.label for g in got] == [candidates[i] for i in order] and all(
        near(g.score, scores[i]) for g, i in zip(got, order)), ", ".join(g.label for g in got)


attempt(NAME, "zero_shot_classification", lambda: zero_shot(False))
attempt(NAME, "zero_shot_classification, multi_label", lambda: zero_shot(True))


def fill():
    text = "paris is the [MASK] of france"
    got = at("mask").fill_mask(text, top_k=3)
    e, logits = mask.run(text)
    at_mask = e.tokens.index("[MASK]")
    scores = softmax(logits[at_mask])
    best = numpy.argsort(-scores)[:3]
    return [g.token for g in got] == list(best) and all(near(g.score, scores[i]) for g, i in zip(got, best)), got[0].sequence


attempt(NAME, "fill_mask", fill)


def entities():
    """The bus-ner example: what its reference file says."""
    text = "Book a bus from Bangalore to Chennai"
    got = at("ner").token_classification(text, aggregation_strategy="simple")
    spans = [(g.entity_group, text[g.start:g.end]) for g in got]
    return spans == [("SRC", "Bangalore"), ("DEST", "Chennai")], str(spans)


attempt(NAME, "token_classification", entities)
attempt(NAME, "get_endpoint_info", lambda: (at("embed", provider="hf-inference").get_endpoint_info()["model_type"] == {"embedding": {"pooling": "mean"}}, ""))
attempt(NAME, "health_check", lambda: (at("embed", provider="hf-inference").health_check(), ""))


def error():
    try:
        at("embed").feature_extraction("")
    except Exception as e:
        return "empty" in str(e), type(e).__name__
    return False, "no error"


attempt(NAME, "an empty text", error)
finish()
