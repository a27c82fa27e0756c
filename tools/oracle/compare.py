"""Compares the program with ONNX Runtime and tokenizers on a model folder: texts of 1 to 400 tokens (fewer where a
model has fewer positions).

    python tools/oracle/compare.py build/encoderfile FOLDER TASK [COUNT [FP32_MODEL]]

With FP32_MODEL (an .onnx), FOLDER's model is a quantized one: both runtimes are measured against fp32.

Prints the largest difference on real tokens (relative to the row's largest value where that exceeds 1) and
how many ids, offsets, type ids and masks differ. Needs onnxruntime, tokenizers, numpy.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

WORDS = ("the bus to Chennai leaves at nine tomorrow morning from platform two with air conditioning sleeper seats naïve "
         "café über straße 東京 北京 한국어 привет мир नमस्ते שלום مرحبا ไทย 🚌 👩‍👩‍👧 unbelievable antidisestablishmentarianism "
         "x1y2z3 don't e-mail http://example.org/a?b=c 3.14159 $100 [UNK] @home #tag ﬁne ǅ İstanbul ß ﬀ zz\u0301y").split()


def texts(tokenizer, count, longest):
    rng = random.Random(11)
    out = []
    while len(out) < count:
        want = 1 + len(out) * (longest - 1) // max(count - 1, 1)
        words = []
        while len(tokenizer.encode(" ".join(words), add_special_tokens=False).ids) < want:
            words.append(rng.choice(WORDS))
        out.append(" ".join(words) or "bus")
    return out


def byte_offsets(text, offsets):
    at = np.cumsum([0] + [len(c.encode()) for c in text])
    return [[int(at[a]), int(at[b])] for a, b in offsets]


def compare_tokens(program, folder, tokenizer, lines):
    feed = "".join(json.dumps(t) + "\n" for t in lines)
    out = subprocess.run([program, "tokenize", "--tokenizer", folder + "/tokenizer.json", "--jsonl"], input=feed.encode(),
                         stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    wrong = 0
    for text, line in zip(lines, out):
        got, want = json.loads(line), tokenizer.encode(text)
        wrong += (got["ids"] != want.ids or got["tokens"] != want.tokens or got["type_ids"] != want.type_ids
                  or got["offsets"] != byte_offsets(text, want.offsets) or got["special_tokens_mask"] != want.special_tokens_mask)
    print(f"tokens: {len(lines)} texts, {len(out)} answers, {wrong} differ")
    return wrong + (len(lines) != len(out))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def reference(session, encoding, task):
    feed = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids}
    out = session.run(None, {i.name: np.array([feed[i.name]], np.int64) for i in session.get_inputs()})[0][0]
    real = np.array(encoding.special_tokens_mask) == 0
    return {"embedding": lambda: out[real], "sentence_embedding": lambda: out.mean(0),
            "sequence_classification": lambda: out, "token_classification": lambda: softmax(out[real])}[task]()


def answer(result, task):
    if task == "embedding":
        return np.array([t["embedding"] for t in result["embeddings"]], np.float32)
    if task == "sentence_embedding":
        return np.array(result["embedding"], np.float32)
    if task == "sequence_classification":
        return np.array(result["logits"], np.float32)
    return np.array([t["scores"] for t in result["tokens"]], np.float32)


def difference(ours, theirs):
    """Largest difference, mean and worst cosine, over the rows."""
    worst, cosine = 0.0, []
    for got, want in zip(ours, theirs):
        if want.size == 0 and got.size == 0:
            continue
        worst = max(worst, float(np.abs(got - want).max() / max(1.0, np.abs(want).max())))
        a, b = got.ravel(), want.ravel()
        cosine.append(float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b))))
    return worst, float(np.mean(cosine)), min(cosine)


def build(program, folder, task, where):
    config = os.path.join(where, "config.yml")
    with open(config, "w") as f:
        json.dump({"encoderfile": {"name": "compare", "path": os.path.abspath(folder), "model_type": task,
                                   "output_path": where + "/it.encoderfile", "tokenizer": {"max_length": 512}}}, f)
    subprocess.run([program, "build", "-f", config], check=True, stdout=subprocess.DEVNULL)
    return where + "/it.encoderfile"


def main():
    program, folder, task = sys.argv[1:4]
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with open(folder + "/config.json") as f:
        positions = json.load(f).get("max_position_embeddings", 512)
    longest = min(400, positions - 32)  # the last word may have that many tokens
    lines = texts(tokenizer, int(sys.argv[4]) if len(sys.argv) > 4 else 200, longest)
    wrong = compare_tokens(program, folder, tokenizer, lines)
    session = ort.InferenceSession(folder + "/model.onnx", providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as where:
        package = build(program, folder, task, where)
        out = subprocess.run([package, "infer", "--"] + lines, stdout=subprocess.PIPE, check=True).stdout
    results = [answer(r, task) for r in json.loads(out)["results"]]
    encodings = [tokenizer.encode(text) for text in lines]
    theirs = [reference(session, e, task) for e in encodings]
    if len(sys.argv) > 5:
        exact = ort.InferenceSession(sys.argv[5], providers=["CPUExecutionProvider"])
        fp32 = [reference(exact, e, task) for e in encodings]
        ours, peer = difference(results, fp32), difference(theirs, fp32)
        print(f"to fp32: ours mean cosine {ours[1]:.6f} worst {ours[2]:.6f}, "
              f"ONNX Runtime's mean {peer[1]:.6f} worst {peer[2]:.6f}")
        sys.exit(wrong > 0 or ours[1] < peer[1] - 0.002)
    worst, mean, least = difference(results, theirs)
    print(f"numbers: {task}, largest difference {worst:.3g}, mean cosine {mean:.7f}, worst {least:.7f}")
    sys.exit(wrong > 0 or worst > 1e-4)


main()
