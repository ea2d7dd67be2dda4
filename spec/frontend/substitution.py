"""Replaces variables of a formula by nodes."""

from __future__ import annotations

from collections.abc import Callable

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.language.types import SetType


def substitute(graph: Graph, node: Node, given: dict[str, Node], made: dict[Node, Node]) -> Node:
    """The node with variables replaced by other nodes, simplified again. made: what was replaced already."""
    for one in arguments_first([node], made):
        if one.op == "var":
            made[one] = given.get(one.data, one)
        else:
            args = tuple(made[a] for a in one.args)
            made[one] = one if args == one.args else rebuild(graph, one, args)
    return made[node]


def rebuild(g: Graph, node: Node, args: tuple[Node, ...]) -> Node:
    """A node of the same operation on other arguments, through the simplifying constructors."""
    simple: dict[str, Callable[..., Node]] = {
        "not": g.not_, "and": g.and_, "or": g.or_, "eq": g.eq, "lt": g.lt, "ite": g.ite, "member": g.member,
        "single": g.single, "union": g.union, "inter": g.inter, "minus": g.minus, "card": g.card,
    }  # fmt: skip
    if node.op in simple:
        return simple[node.op](*args)
    if node.op in ("add", "sub", "mul", "floordiv", "mod", "min", "max"):
        return g.arith(node.op, *args)
    if node.op in ("lowest", "highest"):
        return g.extreme(node.op, args[0])
    if node.op == "build":
        assert isinstance(node.type, SetType)
        return g.build(node.type.item, list(args))
    return g.op(node.op, node.type, args, node.data)
