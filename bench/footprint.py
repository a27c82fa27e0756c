# SPDX-License-Identifier: Apache-2.0
"""footprint.py PROGRAM WORK [MINILM_FOLDER] - bytes: of packages on disk, and of the one that serves in memory.

Packages of DistilBERT, BERT-base and BERT-large shapes (random weights, models.py) in fp32 and int8, beside the .onnx
and the program they are made of. Then MiniLM is served twice from one file, asked for texts of all lengths, and the
kernel's own figures are printed: resident, of that the process's own, and what both share. Fails where a promise is
broken.
"""
import os
import random
import subprocess
import sys

import models
from serving import Server, ask, predict

MB = 1e6
MOST = {"distilbert-base": 75, "bert-base": 120, "bert-large": 350}  # MB in int8
OWN = 48 << 20  # resident beyond the weights


def judge(ok, line):
    print(("ok      " if ok else "BROKEN  ") + line, flush=True)
    return not ok


def build(program, folder, precision, task):
    """A package of a model folder; made again when the program is newer."""
    package = f"{folder}/{precision}.encoderfile"
    if os.path.exists(package) and os.path.getmtime(package) > os.path.getmtime(program):
        return package
    with open(f"{folder}/{precision}.yml", "w") as f:
        f.write(f"encoderfile:\n  name: m\n  model_type: {task}\n  path: {folder}\n  precision: {precision}\n")
    subprocess.run([program, "build", "-f", f"{folder}/{precision}.yml", "-o", package], check=True,
                   stdout=subprocess.DEVNULL)
    return package


def source(program, work, name):
    """Our export with a tokenizer beside it."""
    folder = f"{work}/{name}"
    if not os.path.exists(f"{folder}/ours/model.onnx"):
        models.make_torch(work, name)
        models.our_export(program, work, name)
    if not os.path.exists(f"{folder}/ours/tokenizer.json"):
        models.tokenizer(f"{folder}/ours/tokenizer.json")
    return f"{folder}/ours"


def onnx_bytes(folder):
    """With weights that lie beside it."""
    return sum(os.path.getsize(f"{folder}/{f}") for f in os.listdir(folder) if f.startswith("model.onnx"))


def sizes(program, work):
    failed = 0
    for name, most in MOST.items():
        folder = source(program, work, name)
        task = "sequence_classification" if "distil" in name else "token_classification"
        small = os.path.getsize(build(program, folder, "int8", task)) / MB
        failed += judge(small <= most, f"{name} int8 package: {small:.1f} MB, promised {most}")
        failed += whole(program, folder, build(program, folder, "fp32", task), name)
    return failed


def whole(program, folder, package, name):
    parts, made = onnx_bytes(folder) + os.path.getsize(program), os.path.getsize(package)
    return judge(made <= 1.01 * parts, f"{name} fp32 package: {made / MB:.1f} MB, {made / parts:.4f} of its .onnx and "
                                       f"the program ({parts / MB:.1f} MB), promised 1.01")


# ---- memory ----
class Served(Server):
    def __init__(self, package, *flags):
        class Args:
            program, model, server_cpu = package, package, -1
        super().__init__(Args, *flags)

    def memory(self):
        lines = [line.split() for line in open(f"/proc/{self.process.pid}/smaps_rollup")]
        return {f[0][:-1]: int(f[1]) * 1024 for f in lines[1:]}


def work_through(server):
    """Texts of all lengths, alone and many at once."""
    r, s = random.Random(1), server.connect()
    text = lambda n: " ".join(r.choice("book a bus from one town to the next before noon".split()) for _ in range(n))
    alone, many = [[text(n)] for n in (30, 120, 400)], [[text(r.randint(4, 120)) for _ in range(32)]]
    for batch in [[text(8)]] * 20 + alone + many * 3:
        status = ask(s, predict(batch))
        assert status == 200, status
    s.close()


def memory(program, package):
    weights = os.path.getsize(package) - os.path.getsize(program)
    first, second = Served(package), Served(package)
    work_through(first)
    work_through(second)
    a, b = first.memory(), second.memory()
    first.stop(), second.stop()
    name = os.path.basename(package)
    show = lambda m: ", ".join(f"{k} {m[k] / MB:.1f}" for k in ("Rss", "Anonymous", "Shared_Clean", "Pss"))
    print(f"        {name}: weights, tokenizer and graph {weights / MB:.1f} MB; first {show(a)}; second {show(b)} MB")
    failed = judge(a["Rss"] <= weights + OWN, f"{name} resident while serving: {a['Rss'] / MB:.1f} MB, promised "
                                              f"{(weights + OWN) / MB:.1f}")
    shared = min(a["Shared_Clean"], b["Shared_Clean"])
    touched = a["Rss"] - a["Anonymous"]
    return failed + judge(shared >= 0.95 * touched, f"{name} second process shares {shared / MB:.1f} of "
                                                    f"{touched / MB:.1f} MB that come from the file, promised 95 %")


def main():
    program, work = os.path.abspath(sys.argv[1]), sys.argv[2]
    failed = sizes(program, work)
    if len(sys.argv) > 3:
        folder = f"{work}/real"
        os.makedirs(folder, exist_ok=True)
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx"):
            if not os.path.exists(f"{folder}/{file}"):
                os.symlink(os.path.realpath(f"{sys.argv[3]}/{file}"), f"{folder}/{file}")
        failed += whole(program, folder, build(program, folder, "fp32", "sentence_embedding"), "minilm")
        for precision in ("fp32", "int8"):
            failed += memory(program, build(program, folder, precision, "sentence_embedding"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
