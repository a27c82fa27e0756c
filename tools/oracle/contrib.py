# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/contrib: one folder a case, a model of one com.microsoft node with inputs and ONNX Runtime's
outputs, over the options of each operator. Usage: python tools/oracle/contrib.py tests/golden/contrib"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OUT = sys.argv[1]
rng = np.random.default_rng(11)
f32, f16, i8, u8, i32, i64 = np.float32, np.float16, np.int8, np.uint8, np.int32, np.int64
made, refused = 0, []


def rand(*shape, low=-1, high=1, dtype=f32):
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(low, high + 1, shape).astype(dtype)


def case(op, name, *inputs, n_out=1, domain="com.microsoft", opset=17, outs=None, **attrs):
    """outs: names of the outputs, "" where one is left out; None: y0..yn."""
    global made
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outs = outs or [f"y{i}" for i in range(n_out)]
    node = helper.make_node(op, names, outs, name=f"the_{op}", domain=domain, **attrs)
    dtype = helper.np_dtype_to_tensor_dtype
    infos = [helper.make_tensor_value_info(n, dtype(x.dtype), x.shape) for n, x in zip(names, inputs) if n]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    wanted = [o for o in outs if o]

    def model(outputs):
        return helper.make_model(helper.make_graph([node], "g", infos, outputs), opset_imports=imports, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        bare = model([helper.make_empty_tensor_value_info(o) for o in wanted])
        session = onnxruntime.InferenceSession(bare.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, {n: x for n, x in zip(names, inputs) if n})
    except Exception as e:  # an option that ONNX Runtime's CPU provider does not have
        refused.append(f"{op} {name}: {str(e)[:150]}")
        return
    folder = os.path.join(OUT, f"{op.lower()}_{name}")
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    onnx.save(model([helper.make_tensor_value_info(o, dtype(y.dtype), y.shape) for o, y in zip(wanted, results)]),
              os.path.join(folder, "model.onnx"))
    quantized = any(y.dtype in (i8, u8) for y in results)
    with open(os.path.join(folder, "tolerance.txt"), "w") as f:
        f.write("1e-3 1e-5\n" if not quantized else "0 0\n")
    for kind, values in (("input", [x for x in inputs if x is not None]), ("output", results)):
        for i, v in enumerate(values):
            with open(os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(v)).SerializeToString())
    made += 1


def masks(B, S, T):
    two = np.ones((B, T), i32)
    two[0, T // 2:] = 0
    three = (rng.random((B, S, T)) > 0.3).astype(i32)
    return {"ends": np.array([max(T - 2 * b - 1, 1) for b in range(B)], i32), "none": None,
            "keys": two, "queries": three,
            "ends_starts": np.array([max(T - b, 2) for b in range(B)] + [b % 2 for b in range(B)], i32)}


def attention():
    B, S, C, N = 2, 5, 8, 2
    x, w, b = rand(B, S, C), rand(C, 3 * C), rand(3 * C)
    for kind, mask in masks(B, S, S).items():
        case("Attention", f"mask_{kind}", x, w, b, mask, num_heads=N)
    case("Attention", "causal", x, w, b, None, num_heads=N, unidirectional=1)
    case("Attention", "causal_mask", x, w, b, masks(B, S, S)["keys"], num_heads=N, unidirectional=1)
    case("Attention", "scale", x, w, b, None, num_heads=N, scale=0.25)
    case("Attention", "filter", x, w, b, masks(B, S, S)["keys"], num_heads=N, mask_filter_value=-3.0)
    case("Attention", "sizes", x, rand(C, 8 + 8 + 12), rand(28), None, num_heads=N, qkv_hidden_sizes=[8, 8, 12])
    case("Attention", "other_width", rand(B, S, 6), rand(6, 24), b, None, num_heads=N)
    past = rand(2, B, N, 3, C // N)
    case("Attention", "past", x, w, b, None, past, num_heads=N, n_out=2, unidirectional=1)
    case("Attention", "past_mask", x, w, b, masks(B, S, S + 3)["keys"], past, num_heads=N, n_out=2)
    case("Attention", "present", x, w, b, None, None, num_heads=N, n_out=2)
    for shape in ((B, N, S, S), (1, N, S, S), (B, 1, S, S), (1, 1, S, S)):
        case("Attention", "bias_%d_%d" % shape[:2], x, w, b, None, None, rand(*shape), num_heads=N)
    case("Attention", "one_token", rand(1, 1, C), w, b, np.array([1], i32), num_heads=N)
    case("Attention", "wide", rand(1, 19, 48), rand(48, 144), rand(144), np.array([17], i32), num_heads=3)


def multi_head():
    B, S, L, C, N = 2, 4, 6, 8, 2
    q, k, v = rand(B, S, C), rand(B, L, C), rand(B, L, C)
    bias = rand(3 * C)
    case("MultiHeadAttention", "plain", q, k, v, num_heads=N)
    case("MultiHeadAttention", "bias", q, k, v, bias, num_heads=N)
    case("MultiHeadAttention", "value_size", q, k, rand(B, L, 12), rand(28), num_heads=N)
    for kind, mask in masks(B, S, L).items():
        case("MultiHeadAttention", f"mask_{kind}", q, k, v, bias, mask, num_heads=N)
    case("MultiHeadAttention", "added", q, k, v, bias, None, rand(B, N, S, L), num_heads=N)
    case("MultiHeadAttention", "added_one", q, k, v, None, None, rand(1, 1, S, L), num_heads=N)
    case("MultiHeadAttention", "scale", q, k, v, num_heads=N, scale=0.7)
    case("MultiHeadAttention", "causal", q, rand(B, S, C), rand(B, S, C), num_heads=N, unidirectional=1)
    case("MultiHeadAttention", "packed_kv", q, rand(B, L, N, 2, C // N), None, num_heads=N)
    case("MultiHeadAttention", "packed_qkv", rand(B, S, N, 3, C // N), None, None, num_heads=N)
    case("MultiHeadAttention", "packed_qkv_bias", rand(B, S, N, 3, C // N), None, None, bias, num_heads=N)
    case("MultiHeadAttention", "heads", q, rand(B, N, L, C // N), rand(B, N, L, C // N), num_heads=N)
    case("MultiHeadAttention", "heads_bias", q, rand(B, N, L, C // N), rand(B, N, L, C // N), bias, num_heads=N)
    past = rand(B, N, 3, C // N)
    case("MultiHeadAttention", "past", q, rand(B, S, C), rand(B, S, C), bias, None, None, past, past, num_heads=N, n_out=3)
    case("MultiHeadAttention", "past_causal", q, rand(B, S, C), rand(B, S, C), None, None, None, past, past, num_heads=N,
         n_out=3, unidirectional=1)
    case("MultiHeadAttention", "present", q, k, v, num_heads=N, n_out=3)


def q_attention():
    B, S, C, N = 2, 5, 8, 2
    for xt in (u8, i8):
        for per in (1, 3 * C):
            low, high = (0, 255) if xt == u8 else (-128, 127)
            x, w = rand(B, S, C, low=low, high=high, dtype=xt), rand(C, 3 * C, low=-128, high=127, dtype=i8)
            scale = rand(per, low=0.001, high=0.01) if per > 1 else np.array(0.007, f32)
            zero = np.zeros(per, i8) if per > 1 else np.array(3, i8)
            x_zero = np.array(120 if xt == u8 else -5, xt)
            tail = (np.array(0.01, f32), scale)
            case("QAttention", f"{np.dtype(xt).name}_{per}", x, w, rand(3 * C), *tail, np.array([4, 5], i32), x_zero, zero,
                 num_heads=N)
            case("QAttention", f"{np.dtype(xt).name}_{per}_causal", x, w, rand(3 * C), *tail, None, x_zero, zero,
                 num_heads=N, unidirectional=1)
    x, w = rand(B, S, C, low=0, high=255, dtype=u8), rand(C, 3 * C, low=-128, high=127, dtype=i8)
    case("QAttention", "past", x, w, rand(3 * C), np.array(0.01, f32), np.array(0.01, f32), masks(B, S, S + 2)["keys"],
         np.array(128, u8), np.array(0, i8), rand(2, B, N, 2, C // N), num_heads=N, n_out=2)
    case("QAttention", "no_zero", x, w, rand(3 * C), np.array(0.01, f32), np.array(0.01, f32), num_heads=N)


def embed():
    B, S, C = 2, 5, 8
    ids, seg = rand(B, S, low=0, high=10, dtype=i32), rand(B, S, low=0, high=1, dtype=i32)
    words, places, segs, gamma, beta = rand(11, C), rand(7, C), rand(2, C), rand(C), rand(C)
    mask = np.ones((B, S), i32)
    mask[1, 3:] = 0
    pos = rand(B, S, low=0, high=6, dtype=i32)
    case("EmbedLayerNormalization", "full", ids, seg, words, places, segs, gamma, beta, mask, n_out=2)
    case("EmbedLayerNormalization", "no_mask", ids, seg, words, places, segs, gamma, beta, n_out=2)
    case("EmbedLayerNormalization", "no_segments", ids, None, words, places, None, gamma, beta, mask, n_out=2)
    case("EmbedLayerNormalization", "positions", ids, seg, words, places, segs, gamma, beta, None, pos, n_out=2)
    case("EmbedLayerNormalization", "positions_shared", ids, seg, words, places, segs, gamma, beta, mask, pos[:1], n_out=2)
    case("EmbedLayerNormalization", "sum", ids, seg, words, places, segs, gamma, beta, mask, n_out=3, epsilon=0.01)
    case("EmbedLayerNormalization", "sum_only", ids, None, words, places, None, gamma, beta, outs=["y", "", "sum"])


def norms():
    x, skip, gamma, beta, bias = rand(2, 3, 8), rand(2, 3, 8), rand(8), rand(8), rand(8)
    for op, tail in (("SkipLayerNormalization", [beta]), ("SkipSimplifiedLayerNormalization", [])):
        case(op, "plain", x, skip, gamma, *tail)
        case(op, "bias", x, skip, gamma, *tail, bias, epsilon=1e-3)
        case(op, "sum", x, skip, gamma, *tail, bias, outs=["y", "", "", "sum"])
        case(op, "shared", x, rand(1, 3, 8), gamma, *tail)
        case(op, "shared_flat", x, rand(3, 8), gamma, *tail)
        case(op, "rows", rand(4, 8), rand(4, 8), gamma, *tail)
    case("SkipLayerNormalization", "no_beta", x, skip, gamma)
    case("SimplifiedLayerNormalization", "plain", x, gamma, domain="")
    case("SimplifiedLayerNormalization", "axis", x, rand(3, 8), domain="", axis=1, epsilon=0.1)
    case("LayerNormalization", "old", x, gamma, beta, domain="", opset=12)


def gelus():
    x, b = rand(2, 3, 8, low=-4, high=4), rand(8)
    case("BiasGelu", "plain", x, b)
    case("FastGelu", "plain", x)
    case("FastGelu", "bias", x, b)
    case("Gelu", "plain", x)
    case("QuickGelu", "plain", x)
    case("QuickGelu", "alpha", x, alpha=0.5)


def products():
    a, b = rand(2, 3, 4), rand(2, 4, 5)
    case("FusedMatMul", "plain", a, b)
    case("FusedMatMul", "alpha", a, b, alpha=0.125)
    case("FusedMatMul", "trans_a", rand(2, 4, 3), b, transA=1)
    case("FusedMatMul", "trans_b", a, rand(2, 5, 4), transB=1, alpha=2.0)
    case("FusedMatMul", "trans_both", rand(4, 3), rand(5, 4), transA=1, transB=1)
    case("FusedMatMul", "constant", a, rand(4, 5))
    case("FusedMatMul", "broadcast", rand(2, 1, 3, 4), rand(6, 5, 4), transB=1)
    case("FusedMatMul", "batch_a", rand(3, 2, 4), b, transBatchA=1)
    case("FusedMatMul", "batch_b", a, rand(4, 2, 5), transBatchB=1)
    case("FusedMatMul", "batch_b_trans", a, rand(5, 2, 4), transBatchB=1, transB=1)
    case("FusedMatMul", "batch_4d", rand(3, 2, 6, 4), rand(2, 6, 4, 5), transBatchA=1)
    case("FusedMatMul", "batch_both", rand(4, 2, 6, 3), rand(5, 2, 6, 4), transBatchA=1, transBatchB=1, transA=1, transB=1)
    for act in ("Relu", "LeakyRelu", "Tanh", "Sigmoid", "Elu", "HardSigmoid", "Softsign", "Softplus", "Selu", "Celu",
                "ThresholdedRelu"):
        case("FusedGemm", act.lower(), rand(3, 4), rand(4, 5), rand(5), activation=act)
    case("FusedGemm", "alpha", rand(3, 4), rand(5, 4), rand(3, 1), activation="LeakyRelu", activation_alpha=0.3, transB=1,
         alpha=0.5, beta=2.0)


def quantized():
    a, au = rand(2, 3, 8, low=-2, high=3), rand(2, 3, 8, low=0, high=255, dtype=u8)
    for bt in (i8, u8):
        low, high = (-128, 127) if bt == i8 else (0, 255)
        b, name = rand(8, 5, low=low, high=high, dtype=bt), np.dtype(bt).name
        one, many = np.array(0.02, f32), rand(5, low=0.01, high=0.03)
        zero, zeros = np.array(7, bt), rand(5, low=0, high=20, dtype=bt)
        case("DynamicQuantizeMatMul", name, a, b, one, zero)
        case("DynamicQuantizeMatMul", f"{name}_columns", a, b, many, zeros, rand(5))
        case("DynamicQuantizeMatMul", f"{name}_no_zero", a, b, many, None, rand(5))
        case("MatMulIntegerToFloat", name, au, b, np.array(0.1, f32), one, np.array(128, u8), zero)
        case("MatMulIntegerToFloat", f"{name}_columns", au, b, np.array(0.1, f32), many, np.array(3, u8), zeros, rand(5))
        case("MatMulIntegerToFloat", f"{name}_bare", au, b, np.array(0.1, f32), one)
    b = rand(2, 8, 5, low=-128, high=127, dtype=i8)
    case("MatMulIntegerToFloat", "batches", au, b, np.array(0.1, f32), np.array(0.02, f32), np.array(9, u8), np.array(0, i8))
    case("MatMulIntegerToFloat", "signed", rand(3, 8, low=-128, high=127, dtype=i8), b[0], np.array(0.1, f32),
         np.array(0.02, f32), np.array(9, i8), np.array(0, i8))
    s = lambda v: np.array(v, f32)
    for t in (u8, i8):
        low, high, name = (0, 255, "uint8") if t == u8 else (-128, 127, "int8")
        z = lambda v: np.array(v, t)
        x, y = rand(2, 3, 37, low=low, high=high, dtype=t), rand(2, 3, 37, low=low, high=high, dtype=t)
        case("QLinearAdd", name, x, s(0.05), z(12), y, s(0.03), z(7), s(0.08), z(3))
        case("QLinearAdd", f"{name}_row", x, s(0.05), z(12), y[0, 0], s(0.03), z(7), s(0.08), z(3))
        case("QLinearAdd", f"{name}_scalar", x, s(0.05), z(12), z(5), s(0.03), z(7), s(0.08), z(3))
        case("QLinearAdd", f"{name}_no_zeros", x, s(0.05), None, y, s(0.03), None, s(0.08))
        p, q = rand(3, 8, low=low, high=high, dtype=t), rand(8, 5, low=-128, high=127, dtype=i8)
        case("QGemm", name, p, s(0.02), z(9), q, s(0.03), np.array(2, i8), rand(5, low=-900, high=900, dtype=i32), s(0.1), z(4))
        case("QGemm", f"{name}_float", p, s(0.02), z(9), q, s(0.03), np.array(2, i8), rand(5, low=-900, high=900, dtype=i32))
        case("QGemm", f"{name}_columns", p, s(0.02), z(9), q, rand(5, low=0.01, high=0.04), np.zeros(5, i8), None, s(0.1), z(4))
        case("QGemm", f"{name}_trans", p.T.copy(), s(0.02), z(9), q.T.copy(), s(0.03), np.array(2, i8), None, s(0.1), z(4),
             transA=1, transB=1, alpha=0.5)


def rotary():
    B, S, N, D = 2, 4, 3, 8
    cos, sin = rand(9, D // 2), rand(9, D // 2)
    ids = rand(B, S, low=0, high=8, dtype=i64)
    for inter in (0, 1):
        case("RotaryEmbedding", f"flat_{inter}", rand(B, S, N * D), ids, cos, sin, interleaved=inter)
        case("RotaryEmbedding", f"heads_{inter}", rand(B, N, S, D), ids, cos, sin, interleaved=inter)
        case("RotaryEmbedding", f"offset_{inter}", rand(B, S, N * D), np.array([3], i64), cos, sin, interleaved=inter)
        case("RotaryEmbedding", f"partial_{inter}", rand(B, S, N * 12), ids, cos, sin, interleaved=inter, num_heads=N,
             rotary_embedding_dim=D)
        case("RotaryEmbedding", f"partial_heads_{inter}", rand(B, N, S, 12), ids, cos, sin, interleaved=inter, num_heads=N,
             rotary_embedding_dim=D)


def convolutions():
    x, w, b = rand(2, 4, 7, 6), rand(6, 2, 3, 2), rand(6)
    for act, params in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_params": [0.2]}),
                        ("Clip", {"activation_params": [-0.5, 0.75]}),
                        ("HardSigmoid", {"activation_params": [0.3, 0.4]})):
        case("FusedConv", act.lower(), x, w, b, group=2, activation=act, **params)
    case("FusedConv", "sum", x, w, b, rand(2, 6, 4, 6), group=2, activation="Relu", strides=[2, 1], pads=[1, 0, 1, 1])
    case("FusedConv", "line", rand(1, 3, 40), rand(5, 3, 3), None, activation="Relu", dilations=[4], pads=[2, 3])
    for pad in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        case("Conv", pad.lower(), x, w, b, domain="", group=2, auto_pad=pad, strides=[2, 2])
    case("Conv", "depth", rand(1, 5, 4, 9), rand(5, 1, 2, 2), rand(5), domain="", group=5, dilations=[2, 3])
    case("Conv", "space", rand(2, 2, 3, 4, 5), rand(3, 2, 2, 3, 2), None, domain="", pads=[1, 0, 2, 0, 1, 1])
    case("Conv", "wide", rand(1, 20, 9, 9), rand(50, 20, 3, 3), rand(50), domain="", pads=[1, 1, 1, 1])


shutil.rmtree(OUT, ignore_errors=True)
for write in (attention, multi_head, q_attention, embed, norms, gelus, products, quantized, rotary, convolutions):
    write()
print(f"{made} cases; ONNX Runtime refused {len(refused)}:", *refused, sep="\n  ")
