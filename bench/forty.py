# SPDX-License-Identifier: Apache-2.0
"""forty.py PROGRAM WORK - "40 times PyTorch": where it is true, and where it cannot be.

    python bench/forty.py build/encoderfile WORK --models bus-ner,minilm-ner,bert-base

Text in, entities out, one thread: transformers' token-classification pipeline on PyTorch against ours, by the C API
and over HTTP (one connection); and the bare model, ids in, logits out, on both sides. Five blocks, everybody in
turns; a figure is the best of its block, a ratio the median of the five. Work: a query of eight words, a text of 78,
32 texts of mixed lengths (the pipeline in the best of batches of 1, 8 and 32). The limit is what arithmetic allows:
the products of that work at the peak rate of one core, measured in the same run; torch's time over it is the largest
ratio that anyone could reach there.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
import warnings

import models
import peers
from footprint import build, judge, Served
from serving import ask, predict

HERE = os.path.dirname(os.path.abspath(__file__))
QUERY = "AC sleeper bus from Bangalore to Mumbai tomorrow"
WORDS = ("Volvo sleeper from Pune to Goa on Sunday night with Orange Travels boarding at Swargate "
         "and dropping at Panaji before 9 am").split()
PROMISED = {"ours fp32": 20, "ours int8": 30}


def texts(case):
    word = lambda n: " ".join(WORDS[i % len(WORDS)] for i in range(n))
    return {"query": [QUERY], "long": [word(78)], "mixed 32": [word(max(1, n * 5 // 8)) for n in peers.mixed()]}[case]


def best(run, seconds):
    least, until, n = float("inf"), time.perf_counter() + seconds, 0
    while n < 2 or time.perf_counter() < until:
        begin = time.perf_counter()
        run()
        least, n = min(least, time.perf_counter() - begin), n + 1
    return least * 1e3


class Calls:
    """The C API in a process of its own."""
    def __init__(self, program, package):
        calls = os.path.join(os.path.dirname(program), "bench/calls")
        self.process = subprocess.Popen([calls, package, "1", '{"aggregation": "simple"}'], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def best(self, lines, seconds):
        self.process.stdin.write("\t".join([str(seconds), *lines]) + "\n")
        self.process.stdin.flush()
        ms, _, self.reply = self.process.stdout.readline().partition("\t")
        return float(ms)


def model_folder(program, work, name):
    """Weights, configuration and tokenizer as transformers has them."""
    folder = f"{work}/forty/{name}"
    if os.path.exists(f"{folder}/model.safetensors"):
        return folder
    os.makedirs(folder, exist_ok=True)
    if name != "bus-ner":
        if not os.path.exists(f"{work}/{name}/torch/model.safetensors"):
            models.make_torch(work, name)
        for file in ("config.json", "model.safetensors"):
            shutil.copy(f"{work}/{name}/torch/{file}", folder)
        models.tokenizer(f"{folder}/tokenizer.json")
        with open(f"{folder}/tokenizer_config.json", "w") as f:
            json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "unk_token": "[UNK]",
                       "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}, f)
        return folder
    for file in os.listdir(f"{HERE}/../examples/bus-ner"):
        if file.endswith((".json", ".safetensors", ".txt")):
            shutil.copy(f"{HERE}/../examples/bus-ner/{file}", folder)
    return folder


class Sides:
    """Everybody who runs one model: label -> best(case, seconds)."""
    def __init__(self, args, name):
        import torch
        import transformers
        torch.set_num_threads(1)
        self.torch, folder = torch, model_folder(args.program, args.work, name)
        self.model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.pipe = transformers.pipeline("token-classification", model=self.model, tokenizer=self.tokenizer,
                                          aggregation_strategy="simple", device="cpu")
        packages = {p: build(args.program, folder, p, "token_classification") for p in ("fp32", "int8")}
        self.calls = {p: Calls(args.program, package) for p, package in packages.items()}
        self.servers = {p: Served(package, "--threads", "1") for p, package in packages.items()}
        args.threads = 1
        self.bare = {p: peers.Ours(args, package, p, False) for p, package in packages.items()}
        self.file, self.program = packages["fp32"], args.program

    def close(self):
        for p in self.calls:
            self.servers[p].stop()
            self.bare[p].close()
            self.calls[p].process.stdin.close()

    def lengths(self, case):
        return [len(self.tokenizer(t)["input_ids"]) for t in texts(case)]

    def turns(self, case):
        """label -> function of seconds"""
        lines, lengths = texts(case), self.lengths(case)
        out = {f"pipeline, batch {n}": lambda s, n=n: best(lambda: self.pipe(lines, batch_size=n), s)
               for n in ([1, 8, 32] if len(lines) > 1 else [1])}
        for way, batches in peers.ways(lengths).items():
            feeds = [{k: self.torch.from_numpy(v) for k, v in peers.feed(b, models.NAMES).items()} for b in batches]
            out[f"bare torch, {way}"] = lambda s, feeds=feeds: best(lambda: [self.forward(f) for f in feeds], s)
        request = json.loads(predict(lines).partition(b"\r\n\r\n")[2]) | {"aggregation": "simple"}
        for p in self.calls:
            out[f"ours {p}"] = lambda s, p=p: self.calls[p].best(lines, s)
            out[f"http {p}"] = lambda s, p=p: self.http(p, json.dumps(request).encode(), s)
            out[f"bare ours {p}"] = lambda s, p=p: self.bare[p].best([lengths], s)
        return out

    def forward(self, batch):
        with self.torch.inference_mode():
            self.model(**batch)

    def http(self, p, body, seconds):
        """A connection of its own: one that waits while others have their turns is closed."""
        head = "POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        line = self.servers[p].connect()
        ms = best(lambda: self.post(line, f"{head}{len(body)}\r\n\r\n".encode() + body), seconds)
        line.close()
        return ms

    def post(self, line, request):
        status = ask(line, request)
        assert status == 200, status


def flops(sides, lengths):
    line = [sides.program, "bench", "--model", sides.file, "--lengths", ",".join(map(str, lengths)), "--repeat", "1",
            "--json"]
    said = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    return said["gflops"] * said["median_ms"] * 1e6


def blocks(args, sides, case):
    turns, rows, tried = sides.turns(case), [], {}
    for label in turns:
        tried.setdefault(label.split(",")[0], {})[label] = turns[label](0)
    for times in tried.values():  # of ways to feed a peer, those far behind the best are left out
        for label in times:
            if times[label] > 1.2 * min(times.values()):
                del turns[label]
    for _ in range(args.blocks):
        row = {}
        for label, run in turns.items():
            kind, ms = label.split(",")[0], run(args.seconds)
            row[kind] = min(ms, row.get(kind, ms))
        rows.append(row | peers.peaks(args))
    return rows


def ratio(rows, a, b):
    return statistics.median(r[a] / r[b] for r in rows)


def show(name, case, rows, work, lengths):
    least = {k: min(r[k] for r in rows) for k in rows[0]}
    peak = lambda slot: max(v for r in rows for k, v in r.items() if k.startswith("peak") and k.endswith(slot))
    limit = {p: work / peak(slot) / 1e6 for p, slot in (("fp32", "gemm_f32"), ("int8", "gemm_i8"))}
    for torch, mine in (("pipeline", ["ours fp32", "ours int8", "http fp32", "http int8"]),
                        ("bare torch", ["bare ours fp32", "bare ours int8"])):
        cells = [f"{k} {least[k]:.3f} = {ratio(rows, torch, k):.1f}x" for k in mine]
        cells += [""] * (4 - len(cells)) + [", ".join(f"{p} {ms:.3f} = {least[torch] / ms:.0f}x"
                                                      for p, ms in limit.items())]
        print(f"| {name}, {case} ({sum(lengths)} tokens) | {torch} {least[torch]:.2f} | " + " | ".join(cells) + " |",
              flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("work")
    p.add_argument("--models", default="bus-ner,minilm-ner,bert-base")
    p.add_argument("--cases", default="query,long,mixed 32")
    p.add_argument("--blocks", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.2)
    args = p.parse_args()
    args.program, failed = os.path.abspath(args.program), 0
    warnings.filterwarnings("ignore")
    before = peers.stolen()
    print("| work | torch, ms | ours, ms = times faster | | | | limit by arithmetic, ms = most that is possible |")
    print("|---|---|---|---|---|---|---|")
    kept = {}
    for name in args.models.split(","):
        sides = Sides(args, name)
        try:
            for case in args.cases.split(","):
                rows = kept[name, case] = blocks(args, sides, case)
                show(name, case, rows, flops(sides, sides.lengths(case)), sides.lengths(case))
        finally:
            sides.close()
    after = peers.stolen()
    print(f"\nload {os.getloadavg()[0]:.2f}, steal {100 * (after[0] - before[0]) / max(1, after[1] - before[1]):.2f} %")
    for mine, least in PROMISED.items() if ("bus-ner", "query") in kept else []:
        found = ratio(kept["bus-ner", "query"], "pipeline", mine)
        failed += judge(found >= least, f"the bundled model, one query, {mine}: {found:.1f} times the pipeline, "
                                        f"promised {least}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
