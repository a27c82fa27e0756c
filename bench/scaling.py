# SPDX-License-Identifier: Apache-2.0
"""scaling.py - how much of what all cores of a machine can do together one process does.

    python bench/scaling.py build/bench MODEL.onnx [--precisions bf16,int8] [--rounds 3] [--texts 512]

Mixed texts in one batch, milliseconds:
  alone      one thread, on one core after the other with nothing else running: the best core and the median
  at once    as many processes as cores, one thread each, at the same time, with nothing in common: what this machine's
             cores give to this work; shown as the time in which all of them together do one batch
  threads    one process with a thread for every core
The peak loop (products in registers, no memory) runs alone and on all cores before each round. Scaling is one over
many; the part of the peak loop's scaling is given for the median core and for the best one, since cores that are
shared with strangers differ by a factor of two, which a loop without memory does not notice.
"""
import argparse
import os
import statistics
import subprocess

import peers

CORES = sorted(os.sched_getaffinity(0))
SLOT = {"fp32": "gemm_f32", "bf16": "gemm_bf16", "int8": "gemm_i8"}


def start(core, command, text=None):
    on = ["taskset", "-c", str(core)] if core is not None else []
    process = subprocess.Popen([*on, *command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(text or "")
    process.stdin.close()
    return process


def peaks(processes):
    """The best peak of every slot, added over processes."""
    total = {}
    for process in processes:
        best = {}
        for line in process.stdout.read().splitlines():
            _, slot, rate = line.split()
            best[slot] = max(best.get(slot, 0), float(rate))
        total = {slot: total.get(slot, 0) + rate for slot, rate in best.items()}
    return total


def last(process):
    return float(process.stdout.read().split()[-1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bench", help="folder of turns and kernels")
    p.add_argument("model")
    p.add_argument("--precisions", default="bf16,int8")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--texts", type=int, default=512)
    p.add_argument("--seconds", type=float, default=1)
    a = p.parse_args()
    lengths = ",".join(map(str, (peers.mixed() * (a.texts // 32 + 1))[:a.texts]))
    turns = lambda core, threads, precision, seconds: start(
        core, [f"{a.bench}/turns", a.model, str(threads), precision], f"{seconds} {lengths}\n")
    loop = lambda core: start(core, [f"{a.bench}/kernels", "peaks", "0.1"])
    alone_peaks = [peaks([loop(core)]) for core in CORES]
    alone = {precision: [last(turns(core, 1, precision, 0.1)) for core in CORES]
             for precision in a.precisions.split(",")}
    for precision, times in alone.items():
        print(f"{precision}: {a.texts} texts, one thread alone, core by core: {' '.join(f'{t:.0f}' for t in times)} ms")
    for _ in range(a.rounds):
        together = peaks([loop(core) for core in CORES])
        for precision, times in alone.items():
            peak = together[SLOT[precision]] / statistics.median(one[SLOT[precision]] for one in alone_peaks)
            at_once = [last(process) for process in [turns(core, 1, precision, a.seconds) for core in CORES]]
            machine = 1 / sum(1 / t for t in at_once)
            ours = last(turns(None, len(CORES), precision, a.seconds))
            middle, best = statistics.median(times) / ours, min(times) / ours
            print(f"{precision}: {len(CORES)} threads {ours:.1f} ms, {len(CORES)} processes at once {machine:.1f} "
                  f"({machine / ours:.2f}); scaling {middle:.1f} from the median core, {best:.1f} from the best, peak "
                  f"loop {peak:.1f}: {middle / peak:.2f} and {best / peak:.2f} of it", flush=True)


main()
