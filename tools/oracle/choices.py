#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""choices.py - logits of transformers' multiple-choice models, for tests/golden/multiple_choice.

    python tools/oracle/choices.py [FOLDER]      # after question_answering.py, whose tokenizers it uses; transformers 4.57.6

Writes two folders of tiny models (random weights; BERT with type ids, RoBERTa without; limits of 64 tokens), and
  choices.jsonl  {"model", "prompt", "choices", "logits", "scores"}: each choice is the second text of a pair with the prompt,
                 cut longest first to the model's limit; scores are the softmax over the choices."""
import os
import sys

import torch
import transformers as tf

import tiny


def cases():
    s = tiny.SCRIPTS
    yield "Where was Ada born?", ["In London.", "In Paris."]
    yield "In Italy, pizza served in formal settings is presented unsliced.", ["It is eaten with a fork and a knife.",
                                                                               "It is eaten while held in the hand."]
    yield "The 🚌 leaves at", ["5:30 🙂", "6", "never", "5:30 🙂!", "x"]
    for i, script in enumerate(s):
        yield s[script][0][:30], [t[:10 + 7 * k] for k, t in enumerate((s[script] * 3)[: 2 + i % 4])]
    yield "Anyone?", ["a", "b", "a", "a longer one"]
    yield tiny.mixed(["latin"], 6, 1), ["short", tiny.mixed(["latin"], 5, 2), tiny.mixed(["cyrillic"], 3, 3)]
    yield "short", ["also short", tiny.mixed(list(s), 12, 4)]


def main():
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/multiple_choice"
    rows = []
    for name, model, tokenizer in tiny.pair_of(out, "MultipleChoice", 64, 90, 1.0):
        for prompt, choices in cases():
            inputs = tokenizer([prompt] * len(choices), choices, padding=True, truncation=True, return_tensors="pt")
            with torch.no_grad():
                logits = model(**{k: v[None] for k, v in inputs.items()}).logits[0]
            rows.append({"model": name, "prompt": prompt, "choices": choices, "logits": [float("%.8g" % x) for x in logits],
                         "scores": [float("%.8g" % x) for x in torch.softmax(logits, 0)]})
    tiny.write_lines(os.path.join(out, "choices.jsonl"), rows)


main()
