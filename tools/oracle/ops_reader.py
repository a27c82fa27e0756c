# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/ops/reader.onnx: everything the ONNX reader must understand, in one small model: each
typed data field, raw and external data, every attribute type, a subgraph, a function, symbolic dims, metadata.
Usage: python tools/oracle/ops_reader.py tests/golden/ops/reader.onnx"""
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper


def typed(name, kind, dims, field, values):
    t = T(name=name, data_type=kind, dims=dims)
    getattr(t, field).extend(values)
    return t


inits = [
    typed("f32", T.FLOAT, [2, 2], "float_data", [1.5, -2, 0, 3e38]),
    typed("i32", T.INT32, [3], "int32_data", [1, -2, 2**31 - 1]),
    typed("i8", T.INT8, [2], "int32_data", [-128, 127]),
    typed("u8", T.UINT8, [2], "int32_data", [0, 255]),
    typed("i16", T.INT16, [1], "int32_data", [-300]),
    typed("u16", T.UINT16, [1], "int32_data", [65535]),
    typed("bool", T.BOOL, [3], "int32_data", [0, 1, 2]),
    typed("f16", T.FLOAT16, [2], "int32_data", [0x3C00, 0xC000]),
    typed("bf16", T.BFLOAT16, [1], "int32_data", [0x3F80]),
    typed("i64", T.INT64, [2], "int64_data", [-(2**63), 2**63 - 1]),
    typed("f64", T.DOUBLE, [1], "double_data", [0.1]),
    typed("u32", T.UINT32, [1], "uint64_data", [2**32 - 1]),
    typed("u64", T.UINT64, [1], "uint64_data", [2**64 - 1]),
    typed("empty", T.FLOAT, [0, 4], "float_data", []),
    numpy_helper.from_array(np.array(7, dtype=np.int64), "raw"),
]
outside = T(name="outside", data_type=T.FLOAT, dims=[2], data_location=T.EXTERNAL)
for key, value in (("location", "weights.bin"), ("offset", "4"), ("length", "8")):
    e = outside.external_data.add()
    e.key, e.value = key, value
inits.append(outside)

inner = h.make_graph([h.make_node("Identity", ["x"], ["z"])], "then", [], [h.make_tensor_value_info("z", T.FLOAT, None)])
node = h.make_node("If", ["c", "", "x"], ["y", ""], name="branch", domain="ai.onnx", then_branch=inner, else_branch=inner,
                   f=1.5, i=-3, s="text", fs=[0.5, 2.0], ii=[1, -(2**63)], ss=["a", ""], t=inits[0])
for key, value in (("tag", "/encoder/layer.0"), ("other", "")):
    p = node.metadata_props.add()
    p.key, p.value = key, value
call = h.make_node("Twice", ["x"], ["w"], domain="local", alpha=2.0)
body = h.make_node("Elu", ["a"], ["b"])
body.attribute.add(name="alpha", ref_attr_name="alpha", type=1)
function = h.make_function("local", "Twice", ["a"], ["b"], [body], [h.make_opsetid("", 18)], ["alpha"],
                           [h.make_attribute("beta", 4.0)])
graph = h.make_graph([node, call], "main", [h.make_tensor_value_info("x", T.FLOAT, ["batch", 3, None])],
                     [h.make_tensor_value_info("y", T.INT64, [])], inits)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("local", 1)], functions=[function],
                     producer_name="oracle", producer_version="1.0", ir_version=10)
h.set_model_props(model, {"hf_task": "feature-extraction", "empty": ""})
with open(sys.argv[1], "wb") as f:
    f.write(model.SerializeToString())
