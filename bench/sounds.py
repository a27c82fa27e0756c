#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sounds.py - models of sounds beside ONNX Runtime, OpenVINO and PyTorch: one thread, CPU time, in turns.

    make build/bench/sounds build/encoderfile && python bench/sounds.py [--turns 5] [--model w2v] [--precision bf16] WORK_FOLDER

Makes wav2vec2-base (5 seconds) and AST (10 seconds) with random weights, exports them by this program, and gives the
same file to all; PyTorch runs the checkpoint. Prints the least CPU time of each in milliseconds, and the median over
the turns of each one's time over ours in that turn: above 1 this program is faster. Peers that are not installed are
left out. Needs torch and transformers; onnxruntime and openvino if they are to be compared."""
import argparse
import os
import statistics
import subprocess
import time

import numpy as np
import torch
import transformers as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = {
    "w2v": ("wav2vec2-base, 5 s", tf.Wav2Vec2ForCTC, tf.Wav2Vec2Config, {}, (80000,)),
    "ast": ("AST, 10 s", tf.ASTForAudioClassification, tf.ASTConfig, dict(num_labels=527), (1024, 128)),
}


def numbers(shape):
    n = int(np.prod(shape))
    return ((np.arange(n, dtype=np.int64) * 7919 % 1000) / 500 - 1).astype(np.float32).reshape(1, *shape)


class Ours:
    def __init__(self, path, shape, precision):
        self.line = "1 " + ",".join(map(str, shape)) + "\n"
        self.process = subprocess.Popen([f"{ROOT}/build/bench/sounds", path, precision], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def time(self):
        self.process.stdin.write(self.line)
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])


class Timed:
    def time(self):
        start = time.process_time()
        self.run()
        return (time.process_time() - start) * 1e3


class OnnxRuntime(Timed):
    def __init__(self, path, x):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.run = lambda: session.run(None, {session.get_inputs()[0].name: x})


class OpenVino(Timed):
    def __init__(self, path, x, precision):
        import openvino
        model = openvino.Core().compile_model(path, "CPU", {
            "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32" if precision == "fp32" else "bf16"})
        request = model.create_infer_request()
        self.run = lambda: request.infer([x])


class Torch(Timed):
    def __init__(self, model, x):
        given = torch.from_numpy(x)
        self.run = lambda: model(given)


def peers(model, path, x, precision):
    for name, make in (("ONNX Runtime", lambda: OnnxRuntime(path, x)), ("OpenVINO", lambda: OpenVino(path, x, precision)),
                       ("PyTorch", lambda: Torch(model, x))):
        try:
            yield name, make()
        except ImportError:
            pass


def compare(o, key):
    title, model_class, config, options, shape = MODELS[key]
    torch.manual_seed(1)
    model = model_class(config(**options)).eval()
    folder = os.path.join(o.work, key)
    path = os.path.join(folder + ".onnx18", "model.onnx")
    if not os.path.exists(path):
        model.save_pretrained(folder)
        subprocess.run([f"{ROOT}/build/encoderfile", "export", folder, folder + ".onnx18"], check=True, capture_output=True)
    x = numbers(shape)
    with torch.no_grad():
        all_of = dict(peers(model, path, x, o.precision))
        ours = Ours(path, shape, o.precision)
        for p in [ours, *all_of.values()]:
            p.time()
        turns = [(ours.time(), {n: p.time() for n, p in all_of.items()}) for _ in range(o.turns)]
    print(f"| {title}, {o.precision} | this program | {min(t[0] for t in turns):.0f} ms | |")
    for name in all_of:
        ratio = statistics.median(t[1][name] / t[0] for t in turns)
        print(f"| | {name} | {min(t[1][name] for t in turns):.0f} ms | {ratio:.2f} |", flush=True)
    ours.process.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16", "int8"])
    parser.add_argument("work")
    o = parser.parse_args()
    torch.set_num_threads(1)
    tf.logging.set_verbosity_error()
    os.makedirs(o.work, exist_ok=True)
    print("| model | program | CPU time | over ours |\n|---|---|---|---|")
    for key in [o.model] if o.model else MODELS:
        compare(o, key)


if __name__ == "__main__":
    main()
