"""Writes the architecture matrix: small random encoders of many architectures, exported by both of torch's
exporters at several opsets, then optimized as Optimum's O1, O2 and O3 and ONNX Runtime's own optimizer do, and
dynamically quantized. Each folder holds model.onnx and the same .npy files as tools/oracle/engine.py writes, so
that tests/test_engine.c reports on it; nothing of this is committed. Needs what engine.py needs.

    python tools/oracle/exports.py write FOLDER [ARCHITECTURE ...]
    python tools/oracle/exports.py table FOLDER TEST_ENGINE > TABLE.md
    python tools/oracle/exports.py large FOLDER [ARCHITECTURE ...]     # one bigger plain export of each, for speed
    python tools/oracle/exports.py fixed FOLDER [ARCHITECTURE ...]     # without dynamic axes: 1 x 128 and 8 x 64
    python tools/oracle/exports.py pooled FOLDER [POOLING ...]         # one vector a row, pooled inside the graph
"""
import contextlib
import io
import logging
import os
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch
import transformers as tf
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
LENGTHS, MOST = [7, 1, 19, 7, 100], 130
OPSETS, EXPORTERS = (14, 17, 18, 20), ("script", "dynamo")
VARIANTS = ("plain", "O1", "O2", "O3", "ort", "int8")


class Size:
    """Of a model: what every configuration is made from."""

    def __init__(self, hidden, heads, layers, vocab, positions):
        self.hidden, self.heads, self.layers, self.vocab, self.positions = hidden, heads, layers, vocab, positions
        self.common = dict(vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                           intermediate_size=4 * hidden, max_position_embeddings=positions)


def roberta_like(s):
    return dict(s.common, max_position_embeddings=s.positions + 2, type_vocab_size=1, pad_token_id=1)


# architecture: class, configuration, number of inputs of input_ids, attention_mask, token_type_ids
ARCHITECTURES = {
    "bert": (tf.BertModel, lambda s: tf.BertConfig(**s.common), 3),
    "bert_eager": (tf.BertModel, lambda s: tf.BertConfig(attn_implementation="eager", **s.common), 3),
    "roberta": (tf.RobertaModel, lambda s: tf.RobertaConfig(**roberta_like(s)), 2),
    "distilbert": (tf.DistilBertModel, lambda s: tf.DistilBertConfig(
        vocab_size=s.vocab, dim=s.hidden, n_layers=s.layers, n_heads=s.heads, hidden_dim=4 * s.hidden,
        max_position_embeddings=s.positions), 2),
    "mpnet": (tf.MPNetModel, lambda s: tf.MPNetConfig(**dict(s.common, max_position_embeddings=s.positions + 2)), 2),
    "albert": (tf.AlbertModel, lambda s: tf.AlbertConfig(embedding_size=s.hidden // 2, **s.common), 3),
    "electra": (tf.ElectraModel, lambda s: tf.ElectraConfig(embedding_size=s.hidden // 2, **s.common), 3),
    "deberta-v2": (tf.DebertaV2Model, lambda s: tf.DebertaV2Config(
        relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm", type_vocab_size=0, position_biased_input=False, max_relative_positions=-1,
        **s.common), 2),
    "modernbert": (tf.ModernBertModel, lambda s: tf.ModernBertConfig(
        local_attention=16, global_attn_every_n_layers=2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        cls_token_id=1, sep_token_id=2, **s.common), 2),
    "camembert": (tf.CamembertModel, lambda s: tf.CamembertConfig(**roberta_like(s)), 2),
    "xlm-roberta": (tf.XLMRobertaModel, lambda s: tf.XLMRobertaConfig(**roberta_like(s)), 2),
    "layoutlm": (tf.LayoutLMModel, lambda s: tf.LayoutLMConfig(max_2d_position_embeddings=64, **s.common), 3),
    "esm": (tf.EsmModel, lambda s: tf.EsmConfig(
        mask_token_id=32, pad_token_id=1, position_embedding_type="rotary", token_dropout=True,
        emb_layer_norm_before=False, **s.common), 2),
}


class Hidden(torch.nn.Module):
    """The last hidden state, with inputs by position."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args):
        return self.model(**dict(zip(self.names, args))).last_hidden_state


def last_token(x, mask):
    return x[torch.arange(x.shape[0]), mask.sum(1) - 1]


def mean(x, mask, weight=1.0, root=False):
    wide = mask.unsqueeze(-1).expand(x.size()).float() * weight
    count = torch.clamp(wide.sum(1), min=1e-9)
    return (x * wide).sum(1) / (torch.sqrt(count) if root else count)


def weighted_mean(x, mask):
    weight = torch.arange(1, x.shape[1] + 1).unsqueeze(0).unsqueeze(-1).expand(x.size()).float()
    return mean(x, mask, weight)


def maximum(x, mask):
    wide = mask.unsqueeze(-1).expand(x.size()).float()
    x = x.clone()
    x[wide == 0] = -1e9
    return torch.max(x, 1)[0]


def plain_mean(x, mask):
    """As many model cards write it: the mask is not widened."""
    return (x * mask[..., None]).sum(1) / mask.sum(dim=1, keepdim=True)


# pooling: function; those of sentence-transformers are written as it writes them
POOLINGS = {
    "cls": lambda x, mask: x[:, 0],
    "mean": mean,
    "sqrt": lambda x, mask: mean(x, mask, root=True),
    "weighted": weighted_mean,
    "max": maximum,
    "filled": lambda x, mask: x.masked_fill(~mask[..., None].bool(), 0.0).sum(1) / mask.sum(1)[..., None],
    "maxfilled": lambda x, mask: x.masked_fill(mask.unsqueeze(-1) == 0, float("-inf")).max(dim=1).values,
    "plain": plain_mean,
    "last": last_token,
    "gathered": lambda x, mask: x.gather(1, (mask.sum(1) - 1)[:, None, None].expand(-1, 1, x.shape[-1]))[:, 0],
}


class Pooled(torch.nn.Module):
    """A vector a row: pooled, through a dense layer, of length 1."""

    def __init__(self, model, names, pooling):
        super().__init__()
        self.model, self.names, self.pooling = model, names, pooling
        self.dense = torch.nn.Linear(32, 16)

    def forward(self, *args):
        feed = dict(zip(self.names, args))
        x = POOLINGS[self.pooling](self.model(**feed).last_hidden_state, feed["attention_mask"])
        return torch.nn.functional.normalize(torch.tanh(self.dense(x)), p=2, dim=1)


def build(arch, size):
    cls, config, count = ARCHITECTURES[arch]
    torch.manual_seed(7)
    model = cls(config(size)).eval()
    for p in model.parameters():  # zeros and ones would hide a forgotten bias or gamma
        p.data.add_(torch.randn_like(p) * (0.1 if size.hidden < 100 else 0.02))
    return model, ["input_ids", "attention_mask", "token_type_ids"][:count]


FIXED = ((1, 128), (8, 64))


def export(path, model, names, opset, how, size, fixed=None):
    model = model if isinstance(model, Pooled) else Hidden(model, names)
    B, S = fixed or (2, 9)
    mask = torch.ones(B, S, dtype=torch.long)
    mask[-1, S // 2:] = 0
    args = (torch.randint(3, size.vocab, (B, S)), mask, torch.zeros(B, S, dtype=torch.long))[:len(names)]
    common = dict(input_names=names, output_names=["last_hidden_state"], opset_version=opset)
    if fixed:
        extra = dict(external_data=False) if how == "dynamo" else {}
        torch.onnx.export(model.eval(), args, path, dynamo=how == "dynamo", **extra, **common)
    elif how == "dynamo":
        dims = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length", max=size.positions)}
        torch.onnx.export(model.eval(), args, path, dynamo=True, external_data=False,
                          dynamic_shapes=(tuple(dict(dims) for _ in names),), **common)
    else:
        axes = {n: {0: "batch_size", 1: "sequence_length"} for n in names + ["last_hidden_state"]}
        torch.onnx.export(model.eval(), args, path, dynamo=False, dynamic_axes=axes, **common)
    made = onnx.load(path).opset_import[0].version
    if made != opset:  # dynamo says nothing when its version converter gives up
        raise ValueError(f"asked for opset {opset}, it wrote {made}")


def optimize(source, path, variant, size):
    """What Optimum's optimizer hands to ONNX Runtime for its levels; "ort" is the tool's own default."""
    if variant == "int8":
        return quantize_dynamic(source, path)
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = variant == "ort"
    options.enable_gelu_approximation = variant == "O3"
    made = optimize_model(source, "bert", num_heads=size.heads, hidden_size=size.hidden,
                          opt_level={"O1": 1, "O2": 2, "O3": 2, "ort": 1}[variant],
                          optimization_options=options, only_onnxruntime=variant == "O1")
    made.save_model_to_file(path)


def strip(path):
    proto = onnx.load(path)
    del proto.metadata_props[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(proto, path)
    return {i.domain or "ai.onnx": i.version for i in proto.opset_import}, len(proto.graph.node)


def batch(size, count, lengths=LENGTHS):
    rng = np.random.default_rng(3)
    start = np.cumsum([0] + list(lengths)).astype(np.int32)
    ids = rng.integers(40, size.vocab, start[-1]).astype(np.int32)  # no pad, no mask token
    types = rng.integers(0, 2 if count == 3 else 1, start[-1]).astype(np.int32)
    return start, ids, types


def answers(path, names, start, ids, types, padded=False):
    """padded: all rows in one run, so that padding has its say; the rows of a pooled graph come out whole."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if "int8" in path:  # its int8 differs from itself with and without optimization
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows = []
    if padded:
        most = int((start[1:] - start[:-1]).max())
        feed = {n: np.zeros((len(start) - 1, most), np.int64) for n in names}
        for r, (a, b) in enumerate(zip(start[:-1], start[1:])):
            for name, row in (("input_ids", ids[a:b]), ("attention_mask", 1), ("token_type_ids", types[a:b])):
                feed[name][r, :b - a] = row
        return session.run(None, feed)[0].astype(np.float32)
    for a, b in zip(start[:-1], start[1:]):
        feed = {"input_ids": ids[None, a:b].astype(np.int64), "attention_mask": np.ones((1, b - a), np.int64),
                "token_type_ids": types[None, a:b].astype(np.int64)}
        wanted = {i.name for i in session.get_inputs()}  # an optimizer may have removed one
        rows.append(session.run(None, {k: v for k, v in feed.items() if k in wanted})[0][0])
    return np.concatenate(rows).astype(np.float32)


def padded_answers(path, start, ids, types, pad, shape):
    """Of a graph with fixed sizes: every row in its own run, filled up as its tokenizer would."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    rows = []
    for a, b in zip(start[:-1], start[1:]):
        feed = {"input_ids": np.full(shape, pad, np.int64), "attention_mask": np.zeros(shape, np.int64),
                "token_type_ids": np.zeros(shape, np.int64)}
        feed["input_ids"][0, :b - a], feed["attention_mask"][0, :b - a] = ids[a:b], 1
        feed["token_type_ids"][0, :b - a] = types[a:b]
        wanted = {i.name for i in session.get_inputs()}
        rows.append(session.run(None, {k: v for k, v in feed.items() if k in wanted})[0][0, :b - a])
    return np.concatenate(rows).astype(np.float32)


def quietly(function, *args):
    """Runs it without its chatter; returns why it failed, or None."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            function(*args)
    except Exception as trouble:  # whatever an exporter throws is its answer
        return type(trouble).__name__ + ": " + str(trouble).strip().split("\n")[0][:160]
    return None


def write_variant(root, name, variant, source, names, size, count):
    folder = os.path.join(root, name + "-" + variant)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    why = quietly(optimize, source, path, variant, size) if variant != "plain" else None
    if variant == "plain":
        os.replace(source, path)
    if why:
        open(os.path.join(folder, "refused"), "w").write(why)
        print(name, variant, "refused:", why, flush=True)
        return path
    strip(path)
    start, ids, types = batch(size, count)
    try:
        out = answers(path, names, start, ids, types)
    except Exception as trouble:  # ONNX Runtime wrote a file that it does not run itself
        why = "ONNX Runtime cannot run it: " + str(trouble).strip().split("\n")[0][:200]
        open(os.path.join(folder, "refused"), "w").write(why)
        print(name, variant, why, flush=True)
        return path
    for key, array in dict(start=start, ids=ids, type_ids=types, output=out).items():
        np.save(os.path.join(folder, key + ".npy"), array)
    return path


def write(root, wanted):
    size = Size(32, 4, 2, 300, MOST)
    for arch in wanted:
        model, names = build(arch, size)
        for how in EXPORTERS:
            for opset in OPSETS:
                name, began = f"{arch}-{how}{opset}", time.time()
                if os.path.exists(os.path.join(root, name + "-int8", "output.npy")):
                    continue
                raw = os.path.join(root, name + ".onnx")
                why = quietly(export, raw, model, names, opset, how, size)
                if why:
                    os.makedirs(os.path.join(root, name + "-plain"), exist_ok=True)
                    open(os.path.join(root, name + "-plain", "refused"), "w").write(why)
                    print(name, "refused:", why, flush=True)
                    continue
                source = write_variant(root, name, "plain", raw, names, size, len(names))
                for variant in VARIANTS[1:]:
                    write_variant(root, name, variant, source, names, size, len(names))
                print(name, f"{time.time() - began:.1f} s", *strip(source), flush=True)


def large(root, wanted):
    size = Size(384, 12, 6, 5000, 256)
    os.makedirs(root, exist_ok=True)
    for arch in wanted:
        model, names = build(arch, size)
        for how, opset in (("script", 17), ("dynamo", 18)):
            path = os.path.join(root, f"{arch}-{how}{opset}.onnx")
            print(path, quietly(export, path, model, names, opset, how, size), flush=True)


def fixed(root, wanted):
    size = Size(32, 4, 2, 300, MOST)
    for arch in wanted:
        model, names = build(arch, size)
        for how, opset in (("script", 17), ("dynamo", 18)):
            for shape in FIXED:
                folder = os.path.join(root, f"{arch}-{how}{opset}-fixed{shape[0]}x{shape[1]}")
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, "model.onnx")
                why = quietly(export, path, model, names, opset, how, size, shape)
                if why:
                    print(folder, "refused:", why, flush=True)
                    continue
                strip(path)
                lengths = [7, 1, 19, 7, shape[1]]
                start, ids, types = batch(size, len(names), lengths)
                out = padded_answers(path, start, ids, types, model.config.pad_token_id or 0, shape)
                for key, array in dict(start=start, ids=ids, type_ids=types, output=out).items():
                    np.save(os.path.join(folder, key + ".npy"), array)
                print(folder, flush=True)


def pooled(root, wanted):
    size = Size(32, 4, 2, 300, MOST)
    model, names = build("bert", size)
    for pooling in wanted:
        for how, opset in (("script", 17), ("dynamo", 18)):
            folder = os.path.join(root, f"{pooling}-{how}{opset}-pooled")
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "model.onnx")
            why = quietly(export, path, Pooled(model, names, pooling), names, opset, how, size)
            if why:
                print(folder, "refused:", why, flush=True)
                continue
            strip(path)
            start, ids, types = batch(size, len(names))
            out = answers(path, names, start, ids, types, padded=True)
            for key, array in dict(start=start, ids=ids, type_ids=types, output=out).items():
                np.save(os.path.join(folder, key + ".npy"), array)


# ---- the table ----
LINE = re.compile(r"^(.*): fused (\S+), exact (\S+), (ragged|padded)$")


def measured(folders, program):
    """name -> (fused difference, exact difference, ragged or padded, reason or error)"""
    out = subprocess.run([program] + folders, capture_output=True, text=True).stdout
    rows, remarks = {}, {}
    for line in out.splitlines():
        found = LINE.match(line)
        if found:
            name = os.path.basename(found[1])
            rows[name] = (float(found[2]), float(found[3]), found[4], remarks.get(name, ""))
        elif line.startswith("  ") and ": " in line:
            path, remark = line.strip().split(": ", 1)
            remarks.setdefault(os.path.basename(path), remark)
    return rows


def to_fp32(root, name):
    """How far ONNX Runtime's int8 is from fp32."""
    plain = np.load(os.path.join(root, name[:-4] + "plain", "output.npy"))
    return float(np.abs(np.load(os.path.join(root, name, "output.npy")) - plain).max() / max(1, np.abs(plain).max()))


def table(root, program):
    names = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)) and d.count("-") >= 2)
    refused = {d: open(os.path.join(root, d, "refused")).read() for d in names
               if os.path.exists(os.path.join(root, d, "refused"))}
    ready = [os.path.join(root, d) for d in names if d not in refused
             and os.path.exists(os.path.join(root, d, "output.npy"))]
    rows = measured(ready, program)
    print("| export | fused | exact | form | remark |\n|---|---|---|---|---|")
    failed = 0
    for name in names:
        if name in refused:
            print(f"| {name} | | | | exporter: {refused[name]} |")
            continue
        fused, exact, form, remark = rows.get(name, (np.inf, np.inf, "?", "no line"))
        limit = 0.5 if name.endswith("int8") else 1e-4
        failed += not (fused <= limit and exact <= limit)
        if name.endswith("int8") and os.path.exists(os.path.join(root, name[:-4] + "plain", "output.npy")):
            remark += f" (ONNX Runtime's int8 is {to_fp32(root, name):.2g} from its fp32)"
        print(f"| {name} | {fused:.2g} | {exact:.2g} | {form} | {remark} |")
    print(f"\n{len(names)} rows, {len(refused)} refused by their exporter, {failed} failed here.")


if __name__ == "__main__":
    command, folder, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if command == "table":
        table(folder, rest[0])
    else:
        {"write": write, "large": large, "fixed": fixed, "pooled": pooled}[command](
            folder, rest or list(POOLINGS if command == "pooled" else ARCHITECTURES))
