"""The tokenizer.json that we write for a folder without one, read by the reference.

    python tools/oracle/tokenizer_written.py PROGRAM

Needs tokenizers, transformers 4.57 and sentencepiece; run from the root of the tree. For each folder c_* of
tests/golden/text_models (vocab.txt, vocab.json with merges.txt, SentencePiece) PROGRAM's `add-config` writes tokenizer.json. It
must load with tokenizers.Tokenizer.from_file and with AutoTokenizer, and give every text of cases.jsonl the ids recorded there
(of transformers 5); where transformers 4's own conversion of the same folder differs from 5's, that is told. Exit status 1: a
file does not load, or an id differs."""
import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import tokenizers
import transformers

transformers.logging.set_verbosity_error()
GOLDEN = "tests/golden/text_models"


def write(program, name, work):
    """The folder as `add-config` leaves it beside an .onnx."""
    source, folder = os.path.join(work, name + "-source"), os.path.join(work, name)
    shutil.copytree(os.path.join(GOLDEN, name), source)
    with open(os.path.join(source, "config.json"), "w") as out:
        out.write('{"model_type": "bert"}')
    os.makedirs(folder)
    with gzip.open("tests/golden/optimum/bert/model.onnx.gz") as packed, open(os.path.join(folder, "model.onnx"), "wb") as out:
        out.write(packed.read())
    subprocess.run([program, "add-config", os.path.join(folder, "model.onnx"), source], check=True, capture_output=True)
    return source, folder


def opened(folder):
    """None: a class that only transformers 5 has."""
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, use_fast=True)
    except ValueError:
        return None


def differing(tokenizer, texts, rows):
    return sum(tokenizer(*t)["input_ids"] != c["ids"] for t, c in zip(texts, rows)) if tokenizer else "does not know the class"


def main():
    program, wrong = os.path.abspath(sys.argv[1]), 0
    cases = collections.defaultdict(list)
    for line in open(os.path.join(GOLDEN, "cases.jsonl")):
        case = json.loads(line)
        if case["t"].startswith("c_"):
            cases[case["t"]].append(case)
    for name, rows in sorted(cases.items()):
        with tempfile.TemporaryDirectory() as work:
            source, folder = write(program, name, work)
            one = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
            two, older = opened(folder), opened(source)
        texts = [(c["a"], c["b"]) if "b" in c else (c["a"],) for c in rows]
        bad = sum(one.encode(*t).ids != c["ids"] for t, c in zip(texts, rows))
        wrong += bad
        print("%-12s %3d texts: tokenizers %d differ, AutoTokenizer %s; transformers 4's own conversion: %s" %
              (name, len(rows), bad, differing(two, texts, rows), differing(older, texts, rows)), flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
