"""Random function bodies: assignments, guards, branches, early returns, loops."""

from __future__ import annotations

import textwrap

from tests.fuzz.expressions import Expressions
from tests.fuzz.kinds import (
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
    every_value,
)
from tests.fuzz.leaves import MOST_UNROLLED

DEEPEST = 3
"""Depth of expressions at the top of a statement."""


class Bodies(Expressions):
    """Writes the bodies of functions."""

    def body(self, result: Kind, fuel: int, guarded: bool = False) -> list[str]:
        """Statements that end in a value of a kind. guarded: with at least one `require`."""
        self.fuel = fuel
        lines: list[str] = []
        if guarded:
            lines += self.guard()
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3))):
            lines += self.statement(result, 2)
        return [*lines, f"return {self.result(result)}"]

    def result(self, kind: Kind) -> str:
        """What a function returns; of a record most often a changed one."""
        paths = self.known_paths(kind)
        if isinstance(kind, Record) and kind.fields and paths and self.chance(0.85):
            fields = self.rng.sample(kind.fields, min(len(kind.fields), self.rng.choice((1, 1, 2, 3))))
            given = [f"{f.name}={self.held(f.kind, DEEPEST)}" for f in fields]
            return f"replace({self.rng.choice(paths)}, {', '.join(given)})"
        return self.of(kind, DEEPEST)

    def statement(self, result: Kind, nested: int) -> list[str]:
        kinds = ["assign", "assign", "again", "pair", "augmented", "early"]
        kinds += ["branch", "branch", "narrow"] if nested else []
        kinds += ["guard", "guard", "some", "refuse"] if self.scope.guards else []
        kinds += ["table", "table"] if self.taste.tables and nested and not self.inside and self.tables() else []
        kinds += ["unpacked", "unpacked"] if self.pairs() else []
        kinds += ["loop", "loop", "loop_of_a_set"] if self.taste.loops and nested and self.inside < 2 else []
        made: list[str] = getattr(self, "_" + self.rng.choice(kinds))(result, nested)
        return made

    def any_kind(self) -> Kind:
        kinds = [k for _, k in self.scope.paths()]
        keys = [k.key for _, k in self.tables() if isinstance(k.key, Tuple)]
        return self.rng.choice([*kinds, *keys, Int(), Bool(), *(SetOf(k) for k in self.items)])

    def guard(self) -> list[str]:
        note = ', "why"' if self.chance(0.1) else ""
        open_paths = [p for p, k in self.scope.paths() if isinstance(k, Optional)]
        if open_paths and self.chance(0.3):
            path = self.rng.choice(open_paths)
            self.scope.known |= {path}
            return [f"require({path} is not None{note})"]
        return [f"require({self.of(Bool(), DEEPEST)}{note})"]

    def _guard(self, result: Kind, nested: int) -> list[str]:
        return self.guard()

    def _some(self, result: Kind, nested: int) -> list[str]:
        found = [k for _, k in self.scope.paths() if isinstance(k, Optional)]
        if not found:
            return self.guard()
        kind = self.rng.choice(found)
        assert isinstance(kind, Optional)
        text = f"some({self.maybe(kind.inner, 2)})"
        name = self.fresh("x")
        self.scope.bind(name, kind.inner)
        return [f"{name} = {text}"]

    def _refuse(self, result: Kind, nested: int) -> list[str]:
        return [f"if {self.of(Bool(), DEEPEST)}:", f"    refuse({self.rng.choice(('', repr('no')))})"]

    def _assign(self, result: Kind, nested: int) -> list[str]:
        kind = self.any_kind()
        text = self.of(kind, DEEPEST)
        name = self.fresh("x")
        self.scope.bind(name, kind)
        return [f"{name} = {text}"]

    def _again(self, result: Kind, nested: int) -> list[str]:
        """Another value for a name that has one."""
        if not self.scope.names:
            return self._assign(result, nested)
        name = self.rng.choice(list(self.scope.names))
        kind = self.scope.names[name]
        text = self.result(kind)
        self.scope.bind(name, kind)
        return [f"{name} = {text}"]

    def _pair(self, result: Kind, nested: int) -> list[str]:
        kinds = self.any_kind(), self.any_kind()
        texts = [self.of(k, 2) for k in kinds]
        names = self.fresh("x"), self.fresh("x")
        for name, kind in zip(names, kinds, strict=True):
            self.scope.bind(name, kind)
        return [f"{', '.join(names)} = {', '.join(texts)}"]

    def _unpacked(self, result: Kind, nested: int) -> list[str]:
        """The items of a tuple get names."""
        _, kind = self.rng.choice(self.pairs())
        text = self.of(kind, 2)
        names = [self.fresh("x") for _ in kind.parts]
        for name, part in zip(names, kind.parts, strict=True):
            self.scope.bind(name, part)
        return [f"{', '.join(names)} = {text}"]

    def _augmented(self, result: Kind, nested: int) -> list[str]:
        kinds = (Int, SetOf, Sequence) if self.taste.logs else (Int, SetOf)
        found = [(n, k) for n, k in self.scope.names.items() if isinstance(k, kinds)]
        if not found:
            return self._assign(result, nested)
        name, kind = self.rng.choice(found)
        sign = self.rng.choice("+-*" if isinstance(kind, Int) else "+" if isinstance(kind, Sequence) else "|&-^")
        return [f"{name} {sign}= {self.of(kind, 2)}"]

    def _early(self, result: Kind, nested: int) -> list[str]:
        test = self.of(Bool(), DEEPEST)
        with self.within(holding=test):
            lines = [f"if {test}:", f"    return {self.result(result)}"]
        self.scope.holding += (f"not {test}",)
        return lines

    def _narrow(self, result: Kind, nested: int) -> list[str]:
        """`if path is None` with an end, and the path there from then on."""
        found = [p for p, k in self.scope.paths() if isinstance(k, Optional)]
        if not found:
            return self._branch(result, nested)
        path = self.rng.choice(found)
        lines = [f"if {path} is None:", f"    return {self.result(result)}"]
        self.scope.known |= {path}
        return lines

    def _branch(self, result: Kind, nested: int) -> list[str]:
        """`if`, perhaps with `elif` and `else`; a name that every branch gives a value is kept."""
        kind, name = self.any_kind(), self.fresh("x")
        total = self.chance(0.5)
        lines: list[str] = []
        words = ["if", *(["elif"] if self.chance(0.3) else []), *(["else"] if total or self.chance(0.3) else [])]
        known = self.scope.known
        changed: set[str] = set()
        for word in words:
            test = "" if word == "else" else f" {self.of(Bool(), DEEPEST)}"
            with self.within(holding=test.strip()):
                inner: list[str] = []
                for _ in range(self.rng.choice((0, 1, 1))):
                    inner += self.statement(result, nested - 1)
                if total:
                    inner.append(f"{name} = {self.of(kind, 2)}")
                if self.chance(0.2):
                    inner.append(f"return {self.result(result)}")
                changed |= {word.strip(",") for line in inner for word in line.partition("=")[0].split()}
            lines += [f"{word}{test}:", *textwrap.indent("\n".join(inner or ["pass"]), "    ").splitlines()]
        self.scope.known = frozenset(k for k in known if k.split(".")[0] not in changed)
        self.scope.forget(changed)
        if total and words[-1] == "else":
            self.scope.bind(name, kind)
        return lines

    # -- maps from numbers and tuples ------------------------------------------------------------------------------

    def _table(self, result: Kind, nested: int) -> list[str]:
        """A loop for each part of a key, and a value put where something is true."""
        path, kind = self.rng.choice(self.tables())
        name, names = self.fresh("x"), [self.fresh("k") for _ in kind.parts]
        cell = f"{name}[{', '.join(names)}]"
        keys: dict[str, Kind] = dict(zip(names, kind.parts, strict=True))
        self.inside += 1
        with self.within(keys):
            test = self.of(Bool(), 2)
        with self.within({**keys, cell: kind.value}):
            value = self.held(kind.value, 2)
        self.inside -= 1
        lines = [f"if {test}:", f"    {name} = {name}.put({kind.written_key(names)}, {value})"]
        for part, of in reversed(list(zip(names, kind.parts, strict=True))):
            source = every_value(of, self.c)
            if isinstance(of, Int) and self.chance(0.3):
                source = f"range({of.low}, min({of.high + 1}, {self.of(Int(), 1)}))"
            elif not isinstance(of, Int) and self.chance(0.4):
                source = self.of(SetOf(of), 1)
            lines = [f"for {part} in {source}:", *(f"    {line}" for line in lines)]
        self.scope.bind(name, kind)
        return [f"{name} = {path}", *lines]

    # -- loops ---------------------------------------------------------------------------------------------

    def _loop(self, result: Kind, nested: int) -> list[str]:
        """A loop over what has an order: any statements in it, `break`, `continue`, `else`."""
        name, kind = self.fresh("x"), self.rng.choice((Int(), Bool(), SetOf(self.rng.choice(self.items)), *self.logs()))
        lines = [f"{name} = {'()' if isinstance(kind, Sequence) and self.chance(0.5) else self.of(kind, 2)}"]
        self.scope.bind(name, kind)
        source, target, names = self.ordered_source()
        saved = self.scope.known, self.scope.holding
        with self.within(names):
            self.scope.known, self.scope.holding = frozenset(), ()  # of what a turn before has changed
            self.inside += 1
            inner: list[str] = []
            for _ in range(self.rng.choice((0, 1, 1, 2))):
                inner += self.statement(result, nested - 1)
                if self.chance(0.3):
                    inner += [f"if {self.of(Bool(), 2)}:", f"    {self.rng.choice(('break', 'continue'))}"]
            sign = (
                "+"
                if isinstance(kind, Int | Sequence)
                else "and"
                if isinstance(kind, Bool)
                else self.rng.choice("|&-^")
            )
            more = f"({self.of(kind.item, 2)},)" if isinstance(kind, Sequence) else self.of(kind, 2)
            inner.append(f"{name} = {name} {sign} {more}")
            self.inside -= 1
        changed = {word.strip(",") for line in inner for word in line.partition("=")[0].split()} | {name, *names}
        lines += [f"for {target} in {source}:", *textwrap.indent("\n".join(inner), "    ").splitlines()]
        self.scope.known, self.scope.holding = saved
        self.scope.known = frozenset(k for k in saved[0] if k.split(".")[0] not in changed)
        self.scope.forget(changed)
        if self.chance(0.15):
            lines += ["else:", f"    {name} = {self.of(kind, 2)}"]
        return lines

    def logs(self) -> list[Sequence]:
        """The sequences of records, numbers, sets and sequences that are in reach."""
        return [k for _, k in self.scope.paths() if isinstance(k, Sequence) and k.of_parts]

    def ordered_source(self) -> tuple[str, str, dict[str, Kind]]:
        """An iterable that has an order, the variables that are written, and their kinds."""
        kinds = [k for k in self.items if k.count <= MOST_UNROLLED]
        small = [k for k in kinds if isinstance(k, Sort)] if self.taste.order_is_read else []
        name = self.fresh("n")
        logs = self.logs()
        item: Kind
        if logs and self.chance(0.5):
            log = self.rng.choice(logs)
            text, item = self.of(log, 1), log.item
        elif not kinds or self.chance(0.3):
            limit = self.rng.choice((2, 3, 4))
            first = "" if self.chance(0.6) else f"{self.rng.choice((-1, 0, 1))}, "
            text, item = f"range({first}min({self.of(Int(), 2)}, {limit}))", Int()
        elif small and self.chance(0.5):
            item = self.rng.choice(small)
            text = f"sorted({self.of(SetOf(item), 2)})"
        else:
            item = self.rng.choice(kinds)
            text = self.of(Sequence(item), 2)
        if self.chance(0.2):
            text = f"reversed({text})"
        if self.chance(0.3):
            number = self.fresh("i")
            start = f", {self.rng.choice((-1, 1, 2))}" if self.chance(0.2) else ""
            return f"enumerate({text}{start})", f"{number}, {name}", {number: Int(), name: item}
        return text, name, {name: item}

    def _loop_of_a_set(self, result: Kind, nested: int) -> list[str]:
        """A loop over a set, the order of whose members does not show."""
        sets = [(p, k.item) for p, k in self.scope.paths() if isinstance(k, Messages | SetOf) and k.item.count <= 64]
        items = [k for k in self.items if k.count <= MOST_UNROLLED]
        if items and (not sets or self.chance(0.5)):
            kind = self.rng.choice(items)
            source, item = self.of(SetOf(kind), 2), kind
        elif sets:
            source, item = self.rng.choice(sets)
        else:
            return self._loop(result, nested)
        maps = [(p, k) for p, k in self.scope.paths() if isinstance(k, MapFrom) and item in k.parts]
        name, member = self.fresh("x"), self.fresh("n")
        how = self.rng.choice(("sum", "sum", "flag", "break", "return", *(["put"] if maps else [])))
        kind = self.rng.choice((Int(), Bool(), SetOf(self.rng.choice(self.items))))
        start, key = self.of(kind, 2), list[str]()
        if how == "put":
            path, of = self.rng.choice(maps)
            kind, start = of, path
            key = [member if part == item else self.part(part, 1) for part in of.parts]
        value = self.of(kind, 2) if how in ("flag", "break") else ""
        ends = [f"return {self.result(result)}"] if how == "return" else []
        with self.within({member: item}):
            self.inside += 1
            test = self.of(Bool(), 2)
            if how in ("flag", "break"):
                change = [f"{name} = {value}", *(["break"] if how == "break" else [])]
            elif how == "put":
                assert isinstance(kind, MapFrom)
                change = [f"{name} = {name}.put({kind.written_key(key)}, {self.held(kind.value, 2)})"]
            elif isinstance(kind, Int):
                word = self.rng.choice(("+", "-", "max", "min"))
                change = [
                    f"{name} = {word}({name}, {self.of(kind, 2)})"
                    if len(word) > 1
                    else f"{name} {word}= {self.of(kind, 2)}"
                ]
            elif isinstance(kind, Bool):
                change = [f"{name} = {name} {self.rng.choice(('and', 'or'))} {self.of(kind, 2)}"]
            else:
                change = [f"{name} {self.rng.choice('|&-^')}= {self.of(kind, 2)}"]
            self.inside -= 1
        self.scope.bind(name, kind)
        body = [f"if {test}:", *(f"    {line}" for line in ends or change)]
        return [f"{name} = {start}", f"for {member} in {source}:", *(f"    {line}" for line in body)]
