"""Loads our exports with Optimum, and lays them beside its own exports of the same folders.

    python tools/oracle/optimum_load.py PROGRAM WORK_FOLDER TOKENIZER_FOLDER [--no-own]

Needs optimum-onnx 0.1 with optimum 2.1, transformers 4.57 and torch. For every row of CASES a model with random weights
is saved with the tokenizer of TOKENIZER_FOLDER (examples/bus-ner), exported by us (tags and metadata inside), loaded
by ORTModelForX.from_pretrained and compared with PyTorch over three padded batches; its int8 file must load too. Then
Optimum exports the same folder (export=True): files, names and axes of both, and the difference of the answers."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import torch
import transformers as tf
from optimum import onnxruntime as oo

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
SIZES = dict(vocab_size=1600, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
DISTIL = dict(vocab_size=1600, dim=48, n_layers=2, n_heads=4, hidden_dim=64)
LOADERS = {"ForSequenceClassification": oo.ORTModelForSequenceClassification,
           "ForTokenClassification": oo.ORTModelForTokenClassification,
           "ForQuestionAnswering": oo.ORTModelForQuestionAnswering, "ForMaskedLM": oo.ORTModelForMaskedLM,
           "Model": oo.ORTModelForFeatureExtraction, "ForMultipleChoice": oo.ORTModelForMultipleChoice}
CASES = [("Bert", h, SIZES) for h in LOADERS]
CASES += [("DistilBert", h, DISTIL) for h in ("ForSequenceClassification", "ForTokenClassification", "Model")]
CASES += [(f, h, dict(SIZES, pad_token_id=0)) for f in ("Roberta", "Albert", "Electra", "MPNet", "DebertaV2", "ModernBert")
          for h in ("ForSequenceClassification", "Model")]
TEXTS = [["AC sleeper bus from Bangalore to Mumbai tomorrow", "Volvo to Goa"], ["VRL Non-AC from Chennai to Hyderabad next Friday"],
         ["a", "Delhi to Jaipur tomorrow morning, two seats please", "is there an overnight bus to Pune?"]]
FIELDS = ("logits", "start_logits", "end_logits", "last_hidden_state")


def make(family, head, sizes, folder, tokenizer):
    torch.manual_seed(3)
    config = getattr(tf, family + "Config")(**sizes)
    model = getattr(tf, family + head)(config).eval()
    for p in model.parameters():
        p.data.add_(torch.randn_like(p) * 0.1)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def answers(model, feeds):
    rows = []
    for feed in feeds:
        with torch.no_grad():
            out = model(**feed)
        rows.append([np.array(out[f]) for f in FIELDS if f in out and out[f] is not None])
    return rows


def difference(feeds, a, b):
    worst = 0.0
    for feed, x, y in zip(feeds, a, b):
        for left, right in zip(x, y):
            mask = feed["attention_mask"].numpy()
            tokens = left.ndim >= 2 and left.shape[:2] == mask.shape and mask.ndim == 2
            far = np.abs(left - right)
            worst = max(worst, float(far[mask == 1].max() if tokens else far.max()))
    return worst


def axes(path):
    graph = onnx.load(path, load_external_data=False).graph
    show = lambda v: "%s[%s]" % (v.name, ",".join(d.dim_param or str(d.dim_value) for d in v.type.tensor_type.shape.dim))
    return " ".join(map(show, graph.input)) + " -> " + " ".join(map(show, graph.output)), len(graph.node)


def files(folder):
    return sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, names in os.walk(folder) for f in names)


def feeds_of(tokenizer, model, choices):
    feeds = []
    for texts in TEXTS:
        feed = dict(tokenizer(texts, padding=True, return_tensors="pt"))
        if "token_type_ids" not in model.forward.__code__.co_varnames or getattr(model.config, "type_vocab_size", 2) < 2:
            feed.pop("token_type_ids", None)
        feeds.append({k: v[None] for k, v in feed.items()} if choices else feed)
    return feeds


def check(args, family, head, sizes, tokenizer):
    source = os.path.join(args.work, family + head)
    out, own = source + "-ours", source + "-optimum"
    model = make(family, head, sizes, source, tokenizer)
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([args.program, "export", source, out, "--quantize"], check=True, capture_output=True)
    nodes = onnx.load(os.path.join(out, "model.onnx")).graph.node
    tagged = sum(bool(n.metadata_props) for n in nodes)
    feeds = feeds_of(tokenizer, model, head == "ForMultipleChoice")
    want = answers(model, feeds)
    loaded = LOADERS[head].from_pretrained(out)
    ours = difference(feeds, want, answers(loaded, feeds))
    small = difference(feeds, want, answers(LOADERS[head].from_pretrained(out, file_name="model_quantized.onnx"), feeds))
    meta = {p.key for p in onnx.load(os.path.join(out, "model.onnx"), load_external_data=False).metadata_props}
    line = "%-10s %-26s ours %.2g, int8 %.2g; %d of %d nodes tagged, %d metadata keys" % (
        family, head, ours, small, tagged, len(nodes), len(meta))
    if args.no_own:
        print(line, flush=True)
        return ours > 1e-4 or tagged != len(nodes)
    shutil.rmtree(own, ignore_errors=True)
    try:
        theirs = LOADERS[head].from_pretrained(source, export=True)
        theirs.save_pretrained(own)
        tokenizer.save_pretrained(own)
    except Exception as e:
        print(line + "; Optimum cannot export it: " + str(e).splitlines()[0][:80], flush=True)
        return ours > 1e-4 or tagged != len(nodes)
    mine, their_axes = axes(os.path.join(out, "model.onnx")), axes(os.path.join(own, "model.onnx"))
    print(line + "; Optimum's %.2g, %d nodes" % (difference(feeds, want, answers(theirs, feeds)), their_axes[1]), flush=True)
    print("    axes %s" % ("equal: " + mine[0] if mine[0] == their_axes[0] else "ours " + mine[0] + " | theirs " + their_axes[0]))
    print("    files only ours: %s; only Optimum's: %s" % (
        " ".join(sorted(set(files(out)) - set(files(own)))) or "-", " ".join(sorted(set(files(own)) - set(files(out)))) or "-"))
    return ours > 1e-4 or tagged != len(nodes) or mine[0] != their_axes[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("tokenizer")
    parser.add_argument("--no-own", action="store_true", help="do not export with Optimum")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    tokenizer = tf.AutoTokenizer.from_pretrained(args.tokenizer)
    bad = sum(bool(check(args, *case, tokenizer)) for case in CASES)
    print("%d of %d differ: more than 1e-4, untagged nodes, or other axes" % (bad, len(CASES)))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
