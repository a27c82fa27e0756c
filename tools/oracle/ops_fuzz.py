# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of tests/fuzz/fuzz_onnx.c: the cases of tests/golden/ops, 20 to a model, inputs as
initializers. Usage: python tools/oracle/ops_fuzz.py tests/golden/ops tests/fuzz/corpus/onnx"""
import os
import shutil
import sys

import onnx
from onnx import TensorProto, helper

CASES, OUT = sys.argv[1:3]
EACH = 20
os.makedirs(OUT, exist_ok=True)
groups = {}
for name in sorted(os.listdir(CASES)):
    folder = os.path.join(CASES, name)
    if not os.path.isdir(folder):
        continue
    model = onnx.load(os.path.join(folder, "model.onnx"))
    node, tensors = model.graph.node[0], []
    for i, info in enumerate(model.graph.input):
        t = TensorProto()
        with open(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), "rb") as f:
            t.ParseFromString(f.read())
        t.name = f"{name}/{info.name}"
        tensors.append(t)
    if sum(len(t.raw_data) for t in tensors) > 1000:
        continue
    for names in (node.input, node.output):
        for i, n in enumerate(names):
            names[i] = f"{name}/{n}" if n else ""
    opset = next(o.version for o in model.opset_import if o.domain == "")
    groups.setdefault(opset, []).append((node, tensors))
count = 0
for opset, cases in sorted(groups.items()):
    cases.sort(key=lambda c: c[0].op_type)
    step = EACH if opset == 18 else len(cases)
    for at in range(0, len(cases), step):
        part = cases[at:at + step]
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([n for n, _ in part], "g", [], [], [t for _, ts in part for t in ts])
        for n, _ in part:
            n.name = ""
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        with open(os.path.join(OUT, f"ops{opset}-{at // step:02d}"), "wb") as f:
            f.write(model.SerializeToString())
        count += 1
shutil.copy(os.path.join(CASES, "reader.onnx"), os.path.join(OUT, "reader"))
print(count + 1, "seeds")
