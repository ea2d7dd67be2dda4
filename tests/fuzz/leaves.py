"""The smallest expressions, and what is in reach where one is written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product

from tests.fuzz.kinds import (
    Bool,
    Enumeration,
    Int,
    Kind,
    MapFrom,
    Messages,
    Optional,
    Record,
    Sequence,
    SetOf,
    Sort,
    Tuple,
    TupleOf,
    members,
    part_values,
)


@dataclass(frozen=True)
class Helper:
    """A function of the model that expressions may call. rule: a parameter that is itself such a function."""

    name: str
    params: tuple[tuple[str, Kind, str | None], ...]
    result: Kind
    guards: bool
    config: bool
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Taste:
    """What a model's expressions are made of beside the ordinary."""

    partial: bool = False
    """May raise: indices, extremes and `next` without a default."""
    big: bool = False
    """Products and constants near the limits of a machine word."""
    alike: bool = False
    """Ids are seldom named, and their order is not read."""
    in_order: bool = False
    """Although ids are alike, their order is read."""
    commands: bool = False
    """Many actions are fair, properties of whole runs are claimed, and functions are there to be asked for."""
    raising: bool = False
    """Actions and claims take what is missing in some states."""
    loops: bool = False
    """Bodies have loops."""
    logs: bool = False
    """Sequences of records, numbers, sets and sequences."""
    numbered: bool = False
    """Ids are calculated with: as numbers, and made of numbers."""
    tables: bool = False
    """Maps from numbers and from tuples."""
    number_sets: bool = False
    """Sets of numbers."""
    pairs: bool = False
    """Tuples as values."""
    together: bool = False
    """A state that is widened, states in which a run may end, and step properties that watch fields."""

    @property
    def order_is_read(self) -> bool:
        return self.in_order or not self.alike


@dataclass
class Scope:
    """What is in reach: names with their kinds, access paths known not to be None, and tests that hold here."""

    names: dict[str, Kind] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    guards: bool = False
    holding: tuple[str, ...] = ()

    def copy(self) -> Scope:
        return replace(self, names=dict(self.names))

    def bind(self, name: str, kind: Kind) -> None:
        self.names[name] = kind
        self.known = frozenset(k for k in self.known if k.split(".")[0] != name)
        self.forget({name})

    def forget(self, names: set[str]) -> None:
        """Drops the tests that read names which have another value now."""
        self.holding = tuple(test for test in self.holding if not names & set(re.findall(r"\w+", test)))

    def paths(self) -> list[tuple[str, Kind]]:
        """Every access path; an optional that is known to be there as what is in it."""
        found: list[tuple[str, Kind]] = []
        pending = list(self.names.items())
        while pending:
            path, kind = pending.pop(0)
            if isinstance(kind, Optional) and path in self.known:
                kind = kind.inner
            found.append((path, kind))
            if isinstance(kind, Record) and path.count(".") < 3:
                pending += [(f"{path}.{f.name}", f.kind) for f in kind.fields]
            if isinstance(kind, TupleOf):
                pending += [(f"{path}[{place}]", part) for place, part in enumerate(kind.parts)]
        return found


Production = tuple[int, Callable[[], str]]
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
MOST_UNROLLED = 6
"""Larger sorts are not ranged over inside another comprehension."""


class Leaves:
    """Writes names, paths and constants. Kinds are compared without their bounds."""

    def __init__(self, rng: random.Random, helpers: list[Helper], items: list[Kind], taste: Taste) -> None:
        self.rng, self.helpers, self.items, self.taste = rng, helpers, items, taste
        self.scope = Scope()
        self.config_used = False
        self.fuel = 0
        self.inside = 0
        """Comprehensions around this place."""
        self.numbers = 0
        self.sent: set[str] = set()
        """Records that are members of message sets, and those inside them."""
        self.widened = ""
        """The class of a state that a variant extends: beside `replace` nothing of it may be made where both meet."""
        self.numeric_fields: list[str] = []
        """Int fields of the configuration."""

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def fresh(self, prefix: str = "v") -> str:
        self.numbers += 1
        return f"{prefix}{self.numbers}"

    @property
    def c(self) -> str:
        self.config_used = True
        return "c"

    @contextmanager
    def within(self, names: dict[str, Kind] | None = None, known: str = "", holding: str = "") -> Iterator[None]:
        """A scope with further names, with a path known not to be None, or with a test that holds."""
        saved = self.scope
        self.scope = saved.copy()
        for name, kind in (names or {}).items():
            self.scope.bind(name, kind)
        if known:
            self.scope.known |= {known}
        if holding:
            self.scope.holding += (holding,)
        try:
            yield
        finally:
            self.scope = saved

    def pick(self, productions: list[Production]) -> str:
        weights = [w for w, _ in productions]
        return self.rng.choices(productions, weights)[0][1]()

    def known_paths(self, kind: Kind) -> list[str]:
        return [p for p, k in self.scope.paths() if k.loose == kind.loose]

    def leaf(self, kind: Kind) -> str:
        found = self.known_paths(kind)
        if isinstance(kind, Bool) and self.scope.names and self.chance(0.6):
            return self.atom()
        if found and self.chance(0.75):
            return self.rng.choice(found)
        if isinstance(kind, Optional) and self.chance(0.7):
            inner = self.known_paths(kind.inner)
            if inner:
                return self.rng.choice(inner)
        return self.constant(kind)

    def atom(self) -> str:
        """A condition on one path."""
        path, kind = self.rng.choice(self.scope.paths())
        if isinstance(kind, Bool):
            return path
        if isinstance(kind, Int):
            return f"({path} {self.rng.choice(COMPARISONS)} {self.constant(kind)})"
        if isinstance(kind, SetOf):
            return f"({self.constant(kind.item)} {self.rng.choice(('in', 'not in'))} {path})"
        if isinstance(kind, Sequence) and kind.of_parts and self.chance(0.4):
            return self.atom_of_item(path, kind)
        if isinstance(kind, Sequence):
            return f"(len({path}) {self.rng.choice(COMPARISONS)} {self.rng.choice((0, 1, 2))})"
        if isinstance(kind, Optional) and self.chance(0.5):
            return f"({path} is {self.rng.choice(('', 'not '))}None)"
        if isinstance(kind, TupleOf):
            return f"({path} {self.rng.choice(self.signs_of(kind))} {self.constant(kind)})"
        if isinstance(kind, Messages):
            return f"({path} {self.rng.choice(('==', '!='))} frozenset())"
        if isinstance(kind, MapFrom) and kind.is_table and self.chance(0.7):
            return self.atom_of_value(path, kind)
        return f"({path} {self.rng.choice(('==', '!='))} {self.constant(kind)})"

    def signs_of(self, kind: TupleOf) -> tuple[str, ...]:
        """The comparisons of two tuples of a kind."""
        in_order = (Int, Bool, Sort) if self.taste.order_is_read else (Int, Bool)
        return COMPARISONS if all(isinstance(part, in_order) for part in kind.parts) else COMPARISONS[:2]

    def atom_of_value(self, path: str, kind: MapFrom) -> str:
        """A condition on the value at one key, or on the values at all keys."""
        names = [self.fresh("k") for _ in kind.parts]
        keys = names if self.chance(0.5) else [self.constant_key(part) for part in kind.parts]
        sign = self.rng.choice(COMPARISONS if isinstance(kind.value, Int) else COMPARISONS[:2])
        test = f"{path}[{', '.join(keys)}] {sign} {self.constant(kind.value)}"
        return (
            f"({test})" if keys != names else f"{self.rng.choice(('any', 'all'))}({test} {kind.loops(names, self.c)})"
        )

    def atom_of_item(self, path: str, kind: Sequence) -> str:
        """A condition on the last item of a sequence, or on whether an item is there."""
        if self.chance(0.4):
            return f"({self.constant(kind.item)} {self.rng.choice(('in', 'not in'))} {path})"
        parts = [(f"{path}[-1]", kind.item)]
        if isinstance(kind.item, Record):
            parts += [(f"{path}[-1].{f.name}", f.kind) for f in kind.item.fields]
        part, its = self.rng.choice(parts)
        sign = self.rng.choice(COMPARISONS if isinstance(its, Int) else COMPARISONS[:2])
        return f"(len({path}) > 0 and {part} {sign} {self.constant(its)})"

    def constant(self, kind: Kind) -> str:
        """A value written out."""
        rng = self.rng
        if self.taste.alike:
            if isinstance(kind, Sort) and self.known_paths(kind):
                return rng.choice(self.known_paths(kind))
            if isinstance(kind, Sort):
                return kind.values[0]
            if isinstance(kind, Optional) and isinstance(kind.inner, Sort) and not self.known_paths(kind.inner):
                return "None"
            if isinstance(kind, SetOf) and isinstance(kind.item, Sort):
                one = [f"frozenset({{{path}}})" for path in self.known_paths(kind.item)[-1:]]
                return rng.choice([f"every({kind.item.text}, {self.c})", *one])
            if isinstance(kind, Sequence) and isinstance(kind.item, Sort):
                return next((f"({path},)" for path in self.known_paths(kind.item)[-1:]), "()")
        if isinstance(kind, Bool):
            return rng.choice(("True", "False"))
        if isinstance(kind, Int):
            if self.numeric_fields and self.chance(0.15):
                return f"{self.c}.{rng.choice(self.numeric_fields)}"
            if self.taste.big and self.chance(0.3):
                return str(rng.choice((1 << 31, (1 << 32) - 1, -(1 << 31), 1 << 40, (1 << 53) + 1)))
            return str(rng.choice((0, 1, 1, 2, 3, -1, -2, kind.low, kind.high, rng.randint(-5, 9))))
        if isinstance(kind, Sort | Enumeration):
            return rng.choice(members(kind))
        if isinstance(kind, SetOf):
            few = [self.constant(kind.item) for _ in range(3)] if kind.of_numbers else members(kind.item)[:8]
            chosen = [v for v in few if self.chance(0.4)] or [rng.choice(few)]
            return f"frozenset({{{', '.join(chosen)}}})"
        if isinstance(kind, Optional):
            return "None" if self.chance(0.5) else self.constant(kind.inner)
        if isinstance(kind, Sequence) and kind.of_parts:
            chosen = [self.constant(kind.item) for _ in range(rng.choice((1, 1, 2)))]
            if self.taste.alike and re.search(r"\b[ABC]\(\d", "".join(chosen)):
                return "()"  # it names no id
            return f"({', '.join(chosen)}{',' if len(chosen) == 1 else ''})"
        if isinstance(kind, Sequence):
            chosen = [rng.choice(members(kind.item)) for _ in range(rng.choice((1, 1, 2)))]
            return f"({', '.join(chosen)}{',' if len(chosen) == 1 else ''})"
        if isinstance(kind, Tuple):
            return f"({', '.join(self.constant_key(part) for part in kind.parts)})"
        if isinstance(kind, TupleOf):
            return f"({', '.join(map(self.constant, kind.parts))})"
        if isinstance(kind, MapFrom):
            return self.constant_map(kind, self.constant)
        if isinstance(kind, Messages):
            return f"frozenset({{{self.constant(kind.item)}}})"
        assert isinstance(kind, Record)
        if kind.name == self.widened and self.known_paths(kind):
            return self.rng.choice(self.known_paths(kind))
        return self.construct(kind, lambda k: self.constant(k))

    def constant_key(self, part: Kind) -> str:
        """A part of a key, written out."""
        return str(self.rng.randint(part.low, part.high)) if isinstance(part, Int) else self.constant(part)

    def constant_map(self, kind: MapFrom, value: Callable[[Kind], str]) -> str:
        """A map of one value, or with a value for each of its keys."""
        named = any(isinstance(part, Sort) for part in kind.parts) and self.taste.alike
        if not kind.is_table or kind.key.count > MOST_UNROLLED or named or self.chance(0.5):
            return kind.filled(value(kind.value), self.c)
        columns = [part_values(part) for part in kind.parts]
        entries = [f"{kind.written_key(list(key))}: {value(kind.value)}" for key in product(*columns)]
        self.rng.shuffle(entries)
        return f"Map({{{', '.join(entries)}}})"

    def construct(self, kind: Record, part: Callable[[Kind], str]) -> str:
        """A record by its class: some fields by position, the others by name in any order, some by their default."""
        chosen = [f for f in kind.fields if f.default is None or self.chance(0.6)]
        given = [(f, self.bounded(f.kind, part) if kind.name in self.sent else part(f.kind)) for f in chosen]
        position = 0
        if self.chance(0.5):
            while position < len(given) and given[position][0] is kind.fields[position]:
                position += 1
        named = [f"{f.name}={text}" for f, text in given[position:]]
        self.rng.shuffle(named)
        return f"{kind.name}({', '.join([*(text for _, text in given[:position]), *named])})"

    def bounded(self, kind: Kind, part: Callable[[Kind], str]) -> str:
        """A value that is surely within its bounds: of a record in a message set it has to be."""
        if isinstance(kind, Int):
            if self.chance(0.3):
                return str(self.rng.randint(kind.low, min(kind.high, kind.low + 9)))
            return f"max({kind.low}, min({kind.high}, {part(kind)}))"
        if isinstance(kind, Optional) and isinstance(kind.inner, Int):
            return "None" if self.chance(0.4) else self.bounded(kind.inner, part)
        if isinstance(kind, SetOf) and kind.of_numbers:
            return self.constant_within(kind)
        if isinstance(kind, Bool | Sort | Enumeration | SetOf):
            return part(kind)
        if isinstance(kind, TupleOf):
            return f"({', '.join(self.bounded(inner, part) for inner in kind.parts)})"
        if isinstance(kind, Optional) and isinstance(kind.inner, SetOf) and kind.inner.of_numbers:
            return self.constant_within(kind)
        if isinstance(kind, Optional) and isinstance(kind.inner, Bool | Sort | Enumeration | SetOf):
            return part(kind)
        if isinstance(kind, Sequence) and kind.of_parts:
            items = [self.bounded(kind.item, part) for _ in range(self.rng.choice((0, 1, 1, kind.length)))]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(kind, Sequence):
            return f"{part(kind)}[:{kind.length}]"
        return self.constant_within(kind)

    def constant_within(self, kind: Kind) -> str:
        """A value written out that leaves no bound."""
        if isinstance(kind, Int):
            return str(min(max(0, kind.low), kind.high))
        if isinstance(kind, TupleOf):
            return f"({', '.join(map(self.constant_within, kind.parts))})"
        if isinstance(kind, Optional):
            return "None" if self.chance(0.5) else self.constant_within(kind.inner)
        if isinstance(kind, Sequence) and kind.of_parts and not self.taste.alike and self.chance(0.5):
            items = [self.constant_within(kind.item) for _ in range(self.rng.randint(1, kind.length))]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(kind, Sequence | Messages):
            return "()" if isinstance(kind, Sequence) else "frozenset()"
        if isinstance(kind, SetOf) and kind.of_numbers:
            return f"frozenset({{{', '.join(self.rng.sample(members(kind.item), 1 if kind.item.count == 1 else 2))}}})"
        if isinstance(kind, MapFrom):
            return self.constant_map(kind, self.constant_within)
        if isinstance(kind, Record):
            return f"{kind.name}({', '.join(self.constant_within(f.kind) for f in kind.fields)})"
        return self.constant(kind)
