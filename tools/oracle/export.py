"""Checks `encoderfile export` against transformers: every architecture and head with random weights, saved as
safetensors, exported by us, run by ONNX Runtime and by our engine, compared with PyTorch.

    python tools/oracle/export.py PROGRAM WORK_FOLDER [--engine build/tests/test_engine] [--opsets] [--variants] [CASE...]

Prints a row for each: largest absolute difference over three padded batches of mixed lengths (ONNX Runtime, then our
`onnx run`), whether every node's tag follows from the hooks' module table, and what the engine says of the fused
graph. --opsets adds 14, 17, 20 and 21 for each, --variants half precision, fused operators and fixed shapes.
--golden FOLDER writes tests/golden/export (or the cases named): folders of every architecture with what PyTorch answered. Needs torch, transformers, onnx,
onnxruntime, numpy, safetensors."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch
import transformers as tf

from exported_tags import wrong_tags

warnings.filterwarnings("ignore")
tf.logging.set_verbosity_error()
tf.logging.disable_progress_bar()
V = 61  # not a multiple of 8
SIZES = dict(vocab_size=V, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
             max_position_embeddings=64)
DISTIL = dict(vocab_size=V, dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=64)
ROBERTA = dict(SIZES, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
MODERN = dict(SIZES, local_attention=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
              num_hidden_layers=4, max_position_embeddings=128)
DEBERTA = dict(SIZES, relative_attention=True, position_buckets=8, pos_att_type="p2c|c2p", share_att_key=True,
               norm_rel_ebd="layer_norm", type_vocab_size=0, position_biased_input=False)
HEADS = {"feature-extraction": "Model", "fill-mask": "ForMaskedLM", "text-classification": "ForSequenceClassification",
         "token-classification": "ForTokenClassification", "question-answering": "ForQuestionAnswering",
         "multiple-choice": "ForMultipleChoice"}

EVEN = dict(rope_parameters={"rope_type": "default", "rope_theta": 500.0})
NO_CHOICE = [h for h in HEADS if h != "multiple-choice"]  # classes transformers has
PLAIN = [h for h in NO_CHOICE if h != "question-answering"]

EURO = dict(SIZES, num_attention_heads=6, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            mask_token_id=3, rope_parameters={"rope_type": "default", "rope_theta": 700.0})
ESM = dict(SIZES, pad_token_id=1, mask_token_id=4, token_dropout=True, position_embedding_type="rotary")

# case: class prefix, config class, sizes, longest row, heads (None: all)
CASES = {
    "bert": ("Bert", tf.BertConfig, SIZES, 60, None),
    "bert-1-layer": ("Bert", tf.BertConfig, dict(SIZES, num_hidden_layers=1, num_attention_heads=1, hidden_size=20), 60,
                     ["token-classification"]),
    "bert-long": ("Bert", tf.BertConfig, dict(SIZES, max_position_embeddings=600), 590, ["text-classification"]),
    "bert-1-type": ("Bert", tf.BertConfig, dict(SIZES, type_vocab_size=1), 60, ["feature-extraction"]),
    "bert-gelu_new": ("Bert", tf.BertConfig, dict(SIZES, hidden_act="gelu_new"), 60, ["fill-mask"]),
    "bert-silu": ("Bert", tf.BertConfig, dict(SIZES, hidden_act="silu"), 60, ["fill-mask"]),
    "bert-relu": ("Bert", tf.BertConfig, dict(SIZES, hidden_act="relu"), 60, ["token-classification"]),
    "bert-tanh-gelu": ("Bert", tf.BertConfig, dict(SIZES, hidden_act="gelu_pytorch_tanh"), 60, ["token-classification"]),
    "bert-fp16": ("Bert", tf.BertConfig, SIZES, 60, ["token-classification"]),
    "bert-bf16": ("Bert", tf.BertConfig, SIZES, 60, ["fill-mask"]),
    "bert-sharded": ("Bert", tf.BertConfig, SIZES, 60, ["fill-mask"]),
    "bert-untied": ("Bert", tf.BertConfig, dict(SIZES, tie_word_embeddings=False), 60, ["fill-mask"]),
    "bert-regression": ("Bert", tf.BertConfig, dict(SIZES, num_labels=1), 60, ["text-classification"]),
    "roberta": ("Roberta", tf.RobertaConfig, ROBERTA, 60, None),
    "xlm-roberta": ("XLMRoberta", tf.XLMRobertaConfig, ROBERTA, 60, None),
    "camembert": ("Camembert", tf.CamembertConfig, ROBERTA, 60, None),
    "distilbert": ("DistilBert", tf.DistilBertConfig, DISTIL, 60, None),
    "electra": ("Electra", tf.ElectraConfig, dict(SIZES, embedding_size=16), 60, None),
    "electra-same": ("Electra", tf.ElectraConfig, dict(SIZES, embedding_size=24), 60, ["fill-mask"]),
    "albert": ("Albert", tf.AlbertConfig, dict(SIZES, embedding_size=16), 60, None),
    "albert-groups": ("Albert", tf.AlbertConfig, dict(SIZES, embedding_size=16, num_hidden_layers=5, num_hidden_groups=2,
                                                      inner_group_num=2), 60, ["feature-extraction"]),
    "mpnet": ("MPNet", tf.MPNetConfig, dict(SIZES, pad_token_id=1), 60, None),
    "mpnet-pad-0": ("MPNet", tf.MPNetConfig, dict(SIZES, pad_token_id=0), 60, ["token-classification"]),
    "mpnet-long": ("MPNet", tf.MPNetConfig, dict(SIZES, pad_token_id=1, max_position_embeddings=520), 510,
                   ["feature-extraction"]),
    "modernbert": ("ModernBert", tf.ModernBertConfig, MODERN, 60, None),
    "modernbert-mean": ("ModernBert", tf.ModernBertConfig, dict(MODERN, classifier_pooling="mean", norm_bias=True,
                        attention_bias=True, mlp_bias=True, classifier_bias=True), 60, ["text-classification"]),
    "ernie": ("Ernie", tf.ErnieConfig, SIZES, 60, None),
    "nomic_bert": ("NomicBert", tf.NomicBertConfig, SIZES | EVEN, 60, PLAIN),
    "gte": ("Gte", tf.GteConfig, SIZES | EVEN, 60, PLAIN),
    "jina_embeddings_v3": ("JinaEmbeddingsV3", tf.JinaEmbeddingsV3Config, SIZES | EVEN, 60, NO_CHOICE),
    "layoutlm": ("LayoutLM", tf.LayoutLMConfig, dict(SIZES, max_2d_position_embeddings=100), 60, NO_CHOICE),
    "deberta": ("Deberta", tf.DebertaConfig, dict(SIZES, relative_attention=True, pos_att_type="c2p|p2c",
                max_relative_positions=16, type_vocab_size=2), 60, NO_CHOICE),
    "deberta-c2p": ("Deberta", tf.DebertaConfig, dict(SIZES, relative_attention=True, pos_att_type="c2p",
                        position_biased_input=False, max_position_embeddings=512), 300, ["feature-extraction"]),
    "bert-multi-label": ("Bert", tf.BertConfig, dict(SIZES, num_labels=3, problem_type="multi_label_classification"), 60,
                         ["text-classification"]),
    "gte-0-types": ("Gte", tf.GteConfig, dict(SIZES, type_vocab_size=0) | EVEN, 60, ["feature-extraction"]),
    "eurobert": ("EuroBert", tf.EuroBertConfig, EURO, 60, PLAIN),
    "eurobert-mean": ("EuroBert", tf.EuroBertConfig, dict(EURO, classifier_pooling="mean", num_key_value_heads=6,
                      attention_bias=True, mlp_bias=True), 60, ["text-classification", "fill-mask"]),
    "eurobert-bos": ("EuroBert", tf.EuroBertConfig, dict(EURO, classifier_pooling="bos"), 60, ["text-classification"]),
    "esm": ("Esm", tf.EsmConfig, ESM, 60, PLAIN),
    "esm-absolute": ("Esm", tf.EsmConfig, dict(ESM, position_embedding_type="absolute", token_dropout=False,
                     emb_layer_norm_before=True), 60, ["token-classification"]),
    "lilt": ("Lilt", tf.LiltConfig, dict(SIZES, max_2d_position_embeddings=100, pad_token_id=1), 60,
             ["feature-extraction", "text-classification", "token-classification", "question-answering"]),
    "deberta-v2": ("DebertaV2", tf.DebertaV2Config, DEBERTA, 60, None),
    "deberta-v2-plain": ("DebertaV2", tf.DebertaV2Config, dict(SIZES, type_vocab_size=2), 60, ["token-classification"]),
    "deberta-v2-own": ("DebertaV2", tf.DebertaV2Config, dict(DEBERTA, share_att_key=False, position_biased_input=True,
                       type_vocab_size=2, position_buckets=-1, max_relative_positions=16), 60, ["feature-extraction"]),
    "deberta-v2-buckets": ("DebertaV2", tf.DebertaV2Config, dict(DEBERTA, position_buckets=32, legacy=False,
                           max_position_embeddings=512), 500, ["fill-mask"]),
}


def make(case, task, folder, **other):
    prefix, config_class, sizes, _, _ = CASES[case]
    torch.manual_seed(7)
    sizes = dict(sizes, **other)
    if "num_labels" not in sizes and task in ("text-classification", "token-classification"):
        sizes["num_labels"] = 5
    model = getattr(tf, prefix + HEADS[task])(config_class(**sizes)).eval()
    for p in model.parameters():  # zeros and ones would hide a forgotten bias or gamma
        p.data.add_(torch.randn_like(p) * 0.1)
    shutil.rmtree(folder, ignore_errors=True)
    if case.endswith("16"):
        model = model.to(torch.float16 if case.endswith("fp16") else torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="20KB" if case.endswith("sharded") else "5GB")
    if case.endswith("sharded"):
        assert os.path.exists(os.path.join(folder, "model.safetensors.index.json"))
    return model.float()


def batches(model, longest):
    rng = np.random.default_rng(5)
    pad = model.config.pad_token_id or 0
    types = max(getattr(model.config, "type_vocab_size", 1) or 1, 1)
    for lengths in ([7, 1, longest, 12], [1, 2], [30, 17, 23]):
        S = max(lengths) + 2
        ids = np.full((len(lengths), S), pad, np.int64)
        mask = np.zeros((len(lengths), S), np.int64)
        kinds = np.zeros((len(lengths), S), np.int64)
        for r, n in enumerate(lengths):
            ids[r, :n], mask[r, :n] = rng.integers(3, V, n), 1
            kinds[r, :n] = rng.integers(0, types, n)
        boxes = np.sort(rng.integers(0, 99, (len(lengths), max(lengths), 2, 2)), 2).reshape(len(lengths), max(lengths), 4)
        yield {"bbox": boxes, "input_ids": ids[:, :max(lengths)], "attention_mask": mask[:, :max(lengths)],
               "token_type_ids": kinds[:, :max(lengths)]}


def torch_answers(model, feed, names):
    with torch.no_grad():
        out = model(**{k: torch.from_numpy(feed[k]) for k in names})
    if hasattr(out, "start_logits"):
        return [out.start_logits.numpy(), out.end_logits.numpy()]
    return [(out.logits if hasattr(out, "logits") else out.last_hidden_state).numpy()]


def difference(model, path, longest, program=None):
    """Of ONNX Runtime, or with a program of its `onnx run`."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    worst = 0.0
    for feed in batches(model, longest):
        if session.get_inputs()[0].shape[1] == "num_choices":
            feed = choices(feed)
        feed = fixed(feed, session.get_inputs()[0].shape)
        got = by_us(program, path, session, feed) if program else session.run(None, {k: feed[k] for k in names})
        for a, b in zip(got, torch_answers(model, feed, names)):
            assert a.shape == b.shape, (a.shape, b.shape)
            tokens = a.ndim == 3 or (len(got) == 2 and a.ndim == 2)  # else one vector a row
            real = feed["attention_mask"] == 1 if tokens else np.ones(a.shape[0], bool)
            worst = max(worst, float(np.abs(a - b)[real].max()))
    return worst


def by_us(program, path, session, feed):
    folder = path + ".run"
    os.makedirs(folder, exist_ok=True)
    line = [program, "onnx", "run", path, "-o", folder]
    for value in session.get_inputs():
        np.save(os.path.join(folder, value.name + ".npy"), feed[value.name])
        line += ["-i", "%s=%s" % (value.name, os.path.join(folder, value.name + ".npy"))]
    subprocess.run(line, check=True, capture_output=True)
    return [np.load(os.path.join(folder, o.name + ".npy")) for o in session.get_outputs()]


def fixed(feed, shape):
    """Cut to a static shape, which must not be longer than any batch."""
    if isinstance(shape[0], str):
        return feed
    cut = (slice(shape[0]),) + (slice(None),) * (len(shape) - 2) + (slice(shape[-1]),)
    return {k: v[cut] for k, v in feed.items()}


def choices(feed):
    """Each row beside a copy of itself, backwards where it is real."""
    turned = {k: v.copy() for k, v in feed.items()}
    for ids, mask in zip(turned["input_ids"], turned["attention_mask"]):
        ids[mask == 1] = ids[mask == 1][::-1]
    return {k: np.stack([feed[k], turned[k], feed[k]], 1) for k in feed if k != "bbox"}


def module_table(model, longest):
    """Rule 2.1: what hooks see, {path: tag}, classes of torch.nn left out."""
    table, stack = {}, []

    def enter(name):
        def hook(module, args):
            last = name.split(".")[-1]
            part = type(module).__name__ + ("." + last if last.isdigit() else "")
            tag = (stack[-1] if stack else "") + "/" + part
            stack.append(tag)
            table.setdefault(name, tag)
        return hook
    handles = []
    for name, module in model.named_modules():
        if type(module).__module__.startswith(("torch.nn", "torch._C")):
            continue
        handles.append(module.register_forward_pre_hook(enter(name)))
        handles.append(module.register_forward_hook(lambda m, a, o: stack.pop() and None))
    feed = next(iter(batches(model, longest)))
    if "MultipleChoice" in type(model).__name__:
        feed = choices(feed)
    with torch.no_grad():
        model(input_ids=torch.from_numpy(feed["input_ids"]), attention_mask=torch.from_numpy(feed["attention_mask"]))
    for h in handles:
        h.remove()
    return table


def check_tags(model, path, longest):
    return wrong_tags(path, module_table(model, longest))


def boxes_of(rng, n, config):
    """Left, top, right, bottom of n words."""
    most = config.max_2d_position_embeddings - 1
    return np.sort(rng.integers(0, most, (n, 2, 2)), 1).reshape(n, 4).astype(np.int32)


def engine_case(model, out, longest):
    """The ragged batch of tests/test_engine.c, with PyTorch's answers row by row."""
    names = [i.name for i in onnx.load(os.path.join(out, "model.onnx")).graph.input]
    rng = np.random.default_rng(3)
    types = max(getattr(model.config, "type_vocab_size", 1) or 1, 1) if "token_type_ids" in names else 1
    lengths = [7, 1, 19, 7, min(longest, 90)]
    start = np.cumsum([0] + lengths).astype(np.int32)
    ids = rng.integers(3, model.config.vocab_size, start[-1]).astype(np.int32)
    kinds = rng.integers(0, types, start[-1]).astype(np.int32)
    boxes = boxes_of(rng, start[-1], model.config) if "bbox" in names else None
    rows = []
    for a, b in zip(start[:-1], start[1:]):
        feed = {"input_ids": ids[None, a:b].astype(np.int64), "attention_mask": np.ones((1, b - a), np.int64),
                "token_type_ids": kinds[None, a:b].astype(np.int64)}
        if boxes is not None:
            feed["bbox"] = boxes[None, a:b].astype(np.int64)
        y = torch_answers(model, feed, names)[0]
        rows.append(y[0] if y.ndim == 3 else y)
    for name, array in dict(start=start, ids=ids, type_ids=kinds, output=np.concatenate(rows).astype(np.float32)).items():
        np.save(os.path.join(out, name + ".npy"), array)
    if boxes is not None:
        np.save(os.path.join(out, "bbox.npy"), boxes)


def run_engine(program, out):
    if not program:
        return "-"
    result = subprocess.run([program, out], capture_output=True, text=True)
    line = [l for l in result.stdout.splitlines() if ": fused" in l]
    if not line:
        return " ".join(result.stdout.split())[:90]
    why = [l.split(": ", 1)[1] for l in result.stdout.splitlines() if l.startswith("  " + out)]
    return line[0].split(": ", 1)[1] + (" (" + why[0][:60] + ")" if "padded" in line[0] and why else "")


def export(program, folder, out, *more):
    shutil.rmtree(out, ignore_errors=True)
    result = subprocess.run([program, "export", folder, out, *more], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip())


def check(args, case, task, opset=18):
    source = os.path.join(args.work, case + "." + task)
    out = source + ".onnx%d" % opset
    longest = CASES[case][3]
    if opset == 18:
        args.models[(case, task)] = make(case, task, source)
    model = args.models[(case, task)]
    try:
        export(args.program, source, out, "--task", task, "--opset", str(opset))
    except RuntimeError as e:
        print("%-18s %-21s %2d  %s" % (case, task, opset, e), flush=True)
        return False
    path = os.path.join(out, "model.onnx")
    proto = onnx.load(path)
    onnx.checker.check_model(proto, full_check=True)
    worst = difference(model, path, longest)
    ours = difference(model, path, longest, args.program)
    tags = check_tags(model, path, longest)
    engine = "-"
    if task not in ("question-answering", "multiple-choice") and case not in ("layoutlm", "lilt"):
        engine_case(model, out, longest)
        engine = run_engine(args.engine, out)
    print("%-18s %-21s %2d  %8.2g %8.2g  %4d nodes  tags %s  engine %s" % (
        case, task, opset, worst, ours, len(proto.graph.node), "ok" if not tags else "WRONG %s" % (tags[0],), engine), flush=True)
    return max(worst, ours) <= 1e-4 and not tags


# name: options, and how far from PyTorch's fp32 answers it may be
VARIANTS = {"O2": (["--optimize", "O2"], 1e-4), "O2, opset 20": (["--optimize", "O2", "--opset", "20"], 1e-4),
            "O3": (["--optimize", "O3"], 2e-2), "fp16": (["--dtype", "fp16"], 2e-2), "bf16": (["--dtype", "bf16"], 1e-1),
            "static": (["--static-shapes", "2,2"], 1e-4), "torch-module": (["--torch-module"], 1e-4)}


def check_variants(args, case, task):
    source = os.path.join(args.work, case + "." + task)
    bad = 0
    for name, (options, bound) in VARIANTS.items():
        out = source + ".variant"
        export(args.program, source, out, "--task", task, *options)
        path = os.path.join(out, "model.onnx")
        onnx.checker.check_model(onnx.load(path), full_check=True)
        model = args.models[(case, task)]
        worst, ours = difference(model, path, CASES[case][3]), difference(model, path, CASES[case][3], args.program)
        print("%-18s %-21s %-13s %8.2g %8.2g" % (case, task, name, worst, ours), flush=True)
        bad += max(worst, ours) > bound
    return bad


POOLINGS = {"cls": ["cls_token"], "mean": ["mean_tokens"], "max": ["max_tokens"], "sqrt": ["mean_sqrt_len_tokens"],
            "weighted": ["weightedmean_tokens"], "two": ["cls_token", "mean_tokens"],
            "last": ["lasttoken"]}
NAMES = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]


def pooled(x, mask, mode):
    """As sentence_transformers.models.Pooling has it."""
    wide = mask.unsqueeze(-1).float()
    if mode == "cls_token":
        return x[:, 0]
    if mode == "max_tokens":
        return x.masked_fill(wide == 0, -1e9).max(1)[0]
    if mode == "lasttoken":
        return x[torch.arange(x.shape[0]), x.shape[1] - 1 - mask.flip(1).argmax(1)]
    if mode == "weightedmean_tokens":
        wide = wide * torch.arange(1, x.shape[1] + 1).float()[None, :, None]
    total = torch.clamp(wide.sum(1), min=1e-9)
    return (x * wide).sum(1) / (torch.sqrt(total) if mode == "mean_sqrt_len_tokens" else total)


def check_sentence(args, case, pooling, dense, normal):
    """A sentence-transformers folder, put together by hand."""
    from safetensors.torch import save_file
    source = os.path.join(args.work, "st-%s-%s" % (case, pooling))
    model = make(case, "feature-extraction", source)
    rows = [("", "Transformer"), ("1_Pooling", "Pooling")] + [("2_Dense", "Dense")] * dense + [("3_Normalize", "Normalize")] * normal
    with open(os.path.join(source, "modules.json"), "w") as f:
        json.dump([{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t}
                   for i, (p, t) in enumerate(rows)], f)
    os.makedirs(os.path.join(source, "1_Pooling"))
    width = 24 * len(POOLINGS[pooling])
    with open(os.path.join(source, "1_Pooling/config.json"), "w") as f:
        json.dump({"word_embedding_dimension": 24, **{"pooling_mode_" + n: n in POOLINGS[pooling] for n in NAMES}}, f)
    linear = torch.nn.Linear(width, 10)
    if dense:
        os.makedirs(os.path.join(source, "2_Dense"))
        save_file({"linear.weight": linear.weight.data, "linear.bias": linear.bias.data},
                  os.path.join(source, "2_Dense/model.safetensors"))
        with open(os.path.join(source, "2_Dense/config.json"), "w") as f:
            json.dump({"in_features": width, "out_features": 10, "bias": True,
                       "activation_function": "torch.nn.modules.activation.Tanh"}, f)
    worst = 0.0
    for opset in (14, 18, 20):
        out = source + "-out"
        export(args.program, source, out, "--opset", str(opset))
        session = ort.InferenceSession(os.path.join(out, "model.onnx"), providers=["CPUExecutionProvider"])
        assert [o.name for o in session.get_outputs()] == ["token_embeddings", "sentence_embedding"]
        for feed in batches(model, 60):
            ids, mask = torch.from_numpy(feed["input_ids"]), torch.from_numpy(feed["attention_mask"])
            with torch.no_grad():
                x = model(input_ids=ids, attention_mask=mask).last_hidden_state
                y = torch.cat([pooled(x, mask, m) for m in NAMES if m in POOLINGS[pooling]], 1)
                y = torch.tanh(linear(y)) if dense else y
                y = torch.nn.functional.normalize(y, p=2, dim=1) if normal else y
            got = session.run(None, {"input_ids": feed["input_ids"], "attention_mask": feed["attention_mask"]})
            worst = max(worst, float(np.abs(got[1] - y.numpy()).max()))
            worst = max(worst, float(np.abs(got[0] - x.numpy())[feed["attention_mask"] == 1].max()))
    print("%-18s sentence, %-11s     %8.2g  dense %d, normalize %d" % (case, pooling, worst, dense, normal), flush=True)
    return worst <= 1e-4


GOLDEN = {"bert": "token-classification", "roberta": "text-classification", "distilbert": "fill-mask",
          "modernbert": "feature-extraction", "deberta-v2": "text-classification", "bert-bf16": "fill-mask",
          "eurobert": "text-classification", "esm": "token-classification"}
# The other rows of src/export/arch.c, as small as they can be.
TINY = {"xlm-roberta": "token-classification", "camembert": "fill-mask", "electra": "text-classification",
        "albert": "fill-mask", "mpnet": "text-classification", "ernie": "fill-mask", "deberta": "feature-extraction",
        "nomic_bert": "text-classification", "gte": "fill-mask", "new": "token-classification",
        "jina_embeddings_v3": "text-classification", "layoutlm": "token-classification", "lilt": "feature-extraction"}
TINY_SIZES = dict(vocab_size=37, hidden_size=16, num_attention_heads=2, intermediate_size=24, max_position_embeddings=40)
TINY_MORE = {"electra": dict(embedding_size=8), "albert": dict(embedding_size=8), "layoutlm": dict(max_2d_position_embeddings=30),
             "lilt": dict(max_2d_position_embeddings=30, hidden_size=24), "deberta": dict(max_relative_positions=8)}


def as_new(folder):
    """GTE's checkpoint as it was published, when its model_type was still "new"."""
    from safetensors.numpy import load_file, save_file
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        config = json.load(f)
    config.update(model_type="new", architectures=["NewForTokenClassification"],
                  rope_theta=config.pop("rope_parameters")["rope_theta"])
    with open(path, "w") as f:
        json.dump(config, f, indent=2, sort_keys=True)
    path = os.path.join(folder, "model.safetensors")
    save_file({k.replace("gte.", "new.", 1): v for k, v in load_file(path).items()}, path, {"format": "pt"})


def golden(args):
    """tests/golden/export: source folders, and PyTorch's answers to a ragged batch."""
    for case, task in (GOLDEN | TINY).items():
        if args.case and case not in args.case:
            continue
        folder = os.path.join(args.golden, case)
        of = "gte" if case == "new" else case
        model = make(of, task, folder, **(TINY_SIZES | TINY_MORE.get(case, {}) if case in TINY else {}))
        if case == "new":
            as_new(folder)
        out = os.path.join(args.work, "golden")
        export(args.program, folder, out, "--task", task)
        boxes = case in ("layoutlm", "lilt")
        engine_case(model, out, 23 if case in TINY else CASES[of][3])
        for name in ["start", "ids", "type_ids", "output"] + ["bbox"] * boxes:
            shutil.copy(os.path.join(out, name + ".npy"), folder)
        os.chmod(os.path.join(folder, "model.safetensors"), 0o644)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--engine")
    parser.add_argument("--opsets", action="store_true")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--golden", help="folder to write, as tests/golden/export")
    parser.add_argument("case", nargs="*")
    args = parser.parse_intermixed_args()
    args.models = {}
    torch.set_num_threads(1)
    if args.golden:
        return golden(args)
    bad = 0
    for case in args.case or CASES:
        for task in CASES[case][4] or HEADS:
            bad += not check(args, case, task)
            bad += check_variants(args, case, task) if args.variants else 0
            for opset in (14, 17, 20, 21) if args.opsets else ():
                bad += not check(args, case, task, opset)
    for case in () if args.case else ("bert", "mpnet", "distilbert", "roberta"):
        for i, pooling in enumerate(POOLINGS):
            bad += not check_sentence(args, case, pooling, i % 2, i % 3 == 0)
    print("%d differ by more than 1e-4, or in their tags" % bad)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
