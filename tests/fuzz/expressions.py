"""Random well-typed expressions: Python text of a wanted kind over the names that are in scope."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.kinds import (
    ITEMS,
    Bool,
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
    every_value,
    members,
)
from tests.fuzz.leaves import COMPARISONS, MOST_UNROLLED, Helper, Production
from tests.fuzz.tables import Tables


class Expressions(Tables):
    """Writes expressions in the current scope."""

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
            Tuple: self._key,
            TupleOf: self._tuple,
        }
        if type(kind) in by_kind:
            made += by_kind[type(kind)](kind, depth - 1)
        return self.pick([*made, *self.further(kind, depth - 1)])

    def further(self, kind: Kind, depth: int) -> list[Production]:
        """What a taste adds for a kind."""
        return []

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

    # -- for every kind ----------------------------------------------------------------------------------

    def choice(self, kind: Kind, depth: int) -> str:
        if self.scope.holding and self.chance(0.12):
            return self.decided(kind, depth)
        test = self.of(Bool(), depth - 1)
        with self.within(holding=test):
            yes = self.of(kind, depth - 1)
        with self.within(holding=f"not {test}"):
            no = self.of(kind, depth - 1)
        return f"({yes} if {test} else {no})"

    def decided(self, kind: Kind, depth: int) -> str:
        """A choice by a test that holds here: the other value is never asked for, and there may be none."""
        test = self.rng.choice(self.scope.holding)
        taken = self.of(kind, depth - 1)
        nothing = f"next(({self.leaf(kind)} for {self.fresh('n')} in range(2) if False))"
        if self.chance(0.5):
            return f"({nothing} if not ({test}) else {taken})"
        return f"({taken} if {test} else {nothing})"

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
                elif isinstance(k.value, TupleOf):
                    places = enumerate(k.value.parts)
                    found += [(path, k.key, f"[{place}]") for place, part in places if part.loose == kind.loose]
        if not found:
            return None

        def made() -> str:
            path, key, more = self.rng.choice(found)
            if isinstance(key, Int | Tuple):
                return self.at_key(path, MapFrom(key, kind), more, depth - 1)
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
            if isinstance(k, Sort) and self.taste.order_is_read:
                options.append((2, lambda k=k: (f"sorted({self.of(SetOf(k), depth)})", k)))
            options.append((2, lambda k=k: (self.of(Sequence(k), depth), k)))
            if isinstance(k, Sort) and self.taste.alike:
                continue
            shown = members(k)
            options.append((1, lambda k=k, shown=shown: (f"({self.rng.choice(shown)}, {self.rng.choice(shown)})", k)))
        if item is None:
            options.append((1, lambda: (f"range({self.rng.choice(('3', '1, 3', '-1, 2', '2'))})", Int())))
            for path, k in self.scope.paths():
                if isinstance(k, Messages) and not ordered:
                    options.append((3, lambda path=path, k=k: (path, k.item)))
                if isinstance(k, SetOf | Sequence) and not (ordered and isinstance(k, SetOf)):
                    options.append((2, lambda path=path, k=k: (path, k.item)))
                if isinstance(k, SetOf) and k.of_numbers:
                    options.append((3, lambda path=path, k=k: (f"sorted({path})", k.item)))
        if not options:  # a large sort, inside another comprehension
            kind = item or self.items[0]
            return f"({self.constant(kind)}, {self.constant(kind)})", kind
        return self.rng.choices([o for _, o in options], [w for w, _ in options])[0]()

    def comprehension(self, element: Kind | None, depth: int, ordered: bool = False, several: bool = True) -> str:
        """`element for name in iterable if ...`; without an element kind the members as they are."""
        tables = self.tables(ordered) if element is not None and not self.inside else []
        if tables and self.chance(0.4):
            return self.over_keys(*self.rng.choice(tables), element or Bool(), depth - 1)
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
        hidden = [n for n in self.scope.names if n not in ("s", "c", "before", "after", "action") and n.isidentifier()]
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
        ordered = isinstance(kind, SetOf) or (isinstance(kind, Sort) and self.taste.order_is_read)
        sign = rng.choice(COMPARISONS if ordered else COMPARISONS[:2])
        left, right = self.of(kind, depth), self.held(kind, depth)
        if isinstance(kind, SetOf) and not self.taste.alike and sign in ("==", "!=") and self.chance(0.3):
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

        found: list[Production] = [(3, extreme if self.taste.order_is_read else (lambda: self.leaf(kind)))]
        if self.taste.order_is_read:
            found.append(
                (1, lambda: f"{self.rng.choice(('min', 'max'))}({self.of(kind, depth)}, {self.of(kind, depth)})")
            )
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

        whole = f"frozenset(i9 for i9 in {every_value(item)})" if kind.of_numbers else ""
        return [
            (5, operated),
            (2, lambda: f"frozenset({{{self.of(item, depth)}, {self.of(item, depth)}}})"),
            (3, lambda: f"frozenset({self.elements(item, depth)})"),
            (1, lambda: whole or f"every({item.text}, {self.c})"),
            (1, lambda: f"frozenset({self.of(Sequence(item), depth)})"),
        ]

    def elements(self, item: Kind, depth: int) -> str:
        """A comprehension whose members are of a kind: chosen from a set, or made."""
        if self.chance(0.6) and not isinstance(item, Int):
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
        if isinstance(kind.inner, Sort) and self.taste.order_is_read:
            extreme = self.rng.choice(("min", "max"))
            found.append((2, lambda: f"{extreme}({self.of(SetOf(kind.inner), depth)}, default=None)"))
        return found

    def _sequence(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, Sequence)
        item = kind.item

        def kept() -> str:
            ordered = f"sorted({self.of(SetOf(item), depth)})"
            reads_order = isinstance(item, Sort) and self.taste.order_is_read
            source = ordered if reads_order and self.chance(0.4) else self.of(kind, depth)
            return f"tuple({self.over(source, item, None, depth, False)})"

        ends = ("[1:]", "[:1]", "[:2]", "[2:]", "[1:2]", "[0:]")
        found: list[Production] = [
            (3, lambda: f"({self.of(kind, depth)} + {self.of(kind, depth)})"),
            (2, lambda: f"{self.of(kind, depth)}{self.rng.choice(ends)}"),
            (1, lambda: f"{self.of(kind, depth)}[:max(0, {self.of(Int(), depth)})]"),
            (2, lambda: f"({self.of(item, depth)},)"),
            (2, kept),
        ]
        if isinstance(item, Sort) and self.taste.order_is_read:
            found.append((2, lambda: f"tuple(sorted({self.of(SetOf(item), depth)}))"))
        return found

    def _map(self, kind: Kind, depth: int) -> list[Production]:
        assert isinstance(kind, MapFrom)

        def built() -> str:
            names = [self.fresh("k") for _ in kind.parts]
            with self.within(dict(zip(names, kind.parts, strict=True))):
                value = self.of(kind.value, depth)
            return f"Map({{{kind.written_key(names)}: {value} {kind.loops(names, self.c)}}})"

        paths = self.known_paths(kind)
        found: list[Production] = [(1, lambda: kind.filled(self.of(kind.value, depth), self.c))]
        found.append((2, built))
        if kind.is_table:
            found.append((1, lambda: self.constant_map(kind, lambda k: self.of(k, depth))))
        if paths:

            def put() -> str:
                return f"{self.rng.choice(paths)}.put({self.key(kind, depth)}, {self.of(kind.value, depth)})"

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
