"""A model whose loops over ids have too many turns: no engine translates it, and plain Python answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.spec.frontend import context
from reassure.spec.frontend.introspection import MOST_OPERATIONS
from reassure.spec.frontend.ir import BOOL, Graph
from reassure.spec.language.types import IntType

LOOPS = '''
from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, every, initial, invariant, replace, require, step_property


class Node(Id, size="nodes"): ...


@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(2, 64)] = 12


@dataclass(frozen=True)
class State:
    up: frozenset[Node]
    links: frozenset[Node]


@initial
def start(c: Config) -> State:
    return State(up=every(Node, c), links=frozenset())


@action(who="nobody", tags=["fault"])
def fail(s: State, node: Node) -> State:
    require(node in s.up and len(s.up) > 11)
    return replace(s, up=s.up - {node})


@invariant
def linked(s: State, c: Config) -> bool:
    """A link has both its ends."""
    return all(
        not (a in s.links and b in s.links and m in s.up) or a == b
        for a in every(Node, c) for b in every(Node, c) for m in every(Node, c)
    )


MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
'''
WATCHING = """
@step_property(tags=["fault"], watches=["up"])
def one_at_once(before: State, after: State) -> bool:
    return before.up != after.up


MODEL = """


@pytest.fixture
def most_operations() -> int:
    """Of a model that is not too large, where a test says nothing else."""
    return 1000


@pytest.fixture
def small(most_operations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_OPERATIONS", most_operations)


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    path = tmp_path / "loops.py"
    path.write_text(LOOPS, encoding="utf-8")
    return path


def test_a_search_names_the_place_and_plain_python_answers(
    small: None, loops: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(loops)]) == 150
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reassure: the model is too large to be translated"
    assert lines[1].startswith(f"{loops}:37:")
    assert "more than 1,000 operations in linked: each turn of a loop over ids is translated" in lines[1]
    assert "`check --engine reference` translates nothing" in lines[1]
    assert main(["check", str(loops), "--engine", "reference"]) == 0
    assert "13 distinct" in capsys.readouterr().out
    assert main(["check", str(loops), "--set", "nodes=2"]) == 0


def test_a_property_that_watches_needs_the_translation(
    small: None, loops: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether other actions change what it watches is read off the translation: nobody looks, so nobody answers."""
    loops.write_text(LOOPS.replace("\nMODEL = ", WATCHING), encoding="utf-8")
    assert main(["check", str(loops), "--engine", "reference"]) == 150
    assert "too large to be translated" in capsys.readouterr().err


@pytest.mark.slow
def test_sixty_ids_in_three_loops(loops: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(loops), "--set", "nodes=60"]) == 150
    assert f"more than {MOST_OPERATIONS:,} operations in linked" in capsys.readouterr().err


@pytest.mark.parametrize("most_operations", [80])
@pytest.mark.usefixtures("small")
def test_each_mutant_is_measured_by_itself(
    most_operations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutants of a model are translated into one graph, which grows beyond the limit of a model."""
    graphs: list[Graph] = []
    made = Graph.__init__
    monkeypatch.setattr(Graph, "__init__", lambda graph: (graphs.append(graph), made(graph))[1])
    record = tmp_path / "record.json"
    assert main(["mutants", "die_hard", "--seed", "1", "--max", "40", "--jobs", "1", "--json", str(record)]) == 15
    assert max(map(len, graphs)) > most_operations
    assert json.loads(record.read_text())["counts"] == {"survived": 22, "refused": 2, "clipped": 14}


def test_bounds_of_what_many_steps_of_a_loop_add_up() -> None:
    """Each sum has the one before it in two places: 2**60 ways lead to the first."""
    g = Graph()
    total = g.var("total", IntType(0, 3))
    for turn in range(60):
        total = g.ite(g.var(f"taken{turn}", BOOL), g.arith("add", total, g.const(1, IntType(1, 1))), total)
    assert context.bounds_under(total, set()) == (0, 63)
    assert context.bounds_under(g.arith("add", total, total), {g.lt(total, g.const(8, IntType(8, 8)))}) == (0, 14)
