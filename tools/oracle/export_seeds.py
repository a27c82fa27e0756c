"""Seeds for tests/fuzz/fuzz_export.c and fuzz_onnx_write.c: python tools/oracle/export_seeds.py tests/fuzz/corpus

The smallest checkpoint of each architecture (config.json, a zero byte, model.safetensors), and small graphs with every
kind of reader that the quantizer knows. Needs torch, transformers, onnx."""
import json
import os
import sys
import tempfile

import numpy as np
import torch
import transformers as tf
from onnx import TensorProto, helper, numpy_helper

from export import CASES, HEADS
from export_vision import CASES as PICTURES

TINY = dict(vocab_size=5, hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
            max_position_embeddings=6, embedding_size=4, dim=12, n_layers=1, n_heads=2, hidden_dim=8,
            max_2d_position_embeddings=3, num_key_value_heads=1, position_buckets=4, max_relative_positions=4)
TASKS = {"bert": "multiple-choice", "roberta": "fill-mask", "distilbert": "text-classification", "electra": "fill-mask",
         "albert": "fill-mask", "mpnet": "token-classification", "modernbert": "text-classification", "gte": "fill-mask",
         "nomic_bert": "feature-extraction", "jina_embeddings_v3": "question-answering", "eurobert": "text-classification",
         "esm": "fill-mask", "lilt": "question-answering", "deberta": "fill-mask", "deberta-v2": "text-classification",
         "layoutlm": "token-classification"}


def checkpoints(folder):
    os.makedirs(folder, exist_ok=True)
    for case, task in TASKS.items():
        prefix, config_class, sizes, _, _ = CASES[case]
        sizes = {k: TINY.get(k, v) for k, v in sizes.items()}
        if "num_key_value_heads" not in sizes:
            sizes.pop("num_key_value_heads", None)
        torch.manual_seed(1)
        seed(folder, case, getattr(tf, prefix + HEADS[task])(config_class(**sizes)))
    for case in ("beit", "swin", "siglip", "yolos", "detr", "layoutlmv3"):
        torch.manual_seed(1)
        seed(folder, case, PICTURES[case][0](PICTURES[case][1]()))


def seed(folder, case, model):
    with tempfile.TemporaryDirectory() as work:
        model.half().save_pretrained(work)
        config = json.load(open(os.path.join(work, "config.json")))
        weights = open(os.path.join(work, "model.safetensors"), "rb").read()
    with open(os.path.join(folder, case), "wb") as f:
        f.write(json.dumps(config, separators=(",", ":")).encode() + b"\0" + weights)


def graph(folder, name, nodes, weights, opset=18):
    rng = np.random.default_rng(1)
    init = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32) if isinstance(s, tuple) else np.array(s), n)
            for n, s in weights.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", 16])
    i = helper.make_tensor_value_info("i", TensorProto.INT64, ["b"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_graph(nodes, "g", [x, i], [y], init)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(model.SerializeToString())


def graphs(folder):
    os.makedirs(folder, exist_ok=True)
    node = helper.make_node
    W = (16, 16)
    graph(folder, "matmul", [node("MatMul", ["x", "w"], ["h"], "/a/MatMul"), node("Add", ["h", "b"], ["y"])], {"w": W, "b": (16,)})
    graph(folder, "gemm", [node("Gemm", ["x", "w", "b"], ["y"], "/a/Gemm", transB=1)], {"w": W, "b": (16,)})
    graph(folder, "tied", [node("Gather", ["w", "i"], ["h"]), node("Transpose", ["w"], ["t"], perm=[1, 0]),
                           node("MatMul", ["h", "t"], ["y"])], {"w": W})
    graph(folder, "slice", [node("Slice", ["w", "zero", "four", "zero"], ["y"])],
          {"w": W, "zero": np.array([0], np.int64), "four": np.array([4], np.int64)})
    graph(folder, "two", [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["x", "w"], ["k"]), node("Mul", ["h", "k"], ["l"]),
                          node("Gather", ["w", "i"], ["r"]), node("Add", ["l", "r"], ["y"])], {"w": W}, 13)


checkpoints(os.path.join(sys.argv[1], "export"))
graphs(os.path.join(sys.argv[1], "onnx_write"))
