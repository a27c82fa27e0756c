"""Time and memory of an export of BERT-base (fp32, random weights, a classification head), beside the peers.

    python bench/export.py PROGRAM WORK_FOLDER [--optimum-python PYTHON] [--repeat 3]

Every run is a process of its own, warm caches, taken in turn. Seconds are wall and CPU of the whole process; for torch
the call of torch.onnx.export alone as well (imports and loading left out). Peak anonymous memory is the largest RssAnon
seen (polled every 2 ms). Needs torch and transformers; --optimum-python names an interpreter that has optimum-onnx."""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import time

TORCH = """
import sys, time, warnings
warnings.filterwarnings("ignore")
import torch, transformers as tf
tf.logging.set_verbosity_error()
model = tf.BertForSequenceClassification.from_pretrained(sys.argv[1]).eval()
ids = torch.ones((2, 16), dtype=torch.long)
begin = time.perf_counter()
names = ["input_ids", "attention_mask", "token_type_ids"]
axes = {n: {0: "batch_size", 1: "sequence_length"} for n in names}
torch.onnx.export(model, (ids, ids, torch.zeros_like(ids)), sys.argv[2], input_names=names, output_names=["logits"],
                  dynamic_axes=axes, dynamo=False, opset_version=18)
print("call", time.perf_counter() - begin)
"""


def make(folder):
    if os.path.exists(os.path.join(folder, "model.safetensors")):
        return
    import torch
    import transformers as tf
    torch.manual_seed(1)
    tf.BertForSequenceClassification(tf.BertConfig()).save_pretrained(folder)


def anonymous(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return next((int(l.split()[1]) * 1024 for l in f if l.startswith("RssAnon")), 0)
    except OSError:
        return 0


def measure(line):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, anonymous(process.pid))
        time.sleep(0.002)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = process.stdout.read()
    if process.returncode:
        raise RuntimeError(said[-500:])
    call = [float(l.split()[1]) for l in said.splitlines() if l.startswith("call ")]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, peak / 1e6, call[0] if call else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--optimum-python")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    source, out = os.path.join(args.work, "bert-base"), os.path.join(args.work, "bert-base-onnx")
    make(source)
    lines = {"encoderfile export": [args.program, "export", source, out],
             "encoderfile export --quantize": [args.program, "export", source, out, "--quantize"],
             "torch.onnx.export": [sys.executable, "-c", TORCH, source, os.path.join(out, "torch.onnx")]}
    if args.optimum_python:
        lines["optimum-cli export onnx"] = [args.optimum_python, "-m", "optimum.commands.optimum_cli", "export", "onnx",
                                            "--model", source, "--task", "text-classification", out]
    best = {}
    for _ in range(args.repeat):
        for name, line in lines.items():
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(out)
            figures = measure(line)
            best[name] = min(best.get(name, figures), figures)
    size = os.path.getsize(os.path.join(source, "model.safetensors")) / 1e6
    print("BERT-base, %.0f MB of safetensors; the best of %d" % (size, args.repeat))
    print("%-30s %8s %8s %10s %12s" % ("", "wall s", "CPU s", "call s", "anonymous MB"))
    for name, (wall, cpu, peak, call) in best.items():
        print("%-30s %8.2f %8.2f %10s %12.0f" % (name, wall, cpu, "%.2f" % call if call else "-", peak))


if __name__ == "__main__":
    main()
