"""Symbolic values: what an expression of a model is while it is lowered to the graph of `ir.py`.

A record is its fields, an optional is *present?* and a value, a map is one value for each key, a set of records is its
slots; only scalars are nodes.

Also here: values of a type as their scalars ("leaves"), in the order of the state's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from reassure.spec.frontend.introspection import Refused
from reassure.spec.frontend.ir import BOOL, Graph, Node
from reassure.spec.language.keys import TupleType
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    ANY,
    RECORD_BITS,
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
    bits_of,
    key_name,
    part_path,
    unbounded,
)
from reassure.spec.language.vocabulary import Action, Property


class Mismatch(Exception):
    """Two values that cannot be combined: compared, or be the two outcomes of a choice."""


@dataclass(frozen=True, eq=False)
class Sym:
    """A symbolic value."""


@dataclass(frozen=True, eq=False)
class Scalar(Sym):
    """A value that is one node."""

    node: Node

    @property
    def type(self) -> Type:
        """The type of the node."""
        return self.node.type


@dataclass(frozen=True, eq=False)
class Empty(Sym):
    """`frozenset()` or `()` before anything says what it is empty of."""

    sequence: bool


@dataclass(frozen=True, eq=False)
class Record(Sym):
    """An instance of a dataclass of the model."""

    cls: type
    fields: dict[str, Sym]


@dataclass(frozen=True, eq=False)
class Tuple(Sym):
    """A tuple of values of several kinds, or of numbers, or one that a state holds.

    One of ids, enum members or bools of one kind that is written there is a sequence.
    """

    items: tuple[Sym, ...]


@dataclass(frozen=True, eq=False)
class Columns(Sym):
    """A sequence of records or numbers. places: whether there is an item, and the item, which means nothing if not.

    A place has an item only if the one before has.
    """

    places: tuple[tuple[Node, Sym], ...]


@dataclass(frozen=True, eq=False)
class NumberSet(Sym):
    """A set of numbers. members: each number that may be in it, ascending, and whether it is."""

    members: tuple[tuple[int, Node], ...]


@dataclass(frozen=True, eq=False)
class Option(Sym):
    """A value that may be None. value: None for the constant None."""

    present: Node
    value: Sym | None


@dataclass(frozen=True, eq=False)
class MapOf(Sym):
    """A total map: a value for each key, in the order of the keys' type.

    From a sort of any number of members: one value, in which `Graph.key` stands for the key.
    """

    key: Type
    values: tuple[Sym, ...]


class Excess(NamedTuple):
    """A bound that a value may leave: the path to it, when it does, and whether the bound is a declared limit."""

    path: str
    condition: Node
    declared: bool


@dataclass(frozen=True, eq=False)
class Bag(Sym):
    """A set of records. slots: descending; an occupied one is 1 + the packed record, empty ones (0) come last.

    A record that is out of its bounds cannot be packed. `excess` says when the set has one: then its slots mean
    nothing, so that nobody may look into it before it comes to lie in a state, where it is clipped.
    """

    item: RecordType
    slots: tuple[Node, ...]
    excess: tuple[Excess, ...] = ()

    def looked_into(self) -> tuple[Node, ...]:
        """The slots, for whoever looks into the set; `Mismatch` where a record in it may be out of its bounds."""
        if self.excess:
            paths = ", ".join(dict.fromkeys(path.removeprefix("[].") for path, _, _ in self.excess))
            what = f"a {self.item} in this set may be out of its bounds ({paths})"
            raise Mismatch(f"{what}: bound the value before it is put in, or look into the set before")
        return self.slots


@dataclass(frozen=True, eq=False)
class Loose(Sym):
    """A display or comprehension of records, not packed yet: the records whose condition holds."""

    members: tuple[tuple[Node, Record], ...]


@dataclass(frozen=True, eq=False)
class Static(Sym):
    """A Python object known now: configuration, function, class, module."""

    value: Any


@dataclass(frozen=True, eq=False)
class Poison(Sym):
    """The result of something refused; what is built on it is not refused again."""


POISON = Poison()


@dataclass(frozen=True, eq=False)
class Unsettled(Sym):
    """What a variable is where its value would depend on the order of a set: it is refused where it is read."""

    construct: str
    remedy: str


def is_incomplete(value: Sym) -> bool:
    """Whether a value, or a part of it, was refused or left out."""
    if isinstance(value, Record):
        return any(map(is_incomplete, value.fields.values()))
    if isinstance(value, MapOf):
        return any(map(is_incomplete, value.values))
    if isinstance(value, Tuple):
        return any(map(is_incomplete, value.items))
    if isinstance(value, Columns):
        return any(is_incomplete(item) for _, item in value.places)
    if isinstance(value, Option) and value.value is not None:
        return is_incomplete(value.value)
    return isinstance(value, Poison)


def typed_parts(value: Record | Tuple, kind: RecordType) -> Iterator[tuple[str, Sym, Type]]:
    """The fields of a record of a type, or the places of a tuple of one: the name, the value and the type of each."""
    values = value.items if isinstance(value, Tuple) else [value.fields[name] for name, _ in kind.fields]
    return ((name, part, inner) for part, (name, inner) in zip(values, kind.fields, strict=True))


def map_of(key: Type, values: tuple[Sym, ...]) -> MapOf:
    """The map with these values; `Mismatch` for one from a sort of any number of members to such a one."""
    if unbounded(key) and any(_has_map(value, key) for value in values):
        raise Mismatch(f"a map from {key} to maps from {key}, of which there may be any number")
    return MapOf(key, values)


def _has_map(value: Sym, key: Type) -> bool:
    """Whether there is a map with such keys within a value."""
    if isinstance(value, MapOf):
        return value.key == key or any(_has_map(v, key) for v in value.values)
    if isinstance(value, Record):
        return any(_has_map(v, key) for v in value.fields.values())
    if isinstance(value, Tuple):
        return any(_has_map(v, key) for v in value.items)
    return isinstance(value, Option) and value.value is not None and _has_map(value.value, key)


def optional(graph: Graph, value: Sym) -> Option:
    """The value as one that may be None."""
    return value if isinstance(value, Option) else Option(graph.true, value)


def interval(node: Node) -> IntType:
    """The interval of an int's node."""
    assert isinstance(node.type, IntType)
    return node.type


def comparable(a: Type, b: Type) -> bool:
    """Whether two scalars are of one sort."""
    if isinstance(a, IntType) and isinstance(b, IntType):
        return True
    if isinstance(a, SeqType) and isinstance(b, SeqType):
        return comparable(a.item, b.item)
    return a == b


def describe(value: Sym) -> str:
    """A value's type, for messages; raises `Refused` of something refused, of which there is nothing more to say."""
    if isinstance(value, Scalar):
        return "an int" if isinstance(value.type, IntType) else str(value.type)
    if isinstance(value, Record):
        return value.cls.__name__
    if isinstance(value, Tuple):
        return f"a tuple ({', '.join(map(describe, value.items))})"
    if isinstance(value, Columns):
        return f"a sequence of {describe(value.places[0][1])}" if value.places else "an empty tuple"
    if isinstance(value, Option):
        return "None" if value.value is None else f"{describe(value.value)} | None"
    if isinstance(value, Bag):
        return f"a set of {value.item}"
    if isinstance(value, NumberSet):
        return "a set of numbers"
    if isinstance(value, Loose):
        return f"a set of {value.members[0][1].cls.__name__}"
    if isinstance(value, MapOf):
        return f"a map from {value.key}"
    if isinstance(value, Empty):
        return "an empty tuple" if value.sequence else "an empty set"
    if isinstance(value, Static):
        return _describe_object(value.value)
    raise Refused


def conversion(have: Sym, need: Sym | Type) -> str:
    """What to write where an id stands for a number, a number for an id, or a sequence for a tuple, as the end of a
    message; else nothing."""
    if isinstance(need, TupleType) and isinstance(have, Columns | Scalar):
        if isinstance(have, Columns) or (isinstance(have.type, SeqType) and have.node.op not in ("seq_of", "const")):
            return f": write its items: `({', '.join(f'x{name}' for name, _ in need.fields)})`"
        return ""
    (one, one_has_items), (other, other_has_items) = _id_or_number(have), _id_or_number(need)
    if one_has_items == other_has_items and isinstance(one, IdType) and isinstance(other, IntType):
        return ": write `int(id)` for its number"
    if one_has_items == other_has_items and isinstance(one, IntType) and isinstance(other, IdType):
        return f": write `{other}(n)` for the id of a number"
    return ""


def _id_or_number(value: Sym | Type) -> tuple[Type | None, bool]:
    """The type of an id or a number, or of the items of a set or sequence, and whether it is of items."""
    if isinstance(value, Option) and value.value is not None:
        return _id_or_number(value.value)
    if isinstance(value, NumberSet):
        return IntType(0, 0), True
    kind = value.type if isinstance(value, Scalar) else value
    if isinstance(kind, OptionType):
        kind = kind.inner
    if isinstance(kind, SetType | SeqType | NumbersType):
        return kind.item, True
    return (kind, False) if isinstance(kind, Type) else (None, False)


def _describe_object(value: Any) -> str:
    """A Python object: by its name if it has one, for a text that is the same in each run."""
    if isinstance(value, Action | Property):
        return f"the {'action' if isinstance(value, Action) else 'property'} {value.name}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if hasattr(value, "__name__"):
        return f"the Python object {value.__name__!r}"
    if isinstance(value, str | bytes | float | complex | None):
        return f"the Python object {value!r}"
    return f"a Python object of the class {type(value).__name__}"


@dataclass(frozen=True)
class RefusedType(Type):
    """Stands for a type that is refused: its values are `POISON`."""

    count = 1


MakeLeaf = Callable[[str, Type], Node]
"""The node of a scalar, from its path within the value and its type."""


def slot_type(item: RecordType) -> IntType:
    """The type of a slot of a set of records: 0 where it is empty, else 1 + the packed record."""
    bits = bits_of(item)
    return IntType(0, 1 << bits if bits <= RECORD_BITS else ANY)


def scalar(kind: Type) -> bool:
    """Whether values of the type are one node (and not taken apart)."""
    one = isinstance(kind, BoolType | IntType | EnumType | IdType | SetType | SeqType)
    return one and not isinstance(kind, NumbersType)


def of_type(g: Graph, kind: Type, leaf: MakeLeaf, path: str = "") -> Sym:
    """A value of a type, its scalars made by `leaf`; `Mismatch` for a type that is not a model's.

    A map from a sort of any number of members has one scalar for each of its values: a table.
    """
    if scalar(kind):
        return Scalar(leaf(path, kind))
    if isinstance(kind, RefusedType):
        return POISON
    if isinstance(kind, RecordType):
        parts = {name: of_type(g, inner, leaf, part_path(path, name)) for name, inner in kind.fields}
        return Tuple(tuple(parts.values())) if isinstance(kind, TupleType) else Record(kind.cls, parts)
    if isinstance(kind, OptionType):
        return Option(leaf(path + "?", BOOL), of_type(g, kind.inner, leaf, path))
    if isinstance(kind, MapType) and unbounded(kind.key):
        key = g.key(kind.key)

        def entry(inner_path: str, inner: Type) -> Node:
            return g.at(leaf(inner_path, MapType(kind.key, inner)), key)

        return map_of(kind.key, (of_type(g, kind.value, entry, f"{path}[*]"),))
    if isinstance(kind, MapType):
        names = [key_name(key) for key in kind.key.values()]
        return MapOf(kind.key, tuple(of_type(g, kind.value, leaf, f"{path}[{name}]") for name in names))
    if isinstance(kind, ColumnsType):
        places = (of_type(g, kind.place, leaf, f"{path}[{i}]") for i in range(kind.length))
        return Columns(tuple((p.present, p.value) for p in places if isinstance(p, Option) and p.value is not None))
    if isinstance(kind, NumbersType):
        return NumberSet(tuple((number, leaf(f"{path}[{number}]", BOOL)) for number in kind.item.values()))
    if isinstance(kind, BagType):
        slot = slot_type(kind.item)
        return Bag(kind.item, tuple(leaf(f"{path}#{i}", slot) for i in range(kind.size)))
    raise Mismatch(f"no symbolic value of {kind}")


def scalar_leaves(kind: Type, path: str = "") -> list[tuple[str, Type]]:
    """The path and the type of each scalar of a type, in the order of the layout. path: of the value of the type."""
    scalars: list[tuple[str, Type]] = []

    def leaf(leaf_path: str, leaf_type: Type) -> Node:
        scalars.append((leaf_path, leaf_type))
        return g.var(leaf_path, leaf_type)

    g = Graph()
    of_type(g, kind, leaf, path)
    return scalars


def bags(kind: Type, path: str = "") -> list[tuple[str, BagType]]:
    """The sets of records of a type, each with its path."""
    if isinstance(kind, RecordType):
        return [b for name, inner in kind.fields for b in bags(inner, part_path(path, name))]
    if isinstance(kind, OptionType):
        return bags(kind.inner, path)
    if isinstance(kind, ColumnsType):
        return [b for i in range(kind.length) for b in bags(kind.item, f"{path}[{i}]")]
    if isinstance(kind, MapType) and not unbounded(kind.key):
        return [b for key in kind.key.values() for b in bags(kind.value, f"{path}[{key_name(key)}]")]
    return [(path, kind)] if isinstance(kind, BagType) else []


def refuse_inner_bags(kind: Type) -> None:
    """Raises `Mismatch` for sets of records in sets of records or in maps from any number of ids: they have no
    translation for any number."""
    if isinstance(kind, ColumnsType):
        raise Mismatch(f"a {kind}, which has no translation for any number")
    if isinstance(kind, MapType) and unbounded(kind.key) and bags(kind.value):
        raise Mismatch(f"a {kind}, which has sets of records, of which there may be any number")
    for inner in _within(kind):
        refuse_inner_bags(inner)
    for _, bag in bags(kind):
        if bags(bag.item):
            raise Mismatch(f"a set of {bag.item}, which has sets of records itself, of which there may be any number")


def _within(kind: Type) -> list[Type]:
    """The types of the parts of a record, an optional or a map."""
    if isinstance(kind, RecordType):
        return [inner for _, inner in kind.fields]
    if isinstance(kind, OptionType):
        return [kind.inner]
    return [kind.value] if isinstance(kind, MapType) else []


def zero(g: Graph, kind: Type) -> Node:
    """The constant that an absent optional has in a scalar leaf: the one that is stored as 0."""
    if isinstance(kind, BoolType):
        return g.false
    if isinstance(kind, SeqType):
        return g.const((), SeqType(kind.item, 0))
    if isinstance(kind, IntType):
        return g.num(kind.low)
    if isinstance(kind, MapType):
        return g.table(kind.key, zero(g, kind.value))
    return g.const(0, kind)


def nothing(g: Graph, kind: Type) -> Sym:
    """The value that stands for an absent optional of a type: zeros."""
    return of_type(g, kind, lambda _, leaf_type: zero(g, leaf_type))


def leaves(g: Graph, value: Sym, kind: Type) -> Iterator[Node]:
    """Scalars of a fitted value in layout order.

    What an absent optional holds is zero, so that equal values are packed equally. `POISON` is zero too: whether
    something is refused is asked elsewhere.
    """
    if isinstance(kind, RefusedType):
        return
    if isinstance(value, Scalar):
        yield value.node
    elif isinstance(value, Record | Tuple) and isinstance(kind, RecordType):
        for _, part, inner in typed_parts(value, kind):
            yield from leaves(g, part, inner)
    elif isinstance(value, MapOf) and isinstance(kind, MapType) and unbounded(kind.key):
        for node in leaves(g, value.values[0], kind.value):
            yield g.table(kind.key, node)
    elif isinstance(value, MapOf) and isinstance(kind, MapType):
        for part in value.values:
            yield from leaves(g, part, kind.value)
    elif isinstance(value, Bag) and isinstance(kind, BagType):
        yield from value.slots[: kind.size]
    elif isinstance(value, NumberSet) and isinstance(kind, NumbersType):
        inside = dict(value.members)
        yield from (inside.get(number, g.false) for number in kind.item.values())
    elif isinstance(value, Columns) and isinstance(kind, ColumnsType):
        for there, item in value.places[: kind.length]:
            yield from leaves(g, Option(there, item), kind.place)
    elif isinstance(value, Option) and isinstance(kind, OptionType) and value.value is not None:
        yield value.present
        zeros = leaves(g, nothing(g, kind.inner), kind.inner)
        for node, zero_node in zip(leaves(g, value.value, kind.inner), zeros, strict=True):
            zero_if_absent = _zero_if_absent(g, node, value.present, zero_node)
            yield node if zero_if_absent else g.ite(value.present, node, zero_node)
    elif isinstance(value, Poison):  # of a model in which nothing is refused: no run gets here
        yield from leaves(g, nothing(g, kind), kind)
    else:
        raise Mismatch(f"{describe(value)} is not a value of {kind}")


def _zero_if_absent(g: Graph, node: Node, present: Node, zero_node: Node) -> bool:
    """Whether a leaf is zero already where the optional is absent: it is one of a state or a parameter, whose type
    has the same zero."""
    return (
        node.op in ("var", "param")
        and node.op == present.op
        and _is_under(_path(node), _path(present))
        and zero(g, node.type) is zero_node
    )


def _is_under(path: str, option: str) -> bool:
    return path == option or (path.startswith(option) and path[len(option)] in ".[")


def _path(node: Node) -> str:
    return str(node.data).replace("?", "")
