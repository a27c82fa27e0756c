#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long texts: random encoders of eight families, exported by us and by torch's two exporters, at up to 8,192 tokens.

    python tools/oracle/long.py write PROGRAM FOLDER [FAMILY ...]     # hidden 384 x 6: for time
    python tools/oracle/long.py time PROGRAM FOLDER [--lengths N,N] [--precision P] [--alone] [FAMILY ...]
    python tools/oracle/long.py check PROGRAM TEST_ENGINE FOLDER [FAMILY ...]

`time` prints milliseconds of one row on one thread beside ONNX Runtime's, in turns (best of each, but one run where that
takes it more than 15 s; for int8 its own quantize_dynamic), the first answer of a fresh process beside its best, and the most
resident memory. `check` makes smaller models of its own (hidden 64 x 3) and asks that a batch of mixed lengths, each row padded
for ONNX Runtime, is within 1e-4 of it: rows of 2,048 tokens for all families and exporters, of 8,192 for some. Needs torch,
transformers 5, onnx, onnxscript, onnxruntime, numpy, safetensors."""
import contextlib
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
import warnings

import numpy as np
import onnxruntime as ort
import torch
import transformers as tf

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
POSITIONS, VOCABULARY = 8200, 3000
LONG_RUN = 15e3  # ms: a run of ONNX Runtime that is not repeated
LENGTHS = (512, 640, 1024, 2048, 4096, 8192)
WAYS = ("ours", "script17", "dynamo18")
ROPE = dict(rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)


def common(hidden, heads, layers, **other):
    return dict(vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                intermediate_size=4 * hidden, max_position_embeddings=POSITIONS, **other)


# family: class, configuration, and what it says beside the sizes
FAMILIES = {
    "bert": (tf.BertModel, tf.BertConfig, {}),
    "roberta": (tf.RobertaModel, tf.RobertaConfig, dict(type_vocab_size=1, pad_token_id=1)),
    "deberta": (tf.DebertaV2Model, tf.DebertaV2Config, dict(
        relative_attention=True, position_buckets=256, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm", type_vocab_size=0, position_biased_input=False, max_relative_positions=512)),
    "mpnet": (tf.MPNetModel, tf.MPNetConfig, dict(pad_token_id=1)),
    "modernbert": (tf.ModernBertModel, tf.ModernBertConfig, dict(IDS, cls_token_id=1, sep_token_id=2)),
    "nomic": (tf.NomicBertModel, tf.NomicBertConfig, ROPE),
    "gte": (tf.GteModel, tf.GteConfig, ROPE),
    "eurobert": (tf.EuroBertModel, tf.EuroBertConfig, dict(IDS, mask_token_id=3, **ROPE)),
}
LONGEST_CHECKED = ("bert", "deberta", "modernbert")  # at 8,192 tokens


def build(family, hidden, heads, layers):
    cls, config, other = FAMILIES[family]
    torch.manual_seed(7)
    model = cls(config(**common(hidden, heads, layers, **other))).eval()
    for p in model.parameters():  # zeros and ones would hide a forgotten bias or gamma
        p.data.add_(torch.randn_like(p) * 0.02)
    return model


class Hidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state


def export_torch(model, how, path):
    ids, mask = torch.randint(5, 300, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    mask[1, 5:] = 0
    names = ["input_ids", "attention_mask"]
    say = dict(input_names=names, output_names=["last_hidden_state"], opset_version=int(how[-2:]))
    if how.startswith("dynamo"):
        dims = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length", max=POSITIONS - 4)}
        torch.onnx.export(Hidden(model), (ids, mask), path, dynamo=True, external_data=False,
                          dynamic_shapes=(dict(dims), dict(dims)), **say)
    else:
        axes = {n: {0: "batch_size", 1: "sequence_length"} for n in names + ["last_hidden_state"]}
        torch.onnx.export(Hidden(model), (ids, mask), path, dynamo=False, dynamic_axes=axes, **say)


def quietly(function, *args):
    """Without its chatter; returns why it failed, or None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            function(*args)
    except Exception as trouble:  # whatever an exporter throws is its answer
        return type(trouble).__name__ + ": " + str(trouble).strip().split("\n")[0][:160]
    return None


def write_family(program, root, family, sizes):
    """FOLDER/FAMILY-WAY/model.onnx; returns the folders that were made."""
    model, made = build(family, *sizes), []
    source = os.path.join(root, family)
    model.save_pretrained(source)
    for how in WAYS:
        folder = f"{source}-{how}"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if how == "ours":
            done = subprocess.run([program, "export", source, folder], capture_output=True, text=True)
            why = done.stderr.strip() if done.returncode else None
        else:
            why = quietly(export_torch, model, how, os.path.join(folder, "model.onnx"))
        if why:
            print(f"{family}-{how}: refused: {why}", flush=True)
            shutil.rmtree(folder)
        else:
            made.append(folder)
    return made


# ---- time ----
def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(s, S):
    ids = np.arange(S, dtype=np.int64)[None] * 7919 % 1000 + 5
    named = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids),
             "position_ids": np.arange(S, dtype=np.int64)[None]}
    return {i.name: named[i.name] for i in s.get_inputs()}


def high_water(pid):
    with contextlib.suppress(OSError, AttributeError):
        return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024
    return 0


def ours(program, path, S, repeat, precision):
    line = [program, "bench", "--model", path, "--lengths", str(S), "--threads", "1", "--json", "--repeat", str(repeat)]
    line += ["--precision", precision] if precision != "fp32" else []
    child, resident = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True), 0
    while child.poll() is None:  # rusage would count what this process held when it forked
        resident = max(resident, high_water(child.pid))
        time.sleep(0.01)
    return dict(json.loads(child.stdout.read()), resident=resident) if child.returncode == 0 else None


def peer_file(path, precision):
    """What ONNX Runtime runs: for int8 its own quantize_dynamic of the file; None: it cannot make one."""
    if precision != "int8":
        return path
    quantized = path.replace(".onnx", "_int8.onnx")
    if not os.path.exists(quantized):
        from onnxruntime.quantization import QuantType, quantize_dynamic
        why = quietly(lambda: quantize_dynamic(path, quantized, weight_type=QuantType.QInt8))
        if why:
            print(f"{path}: ONNX Runtime's quantize_dynamic: {why}", flush=True)
    return quantized if os.path.exists(quantized) else None


def memory_for(S, heads=12):
    """Whether ONNX Runtime's scores, three copies of them, fit."""
    free = int(re.search(r"MemAvailable:\s+(\d+)", open("/proc/meminfo").read()).group(1)) * 1024
    return heads * S * S * 4 * 3 < free


def time_one(program, path, S, precision, alone):
    peer, s, best, repeat = None, None, None, max(1, 1024 // S)
    other = None if alone or not memory_for(S) else peer_file(path, precision)
    def run_peer():
        begin = time.time()
        s.run(None, inputs)
        return (time.time() - begin) * 1e3
    if other:
        s = session(other)
        inputs = feed(s, S)
        warm = run_peer()
        if warm > LONG_RUN:  # what it allocates is nothing beside that
            peer, s = warm, None
    for _ in range(3 if S < 4096 else 2):
        got = ours(program, path, S, repeat, precision)
        if got:
            first = min(got["first_ms"], best["first_ms"] if best else 1e9)
            best = dict(got if not best or got["best_ms"] < best["best_ms"] else best, first_ms=first)
        for _ in range(repeat if s else 0):
            peer = min(peer or 1e9, run_peer())
    return best, peer


def show_times(program, root, families, lengths, precision, alone):
    for family in families:
        for how in WAYS:
            path = os.path.join(root, f"{family}-{how}", "model.onnx")
            for S in lengths if os.path.exists(path) else []:
                got, peer = time_one(program, path, S, precision, alone)
                if not got:
                    print(f"{family:10} {how:8} {S:5}  failed", flush=True)
                    continue
                ms = got["best_ms"]
                beside = f"ORT {peer:9.1f}  {peer / ms:5.2f}x" if peer else "ORT         -      - "
                print(f"{family:10} {how:8} {S:5}  {ms:9.1f} ms  {beside}  {ms / S * 1e3:7.1f} us/token  "
                      f"first {got['first_ms'] / ms:5.2f}x  {got['gflops']:6.1f} GFLOP/s  {got['resident']:6.0f} MB  "
                      f"{'ragged' if got['ragged'] else 'padded'}", flush=True)


# ---- answers ----
def write_answers(folder, lengths):
    rng = np.random.default_rng(3)
    start = np.cumsum([0] + list(lengths)).astype(np.int32)
    ids = rng.integers(5, VOCABULARY, start[-1]).astype(np.int32)
    s, out = session(os.path.join(folder, "model.onnx")), []
    most = max(lengths)
    for a, b in zip(start[:-1], start[1:]):  # every row padded to the longest
        padded = {"input_ids": np.zeros((1, most), np.int64), "attention_mask": np.zeros((1, most), np.int64),
                  "token_type_ids": np.zeros((1, most), np.int64)}
        padded["input_ids"][0, :b - a], padded["attention_mask"][0, :b - a] = ids[a:b], 1
        out.append(s.run(None, {i.name: padded[i.name] for i in s.get_inputs()})[0][0, :b - a])
    arrays = dict(start=start, ids=ids, type_ids=np.zeros_like(ids), output=np.concatenate(out).astype(np.float32))
    for key, array in arrays.items():
        np.save(os.path.join(folder, key + ".npy"), array)


def check(program, test_engine, root, families):
    failed = 0
    os.makedirs(root, exist_ok=True)
    for family in families:
        for folder in write_family(program, root, family, (64, 4, 3)):
            rounds = [(2048, 7, 700, 1)] + [(8192, 900)] * (family in LONGEST_CHECKED and folder.endswith("ours"))
            for lengths in rounds:
                write_answers(folder, lengths)
                done = subprocess.run([test_engine, "--fused", folder], capture_output=True, text=True)
                said = re.search(r"fused (\S+), exact \S+, (\w+)", done.stdout)
                bad = done.returncode != 0 or not said or said.group(2) != "ragged"
                failed += bad
                found = ", ".join(said.groups()) if said else done.stdout + done.stderr
                print(f"{os.path.basename(folder)} {lengths}: {found}{'  FAILED' if bad else ''}", flush=True)
    print(f"{failed} failed")
    return failed != 0


def main():
    what, program, rest = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    options = {"--lengths": ",".join(map(str, LENGTHS)), "--precision": "fp32"}
    for name in options:
        if name in rest:
            at = rest.index(name)
            options[name] = rest[at + 1]
            del rest[at:at + 2]
    alone = "--alone" in rest
    rest = [word for word in rest if word != "--alone"]
    if what == "check":
        return check(program, os.path.abspath(rest[0]), rest[1], rest[2:] or list(FAMILIES))
    families = rest[1:] or list(FAMILIES)
    if what == "write":
        os.makedirs(rest[0], exist_ok=True)
        for family in families:
            print(*write_family(program, rest[0], family, (384, 12, 6)), flush=True)
        return 0
    lengths = [int(n) for n in options["--lengths"].split(",")]
    show_times(program, rest[0], families, lengths, options["--precision"], alone)
    return 0


sys.exit(main())
