#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strides.py - entities of texts that do not fit the model, by transformers' token-classification pipeline with `stride`, for
tests/golden/strides.

    python tools/oracle/strides.py [FOLDER]      # after question_answering.py, whose tokenizers it uses; transformers 4.57.6

Writes two folders of tiny models (random weights, WordPiece and byte-level BPE, a limit of 40 tokens), and
  entities.jsonl  {"model", "text", "stride", way: [[entity_group, score, word, start, end], ...] for two ways}: the pipeline's
                  answers, offsets in characters
  overlaps.jsonl  {"model", "text", "max_length", "stride", "seed", "windows": [{"ids", "start", "end", "special"}] of some, way: as
                  above}: the same from made-up logits (`logits` below), so that the rules are tested without a model
A way whose answers change when the logits move a little is left out; their count is printed."""
import os
import sys
import warnings

import numpy as np
import torch
import transformers as tf
from transformers.pipelines.token_classification import AggregationStrategy, TokenClassificationPipeline

import tiny

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "TIME"]
WAYS = ["simple", "first", "average", "max"]
counts = {"kept": 0, "moves": 0}


def texts():
    every = list(tiny.SCRIPTS)
    yield "Ada"
    for i, script in enumerate(every):
        yield tiny.mixed([script], 1 + i % 3, 50 + i)
    for i, count in enumerate((4, 12)):
        yield tiny.mixed(every, count, 60 + i)


def logits(seed, tokens, labels):
    """Neighbours often agree; the C test makes the same."""
    out = np.empty((tokens, labels), np.float32)
    best = 0
    for t in range(tokens):
        seed = (seed * 1103515245 + 12345) % 2**31
        if t == 0 or (seed >> 16) % 3 == 0:
            best = (seed >> 18) % labels
        elif best in (1, 3):
            best += 1
        for label in range(labels):
            seed = (seed * 1103515245 + 12345) % 2**31
            out[t, label] = np.float32((seed >> 8) * 3.0 / 2**23 + (3.5 if label == best else 0.0))
    return out


def listed(entities):
    return [[e["entity_group"], round(float(e["score"]), 7), e["word"], int(e["start"]), int(e["end"])] for e in entities]


def same(a, b):
    return len(a) == len(b) and all(x[:1] + x[2:] == y[:1] + y[2:] for x, y in zip(a, b))


def grouped(pipe, outputs, by, n):
    """{way: entities} for two ways, without those that change when the logits move by so much."""
    out = {}
    pick = torch.Generator().manual_seed(3)
    for way in WAYS[n % 2 :: 2]:
        how = AggregationStrategy(way)
        own = listed(pipe.postprocess(outputs, aggregation_strategy=how))
        move = lambda x: x + (torch.rand(x.shape, generator=pick) * 2 - 1) * by
        others = [listed(pipe.postprocess([dict(o, logits=move(o["logits"])) for o in outputs], aggregation_strategy=how)) for _ in range(4)]
        good = all(same(own, other) for other in others)
        counts["kept" if good else "moves"] += 1
        if good:
            out[way] = own
    return out


def cut(pipe, text, stride):
    _, _, _ = pipe._sanitize_parameters(aggregation_strategy="simple", stride=stride)
    how = {"return_overflowing_tokens": True, "padding": True, "stride": stride}
    return list(pipe.preprocess(text, is_split_into_words=False, tokenizer_params=how))


def overlaps(name, pipe):
    for n, text in enumerate(texts()):
        for limit, stride in ((24, 8), (16, 0), (40, 20)):
            pipe.tokenizer.model_max_length = limit
            got = cut(pipe, text, stride)
            outputs, windows = [], []
            for w, f in enumerate(got):
                tokens = int(f["attention_mask"].sum())
                rows = np.zeros((1, f["input_ids"].shape[1], len(LABELS)), np.float32)
                rows[0, :tokens] = logits(n * 100 + w, tokens, len(LABELS))
                outputs.append(dict(f, logits=torch.tensor(rows)))
                at = f["offset_mapping"][0, :tokens].tolist()
                windows.append({"ids": f["input_ids"][0, :tokens].tolist(), "start": [a for a, _ in at], "end": [b for _, b in at],
                                "special": f["special_tokens_mask"][0, :tokens].tolist()})
            yield {"model": name, "text": text, "max_length": limit, "stride": stride, "seed": n * 100,
                   **({"windows": windows} if n % 3 == 0 else {}), **grouped(pipe, outputs, 1e-6, n + stride // 8)}


def answers(name, pipe):
    for n, text in enumerate(texts()):
        for stride in (0, 10, 25):
            pipe.tokenizer.model_max_length = 40
            outputs = [pipe.forward(f) for f in cut(pipe, text, stride)]
            want = grouped(pipe, outputs, 3e-5, n + stride)
            for way, own in want.items():
                assert own == listed(pipe(text, stride=stride, aggregation_strategy=way)), (text, way)
            yield {"model": name, "text": text, "stride": stride, **want}


def main():
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/strides"
    labels = dict(num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)})
    wanted, rules = [], []
    for name, model, tokenizer in tiny.pair_of(out, "TokenClassification", 40, 70, 0.6, **labels):
        pipe = TokenClassificationPipeline(model=model, tokenizer=tokenizer)
        wanted += answers(name, pipe)
        rules += overlaps(name, pipe)
    print(", ".join("%d %s" % (v, k) for k, v in counts.items()))
    tiny.write_lines(os.path.join(out, "entities.jsonl"), wanted)
    tiny.write_lines(os.path.join(out, "overlaps.jsonl"), rules)


main()
