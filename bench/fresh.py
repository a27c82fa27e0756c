# SPDX-License-Identifier: Apache-2.0
"""fresh.py PROGRAM WORK MINILM_FOLDER [--rust PACKAGE] [--repeat 40] - one query from a fresh process.

Times whole runs, from the start of the process to its end, the files in the page cache: `infer` of packages in fp32,
int8 and bf16, in turns with the Rust encoderfile's package of the same model (where one is given; half as often),
ONNX Runtime and PyTorch from Python (a tenth as often: they take seconds). Least and median. Fails where a promise is
broken.
"""
import argparse
import os
import statistics
import sys
import time

import models
from footprint import build, judge

QUERY = "AC sleeper bus from Bangalore to Mumbai tomorrow"
PROMISED = {"fp32": 10, "int8": 6}  # ms, best
ORT = """
import sys, numpy as np, onnxruntime as ort
from tokenizers import Tokenizer
e = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json").encode(sys.argv[2])
o = ort.SessionOptions(); o.intra_op_num_threads = 1
s = ort.InferenceSession(sys.argv[1] + "/model.onnx", o, providers=["CPUExecutionProvider"])
every = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
print(s.run(None, {i.name: np.array([every[i.name]]) for i in s.get_inputs()})[0][0].mean(0)[:3])
"""
TORCH = """
import sys, torch
from tokenizers import Tokenizer
from transformers import BertModel
torch.set_num_threads(1)
e = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json").encode(sys.argv[2])
m = BertModel.from_pretrained(sys.argv[3], add_pooling_layer=False).eval()
with torch.inference_mode():
    out = m(input_ids=torch.tensor([e.ids]), attention_mask=torch.tensor([e.attention_mask]))
    print(out.last_hidden_state[0].mean(0)[:3])
"""


def once(line):
    """Milliseconds; None: it failed."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
    begin = time.perf_counter()
    _, status = os.waitpid(os.posix_spawn(line[0], line, os.environ, file_actions=null), 0)
    return None if status else (time.perf_counter() - begin) * 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "work", "minilm"):
        p.add_argument(name)
    p.add_argument("--rust")
    p.add_argument("--repeat", type=int, default=40)
    args = p.parse_args()
    program, folder = os.path.abspath(args.program), os.path.abspath(f"{args.work}/mini")
    os.makedirs(folder, exist_ok=True)
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx"):
        if not os.path.exists(f"{folder}/{file}"):
            os.symlink(os.path.realpath(f"{args.minilm}/{file}"), f"{folder}/{file}")
    lines = {f"ours {q}": [build(program, folder, q, "sentence_embedding"), "infer", QUERY]
             for q in ("fp32", "int8", "bf16")}
    if args.rust:
        lines["Rust encoderfile"] = [os.path.abspath(args.rust), "infer", QUERY]
    weights = f"{args.work}/minilm/torch"
    if not os.path.exists(weights):
        models.make_torch(args.work, "minilm")
    lines["ONNX Runtime"] = [sys.executable, "-c", ORT, folder, QUERY]
    lines["PyTorch"] = [sys.executable, "-c", TORCH, folder, QUERY, weights]
    took = {name: [] for name in lines}
    for line in lines.values():
        once(line)  # into the page cache
    for i in range(args.repeat):
        for name, line in lines.items():
            if name.startswith("ours") or i % 10 == 0 or (name.startswith("Rust") and i % 2 == 0):
                took[name].append(once(line))
    for name, ms in took.items():
        good = [m for m in ms if m]
        print(f"        {name}: " + (f"best {min(good):.2f} ms, median {statistics.median(good):.2f} of {len(good)}"
                                     if good else "skipped: it does not run here"))
    print(f"        load {os.getloadavg()[0]:.2f}")
    least = {q: min(took[f"ours {q}"]) for q in PROMISED}
    sys.exit(sum(judge(least[q] <= most, f"infer in {q}: best {least[q]:.2f} ms, promised {most}")
                 for q, most in PROMISED.items()) > 0)


if __name__ == "__main__":
    main()
