# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/graphs: small models of several nodes (If and Loop with captured values, nested and data-dependent;
functions with attribute references, defaults, their own opsets, calls inside calls), with ONNX Runtime's outputs,
in the layout of ONNX's own tests. Usage: python tools/oracle/graphs.py tests/golden/graphs"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

CASES = {
    "if_data": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] x) => (float[N,M] y) {
            limit = Constant <value_float = 1.0> ()
            sum = ReduceSum <keepdims = 0> (x)
            big = Greater (sum, limit)
            y = If (big) <then_branch = g1 () => (float[2,3] t) { t = Mul (x, sum) },
                          else_branch = g2 () => (float[N,M] t) { t = Transpose (x) }>
        }""", [np.ones((2, 3), np.float32)], [-np.ones((2, 3), np.float32)]),
    "if_shape": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[A,B] x) => (float y) {
            one = Constant <value_ints = [1]> ()
            shape = Shape (x)
            zero = Constant <value_int = 0> ()
            rows = Gather (shape, zero)
            is = Equal (rows, one)
            y = If (is) <then_branch = g1 () => (float a) { axis = Constant <value_ints = [0]> () a = Squeeze (x, axis) },
                         else_branch = g2 () => (float b) { b = Identity (x) }>
        }""", [np.ones((1, 3), np.float32)], [np.ones((2, 3), np.float32)]),
    "if_constant": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
            yes = Constant <value = bool[1] {1}> ()
            y, z = If (yes) <then_branch = g1 () => (float[2,3] a, float[2,3] b) { a = Add (x, x) b = Neg (a) },
                         else_branch = g2 () => (float[2,3] a, float[2,3] b) { c = Constant <value_ints = [9]> () a = Reshape (x, c) b = Identity (a) }>
        }""", [np.arange(6, dtype=np.float32).reshape(2, 3)]),
    "if_nested": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, bool p, bool q) => (float y, float[2] w) {
            s = Sqrt (x)
            y = If (p) <
                then_branch = g1 () => (float a) {
                    n = Neg (s)
                    a = If (q) <then_branch = g3 () => (float[2] e) { e = Add (n, x) },
                                else_branch = g4 () => (float e) { e = ReduceSum <keepdims = 0> (n) }>
                },
                else_branch = g2 () => (float a) {
                    n = Exp (s)
                    both = And (p, q)
                    a = If (both) <then_branch = g5 () => (float[2] e) { e = Mul (n, x) },
                                else_branch = g6 () => (float[2] e) { e = Identity (n) }>
                }>
            w = If (q) <then_branch = g7 () => (float[2] f) { f = Identity (x) }, else_branch = g8 () => (float[2] f) { f = Identity (s) }>
        }""", *[[np.array([4, 9], np.float32), np.array(p), np.array(q)] for p in (True, False) for q in (True, False)]),
    "loop": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64 trips, float[2] x, float limit) => (float[2] last, float[T,2] all, int64[T] numbers) {
            yes = Constant <value = bool {1}> ()
            twice = Add (x, x)
            last, all, numbers = Loop (trips, yes, x) <body = g1 (int64 i, bool on, float[2] s) => (bool more, float[2] t, float[2] row, int64 n) {
                t = Add (s, twice)
                sum = ReduceSum <keepdims = 0> (t)
                more = Less (sum, limit)
                row = Neg (t)
                n = Identity (i)
            }>
        }""", *[[np.array(n, np.int64), np.array([1, 2], np.float32), np.array(m, np.float32)]
                for n, m in ((3, 100), (9, 30), (0, 9))]),
    "loop_nested": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64 trips, float[3] x, bool p) => (float[A,3] grown, float[T,S] rows) {
            yes = Constant <value = bool {1}> ()
            two = Constant <value_int = 2> ()
            axis = Constant <value_ints = [0]> ()
            first = Unsqueeze (x, axis)
            grown, rows = Loop (trips, yes, first) <body = g1 (int64 i, bool on, float[B,3] s) => (bool on2, float[C,3] t, float[S] row) {
                on2 = Identity (on)
                inner, row = Loop (two, on, x) <body = g2 (int64 j, bool go, float[3] u) => (bool go2, float[3] v, float r) {
                    go2 = Identity (go)
                    d = If (p) <then_branch = g3 () => (float[3] e) { e = Add (u, x) }, else_branch = g4 () => (float[3] e) { e = Mul (u, x) }>
                    v = Identity (d)
                    r = ReduceSum <keepdims = 0> (v)
                }>
                wide = Unsqueeze (inner, axis)
                t = Concat <axis = 0> (s, wide)
            }>
        }""", *[[np.array(n, np.int64), np.array([1, 2, 3], np.float32), np.array(p)] for n, p in ((1, True), (3, False))]),
    "text_if": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64[batch,sequence] input_ids) => (float[batch,sequence,2] y) {
            table = Constant <value = float[4,2] {1, 2, 3, 4, 5, 6, 7, 8}> ()
            at = Constant <value_int = 1> ()
            four = Constant <value_int = 4> ()
            shape = Shape (input_ids)
            length = Gather (shape, at)
            long = Greater (length, four)
            h = Gather (table, input_ids)
            y = If (long) <then_branch = g1 () => (float[batch,sequence,2] a) { n = Neg (h) a = Add (n, h) },
                           else_branch = g2 () => (float[batch,sequence,2] a) { a = Mul (h, h) }>
        }""", [np.array([[0, 1, 2], [3, 2, 1]], np.int64)], [np.array([[0, 1, 2, 3, 3, 2]], np.int64)]),
    "function": ("""<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
            y = local.twice <by = 3.0> (x)
            z = local.shift (y, x)
        }
        <domain: "local", opset_import: ["" : 17, "local" : 1]>
        twice <by> (a) => (b) { s = Constant <value_float: float = @by> () c = local.shift (a) b = Mul (c, s) }
        <domain: "local", opset_import: ["" : 12]>
        shift <alpha: float = 0.25> (a, other) => (b) { l = LeakyRelu <alpha: float = @alpha> (a) b = Softmax (l) }
        """, [np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)]),
    "sequence": ("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[A,B] x, int64 last) => (float[A] column, float[1,B] row, float[A,2] half, float[B] of_last) {
            one = Constant <value_int = 1> ()
            two = Constant <value_int = 2> ()
            twos = Constant <value_ints = [2,2]> ()
            zero = Constant <value_int = 0> ()
            columns = SplitToSequence <axis = 1, keepdims = 0> (x, one)
            column = SequenceAt (columns, two)
            rows = SplitToSequence (x)
            row = SequenceAt (rows, one)
            halves = SplitToSequence <axis = -1> (x, twos)
            half = SequenceAt (halves, zero)
            flat = SplitToSequence <keepdims = 0> (x)
            of_last = SequenceAt (flat, last)
        }""", [np.arange(12, dtype=np.float32).reshape(3, 4), np.array(-1, np.int64)]),
    "function_if": ("""<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[3] x, bool p) => (float y, float[3] same) {
            y, same = local.pick <axis = 0> (x, p)
        }
        <domain: "local", opset_import: ["" : 17]>
        pick <axis> (a, p) => (b, a2) {
            a2 = Identity (a)
            b = If (p) <then_branch = g1 () => (float c) { c = Concat <axis: int = @axis> (a, a2) },
                        else_branch = g2 () => (float c) { c = Neg (a) }>
        }""", [np.arange(3, dtype=np.float32), np.array(True)], [np.arange(3, dtype=np.float32), np.array(False)]),
}


def forget_ranks(outputs, nodes):
    """The text form has no way to leave a rank open; outputs written without dims are meant so."""
    for o in outputs:
        if o.type.tensor_type.HasField("shape") and not o.type.tensor_type.shape.dim:
            o.type.tensor_type.ClearField("shape")
    for node in nodes:
        for a in node.attribute:
            if a.HasField("g"):
                forget_ranks(a.g.output, a.g.node)


def main(out):
    shutil.rmtree(out, ignore_errors=True)
    for name, (text, *feeds) in CASES.items():
        model = parser.parse_model(text)
        forget_ranks(model.graph.output, model.graph.node)
        for f in model.functions:
            forget_ranks([], f.node)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        folder = os.path.join(out, name)
        os.makedirs(folder)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for k, feed in enumerate(feeds):
            results = session.run(None, {i.name: x for i, x in zip(model.graph.input, feed)})
            place = os.path.join(folder, f"test_data_set_{k}")
            os.makedirs(place)
            for kind, values in (("input", feed), ("output", results)):
                for i, v in enumerate(values):
                    with open(os.path.join(place, f"{kind}_{i}.pb"), "wb") as f:
                        f.write(numpy_helper.from_array(np.asarray(v)).SerializeToString())


main(sys.argv[1])
