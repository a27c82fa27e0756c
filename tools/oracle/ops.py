# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/ops: one folder a case, a model of one node with inputs and the outputs that the ONNX
reference evaluator gives (ONNX Runtime for com.microsoft). ONNX's own node tests cover each operator's text;
these cover what breaks C code: zero sizes, odd broadcasts, old opsets, other types, sizes around the edges
of blocks and panels. Usage: python tools/oracle/ops.py tests/golden/ops"""
import os
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OUT = sys.argv[1]
rng = np.random.default_rng(7)
f32, f64, f16, i8, u8, i32, i64 = np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64
made = set()


def rand(*shape, dtype=f32, low=-3, high=3):
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(low, high + 1, shape).astype(dtype)


def ints(*values):
    return np.array(values, dtype=i64)


def model_of(op, inputs, attrs, opset, n_out, domain, outputs=None):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outs = [f"y{i}" for i in range(n_out)]
    node = helper.make_node(op, names, outs, name=f"the_{op}", domain=domain, **attrs)
    infos = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for i, x in enumerate(inputs) if x is not None]
    out_infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(y.dtype), y.shape)
                 for n, y in zip(outs, outputs)] if outputs else [helper.make_empty_tensor_value_info(n) for n in outs]
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(helper.make_graph([node], "g", infos, out_infos), opset_imports=imports, ir_version=8)


def run(model, inputs, runtime):
    feed = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    if not runtime:
        return ReferenceEvaluator(model).run(None, feed)
    import onnxruntime
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def case(op, *inputs, opset=18, n_out=1, name="", domain="", want=None, runtime=False, **attrs):
    label = f"{op.lower()}_{opset}" + (f"_{name}" if name else "")
    if label in made:
        label = next(f"{label}_{i}" for i in range(2, 99) if f"{label}_{i}" not in made)
    made.add(label)
    outputs = want if want is not None else run(model_of(op, inputs, attrs, opset, n_out, domain), inputs, runtime or domain)
    outputs = [np.asarray(y) for y in outputs]
    folder = os.path.join(OUT, label, "test_data_set_0")
    os.makedirs(folder)
    onnx.save(model_of(op, inputs, attrs, opset, n_out, domain, outputs), os.path.join(OUT, label, "model.onnx"))
    for kind, values in (("input", [x for x in inputs if x is not None]), ("output", outputs)):
        for i, v in enumerate(values):
            with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(v).SerializeToString())


def elementwise():
    shapes = [((2, 3), (2, 3), "same"), ((2, 3), (), "scalar"), ((), (2, 3), "left"), ((4, 1, 5), (3, 1), "both"),
              ((2, 3, 4), (4,), "row"), ((2, 0, 3), (1, 3), "empty"), ((1, 33), (7, 1), "outer")]
    for op in ("Add", "Sub", "Mul", "Div"):
        for a, b, name in shapes:
            case(op, rand(*a), rand(*b, low=1), name=name)
    for t in (f64, f16, i8, u8, i32, i64):
        for op in ("Add", "Mul", "Div"):
            low = 1 if t == u8 else -9
            case(op, rand(3, 5, dtype=t, low=low, high=9), rand(5, dtype=t, low=1, high=9), name=np.dtype(t).name)
    case("Div", np.array([-7, 7, -7, 7], dtype=i32), np.array([2, -2, -2, 2], dtype=i32), name="signs",
         want=[np.array([-3, -3, 3, 3], dtype=i32)])
    case("Add", rand(3, 300, dtype=f16), rand(300, dtype=f16), name="half_blocks")
    for op in ("Equal", "Less", "GreaterOrEqual"):
        case(op, rand(4, 3, dtype=i64), rand(3, dtype=i64))
        case(op, rand(2, 300, dtype=f16, low=-1, high=1), np.array(0, dtype=f16), name="half")
    case("And", rand(3, 4, low=0, high=1, dtype=i64).astype(bool), rand(4, low=0, high=1, dtype=i64).astype(bool))
    case("Where", rand(3, 1, low=0, high=1, dtype=i64).astype(bool), rand(3, 4), rand(4))
    case("Where", rand(2, 1, 3, low=0, high=1, dtype=i64).astype(bool), rand(1, dtype=i64), rand(4, 1, dtype=i64), name="int64")
    case("Pow", rand(2, 5, low=0.1), np.array(2, dtype=f32), name="square")
    case("Pow", rand(2, 5, low=0.1), rand(5), name="floats")
    case("Pow", np.array([2, 3, -4], dtype=i64), np.array([3, 0, 2], dtype=i64), name="ints")
    case("Pow", np.array([4.0, 9.0], dtype=f32), np.array([2, 3], dtype=i64), name="int_exponent")
    case("Mod", np.array([-7, 7, -7, 7], dtype=i64), np.array([3, -3, -3, 3], dtype=i64))
    case("Max", rand(3), rand(2, 3), rand(2, 1), name="three")
    case("Min", np.array([1, np.nan, 3], dtype=f32), np.array([2, 2, np.nan], dtype=f32), name="nan")
    for op in ("Sum", "Mean"):
        case(op, rand(2, 3), rand(3), rand(1, 1))
    for op in ("Abs", "Neg", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Tanh", "Sigmoid", "Relu", "Floor", "Ceil",
               "Round", "Sign", "Sin", "Cos", "Softplus", "Elu", "LeakyRelu", "Selu", "Mish"):
        x = rand(3, 17, low=0.1 if op in ("Sqrt", "Log", "Reciprocal") else -4, high=4)
        case(op, x)
        case(op, x.astype(f16), name="half")
    case("Abs", np.array([-5, 5, -128], dtype=i8), name="int8")
    case("Gelu", rand(2, 40, low=-5, high=5), opset=20)
    case("Gelu", rand(2, 40, low=-5, high=5), opset=20, name="tanh", approximate="tanh")
    case("Clip", rand(3, 4), np.array(-1, dtype=f32), np.array(1, dtype=f32))
    case("Clip", rand(3, 4), None, np.array(0.5, dtype=f32), name="no_min")
    case("Clip", rand(3, 4), opset=6, min=-1.0, max=2.0)
    for src in (f32, f16, i64, u8, np.bool_):
        for to in (f32, f64, f16, i8, i32, i64, np.bool_):
            if src == to:
                continue
            x = rand(2, 3, dtype=i64, low=0, high=1).astype(src) if src == np.bool_ else rand(2, 3, low=0, high=100).astype(src)
            case("Cast", x, name=f"{np.dtype(src).name}_{np.dtype(to).name}", to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    case("IsNaN", np.array([1, np.nan], dtype=f32))
    case("Identity", rand(0, 4), name="empty")


def reductions():
    x = rand(3, 4, 5, low=0.2, high=2)
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
               "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
        case(op, x, ints(-1))
        case(op, x, ints(0, 2), name="two_axes", keepdims=0)
        case(op, x, ints(1), name="middle")
        case(op, x, name="all", keepdims=0)
    case("ReduceSum", rand(2, 700), ints(1), name="long")
    case("ReduceSum", rand(3, 600), ints(0), name="wide")
    case("ReduceSum", rand(2, 3, 2, 3, 2), ints(1, 3), name="alternating", keepdims=0)
    case("ReduceSum", rand(2, 0, 3), ints(1), name="empty")
    case("ReduceSum", rand(2, 3), name="noop", noop_with_empty_axes=1)
    case("ReduceSum", rand(2, 3, 4), opset=11, axes=[1], keepdims=0)
    case("ReduceMean", rand(2, 3, 4), opset=13, axes=[-1])
    case("ReduceMax", np.array([[2**62 + 1, 2**62], [-5, -2**62 - 1]], dtype=i64), ints(1), name="int64")
    case("ReduceMean", rand(2, 300, dtype=f16), ints(1), name="half")
    for op in ("ArgMax", "ArgMin"):
        case(op, rand(3, 4, 5), axis=1, keepdims=0)
        case(op, np.array([[1, 3, 3], [2, 2, 1]], dtype=f32), axis=1, select_last_index=1, name="last")
    for rev in (0, 1):
        for exc in (0, 1):
            case("CumSum", rand(3, 4), np.array(1, dtype=i64), reverse=rev, exclusive=exc, name=f"{rev}{exc}")
    case("CumSum", rand(3, 4, dtype=i32), np.array(-2, dtype=i64), name="int32")
    case("TopK", rand(3, 9), ints(4), n_out=2)
    case("TopK", rand(6, 3), ints(2), n_out=2, axis=0, largest=0, name="smallest")


def shapes():
    x = rand(2, 3, 4)
    case("Shape", x)
    case("Shape", x, start=-2, end=3, name="part")
    case("Shape", x, start=2, end=1, name="nothing")
    case("Size", rand(2, 0), name="empty")
    case("Reshape", x, ints(0, -1))
    case("Reshape", x, ints(4, 0, -1), name="zero_copies")
    case("Reshape", rand(0, 3), ints(3, 0), name="allowzero", allowzero=1)
    case("Reshape", rand(1, 1), np.array([], dtype=i64), name="scalar")
    case("Squeeze", rand(1, 3, 1))
    case("Squeeze", rand(1, 3, 1), ints(-1), name="axis")
    case("Squeeze", rand(1, 3, 1), opset=11, axes=[0])
    case("Unsqueeze", rand(3, 4), ints(0, -1))
    case("Unsqueeze", rand(3, 4), opset=11, axes=[1])
    case("Flatten", x, axis=2)
    case("Flatten", x, axis=0, name="zero")
    case("ConstantOfShape", ints(2, 3), value=numpy_helper.from_array(np.array([7], dtype=i64)))
    case("ConstantOfShape", ints(2, 0), name="default")
    case("ConstantOfShape", np.array([], dtype=i64), name="scalar")
    case("Range", np.array(2, dtype=i64), np.array(11, dtype=i64), np.array(3, dtype=i64))
    case("Range", np.array(5, dtype=i32), np.array(0, dtype=i32), np.array(-2, dtype=i32), name="down")
    case("Range", np.array(0, dtype=f32), np.array(1, dtype=f32), np.array(0.3, dtype=f32), name="float")
    case("Range", np.array(3, dtype=i64), np.array(3, dtype=i64), np.array(1, dtype=i64), name="none")
    case("Expand", rand(3, 1), ints(2, 1, 4))
    case("Expand", rand(3, 1, dtype=i64), ints(1, 1), name="keeps")
    case("NonZero", np.array([[1, 0, 2], [0, 0, 3]], dtype=i64))
    case("NonZero", np.zeros((2, 3), dtype=f32), name="none")


def moves():
    x = rand(2, 3, 4)
    for perm in ([0, 2, 1], [2, 0, 1], [1, 0, 2], [2, 1, 0]):
        case("Transpose", x, perm=perm, name="".join(map(str, perm)))
    case("Transpose", rand(2, 3, 4, 5, dtype=u8), perm=[0, 2, 1, 3], name="heads")
    case("Transpose", x)
    case("Concat", rand(2, 3), rand(2, 1), rand(2, 0), axis=-1)
    case("Concat", rand(2, 3, dtype=i64), rand(4, 3, dtype=i64), axis=0)
    case("Slice", x, ints(1, -3), ints(2, 1000), ints(1, 2))
    case("Slice", x, ints(-1), ints(-1000), ints(2), ints(-2), name="back")
    case("Slice", x, ints(0, 5), ints(2**63 - 1, 7), name="clamped")
    case("Slice", x, opset=9, starts=[0, 1], ends=[1, -1], axes=[0, 2])
    case("Split", rand(4, 6), ints(1, 2, 3), n_out=3, axis=1)
    case("Split", rand(5, 2), n_out=2, num_outputs=2, name="uneven")
    case("Split", rand(4, 6), opset=11, n_out=2, axis=1, split=[2, 4])
    case("Gather", rand(5, 3), np.array([[0, 4], [-1, 2]], dtype=i64))
    case("Gather", rand(5, 3), np.array(1, dtype=i32), axis=1, name="scalar")
    case("Gather", rand(5, 3), np.zeros((0,), dtype=i64), name="none")
    case("GatherElements", rand(3, 4), np.array([[0, -1], [2, 1], [-4, 3]], dtype=i64), axis=1)
    case("GatherND", rand(2, 3, 4), np.array([[[0], [2]], [[1], [1]]], dtype=i64), batch_dims=1)
    case("GatherND", rand(2, 3, 4), np.array([[0, 1], [1, -1]], dtype=i64))
    case("ScatterND", rand(4, 3), np.array([[1], [-1]], dtype=i64), rand(2, 3))
    case("ScatterND", rand(4, 3), np.array([[1], [1]], dtype=i64), rand(2, 3), reduction="add", name="add")
    case("ScatterElements", rand(3, 4), np.array([[0, 2]], dtype=i64), rand(1, 2), axis=1)
    case("ScatterElements", rand(3, 4, dtype=i64), np.array([[0, 2]], dtype=i64), rand(1, 2, dtype=i64), axis=0, reduction="max", name="max")
    case("Tile", rand(2, 3), ints(2, 3))
    case("Tile", rand(2, 1, 3, dtype=u8), ints(1, 0, 2), name="none")
    case("Pad", rand(2, 3), ints(1, 0, 0, 2))
    case("Pad", rand(2, 4), ints(0, 2, 0, 1), None, mode="reflect", name="reflect")
    case("Pad", rand(2, 4), ints(1, 0, 1, 2), None, mode="edge", name="edge")
    x = rand(2, 4)
    case("Pad", x, ints(0, -1, 1, 0), name="crop", want=[np.pad(x[:, 1:], ((0, 1), (0, 0)))])
    case("Pad", rand(2, 4, dtype=i64), ints(2, 1), np.array(9, dtype=i64), ints(-1), name="axes")
    case("OneHot", np.array([[1, -1], [9, 0]], dtype=i64), np.array(4, dtype=i64), np.array([0, 5], dtype=f32), axis=1,
         want=[np.stack([np.array([[0, 0], [0, 5]]), np.array([[5, 0], [0, 0]]), np.zeros((2, 2)), np.array([[0, 5], [0, 0]])], axis=1).astype(f32)])
    case("Trilu", rand(2, 4, 3), np.array(1, dtype=i64))
    case("Trilu", rand(4, 3), np.array(-1, dtype=i64), upper=0)
    case("EyeLike", rand(3, 4), k=1, dtype=TensorProto.INT64)


def products():
    for M, K, N in ((1, 1, 1), (3, 5, 7), (7, 16, 17), (13, 33, 31), (50, 8, 3)):
        case("MatMul", rand(M, K), rand(K, N), name=f"{M}x{K}x{N}")
    case("MatMul", rand(4), rand(4), name="dot")
    case("MatMul", rand(4), rand(2, 4, 3), name="vector_left")
    case("MatMul", rand(2, 3, 4), rand(4), name="vector_right")
    case("MatMul", rand(2, 1, 3, 4), rand(5, 4, 2), name="batches")
    case("MatMul", rand(1, 3, 4), rand(2, 4, 5), name="broadcast_left")
    case("MatMul", rand(2, 0, 4), rand(4, 5), name="empty")
    case("MatMul", rand(2, 0), rand(0, 3), name="nothing_to_add")
    case("MatMul", rand(3, 4, dtype=i32), rand(4, 2, dtype=i32), name="int32")
    case("MatMul", rand(3, 4, dtype=f64), rand(4, 2, dtype=f64), name="double")
    for a in (0, 1):
        for b in (0, 1):
            case("Gemm", rand(*((5, 3) if a else (3, 5))), rand(*((4, 5) if b else (5, 4))), rand(4), transA=a, transB=b,
                 alpha=0.5, beta=2.0, name=f"{a}{b}")
    case("Gemm", rand(3, 5), rand(5, 4), rand(3, 1), name="column")
    case("Gemm", rand(3, 5), rand(5, 4), name="no_c")


def norms():
    x = rand(2, 3, 5)
    for op in ("Softmax", "LogSoftmax"):
        case(op, x)
        case(op, x, axis=1, name="middle")
        case(op, x, opset=11, axis=1, runtime=True)  # the reference takes the newer meaning here
        case(op, x.astype(f16), name="half")
        case(op, rand(3, 37) * 40, name="large", runtime=True)  # the reference takes log(0)
    case("LayerNormalization", rand(2, 3, 24), rand(24), rand(24))
    case("LayerNormalization", rand(2, 3, 24), rand(24), name="no_bias", epsilon=1e-3)
    case("LayerNormalization", rand(2, 3, 4), rand(3, 4), rand(3, 4), axis=1, n_out=3, name="outputs")
    case("BatchNormalization", rand(2, 3, 4), rand(3), rand(3), rand(3), rand(3, low=0.1))
    ms = dict(domain="com.microsoft")
    case("SkipLayerNormalization", rand(2, 3, 8), rand(2, 3, 8), rand(8), rand(8), rand(8), epsilon=1e-5, **ms)
    case("BiasGelu", rand(2, 3, 8), rand(8), **ms)
    case("FastGelu", rand(2, 3, 8), rand(8), **ms)
    case("Gelu", rand(2, 3, 8), **ms, name="ms")
    case("QuickGelu", rand(2, 3, 8), **ms)


def quantized():
    for name, x in (("mixed", rand(3, 7)), ("positive", rand(3, 7, low=0.5)), ("zeros", np.zeros((2, 2), dtype=f32)),
                    ("negative", rand(40, low=-9, high=-1))):
        case("DynamicQuantizeLinear", x, n_out=3, name=name)
    case("QuantizeLinear", rand(4, 9, low=-400, high=400), np.array(1.5, dtype=f32), np.array(3, dtype=u8))
    case("QuantizeLinear", rand(4, 9, low=-400, high=400), np.array(1.5, dtype=f32), np.array(-3, dtype=i8), name="int8")
    case("QuantizeLinear", np.arange(-10, 10, dtype=f32) / 2, np.array(1, dtype=f32), np.array(9, dtype=u8), name="ties")
    case("QuantizeLinear", rand(2, 3, 4), rand(3, low=0.1), rand(3, dtype=u8, low=0, high=9), axis=1, name="axis")
    case("DequantizeLinear", rand(2, 3, 4, dtype=u8, low=0, high=255), rand(3, low=0.1), rand(3, dtype=u8, low=0, high=9), axis=1, opset=19)
    case("DequantizeLinear", rand(5, dtype=i32, low=-999, high=999), np.array(0.25, dtype=f32), name="int32", opset=19)
    a, b = rand(5, 19, dtype=u8, low=0, high=255), rand(19, 18, dtype=i8, low=-128, high=127)
    case("MatMulInteger", a, b)
    case("MatMulInteger", a, b, np.array(120, dtype=u8), np.array(-7, dtype=i8), name="zero_points")
    zeros = rand(18, dtype=i8)
    case("MatMulInteger", a, b, np.array(120, dtype=u8), zeros, name="columns")
    rows = rand(5, dtype=u8, low=0, high=255)
    case("MatMulInteger", a, b, rows, None, name="rows",
         want=[(a.astype(i32) - rows.astype(i32)[:, None]) @ b.astype(i32)])
    case("MatMulInteger", rand(2, 3, 4, dtype=i8), rand(2, 4, 5, dtype=u8, low=0), name="batches")
    case("QLinearMatMul", a, np.array(0.1, dtype=f32), np.array(100, dtype=u8), b, np.array(0.05, dtype=f32),
         np.array(2, dtype=i8), np.array(2.5, dtype=f32), np.array(128, dtype=u8))


def windows():
    ort = {"runtime": True}
    x, w = rand(2, 6, 9, 7), rand(8, 6, 3, 3)
    case("Conv", x, w, rand(8), pads=[1, 2, 0, 1], strides=[2, 1], name="pads", **ort)
    case("Conv", x, rand(9, 2, 3, 2), rand(9), group=3, dilations=[2, 3], name="groups", **ort)
    case("Conv", x, rand(6, 1, 3, 3), None, group=6, auto_pad="SAME_UPPER", strides=[2, 2], name="depthwise", **ort)
    case("Conv", rand(2, 3, 40), rand(5, 3, 7), rand(5), strides=[3], pads=[2, 4], name="one", **ort)
    case("Conv", rand(1, 2, 5, 6, 4), rand(3, 2, 2, 3, 2), name="three", **ort)
    case("Conv", rand(0, 3, 8, 8), rand(5, 3, 3, 3), name="no_pictures", **ort)
    case("ConvTranspose", rand(2, 4, 5, 6), rand(4, 3, 3, 2), rand(3), strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 0], **ort)
    case("ConvTranspose", rand(1, 4, 5, 6), rand(4, 2, 3, 3), group=2, dilations=[1, 2], name="groups", **ort)
    case("ConvTranspose", rand(1, 3, 11), rand(3, 5, 4), strides=[2], auto_pad="SAME_LOWER", name="one", **ort)
    a, b = rand(1, 4, 6, 5, dtype=u8, low=0, high=255), rand(6, 2, 3, 3, dtype=i8, low=-63, high=63) # more saturates in ONNX Runtime on some CPUs
    case("ConvInteger", a, rand(6, 2, 3, 3, dtype=u8, low=0, high=255), np.array(120, dtype=u8), np.array(7, dtype=u8), group=2, pads=[1, 1, 1, 1], **ort)
    case("QLinearConv", a, np.array(0.02, dtype=f32), np.array(128, dtype=u8), b, rand(6, low=0.01, high=0.03), np.zeros(6, dtype=i8),
         np.array(1.5, dtype=f32), np.array(131, dtype=u8), rand(6, dtype=i32, low=-900, high=900), group=2, strides=[2, 1], **ort)
    for kind in ("MaxPool", "AveragePool"):
        case(kind, x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=1, name="ceil", **ort)
        case(kind, rand(2, 3, 17), kernel_shape=[4], strides=[3], auto_pad="SAME_LOWER", name="one", **ort)
        case(kind, x, kernel_shape=[2, 3], dilations=[3, 2], opset=19, name="apart", **ort)
    case("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1, name="padded", **ort)
    case("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 3], n_out=2, name="places", **ort)
    case("MaxPool", x, kernel_shape=[3, 3], storage_order=1, n_out=2, name="turned", **ort)
    case("LpPool", x, kernel_shape=[3, 2], p=3, opset=18, **ort)
    for kind in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        case(kind, x, **ort)


def pictures():
    ort = {"runtime": True}
    x = rand(1, 3, 5, 7)
    for mode in ("nearest", "linear", "cubic"):
        for how in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            case("Resize", x, None, None, ints(1, 3, 8, 4), mode=mode, coordinate_transformation_mode=how, name=f"{mode}_{how}", **ort)
    for how in ("floor", "ceil", "round_prefer_ceil"):
        case("Resize", x, None, np.array([1, 1, 1.7, 0.6], dtype=f32), mode="nearest", nearest_mode=how, name=how, **ort)
    case("Resize", rand(2, 3, 8, 8), None, None, ints(2, 3, 5, 3), mode="linear", antialias=1, name="antialias", **ort)
    case("Resize", rand(1, 1, 8, 8), None, None, ints(1, 1, 3, 6), mode="cubic", cubic_coeff_a=-0.5, antialias=1, name="antialias_cubic", **ort)
    case("Upsample", x, np.array([1, 1, 2, 3], dtype=f32), opset=9, mode="nearest", **ort)
    for mode in ("bilinear", "nearest", "bicubic"):
        for pad in ("zeros", "border", "reflection"):
            case("GridSample", rand(2, 3, 5, 4, low=-0.3, high=0.3), rand(2, 3, 6, 2, low=-1.4, high=1.4), mode=mode, padding_mode=pad, opset=16, name=f"{mode}_{pad}", **ort)
    boxes = np.sort(rand(9, 2, 2, low=0, high=10), axis=1).reshape(9, 4)
    case("RoiAlign", rand(2, 3, 8, 9), boxes, np.array([0, 1] * 4 + [1], dtype=i64), output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.7, opset=16, **ort)
    case("RoiAlign", rand(2, 3, 8, 9), boxes, np.array([0, 1] * 4 + [1], dtype=i64), output_height=2, output_width=3, opset=10, name="old", **ort)
    corners = np.sort(rand(2, 30, 2, 2, low=0, high=4), axis=2).reshape(2, 30, 4)
    number = lambda v, t: np.array([v], dtype=t)
    case("NonMaxSuppression", corners, rand(2, 3, 30, low=0, high=1), number(6, i64), number(0.3, f32), number(0.4, f32), opset=11, **ort)
    case("NonMaxSuppression", corners, rand(2, 3, 30, low=0, high=1), number(99, i64), number(0.5, f32), opset=11, center_point_box=1, name="centers", **ort)
    case("DepthToSpace", rand(2, 12, 3, 4), blocksize=2, mode="CRD", name="crd", **ort)
    case("DepthToSpace", rand(2, 12, 3, 4), blocksize=2, **ort)
    case("SpaceToDepth", rand(2, 3, 6, 4), blocksize=2, **ort)
    case("BatchNormalization", x, rand(3), rand(3), rand(3), rand(3, low=0.1), opset=15, **ort)
    case("InstanceNormalization", rand(2, 3, 5, 7), rand(3), rand(3), **ort)
    case("GroupNormalization", rand(2, 6, 5), rand(6), rand(6), num_groups=3, opset=21)
    case("LpNormalization", rand(2, 3, 5), axis=1, p=1, **ort)


def sounds():
    ort = {"runtime": True}
    S, B, I, H = 5, 3, 4, 6
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        n_out, state = (3, 2) if op == "LSTM" else (2, 1)
        for D, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional")):
            weights = [rand(D, gates * H, I, low=-1, high=1), rand(D, gates * H, H, low=-1, high=1), rand(D, 2 * gates * H, low=-1, high=1)]
            case(op, rand(S, B, I), *weights, np.array([5, 2, 3], dtype=i32), *[rand(D, B, H) for _ in range(state)], n_out=n_out,
                 hidden_size=H, direction=direction, name=direction, opset=14, **ort)
    case("GRU", rand(S, B, I), rand(1, 3 * H, I), rand(1, 3 * H, H), rand(1, 6 * H), hidden_size=H, linear_before_reset=1, n_out=2, name="before_reset", opset=14, **ort)
    case("LSTM", rand(S, B, I), rand(1, 4 * H, I), rand(1, 4 * H, H), rand(1, 8 * H), None, None, None, rand(1, 3 * H), hidden_size=H, clip=1.5,
         n_out=3, name="peepholes", opset=14, **ort)
    for n in (1, 7, 12, 16):
        case("DFT", rand(2, n, 1), name=f"of_{n}", opset=20)
    case("DFT", rand(2, 10, 3, 2), ints(12).reshape(()), ints(1).reshape(()), inverse=1, name="inverse", opset=20)
    case("STFT", rand(2, 50, 1), ints(7).reshape(()), rand(16, low=0, high=1), ints(16).reshape(()), opset=17, **ort)


for old in os.listdir(OUT) if os.path.isdir(OUT) else ():
    if os.path.isdir(os.path.join(OUT, old)):
        shutil.rmtree(os.path.join(OUT, old))
for family in (elementwise, reductions, shapes, moves, products, norms, quantized, windows, pictures, sounds):
    family()
print(len(made), "cases")
