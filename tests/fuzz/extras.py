"""What a taste adds to a drawn model: fields and an action that make it large, reads of an order, what may raise."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass

from tests.fuzz.kinds import Bool, Field, Int, Kind, MapFrom, Optional, Record, Sequence, SetOf, Sort
from tests.fuzz.leaves import COMPARISONS, Helper, Production, Scope, Taste
from tests.fuzz.statements import Bodies

KEYS = Sort("L", 44, 0)
LAST = 1_999


@dataclass(frozen=True)
class Large:
    """fields: of the state. params, guards, change: of the action `grow`. others: guards of the other actions.

    Any number of `guards` may be left out, and one of `others` is taken.
    """

    fields: tuple[Field, ...]
    params: tuple[tuple[str, Kind], ...]
    guards: tuple[str, ...]
    changes: tuple[str, ...]
    others: tuple[str, ...] = ()
    sorts: tuple[Sort, ...] = ()


LARGE = {
    "broad": Large(  # 300 steps of a state
        (Field("b0", Int(0, 19)), Field("b1", Int(0, 14))),
        (("u", Int(0, 19)), ("v", Int(0, 14))),
        ("s.b0 + s.b1 == 0", "u >= s.b0", "s.b0 + u < 20 and s.b1 <= v"),
        ("b0=u, b1=v", "b0=max(s.b0, u), b1=min(s.b1, v)", "b0=u, b1=u // 2"),
    ),
    "long": Large(  # 44 to 46 words
        (Field("m0", MapFrom(KEYS, Int(0, (1 << 40) - 1))), Field("m1", SetOf(KEYS))),
        (("u", KEYS), ("v", Int(1, 2))),
        ("s.m0[u] < 9", "u not in s.m1"),
        ("m0=s.m0.put(u, v), m1=s.m1 | {u}", "m0=s.m0.put(u, s.m0[u] * 1048576 + v)", "m1=s.m1 ^ {u}"),
        sorts=(KEYS,),
    ),
    "deep": Large(  # 2,000 levels
        (Field("turn", Int(0, LAST)),),
        (),
        (f"s.turn < {LAST}",),
        ("turn=s.turn + 1",),
        (f"s.turn >= {LAST - 2}", f"s.turn == {LAST}", "s.turn % 999 == 1"),
    ),
}
"""By taste."""

FEW = ((0, 1), (0, 2), (-1, 1), (0, 3), (-2, 0), (1, 4))
"""Ranges of numbers in sequences."""

ORDERED = (
    "min({many}, default={one})",
    "max({many} | {{{one}}})",
    "next((o9 for o9 in sorted({many}) if o9 != {one}), {one})",
    "min((o9 for o9 in every({sort}, c) if o9 in {many}), default={one})",
    "max({one}, {other})",
    "({one} if {one} < {other} else {other})",
    "tuple(sorted({many} | {{{one}}}))[0]",
)
"""An id, by the order of ids: {many} is a set of them that is no constant, {one} and {other} are two of them."""

RAISING = (
    "max({many})",
    "min(x for x in {many} if {test})",
    "next(x for x in sorted({many}) if {test})",
    "tuple(sorted({many}))[1]",
    "tuple(sorted({many}))[len({many}) - 1]",
)
"""An id, or an exception: {many} is a set of ids."""


class Extras(Bodies):
    """Writes functions, and the parts that tastes add."""

    def __init__(self, rng: random.Random, taste: Taste, large: list[Large], in_order: bool) -> None:
        """large: at most one. in_order: some actions read the order of ids that are alike; no helper, no claim."""
        super().__init__(rng, [], [], taste)
        self.large, self.in_order = large[0] if large else None, in_order
        self.sorts: list[Sort] = []
        self.records: list[Record] = []
        self.state = Record("State", ())
        self.actions: dict[str, list[tuple[str, Kind]]] = {}
        self.drawn: dict[str, list[str]] = {}
        """By action: what parameters are drawn from, as its decorator says it."""

    def function(
        self, name: str, params: list[tuple[str, Kind, str | None]], result: Kind, body: list[str], more: str = ""
    ) -> str:
        """The text of a function; it takes the configuration if its body reads it."""
        annotated = [
            f"{n}: {'int' if isinstance(k, Int) and not more else k.text}{f' = {d}' if d else ''}" for n, k, d in params
        ]
        if self.config_used:
            place = next((i for i, (_, _, d) in enumerate(params) if d), len(params))
            annotated.insert(place, "c: Config")
        kind = "int" if isinstance(result, Int) else result.text
        return f"{more}def {name}({', '.join(annotated)}) -> {kind}:\n{textwrap.indent(chr(10).join(body), '    ')}\n"

    def rule_helpers(self) -> list[str]:
        """A helper like one there is, and a function that takes either as a parameter, with a default."""
        plain = [h for h in self.helpers if not h.guards and h.params and all(d is None for _, _, d in h.params)]
        if not plain:
            return []
        first = self.rng.choice(plain)
        names = [f"h8{'pqr'[i]}" for i in range(len(first.params))]
        kinds = [k for _, k, _ in first.params]
        self.begin(dict(zip(names, kinds, strict=True)))
        body = self.body(first.result, 10)
        self.config_used = self.config_used or first.config
        if self.config_used and not first.config:
            return []
        twin = self.function("h8", [(n, k, None) for n, k in zip(names, kinds, strict=True)], first.result, body)
        arguments = names + (["c"] if first.config else [])
        annotated = [f"{n}: {'int' if isinstance(k, Int) else k.text}" for n, k in zip(names, kinds, strict=True)]
        annotated += ["c: Config"] if first.config else []
        kind = "int" if isinstance(first.result, Int) else first.result.text
        annotated.append(f"rule: Callable[..., {kind}] = {first.name}")
        params = tuple((n, k, None) for n, k in zip(names, kinds, strict=True))
        self.helpers.append(Helper("h9", params, first.result, False, first.config, (first.name, "h8")))
        text = f"def h9({', '.join(annotated)}) -> {kind}:\n    return rule({', '.join(arguments)})\n"
        return [twin, text]

    def begin(self, names: dict[str, Kind], guards: bool = False) -> None:
        self.scope = Scope(dict(names), guards=guards)
        self.config_used = self.chance(0.1)

    def more_fields(self, fields: list[Field]) -> tuple[Field, ...]:
        """The fields of the state with those of tastes: of ids that are alike, and of what is large."""
        ids = self.sorts[0]
        kinds: list[Kind] = [SetOf(ids), SetOf(ids), Optional(ids), MapFrom(ids, Bool()), Sequence(ids, 2)]
        kinds += [MapFrom(ids, Optional(ids)), MapFrom(ids, SetOf(ids))] if ids.size < 4 else []
        alike = [Field(f"y{i}", self.rng.choice(kinds)) for i in range(2)] if self.taste.alike else []
        most = 2 if alike or self.large or self.taste.logs or self.taste.tables or self.taste.number_sets else None
        logs = [Field(f"log{i}", self.log()) for i in range(self.rng.choice((1, 1, 2)))] if self.taste.logs else []
        count = self.rng.choice((1, 1, 2)) if self.taste.tables else 0
        tables = [Field(f"table{i}", self.table(self.value_kind())) for i in range(count)]
        count = self.rng.choice((1, 1, 2)) if self.taste.number_sets else 0
        numbers = [Field(f"nums{i}", self.number_set()) for i in range(count)]
        pairs = []
        if self.taste.pairs:
            most, keys = 2, [k for k in self.items if k.count <= 3]
            kind = self.pair_kind()
            pairs.append(Field("pair0", kind))
            if keys:
                pairs.append(
                    Field("pair1", MapFrom(self.rng.choice(keys), kind if self.chance(0.5) else self.pair_kind()))
                )
        return (*(self.large.fields if self.large else ()), *alike, *logs, *tables, *numbers, *pairs, *fields[:most])

    # -- maps from numbers and tuples ------------------------------------------------------------------------------

    def value_kind(self) -> Kind:
        """A kind of few values."""
        ids, item = self.sorts[0], self.rng.choice(self.items)
        small = [r for r in self.records if r.count <= 64]
        kinds: list[Kind] = [Bool(), Int(0, 1), Int(-1, 2), Int(0, 2), Optional(ids), item, *small]
        kinds += [self.number_set()] * 3 if self.taste.number_sets else []
        return self.rng.choice([*kinds, *([SetOf(item), Sequence(item, 2)] if item.count <= 4 else [])])

    def table_fields(self) -> list[Field]:
        """The fields of the state that are maps from numbers or tuples."""
        return [f for f in self.state.fields if isinstance(f.kind, MapFrom) and f.kind.is_table]

    def step_of_table(self, field: Field) -> list[str]:
        """A map gets a value at the key of the parameters, at another key, or a value at every key."""
        path, kind = f"s.{field.name}", field.kind
        assert isinstance(kind, MapFrom)
        self.fuel = 14
        guards = [f"require({self.atom()})" for _ in range(self.rng.choice((0, 1, 1)))]
        value = self.bounded(kind.value, lambda k: self.of(k, 1)) if self.chance(0.6) else self.held(kind.value, 1)
        given = [name for name, _ in self.key_parameters(field)]
        key = kind.written_key(given) if self.chance(0.6) else self.key(kind, 1)
        made = f"{path}.put({key}, {value})" if self.chance(0.8) else self.of(kind, 2)
        return [*guards, f"return replace(s, {field.name}={made})"]

    def key_parameters(self, field: Field) -> list[tuple[str, Kind]]:
        """The parts of a key of a map."""
        assert isinstance(field.kind, MapFrom)
        return list(zip("pqr", field.kind.parts, strict=False))

    # -- sequences of records, numbers, sets and sequences ---------------------------------------------------------

    def number_set(self) -> SetOf:
        """The type of sets of numbers."""
        low, high = self.rng.choice(FEW)
        return SetOf(Int(low, high, self.chance(0.3), "limit" if high == 3 and self.chance(0.4) else ""))

    def number_sets(self) -> list[str]:
        """The sets of numbers that are in reach."""
        found = self.scope.paths() if self.taste.number_sets else []
        return [p for p, k in found if isinstance(k, SetOf) and k.of_numbers]

    def log(self) -> Sequence:
        """A sequence of records, numbers, sets or short sequences."""
        rng = self.rng
        item: Kind = rng.choice(
            (
                *self.records,
                self.records[0],
                Int(*rng.choice(FEW)),
                SetOf(self.items[0]),
                *([self.number_set()] if self.taste.number_sets else []),
                *([self.pair_kind()] * 2 if self.taste.pairs else []),
                Sequence(self.items[-1], 2),
            )
        )
        length = rng.choice((1, 2, 2, 3, 3, 4))
        return Sequence(item, length, self.chance(0.3), "limit" if length == 3 and self.chance(0.4) else "")

    def entry(self) -> Record:
        """A small record, as those of a log are."""
        kinds: tuple[Kind, ...] = (Int(0, 1), Int(0, 2), Int(-1, 1), self.sorts[0], self.sorts[0], Bool())
        chosen = self.rng.sample(kinds, self.rng.choice((1, 2, 2, 3)))
        ordered = not (self.taste.alike and any(isinstance(k, Sort) for k in chosen)) and self.chance(0.7)
        return Record("Entry", tuple(Field(f"e{i}", k) for i, k in enumerate(chosen)), ordered=ordered)

    def log_fields(self) -> list[Field]:
        """The fields of the state that are such sequences."""
        return [f for f in self.state.fields if isinstance(f.kind, Sequence) and f.kind.of_parts]

    def step_of_log(self, field: Field) -> str:
        """A sequence gets an item, loses one, or has another one in its place."""
        assert isinstance(field.kind, Sequence)
        text = self.changed(f"s.{field.name}", field.kind, 1)
        return f"return replace(s, {field.name}={f'({text})[:{field.kind.length}]' if self.chance(0.6) else text})"

    def changed(self, path: str, kind: Sequence, depth: int) -> str:
        """A sequence after a change of one of its places. kind: with its length, if that is known."""
        item, number = self.of(kind.item, depth), self.place(depth)
        shortened = f"({path}[: len({path}) - 1] if len({path}) > 0 else {path})"
        return self.rng.choice(
            (
                f"({path} + ({item},))",
                f"({path} + ({item},))",
                f"(({item},) + {path})",
                f"({path}[1:] + ({item},))",
                f"({path}[:{number}] + ({item},) + {path}[{number} + 1:])",
                f"({path}[:{number}] + ({item},))",
                f"({path}[:{number}] + {path}[{number}:])",
                shortened,
                f"{path}[:-1]",
                f"({path}[-2:] + ({item},))",
            )
        )

    def place(self, depth: int) -> str:
        """A number that is not negative."""
        if self.chance(0.5):
            return self.rng.choice("00112")
        return f"max(0, {self.of(Int(), depth)})"

    def sequences(self) -> list[tuple[str, Sequence]]:
        """The sequences that are in reach, whatever they are of."""
        return [(p, k) for p, k in self.scope.paths() if isinstance(k, Sequence)] if self.taste.logs else []

    def further(self, kind: Kind, depth: int) -> list[Production]:
        """An item of a sequence, or a field of an item; the best item."""
        found: list[tuple[str, str]] = []
        best: list[str] = []
        for path, its in self.sequences():
            if its.item.loose == kind.loose:
                found.append((path, ""))
                if isinstance(its.item, Int) or (isinstance(its.item, Record) and its.item.ordered):
                    best.append(path)
            if isinstance(its.item, Record):
                found += [(path, f".{f.name}") for f in its.item.fields if f.kind.loose == kind.loose]
        made: list[Production] = [(6, lambda: self.indexed(kind, depth, *self.rng.choice(found)))] if found else []
        return [*made, (2, lambda: self.best_item(kind, depth, self.rng.choice(best)))] if best else made

    def indexed(self, kind: Kind, depth: int, path: str, field: str) -> str:
        """An item by its place, from the end too; where there may be none, another value if nothing may raise."""
        place = self.place(depth)
        index, there = self.rng.choice(
            (
                ("-1", f"len({path}) > 0"),
                ("-1", f"{path} != ()"),
                ("-2", f"len({path}) > 1"),
                ("0", f"len({path}) >= 1"),
                (f"len({path}) - 1", f"len({path}) > 0"),
                (place, f"{place} < len({path})"),
            )
        )
        if self.taste.partial and self.chance(0.4) and "len" not in index:
            return f"{path}[{index}]{field}"
        return f"({path}[{index}]{field} if {there} else {self.of(kind, depth - 1)})"

    def best_item(self, kind: Kind, depth: int, path: str) -> str:
        name = self.fresh("n")
        keys = [f.name for f in kind.fields if isinstance(f.kind, Int | Bool)] if isinstance(kind, Record) else []
        key = f", key=lambda {name}: {name}.{self.rng.choice(keys)}" if keys and self.chance(0.5) else ""
        default = "" if self.taste.partial and self.chance(0.3) else f", default={self.of(kind, depth - 1)}"
        return f"{self.rng.choice(('min', 'max'))}({path}{key}{default})"

    def _sequence(self, kind: Kind, depth: int) -> list[Production]:
        found = super()._sequence(kind, depth)
        paths = self.known_paths(kind) if self.taste.logs else []
        if paths:
            assert isinstance(kind, Sequence)
            found.append((5, lambda: self.changed(self.rng.choice(paths), kind, depth)))
            found.append((2, lambda: f"tuple({self.comprehension(kind.item, depth, True, False)})"))
        sets = self.number_sets()
        if sets and isinstance(kind, Sequence) and isinstance(kind.item, Int):
            found.append((4, lambda: f"tuple(sorted({self.rng.choice(sets)}))"))
        return found

    def _bool(self, kind: Kind, depth: int) -> list[Production]:
        found, sequences = super()._bool(kind, depth), self.sequences()
        if sequences:
            found.append((4, lambda: self.compared_parts(depth, *self.rng.choice(sequences))))
            found.append((3, lambda: self.within_sequence(depth, *self.rng.choice(sequences))))
        pairs = self.pairs()
        if pairs:
            found.append((5, lambda: self.compared_pairs(depth, *self.rng.choice(pairs))))
        sets = self.number_sets()
        if sets:
            word = self.rng.choice(("in", "in", "not in"))
            found.append((4, lambda: f"({self.of(Int(), depth)} {word} {self.rng.choice(sets)})"))
        if self.calculated():
            found.append((2, lambda: self.id_and_number(depth)))
        return found

    def compared_parts(self, depth: int, path: str, kind: Sequence) -> str:
        """Two sequences, or parts of them, compared."""
        first, last = self.place(depth), self.place(depth)
        parts = (f"[:{last}]", f"[{first}:]", f"[{first}:{last}]", f"[{first}:{first} + 1]", "[:-1]", "[-2:]", "")
        part, more = self.rng.choice(parts), self.rng.choice(parts)
        other = self.rng.choice(self.known_paths(kind))
        right = f"{other}{part if self.chance(0.6) else more}" if self.chance(0.7) else self.of(kind, depth)
        item = kind.item
        ordered = isinstance(item, Int | SetOf | Bool) or (isinstance(item, Record) and item.ordered)
        return f"({path}{part} {self.rng.choice(COMPARISONS if ordered else COMPARISONS[:2])} {right})"

    def within_sequence(self, depth: int, path: str, kind: Sequence) -> str:
        return f"({self.of(kind.item, depth)} {self.rng.choice(('in', 'in', 'not in'))} {path})"

    def _int(self, kind: Kind, depth: int) -> list[Production]:
        found, sequences = super()._int(kind, depth), self.sequences()
        if sequences:
            found.append((2, lambda: f"len({self.rng.choice(sequences)[0]})"))
            found.append((2, lambda: self.place_of(depth, *self.rng.choice(sequences))))
        sets = self.number_sets()
        if sets:
            found.append((2, lambda: f"len({self.of(SetOf(Int()), depth)})"))
            found.append((2, lambda: self.best_number(depth, self.rng.choice(sets))))
        of_numbers = [*sets, *(path for path, its in sequences if isinstance(its.item, Int))]
        if of_numbers:
            found.append((3, lambda: f"sum({self.rng.choice(of_numbers)})"))
        if self.taste.pairs:
            name = self.rng.choice(("sum", "len"))
            found.append((1, lambda: f"{name}(range({self.place(0)}, min({self.of(Int(), depth)}, 4)))"))
        sorts = self.calculated()
        if sorts:
            found.append((4, lambda: f"int({self.of(self.rng.choice(sorts), depth)})"))
            found.append(
                (
                    2,
                    lambda: (
                        f"({self.of(self.rng.choice(sorts), depth)} {self.rng.choice('+-')} {self.of(kind, depth)})"
                    ),
                )
            )
            found.append((1, lambda: f"int({self.of(Bool(), depth)})"))
        return found

    def best_number(self, depth: int, path: str) -> str:
        default = "" if self.taste.partial and self.chance(0.4) else f", default={self.of(Int(), depth)}"
        source = self.rng.choice((path, f"{path} | {{{self.of(Int(), depth)}}}"))
        return f"{self.rng.choice(('min', 'max'))}({source}{default})"

    def place_of(self, depth: int, path: str, kind: Sequence) -> str:
        """The place of an item that something is true of, or a calculation with such places."""
        place, name = self.fresh("i"), self.fresh("n")
        self.inside += 1
        with self.within({place: Int(), name: kind.item}):
            test = self.of(Bool(), depth)
        self.inside -= 1
        made = f"{place} for {place}, {name} in enumerate({path}) if {test}"
        return self.rng.choice((f"sum({made})", f"max(({made}), default=-1)", f"next(({made}), len({path}))"))

    # -- ids as numbers --------------------------------------------------------------------------------------------

    def calculated(self) -> list[Sort]:
        """The sorts whose ids may be calculated with: of those that are alike none, unless their order is read."""
        if not self.taste.numbered:
            return []
        sorts = [k for k in self.items if isinstance(k, Sort)]
        return sorts if self.taste.order_is_read else sorts[1:]

    def _sort(self, kind: Kind, depth: int) -> list[Production]:
        found = super()._sort(kind, depth)
        if kind in self.calculated():
            assert isinstance(kind, Sort)
            found.append((5, lambda: self.id_of(kind, depth)))
        return found

    def id_of(self, kind: Sort, depth: int) -> str:
        """The id of a number that is one's for sure."""
        first, last = kind.first, kind.first + kind.size - 1
        count = f"{self.c}.{kind.name.lower()}_count" if self.chance(0.5) else str(kind.size)
        more = f" + {first}" if first else ""
        number = self.of(Int(), depth)
        numbers = [p for p, k in self.scope.paths() if isinstance(k, Int)]
        made = [
            f"{kind.name}({number} % {count}{more})",
            f"{kind.name}((int({self.leaf(kind)}) + {self.rng.choice('12')}) % {count}{more})",
            f"{kind.name}(min({last}, max({first}, {number})))",
            f"next(({kind.name}(i9) for i9 in range({first}, {last + 1}) if i9 >= {number}), {self.leaf(kind)})",
        ]
        if numbers:
            path = self.rng.choice(numbers)
            made.append(f"({kind.name}({path}) if {first} <= {path} < {last + 1} else {self.leaf(kind)})")
            made.append(
                f"({kind.name}({path} - 1) if {first} < {path} and {path} <= {last + 1} else {self.leaf(kind)})"
            )
        return self.rng.choice(made)

    def id_and_number(self, depth: int) -> str:
        """An id and a number that is calculated, compared."""
        number = f"({self.of(Int(), depth)} + {self.rng.choice('012')})"
        return f"({self.of(self.rng.choice(self.calculated()), depth)} {self.rng.choice(COMPARISONS)} {number})"

    def raising(self) -> str:
        """An id of the first sort, or an exception."""
        kind = SetOf(self.sorts[0])
        return self.rng.choice(RAISING).format(many=self.leaf(kind), test=self.atom())

    def simple_step(self) -> list[str]:
        """One or two guards, and one field that changes."""
        changed = self.rng.choice(self.state.fields)
        kind = changed.kind.inner if isinstance(changed.kind, Optional) and self.chance(0.7) else changed.kind
        if isinstance(changed.kind, Sequence) and changed.kind.of_parts:
            self.fuel = 6
            return [f"require({self.atom()})", self.step_of_log(changed)]
        values = self.known_paths(kind) if self.chance(0.3) else []
        if isinstance(kind, Int):
            values = values or [str(self.rng.randint(kind.low, kind.high))]
        guards = [f"require({self.atom()})" for _ in range(self.rng.choice((1, 1, 1, 2)))]
        return [*guards, f"return replace(s, {changed.name}={self.rng.choice(values or [self.constant(kind)])})"]

    def step_of_ids(self) -> list[str]:
        """A field of ids changes by the parameter `o`, or by what the order of ids tells."""
        ids = self.sorts[0]
        self.config_used = True
        many = self.rng.choice([*self.known_paths(SetOf(ids)), f"(every({ids.name}, c) - {{o}})"])
        other = self.rng.choice(self.known_paths(ids))
        text = self.rng.choice(ORDERED if self.in_order else ("{one}", "{other}")).format(
            many=many, one="o", other=other, sort=ids.name
        )
        field = self.rng.choice([f for f in self.state.fields if f.name in ("y0", "y1")])
        here, kind = f"s.{field.name}", field.kind
        if isinstance(kind, SetOf):
            text = self.rng.choice(("{0} | {{{1}}}", "{0} - {{{1}}}", "frozenset({{{1}}})")).format(here, text)
        elif isinstance(kind, Sequence):
            text = self.rng.choice(("({0} + ({1},))[:2]", "({1},) + {0}[1:2]")).format(here, text)
        elif isinstance(kind, MapFrom):
            text = f"{here}.put({text}, {self.leaf(kind.value)})"
        guards = [f"require({self.atom()})" for _ in range(self.rng.choice((0, 1, 1)))]
        return [*guards, f"return replace(s, {field.name}={text})"]

    def grow(self, large: Large) -> str:
        """The action that makes the model large."""
        self.begin({"s": self.state, **dict(large.params)}, guards=True)
        guards = [f"require({g})" for g in large.guards if self.chance(0.7)]
        guards += ["require(u in (L(0), L(21), L(43)))"] if large.sorts else []
        self.actions["grow"] = list(large.params)
        given = [("s", self.state, None), *((n, k, None) for n, k in large.params)]
        body = [*guards, f"return replace(s, {self.rng.choice(large.changes)})"]
        return self.function("grow", given, self.state, body, '@action(who="g", fair="weak")\n')
