"""Modules cut out by `onnx extract`, against the same values inside the whole model.

    python tools/oracle/extract.py PROGRAM WORK_FOLDER MODEL.onnx...
    python tools/oracle/extract.py --golden tests/golden

Every module of each model is cut out. ONNX Runtime (optimizations off) runs the whole with the cut's inputs and
outputs as further outputs, then the cut on those inputs: equal to the bit. Our own engine runs the cut (`onnx run`):
the largest difference is printed, at most 1e-5 wanted. --golden writes tests/golden/htp/cut: what PyTorch hooks see at
the edges of three modules of tests/golden/export/bert, as cases of `onnx test`. Needs numpy, onnx, onnxruntime; torch
and transformers for the golden files."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort

from graphml import feed_of


def session(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    data = model if isinstance(model, str) else model.SerializeToString()
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def ours(program, path, feed, names, work):
    command = [program, "onnx", "run", path, "-o", work]
    for i, (name, array) in enumerate(feed.items()):
        file = os.path.join(work, "in%d.npy" % i)
        np.save(file, array)
        command += ["-i", name + "=" + file]
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode:
        raise RuntimeError(out.stderr.strip())
    return [np.load(line.split(": ")[0]) for line in out.stdout.splitlines()]


def check(program, work, path):
    said = json.loads(subprocess.run([program, "analyze", path, "--json"], capture_output=True, text=True).stdout)
    whole = onnx.load(path)
    feed = feed_of(session(path))
    tags = sorted({m["tag"] for m in said["modules"] if m["direct_nodes"]})
    bad, worst, unequal = 0, 0.0, 0
    for tag in tags:
        cut = os.path.join(work, "cut.onnx")
        result = subprocess.run([program, "onnx", "extract", path, cut, "--tag", tag], capture_output=True, text=True)
        if result.returncode:
            print("  %s: %s" % (tag, result.stderr.strip()))
            bad += 1
            continue
        onnx.checker.check_model(onnx.load(cut), full_check=True)
        part = session(cut)
        wanted = [v.name for v in part.get_inputs()] + [v.name for v in part.get_outputs()]
        more = onnx.ModelProto()
        more.CopyFrom(whole)
        known = {o.name for o in whole.graph.output} | {i.name for i in whole.graph.input}
        more.graph.output.extend(onnx.ValueInfoProto(name=n) for n in wanted if n not in known)
        values = dict(feed)
        asked = [n for n in wanted if n not in feed]
        values.update(zip(asked, session(more).run(asked, feed)))
        inputs = {v.name: values[v.name] for v in part.get_inputs()}
        names = [v.name for v in part.get_outputs()]
        got = part.run(names, inputs)
        unequal += any(a.tobytes() != values[n].tobytes() for a, n in zip(got, names))
        for a, n in zip(ours(program, cut, inputs, names, work), names):
            assert a.shape == values[n].shape and a.dtype == values[n].dtype, (tag, n, a.shape, values[n].shape)
            if a.size:
                finite = np.isfinite(values[n].astype(np.float64))
                worst = max(worst, float(np.abs(a.astype(np.float64) - values[n].astype(np.float64))[finite].max(initial=0)))
    print("%-50s %3d modules: ONNX Runtime %s, ours differ by %.2g%s" % (
        path[-50:], len(tags), "bit-equal" if not unequal else "%d DIFFER" % unequal, worst, ", %d refused" % bad if bad else ""),
        flush=True)
    return not bad and not unequal and worst <= 1e-5


def golden(folder):
    import torch
    import transformers
    model = transformers.BertForTokenClassification.from_pretrained(os.path.join(folder, "export/bert")).eval()
    seen = {}

    def keep(name):
        def hook(module, args, kwargs, out):
            first = out[0] if isinstance(out, tuple) or hasattr(out, "last_hidden_state") else out
            seen[name] = (args[0] if args else None, first)
        return hook
    modules = {"BertEmbeddings": model.bert.embeddings, "BertLayer.0": model.bert.encoder.layer[0],
               "BertEncoder": model.bert.encoder}
    for name, module in modules.items():
        module.register_forward_hook(keep(name), with_kwargs=True)
    ids, mask = torch.tensor([[3, 7, 11, 22, 33, 5], [9, 8, 7, 6, 5, 0]]), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    types = torch.tensor([[0, 0, 1, 1, 1, 0]] * 2)
    with torch.no_grad():
        model(input_ids=ids, attention_mask=mask, token_type_ids=types)
    added = np.where(mask.numpy() == 1, 0, np.finfo(np.float32).min).astype(np.float32)[:, None, None, :]
    inputs = {"BertEmbeddings": [ids.numpy(), types.numpy()], "BertLayer.0": [seen["BertLayer.0"][0].numpy(), added],
              "BertEncoder": [seen["BertEncoder"][0].numpy(), added]}
    for name in modules:
        target = os.path.join(folder, "htp/cut", name, "test_data_set_0")
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        for i, array in enumerate(inputs[name]):
            onnx.save_tensor(onnx.numpy_helper.from_array(array), os.path.join(target, "input_%d.pb" % i))
        onnx.save_tensor(onnx.numpy_helper.from_array(seen[name][1].numpy()), os.path.join(target, "output_0.pb"))
        with open(os.path.join(folder, "htp/cut", name, "tolerance.txt"), "w") as f:
            f.write("1e-5 1e-5\n")


def main():
    if sys.argv[1] == "--golden":
        return golden(sys.argv[2])
    program, work = sys.argv[1:3]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    bad = sum(not check(program, work, m) for m in sys.argv[3:])
    print("%d of %d differ" % (bad, len(sys.argv) - 3))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
