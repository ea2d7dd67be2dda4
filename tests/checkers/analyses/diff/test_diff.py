"""`reassure diff`: as a comparison of sets in plain Python finds it, and never "the same" where something is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.analyses.diff import command
from reassure.checkers.analyses.diff.analysis import Diff, diff
from reassure.checkers.analyses.diff.observation import comparable_data
from reassure.checkers.check import CheckRequest
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.semantics.interpreter import BoundModel, Clipped
from tests.helpers.command import reported, said
from tests.helpers.raising_model import MODEL

BASE = """
@action(who="node")
def grow(s: State) -> State:
    require(s.alive != NOBODY and s.n < 2)
    return replace(s, n=s.n + 1)

@action(who="node")
def reset(s: State) -> State:
    require(s.n > 0)
    return replace(s, n=0)

@invariant
def small(s: State) -> bool:
    return s.n <= 2

@invariant
def kept(s: State) -> bool:
    return len(s.alive) >= 1 or s.n == 0

@cover
def emptied(s: State) -> bool:
    return s.alive == NOBODY
"""
SAME = {
    "equal guards": ("require(s.alive != NOBODY and s.n < 2)", "require(len(s.alive) >= 1)\n    require(s.n <= 1)"),
    "equal value": ("replace(s, n=s.n + 1)", "replace(s, n=min(s.n + 1, 2))"),
}
CHANGES = {
    "weaker guard": ("s.n < 2)", "s.n < 3)"),
    "stronger guard": ("s.n < 2)", "s.n < 1)"),
    "other effect": ("n=0)", "n=s.n - 1)"),
    "less": ("require(s.n > 0)", "require(s.n > 1)"),
    "no effect": ("require(s.n > 0)", "require(s.n >= 0)"),
    "other start": ("State(every(Node, c))", "State(every(Node, c), 1)"),
    "more starts": (
        "def start(c: Config) -> State:\n    return",
        "def start(c: Config, k: Node) -> State:\n    n = 1 if k == Node(0) else 0\n    return",
    ),
    "by another name": ("def reset", "def restart"),
    "fewer crashes": ("require(node in s.alive)", "require(node in s.alive and s.n < 2)"),
}


def written(folder: Path, name: str, text: str, options: str = "") -> str:
    path = folder / f"{name}.py"
    path.write_text(MODEL.replace("{text}", text).replace("{options}", options))
    return str(path)


def pair(folder: Path, change: tuple[str, str]) -> tuple[str, str]:
    """A model, and the model with a part of its text changed."""
    whole = MODEL.replace("{text}", BASE).replace("{options}", ", deadlock=False")
    assert change[0] in whole
    before, after = folder / "before.py", folder / "after.py"
    before.write_text(whole)
    more_starts = change[1].startswith("def start(c: Config, k")
    changed = whole.replace(*change, 1)
    after.write_text(changed.replace("State(every(Node, c))", "State(every(Node, c), n)") if more_starts else changed)
    return str(before), str(after)


def compared(models: tuple[str, str], view: str | None = None, **options: Any) -> Diff:
    return diff(models, [], view, SearchOptions(**options), Progress(quiet=True))


def reached(bound: BoundModel) -> tuple[set[object], set[object], set[tuple[object, str, object]]]:
    """Initial states, states, and steps by action and the states around them, in plain Python."""
    start = [s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)]
    seen, todo, steps = set(start), list(start), set()
    while todo:
        state = todo.pop()
        for step in bound.steps(state):
            assert not isinstance(step.after, Clipped)
            steps.add((comparable_data(state), step.action.name, comparable_data(step.after)))
            if step.after not in seen:
                seen.add(step.after)
                todo.append(step.after)
    return {comparable_data(s) for s in start}, {comparable_data(s) for s in seen}, steps


@pytest.mark.parametrize("what", [*SAME, *CHANGES])
def test_as_sets_of_plain_python(what: str, tmp_path: Path) -> None:
    models = pair(tmp_path, (SAME | CHANGES)[what])
    found = compared(models)
    (starts_a, states_a, steps_a), (starts_b, states_b, steps_b) = (reached(prepare_plain(m, [])[0]) for m in models)
    assert (found.comparison.verdict == "same behaviour") == (what in SAME)
    assert found.comparison.both == len(states_a & states_b)
    assert found.comparison.only == (len(states_a - states_b), len(states_b - states_a))
    assert {side for side, _ in found.comparison.initial_only} == (
        ({0} if starts_a - starts_b else set()) | ({1} if starts_b - starts_a else set())
    )
    want: dict[tuple[int, str], int] = {}
    for side, alone in enumerate((steps_a - steps_b, steps_b - steps_a)):
        for before, action, _ in alone:
            if before in states_a & states_b:
                want[side, action] = want.get((side, action), 0) + 1
    assert {(d.side, d.action): d.steps for d in found.comparison.differences} == want


def test_traces_are_the_shortest_and_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pair(tmp_path, CHANGES["weaker guard"])
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, "diff", before, after, f"--json={record}", f"--trace-dir={tmp_path}")
    assert code == 15
    assert "steps that only after takes, in states of both\n  grow  7 steps, shortest run: 3 steps\n" in out
    assert "only after: grow\nafter: 3 steps\n" in out
    assert "lost     small" in out and "holds -> violated" in out
    assert "24 states of both, 0 of before alone, 8 of after alone" in out
    data = json.loads(record.read_text())
    assert (data["verdict"], data["exit_code"], data["diff"]["verdict"]) == (
        "expectation-mismatch",
        15,
        "different behaviour",
    )
    (step,) = data["diff"]["steps"]
    assert (step["only"], step["action"], step["steps"], step["depth"]) == ("after", "grow", 7, 4)
    assert reported(capsys, "replay", step["trace"], f"--model={after}")[:2] == (
        0,
        "after accepts the trace: 3 steps\n",
    )
    assert said(capsys, "replay", step["trace"], f"--model={before}")[0] == 18
    changed = {p["name"]: (p["kind"], p["before"], p["after"]) for p in data["diff"]["properties"]}
    assert changed == {"small": ("lost", "holds", "violated")}


def test_a_refactoring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pair(tmp_path, SAME["equal guards"])
    code, out, _ = said(capsys, "diff", before, after, "--set=nodes=2")
    assert code == 0
    assert "same behaviour\n\npass (exit code 0)\n" in out
    assert "12 states of both, 0 of before alone, 0 of after alone" in out


def test_properties_gained_added_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal behaviour, other properties: that is said too."""
    before, after = pair(tmp_path, ("return len(s.alive) >= 1 or s.n == 0", "return s.n >= 0"))
    text = Path(after).read_text().replace("def emptied", "def gone")
    Path(after).write_text(text)
    code, out, _ = said(capsys, "diff", before, after)
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "gained kept violated -> holds" in lines
    assert "removed emptied reached -> none" in lines
    assert "added gone none -> reached" in lines


def test_equal_steps_with_a_property_that_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fairness is in no step: the behaviour is the same, and what is lost counts for the exit code."""
    fair = (
        "\n@infinitely_often\ndef starts_again(s: State) -> bool:\n    return s.n == 0\n\n"
        '@action(who="clock", fair="weak")\ndef begin(s: State) -> State:\n    return replace(s, n=0)\n'
    )
    text = f"from reassure import infinitely_often\n{BASE}{fair}"
    before = written(tmp_path, "before", text, ", deadlock=False")
    after = written(tmp_path, "after", text.replace(', fair="weak"', ""), ", deadlock=False")
    code, out, _ = said(capsys, "diff", before, after)
    assert code == 15
    assert "  lost     starts_again  holds -> violated\n" in out
    assert "same behaviour; 1 property lost\n\nexpectation-mismatch (exit code 15)\n" in out
    assert said(capsys, "diff", before, after, "--no-properties")[0] == 0
    assert said(capsys, "diff", after, before)[0] == 0


def test_a_cover_that_an_early_end_left_open_is_not_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer is open, and so is the comparison: 5, as the page of `diff` says."""
    before, after = pair(tmp_path, SAME["equal guards"])
    whole = command.check

    def early(request: CheckRequest, progress: Progress) -> Any:
        if request.model == after:
            request.options.depth = 1
        return whole(request, progress)

    monkeypatch.setattr(command, "check", early)
    code, out, _ = said(capsys, "diff", before, after)
    assert (code, "lost     emptied" in out) == (5, True), out
    assert "reached -> unknown" in out


def test_a_model_without_properties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = BASE.partition("@invariant")[0]
    before = written(tmp_path, "bare", bare, ", deadlock=False")
    code, out, _ = said(capsys, "diff", before, written(tmp_path, "full", BASE, ", deadlock=False"))
    assert code == 0
    assert "added    small" in out


# -- never the same where something is open -----------------------------------------------------------------------


def test_steps_clipped_at_a_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pair(tmp_path, (" and s.n < 2)", ")"))
    code, out, _ = said(capsys, "diff", after, after, "--no-properties")
    assert code == 5
    assert "steps are clipped at a bound" in out and "undecided\n\ninconclusive (exit code 5)" in out
    assert compared((before, after)).comparison.verdict == "different behaviour"


def test_a_budget_that_ends(tmp_path: Path) -> None:
    """What was not visited may be alike or not; a difference that was seen is one."""
    found = compared(("core", "core"), budget=1e-4)
    assert (found.comparison.verdict, found.comparison.only) == ("undecided", None)
    assert any("budget" in reason for reason in found.comparison.open)
    with pytest.raises(Failure, match="no state was visited: the memory limit"):
        compared(pair(tmp_path, SAME["equal value"]), memory=1)


# -- through a view -----------------------------------------------------------------------------------------------

WIDER = """
@dataclass(frozen=True)
class Wide(State):
    seen: Annotated[int, Range(0, 3)] = 0
"""
COUNTING = BASE.replace("s: State", "s: Wide").replace("-> State", "-> Wide")


def wider(folder: Path, text: str, name: str = "wide") -> str:
    """A model whose states have one more field."""
    path = folder / f"{name}.py"
    whole = MODEL.replace("{text}", WIDER + text).replace("{options}", ", deadlock=False")
    path.write_text(whole.replace("state=State", "state=Wide"))
    return str(path)


def base(folder: Path) -> str:
    return written(folder, "narrow", BASE, ", deadlock=False")


@pytest.mark.parametrize("view", [None, "shown"])
def test_a_field_that_only_counts(view: str | None, tmp_path: Path) -> None:
    """It takes part in no guard, so the runs are the same as far as the other fields show."""
    text = BASE.replace("replace(s, n=0)", "replace(s, n=0, seen=min(s.seen + 1, 3))").replace("s: State", "s: Wide")
    text += "\ndef shown(s: State) -> tuple[object, ...]:\n    return (s.alive, s.n)\n"
    found = compared((base(tmp_path), wider(tmp_path, text.replace("-> State", "-> Wide"))), view)
    assert found.comparison.verdict == "same behaviour"
    assert not found.comparison.observation.whole
    words = found.comparison.observation.words
    assert words == ("the view shown" if view else "the fields alive, n, not seen")


def test_a_field_that_guards(tmp_path: Path) -> None:
    """Each state and step is seen somewhere, but not in each run: nothing is said to be the same."""
    text = BASE.replace("replace(s, n=0)", "replace(s, n=0, seen=min(s.seen + 1, 3))").replace("s: State", "s: Wide")
    text = text.replace("require(s.n > 0)", "require(s.n > 0 and s.seen < 2)")
    found = compared((base(tmp_path), wider(tmp_path, text.replace("-> State", "-> Wide"))))
    assert found.comparison.differences == []
    assert found.comparison.verdict == "undecided"
    assert any("whether the runs are equal is not decided" in reason for reason in found.comparison.open)


def test_a_step_that_does_not_show(tmp_path: Path) -> None:
    """A new action that changes the new field alone is not a difference; one that changes another field is."""
    quiet = COUNTING + '\n@action(who="clock")\ndef tick(s: Wide) -> Wide:\n    return replace(s, seen=3 - s.seen)\n'
    assert compared((base(tmp_path), wider(tmp_path, quiet))).comparison.verdict == "same behaviour"
    loud = quiet.replace("seen=3 - s.seen", "seen=3 - s.seen, n=2")
    found = compared((base(tmp_path), wider(tmp_path, loud, "louder")))
    assert {(d.side, d.action) for d in found.comparison.differences} == {(1, "tick")}
