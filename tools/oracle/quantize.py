"""Checks `encoderfile quantize` against fp32 and against ONNX Runtime's own dynamic quantizer.

    python tools/oracle/quantize.py PROGRAM WORK_FOLDER MODEL_FOLDER... [--texts FILE] [--count 500]

MODEL_FOLDER holds model.onnx (or model.safetensors, then it is exported first), config.json and tokenizer.json. Every
text is run alone, by ONNX Runtime and by our engine, through three files: fp32, ours, and quantize_dynamic's (per
channel; with --target avx2 it gets reduce_range too). A row for each: mean and worst cosine to fp32 (of the mean over
tokens for models without labels, of all scores for those with), share of equal labels, mean squared distance. Fails
when ours misses 99 % of labels, a mean of 0.99, a worst of 0.97, 27 % of the bytes, or is farther away than
ONNX Runtime's. Texts: sentences of the Python library's documentation, or for bus-ner queries of its generator."""
import argparse
import importlib
import inspect
import json
import os
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

MODULES = ("argparse asyncio collections concurrent.futures csv datetime decimal difflib email functools gettext "
           "hashlib html http.client inspect ipaddress itertools json locale logging mailbox math mimetypes os pathlib "
           "pickle random re shutil socket sqlite3 statistics string subprocess tarfile tempfile textwrap threading "
           "time tokenize turtle typing unittest.mock urllib.parse uuid xml.dom zipfile").split()


def sentences():
    found = set()
    for name in MODULES:
        module = importlib.import_module(name)
        things = [module] + [v for _, v in inspect.getmembers(module) if inspect.isclass(v) or inspect.isfunction(v)]
        for thing in things:
            for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", inspect.getdoc(thing) or ""):
                words = " ".join(part.split())
                if 4 <= words.count(" ") <= 60 and words[:1].isupper():
                    found.add(words)
    return sorted(found)


def queries(folder, count):
    sys.path.insert(0, folder)
    out = subprocess.run([sys.executable, "generate.py", "--count", str(count)], cwd=folder, capture_output=True, text=True)
    rows = [l for l in out.stdout.splitlines() if l.strip()]
    texts = []
    for row in rows:
        try:
            texts.append(" ".join(json.loads(row)["words"]))
        except (ValueError, KeyError, TypeError):
            texts.append(row.strip())
    with open(os.path.join(folder, "heldout.jsonl")) as f:
        held = [json.loads(l) for l in f]
    return [" ".join(h.get("words") or h["text"].split()) for h in held] + texts


def weight_bytes(path):
    return sum(len(t.raw_data) or 4 * len(t.float_data) for t in onnx.load(path).graph.initializer)


def by_ort(path, encodings):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    rows = []
    for e in encodings:
        feed = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        rows.append(session.run(None, {k: np.array([feed[k]], np.int64) for k in names})[0][0])
    return rows


def by_us(program, path, texts):
    """Outputs of every token, by `infer` (100 texts a call)."""
    rows = []
    for at in range(0, len(texts), 100):
        run = subprocess.run([program, "infer", "--model", path, "--", *texts[at:at + 100]], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip())
        for result in json.loads(run.stdout)["results"]:
            tokens = result.get("tokens") or result.get("embeddings")
            rows.append(np.array([t.get("scores") or t.get("embedding") for t in tokens]))
    return rows


def compare(labels, want, got):
    cosines, same, total, far = [], 0, 0, []
    for x, y in zip(want, got):
        if labels:
            same, total = same + int((x.argmax(-1) == y.argmax(-1)).sum()), total + len(x)
        a, b = (x.ravel(), y.ravel()) if labels else (x.mean(0), y.mean(0))
        cosines.append(float(a @ b / np.sqrt((a @ a) * (b @ b))))
        far.append(float(((a - b) ** 2).mean()))
    return np.mean(cosines), np.min(cosines), same / total if labels else 1.0, np.mean(far)


def check(args, folder):
    name = os.path.basename(os.path.normpath(folder))
    work = os.path.join(args.work, name)
    shutil.rmtree(work, ignore_errors=True)
    if os.path.exists(os.path.join(folder, "model.safetensors")):
        subprocess.run([args.program, "export", folder, work], check=True, capture_output=True)
    else:
        shutil.copytree(folder, work)
        os.chmod(work, 0o755)
    plain = os.path.join(work, "model.onnx")
    ours, theirs = os.path.join(work, "model_quantized.onnx"), os.path.join(work, "theirs.onnx")
    subprocess.run([args.program, "quantize", work, "--target", args.target, "--no-report"], check=True, capture_output=True)
    reduce_range = args.target in ("avx2", "avx512")
    quantize_dynamic(plain, theirs, per_channel=True, reduce_range=reduce_range,
                     weight_type=QuantType.QUInt8 if args.target == "avx2" else QuantType.QInt8)
    texts = queries(folder, args.count) if os.path.exists(os.path.join(folder, "generate.py")) else sentences()
    if args.texts:
        texts = [l.strip() for l in open(args.texts) if l.strip()]
    random.Random(4).shuffle(texts)
    texts = texts[:args.count]
    tokenizer = Tokenizer.from_file(os.path.join(work, "tokenizer.json"))
    tokenizer.no_padding()
    encodings = [tokenizer.encode(t) for t in texts]
    labels = "Classification" in str(json.load(open(os.path.join(work, "config.json"))).get("architectures"))
    share = weight_bytes(ours) / weight_bytes(plain)
    print("%s: %d texts, %.1f tokens on average, weight bytes %.3f of fp32 (ONNX Runtime's %.3f)" % (
        name, len(texts), np.mean([len(e.ids) for e in encodings]), share, weight_bytes(theirs) / weight_bytes(plain)))
    want = by_ort(plain, encodings)
    fails = share > 0.27
    figures = {}
    for who, run in (("ONNX Runtime", lambda p: by_ort(p, encodings)), ("encoderfile", lambda p: by_us(args.program, p, texts))):
        base = want if who == "ONNX Runtime" else run(plain)
        for what, path in (("ours", ours), ("theirs", theirs)):
            mean, worst, same, far = figures[who, what] = compare(labels, base, run(path))
            print("  %-6s file by %-13s cosine mean %.5f worst %.5f  labels %.4f  squared distance %.3g" % (
                what, who, mean, worst, same, far), flush=True)
            if what == "ours":
                fails |= mean < 0.99 or worst < 0.97 or same < 0.99
        fails |= figures[who, "ours"][3] > figures[who, "theirs"][3]
    return fails


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--texts")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--target", default="avx512_vnni")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    bad = sum(bool(check(args, f)) for f in args.folder)
    print("%d of %d miss a bound" % (bad, len(args.folder)))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
