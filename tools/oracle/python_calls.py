#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_calls.py - what transformers' pipelines return to Python, type by type, and what they raise, for tests/golden/python/calls.jsonl.

    python5 tools/oracle/python_calls.py > tests/golden/python/calls.jsonl   # transformers 5.22, torch, numpy, Pillow

A line: {"task", "model", "more": keywords of pipeline(), "call": an expression of `pipe`, "result" or "error": the class's name}. In results
{"float32": x}, {"float64": x} and {"tuple": [...]} say the type, {"mask": [mode, width, height, sum]} is a picture of PIL."""
import json
import sys
import warnings

import numpy as np
import torch
import transformers as tf
from PIL import Image

warnings.simplefilter("ignore")
tf.logging.set_verbosity_error()
G, SIGNS, VISION = "tests/golden/pipelines/", "examples/road-signs", "tests/golden/export_vision/"
STOP, SMALL = "'examples/road-signs/pictures/stop.png'", "'tests/golden/images/base420_37x29.jpg'"
FEATURES = [
    f"pipe({SMALL})", f"pipe({STOP})[0][-1]", f"[len(pipe([{SMALL}, {STOP}])), len(pipe([{STOP}])), len(pipe({STOP})[0])]", f"pipe({SMALL}, pool=True)",
    f"pipe([{SMALL}, {STOP}], pool=True)", f"pipe({SMALL}, pool=False)[0][0]", f"pipe([{SMALL}, {STOP}], batch_size=2)[1][0][1]",
    f"list(pipe({SMALL}, return_tensors=True).shape)", f"pipe({SMALL}, foo=1)[0][0]", f"pipe({SMALL}, timeout=3)[0][0]", "pipe(None)", "pipe('nothing.png')",
    "pipe([])", "pipe(5)", f"list(pipe(x for x in [{SMALL}]))[0][0][0]",
]
WORDS = "['Ada', \"Lovelace's\", 'London,', '', 'a b']"
KEYWORDS = (  # of the tokenizer's call
    "add_special_tokens=False", "add_special_tokens=None", "text_pair='Ada', add_special_tokens=False", "padding=True", "padding='bad'",
    "padding='max_length', max_length=12", "padding='max_length', padding_side='left'", "pad_to_multiple_of=8", "truncation=True, max_length=3",
    "truncation=True, max_length=2", "truncation=True, max_length=1", "truncation=True, max_length=0", "truncation=True, max_length=-1",
    "truncation=True, max_length='a'", "truncation=True, max_length=5.0", "max_length=3", "truncation=True, max_length=3, text_pair='x y'",
    "truncation=True, max_length=5, stride=1", "truncation=True, max_length=5, stride=9", "return_tensors='np'", "return_length=True",
    "return_token_type_ids=False", "text_pair='x', return_token_type_ids=False", "return_attention_mask=False", "text_target='x'",
    "is_split_into_words=True", "return_overflowing_tokens=True, truncation=True, max_length=5", "add_special_tokens=False, top_k=2",
    "add_special_tokens=False, function_to_apply='none'", "add_special_tokens=False, foo=1",
)
TOP_K = ("-1", "-2", "-1000", "1.5", "'a'", "True", "False", "1000")
PAIR = "{'text': 'Ada was born in London. ' * 20, 'text_pair': 'Where was she born?'}"
WORD_BOXES = "[('', [0, 0, 9, 9]), ('Ada', [10, 0, 90, 9]), ('', [90, 0, 95, 9]), ('was', [100, 0, 150, 9]), ('born', [160, 0, 190, 9]), ('in', [200, 0, 220, 9])]"
CASES = {
    ("text-classification", G + "labels"): [
        "pipe('Ada')", "pipe(['Ada'])", "pipe(['Ada', 'x'])", "pipe(('Ada', 'x'))", "pipe({'text': 'Ada', 'text_pair': 'x'})", "pipe({'text': 'Ada'})",
        "pipe([{'text': 'Ada', 'text_pair': 'x'}])", "pipe([[['Ada', 'x']]])", "pipe([['Ada', 'x']])", "pipe('Ada', top_k=0)", "pipe('Ada', top_k=2)",
        "pipe('Ada', top_k=None)", "pipe(['Ada'], top_k=1)", "pipe('')", "pipe(['', 'Ada'])", "pipe(None)", "pipe(5)", "pipe([None])", "pipe([])",
        "pipe('Ada', function_to_apply='BAD')", "pipe('Ada', function_to_apply='Sigmoid')", "pipe('Ada', foo=1)", "pipe('Ada ' * 200)",
        "pipe('Ada ' * 200, truncation=True)", "pipe('Ada was born in London', truncation=True, max_length=8)", "list(pipe(x for x in ['Ada', 'x']))",
        "type(pipe(x for x in ['Ada'])).__name__", "pipe(['Ada', 'x', 'y'], batch_size=2)", "list(pipe((x for x in ['Ada', 'x', 'y']), batch_size=2))",
        "pipe('Ada', num_workers=2)", "pipe({'text': 'Ada', 'text_pair': ''})", "pipe({'text': '', 'text_pair': 'Ada'})", "pipe([[['Ada', '']]])",
        f"pipe({PAIR})", f"pipe({PAIR}, truncation=True)", f"pipe({PAIR}, truncation=False)", f"pipe({PAIR}, truncation='do_not_truncate')",
        f"pipe({PAIR}, truncation='bad')", f"pipe({PAIR}, truncation=True, max_length=12)", f"pipe({PAIR}, truncation='longest_first', max_length=12)",
        f"pipe({PAIR}, truncation='only_first', max_length=12)", f"pipe({PAIR}, truncation='only_second', max_length=12)", f"pipe({PAIR}, max_length=12)",
        "pipe('Ada was born in London', max_length=5)", "pipe('Ada was born in London', truncation='only_second', max_length=5)",
        *(f"pipe('Ada was born in London', {words})" for words in KEYWORDS), "pipe(['Ada', 'was'], is_split_into_words=True)",
        "pipe({'text': ['Ada', 'was'], 'is_split_into_words': True})", "pipe({'text': 'Ada', 'add_special_tokens': False})",
        "pipe({'text': 'Ada was born', 'truncation': True, 'max_length': 4})", "pipe({'text': 'Ada', 'foo': 1})", "pipe('', add_special_tokens=False)",
        "pipe('Ada ' * 200, add_special_tokens=False)", "pipe('Ada ' * 200, add_special_tokens=False, truncation=True)",
        "pipe({'text': 'Ada', 'text_pair': 'x'}, text_pair='z')", "pipe(['Ada was born', 'x'], add_special_tokens=False, batch_size=2)",
        "pipe(('Ada', 'Ada'), add_special_tokens=False)", "pipe([[['Ada', 'x']]], add_special_tokens=False)", "pipe.task",
    ],
    ("text-classification", G + "one", "add_special_tokens=False"): ["pipe('Ada')", "pipe(['Ada'], top_k=3)", "pipe('Ada', add_special_tokens=True)"],
    ("sentiment-analysis", G + "labels"): ["pipe.task", "pipe('Ada')"],
    ("text-classification", G + "labels", "top_k=2"): ["pipe('Ada')", "pipe(['Ada'])", "pipe('Ada', top_k=1)", "pipe({'text': 'Ada'})"],
    ("text-classification", G + "one"): ["pipe('Ada')", "pipe(['Ada'], top_k=3)"],
    ("token-classification", G + "tags"): [
        "pipe('Ada Lovelace')", "pipe(['Ada Lovelace'])", "pipe(['Ada', 'Lovelace lived'])", "pipe('')", "pipe(['', 'Ada'])", "pipe([])", "pipe(None)", "pipe(5)",
        "pipe(('Ada', 'x'))", "pipe('Ada Lovelace', aggregation_strategy='simple')", "pipe('Ada Lovelace', aggregation_strategy='FOO')",
        "pipe('Ada Lovelace', aggregation_strategy='SIMPLE')", "pipe('Ada', foo=1)", "pipe('Ada', grouped_entities=True)", "pipe(['Ada', 'Lovelace'], is_split_into_words=True)",
        "pipe([['Ada', 'Lovelace'], ['London']], is_split_into_words=True)", "pipe('Ada', ignore_labels=[])", "list(pipe(x for x in ['Ada', 'Lovelace']))",
        "type(pipe('Ada Lovelace')[0]['score']).__name__", "pipe('Äda 🙂 Lovelace')",
        "pipe('Ada', is_split_into_words=True)", "pipe(['Ada', 5], is_split_into_words=True)", "pipe([[]], is_split_into_words=True)",
        "pipe('Ada', stride=2, aggregation_strategy='none')", "pipe.task",
    ],
    ("ner", "tests/golden/strides/roberta"): [
        "pipe('')", "pipe(['', 'Ada'])",
        *(f"pipe({WORDS}, is_split_into_words=True, ignore_labels=[], aggregation_strategy={how!r}, delimiter={between!r})"
          for how, between in (("none", " "), ("simple", "_"), ("first", ""), ("average", "é"), ("max", " "))),
        f"pipe({WORDS} * 8, is_split_into_words=True, aggregation_strategy='first', stride=3, delimiter='-')",
    ],
    ("feature-extraction", "tests/golden/strides/roberta"): ["pipe('')", "[len(x[0]) for x in pipe(['', 'Ada'])]"],
    ("ner", G + "tags", "aggregation_strategy='max'"): ["pipe.task", "pipe('Ada Lovelace')", "pipe('Ada Lovelace', aggregation_strategy='none')"],
    ("ner", G + "tags", "ignore_labels=[]"): [
        f"[setattr(pipe.tokenizer, 'model_max_length', {length}), pipe({call})][1]" for length, call in (
            (5, "'Ada Lovelace'"), (9, "'Ada Lovelace was born', aggregation_strategy='simple'"), (9, "'Ada Lovelace', stride=2, aggregation_strategy='first'"),
            (3, "'Ada'"), (6, "['Ada', 'Lovelace'], is_split_into_words=True"), (5, "'Ada', stride=3, aggregation_strategy='simple'"),
            (5, "'Ada', stride=5, aggregation_strategy='simple'"))
    ],
    ("fill-mask", G + "masks"): [
        "pipe('Ada [MASK]')", "pipe(['Ada [MASK]'])", "pipe('Ada')", "pipe('Ada [MASK]', top_k=1)", "pipe('Ada [MASK]', top_k=100000)", "pipe('Ada [MASK]', targets=[])",
        "pipe('Ada [MASK]', targets=['a', 'b'])", "pipe('Ada [MASK]', foo=1)", "pipe(['Ada [MASK]', '[MASK] b'], top_k=1)",
        "pipe('Ada [MASK]', targets=['a', 'b', 'a'])", "pipe('Ada [MASK]', top_k=0)", "pipe('[MASK] [MASK]', top_k=0)", "pipe('Ada [MASK]', top_k=-1)",
        "pipe('[MASK] Ada [PAD] [MASK]', top_k=1)", "pipe('[MASK] Ada [MASK]', targets=['[PAD]', 'city'])", "pipe('[MASK] Ada', targets=['[PAD]'])",
        "pipe('[MASK]' + ' Ada' * 200)", "pipe('[MASK]' + ' Ada' * 200, top_k=1, tokenizer_kwargs={'truncation': True})[0]['token']",
        "pipe('[MASK] was born in London', top_k=1, tokenizer_kwargs={'truncation': True, 'max_length': 5})",
        "pipe('Ada ' * 200 + '[MASK]', tokenizer_kwargs={'truncation': True})", "pipe('')", "pipe(('Ada [MASK]',), top_k=1)", "pipe(())",
        "pipe(('[MASK] Ada', 'Ada [MASK]'), top_k=1)", "pipe(('Ada [MASK]', '[MASK] x'))", "pipe([('Ada [MASK]',)], top_k=1)", "pipe([['Ada [MASK]']], top_k=1)",
        "pipe(('Ada [MASK]', 'Ada Ada'))", "pipe(('Ada [MASK]', 'Ada'))", "pipe(np.array(['Ada [MASK]']))", "pipe((5,))", "pipe(5)",
        *(f"pipe('[MASK] Ada', top_k=1, tokenizer_kwargs={{{words}}})" for words in (
            "'padding': 'max_length'", "'padding': 'bad'", "'return_tensors': 'np'", "'truncation': True, 'max_length': 3", "'max_length': 2", "'foo': 1")),
    ],
    ("feature-extraction", G + "vectors"): ["pipe('Ada', truncation=True, tokenize_kwargs={'truncation': True})", "pipe('Ada')", "pipe(['Ada'])", "pipe('')", "pipe(None)", "pipe('Ada', foo=1)", "list(pipe('Ada', return_tensors=True).shape)", "pipe(['Ada', 'Ada was born'], batch_size=2)",
        "[len(x[0]) for x in pipe(['Ada', 'Ada was born in London', 'x y'], batch_size=2)]", "pipe(['Ada', 'x', ''], batch_size=3)[2][0][-1]",
        "[len(x[0]) for x in pipe((x for x in ['Ada', 'Ada was born in London', 'x y']), batch_size=2)]", "len(pipe('Ada', batch_size=4)[0])",
        "[len(x[0]) for x in pipe(['Ada', 'x ' * 200], batch_size=2, truncation=True)]", "pipe(['Ada', 'x ' * 200], batch_size=2)", "pipe('Ada ' * 200)",
        "[len(x[0]) for x in pipe(['Ada', 'Ada was born in London'], batch_size=2, tokenize_kwargs={'truncation': True, 'max_length': 7})]",
        "pipe('Ada was born in London', tokenize_kwargs={'truncation': True, 'max_length': 4})",
        "[len(x[0]) for x in pipe(['', 'Ada'], tokenize_kwargs={'padding': 'max_length'})]", "pipe(['Ada', None], batch_size=2)",
    ],
    ("feature-extraction", G + "vectors", "batch_size=2"): ["pipe(['Ada', 'was'])[1]", "[len(x[0]) for x in pipe(['Ada', 'was', 'Ada Lovelace'])]",
                                                            "[len(x[0]) for x in pipe(['Ada', 'was', 'Ada Lovelace'], batch_size=1)]"],
    ("feature-extraction", "tests/golden/sentence/mean"): [  # model_max_length 24, 64 positions
        "[len(x) for x in pipe('Ada ' * 12)]", "pipe('Ada ' * 12)[0][-1]", "[len(x) for x in pipe('Ada ' * 12, truncation=True)]",
        "pipe('Ada ' * 12, truncation=True)[0][-2]", "pipe('Ada ' * 12, tokenize_kwargs={'truncation': True, 'max_length': 30})[0][-2]",
        "[len(x[0]) for x in pipe(['Ada ' * 12, 'x'], batch_size=2, truncation=True)]", "pipe('Ada ' * 100)",
    ],
    ("zero-shot-classification", G + "labels"): [
        "pipe('Ada', candidate_labels=['a', 'b'])", "pipe('Ada', ['a', 'b'])", "pipe('Ada', candidate_labels='a, b')", "pipe(['Ada'], candidate_labels=['a'])",
        "pipe('Ada', candidate_labels=[])", "pipe('', candidate_labels=['a'])", "pipe([], candidate_labels=['a'])", "pipe('Ada')", "pipe('Ada', candidate_labels=['a'], hypothesis_template='no')",
        "pipe('Ada', candidate_labels=['a', 'b'], multi_label=True)", "pipe('Ada', [1, 2.5, 'a'])", "pipe('Ada', ['a', 'b'], hypothesis_template='{0}!')", "pipe('Ada', [''])",
        "pipe('Ada', ['city', 'cities', 'river'], hypothesis_template='{:.3}')", "pipe('Ada', [1, '1'], multi_label=True)",
    ],
    ("zero-shot-classification", G + "labels", "candidate_labels=['a', 'b']"): [
        "pipe(('Ada', 'x'))", "pipe(('Ada',))", "pipe(np.array(['Ada', 'x']))", "pipe(())", "pipe(np.array('Ada'))", "pipe(['Ada', ('x',)])", "pipe([['Ada', 'x']])",
        "pipe((5,))", "pipe(5)", "pipe(None)", "pipe('Ada', np.array(['a', 'b']))",
    ],
    ("zero-shot-classification", G + "several"): ["pipe('Ada', ['a', 'b'])", "pipe('Ada', ['a', 'b'], multi_label=True)"],
    ("image-classification", SIGNS): [
        "pipe('examples/road-signs/pictures/stop.png')", "pipe(['examples/road-signs/pictures/stop.png'])", "pipe(Image.open('examples/road-signs/pictures/stop.png'), top_k=2)",
        "pipe(np.asarray(Image.open('examples/road-signs/pictures/stop.png').convert('RGB')), top_k=1)", "pipe('nothing.png')", "pipe(b'abc')", "pipe(None)", "pipe(5)",
        "pipe('examples/road-signs/pictures/stop.png', foo=1)", "pipe('examples/road-signs/pictures/stop.png', function_to_apply='BAD')",
        "pipe('examples/road-signs/pictures/stop.png', top_k=0)", "pipe('examples/road-signs/pictures/stop.png', function_to_apply='SIGMOID', top_k=1)", "pipe([])", "pipe('examples/road-signs/pictures/stop.png', top_k=1, timeout=3)",
        "pipe(__import__('base64').b64encode(open('examples/road-signs/pictures/stop.png', 'rb').read()).decode(), top_k=1)",
    ],
    ("image-classification", SIGNS, "top_k=3"): [*(f"pipe({STOP}, top_k={most})" for most in TOP_K), f"pipe([{STOP}, {SMALL}], top_k=-6)", f"pipe({STOP})"],
    ("image-feature-extraction", VISION + "vit-base"): FEATURES,
    ("image-feature-extraction", VISION + "vit-base", "pool=True"): [f"pipe({STOP})", f"pipe({STOP}, pool=False)[0][2]"],
}


CASES[("document-question-answering", "tests/golden/documents/layoutlm_qa")] = [
    *(f"pipe(None, 'Who was born?', {WORD_BOXES}, {more})" for more in ("top_k=1", "top_k=4", "max_answer_len=2, top_k=3", "handle_impossible_answer=True, top_k=9")),
    "pipe(None, 'Who was born?', [])", "pipe(None, 'Who was born?', [], handle_impossible_answer=True, top_k=2)",
    f"pipe(None, 'Who\\x00 was born?', {WORD_BOXES})",
    f"pipe([{{'image': None, 'question': 'Who?', 'word_boxes': boxes}} for boxes in ([], {WORD_BOXES})])",
]


def typed(x):
    if isinstance(x, np.float32):
        return {"float32": round(float(x), 7)}
    if isinstance(x, np.float64):
        return {"float64": float(x)}
    if isinstance(x, tuple):
        return {"tuple": [typed(v) for v in x]}
    if isinstance(x, dict):
        return {k: typed(v) for k, v in x.items()}
    if isinstance(x, list):
        return [typed(v) for v in x]
    if isinstance(x, Image.Image):
        return {"mask": [x.mode, *x.size, int(np.asarray(x).sum())]}
    return round(x, 7) if isinstance(x, float) else x


def main():
    for (task, model, *more), calls in CASES.items():
        given = eval(f"dict({more[0]})") if more else {}
        pipe = tf.pipeline(task, model=model, device="cpu", dtype=torch.float32, **given)  # also of stored halves
        for call in calls:
            line = {"task": task, "model": model, "more": given, "call": call}
            try:
                line["result"] = typed(eval(call, {"pipe": pipe, "np": np, "Image": Image}))
            except Exception as error:
                line["error"] = type(error).__name__
                line["says"] = str(error)[:120]
            print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
        print(task, model, len(calls), file=sys.stderr)


with torch.no_grad():
    main()
