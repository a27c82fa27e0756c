#!/usr/bin/env python3
"""Entities as transformers' token-classification pipeline groups them, for tests/golden/task/entities.json.

usage: tools/oracle/entities.py [OUT]; from the repository's root, needs torch and transformers.
Logits are made up (whole numbers by a fixed rule), so that every way of grouping is met; the tokenizers are those of
examples/bus-ner (WordPiece) and tests/golden/text_models/c_roberta (byte-level BPE). "extract" is no pipeline's: the
words are cut by the rule of the bundled example's inference script (between spaces) and ours (without the punctuation at their ends), their
tokens are those that tokenizers' char_to_token names, and what B- and I- make of them is seqeval's strict IOB2; of each type
the first is told. Needs seqeval too."""
import json
import re
import sys
import warnings

import torch
from seqeval.scheme import IOB2, Entities
from transformers import AutoTokenizer, BertConfig, BertForTokenClassification
from transformers.pipelines.token_classification import AggregationStrategy, TokenClassificationPipeline

LABELS = ["O", "B-SRC", "I-SRC", "B-DST", "I-DST", "TIME"]
TEXTS = [
    "A bus from Pune to Goa",
    "Non-AC sleeper, Bangalore-Hyderabad tomorrow at 5:30!",
    "don't go to Thiruvananthapuram's station; it's late.",
    "Caf\u00e9 d\u00e9j\u00e0 vu \u65e5\u672c \U0001f68c",
    "x",
    "unbelievablyunknownword \u20ac\u20ac 12345678901234567890",
]
WAYS = ["none", "simple", "first", "average", "max"]


def logits(text, tokens, labels):
    seed = sum(text.encode()) % 997
    rows = []
    for _ in range(tokens):
        row = []
        for _ in range(labels):
            seed = (seed * 1103515245 + 12345) % 2**31
            row.append((seed >> 16) % 7)
        if rows and seed % 3:  # neighbours often agree
            best = max(range(labels), key=lambda i: rows[-1][i])
            row[best + (1 if best in (1, 3) else 0)] = 8
        rows.append(row)
    return rows


def iob2(labels):
    """A label without a letter is a type of its own: B- where it begins, I- where it goes on."""
    plain = [label != "O" and "-" not in label for label in labels]
    return [("I-" if i and labels[i - 1] == label else "B-") + label if plain[i] else label for i, label in enumerate(labels)]


def extract(text, inputs, rows):
    words = []
    for m in re.finditer(r"[^ ]+", text):
        start = m.start() + len(m[0]) - len(m[0].lstrip(".,;:!?\"'()[]{}"))
        end = m.start() + len(m[0].rstrip(".,;:!?\"'()[]{}"))
        if start < end:
            words.append((start, end))
    begins = [next((t for t in (inputs.char_to_token(at) for at in range(*word)) if t is not None), None) for word in words]
    labels = iob2(["O" if t is None else LABELS[int(torch.tensor(rows[t]).argmax())] for t in begins])
    types = {label.split("-")[-1]: None for label in LABELS if label != "O"}
    for found in Entities([labels], IOB2).entities[0]:
        inside = [text[start:end] for start, end in words[found.start:found.end]]
        types[found.tag] = types[found.tag] or " ".join(inside)
    return types


def cases(folder, tokenizer):
    config = BertConfig(num_labels=len(LABELS), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                        intermediate_size=8, vocab_size=10, id2label=dict(enumerate(LABELS)))
    pipe = TokenClassificationPipeline(model=BertForTokenClassification(config), tokenizer=tokenizer)
    for text in TEXTS:
        inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True, return_offsets_mapping=True)
        rows = logits(text, inputs["input_ids"].shape[1], len(LABELS))
        outputs = dict(inputs, logits=torch.tensor([rows], dtype=torch.float32), sentence=text)
        case = {"tokenizer": folder, "text": text, "ids": inputs["input_ids"][0].tolist(), "logits": rows}
        for way in WAYS:
            found = pipe.postprocess([outputs], aggregation_strategy=AggregationStrategy(way))
            case[way] = [{k: (round(float(v), 7) if k == "score" else v) for k, v in e.items()} for e in found]
        case["extract"] = extract(text, inputs, rows)
        yield case


def main():
    warnings.simplefilter("ignore")
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/task/entities.json"
    every = []
    for folder in ("examples/bus-ner", "tests/golden/text_models/c_roberta"):
        every += cases(folder, AutoTokenizer.from_pretrained(folder))
    with open(out, "w") as file:
        json.dump({"labels": LABELS, "cases": every}, file, separators=(",", ":"), default=int)
        file.write("\n")


main()
