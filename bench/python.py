#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python.py [--rounds N] [--count N] [--threads 1,2] - SentenceTransformer.encode of mixed sentences (3 to 100 words), in one call and
one by one, by encoderfile_c in fp32 and int8, sentence-transformers on torch, on its ONNX and OpenVINO backends, in int8 as its
export_dynamic_quantized_onnx_model makes it, and fastembed on the same files: a model of MiniLM-L6's shape with random weights. Each is
a process of its own; they take turns, and the best of the rounds counts, as CPU time (which other work on the machine does not change)
and as time on the clock. Peers that are not installed are left out by name. The backends need optimum, which needs an older
transformers than sentence-transformers 6: --python2 names their environment (sentence-transformers 5.1.2, optimum-onnx 0.1.0). And what
a call from Python costs beside the work: a short text by Model.vectors, by predict and by run.

Lines that begin with ok or BROKEN compare with what was promised: 1.1 times the best peer in fp32, 1.25 in int8, 1.3 one by one (by CPU
time with one thread, by the clock with more)."""
from __future__ import annotations

import argparse
import dataclasses
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
    from sentence_transformers.models import Normalize, Pooling, Transformer

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


def quantizer() -> str:
    """What export_dynamic_quantized_onnx_model is told, for this CPU."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = file.read()
    return "avx512_vnni" if "avx512_vnni" in flags else "avx512" if "avx512f" in flags else "avx2"


def make_onnx(folder: str) -> None:
    """FOLDER/onnx/model.onnx and model_qint8_*.onnx, by sentence-transformers and optimum, once; FOLDER-int8 for fastembed."""
    import shutil

    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(folder, device="cpu", backend="onnx", model_kwargs={"export": True})
    model.save_pretrained(folder + "-backend")
    sentence_transformers.export_dynamic_quantized_onnx_model(model, quantizer(), folder + "-backend")
    shutil.copytree(folder, folder + "-int8", ignore=shutil.ignore_patterns("*.safetensors"))
    shutil.copyfile(os.path.join(folder + "-backend", "onnx", f"model_qint8_{quantizer()}.onnx"), os.path.join(folder + "-int8", "model.onnx"))


def by_torch(folder: str, threads: int) -> Callable[[list[str]], Any]:
    import sentence_transformers
    import torch

    torch.set_num_threads(threads)
    return sentence_transformers.SentenceTransformer(folder, device="cpu").encode


def by_onnx(folder: str, threads: int, file: str) -> Callable[[list[str]], Any]:
    import onnxruntime
    import sentence_transformers
    import torch

    torch.set_num_threads(threads)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    return sentence_transformers.SentenceTransformer(folder + "-backend", device="cpu", backend="onnx",
                                                     model_kwargs={"file_name": f"onnx/{file}.onnx", "session_options": settings}).encode


def by_openvino(folder: str, threads: int) -> Callable[[list[str]], Any]:
    import sentence_transformers
    import torch

    torch.set_num_threads(threads)
    return sentence_transformers.SentenceTransformer(folder, device="cpu", backend="openvino", model_kwargs={
        "export": True, "ov_config": {"INFERENCE_NUM_THREADS": str(threads), "INFERENCE_PRECISION_HINT": "f32"}}).encode


def by_fastembed(folder: str, threads: int) -> Callable[[list[str]], Any]:
    import numpy
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(model="local", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(url="file:///none"),
                                   dim=384, model_file="model.onnx")
    model = TextEmbedding("local", specific_model_path=folder, threads=threads)
    return lambda texts: numpy.array(list(model.embed(texts, batch_size=32)))


@dataclasses.dataclass
class Kind:
    int8: bool
    old: bool    # of the second environment
    make: Callable[[str, int], Callable[[list[str]], Any]]


OURS = {False: "encoderfile_c fp32", True: "encoderfile_c int8"}
KINDS: dict[str, Kind] = {
    OURS[False]: Kind(False, False, lambda folder, n: ours(folder, n, None)),
    "sentence-transformers torch": Kind(False, False, by_torch),
    "sentence-transformers onnx": Kind(False, True, lambda folder, n: by_onnx(folder, n, "model")),
    "sentence-transformers openvino": Kind(False, True, by_openvino),
    "fastembed": Kind(False, True, lambda folder, n: by_fastembed(folder + "-onnx", n)),
    OURS[True]: Kind(True, False, lambda folder, n: ours(folder, n, "int8")),
    "sentence-transformers onnx int8": Kind(True, True, lambda folder, n: by_onnx(folder, n, "model_qint8_" + quantizer())),
    "fastembed int8": Kind(True, True, lambda folder, n: by_fastembed(folder + "-int8", n)),
}
WAYS = {"in one call": {False: 1.1, True: 1.25}, "one by one": {False: 1.3, True: 1.3}}  # what was promised


def worker(name: str, folder: str, threads: int, count: int) -> None:
    """A way in: encode; a line out: [seconds of CPU, seconds, the first numbers]. One by one go a tenth of the sentences."""
    out, sys.stdout = sys.stdout, sys.stderr
    encode, texts = KINDS[name].make(folder, threads), sentences(count)
    first = encode(texts[:2])
    print(json.dumps([0, 0, [float(x) for x in first[0]]]), file=out, flush=True)
    for way in sys.stdin:
        cpu, clock = time.process_time(), time.perf_counter()
        if way.strip() == "one by one":
            for text in texts[:count // 10]:
                encode([text])
        else:
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
        self.first: list[float] = json.loads(line)[2] if line else []
        self.best = {way: [1e9, 1e9] for way in WAYS}

    def why(self) -> str:
        assert self.process.stderr
        return (self.process.stderr.read().strip().splitlines() or ["it ended"])[-1]

    def turn(self, way: str) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(way + "\n")
        self.process.stdin.flush()
        self.best[way] = [min(a, b) for a, b in zip(self.best[way], json.loads(self.process.stdout.readline())[:2])]

    def cosine(self, other: Peer) -> float:
        return sum(a * b for a, b in zip(self.first, other.first))  # of vectors of length 1


def judge(peers: dict[str, Peer], way: str, threads: int) -> None:
    """Ours beside the best of the others, at the same precision."""
    measure = 1 if threads > 1 else 0
    for int8, wanted in WAYS[way].items():
        others = [name for name in peers if KINDS[name].int8 == int8 and name not in OURS.values()]
        if not others or OURS[int8] not in peers:
            continue
        best = min(others, key=lambda name: peers[name].best[way][measure])
        times = peers[best].best[way][measure] / peers[OURS[int8]].best[way][measure]
        print(f"{'ok' if times >= wanted else 'BROKEN'}: {OURS[int8]} {way}: {times:.2f} x {best}, wanted {wanted}")


def compare(folder: str, threads: int, count: int, rounds: int, pythons: dict[bool, str]) -> None:
    peers: dict[str, Peer] = {}
    for name, kind in KINDS.items():
        peer = Peer(name, folder, threads, count, pythons[kind.old])
        if peer.first:
            peers[name] = peer
        else:
            print(f"  left out: {name}: {peer.why()[:100]}")
    for _ in range(rounds):
        for way in WAYS:
            for peer in peers.values():
                peer.turn(way)
    for way in WAYS:
        n = count if way == "in one call" else count // 10
        print(f"{threads} thread{'s' * (threads > 1)}, {n} sentences {way}, best of {rounds}:")
        for name, peer in peers.items():
            cpu, clock = peer.best[way]
            print(f"  {name:32} {cpu:8.2f} s of CPU {clock:8.2f} s on the clock, {n / clock:7.0f} sentences/s; "
                  f"cosine with ours in fp32 {peer.cosine(peers[OURS[False]]):.4f}")
        judge(peers, way, threads)
    for peer in peers.values():
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
    parser.add_argument("--python", default=sys.executable, help="one that has sentence-transformers and torch")
    parser.add_argument("--python2", help="one that has an older one with optimum, and fastembed; default: the same")
    a = parser.parse_args()
    overhead()
    pythons = {False: a.python, True: a.python2 or a.python}
    with tempfile.TemporaryDirectory() as made:
        folder = os.path.join(made, "model")
        for call, needed in ((f"make_model({folder!r})", True), (f"make_onnx({os.path.join(folder, 'st')!r})", False)):
            code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import python; python.{call}"
            subprocess.run([pythons[True], "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=needed)
        import encoderfile_c  # from the tree: overhead() has put it on the path

        encoderfile_c.export(os.path.join(folder, "st"), os.path.join(folder, "st-onnx"))
        for threads in map(int, a.threads.split(",")):
            compare(os.path.join(folder, "st"), threads, a.count, a.rounds, pythons)


if __name__ == "__main__":
    main()
