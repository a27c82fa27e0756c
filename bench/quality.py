# SPDX-License-Identifier: Apache-2.0
"""quality.py PROGRAM WORK MINILM_FOLDER [PUBLISHED_INT8.onnx] - what bf16 and int8 cost in accuracy; nothing is timed.

500 sentences of the Python library's documentation through packages of a real MiniLM in fp32, bf16 and int8, and
through ONNX Runtime in fp32 and in its own int8: cosine of the sentence vector to ONNX Runtime's fp32. Labels of the
bundled model's queries, int8 against fp32. Then every fifth text alone and all of them at once, on one thread and
two: the same bits or not. Fails where a promise is broken. Needs onnxruntime, onnx, tokenizers, numpy.
"""
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np

import models
from footprint import build, judge

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 500


def oracle():
    spec = importlib.util.spec_from_file_location("quantize", f"{HERE}/../tools/oracle/quantize.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_in(path, texts):
    with open(path, "w") as f:
        f.write("\n".join(texts) + "\n")
    return path


def infer(package, form, *line):
    return subprocess.run([package, "infer", "--format", form, *line], check=True, capture_output=True).stdout


def vectors(package, texts_file, threads):
    return np.load(io.BytesIO(infer(package, "npy", "-i", texts_file, "--threads", str(threads))))


def ort_vectors(path, tokenizer, texts):
    """Mean over the tokens of each text, run alone."""
    import onnxruntime
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads, o.log_severity_level = 1, 3
    s = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        e = tokenizer.encode(text)
        every = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        out = s.run(None, {i.name: np.array([every[i.name]], np.int64) for i in s.get_inputs()})[0]
        rows.append(out[0].mean(0))
    return np.array(rows)


def cosines(a, b):
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def minilm(program, work, folder, published, texts, file):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(128 * 4)
    if not os.path.exists(f"{work}/ort-int8.onnx"):
        models.quantize(os.path.realpath(f"{folder}/model.onnx"), f"{work}/ort-int8.onnx")
    want = ort_vectors(f"{folder}/model.onnx", tokenizer, texts)
    ort = {"quantize_dynamic": f"{work}/ort-int8.onnx"} | ({"published": published} if published else {})
    theirs = {name: cosines(ort_vectors(path, tokenizer, texts), want) for name, path in ort.items()}
    own = {p: vectors(build(program, folder, p, "sentence_embedding"), file, 2) for p in ("fp32", "bf16", "int8")}
    ours = {p: cosines(v, want) for p, v in own.items()}
    for name, c in theirs.items():
        print(f"        ONNX Runtime int8 ({name}): mean {c.mean():.5f}, worst {c.min():.5f}")
    for name, c in ours.items():
        print(f"        ours {name}: mean {c.mean():.6f}, worst {c.min():.6f}")
    failed = judge(np.abs(own["fp32"] - want).max() < 1e-4,
                   f"fp32 largest difference {np.abs(own['fp32'] - want).max():.1e}, promised 1e-4")
    failed += judge(ours["bf16"].mean() >= 0.9995 and ours["bf16"].min() >= 0.999, "bf16 mean 0.9995, worst 0.999")
    failed += judge(ours["int8"].mean() >= 0.99, "int8 mean 0.99")
    for name, c in theirs.items():
        below = int((ours["int8"] < c).sum())
        failed += judge(ours["int8"].mean() >= c.mean() and ours["int8"].min() >= c.min(),
                        f"int8 mean and worst not below ONNX Runtime's {name} "
                        f"(single texts below: {below} of {len(c)})")
    return failed


# ---- labels ----
def labels(package, file):
    replies = map(json.loads, infer(package, "jsonl", "-i", file).splitlines())
    return [[t["label"] for t in reply["tokens"]] for reply in replies]


def bus(program, folder, texts, file):
    a, b = (labels(build(program, folder, p, "token_classification"), file) for p in ("fp32", "int8"))
    pairs = [(x, y) for r, q in zip(a, b) for x, y in zip(r, q)]
    same = sum(x == y for x, y in pairs) / len(pairs)
    rows = sum(r == q for r, q in zip(a, b)) / len(a)
    return judge(same >= 0.99, f"bus-ner int8: {100 * same:.2f} % of {len(pairs)} labels as in fp32 "
                               f"({100 * rows:.2f} % of {len(a)} queries whole), promised 99 %")


# ---- alone and in company ----
def alone(package, texts, file, name):
    """A reply is compared as bytes: floats are written so that reading them gives the same bits."""
    every = [infer(package, "jsonl", "-i", file, "--threads", str(t)).splitlines() for t in (1, 2)]
    apart = [infer(package, "jsonl", text).splitlines()[0] for text in texts]
    wrong = sum(x != y or x != z for x, y, z in zip(*every, apart)) + abs(len(every[0]) - len(texts))
    return judge(wrong == 0, f"{name}: alone, in a batch of {len(texts)}, on one thread and two: {wrong} texts differ")


def main():
    program, work, mini = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    published = sys.argv[4] if len(sys.argv) > 4 else None
    os.makedirs(f"{work}/bus", exist_ok=True)
    os.makedirs(f"{work}/mini", exist_ok=True)
    quantize = oracle()
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx"):
        if not os.path.exists(f"{work}/mini/{file}"):
            os.symlink(os.path.realpath(f"{mini}/{file}"), f"{work}/mini/{file}")
    example = f"{HERE}/../examples/bus-ner"
    for file in os.listdir(example):
        if file.endswith((".json", ".safetensors")):
            shutil.copy(f"{example}/{file}", f"{work}/bus/{file}")
    sentences = quantize.sentences()
    texts = sentences[::max(1, len(sentences) // COUNT)][:COUNT]
    file = lines_in(f"{work}/texts.txt", texts)
    failed = minilm(program, work, f"{work}/mini", published, texts, file)
    queries = [" ".join(q.split()) for q in quantize.queries(example, COUNT)]
    queries = [q for q in queries if q]
    failed += bus(program, f"{work}/bus", queries, lines_in(f"{work}/queries.txt", queries))
    few, some = texts[::5], queries[::5]
    for p in ("fp32", "int8"):
        failed += alone(f"{work}/mini/{p}.encoderfile", few, lines_in(f"{work}/few.txt", few), f"minilm {p}")
        failed += alone(f"{work}/bus/{p}.encoderfile", some, lines_in(f"{work}/some.txt", some), f"bus-ner {p}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
