# SPDX-License-Identifier: Apache-2.0
"""tokenizer_speed.py TEXT TOKENIZER... - our tokenizer and PyPI `tokenizers`, in turns on equal lines.

    make build/bench/tokenizers
    python bench/tokenizer_speed.py corpus.txt wordpiece/tokenizer.json bpe/tokenizer.json ...

TEXT is a file of different lines (tools/oracle/tokenizer_corpus.py makes one), each of which both
see once: nobody has met it before. Slices of a megabyte alternate (ours, theirs), so that a slow
minute of the machine hits both. One thread each, CPU time, offsets in characters on both sides. The
answers are compared by a sum over ids and offsets. A ratio above 1 means that we are faster.

Then 10,000 different queries of eight words, one at a time: the median of each side, and how long
each takes to load the file.
"""
import os
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer, __version__  # noqa: E402

PROGRAM = "build/bench/tokenizers"
SLICE = 1000000


def read_lines(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return f.read().removesuffix("\n").split("\n")


def slices(lines):
    """(from, to, bytes) of about a megabyte each."""
    begin, size = 0, 0
    for i, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size >= SLICE or i + 1 == len(lines):
            yield begin, i + 1, size
            begin, size = i + 1, 0


class Ours:
    def __init__(self, tokenizer, text):
        self.process = subprocess.Popen([PROGRAM, tokenizer, text], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return [float(x) for x in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def plain(path):
    begin = time.process_time()
    t = Tokenizer.from_file(path)
    took = time.process_time() - begin
    t.no_truncation()
    t.no_padding()
    return t, took


def checksum(encodings):
    return sum(sum(e.ids) * 31 + sum(a * 7 + b for a, b in e.offsets) for e in encodings)


def throughput(path, text, lines):
    ours, (theirs, load) = Ours(path, text), plain(path)
    total, mine, peer, equal = 0, 0.0, 0.0, True
    for begin, end, size in slices(lines):
        took, _, mysum = ours.ask(f"{begin} {end}")
        start = time.process_time()
        encodings = theirs.encode_batch(lines[begin:end])
        peer += time.process_time() - start
        mine += took
        total += size
        equal = equal and int(mysum) == checksum(encodings)
    ours.close()
    return total / mine / 1e6, total / peer / 1e6, equal, load


def queries(lines, count=10000):
    """Eight words each, every query another."""
    found = {}
    for line in lines:
        words = line.split()
        for i in range(0, len(words) - 7, 8):
            found[" ".join(words[i:i + 8])] = True
        if len(found) >= count:
            break
    return list(found)[:count]


def one_by_one(path, asked):
    theirs, _ = plain(path)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
        f.write("".join(q + "\n" for q in asked))
        f.flush()
        ours = Ours(path, f.name)
        mine = ours.ask("each")
        ours.close()
    took = []
    for q in asked:
        start = time.perf_counter()
        theirs.encode(q)
        took.append(time.perf_counter() - start)
    return mine[0], sorted(took)[len(took) // 2] * 1e6


def main(text, *paths):
    lines = read_lines(text)
    asked = queries([x for x in lines if x.isascii()])
    print(f"{text}: {len(lines)} lines, {os.path.getsize(text) / 1e6:.1f} MB; tokenizers "
          f"{__version__}; one thread; load average {os.getloadavg()[0]:.1f}")
    print(f"{'':24} {'MB/s':>7} {'theirs':>7} {'ratio':>6}  {'query us':>8} {'theirs':>7}  "
          f"their load s")
    for path in paths:
        name = os.path.basename(os.path.dirname(path)) or path
        mine, peer, equal, load = throughput(path, text, lines)
        query, their_query = one_by_one(path, asked)
        print(f"{name:24} {mine:7.1f} {peer:7.2f} {mine / peer:6.1f}  {query:8.2f} "
              f"{their_query:7.1f}  {load:.2f}  {'' if equal else 'ANSWERS DIFFER'}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
