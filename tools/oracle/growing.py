#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""growing.py - writes tests/golden/growing/*.onnx and seeds of fuzz_graph: files of 2 KB and less whose values take
up to 2^42 bytes. Needs onnx. Run from the root of the tree."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT, SEEDS = "tests/golden/growing", "tests/fuzz/corpus/graph"
STEPS = 40


def tensor(name, value, dtype=np.int64):
    return numpy_helper.from_array(np.array(value, dtype=dtype), name)


def write(name, nodes, tensors):
    """`big`, which the nodes make, becomes a factor of the output."""
    tail = [
        helper.make_node("ReduceSum", ["big"], ["sum"], keepdims=0),
        helper.make_node("Cast", ["input_ids"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["floats", "sum"], ["product"]),
        helper.make_node("Unsqueeze", ["product", "last"], ["last_hidden_state"]),
    ]
    graph = helper.make_graph(
        nodes + tail, name,
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)],
        tensors + [tensor("last", [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    data = model.SerializeToString()
    with open(f"{OUT}/{name}.onnx", "wb") as f:
        f.write(data)
    for tier in (0, 1):
        with open(f"{SEEDS}/growing_{name}-{tier}", "wb") as f:
            f.write(bytes([tier]) + data)


def doubling(op, second, steps=STEPS, **attributes):
    """x0 to `big`: each node reads what the one before it made."""
    names = [f"x{i}" for i in range(steps)] + ["big"]
    return [helper.make_node(op, [names[i], second or names[i]], [names[i + 1]], name=f"{op}{i}", **attributes)
            for i in range(steps)]


def main():
    os.makedirs(OUT, exist_ok=True)
    floats = helper.make_node("Cast", ["input_ids"], ["x0"], to=TensorProto.FLOAT)
    one = tensor("x0", [1], np.float32)
    write("concat", [floats] + doubling("Concat", None, axis=1), [])
    write("concat_constant", doubling("Concat", None, axis=0), [one])
    write("tile", [floats] + doubling("Tile", "twice"), [tensor("twice", [1, 2])])
    write("pad", [floats] + doubling("Pad", "more", steps=8), [tensor("more", [0, 0, 0, 1 << 30])])
    write("expand", [helper.make_node("Expand", ["x0", "shape"], ["big"], name="grow")],
          [one, tensor("shape", [1 << 30])])
    write("fill", [helper.make_node("ConstantOfShape", ["shape"], ["big"], name="grow")],
          [tensor("shape", [1 << 18, 1 << 18])])
    write("range", [helper.make_node("Range", ["from", "to", "by"], ["numbers"], name="grow"),
                    helper.make_node("Cast", ["numbers"], ["big"], to=TensorProto.FLOAT)],
          [tensor("from", 0), tensor("to", 1 << 39), tensor("by", 1)])


main()
