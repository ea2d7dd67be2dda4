"""A model that raises once nothing is alive: text to be completed, and written to a file."""

from __future__ import annotations

from pathlib import Path

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes"): ...
NOBODY: frozenset[Node] = frozenset()

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 4)] = 3

@dataclass(frozen=True)
class State:
    alive: frozenset[Node]
    n: Annotated[int, Range(0, 3)] = 0

@initial
def start(c: Config) -> State:
    return State(every(Node, c))

@action(who="fate")
def crash(s: State, node: Node) -> State:
    require(node in s.alive)
    return replace(s, alive=s.alive - {node})

{text}

MODEL = Model.of(__name__, state=State, config=Config{options})
"""
CLAIMS = """
@invariant
def two_are_alive(s: State) -> bool:
    return len(s.alive) >= 2

@invariant
def one_is_alive(s: State) -> bool:
    return len(s.alive) >= 1
"""
ACTION = (
    """
@action(who="node")
def commit(s: State, k: Node) -> State:
    require(k not in s.alive or s.n > 0)
    return replace(s, n=1 if min(s.alive) == k else 2)
"""
    + CLAIMS
    + """
@step_property
def not_two(before: State, after: State) -> bool:
    return after.n != 2

@invariant
def never(s: State) -> bool:
    return s.n < 3
"""
)
VIOLATED = (
    CLAIMS
    + """
@step_property
def the_last_stays(before: State, after: State) -> bool:
    return after.alive != NOBODY

@cover
def lonely(s: State) -> bool:
    return len(s.alive) == 1
"""
)


def written(folder: Path, text: str, options: str = "", name: str = "raising") -> str:
    path = folder / f"{name}.py"
    path.write_text(MODEL.replace("{text}", text).replace("{options}", options), encoding="utf-8")
    return str(path)


def model_file(folder: Path, text: str = VIOLATED, options: str = ", deadlock=False") -> str:
    return written(folder, text, options, "falling")
