"""Writes tests/fuzz/corpus/graph: the smallest encoders of each exporter, fused (1) and exact (0).

    python tools/oracle/graph_seeds.py tests/fuzz/corpus/graph
"""
import os
import sys
import tempfile

import onnx
import torch
import transformers as tf

import engine

TINY = dict(vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=4,
            max_position_embeddings=12)
SEEDS = {
    "bert-script11": (tf.BertModel, tf.BertConfig(attn_implementation="eager", **TINY), 11, "script", 3, None),
    "bert-script17": (tf.BertForTokenClassification, tf.BertConfig(**TINY), 17, "script", 3, None),
    "bert-dynamo18": (tf.BertForSequenceClassification, tf.BertConfig(**TINY), 18, "dynamo", 3, None),
    "bert-fixed17": (tf.BertModel, tf.BertConfig(**TINY), 17, "script", 2, (2, 8)),
}

if __name__ == "__main__":
    engine.VOCAB = 8
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, (cls, config, opset, how, count, fixed) in SEEDS.items():
        torch.manual_seed(1)
        path = os.path.join(tempfile.mkdtemp(), "model.onnx")
        engine.export(path, cls(config).eval(), opset, how, count, fixed)
        proto = onnx.load(path)
        del proto.metadata_props[:]
        for node in proto.graph.node:
            node.doc_string, node.name = "", ""
            del node.metadata_props[:]
        for tier in (0, 1):
            with open(os.path.join(sys.argv[1], f"{name}-{tier}"), "wb") as out:
                out.write(bytes([tier]) + proto.SerializeToString())
