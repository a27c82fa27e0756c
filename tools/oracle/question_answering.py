#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""question_answering.py - answers of transformers' question-answering pipeline, for tests/golden/question_answering.

    python tools/oracle/question_answering.py [FOLDER]       # transformers 4.57.6: version 5 has no such pipeline

Writes a folder a model (tiny, random weights, its tokenizer), and
  pairs.jsonl    {"question", "context"}: line n is pair n
  answers.jsonl  first {"options": [...]}: the option sets. Then {"model", "pair", "answers": [[set, [[score, start, end,
                 answer], ...]], ...]} with offsets in characters; [set, null]: the pipeline raises.
  windows.jsonl  {"model", "pair", "max_seq_len", "doc_stride", "left", "windows": [{"ids", "types", "allowed", "start", "end",
                 "word"}]}: what the pipeline's preprocess gives; word -1: special. null: it raises. Long ones: ids and starts.
  spans.jsonl    {"model", "pair", "max_seq_len", "doc_stride", "left", "seed", "answers": as above}: what postprocess makes of
                 made-up logits (`logits` below), so that its rules are tested without a model.

Left out: answers of score 0 (which of them are told depends on numpy's partition), and cases that change when the logits move by
3e-5, or where two answers are within 1e-5 of one another, or where a span reaches outside of the context: a class token written in the
question, or any token of it where the context comes first (its offsets would be looked up in the context). In spans.jsonl such spans
are taken away and the rest is kept. All counts are printed."""
import os
import sys
import warnings

import numpy as np
import torch
import transformers as tf
from transformers.pipelines import question_answering as source
from transformers.pipelines.question_answering import QuestionAnsweringPipeline

import tiny

SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
OPTIONS = [{}, {"top_k": 3}, {"doc_stride": 20, "top_k": 2}, {"max_answer_len": 3, "top_k": 5}, {"max_seq_len": 96, "top_k": 4},
           {"max_question_len": 4}, {"handle_impossible_answer": True, "top_k": 2}, {"align_to_words": False},
           {"align_to_words": False, "top_k": 6, "max_seq_len": 80, "doc_stride": 30, "handle_impossible_answer": True,
            "max_answer_len": 40}]


def models():
    """name: class, config, tokenizer"""
    b, a = tiny.BERT, tiny.ANGLE
    yield "bert", tf.BertForQuestionAnswering, tf.BertConfig(max_position_embeddings=400, **SIZES), \
        tiny.fast(tf.BertTokenizerFast, tiny.bert_tokenizer(), b, 400)
    yield "roberta", tf.RobertaForQuestionAnswering, tf.RobertaConfig(max_position_embeddings=390, type_vocab_size=1, pad_token_id=1, **SIZES), \
        tiny.fast(tf.RobertaTokenizerFast, tiny.bytes_tokenizer(), dict(a, bos="<s>", eos="</s>"), 388)
    yield "distilbert", tf.DistilBertForQuestionAnswering, \
        tf.DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=128), \
        tiny.fast(tf.DistilBertTokenizerFast, tiny.bert_tokenizer(False), b, 128, do_lower_case=False)
    yield "xlm-roberta", tf.XLMRobertaForQuestionAnswering, \
        tf.XLMRobertaConfig(max_position_embeddings=390, type_vocab_size=1, pad_token_id=1, **SIZES), \
        tiny.fast(tf.XLMRobertaTokenizerFast, tiny.xlmr_tokenizer(), dict(a, bos="<s>", eos="</s>"), 388)
    yield "mpnet", tf.MPNetForQuestionAnswering, tf.MPNetConfig(max_position_embeddings=202, pad_token_id=1, **SIZES), \
        tiny.fast(tf.MPNetTokenizerFast, tiny.mpnet_tokenizer(), dict(a, unk="[UNK]", bos="<s>", eos="</s>"), 200)
    yield "deberta-v2", tf.DebertaV2ForQuestionAnswering, \
        tf.DebertaV2Config(type_vocab_size=0, relative_attention=True, position_buckets=32, norm_rel_ebd="layer_norm", share_att_key=True,
                           pos_att_type=["p2c", "c2p"], position_biased_input=False, max_position_embeddings=512, **SIZES), \
        tiny.fast(tf.DebertaV2TokenizerFast, tiny.deberta_tokenizer(), dict(b, bos="[CLS]", eos="[SEP]"), 1000000)


def pairs():
    s = tiny.SCRIPTS
    out = [("Who?", "Ada"), ("Where was Ada born?", s["latin"][0]), ("What grew?", s["latin"][1]),
           ("What do engines do?", s["latin"][2]), ("Which cities?", s["latin"][3]), ("How far?", s["latin"][4]),
           ("the end", s["latin"][5]), ("What is London?", "london London LONDON, London; LoNdOn: a city? london!"),
           ("Lines?", "one\ttwo\n\nthree   four\r\n five "), ("[CLS]?", "before [CLS] after <s> the end [SEP] </s> last"),
           ("Где живёт Анна?", s["cyrillic"][0]), ("Куда впадает Волга?", s["cyrillic"][1]), ("Столица?", s["cyrillic"][2]),
           ("Ποια οδος;", s["greek"][0]), ("Ποιος γεννήθηκε;", s["greek"][1]), ("أين ولد؟", s["arabic"][0]),
           ("أين تقع القاهرة؟", s["arabic"][1]), ("राजधानी क्या है?", s["hindi"][0]), ("नदी?", s["hindi"][1]),
           ("首都是哪里？", s["chinese"][0]), ("谁是诗人？", s["chinese"][1]), ("首都はどこですか？", s["japanese"][0]),
           ("何を使いますか？", s["japanese"][1]), ("เมืองหลวงคืออะไร", s["thai"][0]), ("แม่น้ำอะไร", s["thai"][1]),
           ("When does the 🚌 leave?", s["emoji"][0]), ("Where is the 🎉?", s["emoji"][1]), ("🙂?", "🙂 🙃 🙂🙂 👩‍🔬"),
           ("Combining?", "cafe\u0301 and CAFE\u0301, café; \u200bzero\u200b width \ufb01ne ① ½"),
           ("Unknown?", "ᚠᚢᚦ ⵣⴰⵎ ᏣᎳᎩ 12345678901234567890 supercalifragilisticexpialidocious")]
    every = list(s)
    for i, (names, count) in enumerate([(["latin"], 12), (["cyrillic", "latin"], 15), (["arabic", "hindi"], 10), (["chinese", "japanese"], 12),
                                        (["thai", "emoji"], 10), (every, 25), (["latin"], 40), (every, 60), (["latin", "emoji"], 90), (every, 100)]):
        question = tiny.mixed(names, 1, 1000 + i)
        out.append((question[:40], tiny.mixed(names, count, i)))
    return out


def logits(seed, count):
    """Two numbers a token; the C test makes the same."""
    out = np.empty((2, count), np.float32)
    for i in range(2 * count):
        seed = (seed * 1103515245 + 12345) % 2**31
        out[i % 2, i // 2] = np.float32((seed >> 8) * 12.0 / 2**23 - 6.0)
    return out


# ---- asking ----
def listed(answers):
    answers = [answers] if isinstance(answers, dict) else answers
    return [[float("%.9g" % a["score"]), a["start"], a["end"], a["answer"]] for a in answers]


dropped = {"moves": 0, "near": 0, "outside": 0, "zero": 0, "kept": 0, "raises": 0}
select = source.select_starts_ends


class Quick(QuestionAnsweringPipeline):
    """The same; an equal answer is found by a table, where the pipeline compares with each. For the draws of `stable` only."""

    def get_answer(self, answers, target):
        if not answers:
            self.table, self.last = {}, None
        if self.last is not None:
            self.table[self.last] = answers[-1]
        found = self.table.get(target.lower())
        self.last = None if found else target.lower()
        return found


class Inside:
    """While it is on, spans outside of the context are counted, and taken away if `filters`."""

    def __init__(self, outputs, filters, left):
        self.encodings, self.filters, self.found, self.sequence = iter([o["encoding"] for o in outputs]), filters, False, int(not left)

    def __enter__(self):
        source.select_starts_ends = self.select
        return self

    def __exit__(self, *_):
        source.select_starts_ends = select

    def select(self, *args):
        starts, ends, scores, null = select(*args)
        e = next(self.encodings)
        inside = [e.token_to_sequence(int(s)) == e.token_to_sequence(int(t)) == self.sequence for s, t in zip(starts, ends)]
        self.found |= any(score > 0 and not ok for score, ok in zip(scores, inside))
        keep = np.array([ok or not self.filters for ok in inside], bool)
        return starts[keep], ends[keep], scores[keep], null


def stable(answer, again, margin):
    """Whether other draws of slightly other logits give the same answers."""
    for _ in range(3):
        other = again()
        if len(other) != len(answer):
            return False
        for a, b in zip(answer, other):
            if a[1:] != b[1:] or abs(a[0] - b[0]) > margin:
                return False
    return True


def moved(outputs, by, pick):
    noise = lambda x: x + (torch.rand(x.shape, generator=pick) * 2 - 1) * by
    return [dict(o, start=noise(o["start"]), end=noise(o["end"])) for o in outputs]


def judged(answer, again, margin):
    """None: left out."""
    zero = [a for a in answer if a[0] == 0]
    if not stable(answer[: len(answer) - len(zero)], lambda: [a for a in again() if a[0] != 0], margin):
        dropped["moves"] += 1
        return None
    scores = [a[0] for a in answer if a[0] > 0]
    if any(abs(x - y) < 1e-5 for x, y in zip(scores, scores[1:])):
        dropped["near"] += 1
        return None
    dropped["zero"] += len(zero)
    dropped["kept"] += 1
    return [a for a in answer if a[0] > 0]


def ask(pipe, quick, pair, options):
    """[answers], None: it raises, or False: left out."""
    seen = []
    own = QuestionAnsweringPipeline.postprocess.__get__(pipe)
    pipe.postprocess = lambda outputs, **how: (seen.append((outputs, how)), own(outputs, **how))[1]
    try:
        answer = listed(pipe(question=pair[0], context=pair[1], **options))
    except (Exception, BaseException) as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        dropped["raises"] += 1
        return None
    outputs, how = seen[0]
    own = Quick.postprocess.__get__(quick)
    with Inside(outputs, False, False) as inside:
        own(outputs, **how)
    if inside.found:
        dropped["outside"] += 1
        return False
    pick = torch.Generator().manual_seed(1)
    answer = judged(answer, lambda: listed(own(moved(outputs, 3e-5, pick), **how)), 5e-5)
    return False if answer is None else answer


# ---- parts ----
def features(pipe, pair, left, **options):
    pipe.tokenizer.padding_side = "left" if left else "right"
    try:
        return list(pipe.preprocess({"question": pair[0], "context": pair[1]}, **options))
    except BaseException:
        return None


def window(feature):
    e = feature["encoding"]
    words = [-1 if w is None else w for w in e.word_ids]
    return {"ids": list(e.ids), "types": list(e.type_ids), "allowed": [int(not x) for x in feature["p_mask"][0].tolist()],
            "start": [o[0] for o in e.offsets], "end": [o[1] for o in e.offsets], "word": words}


SHAPES = [(None, None, False), (60, None, False), (40, 7, False), (33, 0, False), (50, 12, True), (30, 29, False)]


LONG = {"bert": 38, "xlm-roberta": 35}  # told in part


def windows(name, pipe, every):
    for n, pair in enumerate(every):
        long = len(pair[1]) > 900
        for k, (limit, stride, left) in enumerate(SHAPES):
            if (long and (k or LONG.get(name) != n)) or (not long and (n + k) % 12) or (k == 5 and len(pair[1]) > 60):
                continue
            got = features(pipe, pair, left, max_seq_len=limit, doc_stride=stride)
            rows = got and [window(f) for f in got]
            if long:
                rows = [{key: row[key] for key in ("ids", "start")} for row in rows]
            yield {"model": name, "pair": n, "max_seq_len": limit, "doc_stride": stride, "left": left, "windows": rows}


def spans(name, pipe, quick, every):
    for n, pair in enumerate(every):
        if (n + len(name)) % 2:
            continue
        limit, stride, left = SHAPES[n // 2 % 5] if len(pair[1]) < 900 else (200, 50, n // 2 % 2 == 1)
        got = features(pipe, pair, left, max_seq_len=limit, doc_stride=stride)
        if not got:
            continue
        outputs = []
        for w, f in enumerate(got):
            start, end = logits(n * 100 + w, len(f["encoding"].ids))
            outputs.append(dict(f, start=torch.tensor(start[None]), end=torch.tensor(end[None])))
        answers = []
        for k, options in enumerate(OPTIONS):
            how = {key: v for key, v in options.items() if key in ("top_k", "max_answer_len", "handle_impossible_answer", "align_to_words")}
            pick = torch.Generator().manual_seed(1)

            def answer(pipe, outputs):
                with Inside(outputs, True, left):
                    return listed(pipe.postprocess(outputs, **how))
            own = judged(answer(pipe, outputs), lambda: answer(quick, moved(outputs, 2e-6, pick)), 1e-5)
            if own is not None:
                answers.append([k, own])
        yield {"model": name, "pair": n, "max_seq_len": limit, "doc_stride": stride, "left": left, "seed": n * 100, "answers": answers}


def told(what):
    print(what, ", ".join("%d %s" % (v, k) for k, v in dropped.items()), flush=True)
    for k in dropped:
        dropped[k] = 0


def write_parts(out):
    """windows.jsonl and spans.jsonl, from the folders that are there."""
    every, cuts, rules = pairs(), [], []
    for name, kind, _, _ in models():
        model, tokenizer = tiny.load(os.path.join(out, name), kind)
        pipe, quick = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer), Quick(model=model, tokenizer=tokenizer)
        cuts += windows(name, pipe, every)
        rules += spans(name, pipe, quick, every)
        told(name + ": made-up logits:")
    tiny.write_lines(os.path.join(out, "windows.jsonl"), cuts)
    tiny.write_lines(os.path.join(out, "spans.jsonl"), rules)


def main():
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    out = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/question_answering"
    os.makedirs(out, exist_ok=True)
    every = pairs()
    answers = [{"options": OPTIONS}]
    for i, (name, kind, config, tokenizer) in enumerate(models()):
        folder = os.path.join(out, name)
        config.vocab_size = len(tokenizer)
        torch.manual_seed(i)
        tiny.save(folder, tiny.randomize(kind(config), 7 + i, "qa_outputs", 1.5), tokenizer)
        model, tokenizer = tiny.load(folder, kind)
        pipe, quick = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer), Quick(model=model, tokenizer=tokenizer)
        for n, pair in enumerate(every):
            got = [[k, ask(pipe, quick, pair, options)] for k, options in enumerate(OPTIONS)]
            answers.append({"model": name, "pair": n, "answers": [g for g in got if g[1] is not False]})
        told(name + ": answers:")
    tiny.write_lines(os.path.join(out, "pairs.jsonl"), [{"question": q, "context": c} for q, c in every])
    tiny.write_lines(os.path.join(out, "answers.jsonl"), answers)
    write_parts(out)


if __name__ == "__main__":
    main()
