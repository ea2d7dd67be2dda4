"""Sets and sequences of ids, enum members and bools: made of their items, empty, asked for their length.

Also here: sets of records as slots: the records in them, one more, some of them.
"""

from __future__ import annotations

import ast
from itertools import count

from reassure.spec.frontend import number_sets
from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import Graph, Node, items
from reassure.spec.frontend.symbolic_values import (
    Bag,
    Columns,
    Empty,
    Excess,
    Loose,
    MapOf,
    Mismatch,
    NumberSet,
    Option,
    Poison,
    Record,
    Scalar,
    Static,
    Sym,
    Tuple,
    comparable,
    describe,
    of_type,
    zero,
)
from reassure.spec.language.types import ANY, BoolType, EnumType, IdType, IntType, RecordType, SeqType, SetType, Type


def occupied(g: Graph, slot: Node) -> Node:
    """Whether there is a record in a slot."""
    return g.not_(g.eq(slot, g.num(0)))


def unpack_slot(g: Graph, item: RecordType, slot: Node) -> Sym:
    """The record in a slot known not to be empty."""
    record = slot.args[0] if slot.op == "slot" else g.op("record", item, (slot,))
    numbers = count()

    def leaf(_: str, kind: Type) -> Node:
        return g.op("unpack", kind, (record,), next(numbers))

    return of_type(g, item, leaf)


def padded(g: Graph, slots: tuple[Node, ...], length: int) -> tuple[Node, ...]:
    """The slots, followed by empty ones so that they are so many."""
    return slots + (g.num(0),) * (length - len(slots))


def insert(
    g: Graph, bag: Bag | None, slot: Node, item: RecordType, condition: Node, out: tuple[Excess, ...] = ()
) -> Bag:
    """The set (None: the empty one) with one more record if `condition`; it gets one more slot than it had.

    out: when the record is out of its bounds.
    """
    new = g.ite(condition, slot, g.num(0))
    if bag is None:
        return Bag(item, (new,), out)
    old = bag.slots
    present = g.or_(*(g.eq(s, new) for s in old))
    new = g.ite(present, g.num(0), new)
    slots: list[Node] = []
    for i in range(len(old) + 1):
        here = old[i] if i < len(old) else g.num(0)
        if i == 0:
            slots.append(g.ite(g.lt(here, new), new, here))
        else:
            before = old[i - 1]
            slots.append(g.ite(g.lt(here, new), g.ite(g.lt(before, new), before, new), here))
    return Bag(item, tuple(slots), bag.excess + out)


def keep(g: Graph, bag: Bag, conditions: list[Node]) -> Bag:
    """The set of the records in the slots whose condition holds."""
    slots = [g.ite(c, s, g.num(0)) for c, s in zip(conditions, bag.slots, strict=True)]
    for _ in range(len(slots) - 1):
        for j in range(len(slots) - 1):
            hole = g.eq(slots[j], g.num(0))
            slots[j], slots[j + 1] = g.ite(hole, slots[j + 1], slots[j]), g.ite(hole, g.num(0), slots[j + 1])
    return Bag(bag.item, tuple(slots))


def item_index(g: Graph, value: Sym) -> Node:
    """The node of a value that can be an item of a set or a sequence."""
    if isinstance(value, Scalar) and isinstance(value.type, BoolType | EnumType | IdType):
        if isinstance(value.type, BoolType) and value.node.op == "const":
            return g.const(int(value.node.data), value.type)
        return value.node
    what = f"{describe(value)} in a set, whose members are ids, enum members, bools, numbers or records"
    if isinstance(value, Option):
        raise Mismatch(f"{what}: leave out what is None, by `if x is not None`")
    raise Mismatch(f"{what}: write a set of records with such a field, or a Map to bool")


def sequence_of(g: Graph, values: list[Sym]) -> Sym:
    """The sequence of these items, or the tuple of values that are not items of one sort."""
    if not values:
        return Empty(True)
    if all(isinstance(v, Static) for v in values):
        return Static(tuple(v.value for v in values if isinstance(v, Static)))
    kinds = {v.type if isinstance(v, Scalar) else None for v in values}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if not isinstance(kind, EnumType | IdType | BoolType):
        return Tuple(tuple(values))
    nodes = tuple(item_index(g, v) for v in values)
    return Scalar(g.op("seq_of", SeqType(kind, len(nodes)), nodes))


def items_of(g: Graph, value: Sym) -> list[Sym] | None:
    """The items of a tuple whose length is known; None of another value."""
    if isinstance(value, Tuple):
        return list(value.items)
    items = _items(g, value.node) if isinstance(value, Scalar) and isinstance(value.type, SeqType) else None
    return None if items is None else list(items)


def _items(g: Graph, sequence: Node) -> list[Scalar] | None:
    assert isinstance(sequence.type, SeqType)
    kind = sequence.type.item
    if sequence.op == "seq_of":
        return [Scalar(item) for item in sequence.args]
    if sequence.op == "const":
        return [Scalar(g.truth(bool(i)) if isinstance(kind, BoolType) else g.const(i, kind)) for i in sequence.data]
    if sequence.op != "ite":
        return None
    yes, no = (_items(g, branch) for branch in sequence.args[1:])
    if yes is None or no is None or len(yes) != len(no):
        return None
    return [Scalar(g.ite(sequence.args[0], a.node, b.node)) for a, b in zip(yes, no, strict=True)]


def as_sequence(g: Graph, value: Sym) -> Sym:
    """A tuple of ids, enum members or bools of one kind as a sequence of them; another value as it is."""
    return sequence_of(g, list(value.items)) if isinstance(value, Tuple) else value


def alike(g: Graph, a: Sym, b: Sym) -> tuple[Sym, Sym]:
    """Two tuples, of which one may be a sequence, in one form; other values as they are."""
    if not (isinstance(a, Tuple) and isinstance(b, Scalar)) and not (isinstance(a, Scalar) and isinstance(b, Tuple)):
        return a, b
    xs, ys = items_of(g, a), items_of(g, b)
    if xs is None or ys is None or len(xs) != len(ys):
        return as_sequence(g, a), as_sequence(g, b)
    return Tuple(tuple(xs)), Tuple(tuple(ys))


def packed(g: Graph, members: list[tuple[Node, Sym]]) -> Sym | None:
    """The sequence of the ids, enum members or bools whose condition holds; None if they are of several kinds."""
    result: Node | None = None
    for number, (condition, value) in enumerate(members, 1):
        one = sequence_of(g, [value])
        if not isinstance(one, Scalar) or not isinstance(one.type, SeqType):
            return None
        part = g.ite(condition, one.node, g.const((), one.type))
        if result is not None:
            assert isinstance(result.type, SeqType)
            if result.type.item != one.type.item:
                return None
            part = g.op("seq_cat", SeqType(one.type.item, number), (result, part))
        result = part
    return None if result is None else Scalar(result)


def set_of(g: Graph, members: list[tuple[Node, Sym]]) -> Sym:
    """The set of the values whose condition holds."""
    if not members:
        return Empty(False)
    if any(isinstance(value, Poison) for _, value in members):
        raise Refused
    if isinstance(members[0][1], Record):
        records = [(c, v) for c, v in members if isinstance(v, Record) and v.cls is members[0][1].cls]
        if len(records) < len(members):
            raise Mismatch("records of several classes in one set")
        return Loose(tuple(records))
    if any(isinstance(value, Scalar) and isinstance(value.type, IntType) for _, value in members):
        return number_sets.set_of_numbers(g, members)
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
    if isinstance(other, NumberSet) and not sequence:
        return NumberSet(())
    other = as_sequence(g, other)
    if isinstance(other, Columns | Tuple) and sequence:
        return Columns(())
    if isinstance(other, Scalar) and isinstance(other.type, SeqType if sequence else SetType):
        return Scalar(zero(g, other.type))
    raise Mismatch(f"an empty {'tuple' if sequence else 'set'} and {describe(other)}")


def items_of_kind(value: Sym) -> tuple[str, Sym | Type | None]:
    """Whether a value is a "set" or a "sequence", or "" if neither; and an item of it, or its type, if it is known."""
    if isinstance(value, Columns | Tuple):
        places = value.places if isinstance(value, Columns) else ()
        return "sequence", places[0][1] if places else None
    if isinstance(value, Bag | NumberSet):
        return "set", value.item if isinstance(value, Bag) else IntType(0, 0)
    if isinstance(value, Scalar) and isinstance(value.type, SetType | SeqType):
        return "set" if isinstance(value.type, SetType) else "sequence", value.type.item
    return "", None


def is_like(value: Sym, item: Sym | Type | None) -> bool:
    """Whether a value is seen to be of the same kind: a scalar of one sort, or a record of one class."""
    kind = item.type if isinstance(item, Scalar) else item
    if isinstance(value, Record):
        return isinstance(kind, Record | RecordType) and value.cls is kind.cls
    return isinstance(value, Scalar) and isinstance(kind, Type) and comparable(value.type, kind)


def in_place_of_operator(node: ast.BinOp, a: Sym, b: Sym) -> str:
    """What to write where an item stands for a set or sequence of it, or `+` for the union of sets; else nothing."""
    left, op, right = node.left, node.op, node.right
    (kind, item), (other, other_item) = items_of_kind(a), items_of_kind(b)
    if isinstance(op, ast.Add) and kind == "sequence" and is_like(b, item):
        right = ast.Tuple([right], ast.Load())
    elif isinstance(op, ast.Add) and other == "sequence" and is_like(a, other_item):
        left = ast.Tuple([left], ast.Load())
    elif isinstance(op, ast.Add | ast.BitOr | ast.Sub) and kind == "set" and (item == other_item or is_like(b, item)):
        op = op if isinstance(op, ast.Sub) else ast.BitOr()
        right = right if other else ast.Set([right])
    else:
        return ""
    instead = ast.unparse(ast.BinOp(left, op, right))
    return f"write `{instead}`" if instead != ast.unparse(node) else ""


def in_place_of_equality(a: Sym, b: Sym) -> str:
    """What to write where two values of two kinds are compared, as the end of a message; else nothing."""
    collections = [value for value in (a, b) if items_of_kind(value)[0]]
    if len(collections) == 2:
        of_two_kinds = items_of_kind(a)[0] != items_of_kind(b)[0]
        return ": write `frozenset(xs)` for the set of a sequence" if of_two_kinds else ""
    if isinstance(a, Static) or isinstance(b, Static):
        return ""
    for value, other in ((a, b), (b, a)):
        places = [i for i, part in enumerate(value.items) if is_like(part, other)] if isinstance(value, Tuple) else []
        if places:
            return f": compare an item of it: {', '.join(f'`[{i}]`' for i in places)}"
        kinds = [side.type if isinstance(side, Scalar) else None for side in (value, other)]
        if isinstance(value, Record) and isinstance(other, Tuple):
            return f": compare with a record: `{value.cls.__name__}(...)`"
        if collections == [value] and not (isinstance(value, Tuple) and isinstance(other, Record)):
            return ": write `x in xs` for one of its members"
        if isinstance(value, MapOf):
            return ": compare its value at a key: `m[k]`"
        if isinstance(value, Record) and not collections:
            names = [name for name, part in value.fields.items() if is_like(part, other)] or value.fields
            return f": compare a field of it: {', '.join(f'`.{name}`' for name in names)}"
        if isinstance(kinds[0], EnumType) and kinds[1] is not None and not collections:
            return f": compare with a member: `{next(kinds[0].values())}`"
        if isinstance(kinds[0], BoolType) and isinstance(kinds[1], IntType):
            return ": a bool is a condition: write it without `==`, or `not` before it"
        if isinstance(kinds[0], IdType) and isinstance(kinds[1], IdType):
            return ": compare their numbers: `int(a) == int(b)`"
    return ""


def is_empty(g: Graph, value: Sym) -> Node:
    """Whether a set or sequence, that is there if it may be None, has no item."""
    if isinstance(value, Empty | Tuple):
        return g.truth(isinstance(value, Empty))
    if isinstance(value, Columns):
        return g.not_(value.places[0][0]) if value.places else g.true
    if isinstance(value, NumberSet):
        return number_sets.same_numbers(g, value, NumberSet(()))
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
