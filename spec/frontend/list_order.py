"""Sequences of ids whose order is forgotten: what a formula says whatever their order is, and what it may say.

A state then stands for those with the same sequences in any order. A formula is read twice: `in_all` holds only if the
formula holds in each of these states, `in_some` holds if it holds in one of them. Between the two are equalities of
sequences with the same items: they are equal for sure where both are made alike of the same sequences.

Two sequences of a state *agree* if the items that are in both are in the same order. If they do in every initial state,
that is assumed, and each step has to show that it keeps it; who evaluates the steps must stop where one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.node import arguments_first
from reassure.spec.frontend.sets_and_sequences import seq_len, seq_set
from reassure.spec.language.types import BagType, BoolType, IdType, MapType, OptionType, RecordType, SeqType, Type
from reassure.spec.language.values import Id

READS = ("eq", "seq_get", "seq_first", "seq_take", "seq_drop")
"""Operations whose result on a sequence depends on the order of its items."""
CHOSEN = ("eq", "seq_get", "seq_first")
"""Those that a step may do by choosing: either answer, or any eligible item."""


def listed(kind: Type) -> type[Id] | None:
    """The sort of which values are sequences; None for other values."""
    return kind.item.sort if isinstance(kind, SeqType) and isinstance(kind.item, IdType) else None


def is_list(kind: Type, sorts: Container[type[Id]]) -> bool:
    """Whether values are sequences of ids of these sorts."""
    return listed(kind) in sorts


def reads_list_order(node: Node, sorts: Container[type[Id]]) -> bool:
    """Whether a node's result depends on the order of a sequence of these sorts."""
    return node.op in READS and is_list(node.args[0].type, sorts)


def can_be_forgotten(kind: Type, nodes: Iterable[Node], sorts: Container[type[Id]]) -> bool:
    """Whether the order of such sequences can be forgotten in a state type, and in the nodes of a model's actions.

    It cannot where a record of a set has one, or where a step takes a part of one by places.
    """
    if _in_records(kind, sorts, False):
        return False
    for node in nodes:
        if reads_list_order(node, sorts) and node.op not in CHOSEN:
            return False
        if isinstance(node.type, RecordType) and _in_records(node.type, sorts, True):
            return False
    return True


def _in_records(kind: Type, sorts: Container[type[Id]], inside: bool) -> bool:
    if isinstance(kind, RecordType):
        return any(_in_records(inner, sorts, inside) for _, inner in kind.fields)
    if isinstance(kind, MapType):
        return _in_records(kind.value, sorts, inside)
    if isinstance(kind, OptionType):
        return _in_records(kind.inner, sorts, inside)
    if isinstance(kind, BagType):
        return _in_records(kind.item, sorts, True)
    return inside and is_list(kind, sorts)


Agree = Callable[[str, str], bool]


class ListOrder:
    """Reads formulas whatever the order of some sequences is.

    sorts: of these sequences' ids. agree_at_first: whether two sequences of the state, named by their paths, agree in
    every initial state; "no" leaves it open.
    """

    def __init__(self, graph: Graph, sorts: Container[type[Id]], agree_at_first: Agree) -> None:
        self.graph, self.sorts, self.agree_at_first = graph, sorts, agree_at_first
        self.assumed: dict[tuple[str, str], bool] = {}
        """Pairs of sequences that came up, and whether it is assumed that they agree."""
        self._agree: dict[tuple[Node, Node], Node] = {}
        self._depends: dict[Node, bool] = {}
        self._read: dict[tuple[Node, bool], Node] = {}
        self._equal: dict[tuple[Node, Node], Node] = {}

    # -- formulas -----------------------------------------------------------------------------------

    def in_all(self, node: Node) -> Node:
        """A condition that holds only if the formula holds in every order."""
        return self._formula(node, True)

    def in_some(self, node: Node) -> Node:
        """A condition that holds if the formula holds in some order."""
        return self._formula(node, False)

    def _formula(self, node: Node, every: bool) -> Node:
        if not self._reads(node):
            return node
        if (node, every) not in self._read:
            self._read[node, every] = self._formula_that_reads(node, every)
        return self._read[node, every]

    def _formula_that_reads(self, node: Node, every: bool) -> Node:
        g = self.graph
        if node.op == "not":
            return g.not_(self._formula(node.args[0], not every))
        if node.op in ("and", "or"):
            parts = [self._formula(one, every) for one in node.args]
            return g.and_(*parts) if node.op == "and" else g.or_(*parts)
        if node.op == "ite":
            condition, a, b = node.args
            yes, no = self.in_some(condition), g.not_(self.in_all(condition))
            first, second = self._formula(a, every), self._formula(b, every)
            if every:
                return g.and_(g.implies(yes, first), g.implies(no, second))
            return g.or_(g.and_(yes, first), g.and_(no, second))
        if node.op == "eq" and isinstance(node.args[0].type, BoolType):
            a, b = node.args
            return self._formula(g.and_(g.or_(a, g.not_(b)), g.or_(g.not_(a), b)), every)
        if node.op == "eq" and is_list(node.args[0].type, self.sorts) and not any(map(self._reads, node.args)):
            return self.surely_equal(*node.args) if every else self.same_items(*node.args)
        return g.truth(not every)

    def _reads(self, node: Node) -> bool:
        for one in arguments_first([node], self._depends):
            reads = reads_list_order(one, self.sorts)
            self._depends[one] = reads or any(self._depends[argument] for argument in one.args)
        return self._depends[node]

    # -- sequences ----------------------------------------------------------------------------------

    def same_items(self, a: Node, b: Node) -> Node:
        """Whether two sequences may be equal: they have as many items, and the same ones."""
        g = self.graph
        return g.and_(g.eq(seq_len(g, a), seq_len(g, b)), g.eq(seq_set(g, a), seq_set(g, b)))

    def surely_equal(self, a: Node, b: Node) -> Node:
        """Whether two sequences are equal in whatever order the sequences are that they are made of."""
        if (a, b) not in self._equal:
            self._equal[a, b] = self._made_alike(a, b)
        return self._equal[a, b]

    def _made_alike(self, a: Node, b: Node) -> Node:
        g = self.graph
        if a is b:
            return g.true
        for one, other in ((a, b), (b, a)):
            if one.op == "ite":
                condition, first, second = one.args
                alike = other.op == "ite" and other.args[0] is condition
                others = other.args[1:] if alike else (other, other)
                return g.ite(condition, self.surely_equal(first, others[0]), self.surely_equal(second, others[1]))
        same = self.same_items(a, b)
        one_item = g.and_(g.lt(seq_len(g, a), g.num(2)), same)
        in_order = g.and_(same, self._distinct(a), self.agree(a, b))  # so many items in b are distinct too
        return g.or_(one_item, in_order, self._by_parts(a, b))

    def agree(self, a: Node, b: Node) -> Node:
        """A condition under which each two different items that are in both sequences are in the same order in both."""
        if (a, b) not in self._agree:
            self._agree[a, b] = self._agree[b, a] = self._agreement(a, b)
        return self._agree[a, b]

    def _agreement(self, a: Node, b: Node) -> Node:
        g = self.graph
        if a is b:
            return self._distinct(a)
        for one, other in ((a, b), (b, a)):
            if one.op == "ite":
                return g.ite(one.args[0], self.agree(one.args[1], other), self.agree(one.args[2], other))
        common, nothing = g.inter(seq_set(g, a), seq_set(g, b)), g.minus(seq_set(g, a), seq_set(g, a))
        ways = [g.lt(g.card(common), g.num(2)), g.truth(a.op == b.op == "seq_sorted" or self._assumed(a, b))]
        for one, other in ((a, b), (b, a)):
            if one.op == "seq_keep":
                ways.append(self.agree(one.args[0], other))
            elif one.op == "seq_cat":
                for part, rest in (one.args, one.args[::-1]):
                    apart = g.eq(g.inter(seq_set(g, rest), seq_set(g, other)), nothing)
                    ways.append(g.and_(apart, self.agree(part, other)))
        return g.or_(*ways)

    def _distinct(self, a: Node) -> Node:
        return self.graph.eq(seq_len(self.graph, a), self.graph.card(seq_set(self.graph, a)))

    def _assumed(self, a: Node, b: Node) -> bool:
        if a.op != "var" or b.op != "var":
            return False
        first, second = sorted((a.data, b.data))
        if (first, second) not in self.assumed:
            self.assumed[first, second] = self.agree_at_first(first, second)
        return self.assumed[first, second]

    def _by_parts(self, a: Node, b: Node) -> Node:
        g = self.graph
        if a.op == b.op == "seq_sorted":
            return g.eq(a.args[0], b.args[0])
        if a.op == b.op == "seq_of":
            return g.and_(*map(g.eq, a.args, b.args)) if len(a.args) == len(b.args) else g.false
        if a.op == b.op == "seq_cat":
            return g.and_(*map(self.surely_equal, a.args, b.args))
        if a.op == b.op == "seq_keep":
            kept = [g.inter(seq_set(g, one.args[0]), one.args[1]) for one in (a, b)]
            return g.and_(self.surely_equal(a.args[0], b.args[0]), g.eq(*kept))
        ways = []
        for one, other in ((a, b), (b, a)):
            if one.op == "seq_keep":
                whole, mask = one.args
                ways.append(g.and_(g.subset(seq_set(g, whole), mask), self.surely_equal(whole, other)))
            elif one.op == "seq_cat":
                for part, rest in (one.args, one.args[::-1]):
                    empty = g.eq(seq_len(g, rest), g.num(0))
                    ways.append(g.and_(empty, self.surely_equal(part, other)))
        return g.or_(*ways)


__all__ = ["Agree", "ListOrder", "can_be_forgotten", "is_list", "listed", "reads_list_order"]
