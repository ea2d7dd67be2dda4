"""Small models from text whose traces are explained and rendered."""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace
from tests.helpers.model_text import module

HEAD = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *

class Node(Id, size="nodes", first=1): ...

class Light(Enum):
    RED = 1
    AMBER = 2
    GREEN = 3
    WHITE = 4
    BLUE = 5
    VIOLET = 6

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 40)] = 3

"""

COUNTER = """
@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)]
    up: frozenset[Node]
    leader: Node | None

@initial
def zero(c: Config) -> State:
    return State(0, every(Node, c), None)

@action(who="counter")
def add(s: State) -> State:
    require(s.n < 3)
    return replace(s, n=s.n + 1, up=s.up - {max(s.up)} if s.n == 1 else s.up)

def low(s: State) -> bool:
    return s.n < 2

def below(n: Annotated[int, Range(0, 3)], s: State, high: Annotated[int, Range(0, 9)]) -> bool:
    return n < high

"""
"""It falls to what wants n < 2, or node 3 to be up, after two steps; it ends after three."""

GUARDED = """
@dataclass(frozen=True)
class Pair:
    a: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class State:
    last: Pair | None
    top: Annotated[int, Range(0, 3)] | None
    leader: Node | None
    up: frozenset[Node]
    order: Annotated[tuple[Node, ...], MaxLen(2)]
    score: Map[Node, Light]

@initial
def nothing(c: Config) -> State:
    return State(None, None, None, frozenset(), (), fill(Node, c, Light.RED))

@action(who="nobody")
def idle(s: State) -> State:
    return s

"""

END = "MODEL = Model.of(__name__, state=State, config=Config)\n"


STEP = (
    COUNTER
    + """
@action(who="chief")
def elect(s: State, node: Node) -> State:
    require(s.leader is None and node in s.up)
    return replace(s, leader=node)

@step_property(on=elect)
def claim(before: State, after: State, node: Node, c: Config) -> bool:
    return before.n < 2 or after.leader == max(every(Node, c)) or node == Node(1)

"""
)


def found(
    text: str,
    folder: Path,
    name: str = "claim",
    settings: tuple[str, ...] = (),
    witness: bool = False,
) -> tuple[Trace, BoundModel]:
    """The trace of the one finding or cover of this name."""
    made = module(HEAD + text + END, folder, prelude="")
    options = SearchOptions([name], witness=witness)
    asked = CheckRequest(str(made.__file__), list(settings), "reference", options)
    verdict, bound = run(asked, Progress(quiet=True))
    (finding,) = verdict.answers
    assert finding.trace is not None
    return finding.trace, bound


def invariant(body: str, declared: str = COUNTER) -> str:
    return f"{declared}@invariant\ndef claim(s: State, c: Config) -> bool:\n    {body}\n\n"
