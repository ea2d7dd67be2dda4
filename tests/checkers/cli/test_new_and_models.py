"""`reassure new` writes what runs; `reassure models MODEL` tells what a model says of itself."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from reassure.checkers.request.describe_model import field_texts, settings_of
from reassure.checkers.request.model_loader import load_model
from tests.helpers.command import said


def test_a_new_model_its_test_and_its_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "new", "lease", f"--dir={tmp_path}")
    assert code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gate.toml", "lease.py", "test_lease.py"]
    assert f"  reassure check {tmp_path / 'lease.py'}\n" in out
    tests = runpy.run_path(str(tmp_path / "test_lease.py"))
    ran = [tests[name]() for name in tests if name.startswith("test_")]
    assert len(ran) == 2
    code, out, _ = said(capsys, "check", str(tmp_path / "lease.py"))
    assert (code, "25 generated, 17 distinct" in out) == (0, True)
    code, out, _ = said(capsys, "gate", str(tmp_path / "gate.toml"))
    assert (code, "1 check, 0 failed" in out) == (0, True)


def test_pytest_may_have_to_be_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package does not need it, and the test that is written does."""
    at = tmp_path / "there"
    assert said(capsys, "new", "lease", f"--dir={at}")[1].splitlines()[4] == f"  python -m pytest {at}/test_lease.py"
    monkeypatch.setitem(sys.modules, "pytest", None)
    told = said(capsys, "new", "other", f"--dir={at}")[1].splitlines()[4]
    assert told == f"  python -m pip install pytest && python -m pytest {at}/test_other.py"


def test_a_second_model_is_added_to_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text("# mine\n")
    assert said(capsys, "new", "one", f"--dir={tmp_path}")[0] == 0
    assert said(capsys, "new", "two", f"--dir={tmp_path}")[0] == 0
    text = gate.read_text()
    assert text.startswith("# mine\n")
    assert [line for line in text.splitlines() if "model" in line] == ['model = "one.py"', 'model = "two.py"']


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_lease.py").write_text("mine")
    code, _, err = said(capsys, "new", "lease", f"--dir={tmp_path}")
    assert (code, "exists; nothing was written" in err) == (64, True)
    assert [p.name for p in tmp_path.iterdir()] == ["test_lease.py"]
    assert (tmp_path / "test_lease.py").read_text() == "mine"


@pytest.mark.parametrize(
    "text", [b"checks: none\n", b"check = []\n", b"name = '''", b"\xff"], ids=["no TOML", "a list", "open", "no text"]
)
def test_a_gate_file_that_cannot_take_an_entry(text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gate.toml").write_bytes(text)
    code, _, err = said(capsys, "new", "lease", f"--dir={tmp_path}")
    assert (code, "gate.toml cannot take an entry: " in err, len(err.splitlines())) == (64, True, 1)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [text]


def test_one_model_with_all_that_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "models", "core")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (
        "brokers int 3..12 (default 3) Brokers in the cluster; the first three hold the partition at the start."
        in lines
    )
    assert "propose(isr) leader The leader asks for another ISR." in lines
    assert "alter() controller The controller answers the request, and completes the reassignment if it can." in lines
    assert "leader_in_isr The leader is in sync." in lines
    assert "reassignment_pending" in lines
    code, _, err = said(capsys, "models", "cor")
    assert (code, "did you mean core?" in err) == (64, True)


def test_a_narrow_terminal_has_meanings_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said(capsys, "models", "core")[1]).splitlines()
    at = lines.index("  min_isr  int 1..12 (default 2)")
    assert lines[at + 1] == "      Fewest in-sync replicas a reassignment may"
    assert "  leader_in_isr        The leader is in sync." in lines


def test_settings_of_every_kind() -> None:
    """A variant has the settings of what it varies, with their texts."""
    found = {s.name: s for s in settings_of(load_model("kraft_ordered"))}
    assert (found["unclean"].values, found["unclean"].default) == ("off, on, either", "either")
    assert found["unclean"].meaning == "unclean.leader.election.enable; `either` explores both."
    balancing = {s.name: s for s in settings_of(load_model("kraft_kafka"))}["balancing"]
    assert (balancing.values, balancing.default) == ("bool", "false")


def test_a_class_without_text() -> None:
    assert field_texts(int) == {}


def test_a_line_for_each_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "models")
    lines = out.splitlines()
    assert code == 0
    assert (
        "die_hard                 Die Hard: measure exactly four gallons with a three-gallon and a five-gallon jug."
        in lines
    )
    assert lines[-2:] == ["", "`reassure models MODEL` prints settings, actions and properties"]
    assert not [line for line in lines if line.startswith("isr_not_trimmed")]
    assert any(line.startswith("isr_not_trimmed") for line in said(capsys, "models", "--mutants")[1].splitlines())


def test_models(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "models")
    assert code == 0
    assert "core" in out
    assert "isr_not_trimmed" not in out
    assert "isr_not_trimmed" in said(capsys, "models", "--mutants")[1]
