"""The range of a comprehension: the members of an iterable, the loop's variable, its filters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from reassure.spec.frontend.arguments import positional
from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower_condition, lower_operand, lower_present, lower_scalar, peek
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.narrowing import not_none_if
from reassure.spec.frontend.record_sets import occupied, unpack_slot
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.sets_and_sequences import seq_len
from reassure.spec.frontend.symbolic_values import Bag, Empty, Loose, Poison, Scalar, Static, Sym, describe
from reassure.spec.language.types import IdType, IntType, SeqType, SetType, Type, unbounded

Item = tuple[Node, Sym]
"""A value and the condition under which it is there."""
LONGEST_RANGE = 4096
"""Numbers of a range, at most: each becomes a copy of the expression."""
NO_ORDER = "a set has no order", "iterate over `sorted(...)` or a tuple"
"""A set where an order is needed, and the remedy."""


def members_of(context: Context, node: ast.expr, ordered: bool) -> tuple[list[Item], bool]:
    """The members an iterable may have, each with its condition, and whether they come in a defined order.

    ordered: refuse what has none.
    """
    g = context.graph
    if isinstance(node, ast.Call):
        if calls(context, node, sorted):
            mask = sorted_set(context, node)
            assert isinstance(mask.type, SetType) and isinstance(mask.type.item, IdType)
            if unbounded(mask.type.item):
                raise context.refuse(node, *of_any_number(mask.type.item))
            context.reads_order(mask.type.item.sort)
            return _set_members(g, mask), True
        if calls(context, node, range):
            return _range(context, node), True
    if isinstance(node, ast.Tuple):
        return [(g.true, lower_present(context, e)) for e in node.elts], True
    source = lower_operand(context, node)
    if isinstance(source, Poison):
        raise Refused
    if isinstance(source, Empty):
        return [], True
    if isinstance(source, Scalar) and isinstance(source.type, SetType | SeqType) and unbounded(source.type.item):
        raise context.refuse(node, *of_any_number(source.type.item))
    if isinstance(source, Scalar) and isinstance(source.type, SeqType):
        return _sequence_items(g, source.node, source.type), True
    if ordered:
        raise context.refuse(node, *NO_ORDER)
    if isinstance(source, Scalar) and isinstance(source.type, SetType):
        return _set_members(g, source.node), False
    if isinstance(source, Bag):
        slots = source.looked_into()
        return [(occupied(g, s), unpack_slot(g, source.item, s)) for s in slots], False
    if isinstance(source, Loose):
        return _distinct(context, source), False
    what = f"iteration over {describe(source)}"
    raise context.refuse(node, what, "iterate over a set, a tuple or `every(Sort, c)`")


def of_any_number(item: Type) -> tuple[str, str]:
    """The problem of going through the members of a sort one by one, and the remedy."""
    what = f"this comprehension over {item}, of which there may be any number"
    return what, "write any, all, sum or frozenset over one set, in which nothing fails; or --set a number of them"


def calls(context: Context, node: ast.Call, builtin: object) -> bool:
    """Whether a call is one of this built-in function."""
    target = peek(context, node.func)
    return isinstance(target, Static) and target.value is builtin


def sorted_set(context: Context, node: ast.Call) -> Node:
    """The set under `sorted(...)`."""
    (argument,) = positional(context, node, 1, 1)
    # A generator is gone through as the set that it gives.
    lower_set = context.constructs.set_displays[ast.SetComp]
    generator = isinstance(argument, ast.GeneratorExp)
    source = lower_set(context, argument) if generator else lower_operand(context, argument)
    if isinstance(source, Scalar) and isinstance(source.type, SetType):
        if not isinstance(source.type.item, IdType):
            raise context.refuse(node, "sorted() of this", "only ids have an order here")
        context.reads_order(source.type.item.sort, source.node)
        return source.node
    raise context.refuse(node, f"sorted() of {describe(source)}", "it sorts a set of ids")


def _distinct(context: Context, source: Loose) -> list[Item]:
    """The records of a display, each once."""
    g = context.graph
    distinct: list[Item] = []
    for i, (condition, record) in enumerate(source.members):
        repeated = [g.and_(c, context.symbols.equal(record, other)) for c, other in source.members[:i]]
        distinct.append((g.and_(condition, g.not_(g.or_(*repeated))), record))
    return distinct


def _set_members(g: Graph, mask: Node) -> list[Item]:
    assert isinstance(mask.type, SetType)
    return [(g.member(i, mask), Scalar(i)) for i in g.indices(mask.type.item)]


def _sequence_items(g: Graph, sequence: Node, kind: SeqType) -> list[Item]:
    length = seq_len(g, sequence)
    return [
        (g.lt(g.num(i), length), Scalar(g.op("seq_get", kind.item, (sequence, g.num(i))))) for i in range(kind.length)
    ]


def _range(context: Context, node: ast.Call) -> list[Item]:
    g = context.graph
    bounds = [lower_scalar(context, a, IntType) for a in positional(context, node, 1, 2)]
    if any(b.op != "const" for b in bounds):
        raise context.refuse(node, "a range whose bounds are not constants", "use constants or the configuration")
    numbers = range(*(b.data for b in bounds))
    if len(numbers) > LONGEST_RANGE:
        raise context.refuse(node, f"a range of {len(numbers)} numbers", f"at most {LONGEST_RANGE}")
    return [(g.true, Scalar(g.num(i))) for i in numbers]


@contextmanager
def naming(context: Context, target: ast.expr, value: Sym) -> Iterator[None]:
    """Within, the variable of a comprehension's loop has a value."""
    if not isinstance(target, ast.Name):
        raise context.refuse(target, "this loop variable", "one name")
    frame, variable = context.frame, target.id
    hidden, not_none = frame.variables.get(variable), frame.not_none
    frame.variables[variable] = value
    frame.not_none = frozenset(path for path in not_none if path.split(".")[0] != variable)
    try:
        yield
    finally:
        frame.not_none = not_none
        if hidden is None:
            del frame.variables[variable]
        else:
            frame.variables[variable] = hidden


@contextmanager
def filtered(context: Context, tests: list[ast.expr]) -> Iterator[Node]:
    """Within, the filters of a comprehension hold; yields their conjunction."""
    g, frame = context.graph, context.frame
    path, not_none, all_hold = context.path, frame.not_none, context.graph.true
    try:
        for test in tests:
            holds = g.false  # of a test that lacks a value, where Python never gets
            with context.under(g.true):
                holds = lower_condition(context, test)
            frame.not_none |= not_none_if(context, test, True)
            context.path = g.and_(context.path, holds)
            all_hold = g.and_(all_hold, holds)
        with context.under(g.true):
            yield all_hold
    finally:
        context.path, frame.not_none = path, not_none


__all__ = ["NO_ORDER", "Item", "calls", "filtered", "members_of", "naming", "sorted_set"]
