"""Symbolic values: what an expression of a model is while it is lowered to the graph of `ir.py`.

A record is its fields, an optional is *present?* and a value, a map is one value for each key, a set of records is its
slots; only scalars are nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.language.types import IntType, RecordType, SeqType, Type, unbounded
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


def is_incomplete(value: Sym) -> bool:
    """Whether a value, or a part of it, was refused or left out."""
    if isinstance(value, Record):
        return any(map(is_incomplete, value.fields.values()))
    if isinstance(value, MapOf):
        return any(map(is_incomplete, value.values))
    if isinstance(value, Option) and value.value is not None:
        return is_incomplete(value.value)
    return isinstance(value, Poison)


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
        return _describe_object(value.value)
    return "something refused"


def _describe_object(value: Any) -> str:
    """A Python object: by its name if it has one, for a text that is the same in each run."""
    if isinstance(value, Action | Property):
        return f"the {'action' if isinstance(value, Action) else 'property'} {value.name}"
    if hasattr(value, "__name__"):
        return f"the Python object {value.__name__!r}"
    if isinstance(value, str | bytes | float | complex | None):
        return f"the Python object {value!r}"
    return f"a Python object of the class {type(value).__name__}"


__all__ = [
    "POISON", "Bag", "Empty", "Excess", "Loose", "MapOf", "Mismatch", "Option", "Poison", "Record", "Scalar", "Static",
    "Sym", "comparable", "describe", "interval", "is_incomplete", "map_of", "optional",
]  # fmt: skip
