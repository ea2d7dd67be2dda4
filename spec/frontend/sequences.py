"""Tuple displays, items and slices of sequences, and `map[key]`."""

from __future__ import annotations

import ast

from reassure.spec.frontend.context import Context
from reassure.spec.frontend.evaluation import lower_present, lower_scalar
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.refusals import Refused
from reassure.spec.frontend.sets_and_sequences import item_index, seq_len, sequence_of
from reassure.spec.frontend.symbolic_values import MapOf, Poison, Scalar, Static, Sym, describe, interval
from reassure.spec.language.types import IntType, SeqType, unbounded


def tuple_display(context: Context, node: ast.Tuple) -> Sym:
    """`(a, b)`: a sequence, or a tuple of Python objects."""
    parts = [lower_present(context, e) for e in node.elts]
    if parts and all(isinstance(p, Static) for p in parts):
        return Static(tuple(p.value for p in parts if isinstance(p, Static)))
    if any(isinstance(p, Poison) for p in parts):
        raise Refused
    return sequence_of(context.graph, parts)


def subscript(context: Context, node: ast.Subscript) -> Sym:
    """`map[key]`, `seq[i]`, `seq[a:b]`."""
    base = lower_present(context, node.value)
    if isinstance(base, Poison):
        return base
    if isinstance(base, MapOf):
        key = lower_present(context, node.slice)
        if isinstance(key, Scalar) and key.type == base.key:
            return lookup(context, base, item_index(context.graph, key))
        raise context.refuse(node, f"a map from {base.key} at {describe(key)}", "index it with one of its keys")
    if isinstance(base, Scalar) and isinstance(base.type, SeqType):
        if isinstance(node.slice, ast.Slice):
            if context.scope.any_number is not None:
                what = "a slice, which has no translation for any number"
                raise context.refuse(node, what, "work with the items themselves, or --set every number")
            return _slice(context, node, node.slice, base.node, base.type)
        return _item(context, node, base.node, base.type)
    raise context.refuse(node, f"an index into {describe(base)}", "only maps and tuples are indexed")


def _slice(context: Context, node: ast.Subscript, part: ast.Slice, sequence: Node, kind: SeqType) -> Sym:
    g = context.graph
    if part.step is not None:
        raise context.refuse(node, "a slice with a step", "write `seq[a:b]`")
    result = sequence
    first = None if part.lower is None else _slice_bound(context, part.lower)
    if part.upper is not None:
        end = _slice_bound(context, part.upper)
        kind = SeqType(kind.item, max(1, min(kind.length, interval(end).high)))
        result = g.op("seq_take", kind, (result, end))
    if first is not None:
        kind = SeqType(kind.item, max(1, kind.length - interval(first).low))
        result = g.op("seq_drop", kind, (result, first))
    return Scalar(result)


def _slice_bound(context: Context, node: ast.expr) -> Node:
    bound = lower_scalar(context, node, IntType)
    if interval(bound).low < 0:
        raise context.refuse(node, "a slice bound that may be negative", "count from the front")
    return bound


def _item(context: Context, node: ast.Subscript, sequence: Node, kind: SeqType) -> Sym:
    g = context.graph
    length = seq_len(g, sequence)
    index = lower_scalar(context, node.slice, IntType)
    if index.op == "const" and index.data < 0:
        index = g.arith("add", length, index)
    elif interval(index).low < 0:
        raise context.refuse(node, "an index that may be negative", "index from the front, or with a constant")
    context.check("error", node, g.and_(g.lt(index, length), g.le(g.num(0), index)))
    return Scalar(g.op("seq_get", kind.item, (sequence, index)))


def lookup(context: Context, base: MapOf, index: Node) -> Sym:
    """`map[key]`. index: of the key in its type."""
    if index.op == "const" and not unbounded(base.key):
        entry: Sym = base.values[index.data]
        return entry
    g = context.graph
    if unbounded(base.key):
        return context.symbols.with_members(base.values[0], {g.key(base.key): index})
    value = base.values[-1]
    for k in range(len(base.values) - 2, -1, -1):
        value = context.symbols.choose(g.eq(index, g.const(k, base.key)), base.values[k], value)
    return value


__all__ = ["lookup", "subscript", "tuple_display"]
