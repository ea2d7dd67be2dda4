"""Suites of guards, branches and classes of steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.traces.outcomes import Watched
from reassure.spec.semantics.trace import JsonObject, from_itf, read_itf, replay
from tests.helpers.command import model_file, said
from tests.helpers.lease_model import LEASE

MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, replace, require, some

Number = Annotated[int, Range(0, 5)]

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(1, 9)] = 4

@dataclass(frozen=True)
class State:
    n: Number
    last: Number | None

@initial
def zero() -> State:
    return State(0, None)

def small(n: int) -> bool:
    return True if n < 2 else False

@action(who="a")
def add(s: State, c: Config, by: Annotated[int, Range(1, 2)]) -> State:
    require(s.n + by <= c.top and (s.n != 3 and s.n < 9))
    if small(s.n):
        return replace(s, n=s.n + by)
    elif s.n == 5:
        return replace(s, n=0)
    return replace(s, n=s.n + by, last=s.n)

@action(who="a")
def forget(s: State) -> State:
    last = some(s.last)
    require(last == s.n - 1)
    return replace(s, last=None)

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
LINES = {text: number for number, text in enumerate(MODEL.splitlines(), 1)}
REQUIRE = LINES["    require(s.n + by <= c.top and (s.n != 3 and s.n < 9))"]
SMALL = LINES["    return True if n < 2 else False"]


def index_of(folder: Path) -> JsonObject:
    (path,) = folder.glob("*.suite.json")
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def test_guards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, MODEL)
    code, out, _ = said(capsys, "traces", path, "--cover=guards", f"--out={tmp_path / 'o'}", "--quiet")
    assert code == 0
    assert "guards: 9 of 9 that can be taken" in out
    assert f"mine.py:{REQUIRE} require(s.n < 9): fails: no reachable state comes to it\n" in out
    found = index_of(tmp_path / "o")
    adds = {name.split(" ", 1)[1] for trace in found["traces"] for name in trace["adds"]}
    assert adds == {
        "require(s.n + by <= c.top): holds",
        "require(s.n + by <= c.top): fails",
        "require(s.n != 3): holds",
        "require(s.n != 3): fails",
        "require(s.n < 9): holds",
        "some(s.last): holds",
        "some(s.last): fails",
        "require(last == s.n - 1): holds",
        "require(last == s.n - 1): fails",
    }
    bound, _ = prepare_plain(path, [])
    refused = 0
    for file in sorted((tmp_path / "o").glob("*.itf.json")):
        data = read_itf(file)
        trace = from_itf(data, bound)
        replay(trace, bound)
        for attempt in data["#meta"]["suite"].get("refused", []):
            params = {k: int(v["#bigint"]) for k, v in attempt["params"].items()}
            steps = [(s.action.name, s.params) for s in bound.steps(trace.states[attempt["state"]])]
            assert (attempt["action"], params) not in steps
            refused += 1
    assert refused == 4


ODD = """
def other(by: int):
    @action(who="x")
    def jump(s: State) -> State:
        require(s.given + by < 2)
        return replace(s, given=s.given + by if s.holder is None else s.given)
    return jump

jump = other(1)
"""


@pytest.mark.parametrize(
    ("odd", "kind"), [(ODD, "guards"), (ODD, "branches"), (ODD.replace("require(s.given + by < 2)", "pass"), "guards")]
)
def test_conditions_that_cannot_be_watched_are_refused(
    odd: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise all of the others are 100 %."""
    (tmp_path / "odd.py").write_text(LEASE.replace("MODEL =", f"{odd}\nMODEL ="))
    words = ["traces", str(tmp_path / "odd.py"), f"--cover={kind}", f"--out={tmp_path / 'o'}", "--quiet"]
    code, _, err = said(capsys, *words)
    refused = "require" in odd or kind == "branches"
    assert (code, "not of other.<locals>.jump" in err) == ((64, True) if refused else (0, False)), err


def test_branches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, MODEL)
    code, out, _ = said(capsys, "traces", path, "--cover=branches", f"--out={tmp_path / 'o'}", "--quiet")
    assert code == 0
    assert "branches: 5 of 5 that can be taken (100.0 %), by 1 trace with 2 steps in all" in out
    place = LINES["    elif s.n == 5:"]
    assert f"mine.py:{place} if s.n == 5: true: no reachable step comes to it" in out
    (trace,) = index_of(tmp_path / "o")["traces"]
    assert sorted(trace["adds"]) == [
        f"mine.py:{SMALL} if n < 2: false",
        f"mine.py:{SMALL} if n < 2: true",
        f"mine.py:{place - 2} if small(s.n): false",
        f"mine.py:{place - 2} if small(s.n): true",
        f"mine.py:{place} if s.n == 5: false",
    ]


def test_instrumented_actions_do_what_the_others_do(tmp_path: Path) -> None:
    bound, _ = prepare_plain("core", [])
    watched = Watched(bound)
    ((_, _, state),) = bound.initial_states()
    expected = [(s.action, s.params, s.after) for s in bound.steps(state)]
    with watched.watching():
        assert [(s.action, s.params, s.after) for s in watched.steps(state)] == expected
        tried = {site.text for site, _ in watched.outcomes(state).tried}
    assert "require(broker in p.unfenced)" in tried
    assert [(s.action, s.params, s.after) for s in bound.steps(state)] == expected
    assert {Path(site.file).name for site in watched.sites} == {"core.py"}


def test_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, MODEL)
    words = ("traces", path, "--cover=classes", f"--out={tmp_path / 'o'}", "--quiet")
    code, _, _ = said(capsys, *words, "--by=(action, after.n - before.n, small(before.n))")
    assert code == 0
    names = {name for trace in index_of(tmp_path / "o")["traces"] for name in trace["adds"]}
    assert names == {
        "('add', 1, True)",
        "('add', 2, True)",
        "('add', 1, False)",
        "('add', 2, False)",
        "('forget', 0, False)",
    }
    for wrong, why in (
        ("before.", "is not a Python expression"),
        ("before.x", "raised AttributeError"),
        (None, "go together"),
    ):
        code, _, err = said(capsys, *words, *([] if wrong is None else [f"--by={wrong}"]))
        assert code == 64
        assert why in err and len(err.splitlines()) == 1


def test_suites_of_two_expressions_have_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, MODEL)
    for expression in ("action", "after.n"):
        assert said(capsys, "traces", path, "--cover=classes", f"--by={expression}", f"--out={tmp_path / 'o'}")[0] == 0
    assert len(list((tmp_path / "o").glob("*.suite.json"))) == 2


def test_a_spent_budget_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("traces", "core", "--set=brokers=4", "--cover=branches", "--budget=1ms", f"--out={tmp_path}", "--quiet")
    code, out, _ = said(capsys, *words)
    assert code == 5
    assert "the budget of 0.001 s ended" in out
