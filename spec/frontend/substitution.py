"""Replaces variables of a formula by nodes."""

from __future__ import annotations

from reassure.spec.frontend.ir import Graph, Node


def substitute(graph: Graph, node: Node, replacements: dict[str, Node], results: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again. results: what was replaced already."""
    return graph.rebuilt(node, results, lambda one: replacements.get(one.data, one) if one.op == "var" else one)
