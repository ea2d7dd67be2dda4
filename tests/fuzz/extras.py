"""What a taste adds to a drawn model: fields and an action that make it large, reads of an order, what may raise."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass

from tests.fuzz.kinds import Bool, Field, Int, Kind, MapFrom, Optional, Record, Sequence, SetOf, Sort
from tests.fuzz.leaves import Scope, Taste
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
        self.state = Record("State", ())
        self.actions: dict[str, list[tuple[str, Kind]]] = {}

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

    def begin(self, names: dict[str, Kind], guards: bool = False) -> None:
        self.scope = Scope(dict(names), guards=guards)
        self.config_used = self.chance(0.1)

    def more_fields(self, fields: list[Field]) -> tuple[Field, ...]:
        """The fields of the state with those of tastes: of ids that are alike, and of what is large."""
        ids = self.sorts[0]
        kinds: list[Kind] = [SetOf(ids), SetOf(ids), Optional(ids), MapFrom(ids, Bool()), Sequence(ids, 2)]
        kinds += [MapFrom(ids, Optional(ids)), MapFrom(ids, SetOf(ids))] if ids.size < 4 else []
        alike = [Field(f"y{i}", self.rng.choice(kinds)) for i in range(2)] if self.taste.alike else []
        return (*(self.large.fields if self.large else ()), *alike, *fields[: 2 if alike or self.large else None])

    def raising(self) -> str:
        """An id of the first sort, or an exception."""
        kind = SetOf(self.sorts[0])
        return self.rng.choice(RAISING).format(many=self.leaf(kind), test=self.atom())

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
