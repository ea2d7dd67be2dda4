"""A random model as text, the same for the same seed: sorts, records, state, helpers, actions, claims, variants."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from tests.fuzz.extras import LARGE, Extras
from tests.fuzz.kinds import (
    Bool,
    Enumeration,
    Field,
    Int,
    Kind,
    MapFrom,
    Messages,
    Optional,
    Record,
    Sequence,
    SetOf,
    Sort,
)
from tests.fuzz.leaves import Helper, Scope, Taste

HEADER = """\
from __future__ import annotations
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from {language} import *
from {language} import Id, Map, MaxLen, MaxSize, Model, Range
"""
CHOICES = 48
"""Values that the free parameters of one function have together, at most."""
SIZES = (1, 1, 1, 2, 2, 2, 3, 3)
"""Of message sets."""
STARTS = 96
"""Initial states, at most."""
RANGES = ((0, 1), (0, 3), (0, 5), (-1, 0), (-1, 1), (-2, 2), (-3, -1), (1, 3), (-5, 3), (0, 0), (2, 7), (-4, 0))
WIDE = ((0, 1 << 32), (-(1 << 31), 1 << 31), (0, (1 << 40) - 1), (-(1 << 20), 1 << 20))


@dataclass
class Source:
    """The files of a model, by stem; the model is the last."""

    files: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        return "\n".join(f"# ---- {stem}.py\n{text}" for stem, text in self.files.items())


class Writer(Extras):
    """Writes one model."""

    def __init__(self, rng: random.Random, language: str, **taste: bool) -> None:
        """taste: of `Taste`, and names of `LARGE`."""
        large = [large for name, large in LARGE.items() if taste.pop(name, False)]
        in_order = taste.pop("in_order", False)
        super().__init__(rng, Taste(partial=rng.random() < 0.25, big=rng.random() < 0.08, **taste), large, in_order)
        self.language = language
        self.simple = self.taste.commands and self.chance(0.8)
        """Few fields of few values, and short bodies: most actions are enabled somewhere."""
        self.enums: list[Enumeration] = []
        self.view: Record | None = None
        self.tagged: set[str] = set()
        self.untagged = ""
        """The text of the actions without a tag."""

    # -- types ---------------------------------------------------------------------------------------------

    def declare_items(self) -> None:
        rng, alike = self.rng, self.taste.alike
        for name in "ABC"[: rng.choice((1, 1, 1, 2) if alike else (1, 1, 2, 3))]:
            size = rng.choice((1, 2, 2, 2, 3, 3, 4)) if not self.chance(0.04) else rng.choice((16, 33, 60))
            size = rng.choice((2, 3, 3, 4)) if alike and size < 16 else size
            self.sorts.append(Sort(name, size, rng.choice((0, 0, 1, 1, 5))))
        for name in "EF"[: rng.choice((0, 1, 1, 2))]:
            self.enums.append(Enumeration(name, ("RED", "BLUE", "GREEN", "GREY")[: rng.choice((1, 2, 2, 3, 4))]))
        self.items = [*self.sorts, *self.enums, *([Bool()] if self.chance(0.4) else [])]

    def int_kind(self) -> Int:
        if self.taste.big and self.chance(0.4):
            low, high = self.rng.choice(WIDE)
        else:
            low, high = self.rng.choice(RANGES)
        if high == 3 and self.chance(0.4):
            return Int(low, high, self.chance(0.3), "limit")
        return Int(low, high, self.chance(0.25))

    def any_type(self, deep: int, small: bool = False) -> Kind:
        """A type that a field may have. small: of few values."""
        rng = self.rng
        item = rng.choice(self.items)
        made = [(3, Bool()), (4, self.int_kind()), (4, item)]
        if item.count <= 16 or not small:
            made.append((5, SetOf(item)))
        short = 14 if isinstance(item, Sort) and item.size > 4 else 3
        made.append((3, Sequence(item, min(rng.choice((1, 1, 2, 2, 3)), short), self.chance(0.3))))
        if self.taste.logs and (deep or self.records):
            made.append((8, self.log()))
        if self.taste.number_sets:
            made.append((6, self.number_set()))
        if self.taste.pairs:
            made.append((6, self.pair_kind()))
        if self.taste.tables and deep:
            made.append((4, self.table(self.any_type(0, small))))
        if deep:
            inner = self.any_type(deep - 1, small)
            if not isinstance(inner, Optional):
                made.append((6, Optional(inner)))
            keys = [k for k in self.items if k.count <= 4]
            if keys:
                made.append((4, MapFrom(rng.choice(keys), self.any_type(deep - 1, small))))
            if self.records:
                made.append((5, rng.choice(self.records)))
                made.append((5, Messages(rng.choice(self.records), rng.choice(SIZES), self.chance(0.3))))
        return rng.choices([k for _, k in made], [w for w, _ in made])[0]

    def record(self, name: str, count: int, deep: int) -> Record:
        fields, defaults = [], False
        for i in range(count):
            kind = self.any_type(deep, small=True)
            defaults = defaults or self.chance(0.2)
            fields.append(Field(f"{name.lower()}{i}", kind, self.default(kind) if defaults else None))
            if defaults and fields[-1].default is None:
                defaults = False
                fields = [Field(f.name, f.kind) for f in fields]
        in_order = (Int, Bool) if self.taste.alike else (Int, Bool, Sort)
        ordered = self.taste.logs and all(isinstance(f.kind, in_order) for f in fields)
        return Record(name, tuple(fields), ordered=ordered)

    def default(self, kind: Kind) -> str | None:
        """A default that needs no configuration."""
        if isinstance(kind, Int):
            return str(self.rng.randint(kind.low, min(kind.high, kind.low + 9)))
        saved, self.numeric_fields = self.numeric_fields, []
        used, scope = self.config_used, self.scope
        self.scope = Scope()
        text = self.constant_within(kind) if isinstance(kind, Sequence) and kind.of_parts else self.constant(kind)
        self.numeric_fields, self.scope = saved, scope
        made = None if "fill(" in text or "every(" in text else text
        self.config_used = used
        return made

    def declare_records(self) -> None:
        if self.taste.logs:
            self.records.append(self.entry())
        for name in ("P", "Q", "R")[: self.rng.choice((0, 1, 1, 2, 2, 3))]:
            self.records.append(self.record(name, self.rng.choice((0, 1, 1, 2, 2, 3)), 1))
        if self.simple:
            kinds: tuple[Kind, ...] = (Bool(), Int(0, 1), Int(0, 2), self.sorts[0], Optional(self.sorts[0]))
            self.state = Record("State", self.more_fields([Field(f"x{i}", self.rng.choice(kinds)) for i in range(3)]))
            return
        fields = [Field(f"x{i}", self.any_type(2)) for i in range(self.rng.choice((1, 2, 2, 3, 3, 4, 5)))]
        if self.chance(0.15):
            fields[-1] = Field(fields[-1].name, fields[-1].kind, self.default(fields[-1].kind))
        self.state = Record("State", self.more_fields(fields))
        self.note_sent()

    def note_sent(self) -> None:
        """Which records are within message sets."""
        pending: list[tuple[Kind, bool]] = [(self.state, False), *((r, False) for r in self.records)]
        while pending:
            kind, inside = pending.pop()
            if isinstance(kind, Messages):
                pending.append((kind.item, True))
            elif isinstance(kind, Optional):
                pending.append((kind.inner, inside))
            elif isinstance(kind, MapFrom):
                pending.append((kind.value, inside))
            elif isinstance(kind, Sequence):
                pending.append((kind.item, inside))
            elif isinstance(kind, Record):
                if inside:
                    self.sent.add(kind.name)
                pending += [(f.kind, inside) for f in kind.fields]

    # -- functions -----------------------------------------------------------------------------------------

    def kinds_at_hand(self) -> list[Kind]:
        kinds = [f.kind for f in self.state.fields]
        inner = [f.kind for k in kinds if isinstance(k, Record) for f in k.fields]
        return [*kinds, *inner, *self.items, Int(), Bool(), *(SetOf(k) for k in self.items), *self.records]

    def helper(self, name: str) -> str:
        rng = self.rng
        guards = self.chance(0.35)
        result = rng.choice((Bool(), Bool(), Int(), rng.choice(self.kinds_at_hand())))
        params: list[tuple[str, Kind, str | None]] = []
        for i in range(rng.choice((0, 1, 1, 2, 3))):
            kind = self.state if self.chance(0.3) else rng.choice(self.kinds_at_hand())
            params.append((f"{name}{'pqr'[i]}", kind, None))
        if params and self.chance(0.3):
            last, kind, _ = params[-1]
            default = self.default(kind) if kind is not self.state else None
            params[-1] = (last, kind, default)
        self.begin({n: k for n, k, _ in params}, guards)
        if not params:
            self.config_used = True
        body = self.body(result, rng.choice((6, 14, 25)), guards)
        text = self.function(name, params, result, body)
        self.helpers.append(Helper(name, tuple(params), result, guards, self.config_used))
        return text

    def parameters(self) -> tuple[list[tuple[str, Kind]], list[str]]:
        """Parameters of an action: free ones of few values together, others drawn from sets of the state."""
        found: list[tuple[str, Kind]] = []
        drawn: list[str] = []
        choices = 1
        if self.taste.alike:
            found, choices = [("o", self.sorts[0])], self.sorts[0].size
        for name in ("p", "q", "r")[: self.rng.choice((0, 1, 1, 1, 2, 2, 3))]:
            if self.chance(0.3):
                made = self.drawn_from()
                if made is not None:
                    kind, text = made
                    found.append((name, kind))
                    drawn.append(f"{name}={text}")
                    continue
            kind = self.any_type(1, small=True)
            if choices * kind.count <= CHOICES:
                choices *= kind.count
                found.append((name, kind))
        return found, drawn

    def drawn_from(self) -> tuple[Kind, str] | None:
        """A set of the state that a parameter is drawn from: its members' kind, and a lambda."""
        self.begin({"s": self.state})
        bags = [(p, k) for p, k in self.scope.paths() if isinstance(k, Messages)]
        if bags and self.chance(0.6):
            path, bag = self.rng.choice(bags)
            assert isinstance(bag, Messages)
            return bag.item, f"lambda s: {path}"
        small = [k for k in self.items if k.count <= 8]
        if not small:
            return None
        kind = self.rng.choice(small)
        self.fuel = 8
        text = self.of(SetOf(kind), 2)
        return kind, f"lambda s{', c' if self.config_used else ''}: {text}"

    def action(
        self, name: str, guarded: float = 0.6, of_ids: bool = False, of_logs: bool = False, table: Field | None = None
    ) -> str:
        """of_ids: it changes a field of ids that are alike. of_logs: it changes a sequence of records or numbers.

        table: it changes this map.
        """
        params, drawn = self.parameters() if table is None else (self.key_parameters(table), [])
        params += [("o", self.sorts[0])] if table is not None and self.taste.alike else []
        words = ['who="w"', *drawn]
        self.drawn[name] = drawn
        if self.chance(0.3):
            words.append('tags=["t"]')
            self.tagged.add(name)
        if self.chance(0.7 if self.taste.commands else 0.1):
            words.append(f'fair="{self.rng.choice(("weak", "strong"))}"')
            if self.taste.commands and params and self.chance(0.4):
                words.append(f"fair_each={[n for n, _ in params if self.chance(0.7)]}")
        self.begin({"s": self.state, **dict(params)}, guards=True)
        at_first = self.scope.copy()  # without the names that the body binds
        if of_ids:
            body = self.step_of_ids()
        elif table is not None:
            body = self.step_of_table(table)
        elif of_logs:
            self.fuel = 12
            guards = [f"require({self.atom()})"] if self.chance(0.5) else []
            body = [*guards, self.step_of_log(self.rng.choice(self.log_fields()))]
        elif self.simple:
            body = self.simple_step()
        else:
            self.taste = replace(self.taste, in_order=self.in_order and self.chance(0.5))
            body = self.body(self.state, self.rng.choice((12, 25, 40)), self.chance(guarded))
            self.taste = replace(self.taste, in_order=False)
        if self.taste.raising and self.chance(0.6):
            self.scope = at_first
            body = [f"if {self.atom()}:", f"    e9 = {self.raising()}", *body]
        if self.large and self.large.others:
            body = [f"require({self.rng.choice(self.large.others)})", *body]
        self.actions[name] = params
        given = [("s", self.state, None), *((n, k, None) for n, k in params)]
        return self.function(name, given, self.state, body, f"@action({', '.join(words)})\n")

    def initial(self, name: str) -> str:
        self.begin({}, guards=True)
        params: list[tuple[str, Kind]] = []
        choices = 1
        free = self.chance(0.5) and not (self.large and self.large.others)  # one state a level
        for i, f in enumerate(self.state.fields):
            if free and choices * f.kind.count <= STARTS and self.chance(0.7):
                choices *= f.kind.count
                params.append((f"i{i}", f.kind))
        self.scope = Scope(dict(params), guards=True)
        used = {n for n, _ in params}

        def part(i: int, kind: Kind) -> str:
            if f"i{i}" in used and self.chance(0.9):
                return f"i{i}"
            return self.constant_within(kind)

        body = [
            "return State(" + ", ".join(f"{f.name}={part(i, f.kind)}" for i, f in enumerate(self.state.fields)) + ")"
        ]
        if self.chance(0.08):
            self.fuel = 10
            body = [f"require({self.of(Bool(), 2)})", *body]
        signature: list[tuple[str, Kind, str | None]] = [(n, k, None) for n, k in params]
        return self.function(name, signature, self.state, body, "@initial\n")

    # -- claims --------------------------------------------------------------------------------------------

    def claim(self, kind: str, name: str) -> str:
        over: Record = self.view if self.view is not None and self.chance(0.3) else self.state
        when = "when=lambda c: c.flag" if self.chance(0.1) else ""
        if kind in ("step_property", "step_cover"):
            return self.step_claim("cover" if kind == "step_cover" else kind, name, over, when)
        self.begin({"s": over})
        at_first = self.scope.copy()
        body = self.claimed(self.rng.choice((8, 16, 30)))
        if self.taste.raising and over is self.state and self.chance(0.3):
            self.scope = at_first
            body = [f"if {self.atom()}:", f"    e9 = {self.raising()}", *body]
        self.fuel = 10
        decorator = f"@{kind}" + (f"({when})" if when and kind in ("invariant", "cover") else "")
        text = ""
        if kind == "leads_to":
            self.begin({"s": self.state})
            text = self.function(
                f"{name}_goal", [("s", self.state, None)], Bool(), [f"return {self.leaf(Bool())}"], " "
            )
            text = text.lstrip()
            self.begin({"s": self.state})
            body = self.claimed(8)
            decorator = f"@leads_to({name}_goal)"
            over = self.state
        return text + self.function(name, [("s", over, None)], Bool(), body, decorator + "\n")

    def claimed(self, fuel: int) -> list[str]:
        """The body of a claim."""
        return [f"return {self.atom()}"] if self.simple and self.chance(0.8) else self.body(Bool(), fuel)

    def step_claim(self, word: str, name: str, over: Record, when: str) -> str:
        rng = self.rng
        options = [when] if when else []
        names: dict[str, Kind] = {"before": over, "after": over}
        given: list[tuple[str, Kind, str | None]] = [("before", over, None), ("after", over, None)]
        roll = rng.random()
        about = rng.choice(list(self.actions))
        if self.taste.together and self.tagged and word == "step_property" and over is self.state:
            options.append(f'tags=["t"], watches=["{self.watched()}"]')
        elif roll < 0.35:
            options.append(f"on={about}")
            for n, k in self.actions[about]:
                if self.chance(0.6):
                    names[n] = k
                    given.append((n, k, None))
        elif roll < 0.5:
            options.append(f"on=[{', '.join(rng.sample(list(self.actions), rng.randint(1, len(self.actions))))}]")
        elif roll < 0.6 and self.tagged:
            options.append('tags=["t"]' + (", watches=[]" if word == "step_property" else ""))
        self.begin(names)
        body = self.body(Bool(), rng.choice((8, 16, 30)))
        if self.chance(0.3):
            test = rng.choice((f"action == {about}", f"action != {about}", f"action in ({about},)"))
            body.insert(0, f"if {test}:\n    return {rng.choice(('True', 'before == after'))}")
            text = self.function(
                name, given, Bool(), body, f"@{word}{f'({chr(44).join(options)})' if options else ''}\n"
            )
            return text.replace(f"def {name}(", f"def {name}(action: Action, ")
        return self.function(name, given, Bool(), body, f"@{word}{f'({chr(44).join(options)})' if options else ''}\n")

    def watched(self) -> str:
        """A field that actions without the tag do not name as one that they change, if there is one."""
        names = [f.name for f in self.state.fields]
        return self.rng.choice([n for n in names if f"{n}=" not in self.untagged] or names)

    def asks(self) -> list[str]:
        """Functions that are not part of the model: of a state, and of a step."""
        texts = []
        for name, params in {"ask0": ["s"], "ask1": ["s"], "ask2": ["before", "after"]}.items():
            self.begin(dict.fromkeys(params, self.state))
            self.config_used = True
            texts.append(self.function(name, [(p, self.state, None) for p in params], Bool(), self.body(Bool(), 12)))
        return texts

    def view_text(self) -> str:
        kinds = [f.kind for f in self.state.fields]
        fields = [Field(f"y{i}", k) for i, k in enumerate(self.rng.sample(kinds, min(2, len(kinds))))]
        view = Record("View", (*fields, Field("y9", Bool())))
        self.begin({"s": self.state})
        body = self.body(view, 14)
        self.view = view
        return view.declaration + "\n\n" + self.function("view", [("s", self.state, None)], view, body)

    # -- the whole -----------------------------------------------------------------------------------------

    def config_text(self) -> str:
        lines = ["@dataclass(frozen=True)", "class Config:"]
        lines += [f"    {s.name.lower()}_count: Annotated[int, Range(1, 64)] = {s.size}" for s in self.sorts]
        lines += [
            f"    flag: bool = {self.rng.choice(('True', 'False'))}",
            "    limit: Annotated[int, Range(0, 9)] = 3",
        ]
        return "\n".join(lines)

    def model(self, stem: str) -> Source:
        rng = self.rng
        self.declare_items()
        self.numeric_fields = ["limit", f"{self.sorts[0].name.lower()}_count"]
        self.declare_records()
        self.sorts += self.large.sorts if self.large else ()
        self.widened = "State" if self.chance(0.12) or self.taste.together else ""
        parts = [f'class {s.name}(Id, size="{s.name.lower()}_count", first={s.first}): ...' for s in self.sorts]
        parts += [
            "\n".join([f"class {e.name}(Enum):", *(f'    {m} = "{m.lower()}"' for m in e.members)]) for e in self.enums
        ]
        parts += [self.config_text(), *(r.declaration for r in self.records), self.state.declaration]
        for i in range(rng.choice((0, 1, 2, 3, 4))):
            parts.append(self.helper(f"h{i}"))
        if self.chance(0.3):
            parts += self.rule_helpers()
        parts += [self.initial(f"start{i}") for i in range(rng.choice((1, 1, 1, 2)))]
        if self.chance(0.6 if self.taste.alike else 0.3):
            parts.append(self.view_text())
        actions = [self.action(f"a{i}") for i in range(rng.choice((3, 4, 5) if self.simple else (1, 2, 2, 3, 4)))]
        actions += [self.action(f"mark{i}", of_ids=True) for i in range(2)] if self.taste.alike else []
        actions += [self.grow(self.large)] if self.large else []
        actions += [self.action(f"append{i}", of_logs=True) for i in range(2)] if self.taste.logs else []
        actions += [self.action(f"put{i}", table=field) for i, field in enumerate(self.table_fields())]
        self.untagged = "".join(
            text for name, text in zip(self.actions, actions, strict=True) if name not in self.tagged
        )
        parts += actions
        kinds = ("invariant", "invariant", "step_property", "cover", "step_cover", "terminal", "leads_to")
        chosen = ["invariant", *rng.choices(kinds, k=rng.choice((1, 2, 3, 4)))]
        if self.taste.commands:
            chosen += ["leads_to", rng.choice(("leads_to", "infinitely_often", "eventually_always"))]
        if self.taste.together:
            chosen += ["terminal", "step_property"]
        chosen += ["terminal"] if self.taste.alike else []
        parts += [self.claim(kind, f"{kind}{i}") for i, kind in enumerate(chosen)]
        parts += self.asks() if self.taste.commands else []
        options = ", views=(view,)" if self.view else ""
        options += ", deadlock=False" if self.chance(0.4) else ""
        ended = f"MODEL = Model.of(__name__, state=State, config=Config{options})"
        if self.widened:
            parts += self.wider(ended)
            ended = ""
        header = HEADER.format(language=self.language)
        source = Source({stem: "\n\n".join([header, *parts, ended]) + "\n"})
        if self.chance(0.12):
            source.files[f"{stem}_variant"] = self.replaced(stem)
        return source

    def wider(self, ended: str) -> list[str]:
        """A further field with a default, and an action that reads it: the older actions make the narrower state."""
        extra = Field("x8", Int(-1, 2), str(self.rng.choice((-1, 0, 1))))
        wide = Record("Wide", (*self.state.fields, extra), "State", len(self.state.fields))
        if any(f.default for f in self.state.fields[:-1]):
            return [ended]
        self.state = wide
        text = self.action("more")
        return [ended.replace("MODEL", "BASE"), wide.declaration, text, "MODEL = BASE.adding(more, state=Wide)"]

    def replaced(self, stem: str) -> str:
        """A variant in a file of its own: one action written anew."""
        header = HEADER.format(language=self.language) + f"import {stem}\nfrom {stem} import *\n"
        name = self.rng.choice([n for n in self.actions if n != "more"])
        params = self.actions[name]
        self.begin({"s": self.state, **dict(params)}, guards=True)
        body = self.body(self.state, 25, True)
        given = [("s", self.state, None), *((n, k, None) for n, k in params)]
        words = ['who="v"', 'tags=["t"]', *self.drawn.get(name, [])]
        text = self.function(name, given, self.state, body, f"@action({', '.join(words)})\n")
        return "\n\n".join([header, text, f"MODEL = {stem}.MODEL.replacing({name})"]) + "\n"


def generate(seed: int, language: str, stem: str | None = None, **taste: bool) -> Source:
    """The model of a seed. language: the package to import the vocabulary from.

    taste: of `Taste`, or a name of `LARGE`.
    """
    return Writer(random.Random(seed), language, **taste).model(stem or f"fuzz_{seed}")
