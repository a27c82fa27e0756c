# SPDX-License-Identifier: Apache-2.0
"""tokenizers_memory.py TEXT [TOKENIZER...] - memory of a tokenizer, ours and PyPI `tokenizers`.

    make build/bench/tokenizers
    python bench/tokenizers_memory.py corpus.txt gemma/tokenizer.json ...

Resident bytes of a fresh process after loading and a few hundred lines of TEXT, less those of a
process with a tokenizer of three tokens and the same lines. Ours from JSON, and from the compiled
form mapped from a file as a package does: there "own" is memory of the process, "mapped" are pages
of the file, shared by all who map it and given back when memory is short. First comes a Unigram
model of 250,000 pieces made from the words of TEXT.
"""
import collections
import json
import math
import os
import subprocess
import sys
import tempfile

PROGRAM = "build/bench/tokenizers"
PIECES = 250000
THEIRS = """
import sys
from tokenizers import Tokenizer
t = Tokenizer.from_file(sys.argv[1])
for line in open(sys.argv[2]):
    t.encode(line.rstrip("\\n"))
for line in open("/proc/self/smaps_rollup"):
    if line.startswith("Rss:"):
        print(int(line.split()[1]) * 1024)
"""


def unigram(vocab):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": {"type": "NFKC"}, "post_processor": None, "decoder": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                              "split": True},
            "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": vocab}}


def pieces(text):
    """The most frequent words and the beginnings of the others, with their logarithms."""
    count = collections.Counter()
    with open(text, encoding="utf-8") as f:
        for line in f:
            for word in line.split():
                for n in (len(word), 6, 3, 1):
                    count["▁" + word[:n]] += 1
    total = sum(count.values())
    best = count.most_common(PIECES - 1)
    return [["<unk>", 0.0]] + [[p, round(math.log(n / total), 6)] for p, n in best]


def write(path, tree):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(tree, f, ensure_ascii=False)
    return path


def ask(tokenizer, text, *questions):
    run = subprocess.run([PROGRAM, tokenizer, text], input="".join(q + "\n" for q in questions),
                         capture_output=True, text=True, check=True)
    return [int(x) for x in run.stdout.split("\n")[-2].split()]


def theirs(tokenizer, text):
    run = subprocess.run([sys.executable, "-c", THEIRS, tokenizer, text], capture_output=True,
                         text=True, check=True)
    return int(run.stdout)


def main(corpus, *paths):
    with tempfile.TemporaryDirectory() as folder:
        small = write(f"{folder}/small.json", unigram([["<unk>", 0.0], ["▁", -1.0], ["a", -2.0]]))
        large = write(f"{folder}/unigram-250000.json", unigram(pieces(corpus)))
        text = f"{folder}/text"
        with open(corpus, encoding="utf-8") as f, open(text, "w", encoding="utf-8") as out:
            out.writelines(line for line, _ in zip(f, range(300)))
        base, peer = ask(small, text, "0 300", "memory"), theirs(small, text)
        print(f"{'MB':26} {'from JSON':>9} {'compiled: file':>14} {'own':>6} {'mapped':>7} "
              f"{'theirs':>7}")
        for path in (large, *paths):
            name = os.path.basename(path)
            name = name if name != "tokenizer.json" else os.path.basename(os.path.dirname(path))
            block = f"{folder}/block"
            size = ask(path, text, f"compile {block}")[0]
            own = ask(path, text, "0 300", "memory")[0] - base[0]
            mapped = ask(block, text, "0 300", "memory")
            other = theirs(path, text) - peer
            print(f"{name:26} {own / 1e6:9.1f} {size / 1e6:14.1f} "
                  f"{(mapped[0] - base[0]) / 1e6:6.1f} {(mapped[1] - base[1]) / 1e6:7.1f} "
                  f"{other / 1e6:7.1f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
