"""What a proof that is not found says: the step, the question whether it is reached, and the lemmas of the model."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from reassure.checkers.publish import sessions
from tests.helpers.command import said

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "prove-your-own.md"


@pytest.fixture
def permits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("permits", "conserved"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, text in sessions.files(PAGE.read_text()).items():
        Path(name).write_text(text.replace("Range(0, 6)", "Range(0, 3)").replace("6", "3"))
    return tmp_path


def test_the_step_is_named_and_its_state_can_be_searched_for(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "prove", "permits.py", "--set=clients=2")
    assert code == 5
    assert "\n  1. monitor: ring()\n       alarm: no -> yes\n" in out
    (command,) = re.findall(r"^    (reassure find permits.py .*)$", out, re.MULTILINE)
    code, out, _ = said(capsys, *shlex.split(command)[1:], "--no-guards")
    assert (code, "never true in this configuration" in out) == (16, True)


def test_an_invariant_that_is_not_asked_for_is_a_lemma(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["prove", "conserved.py", "--set=clients=2", "--property=no_alarm", "--certificate=c.json"]
    code, out, _ = said(capsys, *words)
    assert (code, "no_alarm  proved" in out, "  permits_are_conserved\n" in out) == (0, True, True)
    assert said(capsys, "verify", "c.json", "--model=conserved.py")[0] == 0
