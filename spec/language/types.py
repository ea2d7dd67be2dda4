"""Finite types: what an annotation means once a configuration is chosen.

`resolve(annotation, config)` turns an annotation of a model into a `Type`, the only place where a size
becomes a number. A `Type` enumerates its values in canonical order, counts them, and says of any Python
value whether it fits, leaves a declared bound (*clipped*), or is simply wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import combinations, product
from math import comb
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.values import Id, Map

Size = int | str
"""A number, or the name of a configuration field or property that holds one."""


@dataclass(frozen=True)
class Range:
    """Bounds of an integer, both included: `Annotated[int, Range(0, "max_epoch")]`.

    A step that takes the field outside makes the transition *clipped*. `declared=True` says that the
    bound is a chosen limit of the exploration, so that clipping there does not make a run inconclusive.
    """

    low: Size
    high: Size
    declared: bool = False


@dataclass(frozen=True)
class MaxLen:
    """Longest length of a sequence: `Annotated[tuple[Broker, ...], MaxLen("brokers")]`."""

    length: Size
    declared: bool = False


@dataclass(frozen=True)
class MaxSize:
    """Most members of a set of records: `Annotated[frozenset[Message], MaxSize(2)]`."""

    size: Size
    declared: bool = False


class DomainError(Exception):
    """An annotation that is not a finite type, or a size that the configuration does not give."""


@dataclass(frozen=True)
class Misfit:
    """The reason that a value is not of its type. `clipped`: a declared bound was left; otherwise a wrong value."""

    clipped: bool
    path: str
    message: str
    declared: bool = False

    def under(self, name: str) -> Misfit:
        return Misfit(self.clipped, part_path(name, self.path), self.message, self.declared)


def part_path(path: str, part: str) -> str:
    """The path of a part of a value. part: `field`, `[key]` or `[place]`, or nothing."""
    return f"{path}.{part}" if path and part and not part.startswith("[") else path + part


def first_misfit(found: Iterable[tuple[Misfit | None, str]]) -> Misfit | None:
    """The first value that is wrong; if none is, the first that is clipped. Each with the name of its part."""
    misfits = [misfit.under(name) for misfit, name in found if misfit is not None]
    return next((misfit for misfit in misfits if not misfit.clipped), misfits[0] if misfits else None)


@dataclass(frozen=True)
class Type:
    """A finite type of one configuration."""

    @property
    def count(self) -> int:
        """The number of values."""
        raise NotImplementedError

    def values(self) -> Iterator[Any]:
        """All values, in canonical order (ascending `rank`)."""
        raise NotImplementedError

    def misfit(self, value: Any) -> Misfit | None:
        """None when `value` is of the type."""
        raise NotImplementedError

    def rank(self, value: Any) -> Any:
        """A sort key: the canonical order of values of this type."""
        raise NotImplementedError


FIELD = 1 << 61
"""A Range is within -FIELD..FIELD - 1."""
NUMBER = 1 << 62
"""Numbers that are calculated, each step on the way included, are within -NUMBER..NUMBER - 1."""
SEQUENCE_BITS = 56
"""Most bits of the items of a sequence together: the engines' word has their number above them."""
SET_MEMBERS = 62
"""Members of the item type of a set, at most: a set is a mask in the engines' word."""
RECORD_BITS = 60
"""Most bits of a record in a set."""
ANY = 1 << 40
"""The size of a sort, and the bound of a number, of which there may be any number: no value is larger."""


def _wrong(value: object, what: str) -> Misfit:
    return Misfit(False, "", f"{value!r} is not {what}")


@dataclass(frozen=True)
class BoolType(Type):
    @property
    def count(self) -> int:
        return 2

    def values(self) -> Iterator[bool]:
        return iter((False, True))

    def misfit(self, value: Any) -> Misfit | None:
        return None if value is True or value is False else _wrong(value, "a bool")

    def rank(self, value: Any) -> Any:
        return int(value)

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True)
class IntType(Type):
    low: int
    high: int
    declared: bool = False

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    def values(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not int:
            return _wrong(value, "an int")
        if self.low <= value <= self.high:
            return None
        return Misfit(True, "", f"{value} is outside {self.low}..{self.high}", self.declared)

    def rank(self, value: Any) -> Any:
        return value

    def __str__(self) -> str:
        return f"int {self.low}..{self.high}"


@dataclass(frozen=True)
class EnumType(Type):
    sort: type[Enum]

    @property
    def count(self) -> int:
        return len(self.sort)

    def values(self) -> Iterator[Any]:
        return iter(self.sort)

    def misfit(self, value: Any) -> Misfit | None:
        return None if type(value) is self.sort else _wrong(value, f"a {self.sort.__name__}")

    def rank(self, value: Any) -> Any:
        return list(self.sort).index(value)

    def __str__(self) -> str:
        return self.sort.__name__


@dataclass(frozen=True)
class IdType(Type):
    sort: type[Id]
    size: int

    @property
    def first(self) -> int:
        return self.sort.first

    @property
    def count(self) -> int:
        return self.size

    def values(self) -> Iterator[Any]:
        return (self.sort(i) for i in range(self.first, self.first + self.size))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is self.sort and self.first <= value < self.first + self.size:
            return None
        return _wrong(value, f"one of the {self.size} {self.sort.__name__} ids")

    def rank(self, value: Any) -> Any:
        return int(value)

    def __str__(self) -> str:
        return self.sort.__name__


@dataclass(frozen=True)
class OptionType(Type):
    inner: Type

    @property
    def count(self) -> int:
        return self.inner.count + 1

    def values(self) -> Iterator[Any]:
        yield None
        yield from self.inner.values()

    def misfit(self, value: Any) -> Misfit | None:
        return None if value is None else self.inner.misfit(value)

    def rank(self, value: Any) -> Any:
        return (0,) if value is None else (1, self.inner.rank(value))

    def __str__(self) -> str:
        return f"{self.inner} | None"


@dataclass(frozen=True)
class SetType(Type):
    """All subsets of a small scalar type; `rank` is the bit mask, first member lowest."""

    item: Type

    @property
    def count(self) -> int:
        return 1 << self.item.count

    def values(self) -> Iterator[Any]:
        items = tuple(self.item.values())
        for mask in range(1 << len(items)):
            yield frozenset(v for i, v in enumerate(items) if mask >> i & 1)

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not frozenset:
            return _wrong(value, "a frozenset")
        return next((found for found in map(self.item.misfit, value) if found is not None), None)

    def index(self, member: Any) -> int:
        """Position of a member among the item type's values."""
        rank = self.item.rank(member)
        base = getattr(self.item, "first", getattr(self.item, "low", 0))
        return int(rank) - int(base)

    def rank(self, value: Any) -> Any:
        return sum(1 << self.index(member) for member in value)

    def __str__(self) -> str:
        return f"set of {self.item}"


@dataclass(frozen=True)
class SeqType(Type):
    item: Type
    length: int
    declared: bool = False

    @property
    def count(self) -> int:
        return sum(self.item.count**n for n in range(self.length + 1))

    def values(self) -> Iterator[Any]:
        for n in range(self.length + 1):
            for chosen in product(tuple(self.item.values()), repeat=n):
                yield chosen[::-1]

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _wrong(value, "a tuple")
        for i, member in enumerate(value):
            found = self.item.misfit(member)
            if found is not None:
                return found.under(f"[{i}]")
        if len(value) > self.length:
            return Misfit(True, "", f"{len(value)} items, at most {self.length}", self.declared)
        return None

    def rank(self, value: Any) -> Any:
        # The last item weighs most, as in a packed sequence.
        return (len(value), tuple(self.item.rank(v) for v in reversed(value)))

    def __str__(self) -> str:
        return f"sequence of {self.item}, at most {self.length}"


@dataclass(frozen=True)
class ColumnsType(Type):
    """A sequence of records or numbers: each place is stored as an optional item, of which the first ones are there."""

    item: Type
    length: int
    declared: bool = False

    @property
    def place(self) -> OptionType:
        """The type of a place: an item, or nothing behind the end."""
        return OptionType(self.item)

    @property
    def count(self) -> int:
        return sum(self.item.count**n for n in range(self.length + 1))

    def values(self) -> Iterator[Any]:
        return self._from(0)

    def _from(self, start: int) -> Iterator[Any]:
        yield ()
        if start < self.length:
            for first in self.item.values():
                yield from ((first, *rest) for rest in self._from(start + 1))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not tuple:
            return _wrong(value, "a tuple")
        found = first_misfit((self.item.misfit(member), f"[{i}]") for i, member in enumerate(value))
        if len(value) > self.length and (found is None or found.clipped):
            return Misfit(True, "", f"{len(value)} items, at most {self.length}", self.declared)
        return found

    def rank(self, value: Any) -> Any:
        # As its places are packed, the first one first.
        return tuple(self.place.rank(value[i] if i < len(value) else None) for i in range(self.length))

    def __str__(self) -> str:
        return f"sequence of {self.item}, at most {self.length}"


@dataclass(frozen=True)
class MapType(Type):
    key: Type
    value: Type

    @property
    def count(self) -> int:
        return int(self.value.count**self.key.count)

    def values(self) -> Iterator[Any]:
        keys = tuple(self.key.values())
        for chosen in product(tuple(self.value.values()), repeat=len(keys)):
            yield Map(zip(keys, chosen, strict=True))

    def misfit(self, value: Any) -> Misfit | None:
        keys = tuple(self.key.values())
        if type(value) is not Map or value.keys() != frozenset(keys):
            return _wrong(value, f"a Map over every {self.key}")
        return first_misfit((self.value.misfit(value[key]), f"[{key_name(key)}]") for key in keys)

    def rank(self, value: Any) -> Any:
        return tuple(self.value.rank(value[key]) for key in self.key.values())

    def __str__(self) -> str:
        return f"map from {self.key} to {self.value}"


@dataclass(frozen=True)
class RecordType(Type):
    cls: type
    fields: tuple[tuple[str, Type], ...]

    @property
    def count(self) -> int:
        total = 1
        for _, kind in self.fields:
            total *= kind.count
        return total

    def field(self, name: str) -> Type:
        return dict(self.fields)[name]

    def made(self, parts: Iterable[Any]) -> Any:
        """The value that has these parts, in the order of the fields."""
        return self.cls(*parts)

    def parts_of(self, value: Any) -> Iterator[Any]:
        """The parts of a value, in the order of the fields."""
        return (getattr(value, name) for name, _ in self.fields)

    def values(self) -> Iterator[Any]:
        yield from map(self.made, product(*(tuple(kind.values()) for _, kind in self.fields)))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not self.cls:
            return _wrong(value, f"a {self.cls.__name__}")
        return first_misfit((kind.misfit(getattr(value, name)), name) for name, kind in self.fields)

    def rank(self, value: Any) -> Any:
        return tuple(kind.rank(part) for part, (_, kind) in zip(self.parts_of(value), self.fields, strict=True))

    def __str__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class BagType(Type):
    """A bounded set of records (messages in flight); canonical order is the records' own."""

    item: RecordType
    size: int
    declared: bool = False

    @property
    def count(self) -> int:
        return sum(comb(self.item.count, n) for n in range(self.size + 1))

    def values(self) -> Iterator[Any]:
        items = tuple(self.item.values())
        for n in range(self.size + 1):
            yield from (frozenset(chosen) for chosen in combinations(items, n))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not frozenset:
            return _wrong(value, "a frozenset")
        found = [f.under("[]") for f in map(self.item.misfit, value) if f is not None]
        if found:
            # A set has no order: a wrong value before a clipped one, then the bound that is declared first.
            order = list(limits(self, ""))
            return min(found, key=lambda f: (f.clipped, order.index(f.path) if f.clipped else 0, f.message))
        if len(value) > self.size:
            return Misfit(True, "", f"{len(value)} members, at most {self.size}", self.declared)
        return None

    def rank(self, value: Any) -> Any:
        return tuple(sorted((self.item.rank(v) for v in value), reverse=True))

    def __str__(self) -> str:
        return f"set of at most {self.size} {self.item}"


def unbounded(kind: Type) -> bool:
    """Whether the type is a sort of any number of members: nothing enumerates them."""
    return isinstance(kind, IdType) and kind.size == ANY


def key_name(key: Any) -> str:
    """A map's key as it stands in the path of a value."""
    name = str(int(key)) if isinstance(key, Id) else str(getattr(key, "name", key))
    return ",".join(map(key_name, key)) if type(key) is tuple else name


def limits(kind: Type, path: str) -> Iterator[str]:
    """Paths of the parts that have a bound, in the order in which a value is looked through."""
    if isinstance(kind, IntType | SeqType | ColumnsType):
        yield path
    if isinstance(kind, ColumnsType):  # its length before its items
        for i in range(kind.length):
            yield from limits(kind.item, f"{path}[{i}]")
    elif isinstance(kind, OptionType):
        yield from limits(kind.inner, path)
    elif isinstance(kind, RecordType):
        for name, inner in kind.fields:
            yield from limits(inner, part_path(path, name))
    elif isinstance(kind, MapType):
        for key in ("*",) if unbounded(kind.key) else map(key_name, kind.key.values()):
            yield from limits(kind.value, f"{path}[{key}]")
    elif isinstance(kind, SetType | BagType):
        yield from limits(kind.item, f"{path}[]")
        if isinstance(kind, BagType):
            yield path


def bits_of(kind: Type) -> int:
    """Bits that a value takes when packed."""
    if isinstance(kind, SetType):
        return kind.item.count
    if isinstance(kind, OptionType):
        if isinstance(kind.inner, BoolType | IntType | EnumType | IdType):
            return kind.inner.count.bit_length()
        return 1 + bits_of(kind.inner)
    if isinstance(kind, SeqType):
        return kind.length.bit_length() + kind.length * bits_of(kind.item)
    if isinstance(kind, ColumnsType):
        return kind.length * bits_of(kind.place)
    if isinstance(kind, RecordType):
        return sum(bits_of(t) for _, t in kind.fields)
    if isinstance(kind, MapType):
        return kind.key.count * bits_of(kind.value)
    if isinstance(kind, BagType):
        return kind.size * (bits_of(kind.item) + 1)  # a slot is 1 + the packed record, so that 0 is empty
    return max(1, (kind.count - 1).bit_length())
