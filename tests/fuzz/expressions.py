"""Random well-typed expressions: Python text of a wanted kind over the names that are in scope."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.fuzz.kinds import (
    ITEMS,
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
    members,
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


@dataclass
class Scope:
    """What is in reach: names with their kinds, and access paths known not to be None."""

    names: dict[str, Kind] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    guards: bool = False

    def copy(self) -> Scope:
        return replace(self, names=dict(self.names))

    def bind(self, name: str, kind: Kind) -> None:
        self.names[name] = kind
        self.known = frozenset(k for k in self.known if k.split(".")[0] != name)

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
        return found


Production = tuple[int, Callable[[], str]]
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
MOST_UNROLLED = 6
"""Larger sorts are not ranged over inside another comprehension."""


class Expressions:
    """Writes expressions in the current scope. Kinds are compared without their bounds."""

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

    # -- parts -----------------------------------------------------------------------------------------

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
    def within(self, names: dict[str, Kind] | None = None, known: str = "") -> Iterator[None]:
        """A scope with further names, or with a path known not to be None."""
        saved = self.scope
        self.scope = saved.copy()
        for name, kind in (names or {}).items():
            self.scope.bind(name, kind)
        if known:
            self.scope.known |= {known}
        try:
            yield
        finally:
            self.scope = saved

    def pick(self, productions: list[Production]) -> str:
        weights = [w for w, _ in productions]
        return self.rng.choices(productions, weights)[0][1]()

    def of(self, kind: Kind, depth: int) -> str:
        """An expression of a kind."""
        self.fuel -= 1
        if depth <= 0 or self.fuel <= 0 or self.chance(0.12):
            return self.leaf(kind)
        made = [(4, lambda: self.leaf(kind)), (2, lambda: self.choice(kind, depth))]
        for weight, call in ((3, self.call), (2, self.lookup), (2, self.narrowed), (2, self.picked)):
            found = call(kind, depth)
            if found is not None:
                made.append((weight, found))
        by_kind: dict[type, Callable[[Kind, int], list[Production]]] = {
            Bool: self._bool,
            Int: self._int,
            Sort: self._sort,
            SetOf: self._set,
            Optional: self._optional,
            Sequence: self._sequence,
            MapFrom: self._map,
            Record: self._record,
            Messages: self._messages,
        }
        if type(kind) in by_kind:
            made += by_kind[type(kind)](kind, depth - 1)
        return self.pick(made)

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
        if isinstance(kind, Sequence):
            return f"(len({path}) {self.rng.choice(COMPARISONS)} {self.rng.choice((0, 1, 2))})"
        if isinstance(kind, Optional) and self.chance(0.5):
            return f"({path} is {self.rng.choice(('', 'not '))}None)"
        if isinstance(kind, Messages):
            return f"({path} {self.rng.choice(('==', '!='))} frozenset())"
        return f"({path} {self.rng.choice(('==', '!='))} {self.constant(kind)})"

    def constant(self, kind: Kind) -> str:
        """A value written out."""
        rng = self.rng
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
            few = members(kind.item)[:8]
            chosen = [v for v in few if self.chance(0.4)] or [rng.choice(few)]
            return f"frozenset({{{', '.join(chosen)}}})"
        if isinstance(kind, Optional):
            return "None" if self.chance(0.5) else self.constant(kind.inner)
        if isinstance(kind, Sequence):
            chosen = [rng.choice(members(kind.item)) for _ in range(rng.choice((1, 1, 2)))]
            return f"({', '.join(chosen)}{',' if len(chosen) == 1 else ''})"
        if isinstance(kind, MapFrom):
            return f"fill({kind.key.text}, {self.c}, {self.constant(kind.value)})"
        if isinstance(kind, Messages):
            return f"frozenset({{{self.constant(kind.item)}}})"
        assert isinstance(kind, Record)
        if kind.name == self.widened and self.known_paths(kind):
            return self.rng.choice(self.known_paths(kind))
        return self.construct(kind, lambda k: self.constant(k))

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

    def held(self, kind: Kind, depth: int) -> str:
        """As `of`, where something says what an empty set or tuple is empty of."""
        inner = kind.inner if isinstance(kind, Optional) else kind
        if isinstance(inner, SetOf | Messages | Sequence) and self.chance(0.12):
            return "()" if isinstance(inner, Sequence) else "frozenset()"
        return self.of(kind, depth)

    def maybe(self, kind: Kind, depth: int) -> str:
        """An optional of a kind that is not None in any case."""
        text = self.of(Optional(kind), depth)
        return text if text != "None" or self.chance(0.05) else self.of(kind, depth)

    def bounded(self, kind: Kind, part: Callable[[Kind], str]) -> str:
        """A value that is surely within its bounds: of a record in a message set it has to be."""
        if isinstance(kind, Int):
            if self.chance(0.3):
                return str(self.rng.randint(kind.low, min(kind.high, kind.low + 9)))
            return f"max({kind.low}, min({kind.high}, {part(kind)}))"
        if isinstance(kind, Optional) and isinstance(kind.inner, Int):
            return "None" if self.chance(0.4) else self.bounded(kind.inner, part)
        if isinstance(kind, Bool | Sort | Enumeration | SetOf):
            return part(kind)
        if isinstance(kind, Optional) and isinstance(kind.inner, Bool | Sort | Enumeration | SetOf):
            return part(kind)
        if isinstance(kind, Sequence):
            return f"{part(kind)}[:{kind.length}]"
        return self.constant_within(kind)

    def constant_within(self, kind: Kind) -> str:
        """A value written out that leaves no bound."""
        if isinstance(kind, Int):
            return str(min(max(0, kind.low), kind.high))
        if isinstance(kind, Optional):
            return "None" if self.chance(0.5) else self.constant_within(kind.inner)
        if isinstance(kind, Sequence | Messages):
            return "()" if isinstance(kind, Sequence) else "frozenset()"
        if isinstance(kind, MapFrom):
            return f"fill({kind.key.text}, {self.c}, {self.constant_within(kind.value)})"
        if isinstance(kind, Record):
            return f"{kind.name}({', '.join(self.constant_within(f.kind) for f in kind.fields)})"
        return self.constant(kind)

    # -- for every kind ----------------------------------------------------------------------------------

    def choice(self, kind: Kind, depth: int) -> str:
        test = self.of(Bool(), depth - 1)
        return f"({self.of(kind, depth - 1)} if {test} else {self.of(kind, depth - 1)})"

    def narrowed(self, kind: Kind, depth: int) -> Callable[[], str] | None:
        """`e if path is not None else d`: within e the path is there."""
        open_paths = [p for p, k in self.scope.paths() if isinstance(k, Optional)]
        if not open_paths:
            return None

        def made() -> str:
            path = self.rng.choice(open_paths)
            with self.within(known=path):
                there = self.of(kind, depth - 1)
            absent = self.of(kind, depth - 1)
            if self.chance(0.5):
                return f"({absent} if {path} is None else {there})"
            return f"({there} if {path} is not None else {absent})"

        return made

    def lookup(self, kind: Kind, depth: int) -> Callable[[], str] | None:
        """`map[key]`, or a field of the record that is there."""
        found: list[tuple[str, Kind, str]] = []
        for path, k in self.scope.paths():
            if isinstance(k, MapFrom):
                if k.value.loose == kind.loose:
                    found.append((path, k.key, ""))
                elif isinstance(k.value, Record):
                    found += [(path, k.key, f".{f.name}") for f in k.value.fields if f.kind.loose == kind.loose]
        if not found:
            return None

        def made() -> str:
            path, key, more = self.rng.choice(found)
            return f"{path}[{self.of(key, depth - 1)}]{more}"

        return made

    def call(self, kind: Kind, depth: int) -> Callable[[], str] | None:
        """A call of a helper: arguments by position or by name in any order, defaults left out."""
        found = [h for h in self.helpers if h.result.loose == kind.loose and (self.scope.guards or not h.guards)]
        return (lambda: self.calling(self.rng.choice(found), depth)) if found else None

    def calling(self, helper: Helper, depth: int) -> str:
        given = [(n, self.of(k, depth - 1)) for n, k, d in helper.params if d is None or self.chance(0.5)]
        position = 0
        if self.chance(0.5):
            while position < len(given) and given[position][0] == helper.params[position][0]:
                if helper.config and helper.params[position][2] is not None:
                    break  # the configuration stands before what has a default
                position += 1
        named = [f"{n}={text}" for n, text in given[position:]]
        if helper.config:
            named.append(f"c={self.c}")
        if len(helper.rules) > 1 and self.chance(0.5):
            named.append(f"rule={self.rng.choice(helper.rules[1:])}")
        self.rng.shuffle(named)
        return f"{helper.name}({', '.join([*(text for _, text in given[:position]), *named])})"

    # -- iteration -----------------------------------------------------------------------------------------

    def iterable(self, depth: int, ordered: bool = False, item: Kind | None = None) -> tuple[str, Kind]:
        """What a comprehension ranges over, and the kind of its members."""
        options: list[tuple[int, Callable[[], tuple[str, Kind]]]] = []
        small = [k for k in self.items if (item is None or k == item) and (k.count <= MOST_UNROLLED or not self.inside)]
        for k in small:
            if not ordered:
                options.append((3, lambda k=k: (self.of(SetOf(k), depth), k)))
                options.append((1, lambda k=k: (f"every({k.text}, {self.c})", k)))
            if isinstance(k, Sort):
                options.append((2, lambda k=k: (f"sorted({self.of(SetOf(k), depth)})", k)))
            options.append((2, lambda k=k: (self.of(Sequence(k), depth), k)))
            shown = members(k)
            options.append((1, lambda k=k, shown=shown: (f"({self.rng.choice(shown)}, {self.rng.choice(shown)})", k)))
        if item is None:
            options.append((1, lambda: (f"range({self.rng.choice(('3', '1, 3', '-1, 2', '2'))})", Int())))
            for path, k in self.scope.paths():
                if isinstance(k, Messages) and not ordered:
                    options.append((3, lambda path=path, k=k: (path, k.item)))
                if isinstance(k, SetOf | Sequence) and not (ordered and isinstance(k, SetOf)):
                    options.append((2, lambda path=path, k=k: (path, k.item)))
        if not options:  # a large sort, inside another comprehension
            kind = item or self.items[0]
            return f"({self.constant(kind)}, {self.constant(kind)})", kind
        return self.rng.choices([o for _, o in options], [w for w, _ in options])[0]()

    def comprehension(self, element: Kind | None, depth: int, ordered: bool = False, several: bool = True) -> str:
        """`element for name in iterable if ...`; without an element kind the members as they are."""
        source, kind = self.iterable(depth - 1, ordered)
        return self.over(source, kind, element, depth, several)

    def over(self, source: str, kind: Kind, element: Kind | None, depth: int, several: bool) -> str:
        name = self.loop_name(kind)
        clauses = [f"for {name} in {source}"]
        names = {name: kind}
        self.inside += 1
        with self.within(names):
            if several and element is not None and self.inside < 2 and self.chance(0.2):
                more, its = self.iterable(depth - 1)
                second = self.fresh("w")
                clauses.append(f"for {second} in {more}")
                self.scope.bind(second, its)
            for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
                clauses.append(f"if {self.of(Bool(), depth - 1)}")
            made = name if element is None else self.of(element, depth - 1)
        self.inside -= 1
        return f"{made} {' '.join(clauses)}"

    def loop_name(self, kind: Kind) -> str:
        """A name of its own, or now and then one that hides another."""
        hidden = [n for n in self.scope.names if n not in ("s", "c", "before", "after", "action")]
        return self.rng.choice(hidden) if hidden and self.chance(0.05) else self.fresh("n")

    def picked(self, kind: Kind, depth: int) -> Callable[[], str] | None:
        """`next(...)` of what is in order, or an item of a sequence; partial without a default."""
        if self.inside > 1:
            return None

        def made() -> str:
            default = f", {self.of(kind, depth - 1)}" if not self.taste.partial or self.chance(0.7) else ""
            if isinstance(kind, ITEMS) and kind in self.items and self.chance(0.6):
                source, its = self.iterable(depth - 1, True, kind)
                return f"next(({self.over(source, its, None, depth - 1, False)}){default})"
            return f"next(({self.comprehension(kind, depth - 1, True, False)}){default})"

        return made

    # -- by kind -------------------------------------------------------------------------------------------

    def _bool(self, _: Kind, depth: int) -> list[Production]:
        return [
            (5, lambda: self.compared(depth)),
            (4, lambda: self.joined(depth)),
            (2, lambda: f"(not {self.of(Bool(), depth)})"),
            (3, lambda: self.membership(depth)),
            (4, lambda: f"any({self.comprehension(Bool(), depth)})"),
            (3, lambda: f"all({self.comprehension(Bool(), depth)})"),
            (2, lambda: self.absence()),
            (1, lambda: f"{self.c}.flag"),
        ]

    def absence(self) -> str:
        paths = [p for p, k in self.scope.paths() if isinstance(k, Optional)]
        return f"({self.rng.choice(paths)} is{self.rng.choice(('', ' not'))} None)" if paths else self.leaf(Bool())

    def joined(self, depth: int) -> str:
        """`and`, `or`, narrowing on the way."""
        word = self.rng.choice(("and", "or"))
        parts, known = [], self.scope.known
        with self.within():
            self.scope.known = known
            for _ in range(self.rng.choice((2, 2, 3))):
                open_paths = [p for p, k in self.scope.paths() if isinstance(k, Optional)]
                if open_paths and self.chance(0.4):
                    path = self.rng.choice(open_paths)
                    parts.append(f"{path} is {'not ' if word == 'and' else ''}None")
                    self.scope.known |= {path}
                else:
                    parts.append(self.of(Bool(), depth))
        return f"({f' {word} '.join(parts)})"

    def compared(self, depth: int) -> str:
        rng = self.rng
        roll = rng.random()
        if roll < 0.4:
            terms = [self.of(Int(), depth) for _ in range(rng.choice((2, 2, 2, 3)))]
            return "(" + terms[0] + "".join(f" {rng.choice(COMPARISONS)} {t}" for t in terms[1:]) + ")"
        kinds = [k for _, k in self.scope.paths()] or [Bool()]
        kind = rng.choice([*kinds, *self.items])
        ordered = isinstance(kind, Sort | SetOf)
        sign = rng.choice(COMPARISONS if ordered else COMPARISONS[:2])
        left, right = self.of(kind, depth), self.held(kind, depth)
        if isinstance(kind, SetOf) and sign in ("==", "!=") and self.chance(0.3):
            right = f"{{{rng.choice(members(kind.item))}}}"
        if isinstance(kind, Optional) and self.chance(0.5):
            right = self.of(kind.inner, depth)
        return f"({left} {sign} {right})"

    def membership(self, depth: int) -> str:
        word = self.rng.choice(("in", "in", "not in"))
        sets = [k for _, k in self.scope.paths() if isinstance(k, Messages)]
        if sets and self.chance(0.3):
            kind = self.rng.choice(sets)
            return f"({self.of(kind.item, depth)} {word} {self.of(kind, depth)})"
        if not self.items:
            return self.leaf(Bool())
        item = self.rng.choice(self.items)
        member = self.of(Optional(item) if self.chance(0.25) else item, depth)
        if self.chance(0.2):
            return f"({member} {word} ({self.of(item, depth)}, {self.constant(item)}))"
        within = self.of(SetOf(item) if self.chance(0.7) else Sequence(item), depth)
        return f"({member} {word} {within})"

    def _int(self, kind: Kind, depth: int) -> list[Production]:
        def two(sign: str) -> str:
            return f"({self.of(kind, depth)} {sign} {self.of(kind, depth)})"

        found: list[Production] = [
            (4, lambda: two(self.rng.choice("+-"))),
            (3 if self.taste.big else 1, lambda: two("*")),
            (2, lambda: f"({self.of(kind, depth)} {self.rng.choice(('//', '%'))} {self.rng.choice((1, 2, 3, 5))})"),
            (1, lambda: f"(-{self.of(kind, depth)})"),
            (1, lambda: f"abs({self.of(kind, depth)})"),
            (2, lambda: self.several_ints(kind, depth)),
            (2, lambda: f"sum({self.comprehension(kind, depth)})"),
            (1, lambda: f"sum({self.ones(depth)})"),
            (2, lambda: self.best(kind, depth)),
        ]
        if self.items:
            found.append((3, lambda: f"len({self.measured(depth)})"))
        return found

    def several_ints(self, kind: Kind, depth: int) -> str:
        terms = [self.of(kind, depth) for _ in range(self.rng.choice((2, 2, 3)))]
        return f"{self.rng.choice(('min', 'max'))}({', '.join(terms)})"

    def ones(self, depth: int) -> str:
        made = self.comprehension(None, depth)
        return f"1 {made[made.index(' for ') + 1 :]}"

    def best(self, kind: Kind, depth: int) -> str:
        default = "" if self.taste.partial and self.chance(0.3) else f", default={self.of(kind, depth)}"
        return f"{self.rng.choice(('min', 'max'))}(({self.comprehension(kind, depth)}){default})"

    def measured(self, depth: int) -> str:
        sets = [k for _, k in self.scope.paths() if isinstance(k, Messages)]
        if sets and self.chance(0.3):
            return self.of(self.rng.choice(sets), depth)
        item = self.rng.choice(self.items)
        return self.of(SetOf(item) if self.chance(0.7) else Sequence(item), depth)

    def _sort(self, kind: Kind, depth: int) -> list[Production]:
        def extreme() -> str:
            word = self.rng.choice(("min", "max"))
            default = "" if self.taste.partial and self.chance(0.4) else f", default={self.of(kind, depth)}"
            if self.chance(0.4):
                source, its = self.iterable(depth - 1, False, kind)
                return f"{word}(({self.over(source, its, None, depth - 1, False)}){default})"
            return f"{word}({self.of(SetOf(kind), depth)}{default})"

        found: list[Production] = [(3, extreme)]
        found.append((1, lambda: f"{self.rng.choice(('min', 'max'))}({self.of(kind, depth)}, {self.of(kind, depth)})"))
        if self.taste.partial:
            found.append((2, lambda: f"{self.of(Sequence(kind), depth)}[{self.rng.choice((0, 1, -1))}]"))
            found.append((1, lambda: f"{self.of(Sequence(kind), depth)}[max(0, {self.of(Int(), depth)})]"))
        if self.scope.guards:
            found.append((2, lambda: f"some({self.maybe(kind, depth)})"))
        return found

    def _set(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, SetOf)
        item = kind.item

        def operated() -> str:
            left, right = self.of(kind, depth), self.of(kind, depth)
            if self.chance(0.4):
                right = f"{{{self.of(item, depth)}}}" if self.chance(0.7) else f"{{{self.elements(item, depth)}}}"
            return f"({left} {self.rng.choice('||&-^')} {right})"

        return [
            (5, operated),
            (2, lambda: f"frozenset({{{self.of(item, depth)}, {self.of(item, depth)}}})"),
            (3, lambda: f"frozenset({self.elements(item, depth)})"),
            (1, lambda: f"every({item.text}, {self.c})"),
            (1, lambda: f"frozenset({self.of(Sequence(item), depth)})"),
        ]

    def elements(self, item: Kind, depth: int) -> str:
        """A comprehension whose members are of a kind: chosen from a set, or made."""
        if self.chance(0.6):
            source, its = self.iterable(depth - 1, False, item)
            return self.over(source, its, None, depth, False)
        return self.comprehension(item, depth)

    def _optional(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, Optional)
        found: list[Production] = [
            (3, lambda: self.of(kind.inner, depth)),
            (1, lambda: "None"),
            (1, lambda: f"({self.of(kind.inner, depth)} if {self.of(Bool(), depth)} else None)"),
        ]
        if isinstance(kind.inner, Sort):
            extreme = self.rng.choice(("min", "max"))
            found.append((2, lambda: f"{extreme}({self.of(SetOf(kind.inner), depth)}, default=None)"))
        return found

    def _sequence(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, Sequence)
        item = kind.item

        def kept() -> str:
            ordered = f"sorted({self.of(SetOf(item), depth)})"
            source = ordered if isinstance(item, Sort) and self.chance(0.4) else self.of(kind, depth)
            return f"tuple({self.over(source, item, None, depth, False)})"

        ends = ("[1:]", "[:1]", "[:2]", "[2:]", "[1:2]", "[0:]")
        found: list[Production] = [
            (3, lambda: f"({self.of(kind, depth)} + {self.of(kind, depth)})"),
            (2, lambda: f"{self.of(kind, depth)}{self.rng.choice(ends)}"),
            (1, lambda: f"{self.of(kind, depth)}[:max(0, {self.of(Int(), depth)})]"),
            (2, lambda: f"({self.of(item, depth)},)"),
            (2, kept),
        ]
        if isinstance(item, Sort):
            found.append((2, lambda: f"tuple(sorted({self.of(SetOf(item), depth)}))"))
        return found

    def _map(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, MapFrom)

        def built() -> str:
            name = self.fresh("k")
            with self.within({name: kind.key}):
                value = self.of(kind.value, depth)
            return f"Map({{{name}: {value} for {name} in every({kind.key.text}, {self.c})}})"

        paths = self.known_paths(kind)
        found: list[Production] = [(1, lambda: f"fill({kind.key.text}, {self.c}, {self.of(kind.value, depth)})")]
        found.append((2, built))
        if paths:

            def put() -> str:
                return f"{self.rng.choice(paths)}.put({self.of(kind.key, depth)}, {self.of(kind.value, depth)})"

            found.append((4, put))
        return found

    def _record(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, Record)
        paths = self.known_paths(kind)
        found: list[Production] = []
        if kind.name != self.widened or not paths:
            found.append((3, lambda: self.construct(kind, lambda k: self.held(k, depth))))
        if paths and kind.fields:

            def replaced() -> str:
                fields = self.rng.sample(kind.fields, self.rng.randint(1, min(3, len(kind.fields))))
                given = [f"{f.name}={self.held(f.kind, depth)}" for f in fields]
                return f"replace({self.rng.choice(paths)}, {', '.join(given)})"

            found.append((4, replaced))
        return found

    def _messages(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, Messages)
        item = kind.item

        def operated() -> str:
            sign = self.rng.choice("||&-")
            right = f"{{{self.of(item, depth)}}}" if self.chance(0.6) else self.of(kind, depth)
            return f"({self.of(kind, depth)} {sign} {right})"

        def kept() -> str:
            paths = self.known_paths(kind)
            if paths and self.chance(0.7):
                return f"frozenset({self.over(self.rng.choice(paths), item, None, depth, False)})"
            return f"frozenset({self.comprehension(item, depth)})"

        return [(4, operated), (2, lambda: f"frozenset({{{self.of(item, depth)}}})"), (2, kept)]
