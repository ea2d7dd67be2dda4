"""What makes a tuple or a set: `tuple(...)`, `frozenset(...)`, `{a, b}`."""

from __future__ import annotations

import ast
from enum import Enum

from reassure.spec.frontend import columns, number_sets
from reassure.spec.frontend.aggregates import ranged_sequence
from reassure.spec.frontend.comprehensions import calls, select, set_comprehension, sorted_source, subset_of, unroll
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower_operand, lower_present, positional
from reassure.spec.frontend.operators import every_of
from reassure.spec.frontend.sets_and_sequences import packed, seq_set, seq_sorted, set_of
from reassure.spec.frontend.symbolic_values import (
    POISON,
    Bag,
    Columns,
    Empty,
    Loose,
    NumberSet,
    Poison,
    Scalar,
    Static,
    Sym,
    Tuple,
    describe,
)
from reassure.spec.language.types import BoolType, EnumType, IdType, SeqType, SetType


def tuple_of(context: Context, node: ast.Call) -> Sym:
    """`tuple(sorted(set))`, `tuple(x for x in seq if condition)`."""
    arguments = positional(context, node, 0, 1)
    if not arguments:
        return Empty(True)
    (argument,) = arguments
    g = context.graph
    if isinstance(argument, ast.Call) and calls(context, argument, sorted):
        source = sorted_source(context, argument)
        if isinstance(source, NumberSet):
            return columns.compacted(g, context.symbols.choose, number_sets.items(g, source))
        return Scalar(seq_sorted(g, source.node))
    if isinstance(argument, ast.GeneratorExp):
        selection = select(context, argument, ordered=True)
        if selection is not None and selection.identity:
            sequence = ranged_sequence(context, argument)
            if sequence is not None:
                members = g.selected(selection.indices, selection.conditions)
                return Scalar(g.op("seq_keep", sequence.type, (sequence, members)))
            return Scalar(seq_sorted(g, subset_of(context, selection)))
        listed = _columns_of(context, argument)
        if listed is not None:
            return listed
        raise context.refuse(node, "a tuple of several kinds of items", "give it items of one kind")
    value = lower_present(context, argument)
    if isinstance(value, Empty | Columns | Tuple) or (isinstance(value, Scalar) and isinstance(value.type, SeqType)):
        return value
    of_enum = isinstance(value, Static) and isinstance(value.value, type) and issubclass(value.value, Enum)
    whole = (every_of(value) or "`set`").strip("`")
    remedy = "write its members out" if of_enum else f"write `tuple(sorted({whole}))`"
    raise context.refuse(node, f"tuple() of {describe(value)}", remedy)


def _columns_of(context: Context, node: ast.GeneratorExp) -> Sym | None:
    """The sequence of the elements of a comprehension; None if they are of several kinds."""
    g = context.graph
    elements = unroll(context, node, node.elt, ordered=True)
    if any(isinstance(value, Poison) for _, value in elements):
        return POISON
    if any(isinstance(value, Scalar) and isinstance(value.type, BoolType | EnumType | IdType) for _, value in elements):
        return packed(g, elements)
    return columns.compacted(g, context.symbols.choose, elements) if elements else Empty(True)


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
    sequence = columns.as_columns(g, value)
    if sequence is not None:
        return set_of(g, list(sequence.places))
    if isinstance(value, Bag | Loose | NumberSet | Poison) or (
        isinstance(value, Scalar) and isinstance(value.type, SetType)
    ):
        return value
    members = every_of(value)
    remedy = f"write {members}" if members else "a set, a tuple or a comprehension"
    raise context.refuse(node, f"frozenset() of {describe(value)}", remedy)


def set_display(context: Context, node: ast.Set) -> Sym:
    """`{a, b}`."""
    return set_of(context.graph, [(context.graph.true, lower_present(context, e)) for e in node.elts])
