"""The types of a generated model, as its source text writes them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod


@dataclass(frozen=True)
class Kind:
    """A finite type: its annotation, and how many values it has."""

    @property
    def text(self) -> str:
        """The annotation."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        raise NotImplementedError

    @property
    def loose(self) -> Kind:
        """The type without its bounds: two kinds fit each other in an expression if these are equal."""
        return self


@dataclass(frozen=True)
class Bool(Kind):
    text = "bool"
    count = 2


@dataclass(frozen=True)
class Int(Kind):
    """Bounds are numbers; `named` writes the upper one as a field of the configuration."""

    low: int = 0
    high: int = 0
    declared: bool = False
    named: str = ""

    @property
    def text(self) -> str:
        high = f'"{self.named}"' if self.named else str(self.high)
        return f"Annotated[int, Range({self.low}, {high}{', declared=True' if self.declared else ''})]"

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    @property
    def loose(self) -> Kind:
        return Int()


@dataclass(frozen=True)
class Sort(Kind):
    """A subclass of Id."""

    name: str
    size: int
    first: int

    @property
    def text(self) -> str:
        return self.name

    @property
    def count(self) -> int:
        return self.size

    @property
    def values(self) -> list[str]:
        return [f"{self.name}({i})" for i in range(self.first, self.first + self.size)]


@dataclass(frozen=True)
class Enumeration(Kind):
    name: str
    members: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.name

    @property
    def count(self) -> int:
        return len(self.members)

    @property
    def values(self) -> list[str]:
        return [f"{self.name}.{m}" for m in self.members]

    @property
    def declaration(self) -> str:
        return "\n".join([f"class {self.name}(Enum):", *(f'    {m} = "{m.lower()}"' for m in self.members)])


@dataclass(frozen=True)
class SetOf(Kind):
    item: Kind

    @property
    def text(self) -> str:
        return f"frozenset[{self.item.text}]"

    @property
    def of_numbers(self) -> bool:
        return isinstance(self.item, Int)

    @property
    def count(self) -> int:
        return 1 << self.item.count

    @property
    def loose(self) -> Kind:
        return SetOf(self.item.loose)


@dataclass(frozen=True)
class Optional(Kind):
    inner: Kind

    @property
    def text(self) -> str:
        return f"{self.inner.text} | None"

    @property
    def count(self) -> int:
        return self.inner.count + 1

    @property
    def loose(self) -> Kind:
        return Optional(self.inner.loose)


@dataclass(frozen=True)
class Sequence(Kind):
    item: Kind
    length: int = 0
    declared: bool = False
    named: str = ""
    """The field of the configuration that is the length, if the text names one."""

    @property
    def text(self) -> str:
        declared = ", declared=True" if self.declared else ""
        length = f'"{self.named}"' if self.named else str(self.length)
        return f"Annotated[tuple[{self.item.text}, ...], MaxLen({length}{declared})]"

    @property
    def of_parts(self) -> bool:
        """Whether its items are records, numbers, sets or sequences: every place is a value of its own."""
        return not isinstance(self.item, ITEMS)

    @property
    def count(self) -> int:
        return sum(self.item.count**n for n in range(self.length + 1))

    @property
    def loose(self) -> Kind:
        return Sequence(self.item.loose)


@dataclass(frozen=True)
class OfParts(Kind):
    """Tuples."""

    parts: tuple[Kind, ...]

    @property
    def text(self) -> str:
        return f"tuple[{', '.join(part.text for part in self.parts)}]"

    @property
    def count(self) -> int:
        return prod(part.count for part in self.parts)


@dataclass(frozen=True)
class Tuple(OfParts):
    """Keys of maps. A part that is a number has the bounds of the keys, in an expression too."""


@dataclass(frozen=True)
class TupleOf(OfParts):
    """Tuples that are values."""

    @property
    def loose(self) -> Kind:
        return TupleOf(tuple(part.loose for part in self.parts))


@dataclass(frozen=True)
class MapFrom(Kind):
    key: Kind
    value: Kind

    @property
    def parts(self) -> tuple[Kind, ...]:
        """The kinds of the parts of a key."""
        return self.key.parts if isinstance(self.key, Tuple) else (self.key,)

    @property
    def is_table(self) -> bool:
        """Whether its keys are numbers or tuples."""
        return isinstance(self.key, Int | Tuple)

    def loops(self, names: list[str], c: str = "c") -> str:
        """The loops over all keys. names: of the parts. c: the configuration."""
        return " ".join(f"for {n} in {every_value(part, c)}" for n, part in zip(names, self.parts, strict=True))

    def written_key(self, parts: list[str]) -> str:
        """A key as an argument has it. parts: their texts."""
        return f"({', '.join(parts)})" if isinstance(self.key, Tuple) else parts[0]

    def filled(self, value: str, c: str = "c") -> str:
        """The map that has one value at every key."""
        if not self.is_table:
            return f"fill({self.key.text}, {c}, {value})"
        names = [f"k{i}" for i in range(len(self.parts))]
        return f"Map({{{self.written_key(names)}: {value} {self.loops(names, c)}}})"

    @property
    def text(self) -> str:
        return f"Map[{self.key.text}, {self.value.text}]"

    @property
    def count(self) -> int:
        return int(min(self.value.count, 1 << 20) ** self.key.count)

    @property
    def loose(self) -> Kind:
        return MapFrom(self.key, self.value.loose)


@dataclass(frozen=True)
class Field:
    name: str
    kind: Kind
    default: str | None = None


@dataclass(frozen=True)
class Record(Kind):
    """A frozen dataclass; `base` is the one it extends, whose fields come first."""

    name: str
    fields: tuple[Field, ...]
    base: str = ""
    own: int = 0
    """The first field that is not of the base."""
    ordered: bool = False

    @property
    def text(self) -> str:
        return self.name

    @property
    def count(self) -> int:
        total = 1
        for field in self.fields:
            total *= field.kind.count
        return total

    @property
    def declaration(self) -> str:
        lines = [
            f"    {f.name}: {f.kind.text}{f' = {f.default}' if f.default else ''}" for f in self.fields[self.own :]
        ]
        base = f"({self.base})" if self.base else ""
        ordered = ", order=True" if self.ordered else ""
        return "\n".join([f"@dataclass(frozen=True{ordered})", f"class {self.name}{base}:", *(lines or ["    pass"])])


@dataclass(frozen=True)
class Messages(Kind):
    """A bounded set of records."""

    item: Record
    size: int = 0
    declared: bool = False

    @property
    def text(self) -> str:
        declared = ", declared=True" if self.declared else ""
        return f"Annotated[frozenset[{self.item.name}], MaxSize({self.size}{declared})]"

    @property
    def count(self) -> int:
        return sum(comb(min(self.item.count, 1 << 20), n) for n in range(self.size + 1))

    @property
    def loose(self) -> Kind:
        return Messages(self.item)


ITEMS = (Bool, Sort, Enumeration)
"""What sets, sequences and maps are made of."""


def members(kind: Kind) -> list[str]:
    """The values of an item type, in order."""
    if isinstance(kind, Int):
        return part_values(kind)
    return kind.values if isinstance(kind, Sort | Enumeration) else ["False", "True"]


def every_value(kind: Kind, c: str = "c") -> str:
    """What a loop over the values of a part of a key ranges over."""
    if not isinstance(kind, Int):
        return f"every({kind.text}, {c})"
    return f"range({kind.low}, {kind.high + 1})" if kind.low else f"range({kind.high + 1})"


def part_values(kind: Kind) -> list[str]:
    """The values of a part of a key, in order."""
    return [str(n) for n in range(kind.low, kind.high + 1)] if isinstance(kind, Int) else members(kind)
