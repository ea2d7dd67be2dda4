"""A model whose steps take any eligible id where the model takes the first or last one by their order.

Every node of an action that reads the order of ids becomes a further parameter: `min(s)` becomes any member of `s`,
`sorted(s)` its members in any order, `a < b` of two ids either answer. Every step of the model is one of these steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container

from reassure.spec.frontend.ir import Graph, Node, items
from reassure.spec.frontend.lowered_model import Check, LoweredAction, LoweredModel, Parameter
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.frontend.operations import LEAVES, OPERATIONS
from reassure.spec.language.types import BoolType, IdType, SeqType, SetType, Type
from reassure.spec.language.values import Id


def in_any_order(model: LoweredModel, sorts: Container[type[Id]]) -> LoweredModel:
    """The model with the order of these sorts forgotten in its actions; claims and initial functions stay."""
    actions = tuple(_Choices(model.graph, sorts, action).action() for action in model.actions)
    return dataclasses.replace(model, actions=actions)


def guards_read_order(model: LoweredModel, sorts: Container[type[Id]]) -> bool:
    """Whether it depends on the order of these sorts if an action is enabled, or raises."""
    forgotten = in_any_order(model, sorts)
    pairs = zip(model.actions, forgotten.actions, strict=True)
    return any(_enabled_by(a) != _enabled_by(b) for a, b in pairs)


def _enabled_by(action: LoweredAction) -> list[object]:
    drawn = [p.drawn for p in action.parameters if not p.name.startswith(CHOICE)]
    return [*(check.condition for check in action.checks), *drawn]


CHOICE = "?"
"""The first letter of the name of a parameter that stands for an order."""


class _Choices:
    """The choices of one action."""

    def __init__(self, graph: Graph, sorts: Container[type[Id]], action: LoweredAction) -> None:
        self.graph, self.sorts, self.original = graph, sorts, action
        drawn = [p.drawn for p in action.parameters if p.drawn is not None]
        self.drawn = [node for one in drawn for node in (one if isinstance(one, tuple) else (one,))]
        roots = [*self.drawn, *(c.condition for c in action.checks), *(c.condition for c in action.clips)]
        nodes = list(arguments_first([*roots, *action.next_leaves]))
        self.ordered = {node for node in nodes if self._reads_order(node)}
        above = set(self.ordered)
        for node in nodes:
            if any(argument in above for argument in node.args):
                above.add(node)
        self.needed = self._needed(nodes, above, {*roots, *action.next_leaves})
        self.results: dict[Node, Node] = {}
        self.parameters: list[Parameter] = []

    def action(self) -> LoweredAction:
        """The action with a parameter for each choice."""
        if not self.ordered:
            return self.original
        for node in self.drawn:
            self._rewritten(node)
        first = len(self.parameters)
        action = self.original
        own = tuple(dataclasses.replace(p, drawn=self._drawn(p)) for p in action.parameters)
        checks = tuple(self._check(check) for check in action.checks)
        clips = tuple(clip._replace(condition=self._rewritten(clip.condition)) for clip in action.clips)
        leaves = tuple(self._rewritten(leaf) for leaf in action.next_leaves)
        parameters = (*self.parameters[:first], *own, *self.parameters[first:])
        return LoweredAction(action.name, parameters, checks, clips, leaves)

    def _check(self, check: Check) -> Check:
        return dataclasses.replace(check, condition=self._rewritten(check.condition))

    def _drawn(self, parameter: Parameter) -> Node | tuple[Node, ...] | None:
        drawn = parameter.drawn
        if isinstance(drawn, tuple):
            return tuple(self._rewritten(node) for node in drawn)
        return None if drawn is None else self._rewritten(drawn)

    def _is_id(self, kind: Type) -> bool:
        return isinstance(kind, IdType) and kind.sort in self.sorts

    def _reads_order(self, node: Node) -> bool:
        if node.op in ("lowest", "highest"):
            return self._is_id(node.type)
        if node.op == "seq_sorted":
            return isinstance(node.type, SeqType) and self._is_id(node.type.item)
        return node.op == "lt" and self._is_id(node.args[0].type)

    def _needed(self, nodes: list[Node], above: set[Node], roots: set[Node]) -> dict[Node, Node]:
        """For each of the nodes above a choice, the condition under which the step depends on it.

        A condition that depends on a choice itself is left out, which only makes more steps alike.
        """
        g = self.graph
        needed = {node: g.truth(node in roots) for node in above}

        def need(node: Node, when: Node) -> None:
            if node in needed:
                needed[node] = g.or_(needed[node], when)

        for node in reversed(nodes):
            if node not in above:
                continue
            when = needed[node]
            if node.op == "ite":
                condition, a, b = node.args
                need(condition, when)
                known = condition not in above
                need(a, g.and_(when, condition) if known else when)
                need(b, g.and_(when, g.not_(condition)) if known else when)
            else:
                for argument in node.args:
                    need(argument, when)
        return needed

    def _rewritten(self, node: Node) -> Node:
        for one in arguments_first([node], self.results):
            args = tuple(self.results[a] for a in one.args)
            if one in self.ordered:
                self.results[one] = self._chosen(one, args)
            elif one.op in LEAVES or args == one.args:
                self.results[one] = one
            else:
                self.results[one] = OPERATIONS[one.op].rebuild(self.graph, one, args)
        return self.results[node]

    def _chosen(self, node: Node, args: tuple[Node, ...]) -> Node:
        """What stands for a node that reads the order."""
        if node.op == "lt":
            return self._either(node, *args)
        if node.op == "seq_sorted":
            return self._sequence(node, args[0])
        if args[0].op == "single":
            return args[0].args[0]
        return self._member(args[0], node.type, self.needed[node])

    def _parameter(self, drawn: Node, kind: Type, most: int) -> Node:
        name = f"{CHOICE}{len(self.parameters)}"
        leaf = self.graph.param(name, "", kind)
        self.parameters.append(Parameter(name, kind, (leaf,), drawn, most))
        return leaf

    def _member(self, mask: Node, kind: Type, when: Node, most: int | None = None) -> Node:
        """Any member of a set where a condition holds and it has one; else one value, which does not matter."""
        g = self.graph
        there = g.and_(when, g.not_(g.eq(mask, g.const(0, mask.type))))
        return self._parameter(g.ite(there, mask, g.mask(1, kind)), kind, most or kind.count)

    def _sequence(self, node: Node, mask: Node) -> Node:
        """The members of a set in any order."""
        g = self.graph
        assert isinstance(node.type, SeqType) and isinstance(mask.type, SetType)
        count, rest, chosen = items(node.type.item), mask, list[Node]()
        for k in range(count):
            chosen.append(self._member(rest, node.type.item, self.needed[node], count - k))
            rest = g.minus(rest, g.single(chosen[-1]))
        whole = g.op("seq_of", SeqType(node.type.item, count), tuple(chosen))
        return g.op("seq_take", node.type, (whole, g.card(mask)))

    def _either(self, node: Node, a: Node, b: Node) -> Node:
        """Either answer, of two different ids."""
        g = self.graph
        open_ = g.and_(self.needed[node], g.not_(g.eq(a, b)))
        return self._parameter(g.ite(open_, g.mask(3, BoolType()), g.mask(1, BoolType())), BoolType(), 2)


__all__ = ["guards_read_order", "in_any_order"]
