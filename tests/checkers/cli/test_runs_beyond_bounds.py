"""Properties of whole runs whose fair runs leave a declared bound: what every command says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.testing.expect import Expecting, ModelCheckFailed
from tests.helpers.command import report_of, said
from tests.helpers.printed_by_tlc import NO_ERROR, installed
from tests.helpers.spark_runs import needs_spark
from tests.helpers.terms_model import terms_file

LEAVES = "every fair run leaves a bound (term)"
PREMISE = "every fair run that satisfies its premise leaves a bound (term)"
RESTS = "a fair run would violate it if steps beyond the bounds (term) were disabled"
SOME = f"no fair run within the bounds (term) goes through 2 of 4 states that satisfy its premise; {RESTS}"
ENGINES = ["reference", "native", pytest.param("spark", marks=needs_spark)]


@pytest.mark.parametrize("engine", ENGINES)
def test_check(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is established about no run; of some states it is said how many."""
    path, record = terms_file(tmp_path), tmp_path / "r.json"
    words = ("check", path, "--engine", engine, "--json", str(record))
    code, out, _ = said(capsys, *words)
    assert code == 16
    assert [line.split("  ", 2)[1:] for line in out.splitlines() if "vacuous (" in line and "exit" not in line] == [
        ["a_leader_comes", f"   vacuous ({PREMISE})"],
        ["there_is_a_leader", f"vacuous ({LEAVES})"],
        ["a_leader_stays", f"   vacuous ({LEAVES})"],
    ]
    (row, *others) = json.loads(record.read_text())["properties"]
    assert (row["status"], row["premise"]) == (
        "vacuous",
        {"states": 4, "without_fair_run": 4, "rests_on_a_bound": False},
    )
    assert [other["premise"] for other in others] == 2 * [
        {"states": 4, "without_fair_run": 4, "rests_on_a_bound": False}
    ]

    code, out, _ = said(capsys, *words, "--set", "won=1")
    assert code == 0
    assert f"  a_leader_comes     holds within bounds ({SOME}; assuming weak fairness of stand, win)\n" in out
    rows = json.loads(record.read_text())["properties"]
    assert [(r["status"], r["premise"]) for r in rows] == [
        ("holds_within_bounds", {"states": 4, "without_fair_run": 2, "rests_on_a_bound": True}),
        ("holds_within_bounds", {"states": 5, "without_fair_run": 2, "rests_on_a_bound": True}),
        ("holds_within_bounds", {"states": 5, "without_fair_run": 2, "rests_on_a_bound": True}),
    ]

    code, _, _ = said(capsys, *words, "--set", "won=3", "--property", "a_leader_comes")
    assert (code, "premise" in json.loads(record.read_text())["properties"][0]) == (0, False)


def test_fairness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No assumption is needed for what says nothing."""
    path, record = terms_file(tmp_path), tmp_path / "r.json"
    code, out, _ = said(capsys, "fairness", path)
    assert code == 16
    assert [line for line in out.splitlines() if "  " in line] == [
        f"a_leader_comes  vacuous: {PREMISE}",
        f"there_is_a_leader  vacuous: {LEAVES}",
        f"a_leader_stays  vacuous: {LEAVES}",
    ]
    words = ("fairness", path, "--set=won=1", "--property=a_leader_comes", f"--json={record}")
    code, out, _ = said(capsys, *words)
    assert code == 0
    assert f"a_leader_comes  holds within bounds ({SOME})\n" in out
    (row,) = json.loads(record.read_text())["fairness"]
    assert row["premise"] == {"states": 4, "without_fair_run": 2, "rests_on_a_bound": True}
    assert [w["verdict"] for w in row["weakenings"]] == ["needed", "not needed"]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_gate_pins_it(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The states of all properties together; `--update` writes it where there are any."""
    terms_file(tmp_path)
    gate = tmp_path / "gate.toml"
    entry = f'[[check]]\nmodel = "terms.py"\nengine = "{engine}"\nset = {{ won = %d }}\nexpect = "%s"\n'

    def judged(won: int, expect: str, pins: str, *words: str) -> tuple[int, str]:
        gate.write_text(entry % (won, expect) + pins)
        code, out, _ = said(capsys, "gate", str(gate), "-j", "1", *words)
        return code, out

    assert judged(1, "pass", "pin = { without_fair_run = 6, resting_on_bounds = 3 }\n")[0] == 0
    code, out = judged(1, "pass", "pin = { without_fair_run = 0, resting_on_bounds = 3 }\n")
    assert (code, "without_fair_run 6, pinned 0\n" in out) == (17, True)
    code, out = judged(1, "pass", "pin = { distinct = 5 }\n")
    assert (code, out.count("pinned 0 (it is not listed)\n")) == (17, 2)
    assert judged(1, "pass", "")[0] == 0
    assert judged(3, "pass", "pin = { without_fair_run = 0 }\n")[0] == 0
    assert judged(9, "vacuous", "")[0] == 0
    code, out = judged(9, "pass", "")
    assert (code, f"a_leader_comes is vacuous: {PREMISE} (" in out) == (15, True)
    judged(1, "pass", "", "--update")
    assert "clipped = 1, without_fair_run = 6, resting_on_bounds = 3, properties" in gate.read_text()
    judged(3, "pass", "", "--update")
    assert "clipped = 1, properties" in gate.read_text()


def test_a_test_of_a_project_fails(tmp_path: Path) -> None:
    terms_file(tmp_path)
    expecting = Expecting(tmp_path, None)
    with pytest.raises(ModelCheckFailed) as failed:
        expecting("terms.py")
    assert f"\n\na_leader_comes: vacuous ({PREMISE})\n\n" in str(failed.value)
    assert expecting("terms.py", won=1).properties[0].premise is not None


SEARCHED_BY_TLC = """<<"reassure", "first state", 1>>
<<"reassure", "first step", 2>>
@!@!@STARTMSG 2193:0 @!@!@
Model checking completed. No error has been found.
@!@!@ENDMSG 2193 @!@!@
@!@!@STARTMSG 2199:0 @!@!@
4 states generated, 4 distinct states found, 0 states left on queue.
@!@!@ENDMSG 2199 @!@!@
@!@!@STARTMSG 2194:0 @!@!@
The depth of the complete state graph search is 4.
@!@!@ENDMSG 2194 @!@!@
"""


def test_tlc_says_that_no_run_violates_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no difference, and no pass."""
    installed(tmp_path, monkeypatch, SEARCHED_BY_TLC, NO_ERROR)
    words = ("check", terms_file(tmp_path), "--second-opinion", "tlc")
    code, out, _ = said(capsys, *words)
    names = "a_leader_comes, there_is_a_leader, a_leader_stays"
    *_, both, last = report_of(out, 16).splitlines()
    assert (code, both) == (16, f"for TLC too no run violates {names}: it holds there, and is vacuous here")
    assert last.startswith("TLC agrees: 6 answers the same;")
    code, out, _ = said(capsys, *words, "--property", "a_leader_comes")
    assert code == 16
    assert "for TLC too no run violates a_leader_comes: it holds there, and is vacuous here\n" in out
