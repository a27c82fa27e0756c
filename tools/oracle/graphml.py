"""GraphML round trips: models through `export-graphml` and `import-onnx`, run by ONNX Runtime before and after.

    python tools/oracle/graphml.py PROGRAM WORK_FOLDER [--xsd graphml-v1.3.xsd] MODEL.onnx...

For each model and each strategy (sidecar, embedded, reference): whether the outputs are equal to the bit, whether the
two files are equal as protobuf, and, for the GraphML itself, what an independent reader finds: the number of keys, of
operators and edges, the checksum of the weights, and the schema where one is given. Needs onnx, onnxruntime, numpy,
lxml."""
import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from lxml import etree

NS = "{http://graphml.graphdrawing.org/xmlns}"


def feed_of(session):
    rng = np.random.default_rng(1)
    feed = {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else (2, 9, 9, 9)[k] for k, d in enumerate(i.shape)]
        if i.name == "attention_mask":
            feed[i.name] = np.ones(shape, np.int64)
            feed[i.name][-1, shape[-1] // 2:] = 0
        elif "int" in i.type:
            feed[i.name] = rng.integers(0, 2 if "type" in i.name else 40, shape).astype(
                np.int32 if "int32" in i.type else np.int64)
        else:
            feed[i.name] = rng.standard_normal(shape).astype(np.float32)
    return feed


def answers(path, feed=None):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = feed or feed_of(session)
    return session.run(None, feed), feed


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stderr.strip())


def inspect(base, model, schema):
    """What lxml sees; a list of complaints."""
    tree = etree.parse(base + ".graphml", etree.XMLParser(huge_tree=True))
    bad = []
    if schema is not None and not schema.validate(tree):
        bad.append("schema: %s" % schema.error_log[0].message[:80])
    root = tree.getroot()
    data = {d.get("key"): d.text or "" for d in root.find(NS + "graph").findall(NS + "data")}
    operators = [n for n in root.iter(NS + "node") if n.find(NS + "graph") is None
                 and n.findtext(NS + "data") not in ("Input", "Output")]
    ids = {n.get("id") for n in root.iter(NS + "node")}
    if len(root.findall(NS + "key")) != 31:
        bad.append("keys")
    if len(operators) != len(model.graph.node):
        bad.append("%d operators" % len(operators))
    if any(e.get(end) not in ids for e in root.iter(NS + "edge") for end in ("source", "target")):
        bad.append("edges")
    if data["param0"] == "embedded":
        params = json.loads(data["io3"])
        found = "sha256:" + hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()
    else:
        raw = open(os.path.join(os.path.dirname(base), data["param1"]), "rb").read()
        found = "sha256:" + hashlib.sha256(raw).hexdigest()
        params = json.loads(gzip.decompress(raw)) if data["param0"] == "sidecar" else None
    if found != data["param2"]:
        bad.append("checksum")
    if params and set(params["parameters"]) != {t.name for t in model.graph.initializer}:
        bad.append("parameters")
    return bad


def bare(model):
    """Weights as raw bytes, whatever field they came in."""
    for t in list(model.graph.initializer) + [a.t for n in model.graph.node for a in n.attribute if a.HasField("t")]:
        array = onnx.numpy_helper.to_array(t)
        name, doc = t.name, t.data_type
        t.CopyFrom(onnx.numpy_helper.from_array(array, name))
    return model.SerializeToString(deterministic=True)


def check(args, path, strategy, schema):
    name = os.path.basename(os.path.dirname(path)) + "-" + os.path.basename(path)[:-5]
    folder = os.path.join(args.work, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = onnx.load(path)
    source = os.path.join(folder, "source.onnx")
    onnx.save(model, source)
    base, back = os.path.join(folder, "source" if strategy == "reference" else "graph"), os.path.join(folder, "back.onnx")
    run(args.program, "export-graphml", source, "-o", base, "--strategy", strategy)
    run(args.program, "import-onnx", base + ".graphml", back, "--validate")
    before, feed = answers(path)
    after, _ = answers(back, feed)
    equal = all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(before, after)) and len(before) == len(after)
    same = bare(model) == bare(onnx.load(back))
    bad = inspect(base, model, schema)
    print("%-40s %-10s %5d nodes, outputs %s, file %s%s" % (
        name, strategy, len(model.graph.node), "bit-equal" if equal else "DIFFER",
        "the same" if same else "equal in meaning", "; " + "; ".join(bad) if bad else ""), flush=True)
    shutil.rmtree(folder)
    return equal and not bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--xsd")
    parser.add_argument("model", nargs="+")
    args = parser.parse_intermixed_args()
    schema = etree.XMLSchema(etree.parse(args.xsd)) if args.xsd else None
    bad = sum(not check(args, m, s, schema) for m in args.model for s in ("sidecar", "embedded", "reference"))
    print("%d of %d differ" % (bad, 3 * len(args.model)))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
