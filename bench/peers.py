# SPDX-License-Identifier: Apache-2.0
"""peers.py PROGRAM WORK - PyTorch, ONNX Runtime, OpenVINO and ours on the same work, in turns, in one run.

    python bench/peers.py build/encoderfile WORK --models minilm,bert-base --cases 1x16,8x32 --threads 1
    python bench/peers.py build/encoderfile WORK --models minilm --isa avx2     # nobody sees AVX-512
    python bench/peers.py build/encoderfile WORK --models some/model.onnx
    python bench/report.py WORK/results.jsonl                                   # tables, and what was promised

A model is a name of models.py, `NAME:FILE` for another of its files (script17, dynamo18, ours), or an .onnx. A case
is run in five blocks; in a block every engine gets its turns one after another, and its figure is the best of them.
Rows of different lengths reach each peer in its best way (padded, sorted in eights, one by one: tried first and kept
in WORK/feeding.json); ours gets them as they are. One line of JSON a case goes to the results; a case that stands
there is not run again, and neither is a finished block: a run that was cut short goes on where it stopped. Who is not
installed is named and left out.
"""
import argparse
import gc
import importlib.metadata
import json
import os
import subprocess
import sys
import time

import hide
import models

ENGINES = ["ours fp32", "torch fp32", "ort fp32", "openvino fp32", "ours int8", "ort int8", "ort int8 published",
           "ours bf16", "torch bf16", "openvino default", "ours fp32 avx2", "ours int8 avx2"]
NEEDS = {"torch": "torch", "ort": "onnxruntime", "openvino": "openvino"}
LONG = 0.5  # seconds: of such a run two are enough for a block
CLOSE = 1.1  # ways to feed a peer that are this near to its best are all timed


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("work")
    p.add_argument("--models", default="minilm,bert-base")
    p.add_argument("--cases", default="1x16,1x128,1x512,8x32,mixed")
    p.add_argument("--peers", default=",".join(ENGINES), help="engines, of: " + ", ".join(ENGINES))
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--isa", default="native", choices=["native", "avx2"])
    p.add_argument("--blocks", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5, help="of each engine in each block")
    p.add_argument("--results", help="default WORK/results.jsonl")
    return p.parse_args()


def mixed():
    """32 lengths as real texts have them: many short ones, a few long ones; 801 tokens, 1,792 padded."""
    import numpy as np
    return [int(n) for n in np.clip(np.round(np.exp(np.random.default_rng(0).normal(3.2, 0.6, 32))), 6, 128)]


def lengths_of(case):
    if case == "mixed":
        return mixed()
    rows, length = case.split("x")
    return [int(length)] * int(rows)


# ---- ways to feed ----
def ways(lengths):
    """name -> batches, each a list of lengths."""
    if len(set(lengths)) == 1:
        return {"padded": [lengths]}
    order = sorted(lengths)
    return {"padded": [lengths], "sorted in eights": [order[i:i + 8] for i in range(0, len(order), 8)],
            "one by one": [[n] for n in lengths]}


def feed(lengths, names):
    import numpy as np
    shape = (len(lengths), max(lengths))
    mask = (np.arange(shape[1])[None] < np.array(lengths)[:, None]).astype(np.int64)
    ids = 5 + np.arange(shape[0] * shape[1]).reshape(shape) * 7919 % 900
    every = {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": np.zeros(shape, np.int64),
             "position_ids": np.ascontiguousarray(np.broadcast_to(np.arange(shape[1]), shape))}
    return {n: every[n] for n in names}


# ---- engines: best(batches, seconds) is the best time of all batches once, in ms ----
class Ours:
    def __init__(self, args, file, precision, avx2):
        env = dict(os.environ, **({"EF_CPU": "avx2"} if avx2 else {}))
        turns = os.path.join(os.path.dirname(args.program), "bench/turns")
        self.process = subprocess.Popen([turns, file, str(args.threads), precision], text=True, env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.isa = self.process.stdout.readline().strip()

    def best(self, batches, seconds):
        self.process.stdin.write(f"{seconds} {','.join(map(str, batches[0]))}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """names: of the inputs; run(feeds) runs one batch."""
    def __init__(self):
        self.ready = {}

    def best(self, batches, seconds):
        key = str(batches)
        if key not in self.ready:
            self.ready[key] = [self.convert(feed(b, self.names)) for b in batches]
            self.pass_over(self.ready[key])  # warm
        best, until, n = float("inf"), time.perf_counter() + seconds, 0
        while n < 2 or time.perf_counter() < until:
            best, n = min(best, self.pass_over(self.ready[key])), n + 1
        return best * 1e3

    def pass_over(self, batches):
        begin = time.perf_counter()
        for batch in batches:
            self.run(batch)
        return time.perf_counter() - begin

    def convert(self, arrays):
        return arrays

    def close(self):
        pass


class Ort(Peer):
    def __init__(self, args, file):
        import onnxruntime
        super().__init__()
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = args.threads, 1, 3
        self.session = onnxruntime.InferenceSession(file, o, providers=["CPUExecutionProvider"])
        self.names = [i.name for i in self.session.get_inputs()]

    def run(self, batch):
        self.session.run(None, batch)


class OpenVino(Peer):
    def __init__(self, args, file, precision):
        import openvino
        super().__init__()
        hints = {"INFERENCE_NUM_THREADS": args.threads, "PERFORMANCE_HINT": "LATENCY"}
        if precision == "fp32":
            hints["INFERENCE_PRECISION_HINT"] = "f32"
        self.run = openvino.Core().compile_model(file, "CPU", hints)
        self.names = [i.get_any_name() for i in self.run.inputs]


class Torch(Peer):
    def __init__(self, args, name, precision):
        import torch
        super().__init__()
        torch.set_num_threads(args.threads)
        self.torch, self.names = torch, models.NAMES[:models.MODELS[name][3]]
        self.model = models.torch_model(args.work, name, dtype=torch.bfloat16 if precision == "bf16" else torch.float32)

    def convert(self, arrays):
        return {k: self.torch.from_numpy(v) for k, v in arrays.items()}

    def run(self, batch):
        with self.torch.inference_mode():
            self.model(**batch)


def open_engine(args, engine, model):
    """None: this engine has no such model."""
    kind, precision, *more = engine.split()
    name, _, which = model.partition(":")
    folder = f"{args.work}/{name}"
    which = {"": "script17", "ours": "ours/model"}.get(which, which)
    file = model if model.endswith(".onnx") else f"{folder}/{which}.onnx"
    if kind == "ours":
        return Ours(args, file, precision, more == ["avx2"])
    if kind == "torch":
        return Torch(args, name, precision) if name in models.MODELS else None
    if kind == "openvino":
        return OpenVino(args, file, precision)
    if precision == "int8":
        file = int8_file(args, model, folder, more)
    return Ort(args, file) if file else None


def int8_file(args, model, folder, more):
    if more == ["published"]:
        return f"{folder}/published-int8.onnx" if os.path.exists(f"{folder}/published-int8.onnx") else None
    if not model.endswith(".onnx"):
        return f"{folder}/int8.onnx"
    made = os.path.join(args.work, os.path.abspath(model).replace("/", "_") + ".int8.onnx")
    if not os.path.exists(made):
        models.quantize(model, made)
    return made


def installed(engine):
    need = NEEDS.get(engine.split()[0])
    try:
        return not need or bool(importlib.metadata.version(need))
    except importlib.metadata.PackageNotFoundError:
        return False


# ---- a case ----
class Case:
    def __init__(self, args, opened, model, name):
        self.args, self.opened, self.model, self.name = args, opened, model, name
        self.lengths, self.turn = lengths_of(name), {}
        for engine in opened:
            for way, batches in self.feedings(engine).items():
                self.turn[engine if len(self.feedings(engine)) == 1 else f"{engine}, {way}"] = (engine, batches)

    def feedings(self, engine):
        """The ways worth timing: those near the best one, and always the padded one of ORT in fp32."""
        every = ways(self.lengths)
        if engine.startswith("ours") or len(every) == 1:
            return {"padded": every["padded"]}
        path = f"{self.args.work}/feeding.json"
        kept = json.load(open(path)) if os.path.exists(path) else {}
        key = f"{self.model} {self.name} {self.args.threads} {self.args.isa} {engine}"
        if key not in kept:
            kept[key] = {way: round(self.opened[engine].best(batches, 0), 2) for way, batches in every.items()}
            json.dump(kept, open(path, "w"), indent=1)
        good = {w for w in every if kept[key][w] <= CLOSE * min(kept[key].values())}
        return {w: every[w] for w in every if w in good or (w == "padded" and engine == "ort fp32")}

    def block(self):
        best = {}
        for _ in range(2):
            for label, (engine, batches) in self.turn.items():
                if best.get(label, 0) > LONG * 1e3:
                    continue
                if self.args.threads > 1:
                    time.sleep(0.02)  # workers of the engine before may still spin
                ms = self.opened[engine].best(batches, self.args.seconds / 2)
                best[label] = min(ms, best.get(label, ms))
        return best | peaks(self.args)


def peaks(args):
    """GFLOP/s of the bare multiply loops, in the same block."""
    kernels = os.path.join(os.path.dirname(args.program), "bench/kernels")
    out = subprocess.run([kernels, "peaks", "0.1"], capture_output=True, text=True, check=True).stdout
    return {"peak " + line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in out.splitlines()}


def flops(args, model, lengths):
    """Of one run, as our `bench` counts them; 0 where it cannot open the model."""
    name, _, which = model.partition(":")
    file = model if model.endswith(".onnx") else f"{args.work}/{name}/script17.onnx"
    line = [args.program, "bench", "--model", file, "--lengths", ",".join(map(str, lengths)), "--repeat", "1", "--json"]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        return 0
    said = json.loads(done.stdout)
    return said["gflops"] * said["median_ms"] * 1e6


def stolen():
    """Time that the machine below us took, and all time, so far."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return fields[7], sum(fields)


def versions():
    found = {}
    for name in NEEDS.values():
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def cpu():
    lines = [l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")]
    return f"{lines[0] if lines else 'unknown'}, {len(lines)} CPUs"


def measure(args, opened, model, name):
    """Blocks of a run that was cut short count: each holds everybody."""
    case, before, kept = Case(args, opened, model, name), stolen(), f"{args.results}.part"
    key = [model, name, args.threads, args.isa, list(case.turn)]
    found = json.load(open(kept)) if os.path.exists(kept) else {}
    blocks = found["blocks"] if found.get("key") == key else []
    while len(blocks) < args.blocks:
        blocks.append(case.block())
        with open(kept, "w") as f:
            json.dump({"key": key, "blocks": blocks}, f)
    os.remove(kept)
    after = stolen()
    return {"model": model, "case": name, "threads": args.threads, "isa": args.isa, "blocks": blocks,
            "flops": flops(args, model, case.lengths), "load": round(os.getloadavg()[0], 2),
            "steal": round(100 * (after[0] - before[0]) / max(1, after[1] - before[1]), 2),
            "cpu": cpu(), "versions": versions(), "date": time.strftime("%Y-%m-%d")}


def show(row):
    best = {k: min(b[k] for b in row["blocks"]) for k in row["blocks"][0] if not k.startswith("peak")}
    print(f"{row['model']} {row['case']}, {row['threads']} thread(s), {row['isa']}: best ms "
          + ", ".join(f"{k} {v:.2f}" for k, v in best.items())
          + f" (load {row['load']}, steal {row['steal']} %)", flush=True)


def run_model(args, model, wanted):
    done = [json.loads(l) for l in open(args.results)] if os.path.exists(args.results) else []
    key = lambda r: (r["model"], r["case"], r["threads"], r["isa"])
    left = [c for c in args.cases.split(",") if (model, c, args.threads, args.isa) not in map(key, done)]
    if not left:
        return
    if not model.endswith(".onnx"):
        models.prepare(args.program, args.work, model.partition(":")[0])
    opened = {engine: open_engine(args, engine, model) for engine in wanted}
    opened = {engine: e for engine, e in opened.items() if e}
    gc.disable()
    for name in left:
        row = measure(args, opened, model, name)
        with open(args.results, "a") as f:
            f.write(json.dumps(row) + "\n")
        show(row)
    for engine in opened.values():
        engine.close()


def main():
    args = arguments()
    args.program, args.results = os.path.abspath(args.program), args.results or f"{args.work}/results.jsonl"
    os.makedirs(args.work, exist_ok=True)
    if args.isa == "avx2" and os.environ.get("EF_CPU") != "avx2":
        env = hide.environment(f"{args.work}/avx2")
        os.execve(sys.executable, [sys.executable, *sys.argv], env)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    wanted = [e for e in args.peers.split(",") if args.isa == "native" or not e.endswith("avx2")]
    for engine in [e for e in wanted if not installed(e)]:
        print(f"{engine}: skipped: {NEEDS[engine.split()[0]]} is not installed")
        wanted.remove(engine)
    for model in args.models.split(","):
        run_model(args, model, wanted)


if __name__ == "__main__":
    main()
