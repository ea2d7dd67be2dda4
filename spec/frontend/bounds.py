"""Checks that a value stays in the bounds of its type, and a number or a sequence in the engines' words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reassure.spec.frontend.ir import Graph
from reassure.spec.frontend.record_sets import occupied
from reassure.spec.frontend.sets_and_sequences import seq_len
from reassure.spec.frontend.symbolic_values import Bag, Excess, MapOf, Option, Record, Scalar, Sym
from reassure.spec.language.types import (
    ANY,
    NUMBER,
    SEQUENCE_BITS,
    BagType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    Type,
    bits_of,
    key_name,
    limits,
    unbounded,
)


def excess(g: Graph, value: Sym, kind: Type, path: str) -> Iterator[Excess]:
    """The bounds that a fitted value may leave, in the order in which `Type.misfit` looks."""
    if isinstance(kind, RecordType) and isinstance(value, Record):
        for name, inner in kind.fields:
            yield from excess(g, value.fields[name], inner, f"{path}.{name}" if path else name)
    elif isinstance(kind, OptionType) and isinstance(value, Option) and value.value is not None:
        for inner_path, condition, declared in excess(g, value.value, kind.inner, path):
            yield Excess(inner_path, g.and_(value.present, condition), declared)
    elif isinstance(kind, MapType) and isinstance(value, MapOf) and unbounded(kind.key):
        for out, condition, declared in excess(g, value.values[0], kind.value, f"{path}[*]"):
            yield Excess(out, g.not_(g.every(kind.key, g.not_(condition))), declared)
    elif isinstance(kind, MapType) and isinstance(value, MapOf):
        for key, part in zip(kind.key.values(), value.values, strict=True):
            yield from excess(g, part, kind.value, f"{path}[{key_name(key)}]")
    elif isinstance(kind, BagType) and isinstance(value, Bag):
        for limit in limits(kind.item, "[]"):
            for out, condition, declared in value.excess:
                if out == limit:
                    yield Excess(path + out, condition, declared)
        if len(value.slots) > kind.size:
            yield Excess(path, occupied(g, value.slots[kind.size]), kind.declared)
    elif isinstance(value, Scalar):
        yield from _scalar_excess(g, value, kind, path)


def _scalar_excess(g: Graph, value: Scalar, kind: Type, path: str) -> Iterator[Excess]:
    condition = g.false
    if isinstance(kind, IntType) and isinstance(value.type, IntType):
        low, high = value.type.low < kind.low != -ANY, value.type.high > kind.high != ANY
        too_low = g.lt(value.node, g.num(kind.low)) if low else g.false
        too_high = g.lt(g.num(kind.high), value.node) if high else g.false
        condition = g.or_(too_low, too_high)
    elif isinstance(kind, SeqType) and isinstance(value.type, SeqType) and value.type.length > kind.length != ANY:
        length = seq_len(g, value.node)
        condition = g.lt(g.num(kind.length), length)
    if condition is not g.false:
        assert isinstance(kind, IntType | SeqType)
        yield Excess(path, condition, kind.declared)


def beyond_words(node: ast.expr, kind: Type) -> tuple[str, str] | None:
    """The problem of an expression whose value may not fit the engines' words, and the remedy; None if it fits."""
    if isinstance(kind, IntType) and not -NUMBER <= kind.low <= kind.high < NUMBER:
        what = f"`{ast.unparse(node)}` may be anything from {kind.low} to {kind.high}"
        return what, "keep numbers within -2^62..2^62-1: narrow a Range, or take `min(x, limit)`"
    if isinstance(kind, SeqType) and not unbounded(kind.item) and kind.length * bits_of(kind.item) > SEQUENCE_BITS:
        most = SEQUENCE_BITS // bits_of(kind.item)
        what = f"`{ast.unparse(node)}` may have {kind.length} items of {kind.item}; at most {most} fit"
        return what, "shorten its MaxLen, take a slice, or work with the set (`len(set)`)"
    return None


__all__ = ["beyond_words", "excess"]
