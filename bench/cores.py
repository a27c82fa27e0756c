# SPDX-License-Identifier: Apache-2.0
"""cores.py - one process that serves on many cores beside several processes on the same cores.

    python3 bench/cores.py PROGRAM FOLDER --bus examples/bus-ner --minilm CONFIG_AND_TOKENIZER

Models are built in FOLDER: MiniLM's shape with random weights (int8, bf16) and the bundled one (int8). A way to serve
is NxT, N processes of T threads each, perhaps with options behind it and another program in front:

    --ways 7x2,1x14,"1x14 --replicas 7",old=1x14 --program old=PATH

Servers have the CPUs of --cpus, clients (bench/load, one process on each) those of --load-cpus. Every way has its turn
in each round; the figure is the median round's. The part is of the first way. --split says where the time went: what
the servers' own histograms say (mean and 99 of 100, milliseconds; bounds double, so the second is within its
bucket), how long their threads waited for a CPU, how often they slept for a request, and how busy the clients were (near 1, it is they who are measured).
"""
import argparse
import array
import json
import os
import random
import re
import shlex
import signal
import statistics
import struct
import subprocess
import time
import urllib.request


def minilm(folder, config):
    """Random weights under the names of a BertModel."""
    import numpy as np
    draw = np.random.default_rng(1)
    c = json.load(open(os.path.join(config, "config.json")))
    hidden, inner = c["hidden_size"], c["intermediate_size"]
    shape = {f"embeddings.{k}_embeddings.weight": (n, hidden) for k, n in (
        ("word", c["vocab_size"]), ("position", c["max_position_embeddings"]), ("token_type", c["type_vocab_size"]))}
    norm = lambda name: {f"{name}.LayerNorm.weight": (hidden,), f"{name}.LayerNorm.bias": (hidden,)}
    dense = lambda name, to, given: {f"{name}.weight": (to, given), f"{name}.bias": (to,)}
    shape |= norm("embeddings")
    for i in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in "query", "key", "value":
            shape |= dense(f"{layer}.attention.self.{part}", hidden, hidden)
        shape |= dense(f"{layer}.attention.output.dense", hidden, hidden) | norm(f"{layer}.attention.output")
        shape |= dense(f"{layer}.intermediate.dense", inner, hidden)
        shape |= dense(f"{layer}.output.dense", hidden, inner) | norm(f"{layer}.output")
    shape |= dense("pooler.dense", hidden, hidden)
    header, blobs, at = {}, [], 0
    for name, dims in shape.items():
        one = name.endswith("LayerNorm.weight")
        values = np.ones(dims) if one else draw.normal(0, 0.05, dims)
        blobs.append(values.astype("<f4").tobytes())
        header[name] = {"dtype": "F32", "shape": list(dims), "data_offsets": [at, at + len(blobs[-1])]}
        at += len(blobs[-1])
    os.makedirs(folder, exist_ok=True)
    for file in "config.json", "tokenizer.json", "tokenizer_config.json":
        open(os.path.join(folder, file), "wb").write(open(os.path.join(config, file), "rb").read())
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(blobs)


def build(args, name, source, task, precision):
    package = os.path.join(args.folder, f"{name}-{precision}.encoderfile")
    if os.path.exists(package):
        return package
    config = os.path.join(args.folder, f"{name}-{precision}.yml")
    with open(config, "w") as f:
        f.write(f"encoderfile:\n  name: {name}\n  path: {os.path.abspath(source)}\n  model_type: {task}\n")
    subprocess.run([args.main, "build", "-f", config, "-o", package, "--precision", precision, "--no-report"],
                   check=True, stdout=subprocess.DEVNULL)
    return package


WORDS = "the of a to in is you that it he was for on are as with his they at be this have from or one had by word but not"


def short_texts(n):
    pick = random.Random(1)
    return [" ".join(pick.choice(WORDS.split()) for _ in range(pick.randint(9, 15))) for _ in range(n)]


def mixed_texts(n):
    """As many words as real texts have: many short ones, a few long ones."""
    pick = random.Random(2)
    words = [min(max(round(2.718 ** pick.gauss(3.2, 0.6)) - 2, 4), 126) for _ in range(n)]
    return [" ".join(pick.choice(WORDS.split()) for _ in range(k)) for k in words]


def bodies(args, kind):
    path = os.path.join(args.folder, kind + ".txt")
    queries = [" ".join(json.loads(line)["words"]) for line in open(os.path.join(args.bus, "heldout.jsonl"))]
    mixed = mixed_texts(32 * 16)
    lists = {"short": [[t] for t in short_texts(256)], "bus": [[q] for q in queries],
             "batch": [mixed[i * 32:i * 32 + 32] for i in range(16)]}
    with open(path, "w") as f:
        f.writelines(json.dumps({"inputs": texts}) + "\n" for texts in lists[kind])
    return path


class Servers:
    def __init__(self, args, way, package):
        programs = dict(p.split("=", 1) for p in args.programs)
        name, rest = way.split("=", 1) if re.match(r"\w+=", way) else (None, way)
        size, *options = shlex.split(rest)
        count, threads = map(int, size.split("x"))
        command = ["taskset", "-c", args.cpus, programs.get(name, args.main), "serve", "--model", package,
                   "--http-hostname", "127.0.0.1", "--http-port", "0", "--disable-grpc", "--threads", str(threads), *options]
        self.processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                          for _ in range(count)]
        self.ports = [self.port(p) for p in self.processes]

    def port(self, process):
        for line in process.stderr:
            found = re.search(r"http://127.0.0.1:(\d+)", line)
            if found:
                return found[1]
        raise SystemExit("a server did not start")

    def used(self):
        """CPU seconds of each thread, by its number."""
        seconds = {}
        for process in self.processes:
            for thread in sorted(os.listdir(f"/proc/{process.pid}/task"), key=int):
                fields = open(f"/proc/{process.pid}/task/{thread}/stat").read().rsplit(")", 1)[1].split()
                seconds[int(thread)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return seconds

    def waited(self):
        """Seconds for which each thread could have run and had no CPU."""
        return {int(t): int(open(f"/proc/{p.pid}/task/{t}/schedstat").read().split()[1]) / 1e9
                for p in self.processes for t in os.listdir(f"/proc/{p.pid}/task")}

    def switches(self):
        """How often threads have gone to sleep."""
        return sum(int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", open(f"/proc/{p.pid}/task/{t}/status").read())[1])
                   for p in self.processes for t in os.listdir(f"/proc/{p.pid}/task"))

    def meters(self):
        """Of all processes together: histogram -> {bound: count, "sum": seconds}."""
        total = {}
        for port in self.ports:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
            for name, bound, value in re.findall(r'^encoderfile_(\w+)_bucket\{le="([^"]+)"\} (\S+)', text, re.M):
                total.setdefault(name, {}).setdefault(float(bound), 0)
                total[name][float(bound)] += float(value)
            for name, value in re.findall(r"^encoderfile_(\w+)_sum (\S+)", text, re.M):
                total.setdefault(name, {}).setdefault("sum", 0)
                total[name]["sum"] += float(value)
        return total

    def end(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.communicate()
            if process.returncode:
                raise SystemExit(f"a server ended with {process.returncode}")


def split(before, after):
    """Each histogram's mean and 99 of 100 between two readings, in ms (or a count)."""
    lines = []
    for name in after:
        rose = {b: after[name][b] - before[name][b] for b in after[name]}
        total, least = rose.pop("sum"), 0.0
        n = rose[float("inf")]
        if not n:
            continue
        done = 0
        for bound in sorted(rose):
            if rose[bound] >= 0.99 * n:
                part = (0.99 * n - done) / max(rose[bound] - done, 1)
                break
            least, done = bound, rose[bound]
        high = least + (min(bound, 2 * least or bound) - least) * part
        scale = 1e3 if name.endswith("seconds") else 1
        lines.append(f"{name.removesuffix('_seconds')} {total / n * scale:.2f} {high * scale:.2f}")
    return "; ".join(lines)


def load(args, ports, file, clients, seconds):
    cpus = args.load_cpus.split(",")
    running = []
    for i, cpu in enumerate(cpus):
        share = clients // len(cpus) + (i < clients % len(cpus))
        turned = ports[i * len(ports) // len(cpus):] + ports[:i * len(ports) // len(cpus)]
        if share == 0:
            continue
        running.append(subprocess.Popen(["taskset", "-c", cpu, args.load, ",".join(turned), "/predict", file, str(share),
                                         str(seconds), "20", os.path.join(args.folder, f"took{i}")], stdout=subprocess.PIPE, text=True))
    results = [json.loads(p.communicate()[0]) for p in running]
    took = array.array("d")
    for i in range(len(running)):
        took.frombytes(open(os.path.join(args.folder, f"took{i}"), "rb").read())
    took = sorted(took)
    return {"rps": sum(r["rps"] for r in results), "errors": sum(r["errors"] for r in results),
            "mean": sum(took) / len(took) * 1e3, "p50": took[len(took) // 2] * 1e3,
            "p90": took[len(took) * 9 // 10] * 1e3, "p99": took[len(took) * 99 // 100] * 1e3,
            "cpu": max(r["cpu"] for r in results)}


def measure(args, title, package, kind, clients):
    ways = args.ways.split(",")
    file = bodies(args, kind)
    rounds = {way: [] for way in ways}
    for _ in range(args.rounds):
        for way in ways:
            servers = Servers(args, way, package)
            load(args, servers.ports, file, clients, args.warm)
            before, waited, meters, slept = servers.used(), servers.waited(), servers.meters(), servers.switches()
            rounds[way].append(load(args, servers.ports, file, clients, args.seconds))
            after, late = servers.used(), servers.waited()
            rounds[way][-1]["waited"] = {t: (late[t] - waited.get(t, 0)) / args.seconds for t in after}
            rounds[way][-1]["sleeps"] = (servers.switches() - slept) / args.seconds / rounds[way][-1]["rps"]
            rounds[way][-1]["split"] = split(meters, servers.meters())
            rounds[way][-1]["used"] = {t: (after[t] - before.get(t, 0)) / args.seconds for t in after}
            servers.end()
    print(f"{title}, {kind}, {clients} clients")
    first = None
    for way in ways:
        r = sorted(rounds[way], key=lambda r: r["rps"])[len(rounds[way]) // 2]
        first = first or r["rps"]
        print(f"  {way:28} {r['rps']:9.0f} a second  part {r['rps'] / first:5.2f}  mean {r['mean']:7.2f} ms  "
              f"p99 {r['p99']:7.2f} ({r['p99'] / r['mean']:4.2f})" + (f"  ERRORS {r['errors']}" if r["errors"] else ""),
              flush=True)
        if args.split:
            print(f"    p50 {r['p50']:.2f}, p90 {r['p90']:.2f}; {r['split']}; without a CPU {sum(r['waited'].values()):.2f}; "
                  f"sleeps {r['sleeps']:.2f}; clients {r['cpu']:.2f}")
        if args.used:
            print(f"    CPUs {sum(r['used'].values()):.1f}: " + " ".join(f"{u:.2f}+{r['waited'][t]:.2f}" for t, u in r["used"].items() if u > 0.02))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("main", metavar="PROGRAM")
    p.add_argument("folder")
    p.add_argument("--bus", default="examples/bus-ner")
    p.add_argument("--minilm", required=True, help="config.json, tokenizer.json, tokenizer_config.json")
    p.add_argument("--load", default="build/bench/load")
    p.add_argument("--program", dest="programs", action="append", default=[], help="NAME=PATH")
    p.add_argument("--ways", default="7x2,1x14")
    p.add_argument("--cases", default="int8:short:64,int8:short:256,bf16:short:64,bf16:short:256,bus:bus:64,bus:bus:256,"
                   "int8:batch:64", help="MODEL:TEXTS:CLIENTS")
    p.add_argument("--cpus", default="0-13")
    p.add_argument("--load-cpus", default="14,15")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--warm", type=float, default=0.5)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--split", action="store_true", help="where the time went")
    p.add_argument("--used", action="store_true", help="of each thread, oldest first, the CPU time, and that without a CPU")
    args = p.parse_args()
    began = time.time()
    folder = os.path.join(args.folder, "minilm")
    if not os.path.exists(folder):
        minilm(folder, args.minilm)
    for case in args.cases.split(","):
        model, kind, clients = case.split(":")
        package = (build(args, "bus", args.bus, "token_classification", "int8") if model == "bus" else
                   build(args, "minilm", folder, "sentence_embedding", model))
        measure(args, model, package, kind, int(clients))
    print(f"{time.time() - began:.0f} s")


main()
