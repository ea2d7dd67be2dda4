"""Semantics by page, end to end: what a run says is what plain Python says, in searches that meet the hard cases."""

# ruff: noqa: E501 - a claim of a table is one line
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare
from tests.helpers.model_text import module
from tests.helpers.runs import checked, everything

PRELUDE = """
from dataclasses import dataclass
from typing import Annotated
from reassure.spec import *
from reassure.spec.language.vocabulary import LanguageError

class Node(Id, size="nodes"): ...
Nodes = frozenset[Node]
NOBODY: Nodes = frozenset()

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 4)] = 3

@dataclass(frozen=True)
class Message:
    body: Annotated[int, Range(0, 2)]

@dataclass(frozen=True)
class State:
    alive: Nodes
    order: Annotated[tuple[Node, ...], MaxLen(3)]
    sent: Annotated[frozenset[Message], MaxSize(2)]
    n: Annotated[int, Range(0, 3)] = 0

@initial
def start(c: Config) -> State:
    return State(NOBODY, (), frozenset())

@action(who="node")
def join(s: State, node: Node) -> State:
    require(node not in s.alive)
    return replace(s, alive=s.alive | {node})

@action(who="node")
def leave(s: State, node: Node) -> State:
    require(node in s.alive)
    return replace(s, alive=s.alive - {node})

@action(who="node")
def line_up(s: State, node: Node) -> State:
    require(len(s.order) < 3 and node in s.alive)
    return replace(s, order=s.order + (node,))

def good(n: Node) -> bool:
    require(n == Node(0))
    return True
"""
END = "\nMODEL = Model.of(__name__, state=State, config=Config{options})\n"


def written(folder: Path, text: str, options: str = "") -> str:
    path = folder / "small.py"
    path.write_text(PRELUDE + text + END.format(options=options))
    return str(path)


def said(path: str, engine: str, **options: Any) -> Any:
    """What a run gives: all that engines must agree on, or why there is nothing."""
    try:
        result, _ = checked(path, [], engine, **options)
    except Failure as failure:
        return failure.code, str(failure)
    return everything(result)


def both(path: str, **options: Any) -> Any:
    """What the reference engine and the native one give, which is the same."""
    want, got = said(path, "reference", **options), said(path, "native", **options)
    assert repr(got) == repr(want)  # the file is imported twice, so that the classes are not the same
    return want


def statuses(found: dict[str, object]) -> dict[str, str]:
    return {p["name"]: p["status"] for p in found["properties"]}


def error(found: dict[str, object]) -> str:
    """What the model raises in a reachable state; "" if it does not."""
    assert (found["verdict"] == "model-error") == ("raises" in found["traces"])
    return next((p["error"] for p in found["properties"] if p["status"] == "raised"), "")


def test_a_short_circuit_is_not_passed_over(tmp_path: Path) -> None:
    """`any` stops at the first true member: the guard of the next one is not asked."""
    text = """
@action(who="node")
def count(s: State) -> State:
    require(any(good(n) for n in s.order) and len(s.order) == 2)
    return replace(s, n=3)

@invariant
def never_three(s: State) -> bool:
    return s.n < 3
"""
    assert statuses(both(written(tmp_path, text)))["never_three"] == "violated"


@pytest.mark.parametrize(
    ("claim", "raises"),
    [
        ("all(s.order[i] == Node(0) for i in range(3))", True),
        ("any(s.order[i] == Node(0) for i in range(3)) or s.order == () or True", True),
        ("len(s.order) < 2 or s.order[1] in s.order", False),
        ("s.order == () or any(s.order[i] == s.order[0] for i in range(3))", False),
        ("max(s.alive) == max(s.alive)", True),
        ("s.alive == NOBODY or max(s.alive) in s.alive", False),
        ("max(s.alive, default=s.order[0]) in s.alive", True),
        ("all(n == max(s.alive) or n < max(s.alive) for n in s.alive)", False),
        ("next((n for n in s.order if n in s.alive), Node(0)) in s.alive or len(s.order) != 1 or True", False),
    ],
)
def test_claims_raise_where_python_does(claim: str, raises: bool, tmp_path: Path) -> None:
    found = both(written(tmp_path, f"\n@invariant\ndef claim(s: State) -> bool:\n    return {claim}\n"))
    assert ("claim raised" in error(found)) is raises


RAISING = """
@invariant
def fine(s: State) -> bool:
    return s.n == 0

@{kind}
def what_raises({parameters}) -> bool:
    return max({state}.alive) == Node(0)
"""


@pytest.mark.parametrize(
    ("kind", "parameters", "state"),
    [
        ("invariant", "s: State", "s"),
        ("cover", "s: State", "s"),
        ("step_property", "before: State, after: State", "after"),
        ("cover", "before: State, after: State", "before"),
        ("terminal", "s: State", "s"),
    ],
)
def test_what_is_not_asked_for_does_not_raise(kind: str, parameters: str, state: str, tmp_path: Path) -> None:
    path = written(tmp_path, RAISING.format(kind=kind, parameters=parameters, state=state))
    assert statuses(both(path, properties=["fine"])) == {"fine": "holds"}
    if kind != "terminal":  # which nobody asks, as there is always a step
        assert "what_raises raised" in error(both(path))


def test_terminals_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """And only in a state with nothing enabled."""
    text = """
@action(who="node")
def stop(s: State) -> State:
    require(False)
    return s

@terminal
def empty(s: State) -> bool:
    return s.alive == NOBODY

@terminal
def full(s: State) -> bool:
    return max(s.alive) == Node(2)
"""
    path = Path(written(tmp_path, text))
    path.write_text(path.read_text().replace('@action(who="node")\ndef join', "def join", 1))
    path.write_text(path.read_text().replace("def join(s: State, node: Node)", "def joined(s: State, node: Node)", 1))
    assert statuses(both(str(path))) == {"deadlock": "holds"}


def test_a_terminal_that_raises(tmp_path: Path) -> None:
    path = Path(written(tmp_path, "\n@terminal\ndef full(s: State) -> bool:\n    return max(s.alive) == Node(2)\n"))
    path.write_text(path.read_text().replace("require(node not in s.alive)", "require(s.n > 0)", 1))
    assert "terminal raised" in error(both(str(path)))


def test_bounds_are_looked_at_where_a_step_ends(tmp_path: Path) -> None:
    """A record out of its bounds is clipped where it comes to lie in the state, by the path to it; else nowhere."""
    text = """
@action(who="node")
def send(s: State, node: Node) -> State:
    require(node in s.alive)
    more = s.sent | {Message(s.n + 1)}
    if node == Node(0):
        return replace(s, n=min(s.n + 1, 3))
    return replace(s, sent=more)
"""
    found = both(written(tmp_path, text))
    assert set(found["clipped_at"]) == {"sent[].body"}


def test_a_claim_may_not_look_into_such_a_set(tmp_path: Path) -> None:
    text = """
@invariant
def two(s: State) -> bool:
    return frozenset({Message(s.n), Message(s.n + 4)}) != frozenset({Message(0)})
"""
    with pytest.raises(
        Failure, match=r"small.py:\d+:\d+: types do not fit: a Message in this set may be out of its bounds"
    ):
        prepare(written(tmp_path, text), [])


WIDER = """
@action(who="node")
def again(s: State) -> State:
    return State(s.alive, s.order, s.sent, {n})

BASE = Model.of(__name__, state=State, config=Config)

@dataclass(frozen=True)
class Wider(State):
    more: bool = False

@action(who="node")
def more(s: Wider) -> Wider:
    return replace(s, more=True)
"""


def test_an_action_makes_a_state_of_the_model(tmp_path: Path) -> None:
    """An initial state of a variant with further fields gets their defaults; a step that makes the narrower one is wrong."""
    path = tmp_path / "wider.py"
    path.write_text(PRELUDE + WIDER.format(n=0) + "MODEL = BASE.adding(more, state=Wider)\n")
    with pytest.raises(Failure, match="what `again` returns: State where Wider is needed"):
        prepare(str(path), [])
    made = module(WIDER.format(n=0) + "MODEL = BASE.adding(more, state=Wider)\n", tmp_path, prelude=PRELUDE)
    from reassure.spec.semantics.interpreter import BoundModel, ModelError

    bound = BoundModel(made.MODEL)
    (_, _, first) = next(bound.initial_states())
    assert type(first) is made.Wider
    with pytest.raises(ModelError, match="again"):
        list(bound.steps(first))


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ("Annotated[int, Range(0, 2305843009213693952)]", r"it is to be within -2\^61"),
        ("Annotated[int, Range(-10**30, 0)]", r"it is to be within -2\^61"),
        ("Annotated[tuple[Node, ...], MaxLen(0)]", r"MaxLen\(0\) leaves no room"),
        ("Annotated[tuple[Node, ...], MaxLen(-1)]", r"MaxLen\(-1\) leaves no room"),
        ("Annotated[tuple[Node, ...], MaxLen(29)]", "at most 28 items of it fit"),
        ("Annotated[frozenset[Message], MaxSize(0)]", r"MaxSize\(0\) leaves no room"),
        ("Annotated[frozenset[Wide], MaxSize(1)]", "a record in a set has at most 60"),
        ("frozenset[Many]", "a set over 63 values; at most 62"),
        ("NoColour", "NoColour has no member"),
    ],
)
def test_types_that_are_refused(declared: str, why: str, tmp_path: Path) -> None:
    text = f"""
from enum import Enum

class NoColour(Enum): ...

class Many(Id, size="many"): ...

@dataclass(frozen=True)
class Wide:
    a: Annotated[int, Range(0, 1 << 60)]

@dataclass(frozen=True)
class Large(Config):
    many: int = 63

@dataclass(frozen=True)
class Odd(State):
    odd: {declared} | None = None

MODEL = Model.of(__name__, state=State, config=Config).adding(state=Odd, config=Large)
"""
    path = tmp_path / "odd.py"
    path.write_text(PRELUDE + text.replace("many: int", "many: Annotated[int, Range(1, 63)]"))
    with pytest.raises(Failure, match=why) as caught:
        prepare(str(path), [])
    assert caught.value.code is Exit.MODEL


@pytest.mark.parametrize("bits", [57, 58, 60, 61])
def test_wide_numbers(bits: int, tmp_path: Path) -> None:
    """A field that leaves no room for the search's own bits lies in a further word."""
    text = f"""
@dataclass(frozen=True)
class Counting(State):
    wide: Annotated[int, Range(-(1 << {bits - 1}), (1 << {bits - 1}) - 1)] = 0

@action(who="node")
def up(s: Counting) -> Counting:
    return replace(s, wide=max(-(1 << {bits - 1}), min(s.wide + (1 << {bits - 2}), (1 << {bits - 1}) - 1)))

@action(who="node")
def down(s: Counting) -> Counting:
    require(s.wide > 0)
    return replace(s, wide=-s.wide)
"""
    text = text.replace(f"(1 << {bits - 1})", str(1 << (bits - 1))).replace(f"(1 << {bits - 2})", str(1 << (bits - 2)))
    path = tmp_path / "wide.py"
    base = "BASE = Model.of(__name__, state=State, config=Config)\n"
    path.write_text(PRELUDE + base + text + "MODEL = BASE.adding(up, down, state=Counting)\n")
    assert both(str(path))["complete"]


@pytest.mark.parametrize("claim", ["s: Seen", "before: Seen, after: Seen"])
def test_a_view_that_raises(claim: str, tmp_path: Path) -> None:
    """Every claim over it does, whatever it reads."""
    text = f"""
@dataclass(frozen=True)
class Seen:
    highest: Node

def seen(s: State) -> Seen:
    return Seen(max(s.alive))

@{"step_property" if "after" in claim else "invariant"}
def claim({claim}) -> bool:
    return True
"""
    assert "claim raised ValueError" in error(both(written(tmp_path, text, ", views=(seen,)")))
