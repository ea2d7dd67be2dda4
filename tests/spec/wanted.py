"""Forty-five constructs that somebody wanted who wrote Raft's membership change: what the language says of each.

Also here: what stays out of the language, with its reason. `python -m tests.spec.wanted` writes the table and the list
into the page of refusals; a test compares the page.
"""

# ruff: noqa: E501 - a row of the table is one line
from __future__ import annotations

import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from reassure.checkers.cli.commands.lint import lint

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "refusals.md"
START, END = "<!-- wanted: python -m tests.spec.wanted -->\n", "<!-- end of wanted -->\n"
START_OF_LIST, END_OF_LIST = "<!-- stays out: python -m tests.spec.wanted -->\n", "<!-- end of stays out -->\n"


class Wanted(NamedTuple):
    """A construct. shown: what the table says; body: of an action; field, start, extra, method: added to the model."""

    shown: str
    body: str = "return s"
    field: str = ""
    start: str = ""
    extra: str = ""
    method: str = ""


MODEL = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, NamedTuple
from reassure import Id, Map, MaxLen, MaxSize, Model, Range, action, every, fill, initial, invariant, replace, require

class Server(Id, size=3): ...

class Index(Id, size=3): ...

@dataclass(frozen=True)
class Config:
    n: Annotated[int, Range(1, 5)] = 3

@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 3)]
    who: Server
{method}
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)]
    m: Map[Server, Annotated[int, Range(0, 3)]]
    q: frozenset[Server]
    e: Entry
{field}
@initial
def start(c: Config) -> State:
    return State(n=0, m=fill(Server, c, 0), q=frozenset(), e=Entry(0, Server(0)){start})

{extra}
@action(who="x")
def act(s: State, c: Config, a: Server, b: Server) -> State:
{body}

@invariant
def ok(s: State) -> bool:
    return True

MODEL = Model.of(__name__, state=State, config=Config)
"""

WANTED = {
    "pairmap": Wanted(
        "`p: Map[tuple[A, B], bool]`",
        field="p: Map[tuple[Server, Server], bool]",
        start=", p=Map({(a, b): False for a in every(Server, c) for b in every(Server, c)})",
    ),
    "setofsets": Wanted(
        "`p: frozenset[frozenset[A]]`", field="p: frozenset[frozenset[Server]]", start=", p=frozenset()"
    ),
    "setofints": Wanted(
        "`p: frozenset[int]`, with a range", field="p: frozenset[Annotated[int, Range(0, 7)]]", start=", p=frozenset()"
    ),
    "seqofints": Wanted(
        "`p: tuple[int, ...]`, with a range and a length",
        field="p: Annotated[tuple[Annotated[int, Range(0, 3)], ...], MaxLen(3)]",
        start=", p=()",
    ),
    "seqofrec": Wanted(
        "`p: tuple[Entry, ...]`, with a length", field="p: Annotated[tuple[Entry, ...], MaxLen(3)]", start=", p=()"
    ),
    "mapbyint": Wanted(
        "`p: Map[int, bool]`, with a range",
        field="p: Map[Annotated[int, Range(0, 3)], bool]",
        start=", p=Map({k: False for k in range(4)})",
    ),
    "maptoset": Wanted(
        "`p: Map[A, frozenset[A]]`", field="p: Map[Server, frozenset[Server]]", start=", p=fill(Server, c, frozenset())"
    ),
    "mapmap": Wanted(
        "`p: Map[A, Map[A, bool]]`",
        body="return replace(s, p=s.p.put(a, s.p[a].put(b, True)))",
        field="p: Map[Server, Map[Server, bool]]",
        start=", p=fill(Server, c, fill(Server, c, False))",
    ),
    "union": Wanted("`p: Entry | Server`", field="p: Entry | Server", start=", p=Server(0)"),
    "strfield": Wanted("`p: str`", field="p: str", start=', p="idle"'),
    "intfield": Wanted("`p: int`", field="p: int", start=", p=0"),
    "forloop": Wanted(
        "`for x in every(A, c): n = n + 1`",
        body="n = 0\nfor x in every(Server, c):\n    if x in s.q:\n        n = n + 1\nreturn replace(s, n=n)",
    ),
    "earlyexit": Wanted(
        "`for x in ...: return ...`",
        body="for x in sorted(every(Server, c)):\n    if x in s.q:\n        return replace(s, e=replace(s.e, who=x))\nreturn s",
    ),
    "localdef": Wanted(
        "`def` in a function", body="def up(x: int) -> int:\n    return x + 1\nreturn replace(s, n=up(s.n))"
    ),
    "lambda": Wanted("`up = lambda x: x + 1`", body="up = lambda x: x + 1\nreturn replace(s, n=up(s.n))"),
    "listappend": Wanted("`xs = [a]; xs.append(b)`", body="xs = [a]\nxs.append(b)\nreturn replace(s, q=frozenset(xs))"),
    "dictbuild": Wanted(
        "`d = {x: 0 for x in ...}; d[a] = 1`",
        body="d = {x: 0 for x in every(Server, c)}\nd[a] = 1\nreturn replace(s, m=Map(d))",
    ),
    "augassign": Wanted("`n += 1`", body="n = s.n\nn += 1\nreturn replace(s, n=n)"),
    "tupleassign": Wanted(
        "`x, y = s.m[a], s.m[b]`", body="x, y = s.m[a], s.m[b]\nreturn replace(s, n=x if x > y else y)"
    ),
    "tuplecmp": Wanted("`(s.m[a], a) >= (s.m[b], b)`", body="require((s.m[a], a) >= (s.m[b], b))\nreturn s"),
    "walrus": Wanted("`if (k := s.m[a]) > 1`", body="if (k := s.m[a]) > 1:\n    return replace(s, n=k)\nreturn s"),
    "match": Wanted(
        "`match s.n`", body="match s.n:\n    case 0:\n        return replace(s, n=1)\n    case _:\n        return s"
    ),
    "method": Wanted(
        "`s.e.newer(s.e)`, a method",
        body="require(s.e.newer(s.e))\nreturn s",
        method='    def newer(self, o: "Entry") -> bool:\n        return self.term > o.term\n',
    ),
    "property": Wanted(
        "`s.e.old`, a property",
        body="require(s.e.old)\nreturn s",
        method="    @property\n    def old(self) -> bool:\n        return self.term == 0\n",
    ),
    "assert": Wanted("`assert s.n < 3`", body="assert s.n < 3\nreturn s"),
    "nestedput": Wanted("`s.m.put(a, 1).put(b, 0)`", body="return replace(s, m=s.m.put(a, s.m[a] + 1).put(b, 0))"),
    "mapitems": Wanted("`s.m.items()`", body="return replace(s, n=sum(v for k, v in s.m.items()))"),
    "mapvalues": Wanted("`s.m.values()`", body="return replace(s, n=max(s.m.values()))"),
    "enumerate": Wanted(
        "`enumerate(sorted(s.q))`", body="return replace(s, n=sum(i for i, x in enumerate(sorted(s.q))))"
    ),
    "rangevar": Wanted("`range(s.n)`", body="return replace(s, n=sum(i for i in range(s.n)))"),
    "rangecfg": Wanted("`range(c.n)`", body="return replace(s, n=sum(i for i in range(c.n)))"),
    "idint": Wanted("`int(a)` of an id", body="return replace(s, n=int(a))"),
    "idplus": Wanted("`a + 1` of an id", body="return replace(s, q=s.q | {Server(a + 1)})"),
    "maxkey": Wanted(
        "`max(every(A, c), key=...)`",
        body="return replace(s, q=frozenset({max(every(Server, c), key=lambda x: s.m[x])}))",
    ),
    "zip": Wanted(
        "`zip(a, b)`", body="return replace(s, n=sum(1 for x, y in zip(sorted(s.q), sorted(s.q)) if x == y))"
    ),
    "setsub": Wanted("`s.q.issubset(t)`", body="require(s.q.issubset(every(Server, c)))\nreturn s"),
    "setunion": Wanted("`s.q.union(t)`", body="return replace(s, q=s.q.union({a}))"),
    "truthy": Wanted("`if s.q`, a set", body="if s.q:\n    return s\nreturn replace(s, q=frozenset({a}))"),
    "chooseset": Wanted(
        "a parameter over `frozenset[A]`",
        extra='@action(who="x")\ndef pick(s: State, votes: frozenset[Server]) -> State:\n    require(2 * len(votes) > 3)\n    return replace(s, q=votes)\n',
    ),
    "chooserec": Wanted(
        "a parameter over a record",
        extra='@action(who="x")\ndef pick(s: State, e: Entry) -> State:\n    return replace(s, e=e)\n',
    ),
    "bigint": Wanted("`Range(0, 2**80)`", field="p: Annotated[int, Range(0, 2**80)]", start=", p=0"),
    "const": Wanted(
        "a constant of the module", body="require(s.n < LIMIT)\nreturn s", extra='LIMIT = 2\nNAMES = ("a", "b")\n'
    ),
    "recursion": Wanted(
        "a function that calls itself",
        body="return replace(s, n=f(2))",
        extra="def f(n: int) -> int:\n    return 0 if n <= 0 else 1 + f(n - 1)\n",
    ),
    "combos": Wanted(
        "`combinations(sorted(s.q), 2)`",
        body="return replace(s, n=sum(1 for x in combinations(sorted(s.q), 2)))",
        extra="from itertools import combinations\n",
    ),
    "fstring": Wanted('`f"{s.n}"`', body='require(f"{s.n}" == "1")\nreturn s'),
}


class StaysOut(NamedTuple):
    """What is not in the language. refused: statements of an action, or a field `p: ...`, each of which is refused."""

    shown: str
    reason: str
    refused: tuple[str, ...]


STAYS_OUT = [
    StaysOut(
        "a change of a value in place (`s.n = 1`, `m[k] = v`, `xs.append(x)`)",
        "a search keeps every state and compares it with later ones, so that a state must not change",
        ("s.n = 1", "s.m[a] = 1", "s.q.add(a)", "del s.m[a]"),
    ),
    StaysOut(
        "lists, dicts and mutable sets",
        "they can change in place; `tuple`, `Map` and `frozenset` cannot",
        ("t = [a]", "t = {a: 1}", "t = {a}", "t = [x for x in s.q]", "p: list[Server]", "p: dict[Server, bool]"),
    ),
    StaysOut(
        "`while`", "the fast engines need the number of turns before a step runs", ("while s.n > 1:\n    return s",)
    ),
    StaysOut(
        "a function that calls itself",
        "the fast engines need the depth of calls before a step runs",
        ("return replace(s, n=f(2))",),
    ),
    StaysOut(
        "floats (`float`, `/`, `1.5`)",
        "TLC has no floats, and rounding would tell states apart that are meant to be equal",
        ("p: float", "t = s.n / 2", "t = 1.5", "t = float(s.n)"),
    ),
    StaysOut(
        "texts that are not enum members (`str`, f-strings)",
        "a state space is finite, and there is no longest text",
        ("p: str", 't = "a"', 't = f"{a}"', "t = str(a)"),
    ),
    StaysOut(
        "`int` without `Range` and `tuple` without `MaxLen` as fields",
        "a state space is finite",
        ("p: int", "p: tuple[Server, ...]"),
    ),
    StaysOut(
        "a field of two types, but for `T | None`", "a field has one layout in the engines", ("p: Entry | Server",)
    ),
    StaysOut(
        "a set of sets",
        "a set is stored as a bit for each member that it may have",
        ("p: frozenset[frozenset[Server]]",),
    ),
    StaysOut(
        "an optional, a set, a sequence, a map or a tuple as a part of `tuple[A, B]`, and a set of tuples",
        "TLA+ would write two values of one field in two forms, by what is in them; a dataclass has one form",
        ("p: tuple[Server | None, bool]", "p: tuple[frozenset[Server], bool]", "p: frozenset[tuple[Server, bool]]"),
    ),
    StaysOut(
        "a value that is not a bool as a condition (`if s.q`)",
        "a reader cannot tell whether zero, an empty set or `None` is meant",
        ("if s.q:\n    return s", "t = not s.n", "t = s.n and s.n"),
    ),
    StaysOut(
        "`//` and `%` by a number that is not constant",
        "zero raises in Python, and the engines round differently below zero",
        ("t = s.n // s.n", "t = 3 % s.n"),
    ),
    StaysOut("`match`", "it would be a second form of `if` and `elif`", ("match s.n:\n    case _:\n        return s",)),
    StaysOut(
        "`zip`", "it drops the rest of the longer sequence without notice", ("t = tuple(x for x in zip(s.q, s.q))",)
    ),
    StaysOut(
        "`:=`", "the assignment happens only where Python evaluates that part of the expression", ("t = (k := s.n)",)
    ),
    StaysOut(
        "`def`, `class`, `import` and `lambda` in a function (but for `key=lambda x: ...`)",
        "the loader looks up functions in modules, before a step runs",
        ("def f():\n    return 1", "class A:\n    x = 1", "import os", "t = lambda: 1"),
    ),
    StaysOut(
        "`try`, `with` and `raise`",
        "an exception is an error of the model, which every engine reports",
        ("try:\n    t = 1\nfinally:\n    t = 2", "with s as t:\n    return s", "raise ValueError"),
    ),
    StaysOut("`assert`", "`python -O` skips it, so that a model would mean two things", ("assert s.n < 3",)),
    StaysOut(
        "`global`, input, output and random numbers",
        "a step depends on the state, the configuration and its parameters alone",
        ("global X", "t = print(s)", "t = open(s)", "t = input()"),
    ),
    StaysOut(
        "`async`, `await` and `yield`",
        "a step is one function call without pauses",
        ("t = yield", "async def g():\n    return 1"),
    ),
]


def answer(wanted: Wanted, folder: Path) -> str:
    """What `lint` says of a model with the construct: "accepted", or each refusal, without its place."""
    parts = wanted._asdict() | {
        "body": textwrap.indent(wanted.body, "    "),
        "field": f"    {wanted.field}\n" if wanted.field else "",
    }
    path = folder / "wanted_model.py"
    path.write_text(MODEL.format(**parts), encoding="utf-8")
    _, places = lint(str(path))
    return "; ".join(place.text for place in places) or "accepted"


def table() -> str:
    """The table of the page."""
    rows = ["| wanted | |", "|---|---|"]
    with TemporaryDirectory() as folder:
        for number, wanted in enumerate(WANTED.values()):
            inner = Path(folder, str(number))
            inner.mkdir()
            cells = wanted.shown, answer(wanted, inner)
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def list_of_reasons() -> str:
    """The list of the page: what stays out, with its reason."""
    return "".join(f"- {one.shown}: {one.reason}.\n" for one in STAYS_OUT)


def written(page: str) -> str:
    """The page with the table and the list of now."""
    for start, text, end in ((START, table(), END), (START_OF_LIST, list_of_reasons(), END_OF_LIST)):
        before, rest = page.split(start)
        page = before + start + "\n" + text + "\n" + end + rest.split(end)[1]
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
