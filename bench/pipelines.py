# SPDX-License-Identifier: Apache-2.0
"""pipelines.py PROGRAM WORK - seven pipelines end to end against transformers on PyTorch, one input at a time.

    python bench/pipelines.py build/encoderfile WORK [--only question-answering,object-detection]   # transformers 4.57, Pillow

A text, a picture's file or samples in, the pipeline's result out; ours over HTTP (`POST /`, one connection), one thread on both
sides. Models of the usual sizes with random weights. Three blocks, everybody in turns; a figure is the best of its block, a ratio the
median of the three. The limit is what arithmetic allows: the products of the model (torch's own count) at the peak rate of one core,
measured in the same run; PyTorch's time over it is the largest ratio that anyone could reach there. --cpu, for a machine that others use:
the CPU time of Python, and that of all threads of our server, instead of wall time; it has no time on the wire in it.
"""
import argparse
import io
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
import warnings

import models
import peers
from forty import best, ratio
from serving import ask

SPECIAL = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
QUERY = "AC sleeper bus from Bangalore to Mumbai tomorrow"
CONTEXT = " ".join(f"The bus to town {i} leaves at {5 + i % 12} and the train at noon." for i in range(8))
WORDS = [w for i in range(20) for w in ("Total", f"{i}.40", "Thames")]
BOXES = [[100 + 200 * (i % 3), 30 + 40 * (i // 3), 250 + 200 * (i % 3), 60 + 40 * (i // 3)] for i in range(len(WORDS))]
RATE, SECONDS, VOCABULARY = 16000, 5, 30522


def picture():
    import numpy as np
    from PIL import Image
    r = np.random.default_rng(1)
    small = Image.fromarray(r.integers(0, 255, (60, 80, 3), dtype=np.uint8))
    file = io.BytesIO()
    small.resize((640, 480)).save(file, "JPEG", quality=90)
    return file.getvalue()


def sound():
    import numpy as np
    t = np.arange(RATE * SECONDS) / RATE
    return (0.3 * np.sin(440 * t) + 0.1 * np.random.default_rng(1).standard_normal(t.size)).astype(np.float32)


def wav(samples):
    data = (samples * 32767).astype("<i2").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16, b"data", len(data))
    return head + data


def image_settings(kind, height, width):
    half = [.5, .5, .5]
    return {"image_processor_type": kind, "do_resize": True, "size": {"height": height, "width": width}, "do_rescale": True,
            "do_normalize": True, "image_mean": half, "image_std": half, "do_pad": False}


def text(value):
    return "application/json", json.dumps({"inputs": value, "parameters": {}}).encode()


def table(tf):
    """task -> (model, settings of pictures or sounds, input of the pipeline, type and body of our request)"""
    jpeg, samples = picture(), sound()
    distil, bert = tf.DistilBertConfig(vocab_size=VOCABULARY), tf.BertConfig(vocab_size=VOCABULARY, num_labels=9)
    pair, page = {"question": "When does the train leave?", "context": CONTEXT}, {"question": "What is the total?", "word_boxes": list(zip(WORDS, BOXES))}
    yolos = tf.YolosConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768, image_size=[512, 672], use_mid_position_embeddings=False,
                           num_labels=91)
    wav2vec2 = {"feature_extractor_type": "Wav2Vec2FeatureExtractor", "do_normalize": True, "feature_size": 1, "padding_value": 0.0,
                "sampling_rate": RATE, "return_attention_mask": False}
    return {
        "text-classification": (lambda: tf.DistilBertForSequenceClassification(distil), None, QUERY, text(QUERY)),
        "token-classification": (lambda: tf.BertForTokenClassification(bert), None, QUERY, text(QUERY)),
        "question-answering": (lambda: tf.DistilBertForQuestionAnswering(distil), None, pair, text(pair)),
        "image-classification": (lambda: tf.ViTForImageClassification(tf.ViTConfig(num_labels=1000)), image_settings("ViTImageProcessor", 224, 224),
                                 jpeg, ("image/jpeg", jpeg)),
        "object-detection": (lambda: tf.YolosForObjectDetection(yolos), image_settings("YolosImageProcessor", 512, 672), jpeg,
                             ("image/jpeg", jpeg)),
        "audio-classification": (lambda: tf.Wav2Vec2ForSequenceClassification(tf.Wav2Vec2Config(num_labels=12)), wav2vec2, samples,
                                 ("audio/wav", wav(samples))),
        "document-question-answering": (lambda: tf.LayoutLMForQuestionAnswering(tf.LayoutLMConfig(vocab_size=VOCABULARY)), None, page, text({**page, "word_boxes": [list(p) for p in page["word_boxes"]]})),
    }


def folder_of(work, task, make, settings):
    """Weights, configuration and processor as transformers has them."""
    folder = f"{work}/pipelines/{task}"
    if os.path.exists(f"{folder}/done"):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    make().save_pretrained(folder)
    if settings:
        with open(f"{folder}/preprocessor_config.json", "w") as f:
            json.dump(settings, f)
    else:
        models.tokenizer(f"{folder}/tokenizer.json")
        with open(f"{folder}/tokenizer_config.json", "w") as f:
            json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "model_input_names": ["input_ids", "attention_mask"], **SPECIAL}, f)
    open(f"{folder}/done", "w").close()
    return folder


def theirs(tf, task, folder, given):
    """A call of the pipeline, and the model in it."""
    pipe = tf.pipeline(task, model=folder, device="cpu")
    if isinstance(given, bytes):
        from PIL import Image
        return lambda: pipe(Image.open(io.BytesIO(given))), pipe.model
    if task == "audio-classification":
        return lambda: pipe({"raw": given, "sampling_rate": RATE}), pipe.model
    if task == "document-question-answering":
        return lambda: pipe(image=None, question=given["question"], word_boxes=given["word_boxes"]), pipe.model
    return (lambda: pipe(**given)) if isinstance(given, dict) else (lambda: pipe(given)), pipe.model


def products(torch, call):
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def build(program, folder, precision):
    package = f"{folder}/{precision}.encoderfile"
    if not os.path.exists(package) or os.path.getmtime(package) < os.path.getmtime(program):
        done = subprocess.run([program, "build", folder, "--precision", precision, "-o", package], capture_output=True, text=True)
        if done.returncode:
            return print(f"not built: {done.stderr.strip()[:200]}")
    return package


class Ours:
    def __init__(self, package, kind, body):
        self.process = subprocess.Popen([package, "serve", "--http-hostname", "127.0.0.1", "--http-port", "0", "--grpc-port", "0",
                                         "--threads", "1"], stderr=subprocess.PIPE, text=True)
        self.port = next(int(found[1]) for line in self.process.stderr if (found := re.search(r"http://127.0.0.1:(\d+)", line)))
        self.request = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def best(self, seconds):
        """A connection of its own: one that waits while others have their turns is closed."""
        line = socket.create_connection(("127.0.0.1", self.port))
        ms = best(lambda: self.post(line), seconds)
        line.close()
        return ms

    def post(self, line):
        status = ask(line, self.request)
        assert status == 200, status


    def cpu(self):
        """Nanoseconds of all its threads."""
        total = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/schedstat") as f:
                total += int(f.read().split()[0])
        return total

    def best_cpu(self, seconds):
        line = socket.create_connection(("127.0.0.1", self.port))
        ms = best_cpu(lambda: self.post(line), seconds, self.cpu)
        line.close()
        return ms


def best_cpu(run, seconds, clock=time.process_time_ns):
    """The least milliseconds of CPU time of one run."""
    least, until, n = float("inf"), time.perf_counter() + seconds, 0
    while n < 2 or time.perf_counter() < until:
        begin = clock()
        run()
        least, n = min(least, clock() - begin), n + 1
    return least / 1e6


def measure(args, task, call, ours):
    rows = []
    for block in range(args.blocks):
        row = {"pipeline": (best_cpu if args.cpu else best)(call, args.seconds)}
        for precision, side in ours.items():
            row[f"ours {precision}"] = (side.best_cpu if args.cpu else side.best)(args.seconds)
        rows.append(row | peers.peaks(args))
    return rows


def show(task, rows, work):
    least = {k: min(r[k] for r in rows) for k in rows[0]}
    peak = max(v for r in rows for k, v in r.items() if k.startswith("peak") and k.endswith("gemm_f32"))
    cells = [f"{k} {least[k]:.2f} = {ratio(rows, 'pipeline', k):.1f}x" for k in least if k.startswith("ours")]
    limit = work / peak / 1e6
    print(f"| {task} | pipeline {least['pipeline']:.2f} | {' | '.join(cells + [''] * (2 - len(cells)))} | | | fp32 {limit:.3f} = "
          f"{least['pipeline'] / limit:.0f}x |", flush=True)


def main():
    import torch
    import transformers as tf
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("work")
    p.add_argument("--only")
    p.add_argument("--blocks", type=int, default=3)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--cpu", action="store_true")
    args = p.parse_args()
    args.program = os.path.abspath(args.program)
    warnings.filterwarnings("ignore")
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    print("| work | torch, ms | ours, ms = times faster | | | | limit by arithmetic, ms = most that is possible |")
    print("|---|---|---|---|---|---|---|")
    os.makedirs(args.work, exist_ok=True)
    for task, (make, settings, given, request) in table(tf).items():
        if args.only and task not in args.only.split(","):
            continue
        torch.manual_seed(1)
        folder = folder_of(args.work, task, make, settings)
        call, _ = theirs(tf, task, folder, given)
        packages = {p: build(args.program, folder, p) for p in ("fp32", "int8")}
        ours = {p: Ours(package, *request) for p, package in packages.items() if package}
        try:
            show(task, measure(args, task, call, ours), products(torch, call))
        finally:
            for side in ours.values():
                side.stop()


if __name__ == "__main__":
    main()
