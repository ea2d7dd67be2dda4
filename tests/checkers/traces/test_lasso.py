"""Runs that never end: written, read, told and replayed; a loop that does not close or is not fair is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.console.files import replayed_file
from reassure.checkers.machine.exit_codes import Exit
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import report_of
from tests.helpers.labelled_graph import Steps, graph_file, leads_to_text

GO_ROUND = {
    "turn": Steps(((0, 1), (1, 2), (2, 1)), "weak"),
    "leave": Steps(((2, 3),), "weak"),
    "jump": Steps(((0, 3),), "strong", each=True),
    "wait": Steps(((1, 4),)),
}
STOP = {"turn": Steps(((0, 1),), "weak"), "wait": Steps(((1, 2),))}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def model_of(file: Path) -> str:
    """The path of the model that a trace is of."""
    return str(json.loads(file.read_text())["#meta"]["model_file"])


def trace_of(
    folder: Path, actions: dict[str, Steps], capsys: pytest.CaptureFixture[str], engine: str = "native"
) -> tuple[Path, JsonObject, str]:
    """The file of the run that violates a leads-to of a graph, its data, and the story."""
    path = graph_file(folder, actions, leads_to_text([0], [3]))
    code, out, _ = said(capsys, "check", path, f"--engine={engine}", f"--trace-dir={folder}")
    assert code == 13
    (file,) = folder.glob("*arrives.itf.json")
    return file, json.loads(file.read_text()), out


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_loop_is_told(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, data, out = trace_of(tmp_path, GO_ROUND, capsys, engine)
    assert [s["at"] for s in data["states"]] == [{"#bigint": str(n)} for n in (0, 1, 2)]
    assert data["loop"] == 1
    assert data["#meta"]["closing"] == {"action": "turn", "params": {"to": {"#bigint": "1"}}, "actor": "graph"}
    assert data["#meta"]["fairness"][2] == {"action": "jump", "strength": "strong", "each": ["to"]}
    story = out[out.index("arrives is violated by a run that never ends") :]
    for line in (
        "  2. graph: turn(to=2)",
        "  3. graph: turn(to=1)",
        "       at: 2 -> 1",
        "  from here on steps 2 to 3 repeat for ever",
        "  the fairness assumptions allow this:",
        "    weak fairness of turn: taken at step 2",
        "    weak fairness of leave: not enabled after step 1",
        "    not enabled from here on: jump",
        "    enabled in some states, but not fair: wait(to=4)",
    ):
        assert f"\n{line}\n" in story
    code, out, _ = said(capsys, "replay", str(file), "--model", model_of(file))
    assert code == 0
    assert "steps 2 to 3 repeat for ever" in out
    assert report_of(out, code).endswith("arrives is violated by this run\n")


@pytest.mark.parametrize(
    ("actions", "lines"),
    [
        # What is taken in the loop, and what changes nothing, is not named; of one action one step is.
        ({"turn": Steps(((0, 1), (1, 0)), "weak"), "same": Steps(((0, 1), (1, 1)))}, []),
        ({"stay": Steps(((0, 0),)), "go": Steps(((0, 4), (0, 2)))}, ["enabled, but not fair: go(to=2) (1 of 2)"]),
        (
            {"turn": Steps(((0, 1), (1, 0)), "weak"), "go": Steps(((0, 2), (1, 2))), "end": Steps(((1, 4),))},
            ["enabled, but not fair: go(to=2)", "enabled in some states, but not fair: end(to=4)"],
        ),
        # A step that leaves a bound is in no loop, whether its action is fair or not.
        (
            {"go": Steps(((0, 2), (0, 8), (0, 9)))},
            ["enabled, but not fair: go(to=2)", "clipped at the bound of at: go(to=8) (1 of 2)"],
        ),
        ({"go": Steps(((0, 8),))}, ["clipped at the bound of at: go(to=8)"]),
        (
            {"turn": Steps(((0, 1), (1, 0)), "weak"), "go": Steps(((0, 8),), "weak")},
            ["clipped at the bound of at: go(to=8)"],
        ),
    ],
)
def test_what_a_loop_leaves_out_is_told(
    actions: dict[str, Steps], lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, out = trace_of(tmp_path, actions, capsys)
    told = [line.strip() for line in out.splitlines()]
    assert [line for line in told if "not fair" in line or "clipped at the bound" in line] == lines


def test_a_run_that_stops_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, data, out = trace_of(tmp_path, STOP, capsys)
    assert (data["loop"], "closing" in data["#meta"]) == (1, False)
    assert "  from here on the run stays in this state\n  the fairness assumptions allow this:\n    not en" in out
    assert (
        report_of(out, 13).count("\n    not enabled from here on: turn\n    enabled, but not fair: wait(to=2)\n") == 1
    )
    assert said(capsys, "replay", str(file), "--model", model_of(file))[0] == 0


@pytest.mark.parametrize(
    ("form", "piece"),
    [
        ("md", "3. **graph**: `turn(to=1)`"),
        ("mermaid", "  loop for ever\n  graph->>graph: 2. turn(to=2)\n"),
        ("json", '"loop": 1'),
    ],
)
def test_show(form: str, piece: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, data, _ = trace_of(tmp_path, GO_ROUND, capsys)
    code, out, _ = said(capsys, "show", str(file), "--model", model_of(file), "--format", form)
    assert (code, piece in out) == (0, True), out
    if form == "json":
        assert json.loads(out) == data


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        # The step back does not lead there, or is none.
        (lambda d: d.update(loop=0), 18, "step 3 (turn): the model gives another state: at differs"),
        (lambda d: d["#meta"]["closing"].update(action="leave"), 18, "step 3 (leave): not enabled"),
        (lambda d: d["#meta"].pop("closing"), 18, "does not say which action leads back to state 1"),
        # A run that stops where a fair action is enabled.
        (lambda d: (d.update(loop=2), d["#meta"].pop("closing")), 15, "weak fairness of turn: never taken"),
        # The fairness that the file assumes is more than the loop has.
        (lambda d: d["#meta"]["fairness"][1].update(strength="strong"), 15, "leave: never taken, though enabled again"),
    ],
)
def test_a_loop_that_is_none(
    change: Any, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data, _ = trace_of(tmp_path, GO_ROUND, capsys)
    change(data)
    file.write_text(json.dumps(data))
    found, out, err = said(capsys, "replay", str(file), "--model", model_of(file))
    assert found == code
    assert message in out + err


def test_a_finite_trace_decides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that its replay is not a pass; nor is one of a folder, as `claims --replay` has it."""
    file, data, _ = trace_of(tmp_path, GO_ROUND, capsys)
    data.pop("loop")
    data["#meta"].pop("closing")
    file.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(file), "--model", model_of(file))
    assert (code, "does not decide arrives here" in err) == (5, True)
    outcome = replayed_file(file, file.name, model_of(file), {})
    assert (outcome.code, outcome.problem.endswith("does not decide arrives here")) == (Exit.INCONCLUSIVE, True)
    code, _, err = said(capsys, "show", str(file), "--model", model_of(file))
    assert (code, "does not decide arrives here" in err) == (0, True)
