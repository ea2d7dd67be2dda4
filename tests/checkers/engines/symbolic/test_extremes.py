"""Every method of proof at the edges of the types, against plain Python: large sorts, large numbers, no fields."""

# ruff: noqa: E501 - a row of the table is one line

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import ProofOptions, SearchOptions
from reassure.checkers.request.result import CheckResult

METHODS = ("bmc", "induction", "k-induction", "pdr")
LEAST, MOST = -(1 << 61), (1 << 61) - 1

TEXT = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

class Node(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 64)] = {nodes}

@dataclass(frozen=True)
class State:
    {field}

@initial
def start(c: Config) -> State:
    return State({start})

@action(who="tester")
def go(s: State, c: Config) -> State:
    {body}

@invariant
def true(s: State, c: Config) -> bool:
    return {true}

@invariant
def false(s: State, c: Config) -> bool:
    return {false}

@step_property
def true_of_steps(before: State, after: State, c: Config) -> bool:
    return {step}

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def model(field: str, start: str, body: str, true: str, false: str, step: str, nodes: int = 3) -> str:
    return TEXT.format(**locals())


def counting(start: int, body: str, true: str, false: str, step: str) -> str:
    """A number of 62 bits."""
    return model(f"x: Annotated[int, Range({LEAST}, {MOST})]", str(start), body, true, false, step)


MODELS = {
    "no fields": model("pass", "", "return s", "s == State()", "c.nodes != 3", "before == after"),
    "no fields, no step": model("pass", "", "require(c.nodes != 3)\n    return s", "c.nodes > 2", "c.nodes > 3", "before == after"),
    "ids of a sort of 64": model(
        "x: Node | None", "None", "return replace(s, x=Node(62) if s.x is None else Node(0))",
        "s.x != Node(63)", "s.x != Node(62)", "after.x is not None", 64,
    ),
    "a map of 64": model(
        "x: Map[Node, bool]", "fill(Node, c, False)", "return replace(s, x=s.x.put(Node(62), not s.x[Node(0)]))",
        "not s.x[Node(63)]", "not s.x[Node(62)]", "after.x[Node(63)] == before.x[Node(63)]", 64,
    ),
    "a sequence of a sort of 63": model(
        "x: Annotated[tuple[Node, ...], MaxLen(8)]", "()", "require(len(s.x) < 3)\n    return replace(s, x=s.x + ((Node(62),) if s.x == () else (Node(60),)))",
        "all(n != Node(61) for n in s.x)", "all(n != Node(62) for n in s.x)", "len(after.x) == len(before.x) + 1", 63,
    ),
    "a set over 62": model(
        "x: frozenset[Node]", "frozenset()", "return replace(s, x=(s.x | {Node(61)}) if Node(59) in s.x else frozenset({Node(59)}))",
        "Node(60) not in s.x", "Node(61) not in s.x", "Node(59) in after.x", 62,
    ),
    "a number up to its greatest": counting(
        MOST - 2, f"require(s.x < {MOST})\n    return replace(s, x=s.x + 1)", f"s.x >= {MOST - 2}", f"s.x * 2 < {2 * MOST}", "after.x - before.x == 1",
    ),
    "a number down to its least": counting(
        LEAST + 2, f"require(s.x > {LEAST})\n    return replace(s, x=s.x - 1)", f"s.x <= {LEAST + 2}", f"abs(s.x) < {-LEAST}", "max(before.x, after.x) == before.x",
    ),
    "halves of the least": counting(
        LEAST, "return replace(s, x=s.x // 2)", "s.x < 0", f"s.x != {LEAST // 8}", "before.x >= 0 or after.x < 0",
    ),
}  # fmt: skip


@cache
def searched(path: str) -> CheckResult:
    return run(CheckRequest(path, [], "reference", SearchOptions(depth=4)), Progress(quiet=True))[0]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("extremes")
    paths = {name: folder / f"extreme_{number}.py" for number, name in enumerate(MODELS)}
    for name, path in paths.items():
        path.write_text(MODELS[name])
    return paths


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_plain_python(name: str, method: str, files: dict[str, Path]) -> None:
    path = str(files[name])
    known = {p.name: (p.status, p.depth) for p in searched(path).properties}
    assert known["true"][0] in ("holds", "holds_to_depth") and known["false"][0] == "violated"
    request = CheckRequest(path, [], f"prove:{method}", SearchOptions(), proof=ProofOptions(method))
    found = {p.name: (p.status, p.depth) for p in run(request, Progress(quiet=True))[0].properties}
    if method == "bmc":
        assert {found["true"][0], found["true_of_steps"][0]} <= {"holds_to_depth", "proved"}
    else:
        assert found["true"] == ("proved", None)
        assert found["true_of_steps"][0] == ("unknown" if method == "pdr" else "proved")
    assert found["false"] == (("unknown", None) if method == "induction" else known["false"])
