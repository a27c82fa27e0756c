# SPDX-License-Identifier: Apache-2.0
"""Runs a list of ONNX test cases through ONNX Runtime with the comparison of `encoderfile onnx test`, so that both counts
stand side by side. A case that crashes the process counts as failed: each part of the list runs in a child.
Usage: python tools/oracle/conformance.py names.txt CASES [-v]"""
import glob
import os
import subprocess
import sys

import numpy as np

BF16 = 16


def tensor(path):
    import onnx
    from onnx import numpy_helper
    t = onnx.TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return numpy_helper.to_array(t), t.data_type


def close(found, wanted, kind, rtol, atol):
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"found {found.dtype}{list(found.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
    if kind == BF16:
        rtol = max(rtol, 1 / 64)
    if not np.issubdtype(wanted.dtype, np.number) and wanted.dtype != bool and kind != BF16:
        return None if (found == wanted).all() else "strings differ"
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        fits = (np.isnan(a) & np.isnan(b)) | (a == b) | (np.abs(a - b) <= atol + rtol * np.abs(b))
    return None if fits.all() else f"{int((~fits).sum())} numbers differ"


def run_case(folder):
    import onnx
    import onnxruntime
    rtol, atol = 1e-3, 1e-7
    path = os.path.join(folder, "tolerance.txt")
    if os.path.exists(path):
        rtol, atol = map(float, open(path).read().split())
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    model = onnx.load(os.path.join(folder, "model.onnx"))
    for place in sorted(glob.glob(os.path.join(folder, "test_data_set_*"))):
        feed = {i.name: tensor(f"{place}/input_{k}.pb")[0] for k, i in enumerate(model.graph.input)}
        for k, found in enumerate(session.run(None, feed)):
            wanted, kind = tensor(f"{place}/output_{k}.pb")
            why = close(np.asarray(found), wanted, kind, rtol, atol)
            if why:
                return f"output {k}: {why}"
    return None


def child(cases, names):
    for name in names:
        try:
            why = run_case(os.path.join(cases, name))
        except Exception as e:
            why = f"{type(e).__name__}: {str(e)[:160]}".replace("\n", " ")
        print(name, "passed" if not why else "failed " + why, sep="\t", flush=True)


def main():
    names = [n.strip() for n in open(sys.argv[1]) if n.strip() and n[0] != "#"]
    verbose, results = "-v" in sys.argv, {}
    while len(results) < len(names):
        left = [n for n in names if n not in results]
        out = subprocess.run([sys.executable, __file__, "--child", sys.argv[2]], input="\n".join(left), text=True,
                             capture_output=True).stdout
        for line in out.splitlines():
            name, verdict = line.split("\t", 1)
            results[name] = verdict
        crashed = [n for n in names if n not in results]
        if crashed:
            results[crashed[0]] = "failed crashed"
    failed = {n: v for n, v in results.items() if v != "passed"}
    if verbose:
        for n, v in failed.items():
            print(n, v)
    print(f"ONNX Runtime: {len(results) - len(failed)} passed, {len(failed)} failed")


if sys.argv[1] == "--child":
    child(sys.argv[2], sys.stdin.read().split())
else:
    main()
