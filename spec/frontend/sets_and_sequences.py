"""Sets and sequences of ids, enum members and bools: made of their items, empty, asked for their length."""

from __future__ import annotations

from reassure.spec.frontend.ir import Graph, Node, items
from reassure.spec.frontend.leaves import zero
from reassure.spec.frontend.record_sets import occupied
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Empty,
    Loose,
    Mismatch,
    Option,
    Record,
    Scalar,
    Sym,
    describe,
)
from reassure.spec.language.types import ANY, BoolType, EnumType, IdType, IntType, SeqType, SetType


def item_index(g: Graph, value: Sym) -> Node:
    """The node of a value that can be an item of a set or a sequence."""
    if isinstance(value, Scalar) and isinstance(value.type, BoolType | EnumType | IdType):
        if isinstance(value.type, BoolType) and value.node.op == "const":
            return g.const(int(value.node.data), value.type)
        return value.node
    raise Mismatch("not an id, enum member or bool")


def sequence_of(g: Graph, values: list[Sym]) -> Sym:
    """The sequence of these items."""
    if not values:
        return Empty(True)
    nodes = tuple(item_index(g, v) for v in values)
    kind = nodes[0].type
    if any(n.type != kind for n in nodes) or not isinstance(kind, EnumType | IdType | BoolType):
        raise Mismatch("a sequence's items are ids, enum members or bools, all of one sort")
    return Scalar(g.op("seq_of", SeqType(kind, len(nodes)), nodes))


def set_of(g: Graph, members: list[tuple[Node, Sym]]) -> Sym:
    """The set of the values whose condition holds."""
    if not members:
        return Empty(False)
    if isinstance(members[0][1], Record):
        records = [(c, v) for c, v in members if isinstance(v, Record) and v.cls is members[0][1].cls]
        if len(records) < len(members):
            raise Mismatch("records of several classes in one set")
        return Loose(tuple(records))
    union: Node | None = None
    for condition, value in members:
        single = g.single(item_index(g, value))
        part = g.ite(condition, single, g.const(0, single.type))
        if union is not None and union.type != part.type:
            raise Mismatch(f"{union.type} and {part.type} in one set")
        union = part if union is None else g.union(union, part)
    assert union is not None
    return Scalar(union)


def empty_like(g: Graph, other: Sym, sequence: bool) -> Sym:
    """The empty set or sequence of the same type as `other`."""
    if isinstance(other, Bag) and not sequence:
        return Bag(other.item, (g.num(0),))
    if isinstance(other, Scalar) and isinstance(other.type, SeqType if sequence else SetType):
        return Scalar(zero(g, other.type))
    raise Mismatch(f"an empty {'tuple' if sequence else 'set'} and {describe(other)}")


def is_empty(g: Graph, value: Sym) -> Node:
    """Whether a set or sequence, that is there if it may be None, has no item."""
    if isinstance(value, Empty):
        return g.true
    if isinstance(value, Bag):
        return g.not_(occupied(g, value.looked_into()[0]))
    if isinstance(value, Scalar) and isinstance(value.type, SetType):
        return g.eq(value.node, g.const(0, value.type))
    if isinstance(value, Scalar) and isinstance(value.type, SeqType):
        return g.eq(seq_len(g, value.node), g.num(0))
    if isinstance(value, Option) and value.value is not None:
        return g.and_(value.present, is_empty(g, value.value))
    raise Mismatch(f"{describe(value)} is not a set or sequence")


def seq_set(g: Graph, sequence: Node) -> Node:
    """The set of a sequence's items."""
    assert isinstance(sequence.type, SeqType)
    return g.op("seq_set", SetType(sequence.type.item), (sequence,))


def seq_len(g: Graph, sequence: Node) -> Node:
    """The length of a sequence."""
    assert isinstance(sequence.type, SeqType)
    return g.op("seq_len", IntType(0, sequence.type.length), (sequence,))


def seq_sorted(g: Graph, mask: Node) -> Node:
    """The sequence of a set's members, ascending."""
    assert isinstance(mask.type, SetType)
    item = mask.type.item
    return g.op("seq_sorted", SeqType(item, min(ANY, items(item))), (mask,))


__all__ = ["empty_like", "is_empty", "item_index", "seq_len", "seq_set", "seq_sorted", "sequence_of", "set_of"]
