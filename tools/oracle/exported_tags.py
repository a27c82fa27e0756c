# SPDX-License-Identifier: Apache-2.0
"""What the scripts that judge exports share: every node's tag against the module that its name says."""
import onnx


def wrong_tags(path, table):
    """[(node, tag, wanted)] of the file's nodes; table: module path to tag."""
    nodes = onnx.load(path).graph.node
    wrong = []
    for node in nodes:
        scope = ".".join(node.name.split("/")[1:-1])
        while scope and scope not in table:
            scope = scope.rpartition(".")[0]
        tag = {p.key: p.value for p in node.metadata_props}.get("hierarchy_tag")
        if tag != table[scope]:
            wrong.append((node.name, tag, table[scope]))
    assert len({n.name for n in nodes}) == len(nodes), "names are not unique"
    return wrong
