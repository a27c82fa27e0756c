#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scale.py PACKAGE FOLDER [ENGINE...] - what tables cost beside the model, in CPU microseconds a row.

Alone: CPU time of `map` on one thread, Arrow in and out, less the model's own (`bench` on the same number of tokens), and the
same with JSON lines. In an engine (stream duckdb polars daft spark ray): CPU time of all that
tests/engines/engines.py starts on 50,000 and on 200,000 rows; the slope between them leaves out what starting costs. Best of ROUNDS
(default 3), in turns: only CPU time counts, on a machine that does other things, too. Needs pyarrow; engines that are not
installed are left out."""
import json
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINES = os.path.join(HERE, "..", "tests", "engines", "engines.py")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
FEW, MANY = 50_000, 200_000


def own_group():
    """A control group of its own, which counts every process that an engine starts, also those nobody waits for: the folder and
    how to read its CPU seconds. Needs root; without, what was waited for counts."""
    for root, file in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat")):
        group = f"{root}/scale-{os.getpid()}"
        try:
            os.makedirs(group, exist_ok=True)
            text = open(f"{group}/{file}").read().split()
            return group, lambda: (int(open(f"{group}/{file}").read()) / 1e9 if len(text) == 1
                                   else int(open(f"{group}/{file}").read().split()[1]) / 1e6)
        except OSError:
            continue
    return None, None


def cpu(arguments):
    """CPU seconds of a process and of all that it started, and what it printed."""
    group, used = own_group()
    def count():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used() if group else usage.ru_utime + usage.ru_stime
    before = count()
    enter = (lambda: open(f"{group}/cgroup.procs", "w").write(str(os.getpid()))) if group else None
    done = subprocess.run(arguments, capture_output=True, preexec_fn=enter)
    if done.returncode == 77:
        return None, done
    if done.returncode:
        sys.exit(f"{arguments}: status {done.returncode}: {done.stderr.decode()[-500:]}")
    return count() - before, done


def lines_of(folder):
    """The texts of FOLDER/in.arrow as JSON lines, and how many rows it has."""
    import pyarrow as pa
    t = pa.ipc.open_file(folder + "/in.arrow").read_all()
    with open(folder + "/in.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in t.to_pylist())
    return t.num_rows


def alone(package, folders):
    ways = {"arrow": ["in.arrow", "--output-format", "arrow"], "jsonl": ["in.jsonl"],
            "jsonl to arrow": ["in.jsonl", "--output-format", "arrow"]}
    best = {}
    for _ in range(ROUNDS):
        for name, (source, *more) in ways.items():
            for rows, folder in folders.items():
                command = [package, "map", f"{folder}/{source}", "--threads", "1", "--errors", "keep", *more]
                with open(os.devnull, "w") as nothing:
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    subprocess.run(command, stdout=nothing, stderr=nothing, check=True)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                best[name, rows] = min(best.get((name, rows), 1e9), seconds)
    for name in ways:
        slope = (best[name, MANY] - best[name, FEW]) / (MANY - FEW) * 1e6
        print(f"map {name:<15} {slope:8.1f} us a row ({best[name, FEW]:.2f} s, {best[name, MANY]:.2f} s)")


def in_engine(engine, package, folders):
    best = {}
    for _ in range(ROUNDS):
        for rows, folder in folders.items():
            seconds, done = cpu([sys.executable, ENGINES, engine, package, folder, "unchecked"])
            if seconds is None:
                return print(f"{engine:<19} left out: {done.stdout.decode().strip()}")
            best[rows] = min(best.get(rows, 1e9), seconds)
    slope = (best[MANY] - best[FEW]) / (MANY - FEW) * 1e6
    print(f"{engine:<19} {slope:8.1f} us a row ({best[FEW]:.2f} s, {best[MANY]:.2f} s)")


def main():
    package, folder, *engines = sys.argv[1:]
    folders = {rows: f"{folder}/rows-{rows}" for rows in (FEW, MANY)}
    for rows, path in folders.items():
        if not os.path.exists(path + "/alone.arrow"):
            subprocess.run([sys.executable, ENGINES, "data", package, path, str(rows)], check=True, capture_output=True)
        lines_of(path)
    alone(package, folders)
    bench = subprocess.run([package, "bench", "--threads", "1", "--json"], capture_output=True, text=True)
    print("bench, for the model's own share:", bench.stdout.strip()[:400] or bench.stderr[-200:])
    for engine in engines:
        in_engine(engine, package, folders)


if __name__ == "__main__":
    main()
