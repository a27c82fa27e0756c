# SPDX-License-Identifier: Apache-2.0
"""models.py PROGRAM WORK NAME... - random weights in real shapes, once for each way to have them.

WORK/NAME gets `torch/` (safetensors and config.json), `script17.onnx` and `dynamo18.onnx` (torch's two exporters),
`ours/model.onnx` (`PROGRAM export` of the same weights) and `int8.onnx` (ONNX Runtime's quantize_dynamic of
script17.onnx). What is there already is left alone. Weights do not change the time a product takes.
Needs torch, transformers, onnx, onnxscript, onnxruntime.
"""
import contextlib
import io
import logging
import os
import subprocess
import sys
import warnings

SMALL = dict(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
             max_position_embeddings=512)
BASE = dict(SMALL, hidden_size=768, num_hidden_layers=12, intermediate_size=3072)
LARGE = dict(BASE, hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)


def distil(s):
    return dict(vocab_size=s["vocab_size"], dim=s["hidden_size"], n_layers=6, n_heads=s["num_attention_heads"],
                hidden_dim=s["intermediate_size"], max_position_embeddings=s["max_position_embeddings"])


def longer(s, **more):
    """Positions of the RoBERTa family begin behind the padding id."""
    return dict(s, max_position_embeddings=s["max_position_embeddings"] + 2, **more)


DEBERTA3 = dict(relative_attention=True, position_buckets=256, pos_att_type=["p2c", "c2p"], share_att_key=True,
                norm_rel_ebd="layer_norm", type_vocab_size=0, position_biased_input=False, max_relative_positions=-1)
MODERN = dict(local_attention=128, global_attn_every_n_layers=3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
              cls_token_id=1, sep_token_id=2)
# name: class, class of its configuration, configuration, number of inputs
MODELS = {
    "minilm": ("BertModel", "BertConfig", SMALL, 3),
    "minilm-ner": ("BertForTokenClassification", "BertConfig", dict(SMALL, num_labels=9), 3),
    "bert-base": ("BertForTokenClassification", "BertConfig", dict(BASE, num_labels=9), 3),
    "bert-large": ("BertForTokenClassification", "BertConfig", dict(LARGE, num_labels=9), 3),
    "distilbert-base": ("DistilBertForSequenceClassification", "DistilBertConfig", distil(BASE), 2),
    "distilbert": ("DistilBertModel", "DistilBertConfig", distil(SMALL), 2),
    "roberta": ("RobertaModel", "RobertaConfig", longer(SMALL, type_vocab_size=1, pad_token_id=1), 2),
    "mpnet": ("MPNetModel", "MPNetConfig", longer(SMALL), 2),
    "albert": ("AlbertModel", "AlbertConfig", dict(SMALL, embedding_size=128), 3),
    "modernbert": ("ModernBertModel", "ModernBertConfig", dict(SMALL, **MODERN), 2),
    "deberta-v3": ("DebertaV2Model", "DebertaV2Config", dict(SMALL, **DEBERTA3), 2),
}
NAMES = ["input_ids", "attention_mask", "token_type_ids"]


def torch_model(work, name, **kwargs):
    import transformers
    cls = getattr(transformers, MODELS[name][0])
    if MODELS[name][0] == "BertModel":
        kwargs["add_pooling_layer"] = False  # nobody else computes it
    return cls.from_pretrained(f"{work}/{name}/torch", **kwargs).eval()


def make_torch(work, name):
    import torch
    import transformers
    cls, config, sizes, _ = MODELS[name]
    torch.manual_seed(7)
    getattr(transformers, cls)(getattr(transformers, config)(**sizes)).save_pretrained(f"{work}/{name}/torch")


def torch_export(work, name, how):
    import torch
    model, names = torch_model(work, name), NAMES[:MODELS[name][3]]

    class Only(torch.nn.Module):
        """Inputs by position, the one output."""

        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *args):
            out = self.model(**dict(zip(names, args)))
            return out.logits if hasattr(out, "logits") else out.last_hidden_state

    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 4:] = 0
    args = (torch.randint(3, 1000, (2, 9)), mask, torch.zeros(2, 9, dtype=torch.long))[:len(names)]
    common = dict(input_names=names, output_names=["out"])
    path = f"{work}/{name}/{how}.onnx"
    if how == "dynamo18":
        dims = {0: torch.export.Dim("b"), 1: torch.export.Dim("s", max=512)}
        torch.onnx.export(Only().eval(), args, path + ".part", dynamo=True, opset_version=18, external_data=False,
                          dynamic_shapes=(tuple(dict(dims) for _ in names),), **common)
    else:
        torch.onnx.export(Only().eval(), args, path + ".part", dynamo=False, opset_version=17,
                          dynamic_axes={n: {0: "b", 1: "s"} for n in names + ["out"]}, **common)
    os.replace(path + ".part", path)


def quantize(source, path):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    logging.disable(logging.WARNING)
    quantize_dynamic(source, path + ".part", weight_type=QuantType.QInt8, per_channel=True,
                     op_types_to_quantize=["MatMul", "Gemm", "Gather"])
    os.replace(path + ".part", path)


def our_export(program, work, name):
    subprocess.run([program, "export", f"{work}/{name}/torch", f"{work}/{name}/ours", "--clean-onnx"], check=True,
                   stdout=subprocess.DEVNULL)


def prepare(program, work, name):
    """Returns the folder."""
    folder = f"{work}/{name}"
    os.makedirs(folder, exist_ok=True)
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    steps = {"torch/model.safetensors": lambda: make_torch(work, name),
             "script17.onnx": lambda: torch_export(work, name, "script17"),
             "dynamo18.onnx": lambda: torch_export(work, name, "dynamo18"),
             "int8.onnx": lambda: quantize(f"{folder}/script17.onnx", f"{folder}/int8.onnx"),
             "ours/model.onnx": lambda: our_export(program, work, name)}
    for file, make in steps.items():
        if not os.path.exists(f"{folder}/{file}"):
            with quiet[0], quiet[1]:
                make()
    return folder


def use(work, name, model, published=None):
    """A real model.onnx in the place of torch's own export; published: its int8 file, where there is one."""
    folder = f"{work}/{name}"
    os.makedirs(folder, exist_ok=True)
    for file, source in (("script17.onnx", model), ("published-int8.onnx", published)):
        if source and not os.path.exists(f"{folder}/{file}"):
            os.symlink(os.path.abspath(source), f"{folder}/{file}")


def tokenizer(path, size=30522):
    """A WordPiece tokenizer of this many tokens, for packages that need one."""
    import random
    r = random.Random(1)
    words = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"])
    while len(words) < size:
        word = "".join(r.choice("bcdfglmnprst") + r.choice("aeiou") for _ in range(r.randint(1, 4)))
        words[word if r.random() < 0.6 else "##" + word] = None
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.save(path)


if __name__ == "__main__":
    for wanted in sys.argv[3:]:
        print(prepare(os.path.abspath(sys.argv[1]), sys.argv[2], wanted), flush=True)
