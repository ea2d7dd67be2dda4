"""Suites of traces, compared with what plain Python finds in the whole space."""

from __future__ import annotations

import itertools
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.trace import JsonObject, Trace, from_itf, read_itf, replay
from tests.helpers.command import model_file, said
from tests.helpers.labelled_graph import Steps, graph_file

SUITES = [
    *(("die_hard", cover) for cover in ("actions", "pairs", "states", "transitions")),
    *(("two_phase_commit", cover) for cover in ("actions", "pairs", "covers", "states", "transitions")),
    *(("core", cover) for cover in ("actions", "pairs", "covers")),
]
"""Models with criteria; the states of `core` are too many for a test."""


def space(bound: BoundModel) -> dict[Any, list[Step]]:
    """The steps of every reachable state, by plain Python."""
    todo = deque(s for _, _, s in bound.initial_states())
    steps: dict[Any, list[Step]] = {}
    while todo:
        state = todo.popleft()
        if state not in steps:
            steps[state] = [s for s in bound.steps(state) if not isinstance(s.after, Clipped)]
            todo.extend(s.after for s in steps[state])
    return steps


def goals_of_space(bound: BoundModel, cover: str) -> set[Any]:
    steps = space(bound)
    every = [(before, step) for before, found in steps.items() for step in found]
    if cover == "actions":
        return {step.action.name for _, step in every}
    if cover == "states":
        return set(steps)
    if cover == "transitions":
        return {(before, step.action.name, tuple(step.params.items())) for before, step in every}
    if cover == "covers":
        return {c.name for c in bound.covers if not c.over_steps and any(bound.holds(c, s) for s in steps)} | {
            c.name for c in bound.covers if c.over_steps and any(_hit(bound, c, b, s) for b, s in every)
        }
    return {(step.action.name, on.action.name) for _, step in every for on in steps[step.after]}


def _hit(bound: BoundModel, cover: Any, before: Any, step: Step) -> bool:
    return bound.concerns(cover, step.action) and bound.holds_on(cover, before, step)


def goals_of_trace(bound: BoundModel, trace: Trace, cover: str) -> set[Any]:
    names = [s.action for s in trace.steps[1:]]
    if cover == "actions":
        return set(names)
    if cover == "pairs":
        return set(itertools.pairwise(names))
    if cover == "states":
        return set(trace.states)
    if cover == "transitions":
        pairs = zip(trace.states, trace.steps[1:], strict=False)
        return {(before, step.action, tuple(step.params.items())) for before, step in pairs}
    actions = {a.name: a for a in bound.model.actions}
    steps = [Step(actions[t.action], t.params, s) for t, s in zip(trace.steps[1:], trace.states[1:], strict=True)]
    return {
        c.name
        for c in bound.covers
        if (c.over_steps and any(_hit(bound, c, b, s) for b, s in zip(trace.states, steps, strict=False)))
        or (not c.over_steps and any(bound.holds(c, s) for s in trace.states))
    }


def written(folder: Path, bound: BoundModel) -> dict[str, Trace]:
    return {p.name: from_itf(read_itf(p), bound) for p in sorted(folder.glob("*.itf.json"))}


@pytest.mark.parametrize(("model", "cover"), SUITES)
def test_a_suite_takes_all_that_can_be_taken(
    model: str, cover: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "traces", model, f"--cover={cover}", f"--out={tmp_path}", "--quiet")
    assert (code, err) == (0, "")
    bound, _ = prepare_plain(model, [])
    taken: set[Any] = set()
    for trace in written(tmp_path, bound).values():
        replay(trace, bound)
        taken |= goals_of_trace(bound, trace, cover)
    expected = goals_of_space(bound, cover)
    assert taken == expected
    assert f"{cover}: {len(expected):,} of {len(expected):,} that can be taken (100.0 %)" in out


def index_of(folder: Path) -> JsonObject:
    (path,) = folder.glob("*.suite.json")
    found = json.loads(path.read_text())
    assert isinstance(found, dict)
    return found


def test_actions_of_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "traces", "core", f"--out={tmp_path}", "--quiet")[0] == 0
    traces = index_of(tmp_path)["traces"]
    assert [(t["steps"], t["adds"]) for t in traces] == [
        (3, ["fence", "reassign", "cancel"]),
        (2, ["propose", "alter"]),
        (2, ["unfence"]),
    ]
    assert [t["file"] for t in traces] == [f"core--traces--actions-00{n}.itf.json" for n in (1, 2, 3)]


def test_threads_change_no_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("traces", "core", "--set=brokers=4", "--cover=pairs", "--quiet")
    for n in (1, 3):
        assert said(capsys, *words, f"--workers={n}", f"--out={tmp_path / str(n)}")[0] == 0
    one, three = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("1", "3"))
    assert one == three
    assert "core--brokers-4--traces--pairs-001.itf.json" in one


def test_what_is_beyond_the_length_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "traces", "core", "--cover=covers", "--max-length=3", f"--out={tmp_path}", "--quiet")
    assert code == 0
    assert "covers: 1 of 2 that can be taken (50.0 %)" in out
    assert "reassignment_completed: beyond --max-length 3: its shortest trace has 4 steps" in out
    assert [t["adds"] for t in index_of(tmp_path)["traces"]] == [["reassignment_pending"]]
    code, out, _ = said(capsys, "traces", "die_hard", "--cover=states", "--max-length=3", f"--out={tmp_path / 's'}")
    found = index_of(tmp_path / "s")
    assert code == 0
    assert max(t["steps"] for t in found["traces"]) == 3
    bound, _ = prepare_plain("die_hard", [])
    far = [level for level in levels(bound).values() if level > 3]
    assert len(far) == 8
    assert found["goals"] == {
        "reachable": 16,
        "taken": 8,
        "percent": 50.0,
        "not_taken": [],
        "not_taken_within_length": 8,
    }


def levels(bound: BoundModel) -> dict[Any, int]:
    """By state: the steps of a shortest path to it."""
    todo = deque((s, 0) for _, _, s in bound.initial_states())
    found: dict[Any, int] = {}
    while todo:
        state, level = todo.popleft()
        if state not in found:
            found[state] = level
            todo.extend((s.after, level + 1) for s in bound.steps(state) if s.after not in found)
    return found


MODEL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, cover, initial, replace, require

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(1, 9)] = 4

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 5)]

@initial
def zero() -> State:
    return State(0)

@action(who="a")
def add(s: State, c: Config) -> State:
    require(s.n < c.top)
    return replace(s, n=s.n + 1)

@action(who="a")
def double(s: State) -> State:
    require(s.n DOUBLE)
    return replace(s, n=s.n * 2)

@action(who="a")
def never(s: State) -> State:
    require(s.n > 8)
    return s

@cover
def three(s: State) -> bool:
    return s.n == 3

@cover
def seven(s: State) -> bool:
    return s.n > 5

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def test_what_nothing_reaches_is_listed_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, MODEL.replace("DOUBLE", "== 1"))
    code, out, _ = said(capsys, "traces", path, f"--out={tmp_path / 'o'}")
    assert code == 0
    assert "actions: 2 of 2 that can be taken (100.0 %), by 1 trace with 2 steps in all" in out
    assert "never: no reachable state enables it\n" in out
    code, out, _ = said(capsys, "traces", path, "--cover=pairs", f"--out={tmp_path / 'p'}")
    assert "double, double: double is not enabled after double in any reachable state\n" in out
    assert "add, never: never is never taken: no reachable state enables it\n" in out
    code, out, _ = said(capsys, "traces", path, "--cover=covers", f"--out={tmp_path / 'c'}")
    assert code == 16
    assert "seven: no reachable state satisfies it\n" in out
    (tmp_path / "other").mkdir()
    clipped = model_file(tmp_path / "other", MODEL.replace("DOUBLE", "== 3"))
    code, out, _ = said(capsys, "traces", clipped, f"--out={tmp_path / 'q'}")
    assert code == 5
    assert "double: its only step leaves a bound" in out
    assert "never: no reachable state enables it; 1 step beyond a bound, where nothing was visited" in out


BACK = """
@cover
def back(before: State, after: State) -> bool:
    return before.at == 1 and after.at == 0

@cover
def skipped(before: State, after: State) -> bool:
    return before.at == 2 and after.at == 1
"""


def test_a_step_that_leads_to_the_first_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It covers too; a step that no state has covers nothing."""
    ring = graph_file(tmp_path, {"walk": Steps(((0, 1), (1, 0)))}, BACK)
    code, out, _ = said(capsys, "traces", ring, "--cover=covers", f"--out={tmp_path / 'o'}")
    assert code == 16
    assert "covers: 1 of 1 that can be taken (100.0 %)" in out and "by 1 trace with 2 steps in all" in out
    assert "skipped: no reachable step satisfies it\n" in out
    assert "back: " not in out


def test_a_changed_model_keeps_what_it_still_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "suite"
    path = model_file(tmp_path, MODEL.replace("DOUBLE", "== 1"))
    assert said(capsys, "traces", path, "--cover=pairs", f"--out={folder}")[0] == 0
    before = index_of(folder)["traces"]
    assert [(t["file"], t["adds"]) for t in before] == [
        ("mine--traces--pairs-001.itf.json", ["add, double", "double, add"]),
        ("mine--traces--pairs-002.itf.json", ["add, add"]),
    ]
    (tmp_path / "changed").mkdir()
    path = model_file(tmp_path / "changed", MODEL.replace("DOUBLE", "== 2"))
    code, out, _ = said(capsys, "traces", path, "--cover=pairs", f"--out={folder}", f"--keep={folder}")
    assert code == 0
    assert "kept: mine--traces--pairs-002.itf.json" in out
    assert "replaced: mine--traces--pairs-001.itf.json: step 2 (double): not enabled: mine.py" in out
    after = index_of(folder)
    assert [(t["file"], t["kept"], t["adds"]) for t in after["traces"]] == [
        ("mine--traces--pairs-002.itf.json", True, ["add, add"]),
        ("mine--traces--pairs-003.itf.json", False, ["add, double"]),
    ]
    assert sorted(p.name for p in folder.glob("*.itf.json")) == [t["file"] for t in after["traces"]]
    assert any(g["goal"] == "double, add" and not g["reachable"] for g in after["goals"]["not_taken"])


def test_random_walks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("traces", "core", "--walks=5", "--max-length=7", f"--out={tmp_path}")
    assert said(capsys, *words, "--seed=3", "--format=steps")[0] == 0
    first = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert sorted(first)[0] == "core--traces--walks-3-001.itf.json" and len(first) == 10
    bound, _ = prepare_plain("core", [])
    traces = written(tmp_path, bound)
    assert {len(t) for t in traces.values()} == {8}
    for trace in traces.values():
        replay(trace, bound)
    assert len({tuple(t.states) for t in traces.values()}) == 5
    code, out, _ = said(capsys, *words, "--seed=3")
    assert code == 0 and "core: 5 random walks, seed 3, 35 steps" in out
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == first
    assert said(capsys, "traces", "core", "--walks=2", f"--out={tmp_path}", "--seed=3")[0] == 0
    assert len(list(tmp_path.glob("*.itf.json"))) == 2
    assert not list(tmp_path.glob("*-005.*"))


def test_an_action_that_raises_is_a_model_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raising = """
class Node(Id, size="top"): ...

@action(who="a")
def pick(s: State, c: Config) -> State:
    return replace(s, n=0 if min(every(Node, c) - every(Node, c)) == Node(0) else 1)

MODEL ="""
    text = (
        MODEL.replace("DOUBLE", "== 1").replace("\nMODEL =", raising).replace("import Model", "import Id, Model, every")
    )
    path = model_file(tmp_path, text)
    for words in (("--cover=pairs",), ("--walks=20",)):
        code, _, err = said(capsys, "traces", path, *words, f"--out={tmp_path / 'o'}", "--quiet")
        assert code == 150
        assert "pick() raised ValueError" in err


def test_an_ended_search_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("traces", "core", "--set=brokers=4", "--memory=1M", f"--out={tmp_path}")
    code, out, _ = said(capsys, *words)
    assert code == 5
    assert "the memory limit of 1 MiB would be passed" in out
