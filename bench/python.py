#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python.py [--rounds N] [--count N] [--threads 1,2] - SentenceTransformer.encode of mixed sentences (3 to 100 words), by
encoderfile_c in fp32 and int8, sentence-transformers on torch, on its ONNX backend, and fastembed: a model of MiniLM-L6's shape with
random weights. Each is a process of its own; they take turns, and the best of the rounds counts, as CPU time (which other work on the
machine does not change) and as time on the clock. Peers that are not installed are left out by name. And what a call from Python costs
beside the work: a short text by Model.vectors and by predict."""
from __future__ import annotations

import argparse
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SYLLABLES = ["ka", "lo", "mi", "ter", "san", "bo", "ru", "vel", "ing", "pra", "den", "sho", "qui", "fal", "ne", "or", "um", "tha"]


def words() -> list[str]:
    rng = random.Random(5)
    return ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(4000)]


def sentences(count: int) -> list[str]:
    rng, known = random.Random(6), words()
    lengths = [rng.choice((rng.randint(3, 12), rng.randint(8, 30), rng.randint(30, 100))) for _ in range(count)]
    return [" ".join(rng.choice(known) for _ in range(n)).capitalize() + "." for n in lengths]


def make_model(folder: str) -> None:
    """By torch and sentence-transformers, once."""
    import sentence_transformers
    import tokenizers
    import torch
    import transformers

    torch.manual_seed(7)
    inner = tokenizers.BertWordPieceTokenizer(lowercase=True)
    inner.train_from_iterator(sentences(3000) + words(), vocab_size=8000, min_frequency=1)
    vocabulary = os.path.join(folder, "vocab.txt")
    os.makedirs(folder, exist_ok=True)
    inner.save_model(folder)
    config = transformers.BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                                     max_position_embeddings=512)
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocabulary, model_max_length=256).save_pretrained(folder)
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    body = Transformer(folder)
    made = sentence_transformers.SentenceTransformer(modules=[body, Pooling(384, "mean"), Normalize()])
    made.max_seq_length = 256
    made.save(os.path.join(folder, "st"))


# ---- a peer: a process that encodes when it is told to ----

def ours(folder: str, threads: int, precision: str | None) -> Callable[[list[str]], Any]:
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import encoderfile_c

    options: dict[str, Any] = {"threads": threads, **({"precision": precision} if precision else {})}
    return encoderfile_c.SentenceTransformer(folder, model_kwargs=options).encode


def by_torch(folder: str, threads: int, backend: str) -> Callable[[list[str]], Any]:
    import sentence_transformers
    import torch

    torch.set_num_threads(threads)
    if backend == "torch":
        return sentence_transformers.SentenceTransformer(folder, device="cpu").encode
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    return sentence_transformers.SentenceTransformer(folder, device="cpu", backend="onnx",
                                                     model_kwargs={"export": True, "session_options": settings}).encode


def by_fastembed(folder: str, threads: int) -> Callable[[list[str]], Any]:
    import numpy
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(model="local", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(url="file:///none"),
                                   dim=384, model_file="model.onnx")
    model = TextEmbedding("local", specific_model_path=folder, threads=threads)
    return lambda texts: numpy.array(list(model.embed(texts, batch_size=32)))


PEERS: dict[str, Callable[[str, int], Callable[[list[str]], Any]]] = {
    "encoderfile_c fp32": lambda folder, n: ours(folder, n, None),
    "encoderfile_c int8": lambda folder, n: ours(folder, n, "int8"),
    "sentence-transformers torch": lambda folder, n: by_torch(folder, n, "torch"),
    "sentence-transformers onnx": lambda folder, n: by_torch(folder, n, "onnx"),
    "fastembed": lambda folder, n: by_fastembed(folder + "-onnx", n),
}


def worker(name: str, folder: str, threads: int, count: int) -> None:
    """A line in: encode; a line out: [seconds of CPU, seconds, the first numbers]."""
    out, sys.stdout = sys.stdout, sys.stderr
    encode, texts = PEERS[name](folder, threads), sentences(count)
    first = encode(texts[:2])
    print(json.dumps([0, 0, [float(x) for x in first[0][:3]]]), file=out, flush=True)
    for _ in sys.stdin:
        cpu, clock = time.process_time(), time.perf_counter()
        encode(texts)
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - clock, []]), file=out, flush=True)


class Peer:
    def __init__(self, name: str, folder: str, threads: int, count: int, python: str) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
               "RAYON_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen([python, __file__, "--worker", name, folder, str(threads), str(count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout
        line = self.process.stdout.readline()
        self.first = json.loads(line)[2] if line else None
        self.best = [1e9, 1e9]

    def why(self) -> str:
        assert self.process.stderr
        return (self.process.stderr.read().strip().splitlines() or ["it ended"])[-1]

    def turn(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.best = [min(a, b) for a, b in zip(self.best, json.loads(self.process.stdout.readline())[:2])]


def compare(folder: str, threads: int, count: int, rounds: int, python: str) -> None:
    peers: dict[str, Peer] = {}
    for name in PEERS:
        peer = Peer(name, folder, threads, count, python)
        if peer.first is None:
            print(f"  left out: {name}: {peer.why()[:100]}")
        else:
            peers[name] = peer
    for _ in range(rounds):
        for peer in peers.values():
            peer.turn()
    ours = peers["encoderfile_c fp32"].best
    print(f"{threads} thread{'s' * (threads > 1)}, {count} sentences, best of {rounds}:")
    for name, peer in peers.items():
        cpu, clock = peer.best
        near = max(abs(a - b) for a, b in zip(peer.first or [], peers["encoderfile_c fp32"].first or []))
        print(f"  {name:30} {cpu:8.2f} s of CPU ({cpu / ours[0]:5.2f} x ours) {clock:8.2f} s ({clock / ours[1]:5.2f} x), "
              f"{count / clock:7.0f} sentences/s; first numbers within {near:.1e}")
        peer.process.kill()


def from_c(folder: str, text: str) -> float:
    """The best of a second's calls, in microseconds; make bench builds the program."""
    program = os.path.join(ROOT, "build", "bench", "calls")
    done = subprocess.run([program, folder, "1"], input=f"1\t{text}\n", capture_output=True, text=True, check=True)
    return float(done.stdout.split("\t")[0]) * 1e3


def overhead() -> None:
    """One short text: CPU time from Python (best of 20 rounds of 300 calls), and the time of the same call from C."""
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import encoderfile_c

    def best(call: Callable[[], Any]) -> float:
        found = 1e9
        for _ in range(20):
            begin = time.process_time_ns()
            for _ in range(300):
                call()
            found = min(found, (time.process_time_ns() - begin) / 300e3)
        return found

    for folder, text, names in ((os.path.join("tests", "golden", "sentence", "mean"), "the cat sat", ("vectors", "predict")),
                                (os.path.join("examples", "bus-ner"), "bus to Goa", ("predict", "run"))):
        folder = os.path.join(ROOT, folder)
        model, native = encoderfile_c.Model(folder, threads=1), from_c(folder, text)
        for name in names:
            call = (lambda: model.run(None, text)) if name == "run" else functools.partial(getattr(model, name), text)
            found = best(call)
            print(f"{os.path.basename(folder)}, {text!r} by {name}: {found:.1f} us, ef_predict with its JSON from C {native:.1f} us: "
                  f"{found - native:+.1f} us")


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--python", default=sys.executable, help="one that has the peers")
    a = parser.parse_args()
    overhead()
    with tempfile.TemporaryDirectory() as made:
        folder = os.path.join(made, "model")
        subprocess.check_call([a.python, "-c", f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import python; "
                               f"python.make_model({folder!r})"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        import encoderfile_c  # from the tree: overhead() has put it on the path

        encoderfile_c.export(os.path.join(folder, "st"), os.path.join(folder, "st-onnx"))
        for threads in map(int, a.threads.split(",")):
            compare(os.path.join(folder, "st"), threads, a.count, a.rounds, a.python)


if __name__ == "__main__":
    main()
