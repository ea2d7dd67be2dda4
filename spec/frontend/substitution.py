"""Replaces variables of a formula by nodes."""

from __future__ import annotations

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.frontend.operations import OPERATIONS


def substitute(graph: Graph, node: Node, given: dict[str, Node], made: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again. made: what was replaced already."""
    for one in arguments_first([node], made):
        if one.op == "var":
            made[one] = given.get(one.data, one)
        else:
            args = tuple(made[a] for a in one.args)
            made[one] = one if args == one.args else OPERATIONS[one.op].rebuild(graph, one, args)
    return made[node]
