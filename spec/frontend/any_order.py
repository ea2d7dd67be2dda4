"""A model whose steps take any eligible id where the model takes the first or last one by their order.

Every node of an action that reads the order of ids becomes a further parameter: `min(s)` becomes any member of `s`,
`sorted(s)` its members in any order, `a < b` of two ids either answer. Every step of the model is one of these steps.

Where the order of sequences is forgotten too, `sorted(s)` stays: any order would do. The first item
that is in a set becomes any such item, and a comparison of two sequences is left open if both have the same items.

Also here: sequences of ids whose order is forgotten: what a formula says whatever their order is, and what it may
say.

A state then stands for those with the same sequences in any order. A formula is read twice: `in_all` holds only if the
formula holds in each of these states, `in_some` holds if it holds in one of them. Between the two are equalities of
sequences with the same items: they are equal for sure where both are made alike of the same sequences.

Two sequences of a state *agree* if the items that are in both are in the same order. If they do in every initial state,
that is assumed, and each step has to show that it keeps it; who evaluates the steps must stop where one does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterable

from reassure.spec.frontend.ir import Graph, Node, items
from reassure.spec.frontend.lowered_model import Check, Formula, LoweredAction, LoweredModel, Parameter, substitute
from reassure.spec.frontend.operations import LEAVES, OPERATIONS, arguments_first
from reassure.spec.frontend.sets_and_sequences import seq_len, seq_set
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    IdType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Id
from reassure.spec.language.vocabulary import Property

READS = ("eq", "seq_get", "seq_first", "seq_take", "seq_drop")
"""Operations whose result on a sequence depends on the order of its items."""
CHOSEN = ("eq", "seq_get", "seq_first")
"""Those that a step may do by choosing: either answer, or any eligible item."""


def _listed(kind: Type) -> type[Id] | None:
    """The sort of which values are sequences; None for other values."""
    return kind.item.sort if isinstance(kind, SeqType) and isinstance(kind.item, IdType) else None


def is_list(kind: Type, sorts: Container[type[Id]]) -> bool:
    """Whether values are sequences of ids of these sorts."""
    return _listed(kind) in sorts


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
    if isinstance(kind, BagType | ColumnsType):
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


def in_any_order(
    model: LoweredModel,
    sorts: Container[type[Id]],
    lists: Container[type[Id]] = frozenset(),
    agree_at_first: Agree = lambda *paths: False,
) -> LoweredModel:
    """The model with the order of these sorts forgotten in its actions; claims and initial functions stay.

    lists: the sorts of which sequences are in no order, as `forgotten_lists` gives them. A claim is then hit where it
    is in some order: an invariant holds if it holds in every order, a cover is reached if it is in one.
    agree_at_first: as `ListOrder` has it. Where it says so of sequences that claims compare, a step raises unless they
    still agree after it.
    """
    order = ListOrder(model.graph, lists, agree_at_first)
    actions = tuple(_Choices(order, sorts, action).action() for action in model.actions)
    result = dataclasses.replace(model, actions=actions)
    return _claims_in_any_order(result, order) if lists else result


def forgotten_lists(model: LoweredModel, sorts: Container[type[Id]]) -> frozenset[type[Id]]:
    """Those of the sorts whose sequences can be in no order: the state has such, and no step reads their places."""
    found = {sort for leaf in model.leaves if (sort := _listed(leaf.type)) is not None and sort in sorts}
    nodes = list(arguments_first(node for action in model.actions for node in _roots(action)))
    return frozenset(sort for sort in found if can_be_forgotten(model.bound.type, nodes, {sort}))


def _roots(action: LoweredAction) -> list[Node]:
    drawn = [p.drawn for p in action.parameters if p.drawn is not None]
    sources = [node for one in drawn for node in (one if isinstance(one, tuple) else (one,))]
    conditions = [*(c.condition for c in action.checks), *(c.condition for c in action.clips)]
    return [*sources, *conditions, *action.next_leaves]


def _claims_in_any_order(model: LoweredModel, order: ListOrder) -> LoweredModel:
    """The model with claims that are hit where they are in some order. Those over steps read the state before alone."""
    after = [
        {f"{leaf.path}'": node for leaf, node in zip(model.leaves, action.next_leaves, strict=True)}
        for action in model.actions
    ]
    steps = zip(model.step_formulas, after, strict=True)
    state_formulas = tuple(f if f.goal else _in_any_order(f, order, {}) for f in model.state_formulas)
    terminal_formulas = tuple(_in_any_order(f, order, {}) for f in model.terminal_formulas)
    step_formulas = [tuple(_in_any_order(f, order, leaves) for f in formulas) for formulas, leaves in steps]
    kept = [_still_agree(order, leaves) for leaves in after]
    while len(kept[0].checks if kept else ()) < sum(order.assumed.values()):  # to show that may take further pairs
        kept = [_still_agree(order, leaves) for leaves in after]
    return dataclasses.replace(
        model,
        state_formulas=state_formulas,
        step_formulas=tuple(
            (*f, *([k] if any(c.condition is not order.graph.true for c in k.checks) else ()))
            for f, k in zip(step_formulas, kept, strict=True)
        ),
        terminal_formulas=terminal_formulas,
    )


def _still_agree(order: ListOrder, after: dict[str, Node]) -> Formula:
    """A claim over steps that raises unless the sequences of which it is assumed agree in the state after it."""
    conditions = [order.agree(after[f"{a}'"], after[f"{b}'"]) for (a, b), yes in [*order.assumed.items()] if yes]
    checks = tuple(Check("error", condition, "the order of items", "", 0) for condition in conditions)
    return Formula(KEPT.name, KEPT, order.graph.true, checks)


def _in_any_order(formula: Formula, order: ListOrder, after: dict[str, Node]) -> Formula:
    results: dict[Node, Node] = {}
    whole = [
        substitute(order.graph, node, after, results)
        for node in (formula.condition, *(check.condition for check in formula.checks))
    ]
    cover = formula.claim is not None and formula.claim.kind == "cover"
    condition = order.in_some(whole[0]) if cover else order.in_all(whole[0])
    checks = zip(formula.checks, whole[1:], strict=True)
    return dataclasses.replace(
        formula,
        condition=condition,
        checks=tuple(dataclasses.replace(check, condition=order.in_all(node)) for check, node in checks),
    )


def guards_read_order(
    model: LoweredModel, sorts: Container[type[Id]], lists: Container[type[Id]] = frozenset()
) -> bool:
    """Whether it depends on the order of these sorts if an action is enabled, or raises."""
    forgotten = in_any_order(model, sorts, lists)
    pairs = zip(model.actions, forgotten.actions, strict=True)
    return any(_enabled_by(a) != _enabled_by(b) for a, b in pairs)


def _enabled_by(action: LoweredAction) -> list[object]:
    drawn = [p.drawn for p in action.parameters if not p.name.startswith(CHOICE)]
    return [*(check.condition for check in action.checks), *drawn]


KEPT = Property("?", "step", lambda before, after: True)
"""Stands for what a step has to keep; it is never hit."""
CHOICE = "?"
"""The first letter of the name of a parameter that stands for an order."""


class _Choices:
    """The choices of one action."""

    def __init__(self, order: ListOrder, sorts: Container[type[Id]], action: LoweredAction) -> None:
        self.order, self.graph, self.sorts, self.original = order, order.graph, sorts, action
        roots = _roots(action)
        nodes = list(arguments_first(roots))
        self.ordered = {node for node in nodes if self._reads_order(node)}
        above = set(self.ordered)
        for node in nodes:
            if any(argument in above for argument in node.args):
                above.add(node)
        self.needed = self._needed(nodes, above, set(roots))
        self.results: dict[Node, Node] = {}
        self.parameters: list[Parameter] = []

    def action(self) -> LoweredAction:
        """The action with a parameter for each choice."""
        if not self.ordered:
            return self.original
        for p in self.original.parameters:
            self._drawn(p)
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
            return is_list(node.type, self.sorts) and not is_list(node.type, self.order.sorts)
        if reads_list_order(node, self.order.sorts):
            return True
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
        if node.op == "eq":
            return self._same(node, *args)
        if node.op in ("seq_get", "seq_first"):
            items_ = seq_set(self.graph, args[0])
            eligible = self.graph.inter(items_, args[1]) if node.op == "seq_first" else items_
            return self._member(eligible, node.type, self.needed[node])
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

    def _same(self, node: Node, a: Node, b: Node) -> Node:
        """Whether two sequences are equal: either answer where it depends on their order."""
        g = self.graph
        sure = self.order.surely_equal(a, b)
        if sure is g.true:
            return sure
        open_ = g.and_(self.needed[node], self.order.same_items(a, b), g.not_(sure))
        known = g.ite(sure, g.mask(2, BoolType()), g.mask(1, BoolType()))
        return self._parameter(g.ite(open_, g.mask(3, BoolType()), known), BoolType(), 2)
