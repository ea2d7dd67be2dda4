"""The order of two values: of numbers, bools, ids, sets, tuples item by item, and records of a class with `order=True`.

A tuple is compared as Python does: where the first items differ they decide, else the rest does.
"""

from __future__ import annotations

import ast

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.sets_and_sequences import empty_like, seq_len
from reassure.spec.frontend.symbolic_values import Empty, Poison, Record, Scalar, Sym, Tuple, describe
from reassure.spec.language.types import BoolType, IdType, IntType, SeqType, SetType, unbounded

ORDERED = "`<` compares ints, bools, ids of one sort, sets of one sort, and tuples of these"
"""The remedy where two values have no order."""


def less(context: Context, node: ast.AST, a: Sym, b: Sym, strict: bool) -> Node:
    """Whether `a < b`, or `a <= b` if it is not strict; refused, at a node, for what has no order."""
    g = context.graph
    if isinstance(a, Poison) or isinstance(b, Poison):
        raise Refused
    if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
        if not a.cls.__dataclass_params__.order:  # type: ignore[attr-defined]
            remedy = "write `@dataclass(frozen=True, order=True)` above it, or compare tuples of its fields"
            raise context.refuse(node, f"an order of {a.cls.__name__}, a class that declares none", remedy)
        return _by_items(context, node, list(a.fields.values()), list(b.fields.values()), strict)
    items = items_of(a), items_of(b)
    if items[0] is not None and items[1] is not None:
        return _by_items(context, node, items[0], items[1], strict)
    if isinstance(a, Empty) and isinstance(b, Empty):
        return g.truth(not strict)
    a = empty_like(g, b, a.sequence) if isinstance(a, Empty) else a
    b = empty_like(g, a, b.sequence) if isinstance(b, Empty) else b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        x, y = a.node, b.node
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, BoolType) and isinstance(b.type, BoolType):
            return g.and_(g.not_(x), y) if strict else g.or_(g.not_(x), y)
        if isinstance(a.type, IdType) and a.type == b.type:
            context.reads_order(a.type.sort, x, y)
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, SetType) and a.type == b.type:
            within = g.subset(x, y)
            return g.and_(within, g.not_(g.eq(x, y))) if strict else within
        if isinstance(a.type, SeqType) and isinstance(b.type, SeqType) and a.type.item == b.type.item:
            return _of_sequences(context, node, x, y, a.type, b.type, strict)
    raise context.refuse(node, f"an order of {describe(a)} and {describe(b)}", ORDERED)


def items_of(value: Sym) -> list[Sym] | None:
    """The items of a tuple whose length is known; None of another value."""
    if isinstance(value, Tuple):
        return list(value.items)
    if isinstance(value, Scalar) and value.node.op == "seq_of":
        return [Scalar(item) for item in value.node.args]
    return None


def has_order(value: Sym) -> bool:
    """Whether of two such values that differ one is less; of two sets neither may be."""
    if isinstance(value, Record):
        ordered: bool = value.cls.__dataclass_params__.order  # type: ignore[attr-defined]
        return ordered and all(map(has_order, value.fields.values()))
    if isinstance(value, Tuple):
        return all(map(has_order, value.items))
    return isinstance(value, Scalar) and isinstance(value.type, IntType | BoolType | IdType | SeqType)


def _by_items(context: Context, node: ast.AST, a: list[Sym], b: list[Sym], strict: bool) -> Node:
    """The order of two tuples of known lengths."""
    g = context.graph
    pairs = list(zip(a, b, strict=False))
    result = g.truth(len(a) < len(b) if strict else len(a) <= len(b))
    if pairs and len(a) == len(b):
        result = less(context, node, *pairs.pop(), strict)
    for x, y in reversed(pairs):
        result = g.or_(less(context, node, x, y, True), g.and_(context.symbols.equal(x, y), result))
    return result


def _of_sequences(context: Context, node: ast.AST, x: Node, y: Node, a: SeqType, b: SeqType, strict: bool) -> Node:
    """The order of two sequences, whatever their lengths."""
    g = context.graph
    if unbounded(a.item):
        raise context.refuse(node, f"an order of sequences of {a.item}, of which there may be any number", ORDERED)
    lengths = seq_len(g, x), seq_len(g, y)
    result = g.lt(*lengths) if strict else g.le(*lengths)
    for i in range(min(a.length, b.length) - 1, -1, -1):
        items = [Scalar(g.op("seq_get", a.item, (sequence, g.num(i)))) for sequence in (x, y)]
        both = g.and_(*(g.lt(g.num(i), length) for length in lengths))
        here = g.or_(less(context, node, items[0], items[1], True), g.and_(g.eq(items[0].node, items[1].node), result))
        result = g.ite(both, here, g.lt(*lengths) if strict else g.le(*lengths))
    return result
