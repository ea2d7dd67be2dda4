"""How wrong declarations are answered, what a command says of itself, and files opened from elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.console.failures import as_failure
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.semantics.interpreter import ModelError
from tests.helpers.command import said
from tests.helpers.lease_model import LEASE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('@action(who="server")', "@action", 'write `@action(who="leader")` (line 21)'),
        ('@action(who="server")', '@action(whom="server")', 'write `@action(who="leader")` (line 21)'),
        ('(Id, size="clients")', "(Id)", 'write `class Broker(Id, size="brokers")`'),
        ("Model.of(__name__, state", "Model.of(state", "write `Model.of(__name__, state=State, config=Config)`"),
        ("class State:", "class State(Config):", "those of a base class among them (line 12)"),
    ],
)
def test_a_wrong_declaration_says_how_it_is_written(
    old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is that of the model, also where Python's own library raises."""
    assert old in LEASE
    (tmp_path / "lease.py").write_text(LEASE.replace(old, new))
    code, _, err = said(capsys, "check", str(tmp_path / "lease.py"))
    assert (code, len(err.splitlines())) == (150, 1)
    assert message in err


def test_the_command_again_has_what_decides_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lease.py").write_text(LEASE)
    path = str(tmp_path / "lease.py")
    words = ["--budget=90s", "--memory=1G", "--fail-fast", "--witness", "--engine=reference"]
    _, out, _ = said(capsys, "check", path, *words)
    again = f"again: reassure check {path} --budget=90s --memory=1073741824 --fail-fast --witness --engine=reference"
    assert out.endswith(again + "\n")
    _, repeated, _ = said(capsys, *again.split()[2:])
    assert repeated.endswith(again + "\n")


def test_files_of_a_model_of_ones_own_are_opened_from_elsewhere(tmp_path: Path) -> None:
    """A certificate, and a trace of a guard that is left out: both say where the model is, from their own folder."""
    (tmp_path / "lease.py").write_text(LEASE)

    def reassure(folder: Path, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "reassure", *words], cwd=folder, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    assert reassure(tmp_path, "prove", "lease.py", "--certificate=out/c.json", "--quiet")[0] == 0
    assert json.loads((tmp_path / "out" / "c.json").read_text())["model_file"] == "lease.py"
    elsewhere, model = tmp_path / "elsewhere", str(tmp_path / "lease.py")
    elsewhere.mkdir()
    code, said = reassure(elsewhere, "verify", str(tmp_path / "out" / "c.json"))
    assert (code, f"is of the model in {model}, a program: to execute it give --model {model}" in said) == (64, True)
    code, said = reassure(elsewhere, "verify", str(tmp_path / "out" / "c.json"), "--model", model)
    assert (code, "imply 1 property of lease" in said) == (0, True)
    assert reassure(tmp_path, "simulate", "lease.py", "--trace-dir=out", "--witness", "--quiet")[0] == 5
    (tmp_path / "lease.py").write_text(LEASE.replace("s.given <= 2", "s.given < 2"))
    assert reassure(tmp_path, "check", "lease.py", "--trace-dir=out", "--quiet")[0] == 12
    code, said = reassure(elsewhere, "show", str(tmp_path / "out" / "lease--some_are_left.itf.json"), "--model", model)
    assert (code, "some_are_left is violated after 3 steps" in said) == (0, True)
    (tmp_path / "lease.py").rename(tmp_path / "gone.py")
    code, said = reassure(elsewhere, "verify", str(tmp_path / "out" / "c.json"))
    assert (code, "is of the model in lease.py, which is not there; give --model" in said) == (64, True)


def test_an_error_of_a_model_is_no_bug_of_the_program() -> None:
    failure = as_failure(ModelError("commit() raised ValueError"))
    assert (failure.code, str(failure)) == (Exit.MODEL, "commit() raised ValueError; `reassure check` shows how")
    assert str(as_failure(ModelError("it raises; `reassure check` shows how"))).count("shows how") == 1
    assert as_failure(Disagreement("engines differ")).code is Exit.DISAGREE


def test_a_cover_is_not_proved(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "prove", "core", "--property=reassignment_pending")
    assert code == 6
    assert "reassignment_pending is a cover: `reassure check` decides covers" in err
    assert "`reassure find --prove` proves that none is reached" in err


def test_the_names_that_classes_may_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "traces", "die_hard", f"--out={tmp_path}", "--cover=classes", "--by=s.big")
    assert (code, len(err.splitlines())) == (64, 1)
    assert "name 's' is not defined" in err
    assert err.endswith("; it may read before, after, action, config and the parameters\n")


def test_one_state_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LEASE.replace("invariant, replace", "invariant, leads_to, replace")
    claim = (
        "\n@leads_to(lambda s: s.given == 2)\ndef all_are_given(s: State) -> bool:\n    return s.given == 0\n\nMODEL"
    )
    (tmp_path / "one.py").write_text(text.replace("\nMODEL", claim))
    code, out, _ = said(capsys, "stuck", str(tmp_path / "one.py"))
    assert (code, out.splitlines()[3]) == (5, "  1 state must be followed by the goal")


def test_a_file_that_is_not_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lease.py").write_text("x = 1\n")
    code, _, err = said(capsys, "show", str(tmp_path / "lease.py"))
    assert (code, "lease.py is not a trace: it is not JSON: Expecting value" in err) == (64, True), err
