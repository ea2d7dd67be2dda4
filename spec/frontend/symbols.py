"""Operations on symbolic values that need the configuration: it says how large the types of records are.

Also here: checks that a value stays in the bounds of its type, and a number or a sequence in the engines' words.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

from reassure.spec.frontend import columns, number_sets
from reassure.spec.frontend.introspection import Refusal, cached_hints
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.lowered_model import Telling, ToldApart
from reassure.spec.frontend.sets_and_sequences import (
    alike,
    as_sequence,
    empty_like,
    in_place_of_equality,
    insert,
    is_empty,
    items_of,
    occupied,
    padded,
    seq_len,
    sequence_of,
    set_of,
    unpack_slot,
)
from reassure.spec.frontend.symbolic_values import (
    POISON,
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
    Unsettled,
    comparable,
    conversion,
    describe,
    leaves,
    map_of,
    nothing,
    optional,
    slot_type,
    typed_parts,
)
from reassure.spec.language.annotations import SizeIsFree, record_type, resolve
from reassure.spec.language.keys import TupleType, key_parts
from reassure.spec.language.number_sets import NumbersType
from reassure.spec.language.types import (
    ANY,
    NUMBER,
    RECORD_BITS,
    SEQUENCE_BITS,
    BagType,
    ColumnsType,
    DomainError,
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
    part_path,
    unbounded,
)
from reassure.spec.language.values import Id, Map
from reassure.spec.language.vocabulary import Action, Initial, Model, Property, Terminal


def excess(g: Graph, value: Sym, kind: Type, path: str) -> Iterator[Excess]:
    """The bounds that a fitted value may leave, in the order in which `Type.misfit` looks."""
    if isinstance(kind, RecordType) and isinstance(value, Record | Tuple):
        for name, part, inner in typed_parts(value, kind):
            yield from excess(g, part, inner, part_path(path, name))
    elif isinstance(kind, OptionType) and isinstance(value, Option) and value.value is not None:
        for inner_path, condition, declared in excess(g, value.value, kind.inner, path):
            yield Excess(inner_path, g.and_(value.present, condition), declared)
    elif isinstance(kind, MapType) and isinstance(value, MapOf) and unbounded(kind.key):
        for out, condition, declared in excess(g, value.values[0], kind.value, f"{path}[*]"):
            yield Excess(out, g.not_(g.every(kind.key, g.not_(condition))), declared)
    elif isinstance(kind, MapType) and isinstance(value, MapOf):
        for key, part in zip(kind.key.values(), value.values, strict=True):
            yield from excess(g, part, kind.value, f"{path}[{key_name(key)}]")
    elif isinstance(kind, ColumnsType) and isinstance(value, Columns):
        if len(value.places) > kind.length:
            yield Excess(path, value.places[kind.length][0], kind.declared)
        for i, (there, item) in enumerate(value.places[: kind.length]):
            for inner_path, condition, declared in excess(g, item, kind.item, f"{path}[{i}]"):
                yield Excess(inner_path, g.and_(there, condition), declared)
    elif isinstance(kind, BagType) and isinstance(value, Bag):
        for limit in limits(kind.item, "[]"):
            for out, condition, declared in value.excess:
                if out == limit:
                    yield Excess(path + out, condition, declared)
        if len(value.slots) > kind.size:
            yield Excess(path, occupied(g, value.slots[kind.size]), kind.declared)
    elif isinstance(kind, NumbersType) and isinstance(value, NumberSet):
        outside = number_sets.has_others(g, value, kind.item)
        if outside is not g.false:
            yield Excess(f"{path}[]", outside, kind.item.declared)
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


def _type_of_keys(keys: list[Any], sizes: object) -> Type:
    """The type of the keys of a constant map; `Mismatch` if they are not of one type."""
    kinds = {type(key) for key in keys}
    if kinds == {tuple} and len({len(key) for key in keys}) == 1 and len(keys[0]) > 1:
        return TupleType.of(_type_of_keys(list(column), sizes) for column in zip(*keys, strict=True))
    if kinds == {int}:
        return IntType(min(keys), max(keys))
    if len(kinds) > 1 or tuple in kinds:
        raise Mismatch("a constant map whose keys are of several types")
    return resolve(type(keys[0]), sizes)


class Symbols:
    """Makes, compares and fits symbolic values of one graph under one configuration."""

    def __init__(self, graph: Graph, config: Any, sizes: Any = None, refusals: Sequence[Refusal] = ()) -> None:
        """sizes: the configuration as types see it, if some of its numbers are free. refusals: those so far."""
        self.graph = graph
        self.refusals = refusals
        self.config = config
        self.sizes = config if sizes is None else sizes
        self._config_class: Any = type(config)
        self.told_apart: set[ToldApart] = set()
        """How the declaration that is being lowered tells ids apart."""
        self._record_types: dict[type, RecordType] = {}
        self._field_types: dict[tuple[type, str], Type | None] = {}

    def record_type(self, cls: type) -> RecordType:
        """The type of a record; `DomainError` if a field has no finite type."""
        if cls not in self._record_types:
            self._record_types[cls] = record_type(cls, self.sizes)
        return self._record_types[cls]

    def field_type(self, cls: type, name: str) -> Type | None:
        """The type of a record's field; None if it is not finite."""
        if (cls, name) not in self._field_types:
            try:
                kind = resolve(cached_hints(cls)[name], self.sizes)
            except (DomainError, SizeIsFree):
                kind = None
            self._field_types[cls, name] = kind
        return self._field_types[cls, name]

    # -- constants ------------------------------------------------------------------------------------

    def lift(self, value: Any) -> Sym:
        """The symbolic constant for a Python value; anything that is not a value of a model stays static."""
        g = self.graph
        if value is True or value is False:
            return Scalar(g.truth(value))
        if value is None:
            return Option(g.false, None)
        if isinstance(value, Id):
            kind = resolve(type(value), self.sizes)
            misfit = resolve(type(value), self.config).misfit(value)
            if misfit is not None:
                raise Mismatch(misfit.message)
            if unbounded(kind):
                self._must_exist(value)
            self.told_apart.add(ToldApart(type(value), Telling.NAME, int(value) - value.first))
            return Scalar(g.const(int(value) - value.first, kind))
        if type(value) is int:
            return Scalar(g.num(value))
        if isinstance(value, Enum):
            return Scalar(g.const(list(type(value)).index(value), EnumType(type(value))))
        if isinstance(value, frozenset):
            return set_of(g, [(g.true, self.lift(v)) for v in sorted(value, key=repr)])
        if isinstance(value, tuple):
            return sequence_of(g, [self.lift(v) for v in value])
        if isinstance(value, Map):
            pairs = list(value.pairs())
            kind = _type_of_keys([k for k, _ in pairs], self.sizes)
            for part in key_parts(kind):
                if unbounded(part):
                    raise Mismatch(f"a constant map from {kind}, of which there may be any number")
                if isinstance(part, IdType) and len({v for _, v in pairs}) > 1:
                    self.told_apart |= {ToldApart(part.sort, Telling.NAME, i) for i in range(part.count)}
            if kind.count != len(pairs) or frozenset(kind.values()) != value.keys():
                raise Mismatch(f"a constant map that lacks keys of {kind}")
            return MapOf(kind, tuple(self.lift(value[k]) for k in kind.values()))
        named = isinstance(value, Action | Initial | Model | Property | Terminal | type)
        if hasattr(type(value), "__dataclass_fields__") and value is not self.config and not named:
            return Record(type(value), {f.name: self.lift(getattr(value, f.name)) for f in fields(value)})
        return Static(value)

    def _must_exist(self, value: Id) -> None:
        """Raises `Mismatch` for an id that a configuration with fewer of them lacks."""
        size, hints = value.size, cached_hints(self._config_class)
        least = resolve(hints[str(size)], self.config) if size in hints else None
        low = least.low if isinstance(least, IntType) else 1
        if int(value) - value.first >= low:
            raise Mismatch(f"{value!r}: with {size}={low} there is none")

    # -- sets of records --------------------------------------------------------------------------------

    def pack_slot(self, value: Record, condition: Node) -> tuple[Node, tuple[Excess, ...]]:
        """The occupied slot that holds a record, and what says that if `condition` it is out of a bound."""
        g, kind = self.graph, self.record_type(value.cls)
        if self.sizes is self.config and bits_of(kind) > RECORD_BITS:
            raise Mismatch(f"{kind} takes {bits_of(kind)} bits; a record in a set has at most {RECORD_BITS}")
        fitted = self.fit(value, kind)
        out = [Excess(p, g.and_(condition, c), declared) for p, c, declared in excess(g, fitted, kind, "[]")]
        packed = g.op("pack", kind, tuple(leaves(g, fitted, kind)))
        slot = g.op("slot", IntType(1, slot_type(kind).high), (packed,))
        return slot, tuple(e for e in out if e.condition is not g.false)

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
        return insert(self.graph, bag, slot, self.record_type(record.cls), condition, out)

    def among(self, record: Record, value: Sym) -> Node:
        """Whether a record is in a set of records, packed or not, or in a sequence of records."""
        g = self.graph
        if isinstance(value, Columns):
            return columns.contains(g, self.equal, value, record)
        if isinstance(value, Empty):
            return g.false
        if isinstance(value, Loose):
            return g.or_(*(g.and_(c, self.equal(record, member)) for c, member in value.members))
        if isinstance(value, Bag):
            members = [(occupied(g, s), unpack_slot(g, value.item, s)) for s in value.looked_into()]
            return g.or_(*(g.and_(there, self.equal(record, member)) for there, member in members))
        raise Mismatch(f"{describe(value)} is not a set or sequence of records")

    def with_members(self, value: Sym, members: dict[Node, Node]) -> Sym:
        """A value with other nodes in place of bound members."""
        g = self.graph
        if isinstance(value, Scalar):
            return Scalar(g.replaced(value.node, members))
        if isinstance(value, Option):
            inner = None if value.value is None else self.with_members(value.value, members)
            return Option(g.replaced(value.present, members), inner)
        if isinstance(value, Record):
            return Record(value.cls, {n: self.with_members(v, members) for n, v in value.fields.items()})
        if isinstance(value, MapOf):
            return MapOf(value.key, tuple(self.with_members(v, members) for v in value.values))
        if isinstance(value, Tuple):
            return Tuple(tuple(self.with_members(v, members) for v in value.items))
        if isinstance(value, Columns):
            return Columns(tuple((g.replaced(c, members), self.with_members(v, members)) for c, v in value.places))
        if isinstance(value, NumberSet):
            return NumberSet(tuple((number, g.replaced(there, members)) for number, there in value.members))
        if isinstance(value, Bag):
            slots = tuple(g.replaced(slot, members) for slot in value.slots)
            out = tuple(Excess(p, g.replaced(c, members), declared) for p, c, declared in value.excess)
            return Bag(value.item, slots, out)
        if isinstance(value, Loose):
            raise Mismatch(f"{describe(value)} for each of any number of members")
        return value

    def tabulated(self, indices: list[Node], values: list[Sym]) -> MapOf:
        """The map of these values. indices: the members of the keys' type, or one that stands for all."""
        key = indices[0].type
        if unbounded(key):
            values = [self.with_members(v, {indices[0]: self.graph.key(key)}) for v in values]
        return map_of(key, tuple(values))

    # -- two values -----------------------------------------------------------------------------------

    def lacking(self, value: Sym) -> bool:
        """Whether Python never gets to a value, so that it was left out (`max` of nothing): it is refused nowhere."""
        return isinstance(value, Poison) and not self.refusals

    def equal(self, a: Sym, b: Sym) -> Node:
        """Python's `==` of two values of a model."""
        g = self.graph
        if self.lacking(a) or self.lacking(b):
            return g.false
        a, b = self.as_bag(a), self.as_bag(b)
        if isinstance(a, Empty) or isinstance(b, Empty):
            return is_empty(g, b if isinstance(a, Empty) else a)
        if isinstance(a, Option) or isinstance(b, Option):
            a, b = optional(g, a), optional(g, b)
            if a.value is None or b.value is None:
                return g.and_(g.not_(a.present), g.not_(b.present))
            both = g.and_(a.present, b.present, self.equal(a.value, b.value))
            return g.or_(both, g.and_(g.not_(a.present), g.not_(b.present)))
        if isinstance(a, Record) and isinstance(b, Record):
            if a.cls is not b.cls:
                raise Mismatch(f"{a.cls.__name__} is never equal to {b.cls.__name__}: compare their fields")
            return g.and_(*(self.equal(v, b.fields[n]) for n, v in a.fields.items()))
        a, b = alike(g, a, b)
        if isinstance(a, Tuple) and isinstance(b, Tuple):
            if len(a.items) != len(b.items):
                return g.false
            return g.and_(*(self.equal(x, y) for x, y in zip(a.items, b.items, strict=True)))
        one, other = columns.as_columns(g, a), columns.as_columns(g, b)
        if one is not None and other is not None:
            return columns.same_columns(g, self.equal, one, other)
        if isinstance(a, NumberSet) and isinstance(b, NumberSet):
            return number_sets.same_numbers(g, a, b)
        if isinstance(a, MapOf) and isinstance(b, MapOf) and a.key == b.key:
            return g.every(a.key, *(self.equal(x, y) for x, y in zip(a.values, b.values, strict=True)))
        if isinstance(a, Bag) and isinstance(b, Bag) and a.item == b.item:
            slots_a, slots_b = a.looked_into(), b.looked_into()
            n = max(len(slots_a), len(slots_b))
            return g.and_(*(g.eq(x, y) for x, y in zip(padded(g, slots_a, n), padded(g, slots_b, n), strict=True)))
        if isinstance(a, Scalar) and isinstance(b, Scalar) and comparable(a.type, b.type):
            return g.eq(a.node, b.node)
        raise Mismatch(f"{describe(a)} is never equal to {describe(b)}{conversion(a, b) or in_place_of_equality(a, b)}")

    def choose(self, condition: Node, a: Sym, b: Sym) -> Sym:
        """`a if condition else b`."""
        g = self.graph
        if a is b or condition is g.true:
            return self.as_bag(a)
        if condition is g.false:
            return self.as_bag(b)
        if isinstance(a, Unsettled) or isinstance(b, Unsettled):
            return a if isinstance(a, Unsettled) else b
        if self.lacking(a) or self.lacking(b):
            return self.as_bag(b if self.lacking(a) else a)
        if isinstance(a, Poison) or isinstance(b, Poison):
            return POISON
        a, b = self.as_bag(a), self.as_bag(b)
        if isinstance(a, Option) or isinstance(b, Option):
            a, b = optional(g, a), optional(g, b)
            present = g.ite(condition, a.present, b.present)
            if a.value is None or b.value is None:
                return Option(present, a.value if b.value is None else b.value)
            return Option(present, self.choose(condition, a.value, b.value))
        if isinstance(a, Empty) and isinstance(b, Empty) and a.sequence == b.sequence:
            return a
        if isinstance(a, Empty):
            a = empty_like(g, b, a.sequence)
        if isinstance(b, Empty):
            b = empty_like(g, a, b.sequence)
        a, b = alike(g, a, b)
        if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
            return Tuple(tuple(map(self.choose, itertools.repeat(condition), a.items, b.items)))
        if isinstance(a, Columns | Tuple) or isinstance(b, Columns | Tuple):
            one, other = columns.as_columns(g, a), columns.as_columns(g, b)
            if one is not None and other is not None:
                return columns.chosen(g, self.choose, condition, one, other)
        if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
            return Record(a.cls, {n: self.choose(condition, v, b.fields[n]) for n, v in a.fields.items()})
        if isinstance(a, MapOf) and isinstance(b, MapOf) and a.key == b.key:
            pairs = zip(a.values, b.values, strict=True)
            return MapOf(a.key, tuple(self.choose(condition, x, y) for x, y in pairs))
        if isinstance(a, Bag) and isinstance(b, Bag) and a.item == b.item:
            return self._choose_bag(condition, a, b)
        if isinstance(a, NumberSet) and isinstance(b, NumberSet):
            return number_sets.combined(g, lambda x, y: g.ite(condition, x, y), a, b)
        if isinstance(a, Scalar) and isinstance(b, Scalar) and comparable(a.type, b.type):
            return Scalar(g.ite(condition, a.node, b.node))
        raise Mismatch(f"{describe(a)} here and {describe(b)} there{conversion(a, b)}")

    def _choose_bag(self, condition: Node, a: Bag, b: Bag) -> Bag:
        g = self.graph
        n = max(len(a.slots), len(b.slots))
        pairs = zip(padded(g, a.slots, n), padded(g, b.slots, n), strict=True)
        branches = ((a, condition), (b, g.not_(condition)))
        out = [Excess(p, g.and_(taken, c), declared) for bag, taken in branches for p, c, declared in bag.excess]
        slots = tuple(g.ite(condition, x, y) for x, y in pairs)
        return Bag(a.item, slots, tuple(e for e in out if e.condition is not g.false))

    def _fit_columns(self, value: Columns, kind: ColumnsType) -> Columns:
        """The sequence with a place for each item of the type, or more."""
        g = self.graph
        places = [(there, self.fit(item, kind.item)) for there, item in value.places]
        missing = kind.length - len(places)
        return Columns((*places, *((g.false, nothing(g, kind.item)) for _ in range(missing))))

    # -- a value and a type -----------------------------------------------------------------------------

    def fit(self, value: Sym, kind: Type) -> Sym:
        """`value` in the shape of `kind` (None and empty sets made concrete); `Mismatch` if it cannot be.

        Intervals, sequence lengths and slots may still exceed the type: that is what *clipped* is about.
        """
        g = self.graph
        if isinstance(value, Poison):
            return value
        value = self.as_bag(value)
        if isinstance(kind, ColumnsType):
            sequence = columns.as_columns(g, value)
            if sequence is not None:
                return self._fit_columns(sequence, kind)
        if isinstance(value, Empty):
            if isinstance(kind, BagType) and not value.sequence:
                return Bag(kind.item, (g.num(0),) * kind.size)
            if isinstance(kind, SeqType if value.sequence else SetType):
                return nothing(g, kind)
        if isinstance(kind, OptionType):
            option = optional(g, value)
            if option.value is None:
                return Option(g.false, nothing(g, kind.inner))
            return Option(option.present, self.fit(option.value, kind.inner))
        if isinstance(kind, TupleType):
            items = items_of(g, value)
            if items is not None and len(items) == len(kind.fields):
                return Tuple(tuple(map(self.fit, items, kind.parts)))
        value = as_sequence(g, value) if isinstance(kind, SeqType) else value
        if isinstance(kind, RecordType) and isinstance(value, Record) and value.cls is kind.cls:
            return Record(kind.cls, {n: self.fit(value.fields[n], t) for n, t in kind.fields})
        if isinstance(kind, MapType) and isinstance(value, MapOf) and value.key == kind.key:
            return MapOf(kind.key, tuple(self.fit(v, kind.value) for v in value.values))
        if isinstance(kind, BagType) and isinstance(value, Bag) and value.item == kind.item:
            return Bag(kind.item, padded(g, value.slots, kind.size), value.excess)
        if isinstance(value, NumberSet) and isinstance(kind, NumbersType):
            return value
        if isinstance(value, Scalar) and comparable(value.type, kind):
            return value
        raise Mismatch(f"{describe(value)} where {kind} is needed{conversion(value, kind)}")
