"""Comparisons: `is None`, `==`, `in`, `<` and their negations, also in chains."""

from __future__ import annotations

import ast

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower, lower_operand
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.sets_and_sequences import empty_like, item_index, seq_set
from reassure.spec.frontend.symbolic_values import (
    Empty,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    comparable,
    describe,
)
from reassure.spec.language.types import IdType, IntType, SeqType, SetType


def compare(context: Context, node: ast.Compare) -> Sym:
    """A chain of comparisons: each is evaluated only where those before it hold."""
    g = context.graph
    terms = []
    left = node.left
    all_hold = g.true
    for op, right in zip(node.ops, node.comparators, strict=True):
        term = g.false
        with context.under(all_hold):
            term = _comparison(context, node, left, op, right)
        terms.append(term)
        all_hold = g.and_(all_hold, term)
        left = right
    return Scalar(g.and_(*terms))


def _comparison(context: Context, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Node:
    g = context.graph
    if isinstance(op, ast.Is | ast.IsNot):
        is_none = _is_none(context, node, left, right)
        return is_none if isinstance(op, ast.Is) else g.not_(is_none)
    if isinstance(op, ast.In | ast.NotIn):
        within = _membership(context, node, lower(context, left), right)
        return within if isinstance(op, ast.In) else g.not_(within)
    if isinstance(op, ast.Eq | ast.NotEq):
        a, b = _side(context, left), _side(context, right)
        if isinstance(a, Poison) or isinstance(b, Poison):
            raise Refused
        same = _same(context, a, b)
        return same if isinstance(op, ast.Eq) else g.not_(same)
    return _order(context, node, lower_operand(context, left), op, lower_operand(context, right))


def _is_none(context: Context, node: ast.Compare, left: ast.expr, right: ast.expr) -> Node:
    if not (isinstance(right, ast.Constant) and right.value is None):
        raise context.refuse(node, "`is`", "`is` is only for None; compare with `==`")
    value = lower(context, left)
    if isinstance(value, Poison):
        raise Refused
    return context.graph.not_(value.present) if isinstance(value, Option) else context.graph.false


def _side(context: Context, node: ast.expr) -> Sym:
    """A side of `==`: it may be None, or a set display."""
    displayed = type(node) in context.constructs.set_displays
    return lower_operand(context, node) if displayed else lower(context, node)


def _same(context: Context, a: Sym, b: Sym) -> Node:
    if isinstance(a, Static) and isinstance(b, Static):
        return context.graph.truth(a.value == b.value)
    return context.symbols.equal(a, b)


def _order(context: Context, node: ast.Compare, a: Sym, op: ast.cmpop, b: Sym) -> Node:
    """`<`, `<=`, `>` or `>=` of ints, of ids, or of sets."""
    g = context.graph
    if isinstance(op, ast.Gt | ast.GtE):
        a, b = b, a
    strict = isinstance(op, ast.Lt | ast.Gt)
    if isinstance(a, Poison) or isinstance(b, Poison):
        raise Refused
    if isinstance(a, Empty) and isinstance(b, Empty):
        return g.truth(not strict)
    a = empty_like(g, b, a.sequence) if isinstance(a, Empty) else a
    b = empty_like(g, a, b.sequence) if isinstance(b, Empty) else b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        x, y = a.node, b.node
        if isinstance(a.type, IntType) and isinstance(b.type, IntType):
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, IdType) and a.type == b.type:
            context.reads_order(a.type.sort, x, y)
            return g.lt(x, y) if strict else g.le(x, y)
        if isinstance(a.type, SetType) and a.type == b.type:
            within = g.subset(x, y)
            return g.and_(within, g.not_(g.eq(x, y))) if strict else within
    remedy = "`<` compares ints, ids of one sort, or sets of one sort"
    raise context.refuse(node, f"an order of {describe(a)} and {describe(b)}", remedy)


def _membership(context: Context, node: ast.Compare, value: Sym, right: ast.expr) -> Node:
    """`value in right`."""
    g = context.graph
    if isinstance(right, ast.Tuple | ast.Set):
        members = [lower(context, e) for e in right.elts]
        if isinstance(value, Poison) or any(isinstance(m, Poison) for m in members):
            raise Refused
        return g.or_(*(_same(context, value, m) for m in members))
    container = lower_operand(context, right)
    if isinstance(value, Poison) or isinstance(container, Poison):
        raise Refused
    if isinstance(value, Option):
        if value.value is None:
            return g.false
        return g.and_(value.present, _within(context, node, value.value, container))
    return _within(context, node, value, container)


def _within(context: Context, node: ast.Compare, value: Sym, container: Sym) -> Node:
    g = context.graph
    if isinstance(container, Static) and isinstance(container.value, tuple | frozenset | set):
        return g.truth(isinstance(value, Static) and value.value in container.value)
    if isinstance(container, Empty):
        return g.false
    if isinstance(value, Record):
        return context.symbols.among(value, container)
    if isinstance(value, Scalar) and isinstance(container, Scalar):
        if isinstance(container.type, SetType) and comparable(value.type, container.type.item):
            return g.member(item_index(g, value), container.node)
        if isinstance(container.type, SeqType) and comparable(value.type, container.type.item):
            return g.member(item_index(g, value), seq_set(g, container.node))
    what = f"{describe(value)} in {describe(container)}"
    raise context.refuse(node, what, "the set's members are of another sort")


__all__ = ["compare"]
