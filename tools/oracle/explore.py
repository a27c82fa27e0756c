#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/explore: a small BERT by torch's dynamo exporter, with the modules of its nodes (metadata
`namespace`; the other metadata, stack traces with paths, is taken out), and what torch counts of it: parameters by
module, and multiplications and additions of its products for one text of 32 tokens by torch.utils.flop_counter.

    pip install torch transformers onnx onnxscript
    python3 tools/oracle/explore.py
"""
import json
from pathlib import Path

import onnx
import torch
import transformers as tf
from torch.utils.flop_counter import FlopCounterMode

OUT = Path(__file__).parents[2] / "tests/golden/explore"
LENGTH = 32


def main():
    torch.manual_seed(3)
    config = tf.BertConfig(vocab_size=80, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                           intermediate_size=24, max_position_embeddings=40, num_labels=3,
                           attn_implementation="eager", hidden_act="gelu")
    model = tf.BertForTokenClassification(config).eval()
    for parameter in model.parameters():  # no two alike: the exporter would store those once
        torch.nn.init.normal_(parameter, std=0.1)
    ids = torch.arange(LENGTH).reshape(1, LENGTH)
    feed = dict(input_ids=ids, attention_mask=torch.ones_like(ids), token_type_ids=torch.zeros_like(ids))
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "model.onnx"
    dims = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("sequence", min=2, max=40)}
    torch.onnx.export(model, (), str(path), kwargs=feed, opset_version=18, dynamo=True, external_data=False,
                      dynamic_shapes={name: dims for name in feed} , input_names=list(feed), output_names=["logits"])
    file = onnx.load(path)
    for node in file.graph.node:
        kept = [(p.key, p.value) for p in node.metadata_props if p.key == "namespace"]
        del node.metadata_props[:]
        for key, value in kept:
            node.metadata_props.add(key=key, value=value)
        node.doc_string = ""
    for part in (file, file.graph):
        del part.metadata_props[:]
        part.doc_string = ""
    for value in list(file.graph.value_info) + list(file.graph.input) + list(file.graph.output) + list(file.graph.initializer):
        del value.metadata_props[:]
    onnx.save(file, path)
    with FlopCounterMode(display=False) as count, torch.no_grad():
        model(**feed)
    modules = {name: sum(p.numel() for p in module.parameters()) for name, module in model.named_modules()
               if any(True for _ in module.parameters())}
    facts = dict(length=LENGTH, parameters=modules, flops_of_products=count.get_total_flops())
    (OUT / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


main()
