"""What a person is told who declares something wrongly: the name, the file and line, and the remedy, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.cli.commands.lint import lint
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare
from tests.spec.wanted import WANTED, answer

LIST = "a list: use a tuple or frozenset"
PRELUDE = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 6)] = 2

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 9)] = 0

@initial
def start(c: Config) -> State:
    return State()

@action(who="node")
def elect(s: State, node: Node) -> State:
    require(s.n < 3)
    return replace(s, n=s.n + 1)

@action(who="fate")
def reset(s: State) -> State:
    return replace(s, n=0)
"""
PLAIN = "MODEL = Model.of(__name__, state=State, config=Config)"


def refusal(folder: Path, text: str, end: str = PLAIN) -> str:
    """The message about a model, whose added text begins with line 1."""
    path = folder / "mine.py"
    path.write_text(PRELUDE + text + "\n" + end + "\n")
    with pytest.raises(Failure) as failed:
        prepare(str(path), [])
    assert failed.value.code is Exit.MODEL
    shift = len(PRELUDE.splitlines())
    return str(failed.value).replace(f"{path}:", "mine.py:").replace(f"mine.py:{shift + 1}", "mine.py:L1")


STEP = "@step_property\ndef p(before: State, after: State, action: Action) -> bool:\n    return {}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '@action(who="x", fair="stong")\ndef y(s: State) -> State:\n    return s',
            'fair is None, "weak" or "strong", not \'stong\' (mine.py:L1)',
        ),
        (
            '@step_property(on="elect")\ndef y(before: State, after: State) -> bool:\n    return True',
            "on is an action or a list of actions, not 'elect' (mine.py:L1)",
        ),
        (
            '@action(who="x")\ndef y(s: State, n) -> State:\n    return s',
            "y, parameter n: it needs an annotation (mine.py:L1)",
        ),
        (
            '@action(who="x")\ndef y(s: State, n: int) -> State:\n    return s',
            "y, parameter n: an int needs bounds: Annotated[int, Range(low, high)] (mine.py:L1)",
        ),
        (
            "@invariant\ndef y(s: Config) -> bool:\n    return True",
            "y is over Config, which mine has no view of (mine.py:L1)",
        ),
        (
            "@cover\ndef y(before: State, after: State, action: str) -> bool:\n    return True",
            "y reads action, no parameter of elect; the action itself is a parameter annotated `Action` (mine.py:L1)",
        ),
    ],
)
def test_declarations_are_named_with_their_place(text: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text) == message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('action.name == "elect"', "`.name` of an action: compare it with actions: `action == elect`"),
        (
            'action == "elect"',
            "the constant 'elect': values are bools, ints, ids, enum members, None; an action is compared by its "
            "function: `action == elect`",
        ),
    ],
)
def test_actions_are_compared_with_actions(expression: str, message: str, tmp_path: Path) -> None:
    """Said once, however many actions the property is asked of."""
    told = refusal(tmp_path, STEP.format(expression))
    assert told.startswith("1 construct outside the language\n")
    assert told.count(message) == 1
    assert "function=<" not in told


VARIANT = "BASE = Model.of(__name__, state=State, config=Config)\n"


@pytest.mark.parametrize(
    ("text", "end", "message"),
    [
        (
            "def helper(s: State) -> State:\n    return s\n",
            VARIANT + "MODEL = BASE.replacing(helper)",
            "helper is no action, property or initial function: write its decorator",
        ),
        (
            "@dataclass(frozen=True, kw_only=True)\nclass Wide(State):\n    more: bool\n",
            VARIANT + "MODEL = BASE.replacing(elect, state=Wide)",
            "Wide.more needs a default, for the states of State",
        ),
        (
            "@dataclass(frozen=True)\nclass Bare:\n    nodes: Annotated[int, Range(1, 2)]\n",
            "MODEL = Model.of(__name__, state=State, config=Bare)",
            "Bare, the configuration of mine: nodes needs a default value",
        ),
    ],
)
def test_models_put_together_wrongly(text: str, end: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text, end).startswith(message)


def test_a_range_too_wide_is_the_models_mistake(tmp_path: Path) -> None:
    path = tmp_path / "wide.py"
    path.write_text(PRELUDE.replace("Range(0, 9)", "Range(1, 10**30)") + PLAIN + "\n")
    with pytest.raises(Failure, match=r"^State\.n: the range 1\.\.10+ is too wide: .* \(wide\.py:14\)$") as failed:
        prepare(str(path), [])
    assert failed.value.code is Exit.MODEL


def test_claims_made_by_a_function(tmp_path: Path) -> None:
    """Under names given while running."""
    path = tmp_path / "made.py"
    text = """
def takes(a: Action) -> Property:
    def taken(before: State, after: State) -> bool:
        return True
    taken.__name__ = f"takes_{a.name}"
    return cover(on=a)(taken)

MODEL = Model.of(__name__, state=State, config=Config).adding(*[takes(a) for a in (elect, reset)])
"""
    path.write_text(
        PRELUDE.replace("import *", "import *\nfrom reassure.spec.language.vocabulary import Property") + text
    )
    prepared = prepare(str(path), [])
    bound, lowered = prepared.bound, prepared.lowered
    assert [p.name for p in bound.covers] == ["takes_elect", "takes_reset"]
    assert set(lowered.claims) >= {"takes_elect", "takes_reset"}


TYPES = [
    # the type of a field, what is said of it, and a type that the remedy means, with a value of it
    (
        "bytes",
        "bytes is not a finite type: "
        "names are an Enum or an Id sort; a sequence of numbers is Annotated[tuple[T, ...], MaxLen(n)]",
        "Annotated[tuple[Annotated[int, Range(0, 255)], ...], MaxLen(2)]",
        "(7,)",
    ),
    (
        "tuple",
        "tuple is not a finite type: a sequence is Annotated[tuple[T, ...], MaxLen(n)], "
        "a tuple of two parts is tuple[A, B]",
        "Annotated[tuple[Server, ...], MaxLen(2)]",
        "()",
    ),
    (
        "frozenset",
        "frozenset is not a finite type: a set is frozenset[T], where T is an Id sort, an Enum or a Range",
        "frozenset[Server]",
        "frozenset()",
    ),
    (
        "Map",
        "Map is not a finite type: "
        "a map is Map[K, T], where K is an Id sort, an Enum, bool, a Range or a tuple of these",
        "Map[Server, Annotated[int, Range(0, 3)]]",
        "fill(Server, c, 0)",
    ),
    (
        "object",
        "object is not a finite type: "
        "write the type of its values: a record, an Enum, an Id sort, bool or Annotated[int, Range(low, high)]",
        "Entry",
        "Entry(0, Server(0))",
    ),
    (
        "Map[Server, Plain]",
        "Plain is not a finite type: write a frozen dataclass: `@dataclass(frozen=True)` above the class",
        "Map[Server, Entry]",
        "fill(Server, c, Entry(0, Server(0)))",
    ),
    (
        "Annotated[int, Range(3, 0)]",
        "empty range 3..0: the least number comes first, as in `Range(0, 3)`",
        "Annotated[int, Range(0, 3)]",
        "0",
    ),
]


@pytest.mark.parametrize(("kind", "says", "instead", "value"), TYPES, ids=[kind for kind, *_ in TYPES])
def test_a_type_that_is_refused_names_another(kind: str, says: str, instead: str, value: str, tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(field=f"p: {kind}", start=", p=0", method="\nclass Plain: ...\n")
    assert answer(wanted, tmp_path) == f"State.p: {says}"
    (folder := tmp_path / "instead").mkdir()
    assert answer(wanted._replace(field=f"p: {instead}", start=f", p={value}"), folder) == "accepted"


FOLLOWS = """ys = [a]
t1 = tuple(ys)
t2 = tuple(y for y in ys)
t3 = sum(ys[0] for y in s.q) + sum(ys[0] for y in sorted(s.q))
t4 = max(ys[0] for y in s.q) + min(s.m[a], ys)
t5 = max(s.q, key=lambda y: ys)
t6 = next(ys[0] for y in sorted(s.q))
t7 = (s.m[ys], s.m.put(ys, 1), s.m.put(a, ys), Map({ys: 1}))
t8 = (frozenset({ys}), frozenset({s.e, ys}), fill(ys, c, 1), every(Server, ys), (1, s.e)[ys])
t9 = (bad(s), tuple(bad(s)), sum(bad(s)), len(bad(s)), ys == bad(s), ys < 1, ys in s.q, a in ys, ys.x, ys.x())
for y in ys:
    z = y
match ys:
    case k:
        pass
return replace(s, n=t3 + k, q=frozenset(ys))"""


def test_what_follows_from_something_refused_is_not_refused_again(tmp_path: Path) -> None:
    bad = "def bad(s: State) -> State:\n    return [1]\n"
    wanted = WANTED["setofints"]._replace(field="", start="", body=FOLLOWS, extra=bad)
    assert answer(wanted, tmp_path).split("; ") == [LIST, LIST, "match: use if and elif"]


@pytest.mark.parametrize("members", ["frozenset({x}) for x in s.q", "{s.q, every(Server, c)}", "x for x in (s.m,)"])
def test_a_set_of_what_has_no_place_in_one(members: str, tmp_path: Path) -> None:
    wanted = WANTED["setofints"]._replace(field="", start="", body=f"x = frozenset({members})\nreturn s")
    kind = "a map from Server" if "s.m" in members else "set of Server"
    assert answer(wanted, tmp_path) == (
        f"types do not fit: {kind} in a set, whose members are ids, enum members, bools, numbers or records: "
        "write a set of records with such a field, or a Map to bool"
    )


BESIDE = WANTED["setofints"]._replace(
    field="logs: Map[Server, Annotated[tuple[Entry, ...], MaxLen(2)]]\n    o: Entry | None",
    start=", logs=fill(Server, c, ()), o=None",
)
FIRST = [
    ("w = [a]", "", LIST),
    ("require(s.q)", "", "`s.q` is set of Server, not a bool: compare with an empty set: `x != frozenset()`"),
    ("s.n = 2", "", "changing `s.n`: values do not change: write `s = replace(s, field=value)`"),
    ("w = 1", "x: int", "State.x: an int needs bounds: Annotated[int, Range(low, high)]"),
]
SECOND = [
    (
        "for y in s.q:\n    if s.logs[y][0].term > 1:\n        break",
        "what may fail in a comprehension or loop over a set, whose order would show: test before it that it cannot "
        "fail, or iterate over `sorted(...)`",
    ),
    (
        "k = 0\nfor y in s.q:\n    k = s.m[y]\nz = k",
        "`k` after a loop over a set, whose last turn gave it a value: iterate over `sorted(...)` or a tuple",
    ),
    (
        "for y in s.q:\n    if s.m[y] > 0:\n        return replace(s, e=replace(s.e, who=y))",
        "a loop over a set that returns one value in one turn and another in another: a set has no order: return one "
        "value, or iterate over `sorted(...)` or a tuple",
    ),
    ("z = next(y for y in s.q)", "a set has no order: iterate over `sorted(...)` or a tuple"),
    ("z = s.o.term", "`s.o` may be None here: test `s.o is not None` first, or `some(s.o)`"),
]


@pytest.mark.parametrize(("body", "says"), SECOND, ids=[body for body, _ in SECOND])
@pytest.mark.parametrize(("first", "field", "of_first"), FIRST, ids=[body for body, _, _ in FIRST])
def test_what_is_behind_something_refused(
    first: str, field: str, of_first: str, body: str, says: str, tmp_path: Path
) -> None:
    wanted = BESIDE._replace(body=f"{first}\n{body}\nreturn s")
    if field:
        wanted = wanted._replace(field=f"{wanted.field}\n    {field}", start=f"{wanted.start}, x=0")
    told = answer(wanted, tmp_path)
    assert told.startswith(f"{of_first}; ")
    assert told.endswith(says)
    assert told.count("; ") == 1 + says.count("; ")


TRUTH = "`s.o` is not a bool: write `s.o is not None`"
ALONE = [
    ("if s.o:\n    w = s.o.term", TRUTH),
    ("if not s.o:\n    return s\nw = s.o.term", TRUTH),
    ("require(s.o and s.o.term > 1)", TRUTH),
    ("assert s.o is not None\nw = s.o.term", ASSERT := "assert: use `require(...)` in an action, or an invariant"),
    ("assert s.n > 0\nw = s.logs[a][s.n - 1] if len(s.logs[a]) >= s.n else s.e", ASSERT),
    ("assert [a]", f"{ASSERT}; {LIST}"),
    (
        "if s.o is None:\n    raise ValueError(1)\nw = s.o.term",
        "raise: `require(...)` disables an action; a property returns False",
    ),
    (
        "if isinstance(s.o, Entry):\n    w = s.o.term",
        "a call of `isinstance`: each value has one type: test a field of it, or write `x is not None`",
    ),
    ("s.o = s.e\nw = s.o.term", "changing `s.o`: values do not change: write `s = replace(s, field=value)`"),
]


@pytest.mark.parametrize(("body", "says"), ALONE, ids=[body for body, _ in ALONE])
def test_what_is_right_once_the_first_is_repaired_is_not_refused(body: str, says: str, tmp_path: Path) -> None:
    assert answer(BESIDE._replace(body=f"{body}\nreturn s"), tmp_path) == says
    own = "def isinstance(x: Entry | None, y: Server) -> bool:\n    return True\n"
    told = answer(BESIDE._replace(body="require(isinstance(s.o, a))\nw = s.o.term\nreturn s", extra=own), tmp_path)
    assert told == "`s.o` may be None here: test `s.o is not None` first, or `some(s.o)`"


WHILE = "a while loop: a step is finite: write `for i in range(limit):` with `break`, or several actions"
TRY, MATCH, NESTED = (
    "try: test the condition first",
    "match: use if and elif",
    "a nested function: define it in the module",
)
FIELDS = "only records, configuration and modules have fields"
APPEND = "a method `.append` of a sequence of Entry: tuples do not change: write `t + (x,)`"
NONE = "`s.o` may be None here: test `s.o is not None` first, or `some(s.o)`"
INSIDE = [
    ("while s.n < 2:\n    w = [a]\n    s.logs[a].append(s.e)", [WHILE, LIST, APPEND]),
    ("while s.o:\n    w = s.o.term\nelse:\n    w = [a]", [WHILE, TRUTH, LIST]),
    ("while s.o is None:\n    w = s.o.term\nv = s.o.term", [WHILE, NONE]),
    ("k = 0\nwhile s.n < k:\n    w = (k.x, [a])\n    k = s.e\nv = k.x", [WHILE, LIST]),
    ("while s.n < 3:\n    if s.n > 1:\n        break\n    return [s]", [WHILE, LIST]),
    ("while True:\n    while [a]:\n        w = s.o.term", [WHILE, WHILE, LIST, NONE]),
    ("match s.n:\n    case 0 if s.o:\n        w = [a]\n    case k:\n        w = k.x", [MATCH, TRUTH, LIST]),
    ("match s.o:\n    case None:\n        w = [a]\n    case _:\n        w = s.o.term\nv = s.o.term", [MATCH, LIST]),
    ("match s.m:\n    case {0: k, **rest}:\n        w = (k.x, rest.x, s.o.term)", [MATCH, NONE]),
    ("try:\n    w = s.logs[a][s.n - 1]\nexcept IndexError as e:\n    w = e.x\nv = w.x", [TRY]),
    (
        "try:\n    w = [a]\nexcept IndexError:\n    w = s.o.term\nelse:\n    s.logs[a].append(s.e)\n"
        "finally:\n    v = [a]",
        [TRY, LIST, NONE, APPEND, LIST],
    ),
    ("with s as t:\n    w = t.x\n    v = [a]\nu = w.x", ["with: a model has no resources", LIST]),
    ("def g(x, *y, z=1):\n    return [x.q, y.q, z.q]\nw = g(1)", [NESTED, LIST]),
    ("def g():\n    return later.x + s.o.term\nlater = s.e\nw = g()", [NESTED, NONE]),
    ("k = 1\ndef g():\n    return k.term\nk = s.e\nw = g()", [NESTED]),
    ("k = 1\ndef g():\n    return k.term\nw = g()", [NESTED, f"`.term` of an int: {FIELDS}"]),
]


@pytest.mark.parametrize(("body", "says"), INSIDE, ids=[body for body, _ in INSIDE])
def test_what_is_in_a_statement_that_is_refused(body: str, says: list[str], tmp_path: Path) -> None:
    assert answer(BESIDE._replace(body=f"{body}\nreturn s"), tmp_path).split("; ") == says


TWO_PARAMETERS = "takes the state and, if need be, the configuration"
SIGNATURES = [
    # the decorator, the function, its result, how many lists are in these, and what is said
    ("invariant", "p() -> bool", "True", 0, f"p {TWO_PARAMETERS}"),
    ("invariant", "p(s: State, c: Config, b: Server) -> bool", "[b.x] == s.n", 1, f"p {TWO_PARAMETERS}"),
    ("invariant", "p(s: Entry) -> bool", "s.term.x == [1]", 1, "p is over Entry, which mine has no view of"),
    ("invariant", "p(s: State) -> int", "s.n", 0, "p is annotated `-> int`: write `-> bool`"),
    ("invariant", "p(*, s: State) -> bool", "True", 0, "p: write its parameters without `*`"),
    ("invariant", "p(s: 'Nope') -> bool", "s.x", 0, "p: an annotation cannot be read: name 'Nope' is not defined"),
    (
        "invariant",
        "p(before: State, after: State) -> bool",
        "True",
        0,
        "p takes after, so it is about steps: write @step_property",
    ),
    (
        "invariant(when=lambda c: c.no)",
        "p(s: State) -> bool",
        "True",
        0,
        "p: its `when` raised AttributeError: 'Config' object has no attribute 'no'",
    ),
    ("leads_to(lambda: True)", "p(s: State) -> bool", "True", 0, f"<lambda> {TWO_PARAMETERS}"),
    ("infinitely_often", "p(s: State, b: Server) -> bool", "b.x", 0, f"p {TWO_PARAMETERS}"),
    ("eventually_always", "p() -> bool", "True", 0, f"p {TWO_PARAMETERS}"),
    ("cover", "p() -> bool", "True", 0, f"p {TWO_PARAMETERS}"),
    ("step_property", "p(s: State, t: State) -> bool", "t.x", 0, "p is about steps: it takes before and after"),
    (
        "step_property",
        "p(before: State, after: Entry, z: Server) -> bool",
        "z.x == after.x",
        0,
        "p reads z, no parameter of act; the action itself is a parameter annotated `Action`",
    ),
    ("step_property", "p(before: State, /, after: State) -> bool", "True", 0, "p: write its parameters without `/`"),
    ("terminal", "p() -> bool", "True", 0, f"p {TWO_PARAMETERS}"),
    ("action(who='x')", "p() -> State", "1", 0, "p: its first parameter is the state"),
    ("action(who='x', b=lambda: 1)", "p(s: State, b: Server) -> State", "s", 0, f"<lambda> {TWO_PARAMETERS}"),
    (
        "action(who='x', fair='weak', fair_each=['c'])",
        "p(s: State, c: Config) -> State",
        "s",
        0,
        "p: fair_each is about parameters; c is the configuration",
    ),
]


@pytest.mark.parametrize(("decorator", "function", "result", "lists", "says"), SIGNATURES)
def test_a_wrong_signature_is_told_with_other_refusals(
    decorator: str, function: str, result: str, lists: int, says: str, tmp_path: Path
) -> None:
    """With those of its own body that no parameter matters for, and beside a field whose type is refused."""
    path = tmp_path / "mine.py"
    other = "@action(who='y')\ndef act(s: State) -> State:\n    w = [s.n]\n    return s\n\n"
    head = PRELUDE.split("@action")[0].replace("class Node(", "class Server(")
    head += "@dataclass(frozen=True)\nclass Entry:\n    term: bool\n\n"
    text = f"{head}@{decorator}\ndef {function}:\n    return {result}\n\n{other}{PLAIN}\n"
    for refused in ([], ["State.x: str is not a finite type: names are an Enum or an Id sort"]):
        path.write_text(text.replace("    n: Annotated", "    x: str = ''\n    n: Annotated") if refused else text)
        _, places = lint(str(path))
        lines = path.read_text().splitlines()
        assert {p.text: lines[p.line - 1] for p in places}[says] == f"@{decorator}"
        assert sorted(p.text for p in places) == sorted([*refused, says, *[LIST] * (1 + lists)])
        with pytest.raises(Failure) as failed:
            prepare(str(path), [])
        assert failed.value.code is Exit.MODEL
        assert [str(failed.value).count(text) for text in (says, LIST)] == [1, 1 + lists]


FOO = "`.foo` is not a field: State has the fields n, m, q, e, logs, o"
BAR = "`.bar` is not a field: Entry has the fields term, who"
IN_ONE = [
    ("w = s.foo + s.e.bar", [FOO, BAR]),
    ("w = s.foo == s.e.bar", [FOO, BAR]),
    ("w = s.foo < s.n < s.e.bar", [FOO, BAR]),
    ("require(s.foo and s.e.bar)", [FOO, BAR]),
    ("w = two(s.foo, s.e.bar)", [FOO, BAR]),
    ("w = max(s.foo, s.e.bar)", [FOO, BAR]),
    ("w = [s.foo, s.e.bar]", [LIST, FOO, BAR]),
    ("w = (s.foo, s.e.bar)", [FOO, BAR]),
    ("w = s.m[s.foo] + s.e.bar", [FOO, BAR]),
    ("w = s.n + (s.n + (s.n + s.foo) + s.e.bar)", [FOO, BAR]),
    ("w = s.foo if s.o is not None else s.o.term", [FOO, NONE]),
    ("w = s.foo if s.o is None else s.o.term", [FOO]),
    ("w = s.n.x + any(y.z for y in s.foo)", [f"`.x` of an int: {FIELDS}", FOO]),
    ("w = two(s.foo, {a}, lambda: 1)", ["`two(s.foo, {a}, lambda: 1)`: two takes (x, y)", FOO]),
    ("w = s.foo.x == 'x'", [FOO]),
    ("w = s.foo + s.foo.x.y", [FOO]),
    ("w = s.logs[a][s.n - 1] if s.n > 0 else s.foo", [FOO]),
]


@pytest.mark.parametrize(("body", "says"), IN_ONE, ids=[body for body, _ in IN_ONE])
def test_several_mistakes_in_one_expression(body: str, says: list[str], tmp_path: Path) -> None:
    helper = "def two(x: int, y: int) -> int:\n    return 1\n"
    told = answer(BESIDE._replace(body=f"{body}\nreturn s", extra=helper), tmp_path)
    assert told.split("; ") == says
