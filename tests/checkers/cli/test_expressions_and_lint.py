"""Expressions of the command line as claims, and what is outside of the language as editors read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import said
from tests.helpers.lease_model import LEASE


@pytest.fixture
def lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("lease.py").write_text(LEASE)
    return "lease.py"


def test_expressions_are_checked(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In place of the model's own claims, and also by name beside them; the trace is that of a violation."""
    asked = [
        "--invariant=s.given <= 2",
        "--invariant=s.holder is None or s.given == 2",
        "--step=after.given >= before.given",
    ]
    code, out, _ = said(capsys, "check", lease, *asked, "--property=some_are_left", "--json=r.json", "--trace-dir=t")
    assert code == 12
    rows = {p["name"]: p["status"] for p in json.loads(Path("r.json").read_text())["properties"]}
    assert rows == {"some_are_left": "holds", "invariant_1": "holds", "invariant_2": "violated", "step_1": "holds"}
    assert "lease: invariant_2 is violated after 1 step\n  s.holder is None or s.given == 2\n" in out
    again = next(line for line in out.splitlines() if line.startswith("again: "))
    assert "'--invariant=s.given <= 2'" in again and "--property=some_are_left" in again
    assert "invariant_1" not in again
    code, out, err = said(capsys, "replay", "t/lease--invariant_2.itf.json", "--model=lease.py")
    assert (code, "accepts the trace: 1 step" in out, "of the expression s.holder is None" in out + err) == (
        5,
        True,
        True,
    )


def test_an_expression_takes_no_place_of_a_property(lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A violated property of the same name would not be asked."""
    Path(lease).write_text(LEASE.replace("some_are_left", "invariant_1"))
    code, _, err = said(capsys, "check", lease, "--invariant=s.given < 99", "--property=invariant_1")
    assert (code, "lease declares invariant_1, which is the name of an expression here" in err) == (64, True), err
    assert said(capsys, "check", lease, "--step=after.given >= before.given", "--engine=reference")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--invariant=s.givn < 1"], "`.givn` is not a field: did you mean `.given`?"),
        (["--invariant=s.given"], "the value of the expression: a bool is needed, not an int"),
        (["--invariant=s.given <"], "is not a Python expression"),
        (["--invariant=before.given < 1"], "an expression about a state `s` is needed"),
        (["--step=s.given < 1"], "an expression about a step: `before`, `after`, `action` is needed"),
        (["--invariant=nobody < 1"], "`s` is a state"),
        (["--invariant=s.given < 1", "--engine=spark"], "for the engines native and reference"),
    ],
)
def test_a_wrong_expression(words: list[str], message: str, lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", lease, *words)
    assert (code, message in err) == (64, True), err


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("s.given <= 2", "s.givn <= 2", "lease.py:33:12: `.givn` is "),
        ('size="clients"', 'size="nobody"', "lease.py:12:1: State.holder: "),
        ("MODEL =", "OTHER =", "lease.py:1:1: lease.py is "),
        ("from dataclasses", "from dataclass", "lease.py:2:1: lease.py cannot be imported: "),
    ],
)
def test_lint(old: str, new: str, line: str, lease: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.py").write_text(LEASE)
    assert said(capsys, "lint", "other.py") == (0, "", "")
    Path(lease).write_text(LEASE.replace(old, new))
    code, out, _ = said(capsys, "lint", lease, "other.py", "--json=places.json")
    assert (code, len(out.splitlines())) == (150, 1)
    assert out.startswith(line), out
    record = json.loads(Path("places.json").read_text())
    file, number, column, text = out.rstrip("\n").split(":", 3)
    (place,) = record["places"]
    assert place == {"file": file, "line": int(number), "column": int(column), "text": text.strip()}
    assert said(capsys, "lint", "leese.py")[:2] == (64, "leese.py:1:1: no file leese.py; did you mean lease.py?\n")
