#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""boxes.py - logits of transformers' models that read words with boxes, for tests/golden/boxes.

    python tools/oracle/boxes.py [FOLDER]      # transformers 4.57.6

Writes two folders of tiny models (random weights, stored as bfloat16 and computed as float32; their tables take boxes of 0 to 1000):
layoutlm for token classification (WordPiece), lilt for token classification (byte-level BPE, LayoutLMv3's tokenizer), and
  words.jsonl  {"model", "words", "boxes", "ids", "word", "bbox", "logits"}: one row a token, special tokens included; word -1:
               special. logits[i] has a number a label.
A token has the box of its word. Special tokens: [CLS] has [0,0,0,0] and [SEP] [1000,1000,1000,1000] for layoutlm (transformers' own
example for LayoutLMForTokenClassification), [0,0,0,0] for lilt (what LayoutLMv3's tokenizer gives; its config says so in sep_token_box)."""
import os
import random
import sys

import torch
import transformers as tf

import tiny

LABELS = ["O", "B-KEY", "I-KEY", "B-VALUE", "I-VALUE"]
SIZES = dict(num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_2d_position_embeddings=1001,
             num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)})


def cases():
    pick = random.Random(5)
    for i, text in enumerate(["Ada", "Invoice No. 1815: London", *(tiny.SCRIPTS[s][0] for s in tiny.SCRIPTS),
                              tiny.mixed(list(tiny.SCRIPTS), 3, 8)]):
        words, boxes = text.split()[:24], []
        for _ in words:
            x, y = pick.randrange(0, 900), pick.randrange(0, 950)
            boxes.append([x, y, pick.randrange(x, 1001), pick.randrange(y, 1001)])
        if i == 1:
            boxes[0], boxes[1] = [0, 0, 0, 0], [0, 0, 1000, 1000]
        yield words, boxes


def layoutlm(tokenizer, words, boxes):
    inputs = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    ends = {0: [0] * 4, len(inputs.word_ids()) - 1: [1000] * 4}
    inputs["bbox"] = torch.tensor([[ends[i] if w is None else boxes[w] for i, w in enumerate(inputs.word_ids())]])
    return inputs, inputs.word_ids()


def lilt(tokenizer, words, boxes):
    inputs = tokenizer(words, boxes=boxes, return_tensors="pt")
    return inputs, inputs.word_ids()


def main():
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/boxes"
    angle = dict(tiny.ANGLE, bos="<s>", eos="</s>")
    kinds = [("layoutlm", tf.LayoutLMForTokenClassification, tf.LayoutLMConfig(hidden_size=8, max_position_embeddings=200, **SIZES),
              tiny.fast(tf.LayoutLMTokenizerFast, tiny.bert_tokenizer(), tiny.BERT, 200), layoutlm),
             ("lilt", tf.LiltForTokenClassification,
              tf.LiltConfig(hidden_size=24, max_position_embeddings=302, type_vocab_size=1, pad_token_id=1, **SIZES),
              tiny.fast(tf.LayoutLMv3TokenizerFast, tiny.bytes_tokenizer(True), angle, 300, add_prefix_space=True), lilt)]
    rows = []
    for i, (name, kind, config, tokenizer, encode) in enumerate(kinds):
        config.vocab_size = len(tokenizer)
        folder = os.path.join(out, name)
        torch.manual_seed(i)
        tiny.save(folder, tiny.randomize(kind(config), 30 + i, "classifier", 0.6).to(torch.bfloat16), tokenizer)
        model, tokenizer = tiny.load(folder, kind)
        for words, boxes in cases():
            inputs, ids = encode(tokenizer, words, boxes)
            with torch.no_grad():
                logits = model(**inputs).logits[0]
            rows.append({"model": name, "words": words, "boxes": boxes, "ids": inputs["input_ids"][0].tolist(),
                         "word": [-1 if w is None else w for w in ids], "bbox": inputs["bbox"][0].tolist(),
                         "logits": [[float("%.7g" % x) for x in row] for row in logits]})
    tiny.write_lines(os.path.join(out, "words.jsonl"), rows)


main()
