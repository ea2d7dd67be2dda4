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
        ({"property": "deadlock"}, 5, "die_hard does not decide deadlock here"),
        ({"property_kind": "cover"}, 0, "goal_not_reached is violated at its end"),
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
