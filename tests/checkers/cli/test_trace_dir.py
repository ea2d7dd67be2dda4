"""`--trace-dir`: each trace with its picture beside it, and a command that shows it as it is printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.helpers.command import said

ROOT = Path(__file__).parents[3]
STEM = "die_hard--goal_not_reached"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model of one's own, beside which no gate file stands."""
    (tmp_path / "die_hard.py").write_text((ROOT / "models" / "examples" / "die_hard.py").read_text())
    monkeypatch.chdir(tmp_path)
    return "die_hard.py"


def named(out: str) -> list[str]:
    """The lines about files that a report ends with."""
    lines = out.splitlines()
    return [line for line in lines if line.startswith(("trace: ", "picture: ", "  reassure "))]


def test_a_check_writes_traces_and_pictures(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "check", model, "--engine=reference", "--trace-dir=out", "--json=record.json")
    assert code == 12
    show = f"reassure show out/{STEM}.itf.json --model=die_hard.py"
    assert named(out) == [f"trace: out/{STEM}.itf.json", f"picture: out/{STEM}.svg", f"  {show}"]
    rows = {row["name"]: row for row in json.loads(Path("record.json").read_text())["properties"]}
    assert rows["goal_not_reached"]["picture"] == f"out/{STEM}.svg"
    assert "picture" not in rows["deadlock"]
    code, out, err = said(capsys, *shlex.split(show)[1:])
    assert (code, err) == (0, "") and out.startswith("die_hard: goal_not_reached is violated after 6 steps\n")
    assert said(capsys, *shlex.split(show)[1:], "--format=svg")[1] == Path(f"out/{STEM}.svg").read_text()


def test_a_model_that_comes_with_the_program_is_not_named_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = said(capsys, "check", "die_hard", "--engine=reference", f"--trace-dir={tmp_path}")
    assert named(out)[-1] == f"  reassure show {tmp_path}/{STEM}.itf.json"


def test_quiet_draws_nothing(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As a gate runs its checks: it keeps the traces of those that fail."""
    said(capsys, "check", model, "--engine=reference", "--trace-dir=out", "--json=record.json", "--quiet")
    assert [path.name for path in Path("out").iterdir()] == [f"{STEM}.itf.json"]
    assert all("picture" not in row for row in json.loads(Path("record.json").read_text())["properties"])


def test_an_analysis_names_the_command_and_draws_nothing(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = said(capsys, "find", model, "s.big == 4", "--trace-dir=out")
    (trace,) = Path("out").iterdir()
    assert named(out) == [f"trace: {trace}", f"  reassure show {trace} --model=die_hard.py"]
