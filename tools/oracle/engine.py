"""Writes tests/golden/engine: tiny encoders exported in the forms people have, with ONNX Runtime's answers.

Each folder holds model.onnx and, as .npy, one ragged batch: start [B+1], ids [T], type_ids [T] and
output ([T, width] for real tokens, or [B, width]). Rows are run one by one, so that no padding is involved.
Needs torch, transformers, onnx, onnxruntime, onnxscript, numpy.

    python tools/oracle/engine.py tests/golden/engine
"""
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch
import transformers as tf
from onnx.reference import ReferenceEvaluator

from exports import last_token, maximum, mean

warnings.filterwarnings("ignore")
VOCAB, LENGTHS = 60, [7, 1, 19, 7, 30]
SIZES = dict(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
             max_position_embeddings=48)
DISTIL = dict(vocab_size=VOCAB, dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=48)
ROBERTA = dict(SIZES, max_position_embeddings=50, type_vocab_size=1, pad_token_id=1)



class Toy(torch.nn.Module):
    """One attention layer whose mask is written in a way of its own: what the mask probe must see through."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.config = kind, tf.BertConfig(**SIZES)
        self.embed = torch.nn.Embedding(VOCAB, 24)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(24, 24) for _ in range(4))
        self.norm = torch.nn.LayerNorm(24)
        self.place = torch.nn.Embedding(48, 24) if kind in ("fromend", "dead") else None

    def mask(self, attention_mask):
        S = attention_mask.shape[1]
        at = torch.arange(S)
        hidden = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        if self.kind.startswith("window"):
            far = (at[:, None] - at[None, :]).abs() > int(self.kind[6:])
            hidden = hidden + far.float()[None, None] * -10000.0
        if self.kind == "causal":
            hidden = hidden + (at[None, :] > at[:, None]).float()[None, None] * -10000.0
        if self.kind == "scaled":  # another bias for every length
            hidden = hidden - (at[None, :] - at[:, None]).abs().float()[None, None] / S
        if self.kind == "bias":
            hidden = hidden + (at[None, :] - at[:, None]).float()[None, None] * 0.1
        return hidden

    def forward(self, input_ids, attention_mask):
        x = self.embed(input_ids)
        B, S, _ = x.shape
        if self.kind == "fromend":  # counted from the end of the batch: not the same alone and in company
            x = x + self.place(S - (input_ids != 0).long().cumsum(1))
        if self.kind == "dead":  # padding counts: there is none in a row without it
            x = x + self.place((1 - attention_mask).sum(1, keepdim=True).expand(-1, S))
        if self.kind == "open":  # padding is hidden from nobody
            x = x * attention_mask[..., None]
        q, k, v = (f(x).view(B, S, 3, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / 8 ** 0.5
        scores = scores if self.kind == "open" else scores + self.mask(attention_mask)
        out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, S, 24)
        return tf.modeling_outputs.BaseModelOutput(last_hidden_state=self.norm(self.o(out) + x))


class Pooled(torch.nn.Module):
    """A BERT whose tokens become one vector inside the graph, in the spellings of exports.py."""

    def __init__(self, pooling):
        super().__init__()
        self.config = tf.BertConfig(**dict(SIZES, num_hidden_layers=1))
        self.bert, self.pooling = tf.BertModel(self.config, add_pooling_layer=False), pooling
        self.dense = torch.nn.Linear(24, 8)

    def forward(self, input_ids, attention_mask):
        x = self.pooling(self.bert(input_ids, attention_mask).last_hidden_state, attention_mask)
        x = torch.nn.functional.normalize(torch.tanh(self.dense(x)), p=2, dim=1)
        return tf.modeling_outputs.BaseModelOutput(last_hidden_state=x)


DEBERTA = dict(relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], share_att_key=True,
               norm_rel_ebd="layer_norm", type_vocab_size=0, position_biased_input=False, max_relative_positions=-1)
MODERN = dict(local_attention=8, global_attn_every_n_layers=2, pad_token_id=0, bos_token_id=1, eos_token_id=2,
              cls_token_id=1, sep_token_id=2)

GROUPED = dict(SIZES, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8, pad_token_id=0,
               bos_token_id=1, eos_token_id=2)

# name: class, config, exporter (opset; "dynamo" or "script"), inputs, fixed sizes (0 rows: any) or None
CASES = {
    "bert-script11": (tf.BertModel, tf.BertConfig(attn_implementation="eager", **SIZES), 11, "script", 3, None),
    "bert-script14": (tf.BertModel, tf.BertConfig(**SIZES), 14, "script", 3, None),
    "bert-script17": (tf.BertForTokenClassification, tf.BertConfig(num_labels=5, **SIZES), 17, "script", 3, None),
    "bert-dynamo18": (tf.BertForTokenClassification, tf.BertConfig(num_labels=5, **SIZES), 18, "dynamo", 3, None),
    "bert-sequence17": (tf.BertForSequenceClassification, tf.BertConfig(num_labels=3, **SIZES), 17, "script", 3, None),
    "bert-mlm17": (tf.BertForMaskedLM, tf.BertConfig(**SIZES), 17, "script", 3, None),  # the tied table, transposed
    "bert-mlm18": (tf.BertForMaskedLM, tf.BertConfig(**SIZES), 18, "dynamo", 3, None),
    "bert-tanh17": (tf.BertModel, tf.BertConfig(hidden_act="gelu_new", **SIZES), 17, "script", 3, None),
    "bert-eager17": (tf.BertModel, tf.BertConfig(attn_implementation="eager", **SIZES), 17, "script", 3, None),
    "bert-fixed17": (tf.BertModel, tf.BertConfig(**SIZES), 17, "script", 3, (2, 32)),
    "distilbert-script17": (tf.DistilBertForSequenceClassification, tf.DistilBertConfig(num_labels=3, **DISTIL), 17,
                            "script", 2, None),
    "roberta-script17": (tf.RobertaModel, tf.RobertaConfig(**ROBERTA), 17, "script", 2, None),
    "bert-int32-17": (tf.BertModel, tf.BertConfig(**SIZES), 17, "script", 4, None),
    "bert-bool17": (tf.BertModel, tf.BertConfig(**dict(SIZES, num_hidden_layers=1)), 17, "script", 2, None),  # the mask
    "bert-quantized17": (tf.BertModel, tf.BertConfig(**SIZES), 17, "script", 3, None),
    "toy-plain17": (Toy, "plain", 17, "script", 2, None),
    "toy-window8": (Toy, "window8", 17, "script", 2, None),
    "toy-window600": (Toy, "window600", 17, "script", 2, None),  # invisible at 520 tokens
    "toy-causal17": (Toy, "causal", 17, "script", 2, None),
    "toy-bias17": (Toy, "bias", 17, "script", 2, None),
    "toy-bias-scaled17": (Toy, "scaled", 17, "script", 2, None),
    "toy-unmasked-fixed17": (Toy, "open", 17, "script", 2, (2, 32)),
    "toy-fromend-fixed17": (Toy, "dead", 17, "script", 2, (2, 32)),
    "roberta-dynamo18": (tf.RobertaModel, tf.RobertaConfig(**ROBERTA), 18, "dynamo", 2, None),
    "toy-fromend17": (Toy, "fromend", 17, "script", 2, None),
    "bert-half17": (tf.BertModel, tf.BertConfig(**SIZES), 17, "script", 3, None),  # so is its output
    "bert-optimized17": (tf.BertModel, tf.BertConfig(attn_implementation="eager", **SIZES), 17, "script", 3, None),
    "deberta-script17": (tf.DebertaV2Model, tf.DebertaV2Config(**DEBERTA, **dict(SIZES, num_hidden_layers=1)), 17,
                         "script", 2, None),  # with If
    "deberta-saved17": (tf.DebertaV2Model, tf.DebertaV2Config(**DEBERTA, **dict(SIZES, num_hidden_layers=1)), 17,
                        "script", 2, None),  # the same, as ONNX Runtime's basic level saves it
    "deberta-keys17": (tf.DebertaV2Model, tf.DebertaV2Config(**dict(DEBERTA, pos_att_type=["p2c"], position_buckets=-1),
                                                             **dict(SIZES, num_hidden_layers=1)), 17, "script", 2,
                       None),  # positions give numbers to keys alone
    "deberta-conv18": (tf.DebertaV2Model, tf.DebertaV2Config(**dict(DEBERTA, conv_kernel_size=3, conv_act="gelu"),
                                                             **dict(SIZES, num_hidden_layers=1)), 18, "dynamo", 2,
                       None),
    "modernbert-dynamo18": (tf.ModernBertModel, tf.ModernBertConfig(**MODERN, **SIZES), 18, "dynamo", 2, None),
    "modernbert-relu17": (tf.ModernBertModel, tf.ModernBertConfig(hidden_activation="relu", **MODERN, **SIZES), 17,
                          "script", 2, None),  # a gate of no kernel: Slices along the columns
    "deberta-fixed17": (tf.DebertaV2Model, tf.DebertaV2Config(**DEBERTA, **dict(SIZES, num_hidden_layers=1)), 17,
                        "script", 2, (1, 32)),
    "modernbert-fixed18": (tf.ModernBertModel, tf.ModernBertConfig(**MODERN, **SIZES), 18, "dynamo", 2, (3, 32)),
    "roberta-fixed18": (tf.RobertaModel, tf.RobertaConfig(**ROBERTA), 18, "dynamo", 2, (1, 32)),
    "bert-tokens17": (tf.BertModel, tf.BertConfig(**dict(SIZES, num_hidden_layers=1)), 17, "script", 3, (0, 32)),
    "bert-tokens18": (tf.BertModel, tf.BertConfig(**dict(SIZES, num_hidden_layers=1)), 18, "dynamo", 3, (0, 32)),
    "deberta-tokens18": (tf.DebertaV2Model, tf.DebertaV2Config(**DEBERTA, **dict(SIZES, num_hidden_layers=1)), 18,
                         "dynamo", 2, (0, 32)),
    "modernbert-tokens18": (tf.ModernBertModel, tf.ModernBertConfig(**MODERN, **SIZES), 18, "dynamo", 2, (0, 32)),
    "bert-nomask17": (tf.BertModel, tf.BertConfig(**dict(SIZES, num_hidden_layers=1)), 17, "script", 1, (2, 32)),
    "pooled-mean17": (Pooled, mean, 17, "script", 2, None),
    "pooled-max18": (Pooled, maximum, 18, "dynamo", 2, None),
    "pooled-last17": (Pooled, last_token, 17, "script", 2, None),
    "pooled-last18": (Pooled, last_token, 18, "dynamo", 2, None),
    "pooled-fixed17": (Pooled, mean, 17, "script", 2, (2, 32)),
    "pooled-unmasked17": (Pooled, lambda x, mask: x.mean(1), 17, "script", 2, None),
    "mpnet-dynamo18": (tf.MPNetModel, tf.MPNetConfig(**dict(SIZES, max_position_embeddings=50)), 18, "dynamo", 2,
                       None),
    "eurobert-grouped17": (tf.EuroBertModel, tf.EuroBertConfig(mask_token_id=3, **GROUPED), 17, "script", 2, None),
    "eurobert-grouped18": (tf.EuroBertModel, tf.EuroBertConfig(mask_token_id=3, **GROUPED), 18, "dynamo", 2, None),
    "qwen3-grouped17": (tf.Qwen3Model, tf.Qwen3Config(use_cache=False, **GROUPED), 17, "script", 2, None),  # causal
    "qwen3-grouped18": (tf.Qwen3Model, tf.Qwen3Config(use_cache=False, **GROUPED), 18, "dynamo", 2, None),
    "gemma3-heads18": (tf.Gemma3TextModel, tf.Gemma3TextConfig(
        use_cache=False, use_bidirectional_attention=True, sliding_window=8, query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention"], **dict(GROUPED, num_key_value_heads=1)), 18, "dynamo", 2,
                       None),  # norms of heads that are turned already
    "deberta-heads17": (tf.DebertaModel, tf.DebertaConfig(pos_att_type=[], type_vocab_size=0, **SIZES), 17, "script",
                        2, None),  # version 1: queries, keys and values cut out of heads that are turned already
    "eurobert-grouped-fixed18": (tf.EuroBertModel, tf.EuroBertConfig(mask_token_id=3, **GROUPED), 18, "dynamo", 2,
                                 (3, 44)),
}


class Only(torch.nn.Module):
    """The one output we want, with inputs by position."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)))
        return out.logits if hasattr(out, "logits") else out.last_hidden_state


def export(path, model, opset, how, count, fixed):
    names = ["input_ids", "attention_mask", "token_type_ids", "position_ids"][:count]
    B, S = fixed or (2, 9)
    any_rows, B = fixed and not B, B or 2
    mask = torch.ones(B, S, dtype=torch.long)
    mask[-1, S // 2:] = 0
    positions = torch.arange(S).expand(B, S)
    args = tuple([torch.randint(3, VOCAB, (B, S)), mask, torch.zeros(B, S, dtype=torch.long), positions][:count])
    if count == 4:  # the case of all optional inputs is also the one of int32
        args = tuple(a.int() for a in args)
    if "bool" in path:
        args = (args[0], args[1].bool())
    wrapped = Only(model, names).eval()
    output = "logits" if hasattr(model, "classifier") else "last_hidden_state"
    if how == "dynamo" and fixed:
        shapes = (tuple({0: torch.export.Dim("batch_size")} for _ in names),) if any_rows else None
        torch.onnx.export(wrapped, args, path, input_names=names, output_names=[output], opset_version=opset,
                          dynamo=True, dynamic_shapes=shapes, external_data=False)
    elif how == "dynamo":
        most = model.config.max_position_embeddings - 2
        dims = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length", max=most)}
        torch.onnx.export(wrapped, args, path, input_names=names, output_names=[output], opset_version=opset,
                          dynamo=True, dynamic_shapes=(tuple(dict(dims) for _ in names),), external_data=False)
    else:
        axes = None if fixed else {n: {0: "batch_size", 1: "sequence_length"} for n in names + [output]}
        if any_rows:
            axes = {n: {0: "batch_size"} for n in names + [output]}
        torch.onnx.export(wrapped, args, path, input_names=names, output_names=[output], opset_version=opset,
                          dynamic_axes=axes, dynamo=False)
    return names


def quantize(path):
    """Dynamic int8 as ONNX Runtime writes it; its answers come from ONNX's own reference, which does not saturate."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(path, path, per_channel=True, weight_type=QuantType.QUInt8, op_types_to_quantize=["MatMul"])


def optimize(path):
    """What ONNX Runtime's optimizer makes of it: com.microsoft Attention, EmbedLayerNormalization and so on."""
    from onnxruntime.transformers.optimizer import optimize_model
    optimize_model(path, "bert", num_heads=SIZES["num_attention_heads"], hidden_size=SIZES["hidden_size"],
                   opt_level=1).save_model_to_file(path)


def halve(path):
    """float16 as ONNX Runtime's converter writes it by default: the output is of float16 as well."""
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(path)), path)


def save(path):
    """The file that ONNX Runtime writes of it at its basic level."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = path + ".saved"
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    os.replace(path + ".saved", path)


def answers(path, names, start, ids, types, fixed):
    session = ReferenceEvaluator(path) if "quantized" in path else ort.InferenceSession(
        path, providers=["CPUExecutionProvider"])
    rows = []
    for a, b in zip(start[:-1], start[1:]):
        n = b - a
        B, S = fixed or (1, n)
        B = B or 1
        feed = {"input_ids": np.zeros((B, S), np.int64), "attention_mask": np.zeros((B, S), np.int64),
                "token_type_ids": np.zeros((B, S), np.int64), "position_ids": np.arange(S)[None].repeat(B, 0)}
        feed["input_ids"][0, :n], feed["attention_mask"][0, :n], feed["token_type_ids"][0, :n] = ids[a:b], 1, types[a:b]
        feed["attention_mask"][1:, 0] = 1
        kind = np.int32 if len(names) == 4 else np.int64
        if "bool" in path:
            feed["attention_mask"] = feed["attention_mask"].astype(bool)
        out = session.run(None, {k: v if v.dtype == bool else v.astype(kind) for k, v in feed.items() if k in names})[0]
        rows.append(out[0, :n] if out.ndim == 3 else out[:1])
    return np.concatenate(rows).astype(np.float32)


def write(folder, case):
    cls, config, opset, how, count, fixed = case
    torch.manual_seed(7)
    model = cls(config).eval()
    for p in model.parameters():  # zeros and ones would hide a forgotten bias or gamma
        p.data.add_(torch.randn_like(p) * 0.1)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    names = export(path, model, opset, how, count, fixed)
    if "quantized" in path:
        quantize(path)
    if "optimized" in path:
        optimize(path)
    if "saved" in path:
        save(path)
    if "half" in path:
        halve(path)
    proto = onnx.load(path)
    del proto.metadata_props[:]
    for node in proto.graph.node:  # stack traces with paths of the machine that exported
        del node.metadata_props[:]
        node.doc_string = ""
    proto.doc_string = ""
    onnx.save(proto, path)
    rng = np.random.default_rng(3)
    start = np.cumsum([0] + LENGTHS).astype(np.int32)
    ids = rng.integers(3, VOCAB, start[-1]).astype(np.int32)
    types = rng.integers(0, 2 if count >= 3 else 1, start[-1]).astype(np.int32)
    out = answers(path, names, start, ids, types, fixed)
    for name, array in dict(start=start, ids=ids, type_ids=types, output=out).items():
        np.save(os.path.join(folder, name + ".npy"), array)
    print(os.path.basename(folder), [i.version for i in proto.opset_import], len(proto.graph.node), "nodes", out.shape)


if __name__ == "__main__":
    wanted = sys.argv[2:] or CASES
    for name in wanted:
        write(os.path.join(sys.argv[1], name), CASES[name])
