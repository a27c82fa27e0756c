#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pictures.py - decoding and resizing beside Pillow, one thread, CPU time, in turns.

    make build/bench/pictures && python bench/pictures.py [--turns 9] [PICTURE ...]

Without pictures it draws one of 1600 x 1200 and saves it in every format. Prints milliseconds of both (the median of the turns) and the
median of Pillow's time over ours in one turn: above 1 this program is faster."""
import argparse
import io
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
from PIL import Image

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = [((224, 224), "bilinear"), ((224, 224), "bicubic"), ((800, 600), "bilinear"), ((2000, 1500), "bicubic"), ((384, 384), "lanczos")]
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3}


class Ours:
    def __init__(self):
        self.process = subprocess.Popen([f"{ROOT}/build/bench/pictures"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def time(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def pillow(work, times):
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def turns(name, count, times, ours, theirs):
    pairs = [(ours(times), pillow(theirs, times)) for _ in range(count)]
    a, b = (statistics.median(p[i] for p in pairs) * 1e3 for i in (0, 1))
    ratio = statistics.median(t / o for o, t in pairs)
    print(f"{name:34} {a:9.2f} ms {b:9.2f} ms {ratio:7.2f}", flush=True)


def drawn(folder):
    y, x = np.mgrid[0:1200, 0:1600]
    a = np.stack([128 + 100 * np.sin(x / 37 + y / 53), 128 + 90 * np.cos(x / 29 - y / 71), (x + y) / 11 % 256], -1)
    im = Image.fromarray(np.clip(a + np.random.default_rng(1).normal(0, 6, a.shape), 0, 255).astype(np.uint8))
    for name, options in [("base.jpg", dict(quality=88)), ("progressive.jpg", dict(quality=88, progressive=True)), ("plain.png", {}),
                          ("lossy.webp", dict(quality=80)), ("lossless.webp", dict(lossless=True, method=1)), ("plain.bmp", {})]:
        im.save(f"{folder}/{name}", **options)
        yield f"{folder}/{name}"
    im.quantize(200).save(f"{folder}/plain.gif")
    yield f"{folder}/plain.gif"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--turns", type=int, default=9)
    options.add_argument("--times", type=int, default=3)
    options.add_argument("pictures", nargs="*")
    o = options.parse_args()
    ours = Ours()
    print(f"{'':34} {'ours':>12} {'Pillow':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        paths = o.pictures or list(drawn(folder))
        for path in paths:
            with open(path, "rb") as f:
                data = f.read()
            turns("decode " + os.path.basename(path), o.turns, o.times, lambda n: ours.time("decode", path, n),
                  lambda: Image.open(io.BytesIO(data)).convert("RGB"))
        im = Image.open(paths[0]).convert("RGB")
        for (w, h), name in SIZES:
            turns(f"resize {im.width}x{im.height} to {w}x{h}, {name}", o.turns, o.times,
                  lambda n: ours.time("resize", paths[0], n, w, h, FILTERS[name]), lambda: im.resize((w, h), FILTERS[name]))


if __name__ == "__main__":
    main()
