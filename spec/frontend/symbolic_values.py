"""Symbolic values: what an expression of a model is while it is elaborated into the graph of `spec.frontend.ir`.

A record is its fields, an optional is *present?* and a value, a map is one value per key, a message set is its slots;
only scalars are nodes.
One module, since most operations have a case for every kind of value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from reassure.spec.frontend.ir import BOOL, Graph, Node, scalar
from reassure.spec.language.annotations import record_type, resolve
from reassure.spec.language.types import (
    RECORD_BITS,
    BagType,
    BoolType,
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
    limits,
)
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import Action, Initial, Model, Property, Terminal


class Mismatch(Exception):
    """Two values that cannot meet (be compared, or be the two outcomes of a choice)."""


@dataclass(frozen=True, eq=False)
class Sym:
    """A symbolic value."""


@dataclass(frozen=True, eq=False)
class Scalar(Sym):
    node: Node

    @property
    def type(self) -> Type:
        return self.node.type


@dataclass(frozen=True, eq=False)
class Empty(Sym):
    """`frozenset()` or `()` before anything says what it is empty of."""

    sequence: bool


@dataclass(frozen=True, eq=False)
class Record(Sym):
    cls: type
    fields: dict[str, Sym]


@dataclass(frozen=True, eq=False)
class Option(Sym):
    """`value` is None for the constant None."""

    present: Node
    value: Sym | None


@dataclass(frozen=True, eq=False)
class MapOf(Sym):
    key: Type
    values: tuple[Sym, ...]


Excess = tuple[str, Node, bool]
"""A bound that a value may leave: the path to it, the condition under which it does, whether the bound is declared."""


@dataclass(frozen=True, eq=False)
class Bag(Sym):
    """Slots descending: 1 + packed record, empty ones (0) last.

    A record that is out of its bounds cannot be packed. `excess` says when the set has one: then its slots mean
    nothing, so that nobody may look into it before it comes to lie in a state, where it is clipped.
    """

    item: RecordType
    slots: tuple[Node, ...]
    excess: tuple[Excess, ...] = ()


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


class Symbols:
    """Operations on symbolic values over one graph and one configuration."""

    def __init__(self, graph: Graph, config: Any) -> None:
        self.g = graph
        self.config = config
        self._records: dict[type, RecordType] = {}

    def record_type(self, cls: type) -> RecordType:
        if cls not in self._records:
            self._records[cls] = record_type(cls, self.config)
        return self._records[cls]

    # -- making ---------------------------------------------------------------------------------

    def of_type(self, kind: Type, leaf: Callable[[str, Type], Node], path: str = "") -> Sym:
        """A value of `kind` whose scalars are made by `leaf(path, type)`."""
        if scalar(kind):
            return Scalar(leaf(path, kind))
        if isinstance(kind, RecordType):
            dot = path + "." if path else ""
            return Record(kind.cls, {n: self.of_type(t, leaf, dot + n) for n, t in kind.fields})
        if isinstance(kind, OptionType):
            return Option(leaf(path + "?", BOOL), self.of_type(kind.inner, leaf, path))
        if isinstance(kind, MapType):
            names = [key_name(k) for k in kind.key.values()]
            return MapOf(kind.key, tuple(self.of_type(kind.value, leaf, f"{path}[{n}]") for n in names))
        if isinstance(kind, BagType):
            slot = IntType(0, 1 << bits_of(kind.item))
            return Bag(kind.item, tuple(leaf(f"{path}#{i}", slot) for i in range(kind.size)))
        raise Mismatch(f"no symbolic value of {kind}")

    def lift(self, value: Any) -> Sym:
        """The symbolic constant for a Python value; anything that is no value of a model stays static."""
        g = self.g
        if value is True or value is False:
            return Scalar(g.truth(value))
        if value is None:
            return Option(g.false, None)
        if isinstance(value, Id):
            kind = resolve(type(value), self.config)
            found = kind.misfit(value)
            if found is not None:
                raise Mismatch(found.message)
            return Scalar(g.const(int(value) - value.first, kind))
        if type(value) is int:
            return Scalar(g.num(value))
        if isinstance(value, Enum):
            return Scalar(g.const(list(type(value)).index(value), EnumType(type(value))))
        if isinstance(value, frozenset):
            return self.set_of([(g.true, self.lift(v)) for v in sorted(value, key=repr)])
        if isinstance(value, tuple):
            return self.sequence([self.lift(v) for v in value])
        if isinstance(value, Map):
            pairs = list(value.pairs())
            kind = resolve(type(pairs[0][0]), self.config)
            return MapOf(kind, tuple(self.lift(value[k]) for k in kind.values()))
        named = isinstance(value, Action | Initial | Model | Property | Terminal | type)
        if hasattr(type(value), "__dataclass_fields__") and value is not self.config and not named:
            return Record(type(value), {f.name: self.lift(getattr(value, f.name)) for f in fields(value)})
        return Static(value)

    def sequence(self, values: list[Sym]) -> Sym:
        if not values:
            return Empty(True)
        nodes = [self.index(v) for v in values]
        kind = nodes[0].type
        if any(n.type != kind for n in nodes) or not isinstance(kind, EnumType | IdType | BoolType):
            raise Mismatch("a sequence's items are ids, enum members or bools, all of one sort")
        args = tuple(nodes)
        return Scalar(self.g.op("seq_of", SeqType(kind, len(args)), args))

    def index(self, value: Sym) -> Node:
        """The node of a value that can be an item of a set or a sequence."""
        if isinstance(value, Scalar) and isinstance(value.type, BoolType | EnumType | IdType):
            if isinstance(value.type, BoolType) and value.node.op == "const":
                return self.g.const(int(value.node.data), value.type)
            return value.node
        raise Mismatch("not an id, enum member or bool")

    def set_of(self, members: list[tuple[Node, Sym]]) -> Sym:
        """The set of the values whose condition holds."""
        if not members:
            return Empty(False)
        if isinstance(members[0][1], Record):
            records = [(c, v) for c, v in members if isinstance(v, Record) and v.cls is members[0][1].cls]
            if len(records) < len(members):
                raise Mismatch("records of several classes in one set")
            return Loose(tuple(records))
        result: Node | None = None
        for condition, value in members:
            one = self.g.single(self.index(value))
            part = self.g.ite(condition, one, self.g.const(0, one.type))
            if result is not None and result.type != part.type:
                raise Mismatch(f"{result.type} and {part.type} in one set")
            result = part if result is None else self.g.union(result, part)
        assert result is not None
        return Scalar(result)

    # -- message sets ---------------------------------------------------------------------------

    def leaves(self, value: Sym, kind: Type) -> Iterator[Node]:
        """Scalars of a fitted value in layout order; what an absent optional holds is zero, so that equal values
        are packed equally."""
        if isinstance(value, Scalar):
            yield value.node
        elif isinstance(value, Record) and isinstance(kind, RecordType):
            for name, inner in kind.fields:
                yield from self.leaves(value.fields[name], inner)
        elif isinstance(value, MapOf) and isinstance(kind, MapType):
            for part in value.values:
                yield from self.leaves(part, kind.value)
        elif isinstance(value, Bag) and isinstance(kind, BagType):
            yield from value.slots[: kind.size]
        elif isinstance(value, Option) and isinstance(kind, OptionType) and value.value is not None:
            yield value.present
            nothing = self.leaves(self.of_type(kind.inner, lambda _, t: zero(self.g, t)), kind.inner)
            for node, none in zip(self.leaves(value.value, kind.inner), nothing, strict=True):
                # What an absent optional of a state or a parameter holds is zero already, if its type is the same.
                same = (
                    node.op in ("var", "param")
                    and node.op == value.present.op
                    and _path(node) == _path(value.present)
                    and zero(self.g, node.type) is none
                )
                yield node if same else self.g.ite(value.present, node, none)
        else:
            raise Mismatch(f"{describe(value)} is no value of {kind}")

    def pack_slot(self, value: Record, condition: Node) -> tuple[Node, tuple[Excess, ...]]:
        """The occupied slot that holds a record, and what says that if `condition` it is out of a bound."""
        kind = self.record_type(value.cls)
        if bits_of(kind) > RECORD_BITS:
            raise Mismatch(f"{kind} takes {bits_of(kind)} bits; a record in a set has at most {RECORD_BITS}")
        fitted = self.fit(value, kind)
        found = [(p, self.g.and_(condition, out), d) for p, out, d in self.excess(fitted, kind, "[]")]
        packed = self.g.op("pack", kind, tuple(self.leaves(fitted, kind)))
        slot = self.g.op("slot", IntType(1, 1 << bits_of(kind)), (packed,))
        return slot, tuple(f for f in found if f[1] is not self.g.false)

    def looked_into(self, bag: Bag) -> Bag:
        """A set that somebody looks into; `Mismatch` where a record in it may be out of its bounds."""
        if bag.excess:
            where = ", ".join(dict.fromkeys(path.removeprefix("[].") for path, _, _ in bag.excess))
            what = f"a {bag.item} in this set may be out of its bounds ({where})"
            raise Mismatch(f"{what}: bound the value before it is put in, or look into the set before")
        return bag

    def as_bag(self, value: Sym) -> Sym:
        """A display of records packed into slots; anything else unchanged."""
        if not isinstance(value, Loose):
            return value
        bag: Bag | None = None
        for condition, record in value.members:
            bag = self.with_record(bag, record, condition)
        assert bag is not None
        return bag

    def with_record(self, bag: Bag | None, record: Record, condition: Node) -> Bag:
        """The set with one more record if `condition`."""
        slot, out = self.pack_slot(record, condition)
        return self.insert(bag, slot, self.record_type(record.cls), condition, out)

    def among(self, record: Record, value: Sym) -> Node:
        """Whether a record is in a message set or a display of records."""
        g = self.g
        if isinstance(value, Empty):
            return g.false
        if isinstance(value, Loose):
            return g.or_(*(g.and_(c, self.equal(record, m)) for c, m in value.members))
        if isinstance(value, Bag):
            members = [(self.occupied(s), self.unpack_slot(value.item, s)) for s in self.looked_into(value).slots]
            return g.or_(*(g.and_(there, self.equal(record, member)) for there, member in members))
        raise Mismatch(f"{describe(value)} is no set of records")

    def unpack_slot(self, item: RecordType, slot: Node) -> Sym:
        """The record in a slot known not to be empty."""
        record = slot.args[0] if slot.op == "slot" else self.g.op("record", item, (slot,))
        counter = iter(range(1 << 20))

        def leaf(_: str, kind: Type) -> Node:
            return self.g.op("unpack", kind, (record,), next(counter))

        return self.of_type(item, leaf)

    def insert(
        self, bag: Bag | None, slot: Node, item: RecordType, condition: Node, out: tuple[Excess, ...] = ()
    ) -> Bag:
        """The set with one more record if `condition`, which is out of its bounds as `out` says.

        It gets one more slot than it had.
        """
        g = self.g
        x = g.ite(condition, slot, g.num(0))
        if bag is None:
            return Bag(item, (x,), out)
        old = bag.slots
        present = g.or_(*(g.eq(s, x) for s in old))
        x = g.ite(present, g.num(0), x)
        new: list[Node] = []
        for i in range(len(old) + 1):
            here = old[i] if i < len(old) else g.num(0)
            if i == 0:
                new.append(g.ite(g.lt(here, x), x, here))
            else:
                before = old[i - 1]
                new.append(g.ite(g.lt(here, x), g.ite(g.lt(before, x), before, x), here))
        return Bag(item, tuple(new), bag.excess + out)

    def keep(self, bag: Bag, conditions: list[Node]) -> Bag:
        """The set of the records in the slots whose condition holds."""
        g = self.g
        slots = [g.ite(c, s, g.num(0)) for c, s in zip(conditions, bag.slots, strict=True)]
        for _ in range(len(slots) - 1):
            for j in range(len(slots) - 1):
                hole = g.eq(slots[j], g.num(0))
                slots[j], slots[j + 1] = g.ite(hole, slots[j + 1], slots[j]), g.ite(hole, g.num(0), slots[j + 1])
        return Bag(bag.item, tuple(slots))

    def occupied(self, slot: Node) -> Node:
        return self.g.not_(self.g.eq(slot, self.g.num(0)))

    # -- meeting ----------------------------------------------------------------------------------

    def equal(self, a: Sym, b: Sym) -> Node:
        """Python's `==` of two values of a model."""
        g = self.g
        a, b = self.as_bag(a), self.as_bag(b)
        if isinstance(a, Empty) or isinstance(b, Empty):
            return self.is_empty(b if isinstance(a, Empty) else a)
        if isinstance(a, Option) or isinstance(b, Option):
            a, b = self.optional(a), self.optional(b)
            if a.value is None or b.value is None:
                return g.and_(g.not_(a.present), g.not_(b.present))
            both = g.and_(a.present, b.present, self.equal(a.value, b.value))
            return g.or_(both, g.and_(g.not_(a.present), g.not_(b.present)))
        if isinstance(a, Record) and isinstance(b, Record):
            if a.cls is not b.cls:
                raise Mismatch(f"{a.cls.__name__} is never equal to {b.cls.__name__}")
            return g.and_(*(self.equal(v, b.fields[n]) for n, v in a.fields.items()))
        if isinstance(a, MapOf) and isinstance(b, MapOf) and a.key == b.key:
            return g.and_(*(self.equal(x, y) for x, y in zip(a.values, b.values, strict=True)))
        if isinstance(a, Bag) and isinstance(b, Bag) and a.item == b.item:
            a, b = self.looked_into(a), self.looked_into(b)
            n = max(len(a.slots), len(b.slots))
            return g.and_(*(g.eq(x, y) for x, y in zip(self._padded(a, n), self._padded(b, n), strict=True)))
        if isinstance(a, Scalar) and isinstance(b, Scalar) and comparable(a.type, b.type):
            return g.eq(a.node, b.node)
        raise Mismatch(f"{describe(a)} is never equal to {describe(b)}")

    def is_empty(self, value: Sym) -> Node:
        g = self.g
        if isinstance(value, Empty):
            return g.true
        if isinstance(value, Bag):
            return g.not_(self.occupied(self.looked_into(value).slots[0]))
        if isinstance(value, Scalar) and isinstance(value.type, SetType):
            return g.eq(value.node, g.const(0, value.type))
        if isinstance(value, Scalar) and isinstance(value.type, SeqType):
            return g.eq(g.op("seq_len", IntType(0, value.type.length), (value.node,)), g.num(0))
        if isinstance(value, Option) and value.value is not None:
            return g.and_(value.present, self.is_empty(value.value))
        raise Mismatch(f"{describe(value)} is no set or sequence")

    def _padded(self, bag: Bag, n: int) -> tuple[Node, ...]:
        return bag.slots + (self.g.num(0),) * (n - len(bag.slots))

    def optional(self, value: Sym) -> Option:
        return value if isinstance(value, Option) else Option(self.g.true, value)

    def choose(self, c: Node, a: Sym, b: Sym) -> Sym:
        """`a if c else b`."""
        g = self.g
        if a is b or c is g.true:
            return self.as_bag(a)
        if c is g.false:
            return self.as_bag(b)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return POISON
        a, b = self.as_bag(a), self.as_bag(b)
        if isinstance(a, Option) or isinstance(b, Option):
            a, b = self.optional(a), self.optional(b)
            present = g.ite(c, a.present, b.present)
            if a.value is None or b.value is None:
                return Option(present, a.value if b.value is None else b.value)
            return Option(present, self.choose(c, a.value, b.value))
        if isinstance(a, Empty) and isinstance(b, Empty) and a.sequence == b.sequence:
            return a
        if isinstance(a, Empty):
            a = self.empty_like(b, a.sequence)
        if isinstance(b, Empty):
            b = self.empty_like(a, b.sequence)
        if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
            return Record(a.cls, {n: self.choose(c, v, b.fields[n]) for n, v in a.fields.items()})
        if isinstance(a, MapOf) and isinstance(b, MapOf) and a.key == b.key:
            return MapOf(a.key, tuple(self.choose(c, x, y) for x, y in zip(a.values, b.values, strict=True)))
        if isinstance(a, Bag) and isinstance(b, Bag) and a.item == b.item:
            n = max(len(a.slots), len(b.slots))
            pairs = zip(self._padded(a, n), self._padded(b, n), strict=True)
            out = [(p, g.and_(when, x), d) for bag, when in ((a, c), (b, g.not_(c))) for p, x, d in bag.excess]
            return Bag(a.item, tuple(g.ite(c, x, y) for x, y in pairs), tuple(o for o in out if o[1] is not g.false))
        if isinstance(a, Scalar) and isinstance(b, Scalar) and comparable(a.type, b.type):
            return Scalar(g.ite(c, a.node, b.node))
        raise Mismatch(f"{describe(a)} here and {describe(b)} there")

    def empty_like(self, other: Sym, sequence: bool) -> Sym:
        """The empty set or sequence of the same type as `other`."""
        if isinstance(other, Bag) and not sequence:
            return Bag(other.item, (self.g.num(0),))
        if isinstance(other, Scalar) and isinstance(other.type, SeqType if sequence else SetType):
            return Scalar(zero(self.g, other.type))
        raise Mismatch(f"an empty {'tuple' if sequence else 'set'} and {describe(other)}")

    def fit(self, value: Sym, kind: Type) -> Sym:
        """`value` in the shape of `kind` (None and empty sets made concrete); `Mismatch` if it cannot be.

        Intervals, sequence lengths and slots may still exceed the type: that is what *clipped* is about.
        """
        g = self.g
        if isinstance(value, Poison):
            return value
        value = self.as_bag(value)
        if isinstance(value, Empty):
            if isinstance(kind, BagType) and not value.sequence:
                return Bag(kind.item, (g.num(0),) * kind.size)
            if isinstance(kind, SeqType if value.sequence else SetType):
                return Scalar(zero(g, kind))
        if isinstance(kind, OptionType):
            option = self.optional(value)
            if option.value is None:
                return Option(g.false, self.of_type(kind.inner, lambda _, t: zero(g, t)))
            return Option(option.present, self.fit(option.value, kind.inner))
        if isinstance(kind, RecordType) and isinstance(value, Record) and value.cls is kind.cls:
            return Record(kind.cls, {n: self.fit(value.fields[n], t) for n, t in kind.fields})
        if isinstance(kind, MapType) and isinstance(value, MapOf) and value.key == kind.key:
            return MapOf(kind.key, tuple(self.fit(v, kind.value) for v in value.values))
        if isinstance(kind, BagType) and isinstance(value, Bag) and value.item == kind.item:
            return Bag(kind.item, self._padded(value, kind.size), value.excess)
        if isinstance(value, Scalar) and comparable(value.type, kind):
            return value
        raise Mismatch(f"{describe(value)} where {kind} is needed")

    def excess(self, value: Sym, kind: Type, path: str) -> Iterator[Excess]:
        """Conditions under which a fitted value leaves its type, in the order in which `Type.misfit` looks."""
        g = self.g
        if isinstance(kind, RecordType) and isinstance(value, Record):
            for name, inner in kind.fields:
                yield from self.excess(value.fields[name], inner, f"{path}.{name}" if path else name)
        elif isinstance(kind, OptionType) and isinstance(value, Option) and value.value is not None:
            for where, condition, declared in self.excess(value.value, kind.inner, path):
                yield where, g.and_(value.present, condition), declared
        elif isinstance(kind, MapType) and isinstance(value, MapOf):
            for key, part in zip(kind.key.values(), value.values, strict=True):
                yield from self.excess(part, kind.value, f"{path}[{key_name(key)}]")
        elif isinstance(kind, BagType) and isinstance(value, Bag):
            for within in limits(kind.item, "[]"):
                for out, condition, declared in value.excess:
                    if out == within:
                        yield path + out, condition, declared
            if len(value.slots) > kind.size:
                yield path, self.occupied(value.slots[kind.size]), kind.declared
        elif isinstance(value, Scalar) and isinstance(kind, IntType) and isinstance(value.type, IntType):
            low, high = value.type.low < kind.low, value.type.high > kind.high
            too_low = g.lt(value.node, g.num(kind.low)) if low else g.false
            too_high = g.lt(g.num(kind.high), value.node) if high else g.false
            condition = g.or_(too_low, too_high)
            if condition is not g.false:
                yield path, condition, kind.declared
        elif isinstance(value, Scalar) and isinstance(kind, SeqType) and isinstance(value.type, SeqType):
            if value.type.length > kind.length:
                length = g.op("seq_len", IntType(0, value.type.length), (value.node,))
                condition = g.lt(g.num(kind.length), length)
                if condition is not g.false:
                    yield path, condition, kind.declared


def _path(node: Node) -> str:
    return str(node.data).replace("?", "")


def zero(g: Graph, kind: Type) -> Node:
    """The constant that an absent optional has in a scalar leaf: the one that is stored as 0."""
    if isinstance(kind, BoolType):
        return g.false
    if isinstance(kind, SeqType):
        return g.const((), SeqType(kind.item, 0))
    if isinstance(kind, IntType):
        return g.num(kind.low)
    return g.const(0, kind)


def comparable(a: Type, b: Type) -> bool:
    """Whether two scalars are of one sort."""
    if isinstance(a, IntType) and isinstance(b, IntType):
        return True
    if isinstance(a, SeqType) and isinstance(b, SeqType):
        return comparable(a.item, b.item)
    return a == b


def describe(value: Sym) -> str:
    """A value's type, for messages."""
    if isinstance(value, Scalar):
        return "an int" if isinstance(value.type, IntType) else str(value.type)
    if isinstance(value, Record):
        return value.cls.__name__
    if isinstance(value, Option):
        return "None" if value.value is None else f"{describe(value.value)} | None"
    if isinstance(value, Bag):
        return f"a set of {value.item}"
    if isinstance(value, Loose):
        return f"a set of {value.members[0][1].cls.__name__}"
    if isinstance(value, MapOf):
        return f"a map from {value.key}"
    if isinstance(value, Empty):
        return "an empty tuple" if value.sequence else "an empty set"
    if isinstance(value, Static):
        return f"the Python object {getattr(value.value, '__name__', value.value)!r}"
    return "something refused"
