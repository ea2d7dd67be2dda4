"""What the replay of a trace accepts, and what it does not decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import model_file, said
from tests.helpers.counter_model import BY_TWO


def trace_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, dict[str, object]]:
    said(capsys, "check", "die_hard", "--engine=reference", "--trace-dir", str(tmp_path), "--quiet")
    path = tmp_path / "die_hard--goal_not_reached.itf.json"
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(
    ("about", "code", "told"),
    [
        ({"expression": "s.big == 9"}, 5, "it is of the expression s.big == 9, which is not decided here"),
        ({"property": "deadlock"}, 15, "deadlock is of the kind deadlock, and the trace says invariant"),
        ({"property": "deadlock", "property_kind": "deadlock"}, 15, "something is enabled at its end"),
        ({"property_kind": "cover"}, 15, "goal_not_reached is of the kind invariant, and the trace says cover"),
        ({"property_kind": "deadlock"}, 15, "goal_not_reached is of the kind invariant, and the trace says deadlock"),
        ({"property_kind": "raises"}, 15, "goal_not_reached is of the kind invariant, and the trace says raises"),
        ({"property_kind": "leads_to"}, 15, "goal_not_reached is of the kind invariant, and the trace says leads_to"),
        ({"property": "nothing"}, 15, "die_hard has no property nothing, which the trace is of"),
    ],
)
def test_what_a_replay_does_not_decide_is_no_pass(
    about: dict[str, str], code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SECURITY.md, 5."""
    path, data = trace_of(tmp_path, capsys)
    data["#meta"].update(about)  # type: ignore[attr-defined]
    path.write_text(json.dumps(data))
    found, out, err = said(capsys, "replay", str(path))
    assert (found, told in out + err) == (code, True), out + err
    (tmp_path / "gate.toml").write_text(f'[[check]]\nkind = "replay"\ntrace = "{path.name}"\nexpect = "pass"\n')
    assert said(capsys, "gate", str(tmp_path / "gate.toml"), "-j1")[0] == code


def test_a_trace_does_not_say_what_is_fair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that stays where it begins, and a file that assumes no fairness: no violation of the model's property."""
    said(capsys, "check", "core_liveness", f"--trace-dir={tmp_path}", "--quiet", "--memory=4G")
    path = tmp_path / "core_liveness--a_pending_reassignment_ends.itf.json"
    code, out, err = said(capsys, "replay", str(path))
    assert (code, err) == (0, "") and "a_pending_reassignment_ends is violated by this run" in out
    data = json.loads(path.read_text())
    del data["states"][3:]
    data.update(loop=2)
    data["#meta"].pop("closing", None)
    path.write_text(json.dumps(data))
    code, out, _ = said(capsys, "replay", str(path))
    assert code == 15 and "a_pending_reassignment_ends holds in this run, or the run is not fair" in out
    data["#meta"]["fairness"] = []
    path.write_text(json.dumps(data))
    code, out, err = said(capsys, "replay", str(path))
    assert code == 5 and "the fairness assumptions allow this:\n  the trace assumes no fairness\n" in out
    why = "the fairness that core_liveness declares excludes this run, and the trace names another"
    assert err == f"note: a_pending_reassignment_ends: {why}\n"


def test_a_step_that_leaves_a_bound_leads_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace that says where is refused. SECURITY.md, 5."""
    model = model_file(tmp_path, BY_TWO)
    said(capsys, "check", model, "--engine=reference", f"--trace-dir={tmp_path}", "--quiet")
    (path,) = tmp_path.glob("*.itf.json")
    data = json.loads(path.read_text())
    assert said(capsys, "replay", str(path), f"--model={model}")[0] == 0
    data["states"].append(data["states"][-1] | {"n": {"#bigint": "3"}})
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(path), f"--model={model}")
    assert (code, "step 2 (add): leaves the bound of n" in err) == (18, True), err
