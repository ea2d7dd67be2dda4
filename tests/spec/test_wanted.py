"""The constructs that were wanted: the page says of each what `lint` says, and what is refused names what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.cli.commands.lint import lint
from reassure.spec.frontend.operators import ORDERED
from tests.spec.wanted import MODEL, PAGE, STAYS_OUT, WANTED, answer, written

ACCEPTED = ("maptoset", "mapmap", "augassign", "tupleassign", "tuplecmp", "method", "property", "nestedput", "rangecfg")
ACCEPTED += ("chooseset", "chooserec", "const", "seqofints", "seqofrec", "forloop", "earlyexit")
ACCEPTED += ("enumerate", "rangevar", "idint", "pairmap", "mapbyint", "setofints")


@pytest.mark.parametrize("name", WANTED)
def test_it_is_accepted_or_names_what_to_write(name: str, tmp_path: Path) -> None:
    says = answer(WANTED[name], tmp_path)
    assert (says == "accepted") == (name in ACCEPTED)
    assert says == "accepted" or all(": " in one and len(one) > 20 for one in says.split("; "))


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page
    assert len(WANTED) == 45


@pytest.mark.parametrize("shown", [one.shown for one in STAYS_OUT])
def test_what_stays_out_is_refused(shown: str, tmp_path: Path) -> None:
    (refused,) = (one.refused for one in STAYS_OUT if one.shown == shown)
    for number, text in enumerate(refused):
        (folder := tmp_path / str(number)).mkdir()
        wanted = WANTED["recursion"]._replace(body=f"{text}\nreturn s")
        if text.startswith("p: "):
            wanted = WANTED["union"]._replace(field=text)
        assert ": " in answer(wanted, folder)


def test_refusals_of_types_and_of_statements_come_at_once(tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(
        field="p: str\n    r: frozenset[Entry]", start=", p=0, r=0", body=WANTED["walrus"].body
    )
    assert answer(wanted, tmp_path).split("; ") == [
        "State.p: str is not a finite type: names are an Enum or an Id sort",
        "State.r: a set of records needs a size: Annotated[frozenset[R], MaxSize(n)]",
        "`:=`: assign in a statement of its own",
    ]


REFUSED_FIELDS = """p: Annotated[int, Range(0, "nope")]
    r: str
    log: tuple[Entry, ...]
    t: Annotated[int, Range("nowhere", 3)]
    u: Annotated[int, Range(0, "nope")]
    f: float
    x: Annotated[frozenset[Wrong], MaxSize(2)]
    z: tuple[Other, ...]"""
OF_FIELDS = [
    "State.p: the configuration has no field 'nope', which sizes a type",
    "State.r: str is not a finite type: names are an Enum or an Id sort",
    "State.log: a sequence needs a length: Annotated[tuple[T, ...], MaxLen(n)]",
    "State.t: the configuration has no field 'nowhere', which sizes a type",
    "State.u: the configuration has no field 'nope', which sizes a type",
    "State.f: float is not a finite type: a number is Annotated[int, Range(low, high)]",
    "Wrong.n: an int needs bounds: Annotated[int, Range(low, high)]",
    "State.z: a sequence needs a length: Annotated[tuple[T, ...], MaxLen(n)]",
    "Other.m: str is not a finite type: names are an Enum or an Id sort",
]
WRONG = "\n@dataclass(frozen=True)\nclass Wrong:\n    n: int\n    to: Server\n"
WRONG += "\n@dataclass(frozen=True)\nclass Other:\n    m: str\n"
BEHIND_THEM = """ys = [a]
zs = list(s.log)
ws = s.log + [s.e]
require(s.r == "idle" and "busy" != s.r and s.r in ("idle", "busy") and s.f < 0.5 and s.f + 0.5 > s.p)
require(any(e.term > 1 for e in s.log) and len(s.x) < 2 and Wrong(1, a) in s.x)
t = s.p + s.t + max(s.u, s.p) + sum(e.term for e in s.log) + s.log[0].term
v = frozenset({Wrong(1, a)})
if s.log[-1].term > 1 and s.q:
    w = {a}
elif s.e.term:
    w = s.log
for e in s.log:
    if e.term > 1 and e in s.x:
        break
    w = zs(lambda: 1)
return replace(s, r="idle", f=0.5, log=[*s.log, s.e], p=t, x=s.x | v, n=s.q, q=lambda: 1, u=list(s.q))"""
STATEMENTS = [
    LIST := "a list: use a tuple or frozenset",
    CALL := "a call of `list`: write `tuple(...)`, or `frozenset(...)`",
    LIST,
    "`s.q` is set of Server, not a bool: compare with an empty set: `x != frozenset()`",
    "a mutable set: write `frozenset({...})`",
    "`s.e.term` is an int, not a bool: compare with a number: `x != 0`",
    "State.n: set of Server where int 0..3 is needed",
    "a lambda: write a function of the module",
    CALL,
]


def test_what_is_not_about_a_refused_type_is_refused_with_it(tmp_path: Path) -> None:
    """And what is about it is not: neither its values, nor the literals that it is made of and compared with."""
    start = ', p=0, r="idle", log=[], t=1, u=2, f=0.5, x=frozenset(), z=()'
    wanted = WANTED["setofints"]._replace(field=REFUSED_FIELDS, start=start, method=WRONG, body=BEHIND_THEM)
    assert answer(wanted, tmp_path).split("; ") == [*OF_FIELDS, *STATEMENTS]


def test_types_of_parameters_and_of_the_configuration_are_refused_with_those_of_fields(tmp_path: Path) -> None:
    extra = """
@action(who="x", e=lambda s: s.r)
def more(s: State, e: Wrong, k: int, p: Peer) -> State:
    require(k == 1 and e.n == 2 and p in s.q and s.peer == p)
    return [s]
"""
    model = MODEL.replace("class Config:\n", "class Config:\n    top: int = 3\n    name: str = 'a'\n")
    fields = WANTED["setofints"]._replace(field="r: str\n    peer: Peer", start=", r=0, peer=Peer(0)", method=WRONG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.spec.wanted.MODEL", model)
        says = answer(fields._replace(extra=extra, method=PEER + WRONG), tmp_path)
    assert says.split("; ") == [
        "Config.top: an int needs bounds: Annotated[int, Range(low, high)]",
        "Config.name: str is not a finite type: names are an Enum or an Id sort",
        "State.r: str is not a finite type: names are an Enum or an Id sort",
        "State.peer: the configuration has no field 'peers', which sizes a type",
        "Wrong.n: an int needs bounds: Annotated[int, Range(low, high)]",
        "more, parameter k: an int needs bounds: Annotated[int, Range(low, high)]",
        LIST,
    ]


UNREADABLE = """p: Annotated[frozenset[Entry], MaxSize(0)]
    log: Annotated[tuple[Entry, ...], MaxLen(0)]
    r: "Nope"
    x: Loop
    y: str"""
LOOP = "\n@dataclass(frozen=True)\nclass Loop:\n    n: 'Loop | None'\n    to: Server\n"
UNKNOWN = """
@action(who="x")
def more(s: State, e, k: "Nope") -> State:
    return [s]
@action(who="x")
def other(s: State) -> int:
    return [s]
"""


def test_what_no_type_can_be_found_for_hides_nothing_else(tmp_path: Path) -> None:
    start = ", p=0, log=(), r=0, x=Loop(None, Server(0)), y=0"
    wanted = WANTED["setofints"]._replace(field=UNREADABLE, start=start, method=LOOP, extra=UNKNOWN, body="return [s]")
    answer(wanted, tmp_path)
    _, places = lint(str(path := tmp_path / "wanted_model.py"))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [(lines[place.line - 1].strip(), place.text) for place in places] == [
        (
            "p: Annotated[frozenset[Entry], MaxSize(0)]",
            "State.p: MaxSize(0) leaves no room for a member; it is at least 1",
        ),
        (
            "log: Annotated[tuple[Entry, ...], MaxLen(0)]",
            "State.log: MaxLen(0) leaves no room for an item; it is at least 1",
        ),
        ('r: "Nope"', "State.r: an annotation cannot be read: name 'Nope' is not defined"),
        ("n: 'Loop | None'", "Loop.n: Loop holds itself, without end: write an Id for the place of another one"),
        ("y: str", "State.y: str is not a finite type: names are an Enum or an Id sort"),
        ('@action(who="x")', "more, parameter e: it needs an annotation"),
        ('@action(who="x")', "more, parameter k: an annotation cannot be read: name 'Nope' is not defined"),
        ('@action(who="x")', "other is annotated `-> int`: write `-> State`"),
        *[("return [s]", LIST)] * 3,
    ]


PEER = '\nclass Peer(Id, size="peers"): ...\n'


INT = ": write `int(id)` for its number"
SERVER = ": write `Server(n)` for the id of a number"
OF_SETS = "`| & - ^` are for sets of one sort, `+ - * // %` for ints, `+` for tuples"
REVERSED = "write `reversed(sorted(s.q))` in a loop, or `tuple(x for x in reversed(sorted(s.q)))`"
AMONG_RECORDS = [
    (
        "t = s.m[a:b]",
        "a slice of a map from Server: a map has no places: write `s.m[k] for k in every(Server, c) if ...`",
        "t = tuple(s.m[k] for k in sorted(every(Server, c)) if k < b)",
    ),
    (
        "t = s.r == 1",
        "types do not fit: Colour is never equal to an int: compare with a member: `Colour.RED`",
        "t = s.r == Colour.RED",
    ),
    (
        "t = s.e == a",
        "types do not fit: Entry is never equal to Server: compare a field of it: `.who`",
        "t = s.e.who == a",
    ),
    (
        "t = s.e == (1, a)",
        "types do not fit: Entry is never equal to a tuple (an int, Server): compare with a record: `Entry(...)`",
        "t = s.e == Entry(1, a)",
    ),
    (
        "t = s.log == s.e",
        "types do not fit: a sequence of Entry is never equal to Entry: write `x in xs` for one of its members",
        "t = s.e in s.log",
    ),
    (
        "t = s.m == 1",
        "types do not fit: a map from Server is never equal to an int: compare its value at a key: `m[k]`",
        "t = s.m[a] == 1",
    ),
    (
        "t = (s.n > 1) == 1",
        "types do not fit: bool is never equal to an int: "
        "a bool is a condition: write it without `==`, or `not` before it",
        "t = not s.n > 1",
    ),
    (
        "t = a == Index(0)",
        "types do not fit: Server is never equal to Index: compare their numbers: `int(a) == int(b)`",
        "t = int(a) == int(Index(0))",
    ),
    (
        "t = s.ids == s.q",
        "types do not fit: sequence of Server, at most 3 is never equal to set of Server: "
        "write `frozenset(xs)` for the set of a sequence",
        "t = frozenset(s.ids) == s.q",
    ),
    (
        "t = a in s.log",
        "Server in a sequence of Entry: write `any(x.who == a for x in s.log)`",
        "t = any(x.who == a for x in s.log)",
    ),
    (
        "t = s.n in s.sent",
        "an int in a set of Entry: write `any(x.term == s.n for x in s.sent)`",
        "t = any(x.term == s.n for x in s.sent)",
    ),
    (
        "t = s.e in s.q",
        "Entry in set of Server: its members are of another sort than the record: write a field of it: `.who`",
        "t = s.e.who in s.q",
    ),
    (
        "t = s.log[0] == s.n",
        "types do not fit: Entry is never equal to an int: compare a field of it: `.term`",
        "t = s.log[0].term == s.n",
    ),
    (
        "t = int(s.r)",
        "`s.r` is Colour: an int is needed here: an enum member has no number: write `0 if s.r == Colour.RED else 1`",
        "t = 0 if s.r == Colour.RED else 1",
    ),
    (
        "t = Colour['BLUE']",
        "an index into the class Colour: write a member: `Colour.BLUE`",
        "t = Colour.BLUE",
    ),
    ("t = Colour(1)", "a call of `Colour`: write a member: `Colour.RED`", "t = Colour.RED"),
    (
        "t = s.r.value",
        "`.value` of Colour: compare it with a member: `s.r == Colour.RED`",
        "t = s.r == Colour.RED",
    ),
    ("t = a.index", "`.index` of Server: an id has no fields: `int(a)` is its number", "t = int(a)"),
    (
        "t = isinstance(s.o, Entry)",
        "a call of `isinstance`: each value has one type: test a field of it, or write `x is not None`",
        "t = s.o is not None",
    ),
    ("t = s.log + s.e", "a sequence of Entry + Entry: write `s.log + (s.e,)`", "t = s.log + (s.e,)"),
    ("t = a + s.ids", "Server + sequence of Server, at most 3: write `(a,) + s.ids`", "t = (a,) + s.ids"),
    ("t = s.q + a", "set of Server + Server: write `s.q | {a}`", "t = s.q | {a}"),
    ("t = s.q - a", "set of Server - Server: write `s.q - {a}`", "t = s.q - {a}"),
    ("t = s.done | s.n", "a set of numbers | an int: write `s.done | {s.n}`", "t = s.done | {s.n}"),
    ("t = s.sent - s.e", "a set of Entry and Entry: write `s.sent - {s.e}`", "t = s.sent - {s.e}"),
    ("t = s.q + s.q", "set of Server + set of Server: write `s.q | s.q`", "t = s.q | s.q"),
    (
        "t = s.q[0]",
        "an index into set of Server: a set has no places: write `x in s`, or `for x in s`",
        "t = Server(0) in s.q",
    ),
    ("t = s.e[0]", "an index into Entry: write a field of it: `.term`, `.who`", "t = s.e.term"),
    (
        "t = every(Entry, c)",
        "`Entry` is not a sort: write `every(Sort, c)` with an Id sort, an Enum or bool",
        "t = every(Server, c)",
    ),
    (
        "t = fill(s.q, c, 1)",
        "`s.q` is not a sort: write `fill(Sort, c, value)` with an Id sort, an Enum or bool",
        "t = fill(Server, c, 1)",
    ),
    (
        "t = every(Peer)",
        "Peer without the configuration: write `every(Peer, c)`, where `c` is the configuration",
        "t = every(Peer, c)",
    ),
    (
        "t = replace(s, mi=Map({}))",
        "Map() of this: write `Map({k: v for k in every(Sort, c)})`, of numbers `for k in range(5)`, "
        "of tuples `(a, b): v` with a loop for each part",
        "t = replace(s, mi=Map({k: True for k in range(4)}))",
    ),
    (
        "t = None + 1",
        "`None` where a value is needed: a field or parameter `T | None` may have it; compare with it by `x is None`",
        "t = s.o is None",
    ),
]
INSTEAD = [
    (
        "t = tuple(sorted(s.q, reverse=True))",
        "`sorted(s.q, reverse=True)`: " + REVERSED,
        "t = tuple(x for x in reversed(sorted(s.q)))",
    ),
    (
        "t = sorted(s.q, reverse=True)",
        "`sorted(s.q, reverse=True)`: " + REVERSED,
        "for x in reversed(sorted(s.q)):\n    t = x",
    ),
    (
        "t = tuple(sorted(s.q, key=abs))",
        "`sorted(s.q, key=abs)`: `sorted(s.q)` has the order of ids or numbers; for another write `min(..., key=...)`",
        "t = min(sorted(s.q), key=lambda x: s.m[x], default=a)",
    ),
    ("t = len(s.q, start=1)", "`len(s.q, start=1)`: it takes 1 argument here, without `start`", "t = len(s.q)"),
    (
        "t = s.q | {1}",
        "set of Server | a set of numbers: " + OF_SETS + SERVER,
        "t = s.q | {Server(1)}",
    ),
    (
        "t = Entry(0, 1)",
        "Entry.who: an int where Server is needed" + SERVER,
        "t = Entry(0, Server(1))",
    ),
    (
        "t = s.m[s.n]",
        "a map from Server at an int: index it with one of its keys" + SERVER,
        "t = s.m[Server(s.n % 3)]",
    ),
    (
        "t = s.m.put(0, 1)",
        "an int as a key of a map from Server: index it with one of its keys" + SERVER,
        "t = s.m.put(Server(0), 1)",
    ),
    (
        "t = 1 in s.q",
        "an int in set of Server: the set's members are of another sort" + SERVER,
        "t = Server(1) in s.q",
    ),
    (
        "t = frozenset({1}) == s.q",
        "types do not fit: a set of numbers is never equal to set of Server" + SERVER,
        "t = frozenset({Server(1)}) == s.q",
    ),
    (
        "t = (1, 2) < (a, 2)",
        "an order of an int and Server: " + ORDERED + SERVER,
        "t = (Server(1), 2) < (a, 2)",
    ),
    (
        "t = replace(s, n=a)",
        "State.n: Server where int 0..3 is needed" + INT,
        "t = replace(s, n=int(a))",
    ),
    (
        "t = s.m.put(a, a)",
        "types do not fit: Server here and an int there" + INT,
        "t = s.m.put(a, int(a))",
    ),
    (
        "t = sum(x for x in s.q)",
        "a sum of Server: sum ints: write `int(id)` for its number; count with `sum(1 for ...)`",
        "t = sum(int(x) for x in s.q)",
    ),
    (
        "t = tuple(x for x in range(a))",
        "`a` is Server: an int is needed here: write `int(a)`",
        "t = tuple(x for x in range(int(a)))",
    ),
    ("t = -a", "`a` is Server: an int is needed here: write `int(a)`", "t = -int(a)"),
    (
        "t = max(s.n, a)",
        "max() of values of two sorts: of one sort" + INT,
        "t = max(s.n, int(a))",
    ),
    (
        "t = frozenset({s.n, a})",
        "types do not fit: an int and Server in one set" + INT,
        "t = frozenset({s.n, int(a)})",
    ),
    (
        "t = s.done | {a}",
        "a set of numbers | set of Server: " + OF_SETS + INT,
        "t = s.done | {int(a)}",
    ),
    (
        "t = Server(0) in s.done",
        "Server in a set of numbers: the set's members are of another sort" + INT,
        "t = int(Server(0)) in s.done",
    ),
    (
        "t = a in s.n",
        "Server in an int: `in` is for sets, tuples and ranges: compare with `==`",
        "t = int(a) == s.n + 0",
    ),
    ("t = frozenset.union(s.q, s.q)", "a call of `union`: write `a | b`", "t = s.q | s.q"),
    (
        "t = frozenset.symmetric_difference(s.q, s.q)",
        "a call of `symmetric_difference`: write `a ^ b`",
        "t = s.q ^ s.q",
    ),
    ("t = ~s.q", "`~s.q`: write `every(Server, c) - s.q`", "t = every(Server, c) - s.q"),
    (
        "t = ~s.done",
        "`~s.done`: write `frozenset(i for i in range(low, high) if i not in s.done)`",
        "t = frozenset(i for i in range(0, 8) if i not in s.done)",
    ),
    ("t = ~s.n", "`~s.n`: write `-1 - s.n`", "t = -1 - s.n"),
    ("t = ~(s.n > 1)", "`~(s.n > 1)`: write `not s.n > 1`", "t = not s.n > 1"),
    ("t = +s.n", "`+s.n`: write `s.n`", "t = s.n"),
    ("t = ~s.e", "`~s.e`: Entry has no complement", "t = s.e"),
    (
        "t = sum(1 for x in Colour)",
        "iteration over the class Colour: iterate over `every(Colour, c)`",
        "t = sum(1 for x in every(Colour, c))",
    ),
    (
        "t = sum(1 for x in s.m)",
        "iteration over a map from Server: iterate over its keys: `for k in every(Server, c)`",
        "t = sum(1 for k in every(Server, c))",
    ),
    ("t = sum(1 for x in s.n)", "iteration over an int: iterate over `range(s.n)`", "t = sum(1 for x in range(s.n))"),
    (
        "t = len(Colour)",
        "len() of the class Colour: write `len(every(Colour, c))`",
        "t = len(every(Colour, c))",
    ),
    (
        "t = frozenset(Colour)",
        "frozenset() of the class Colour: write `every(Colour, c)`",
        "t = every(Colour, c)",
    ),
    (
        "t = tuple(Colour)",
        "tuple() of the class Colour: write its members out",
        "t = (Colour.RED, Colour.BLUE)",
    ),
    (
        "t = tuple(Server)",
        "tuple() of the class Server: write `tuple(sorted(every(Server, c)))`",
        "t = tuple(sorted(every(Server, c)))",
    ),
    (
        "t = Colour.RED in Colour",
        "Colour in the class Colour: write `every(Colour, c)`",
        "t = Colour.RED in every(Colour, c)",
    ),
    ("t = s.n in range(1, 3)", "`in range(1, 3)`: write `1 <= s.n < 3`", "t = 1 <= s.n < 3"),
    ("t = s.n in range(3)", "`in range(3)`: write `0 <= s.n < 3`", "t = 0 <= s.n < 3"),
    ("t = s.n in range(1, 3, 2)", "`range(1, 3, 2)`: it takes 1 to 2 arguments here", "t = 1 <= s.n < 3"),
    *AMONG_RECORDS,
    (
        "t = range(s.n)",
        "a call of `range`: write `tuple(range(n))`, `frozenset(range(n))`, or a comprehension over it",
        "t = tuple(range(s.n))",
    ),
    (
        "t = any(range(s.n))",
        "any/all of this: write `any(condition for x in set)`",
        "t = any(i > 1 for i in range(s.n))",
    ),
    (
        "t = frozenset(range(0, s.n, 2))",
        "`range(0, s.n, 2)`, which has a step: write a filter, `if i % 2 == 0`, "
        "or `reversed(range(low, high))` to count down",
        "t = frozenset(i for i in range(s.n) if i % 2 == 0)",
    ),
]
COLOUR = '\nclass Colour(Enum):\n    RED = 0\n    BLUE = 1\n\nclass Peer(Id, size="n"): ...\n'
OF_INSTEAD = """done: frozenset[Annotated[int, Range(0, 7)]]
    log: Annotated[tuple[Entry, ...], MaxLen(3)]
    ids: Annotated[tuple[Server, ...], MaxLen(3)]
    sent: Annotated[frozenset[Entry], MaxSize(2)]
    mi: Map[Annotated[int, Range(0, 3)], bool]
    o: Entry | None
    r: Colour"""
START_OF_INSTEAD = ", done=frozenset(), log=(), ids=(), sent=frozenset(), mi=Map({k: False for k in range(4)})"
START_OF_INSTEAD += ", o=None, r=Colour.RED"


@pytest.mark.parametrize(("body", "says", "instead"), INSTEAD, ids=[body for body, _, _ in INSTEAD])
def test_a_refusal_names_what_is_accepted(body: str, says: str, instead: str, tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(field=OF_INSTEAD, start=START_OF_INSTEAD, method=COLOUR)
    assert answer(wanted._replace(body=f"{body}\nreturn s"), tmp_path) == says
    (folder := tmp_path / "instead").mkdir()
    assert answer(wanted._replace(body=f"{instead}\nreturn s"), folder) == "accepted"
