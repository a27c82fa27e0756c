"""Hierarchy tags against what Python sees: hooks over transformers make the table of executed modules (rule 2.1 of the
notes), rule 2.2 gives every node name its tag.

    python tools/oracle/tags.py PROGRAM WORK_FOLDER [--golden FOLDER] [CASE...]

For each case and head, three files: our export (tags in the nodes), torch's TorchScript export (scopes in names, classes
by the config.json beside it) and torch.export's (metadata). Of ours: the tag of each node, the set of distinct tags
against that of TorchScript's operators, the sidecar's modules and totals against the hooks; of all three: what `analyze`
says of each node. --golden writes tests/golden/htp. Needs what export.py needs, and onnxscript."""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import onnx
import torch
import transformers as tf

import export as E

CASES = ("bert", "distilbert", "roberta", "albert", "deberta-v2", "modernbert")


def by_rule(table, scope):
    """Rule 2.2: the longest traced prefix."""
    while scope and scope not in table:
        scope = scope.rpartition(".")[0]
    return table[scope]


def script_scope(name, table):
    """The module path in a TorchScript node name; a module run again has _N behind its name."""
    if not name.startswith("/"):
        return ""
    scope = ""
    for part in name.split("/")[1:-1]:
        last = scope.split(".")[-1]
        part = re.sub(r"(\.\d+)_\d+$", r"\1", part)
        if re.fullmatch(re.escape(last) + r"\.\d+", part) and last:  # a list that was called itself
            scope = scope.rpartition(".")[0]
        longer = (scope + "." + part).lstrip(".")
        again = re.sub(r"_\d+$", "", longer)
        scope = again if longer not in table and again in table else longer
    return scope


def feed_of(model):
    feed = next(iter(E.batches(model, 20)))
    return {k: torch.from_numpy(feed[k]) for k in ("input_ids", "attention_mask")}


def write_script(model, folder):
    """torch's old exporter; it passes every argument by position, which the wrappers around some forwards refuse."""
    os.makedirs(folder, exist_ok=True)
    feed = feed_of(model)
    forward = type(model).forward
    type(model).forward = lambda self, input_ids, attention_mask: tuple(
        v for v in forward(self, input_ids=input_ids, attention_mask=attention_mask).values())
    try:
        torch.onnx.export(model, tuple(feed.values()), os.path.join(folder, "model.onnx"), input_names=list(feed),
                          dynamic_axes={k: {0: "b", 1: "s"} for k in feed}, dynamo=False, opset_version=17)
    finally:
        type(model).forward = forward
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)


def write_dynamo(model, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    torch.onnx.export(model, (), path, kwargs=feed_of(model), dynamo=True, opset_version=18, verbose=False)


def analysis(program, path):
    out = subprocess.run([program, "analyze", path, "--json"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def dynamo_tag(node, table):
    meta = {p.key: p.value for p in node.metadata_props}
    if "namespace" not in meta:
        return table[""]
    pairs = [p.split(": ") for p in meta["namespace"].split("/")[:-1]]
    paths = [p for p, c in pairs if not c.startswith("_empty_nn_module")]
    return by_rule(table, paths[-1] if paths else "")


def compare(nodes, said, expect):
    """The first node whose tag is not what the rule says, or None."""
    for n in nodes:
        if said.get(n.name) != expect(n):
            return n.name, said.get(n.name), expect(n)
    return None


def attempt(write, model, folder):
    try:
        write(model, folder)
        return None
    except Exception as e:
        return "torch cannot export it: " + " ".join(str(e).split())[:60]


def check_ours(args, model, table, out):
    """Tags in the nodes, and what the sidecar says."""
    nodes = onnx.load(os.path.join(out, "model.onnx")).graph.node
    tags = {n.name: {p.key: p.value for p in n.metadata_props}.get("hierarchy_tag") for n in nodes}
    wrong = compare(nodes, tags, lambda n: by_rule(table, ".".join(n.name.split("/")[1:-1])))
    said = analysis(args.program, os.path.join(out, "model.onnx"))
    if said["node_tags"] != tags or said["statistics"]["coverage"] != 100.0:
        wrong = wrong or ("analyze differs from the file",)
    side = json.load(open(os.path.join(out, "model_htp_metadata.json")))
    if side["nodes"] != tags:
        wrong = wrong or ("sidecar differs from the file",)
    return set(tags.values()), wrong or check_sidecar(model, table, side)


def flatten(node):
    yield node["execution_order"], node["scope"], node["traced_tag"], node["class_name"]
    for child in node.get("children", {}).values():
        yield from flatten(child)


def check_sidecar(model, table, side):
    """Totals, and the modules in the order in which the hooks entered them."""
    said = [m[1:3] for m in sorted(flatten(side["modules"]))]
    seen = [m for m in table.items() if m in set(said)]
    if seen != said:
        return "modules or their order", [a for a in zip(said, seen) if a[0] != a[1]][:1]
    silent = ("Dropout", "Identity", "CrossEntropyLoss")  # neither a weight nor a node tells of them
    facts = {"total_modules": sum(type(m).__name__ not in silent for m in model.modules()),
             "total_parameters": model.all_parameters}
    for key, value in facts.items():
        if side["model"][key] != value:
            return "%s: found %d, wanted %d" % (key, side["model"][key], value),
    return None


def check(args, case, task):
    source = os.path.join(args.work, case + "." + task)
    model = E.make(case, task, source)
    model.all_parameters = sum(p.numel() for p in model.parameters())
    if task == "feature-extraction" and hasattr(model, "pooler"):
        model.pooler = model.pooler_activation = None  # last_hidden_state is all that is exported
    table = E.module_table(model, 60)
    E.export(args.program, source, source + ".tags", "--task", task)
    ours, wrong = check_ours(args, model, table, source + ".tags")
    script, dynamo = source + ".script", source + ".dynamo"
    lines, bad = ["ours ok" if not wrong else "ours WRONG %s" % (wrong,)], bool(wrong)
    why = attempt(write_script, model, script)
    if why:
        lines.append("script: " + why)
    else:
        nodes = onnx.load(os.path.join(script, "model.onnx")).graph.node
        expect = lambda n: by_rule(table, script_scope(n.name, table))
        wrong = compare(nodes, analysis(args.program, os.path.join(script, "model.onnx"))["node_tags"], expect)
        theirs = {expect(n) for n in nodes if n.op_type != "Constant" and n.name.startswith("/")}
        same = ours == theirs
        bad |= bool(wrong) or not same
        lines.append("%d tags, %s; script %s" % (len(ours), "the same set" if same else "sets differ: %s" % (
            sorted(ours ^ theirs)), "ok" if not wrong else "WRONG %s" % (wrong,)))
    why = attempt(write_dynamo, model, dynamo) if args.dynamo else "not asked for"
    if why:
        lines.append("dynamo: " + why)
    else:
        nodes = onnx.load(os.path.join(dynamo, "model.onnx")).graph.node
        wrong = compare(nodes, analysis(args.program, os.path.join(dynamo, "model.onnx"))["node_tags"],
                        lambda n: dynamo_tag(n, table))
        bad |= bool(wrong)
        lines.append("dynamo " + ("ok" if not wrong else "WRONG %s" % (wrong,)))
    print("%-12s %-21s %s" % (case, task, "; ".join(lines)), flush=True)
    return not bad


GOLDEN = {"bert-script": ("bert-1-layer", "token-classification", write_script),
          "albert-script": ("albert", "fill-mask", write_script),
          "bert-dynamo": ("bert-1-layer", "token-classification", write_dynamo)}


def strip(path):
    """Weights are not needed for names: only small constants stay, and stack traces of this machine go."""
    m = onnx.load(path)
    for t in m.graph.initializer:
        if len(t.raw_data) > 64:
            del t.dims[:]
            t.dims.append(0)
            t.raw_data = b""
    for n in m.graph.node:
        keep = [p for p in n.metadata_props if p.key == "namespace"]
        del n.metadata_props[:]
        n.metadata_props.extend(keep)
        n.doc_string = ""
    del m.graph.value_info[:]
    return m


def golden(args):
    for name, (case, task, write) in GOLDEN.items():
        folder = os.path.join(args.golden, name)
        shutil.rmtree(folder, ignore_errors=True)
        model = E.make(case, task, os.path.join(args.work, "golden"))
        table = E.module_table(model, 60)
        write(model, folder)
        path = os.path.join(folder, "model.onnx")
        m = strip(path)
        for f in os.listdir(folder):
            if f not in ("config.json",):
                os.remove(os.path.join(folder, f))
        onnx.save(m, path)
        tag = (lambda n: dynamo_tag(n, table)) if write is write_dynamo else \
            (lambda n: by_rule(table, script_scope(n.name, table)))
        counts = collections.Counter(tag(n) for n in m.graph.node)
        with open(os.path.join(folder, "tags.csv"), "w") as f:
            f.write("Tag,Count\n")
            f.writelines('"%s",%d\n' % row for row in sorted(counts.items(), key=lambda r: (-r[1], r[0])))
    write_old_forms(args.golden)


def write_old_forms(folder):
    """Two nodes, tagged as upstream did: by attributes, which ONNX Runtime refuses, and before that by doc strings."""
    tags = {"/layer/Relu": "/Net/Layer", "/Add": "/Net"}
    for form in ("attributes", "docs"):
        nodes = [onnx.helper.make_node("Relu", ["x"], ["y"], "/layer/Relu"),
                 onnx.helper.make_node("Add", ["x", "y"], ["z"], "/Add")]
        for n in nodes:
            if form == "attributes":
                n.attribute.append(onnx.helper.make_attribute("hierarchy_tag", tags[n.name]))
            else:
                n.doc_string = json.dumps({"hierarchy_tags": [tags[n.name]], "hierarchy_path": tags[n.name],
                                           "hierarchy_method": "htp", "hierarchy_count": 1})
        io = [onnx.helper.make_tensor_value_info(k, 1, [2]) for k in "xz"]
        graph = onnx.helper.make_graph(nodes, "g", io[:1], io[1:])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, os.path.join(folder, form + ".onnx"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("--golden")
    parser.add_argument("--dynamo", action="store_true", help="torch.export's exporter too, which is slow")
    parser.add_argument("case", nargs="*")
    args = parser.parse_intermixed_args()
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    os.makedirs(args.work, exist_ok=True)
    if args.golden:
        return golden(args)
    bad = 0
    for case in args.case or CASES:
        for task in E.CASES[case][4] or E.HEADS:
            if task != "multiple-choice":
                bad += not check(args, case, task)
    print("%d differ" % bad)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
