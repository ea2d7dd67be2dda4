"""`--symmetry` of the commands that have it, the key of a gate's check, and the parameter of the Python API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reassure
from reassure.checkers.base.exit_codes import Exit
from tests.helpers.command import said

pytestmark = pytest.mark.usefixtures("quick_kernels")

GATE = """
[[check]]
model = "two_phase_commit"
set = { managers = 4 }
symmetry = "on"
expect = "pass"
pin = { distinct = 166 }

[[check]]
model = "core"
symmetry = "any-order"
engine = "native"
property = ["leader_in_isr"]
expect = "pass"
pin = { distinct = 287 }

[[check]]
kind = "find"
model = "two_phase_commit"
expression = "before.heard != after.heard"
symmetry = "on"
expect = "pass"
"""


def test_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is a run of the model, as short as that of the search of all states."""
    expression, record = "s.leader is None and len(s.isr) == 1", tmp_path / "r.json"
    code, out, _ = said(capsys, "find", "core", expression, "--symmetry=any-order", f"--json={record}")
    whole = said(capsys, "find", "core", expression)[1]
    assert code == Exit.OK.value
    steps = "found after 3 steps, among"
    assert (f"{steps} 287 classes of 1,668 states" in out, steps in whole) == (True, True)
    assert json.loads(record.read_text())["symmetry"]["order_forgotten"] == ["Broker"]
    code, out, _ = said(capsys, "find", "core", "s.isr == NOBODY", "--symmetry=any-order", "--no-guards")
    assert code == Exit.VACUOUS.value
    assert "never true in this configuration: 287 classes of 1,668 states, all that are reachable" in out
    code, _, err = said(capsys, "find", "core", "s.isr == NOBODY", "--symmetry=on", "--prove")
    assert (code, "--prove asks Z3, which renames nothing: leave out --symmetry" in err) == (Exit.USAGE.value, True)


def test_find_what_names_an_id(capsys: pytest.CaptureFixture[str]) -> None:
    """The id that the expression names keeps its name, and the trace has it."""
    expression = "Manager(1) in s.prepared and Manager(2) not in s.prepared"
    words = ("find", "two_phase_commit", expression, "--set=managers=4")
    code, out, _ = said(capsys, *words, "--symmetry=on")
    whole = said(capsys, *words)[1]
    assert code == Exit.OK.value
    found = [next(line for line in text.splitlines() if line.startswith("found")) for text in (out, whole)]
    assert found[0].split(",")[0] == found[1].split(",")[0]


def test_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "r.json"
    words = ("sweep", "two_phase_commit", "--set=managers=3,4", "--jobs=1", "--symmetry=on", f"--json={record}")
    assert said(capsys, *words)[0] == Exit.OK.value
    rows = json.loads(record.read_text())["configurations"]
    assert [(row["stats"]["distinct"], row["symmetry"]["states"]) for row in rows] == [
        (80, 288),
        (166, 1_568),
    ]
    code, _, err = said(capsys, "sweep", "two_phase_commit", "--engine=reference", "--symmetry=on")
    assert (code, "not for reference" in err) == (Exit.USAGE.value, True)


def test_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(GATE)
    code, out, _ = said(capsys, "gate", str(path), "--jobs=1")
    assert (code, "3 checks, 0 failed" in out) == (Exit.OK.value, True), out
    path.write_text(GATE.replace('"any-order"', '"any"'))
    code, _, err = said(capsys, "gate", str(path))
    assert (code, "symmetry is " in err) == (Exit.USAGE.value, True)
    path.write_text(GATE.replace('"native"', '"reference"'))
    code, out, _ = said(capsys, "gate", str(path), "--jobs=1")
    assert (code, "--symmetry is for --engine native, not for reference" in out) == (Exit.USAGE.value, True), out


def test_the_api() -> None:
    result = reassure.check("two_phase_commit", managers=4, symmetry="on")
    assert result.search is not None
    assert (result.stats.distinct, result.search.symmetry["states"]) == (166, 1_568)
    with pytest.raises(reassure.Failure, match="symmetry is one of off, auto, on, any-order, not 'yes'"):
        reassure.check("two_phase_commit", symmetry="yes")
