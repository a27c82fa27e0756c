# SPDX-License-Identifier: Apache-2.0
"""versions.py OLD NEW MODEL [ROUNDS] - two builds of this program in turns, on one machine.

OLD and NEW are checkouts in which `make build/encoderfile build/bench/turns build/bench/load` was run; MODEL is a model folder. For fp32
and int8: a run of the engine (1 row of 16 and of 128 tokens, 32 rows of mixed lengths; one thread), requests a second
of 32 clients, from start to the first answer, resident memory of the server under that load. Prints the best of all
rounds for each build and old / new (above 1: new is better). Other work on the machine shows as steal and load.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

MIXED = [8 + (i * 37) % 120 for i in range(32)]
RUNS = {"1 x 16": [16], "1 x 128": [128], "32 mixed": MIXED}


def package(checkout, model, precision, folder):
    """Each version packs for itself."""
    path = os.path.join(folder, f"{os.path.basename(checkout)}-{precision}.encoderfile")
    yml = path + ".yml"
    with open(yml, "w") as f:
        f.write(f"encoderfile:\n  name: turns\n  path: {model}\n  model_type: embedding\n"
                f"  output_path: {path}\n  precision: {precision}\n")
    done = subprocess.run([f"{checkout}/build/encoderfile", "build", "-f", yml], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return path


class Engine:
    def __init__(self, checkout, path):
        self.p = subprocess.Popen([f"{checkout}/build/bench/turns", path, "1"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()

    def best(self, lengths, seconds):
        self.p.stdin.write(f"{seconds} {','.join(map(str, lengths))}\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline().split()[0])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def first_answer(path):
    begin = time.perf_counter()
    subprocess.run([path, "infer", "a short text"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def served(checkout, path, bodies, seconds):
    port = free_port()
    server = subprocess.Popen([path, "serve", "--http-port", str(port), "--http-hostname", "127.0.0.1", "--disable-grpc",
                               "--log-level", "error"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.01)
    out = subprocess.run([f"{checkout}/build/bench/load", str(port), "/predict", bodies, "32", str(seconds), "50"],
                         capture_output=True, text=True).stdout
    with open(f"/proc/{server.pid}/status") as f:
        resident = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024
    server.send_signal(signal.SIGTERM)
    server.wait()
    r = json.loads(out)
    return r["requests"] / r["seconds"], resident


def main():
    old, new, model = (os.path.abspath(p) for p in sys.argv[1:4])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    sides = {"old": old, "new": new}
    with tempfile.TemporaryDirectory() as folder:
        bodies = os.path.join(folder, "bodies")
        with open(bodies, "w") as f:
            for n in MIXED:
                f.write(json.dumps({"inputs": [" ".join(["word"] * max(n // 8, 1))]}) + "\n")
        for precision in ("fp32", "int8"):
            path = {s: package(c, model, precision, folder) for s, c in sides.items()}
            engine = {s: Engine(c, path[s]) for s, c in sides.items()}
            best = {}

            def note(what, side, value, larger=False):
                key = (what, larger)
                was = best.setdefault(key, {}).get(side)
                best[key][side] = value if was is None else (max if larger else min)(was, value)

            for r in range(rounds):
                for side in (list(sides) if r % 2 else list(sides)[::-1]):
                    for name, lengths in RUNS.items():
                        note(f"{name}, ms", side, engine[side].best(lengths, 1))
                    note("start to first answer, ms", side, min(first_answer(path[side]) for _ in range(5)) * 1e3)
                    rate, resident = served(new, path[side], bodies, 3)
                    note("requests/s, 32 clients", side, rate, True)
                    note("resident under load, MB", side, resident)
            for e in engine.values():
                e.p.kill()
            for (what, larger), v in best.items():
                ratio = v["new"] / v["old"] if larger else v["old"] / v["new"]
                print(f"{precision} {what}: old {v['old']:.3f}, new {v['new']:.3f}, old/new {ratio:.3f}", flush=True)
    print("load", open("/proc/loadavg").read().split()[0])


if __name__ == "__main__":
    main()
