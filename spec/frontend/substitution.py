"""Replaces variables of a formula by nodes."""

from __future__ import annotations

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.frontend.operations import operation


def substitute(graph: Graph, node: Node, replacements: dict[str, Node], results: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again. results: what was replaced already."""
    for one in arguments_first([node], results):
        if one.op == "var":
            results[one] = replacements.get(one.data, one)
        else:
            args = tuple(results[a] for a in one.args)
            results[one] = one if args == one.args else operation(one.op).rebuild(graph, one, args)
    return results[node]
