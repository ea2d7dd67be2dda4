"""Forty-five constructs that somebody wanted who wrote Raft's membership change: what the language says of each.

`python -m tests.spec.wanted` writes the table into the page of refusals; a test compares the page.
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


def written(page: str) -> str:
    """The page with the table of now."""
    before, rest = page.split(START)
    return before + START + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
