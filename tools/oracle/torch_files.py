"""Writes tests/golden/torch: files of torch.save, each with the same tensors as safetensors, and model folders whose
weights come in every form that a pytorch_model.bin has had.

    python tools/oracle/torch_files.py [tests/golden/torch]

Needs torch, transformers (a version that still writes .bin, such as 4.57), safetensors."""
import collections
import os
import shutil
import sys

import torch
import transformers as tf
from safetensors.torch import save_file
from torch.serialization import set_crc32_options

HERE = sys.argv[1] if len(sys.argv) > 1 else "tests/golden/torch"
WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] bus from to the ac sleeper volvo pune goa delhi mumbai tomorrow on friday a in "
         "and next non chennai kochi ##s ##er ##ing , . -").split()


def put(name, tensors, saved=None, **how):
    """tensors as safetensors has them; saved: the object for torch.save, if it is not the dict of them."""
    flat = {k: v.detach().clone(memory_format=torch.contiguous_format).contiguous() for k, v in tensors.items()}
    save_file(flat, f"{HERE}/{name}.safetensors")
    torch.save(tensors if saved is None else saved, f"{HERE}/{name}.bin", **how)


def numbers(*shape):
    return torch.randn(*shape)


def types():
    x = numbers(3, 2)
    kinds = "float16 bfloat16 float32 float64 int64 int32 int16 int8 uint8 bool uint16 uint32 uint64 " \
            "float8_e4m3fn float8_e5m2"
    return {k: (x * 50).abs().to(getattr(torch, k)) if k.startswith("uint") else (x * 50).to(getattr(torch, k))
            for k in kinds.split()}


def views():
    x, cube = numbers(4, 6), numbers(2, 3, 5)
    return {"whole": x, "transposed": x.t(), "rows": x[1:3], "columns": x[:, 2:5], "steps": x[::2, ::3],
            "last": x[3, 5], "permuted": cube.permute(2, 0, 1), "cube": cube, "expanded": numbers(3).expand(4, 3),
            "ones": numbers(1, 4).t()[:, :, None], "scalar": torch.tensor(1.5), "none": torch.zeros(0, 3),
            "no_columns": x[:, 6:], "half": numbers(5, 4).half().t()}


def many():
    """More than 256 entries of the memo."""
    x = numbers(100, 2)
    return {f"layer.{i}.weight": x[i] for i in range(100)}


def files():
    put("types", types())
    put("views", views())
    put("many", many())
    put("parameters", {"w": torch.nn.Parameter(numbers(2, 3)), "b": torch.nn.Parameter(numbers(3), requires_grad=False)})
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).state_dict()
    assert isinstance(module, collections.OrderedDict) and module._metadata
    put("module", module, module)
    inner = views()
    training = {"epoch": 3, "lr": 1e-3, "big": 1 << 40, "huge": 1 << 90, "name": None, "steps": [1, -2, 70000],
                "optimizer": {"state": {0: {"exp_avg": numbers(3)}}, "param_groups": [{"params": [0]}]},
                "state_dict": collections.OrderedDict(inner)}
    put("nested", inner, training)
    put("nested_twice", inner, {"model": {"step": 1, "state_dict": inner}})
    for protocol in (3, 4, 5):
        put(f"protocol{protocol}", inner, training, pickle_protocol=protocol)
    put("old", {**types(), **inner}, _use_new_zipfile_serialization=False)
    put("old_module", module, module, _use_new_zipfile_serialization=False)
    put("old_protocol4", inner, training, _use_new_zipfile_serialization=False, pickle_protocol=4)
    set_crc32_options(False)
    put("without_crc", inner)
    set_crc32_options(True)


def vocabulary(folder):
    with open(f"{folder}/vocab.txt", "w") as f:
        f.write("\n".join(WORDS) + "\n")


def models():
    sizes = dict(vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                 max_position_embeddings=32)
    labels = ["O", "B-SRC", "B-DST", "I-DST"]
    config = tf.BertConfig(**sizes, id2label=dict(enumerate(labels)), label2id={w: i for i, w in enumerate(labels)})
    model = tf.BertForTokenClassification(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.3)
    folder = f"{HERE}/ner"
    model.save_pretrained(folder)
    vocabulary(folder)
    model.save_pretrained(f"{folder}/bin", safe_serialization=False)
    model.save_pretrained(f"{folder}/shards", safe_serialization=False, max_shard_size="9KB")
    os.makedirs(f"{folder}/old")
    old = {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
           for k, v in model.state_dict().items()}  # as files of 2018 spell it
    torch.save(collections.OrderedDict(old), f"{folder}/old/pytorch_model.bin", _use_new_zipfile_serialization=False)
    for form in ("bin", "shards"):
        os.remove(f"{folder}/{form}/config.json")
    masked = tf.BertForMaskedLM(tf.BertConfig(**dict(sizes, num_hidden_layers=1))).eval()
    masked.save_pretrained(f"{HERE}/mlm")
    vocabulary(f"{HERE}/mlm")
    os.makedirs(f"{HERE}/mlm/bin")
    torch.save(masked.state_dict(), f"{HERE}/mlm/bin/pytorch_model.bin")  # with the tied tensors, under both names
    dense = torch.nn.Linear(16, 8)
    os.makedirs(f"{HERE}/dense/bin")
    save_file({"linear." + k: v for k, v in dense.state_dict().items()}, f"{HERE}/dense/model.safetensors")
    torch.save({"linear." + k: v for k, v in dense.state_dict().items()}, f"{HERE}/dense/bin/pytorch_model.bin")


def wrapped():
    """The model of ner/ as training leaves it: in DataParallel, compiled, in a Lightning module, in float64."""
    model = tf.BertForTokenClassification.from_pretrained(f"{HERE}/ner").eval()
    plain = model.state_dict()
    compiled = torch.compile(torch.nn.DataParallel(model)).state_dict()
    assert all(k.startswith("_orig_mod.module.") for k in compiled)
    lightning = torch.nn.Module()
    lightning.model = model
    wide = {k: v.double() if v.is_floating_point() else v for k, v in plain.items()}
    some = {("student." + k if "encoder" in k else k): v for k, v in plain.items()}
    for name, tensors in {"compiled": compiled,
                          "lightning": {"epoch": 1, "state_dict": lightning.state_dict()}, "double": wide,
                          "some": some}.items():
        os.makedirs(f"{HERE}/ner/{name}")
        torch.save(tensors, f"{HERE}/ner/{name}/pytorch_model.bin")
    os.makedirs(f"{HERE}/ner/wide")
    save_file({"model.module." + k: v.contiguous() for k, v in wide.items()}, f"{HERE}/ner/wide/model.safetensors")


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    os.makedirs(HERE)
    torch.manual_seed(1)
    files()
    models()
    wrapped()
