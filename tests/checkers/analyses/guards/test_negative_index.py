"""A guard that keeps an index from being negative, switched off: the index counts from the end, as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import said

LOG = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, MaxLen, Model, Range, action, initial, invariant, replace, require, terminal

class Node(Id, size="nodes"):
    ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 3)] = 2

@dataclass(frozen=True)
class State:
    log: Annotated[tuple[Node, ...], MaxLen(3)]
    n: Annotated[int, Range(0, 3)]
    got: Node | None

@initial
def start(c: Config) -> State:
    return State((Node(0), Node(0), Node(1)), 0, None)

@action(who="a")
def step(s: State) -> State:
    require(s.n < 2)
    return replace(s, n=s.n + 1)

@action(who="a")
def read(s: State) -> State:
    require(s.n > 0)
    return replace(s, got=s.log[s.n - 1])

@action(who="a")
def cut(s: State) -> State:
    require(s.n > 0)
    return replace(s, log=s.log[: s.n - 1] + s.log[s.n - 1 :])

@invariant
def never_one(s: State) -> bool:
    return s.got is None or s.got == Node(0)

@invariant
def log_stays(s: State) -> bool:
    return s.log == (Node(0), Node(0), Node(1))

@terminal
def anywhere(s: State) -> bool:
    return True

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_without_a_guard_an_index_may_be_negative(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in Python it counts from the end: `read` gets the last item, and `cut` puts the same log together."""
    model = tmp_path / "log.py"
    model.write_text(LOG)
    code, out, _ = said(capsys, "guards", str(model), "--json", str(tmp_path / "g.json"))
    found = {(g["action"], g["text"]): g["verdict"] for g in json.loads((tmp_path / "g.json").read_text())["guards"]}
    assert (code, found) == (
        0,
        {("step", "s.n < 2"): "load-bearing", ("read", "s.n > 0"): "load-bearing", ("cut", "s.n > 0"): "not needed"},
    )
    assert "s.n > 0  load-bearing: never_one violated after 1 step\n      read()" in out
