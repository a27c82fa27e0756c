#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients should get, by transformers and sentence-transformers: tests/golden/clients.json.

usage: tools/oracle/clients.py [OUT]; from the repository's root. Models are those of tests/clients/models.py, read from
their checkpoints (none of our programs is involved), and examples/bus-ner. Pooled vectors are SentenceTransformer's, ranks
CrossEncoder's, sparse ones SparseEncoder's; labels, hypotheses, masks and entities are those of transformers' pipelines."""
import json
import logging
import subprocess
import sys
import tempfile
import warnings

import sentence_transformers
import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder, util
from sentence_transformers.models import Pooling, Transformer
from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling
from transformers import AutoModel, AutoTokenizer, pipeline

VECTORS = ["book a bus from pune to rome", "a cheap hotel near the sea", "paris is the capital of france .", "a very bad film",
           "[MASK] of the sea", "a bad film", "a bus to rome", "book a bus", "book a bus from pune to goa [MASK]",
           "h\u00e9llo [MASK] w\u00f6rld \U0001f68c"]
TEXTS = ["book a bus from pune to rome", "a very bad film", "[MASK] of the sea"]
DOCUMENTS = ["the bus from pune goes to paris tomorrow", "a very bad film", "book a cheap hotel near the river", "rome is a city"]
CANDIDATES = ["film", "hotel", "bus"]
MASKED = "paris is the [MASK] of france"
RIDES = ["Book a bus from Bangalore to Chennai", "VRL Non-AC from Chennai to Hyderabad next Friday", "Volvo to Goa",
         "I need a sleeper to K\u00f6ln, please"]
WAYS = ["none", "simple", "first", "average", "max"]


def short(x):
    """Seven digits are more than a float32 has to say."""
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [short(v) for v in x]
    return float(f"{float(x):.7g}") if hasattr(x, "dtype") and x.dtype.kind == "f" or isinstance(x, float) else x


def vectors(folder):
    """Pooled, as the model is and of length 1, and every token's."""
    words = Transformer(folder)
    model = SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension(), "mean")], device="cpu")
    model.prompts = {"query": "book a "}
    source, others = TEXTS[0], ["a bus to rome", "a bad film"]
    tokenizer, plain = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        hidden = {t: plain(**tokenizer(t, return_tensors="pt")).last_hidden_state[0].tolist() for t in TEXTS}
    cosines = util.cos_sim(model.encode([source]), model.encode(others))[0].tolist()
    return {"normalized": {t: model.encode(t, normalize_embeddings=True).tolist() for t in VECTORS},
            "mean": {t: model.encode(t).tolist() for t in VECTORS}, "hidden": hidden,
            "prompt": model.encode("bus", prompt_name="query", normalize_embeddings=True).tolist(),
            "similarity": {"source": source, "sentences": others, "scores": cosines}}


def labels(folder):
    pipe = pipeline("text-classification", folder, device="cpu")

    def scores(what, function):
        found = pipe(what, top_k=None, function_to_apply=function)
        return [[e["label"], e["score"]] for e in (found[0] if isinstance(found[0], list) else found)]
    pair = {"text": TEXTS[0], "text_pair": TEXTS[1]}
    return {function: {**{t: scores(t, function) for t in TEXTS}, "PAIR": scores(pair, function)} for function in ("softmax", "none")}


def zero_shot(folder):
    pipe = pipeline("zero-shot-classification", folder, device="cpu")
    out = {}
    for name, several in (("single", False), ("several", True)):
        found = pipe(TEXTS[0], CANDIDATES, multi_label=several)
        out[name] = [[a, b] for a, b in zip(found["labels"], found["scores"])]
    return {"candidates": CANDIDATES, **out}


def ranks(folder):
    model = CrossEncoder(folder, device="cpu")
    return [{"query": q, "texts": t, "ranks": [[r["corpus_id"], r["score"]] for r in model.rank(q, t)]}
            for q, t in (("a bus to paris", DOCUMENTS), ("a bus", TEXTS))]


def masks(folder):
    found = pipeline("fill-mask", folder, device="cpu")(MASKED, top_k=3)
    sparse = SparseEncoder(modules=[MLMTransformer(folder), SpladePooling("max")], device="cpu")
    rows = {t: sparse.encode(t).to_dense().tolist() for t in TEXTS}
    return {"text": MASKED, "words": [[e["token"], e["token_str"], e["sequence"], e["score"]] for e in found]}, {
        t: [[i, v] for i, v in enumerate(row) if v] for t, row in rows.items()}


def entities(folder):
    out = {}
    for way in WAYS:
        pipe = pipeline("token-classification", folder, aggregation_strategy=way, device="cpu")
        out[way] = {t: [[e.get("entity_group") or e["entity"], e["word"], e["start"], e["end"], e["score"]] for e in pipe(t)] for t in RIDES}
    return out


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/clients.json"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "tests/clients/models.py", folder], check=True)
        fill, sparse = masks(f"{folder}/mask")
        golden = {"by": {"transformers": transformers.__version__, "sentence-transformers": sentence_transformers.__version__},
                  "vectors": vectors(f"{folder}/embed"), "labels": labels(f"{folder}/labels"), "zero_shot": zero_shot(f"{folder}/infer"),
                  "rank": ranks(f"{folder}/rank"), "fill_mask": fill, "sparse": sparse, "entities": entities("examples/bus-ner")}
    with open(out, "w") as file:
        json.dump(short(golden), file, separators=(",", ":"), ensure_ascii=False)
        file.write("\n")


main()
