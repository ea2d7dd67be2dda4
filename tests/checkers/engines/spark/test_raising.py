"""A model that raises, searched by Spark: as the native engine tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.request.result import CheckResult
from tests.helpers.raising_model import ACTION, written
from tests.helpers.runs import everything
from tests.helpers.spark_runs import MASTER, checked, far, needs_spark

pytestmark = needs_spark


@pytest.mark.parametrize("cluster", [far(), SparkOptions(MASTER)])
def test_as_native(cluster: SparkOptions, tmp_path: Path, context: Any) -> None:
    """Whether the level is searched on the cluster or in the driver."""
    path = written(tmp_path, ACTION)
    assert repr(everything(checked(path, [], cluster))) == repr(everything(checked(path, [])))


ON_ITS_WAY = """
from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, every, initial, replace, require


class Node(Id, size=3):
    pass


@dataclass(frozen=True)
class Config:
    pass


@dataclass(frozen=True)
class State:
    alive: frozenset[Node]
    big: Annotated[int, Range(0, 9)] = 0
    got: Annotated[int, Range(0, 2)] = 0


@initial
def start(c: Config) -> State:
    return State(every(Node, c))


@action(who="fate")
def crash(s: State, node: Node) -> State:
    require(node in s.alive and s.got == 0)
    return replace(s, alive=s.alive - {node})


@action(who="hero")
def bigger(s: State) -> State:
    return replace(s, big=(s.big + 1) % 10)


@action(who="node")
def commit(s: State, k: Node) -> State:
    require(s.got == 0 and s.big == 0 and (len(s.alive) == 0 or len(s.alive) == 3))
    return replace(s, got=1 if min(s.alive) == k else 2)


MODEL = Model.of(__name__, state=State, config=Config)
"""
"""It raises in states of one level, and has further levels after it."""


@pytest.mark.parametrize("text", [ACTION, ON_ITS_WAY])
@pytest.mark.parametrize("small", [1, None])
def test_a_resumed_run_raises_again(small: int | None, text: str, tmp_path: Path, context: Any) -> None:
    """Whether the level was searched on the cluster or in the driver, and whatever comes after it."""
    place = str(tmp_path / "run")
    if text is ON_ITS_WAY:
        (tmp_path / "raising.py").write_text(text)
        path = str(tmp_path / "raising.py")
    else:
        path = written(tmp_path, text)

    def run(resume: bool) -> CheckResult:
        here = SparkOptions(MASTER, out=place, resume=resume)
        return checked(path, [], here if small is None else far(out=place, resume=resume))

    first = run(False)
    assert first.exit() is Exit.MODEL
    for _ in range(2):
        again = run(True)
        assert repr(everything(again)) == repr(everything(first))
        assert again.exit() is Exit.MODEL


RAISES_OF_ONE = """
@invariant
def fine(s: State) -> bool:
    return max(x for x in range(3) if x < len(s.alive) - 1) >= 0
"""


def test_classes_of_the_level_after_are_counted(tmp_path: Path, context: Any) -> None:
    """The states found after the level in which the model raises are not committed, and are told of."""
    path = written(tmp_path, RAISES_OF_ONE)
    found, native = (checked(path, ["nodes=4"], cluster, symmetry="on") for cluster in (far(), None))
    assert found.search is not None and native.search is not None
    assert (found.search.symmetry["classes"], found.search.symmetry["states"]) == (5, 16)
    assert found.search.symmetry == native.search.symmetry
