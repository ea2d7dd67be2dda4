"""Calls of built-in functions that make one value of many: any, all, sum, len, next, tuple, frozenset.

`min` and `max` are in `extremes.py`.
"""

from __future__ import annotations

import ast

from reassure.spec.frontend.comprehensions import (
    Selection,
    calls,
    select,
    set_comprehension,
    sorted_set,
    subset_of,
    unroll,
)
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import (
    lower_operand,
    lower_present,
    lower_scalar,
    peek,
    positional,
)
from reassure.spec.frontend.extremes import Default, or_default
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.operators import lookup
from reassure.spec.frontend.sets_and_sequences import occupied, seq_len, seq_set, seq_sorted, set_of
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Empty,
    Loose,
    Poison,
    Scalar,
    Sym,
    describe,
)
from reassure.spec.language.types import ANY, BoolType, IntType, SeqType, SetType, unbounded

# -- any, all, sum, len -------------------------------------------------------------------------------------


def any_of(context: Context, node: ast.Call) -> Sym:
    """`any(condition for x in set)`."""
    return _truths(context, node, False)


def all_of(context: Context, node: ast.Call) -> Sym:
    """`all(condition for x in set)`."""
    return _truths(context, node, True)


def _truths(context: Context, node: ast.Call, conjunction: bool) -> Sym:
    (argument,) = positional(context, node, 1, 1)
    if not isinstance(argument, ast.GeneratorExp):
        raise context.refuse(node, "any/all of this", "write `any(condition for x in set)`")
    g, element = context.graph, argument.elt
    selection = select(context, argument, early=True)
    if selection is not None:
        truths = [_truth(context, element, e) for e in selection.elements]
        if selection.source.op != "const" or unbounded(selection.item):
            return Scalar(_mask_truth(context, selection, truths, conjunction))
        members = [
            (g.and_(g.member(g.const(i, selection.item), selection.source), c), t)
            for i, (c, t) in enumerate(zip(selection.conditions, truths, strict=True))
        ]
    else:

        def ends(value: Sym) -> Node:
            truth = _truth(context, element, value)
            return g.not_(truth) if conjunction else truth

        elements = unroll(context, argument, element, ends=ends)
        members = [(c, _truth(context, element, v)) for c, v in elements]
    if conjunction:
        return Scalar(g.and_(*(g.implies(c, t) for c, t in members)))
    return Scalar(g.or_(*(g.and_(c, t) for c, t in members)))


def _mask_truth(context: Context, selection: Selection, truths: list[Node], conjunction: bool) -> Node:
    """`any` or `all` over a set that is not known: one operation on masks."""
    g = context.graph
    pairs = list(zip(selection.conditions, truths, strict=True))
    if conjunction:
        failing = g.minus(selection.source, g.selected(selection.indices, [g.implies(c, t) for c, t in pairs]))
        return g.eq(failing, g.const(0, failing.type))
    matching = g.inter(selection.source, g.selected(selection.indices, [g.and_(c, t) for c, t in pairs]))
    return g.not_(g.eq(matching, g.const(0, matching.type)))


def _truth(context: Context, node: ast.expr, value: Sym) -> Node:
    if isinstance(value, Scalar) and isinstance(value.type, BoolType):
        return value.node
    if isinstance(value, Poison):
        raise Refused
    raise context.refuse(node, f"{describe(value)} as a condition", "only bools are conditions")


def sum_of(context: Context, node: ast.Call) -> Sym:
    """`sum(number for x in set)`."""
    (argument,) = positional(context, node, 1, 1)
    if not isinstance(argument, ast.GeneratorExp):
        raise context.refuse(node, "sum() of this", "write `sum(number for x in set)`")
    g = context.graph
    source = peek(context, argument.generators[0].iter)
    over_set = isinstance(source, Scalar) and isinstance(source.type, SetType)
    selection = select(context, argument) if over_set else None
    if selection is not None and all(isinstance(e, Scalar) and e.node is g.num(1) for e in selection.elements):
        return Scalar(g.card(subset_of(context, selection)))
    if selection is not None and unbounded(selection.item):
        return _sum_of_any_number(context, argument, selection)
    total = g.num(0)
    for condition, value in unroll(context, argument, argument.elt):
        if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
            what = f"a sum of {describe(value)}"
            raise context.refuse(argument.elt, what, "sum ints; count with `sum(1 for ...)`")
        total = g.arith("add", total, g.ite(condition, value.node, g.num(0)))
    return Scalar(total)


def _sum_of_any_number(context: Context, node: ast.GeneratorExp, selection: Selection) -> Sym:
    """The sum over the members of a set of which there may be any number."""
    (value,) = selection.elements
    if not isinstance(value, Scalar) or not isinstance(value.type, IntType):
        raise context.refuse(node.elt, f"a sum of {describe(value)}", "sum ints; count with `sum(1 for ...)`")
    kind = IntType(0 if value.type.low >= 0 else -ANY, ANY)
    table = context.graph.tabulate(selection.indices[0], value.node)
    return Scalar(context.graph.op("total", kind, (subset_of(context, selection), table)))


def length_of(context: Context, node: ast.Call) -> Sym:
    """`len(set)`, `len(sequence)`."""
    g = context.graph
    value = context.symbols.as_bag(lower_operand(context, positional(context, node, 1, 1)[0]))
    if isinstance(value, Empty):
        return Scalar(g.num(0))
    if isinstance(value, Scalar) and isinstance(value.type, SetType):
        return Scalar(g.card(value.node))
    if isinstance(value, Scalar) and isinstance(value.type, SeqType):
        return Scalar(seq_len(g, value.node))
    if isinstance(value, Bag):
        total = g.num(0)
        for slot in value.looked_into():
            total = g.arith("add", total, g.ite(occupied(g, slot), g.num(1), g.num(0)))
        return Scalar(total)
    if isinstance(value, Poison):
        return value
    raise context.refuse(node, f"len() of {describe(value)}", "sets and tuples have a length")


def absolute(context: Context, node: ast.Call) -> Sym:
    """`abs(number)`."""
    g = context.graph
    value = lower_scalar(context, positional(context, node, 1, 1)[0], IntType)
    return Scalar(g.arith("max", value, g.arith("sub", g.num(0), value)))


# -- next -------------------------------------------------------------------------------------------------


def first_of(context: Context, node: ast.Call) -> Sym:
    """`next((x for x in seq if condition), default)`."""
    arguments = positional(context, node, 1, 2)
    argument = arguments[0]
    default = Default(context, arguments[1] if len(arguments) == 2 else None)
    if not isinstance(argument, ast.GeneratorExp) or len(argument.generators) != 1:
        raise context.refuse(node, "next() of this", "write `next((x for x in seq if condition), None)`")
    g = context.graph
    selection = select(context, argument, ordered=True, then=default.evaluate, early=True)
    if selection is None:
        first: Sym = POISON
        exists = g.false
        elements = unroll(context, argument, argument.elt, True, ends=lambda _: g.true, then=default.evaluate)
        for condition, value in reversed(elements):
            first = value if exists is g.false else context.symbols.choose(condition, value, first)
            exists = g.or_(exists, condition)
        return or_default(context, node, exists, first, default)
    mask = subset_of(context, selection)
    sequence = _sequence(context, argument)
    if sequence is not None:
        members = g.selected(selection.indices, selection.conditions)
        index = g.op("seq_first", selection.item, (sequence, members))
    else:
        index = g.extreme("lowest", mask)
    exists = g.not_(g.eq(mask, g.const(0, mask.type)))
    first = Scalar(index)
    if not selection.identity:
        first = lookup(context, context.symbols.tabulated(selection.indices, selection.elements), index)
    return or_default(context, node, exists, first, default)


def _sequence(context: Context, argument: ast.GeneratorExp) -> Node | None:
    """The sequence that a comprehension ranges over, if it is one."""
    source = peek(context, argument.generators[0].iter)
    return source.node if isinstance(source, Scalar) and isinstance(source.type, SeqType) else None


# -- tuple, frozenset ---------------------------------------------------------------------------------------


def tuple_of(context: Context, node: ast.Call) -> Sym:
    """`tuple(sorted(set))`, `tuple(x for x in seq if condition)`."""
    arguments = positional(context, node, 0, 1)
    if not arguments:
        return Empty(True)
    (argument,) = arguments
    g = context.graph
    if isinstance(argument, ast.Call) and calls(context, argument, sorted):
        return Scalar(seq_sorted(g, sorted_set(context, argument)))
    if isinstance(argument, ast.GeneratorExp):
        selection = select(context, argument, ordered=True)
        if selection is not None and selection.identity:
            sequence = _sequence(context, argument)
            if sequence is not None:
                members = g.selected(selection.indices, selection.conditions)
                return Scalar(g.op("seq_keep", sequence.type, (sequence, members)))
            return Scalar(seq_sorted(g, subset_of(context, selection)))
        remedy = "keep members as they are: `tuple(x for x in seq if condition)`"
        raise context.refuse(node, "a tuple of changed members", remedy)
    value = lower_present(context, argument)
    if isinstance(value, Empty) or (isinstance(value, Scalar) and isinstance(value.type, SeqType)):
        return value
    raise context.refuse(node, f"tuple() of {describe(value)}", "write `tuple(sorted(set))`")


def frozenset_of(context: Context, node: ast.Call) -> Sym:
    """`frozenset({a, b})`, `frozenset(... for x in set)`, `frozenset(sequence)`."""
    arguments = positional(context, node, 0, 1)
    if not arguments:
        return Empty(False)
    (argument,) = arguments
    g = context.graph
    if isinstance(argument, ast.GeneratorExp):
        return set_comprehension(context, argument)
    if isinstance(argument, ast.Tuple | ast.List):
        return set_of(g, [(g.true, lower_present(context, e)) for e in argument.elts])
    value = lower_operand(context, argument)
    if isinstance(value, Scalar) and isinstance(value.type, SeqType):
        return Scalar(seq_set(g, value.node))
    if isinstance(value, Empty):
        return Empty(False)
    if isinstance(value, Bag | Loose | Poison) or (isinstance(value, Scalar) and isinstance(value.type, SetType)):
        return value
    raise context.refuse(node, f"frozenset() of {describe(value)}", "a set, a tuple or a comprehension")
