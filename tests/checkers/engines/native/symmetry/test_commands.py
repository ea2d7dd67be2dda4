"""`--symmetry` of the commands that have it, the key of a gate's check, and the parameter of the Python API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reassure
from reassure.checkers.analyses.guards.analysis import guards
from reassure.checkers.analyses.mutants.analysis import Fate, Judge
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits
from reassure.checkers.analyses.mutants.mutants import mutants_of
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.alike_models import CHANGED, HEAD, alike
from tests.helpers.command import said
from tests.helpers.model_text import module
from tests.helpers.runs import bind

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
kind = "guards"
model = "two_phase_commit"
symmetry = "on"
expect = "pass"
pin = { load_bearing = 7, redundant = 0 }

[[check]]
kind = "mutants"
model = "two_phase_commit"
max = 2
symmetry = "on"
expect = "pass"
pin = { mutants = 2, killed = 2 }

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
    assert (code, "5 checks, 0 failed" in out) == (Exit.OK.value, True), out
    path.write_text(GATE.replace('"any-order"', '"any"'))
    code, _, err = said(capsys, "gate", str(path))
    assert (code, "symmetry is " in err) == (Exit.USAGE.value, True)
    path.write_text(GATE.replace('"native"', '"reference"'))
    code, out, _ = said(capsys, "gate", str(path), "--jobs=1")
    assert (code, "--symmetry is for --engine native and spark, not for reference" in out) == (
        Exit.USAGE.value,
        True,
    ), out


def test_the_api() -> None:
    result = reassure.check("two_phase_commit", managers=4, symmetry="on")
    assert result.search is not None
    assert (result.stats.distinct, result.search.symmetry["states"]) == (166, 1_568)
    with pytest.raises(reassure.Failure, match="symmetry is one of off, auto, on, any-order, not 'yes'"):
        reassure.check("two_phase_commit", symmetry="yes")


def changed(name: str, folder: Path, nodes: int) -> tuple[BoundModel, LoweredModel]:
    return (
        alike(name, folder, nodes=nodes)
        if name != "changed"
        else bind(module(CHANGED, folder, HEAD).MODEL, {"nodes": nodes})
    )


@pytest.mark.parametrize(("name", "nodes", "classes"), [("queue", 3, 151), ("named", 5, 106), ("changed", 4, 9)])
def test_the_table_of_guards_is_that_of_all_states(name: str, nodes: int, classes: int, tmp_path: Path) -> None:
    bound, _ = changed(name, tmp_path, nodes)
    whole, reduced = (guards(bound, SearchOptions(symmetry=s), Progress(quiet=True)) for s in ("off", "on"))
    assert (reduced.symmetry["classes"], reduced.complete) == (classes, True)
    assert whole.base is not None
    assert reduced.symmetry["states"] == whole.base.distinct > classes
    tables = [
        [(g.text, g.verdict, g.falls, g.depth, g.note, g.trace is not None) for g in one.guards]
        for one in (whole, reduced)
    ]
    assert tables[0] == tables[1]


def test_the_fates_of_mutants_are_those_of_all_states(tmp_path: Path) -> None:
    """Also of those of which other ids can be renamed, and of properties of whole runs."""
    bound, lowered = changed("changed", tmp_path, 4)
    fates = []
    for symmetry in ("off", "on"):
        judge = Judge(bound, lowered, SearchOptions(symmetry=symmetry), MutantLimits(), lambda states: None)
        fates.append([(m.place, m.kind, judge.judge(m)) for m in mutants_of(bound)])
    assert fates[0] == fates[1]
    notes = {(kind, judged.note) for _, kind, judged in fates[0] if judged.fate is not Fate.EQUIVALENT}
    other_steps = ("comparison exchanged", "the same number of states and steps, but different ones")
    assert other_steps in notes
    assert "action removed" in {kind for _, kind, judged in fates[0] if "somebody_leaves" in judged.killers}


def test_guards_and_mutants_refuse_what_they_do_not_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("guards", "mutants"):
        code, _, err = said(capsys, command, "core", "--symmetry=on")
        assert (code, "reads the order of Broker" in err) == (Exit.USAGE.value, True)
        code, _, err = said(capsys, command, "core", "--symmetry=any-order")
        assert (code, "invalid choice: 'any-order'" in err) == (Exit.USAGE.value, True)
    code, _, err = said(capsys, "mutants", "--all", "--symmetry=on")
    assert (code, "--symmetry does not go with --all" in err) == (Exit.USAGE.value, True)
    record = tmp_path / "r.json"
    assert said(capsys, "guards", "two_phase_commit", "--symmetry=auto", f"--json={record}")[0] == 0
    assert json.loads(record.read_text())["symmetry"] == {
        "renamed": [],
        "why": "3 ids can be renamed, and it pays from 4 on",
    }
