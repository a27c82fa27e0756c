# SPDX-License-Identifier: Apache-2.0
# huggingface_calls.py - huggingface_hub's InferenceClient, which posts to the address it is given and to nothing else.
import numpy
from huggingface_hub import InferenceClient

from reference import PIPELINE, ST, attempt, finish, golden, mean, near, same_scores, same_spans, same_vectors, url, vector

TEXT = "book a bus from pune to rome"
NAME = "huggingface_hub"


def at(name, **more):
    return InferenceClient(url(name), **more)


def rows(x):
    return numpy.asarray(x).reshape(-1, len(vector(TEXT)))


attempt(NAME, "feature_extraction", lambda: same_vectors(rows(at("embed").feature_extraction(TEXT)), [vector(TEXT)]), ST)


def plain():
    got = rows(at("embed").feature_extraction(TEXT, normalize=False))[0]
    return bool(numpy.allclose(got, mean(TEXT), atol=1e-4)), ""


attempt(NAME, "feature_extraction, normalize=False", plain, ST)


def similarity():
    wanted = golden["vectors"]["similarity"]
    got = at("embed").sentence_similarity(wanted["source"], wanted["sentences"])
    return len(got) == 2 and all(near(a, b) for a, b in zip(got, wanted["scores"])), ""


attempt(NAME, "sentence_similarity", similarity, ST)


def classification(**more):
    got = at("labels").text_classification(TEXT, **more)
    wanted = golden["labels"][more.get("function_to_apply", "softmax")][TEXT]
    return same_scores([(g.label, g.score) for g in got], wanted[:more.get("top_k")])


attempt(NAME, "text_classification", classification, PIPELINE)
attempt(NAME, "text_classification, top_k=1", lambda: classification(top_k=1), PIPELINE)
attempt(NAME, "text_classification, function_to_apply=none", lambda: classification(function_to_apply="none"), PIPELINE)


def zero_shot(multi):
    wanted = golden["zero_shot"]
    got = at("infer").zero_shot_classification(TEXT, wanted["candidates"], multi_label=multi)
    return same_scores([(g.label, g.score) for g in got], wanted["several" if multi else "single"])


attempt(NAME, "zero_shot_classification", lambda: zero_shot(False), PIPELINE)
attempt(NAME, "zero_shot_classification, multi_label", lambda: zero_shot(True), PIPELINE)


def fill():
    wanted = golden["fill_mask"]
    got = at("mask").fill_mask(wanted["text"], top_k=3)
    return same_scores([((g.token, g.token_str, g.sequence), g.score) for g in got], [(tuple(w[:3]), w[3]) for w in wanted["words"]])


attempt(NAME, "fill_mask", fill, PIPELINE)


def entities(way):
    found, wanted = [], []
    for text, spans in golden["entities"][way].items():
        for g in at("ner").token_classification(text, aggregation_strategy=way):
            found.append((g.entity_group or g.entity, g.start, g.end))
        wanted += [(label, start, end) for label, _, start, end, _ in spans]
    return same_spans(found, wanted)


for way in golden["entities"]:
    attempt(NAME, f"token_classification, {way}", lambda: entities(way), PIPELINE)
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
