#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines.py - what transformers' pipelines return for texts, for tests/golden/pipelines: containers, keys and numbers.

    python4 tools/oracle/pipelines.py [FOLDER]   # transformers 4.57, torch 2.13: the models, and question answering
    python5 tools/oracle/pipelines.py [FOLDER]   # transformers 5.22: all others, of the models that are there

In FOLDER a folder for each tiny random model, and cases_4.jsonl, cases_5.jsonl:
  {"model", "task", "inputs", "parameters", "result"}; inputs null: the parameters say it all."""
import sys
import warnings

import torch
import transformers as tf

import tiny

warnings.simplefilter("ignore")
OUT = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/pipelines"
VERSION = int(tf.__version__.split(".")[0])
A, B, C = "Ada Lovelace was born in London", "The river Thames flows through the city.", "Engines repeat what we have taught them!"
SIZE = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=64)
NLI = ["contradiction", "neutral", "entailment"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def named(words):
    return dict(id2label=dict(enumerate(words)), label2id={w: i for i, w in enumerate(words)})


def make():
    kinds = {
        "labels": (tf.BertForSequenceClassification, named(NLI), "classifier", .6),
        "several": (tf.BertForSequenceClassification, dict(named(["a", "b", "c"]), problem_type="multi_label_classification"), "classifier", .6),
        "one": (tf.BertForSequenceClassification, dict(named(["relevance"])), "classifier", .8),
        "tags": (tf.BertForTokenClassification, named(TAGS), "classifier", .8),
        "masks": (tf.BertForMaskedLM, {}, "predictions", .6),
        "answers": (tf.BertForQuestionAnswering, {}, "qa_outputs", 1.2),
        "vectors": (tf.BertModel, {}, "pooler", .3),
    }
    inner = tiny.wordpiece(tiny.BERT, True, 200)
    inner.post_processor = tiny.template(inner, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    for seed, (name, (kind, more, head, scale)) in enumerate(kinds.items()):
        config = tf.BertConfig(vocab_size=inner.get_vocab_size(), **SIZE, **more)
        torch.manual_seed(seed)
        tiny.save(f"{OUT}/{name}", tiny.randomize(kind(config), seed + 3, head, scale), tiny.fast(tf.BertTokenizerFast, inner, tiny.BERT, 64))


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return round(x, 6) if isinstance(x, float) else x.item() if hasattr(x, "item") else x


def questions():
    pairs = [{"question": "Who was born?", "context": A}, {"question": "What flows?", "context": B + " " + C}]
    yield "answers", "question-answering", pairs[0], {}
    yield "answers", "question-answering", pairs[:1], {}
    yield "answers", "question-answering", pairs, {}
    yield "answers", "question-answering", pairs[0], {"top_k": 3}
    yield "answers", "question-answering", pairs, {"top_k": 2, "max_answer_len": 2}
    yield "answers", "question-answering", pairs[1], {"handle_impossible_answer": True, "top_k": 2}
    yield "answers", "question-answering", None, dict(pairs[0])
    yield "answers", "question-answering", None, dict(pairs[1], top_k=2, align_to_words=False)


def others():
    pair = {"text": A, "text_pair": B}
    for task in ("text-classification", "sentiment-analysis"):
        yield "labels", task, A, {}
    for inputs in (A, [A], [A, B], pair, [pair, pair]):
        for more in ({}, {"top_k": 1}, {"top_k": 2}, {"top_k": None}):
            yield "labels", "text-classification", inputs, more
    for way in ("none", "softmax", "sigmoid"):
        yield "labels", "text-classification", [A, B], {"function_to_apply": way, "top_k": 3}
    yield "labels", "text-classification", A, {"text_pair": C}
    for model in ("several", "one"):
        yield model, "text-classification", A, {}
        yield model, "text-classification", [A, B], {"top_k": None}
    for inputs in (A, [A], [A, B]):
        for more in ({}, {"multi_label": True}, {"hypothesis_template": "It is about {}, no?"}):
            yield "labels", "zero-shot-classification", inputs, {"candidate_labels": ["machines", "rivers", "cities"], **more}
    yield "labels", "zero-shot-classification", A, {"candidate_labels": "machines"}
    yield "labels", "zero-shot-classification", A, {"candidate_labels": "machines, rivers,cities"}
    for task in ("token-classification", "ner"):
        yield "tags", task, A, {}
    for inputs in (A, [A], [A, B]):
        for way in ("none", "simple", "first", "average", "max"):
            yield "tags", "token-classification", inputs, {"aggregation_strategy": way}
    yield "tags", "token-classification", A, {"ignore_labels": []}
    yield "tags", "token-classification", A, {"ignore_labels": ["O", "B-PER"]}
    yield "tags", "token-classification", " ".join([A, B, C] * 4), {"aggregation_strategy": "simple", "stride": 8}
    mask = "Ada [MASK] was born"
    for inputs in (mask, [mask], [mask, "the [MASK]"], "the [MASK] of [MASK]", [mask, "the [MASK] of [MASK]"]):
        for more in ({}, {"top_k": 2}):
            yield "masks", "fill-mask", inputs, more
    yield "masks", "fill-mask", mask, {"targets": ["river", "city"]}
    yield "masks", "fill-mask", mask, {"targets": "river"}
    for inputs in ("Ada", ["Ada"], ["Ada", "the river"]):
        yield "vectors", "feature-extraction", inputs, {}


def main():
    if VERSION == 4:
        make()
    pipes, lines = {}, []
    for model, task, inputs, more in questions() if VERSION == 4 else others():
        key = (model, task)
        if key not in pipes:
            pipes[key] = tf.pipeline(task, model=f"{OUT}/{model}", device="cpu")
        result = pipes[key](**more) if inputs is None else pipes[key](inputs, **more)
        lines.append({"model": model, "task": task, "inputs": inputs, "parameters": more, "result": plain(result)})
    tiny.write_lines(f"{OUT}/cases_{VERSION}.jsonl", lines)
    print(len(lines), "cases")


with torch.no_grad():
    main()
