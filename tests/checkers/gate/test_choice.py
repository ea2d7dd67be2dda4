"""Which checks of a gate run: by name, by what has changed, and while there is time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reassure.checkers.gate import run_check, run_gate
from reassure.checkers.gate.gate_file import read_gate_file
from reassure.checkers.gate.run_check import _of_file, answer_key
from reassure.checkers.machine.exit_codes import Exit
from tests.helpers.command import reported, said
from tests.helpers.outside_models import COUNTER, SOURCES, counter, set_step

GATE = """
[[check]]
model = "die_hard"
name = "riddle"
engine = "reference"
expect = "safety-violation"

[[check]]
model = "mine.py"
engine = "reference"
expect = "pass"
pin = { generated = 97 }
"""
MODEL = "from reassure.models.examples import die_hard\nMODEL = die_hard.MODEL.without('goal_not_reached')\n"
CHANGED = (
    "from reassure.models.examples import die_hard\nMODEL = die_hard.MODEL.without('goal_not_reached', 'fill_big')\n"
)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gate of two checks, with records of its own."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "g.toml").write_text(GATE)
    return str(tmp_path / "g.toml")


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line[:4] in ("ok  ", "FAIL")]


def test_only(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "gate", gate, "--only", "rid*", "-j", "1")
    assert (code, out.splitlines()) == (
        0,
        [
            "ok   riddle: safety-violation, 16 distinct, 97 generated",
            "1 check, 0 failed",
            "",
            "pass (exit code 0)",
            f"again: reassure gate {gate} '--only=rid*'",
        ],
    )
    assert len(lines(said(capsys, "gate", gate, "--only", "mine.py", "riddle", "-j", "1")[1])) == 2


def test_a_name_that_no_check_has(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It must not hide behind the others."""
    code, _, err = said(capsys, "gate", gate, "--only", "riddle", "ridle")
    assert (code, err.strip().splitlines()) == (
        6,
        [f"reassure: no check of {gate} matches ridle; it has riddle, mine.py"],
    )


def test_changed(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(gate)
    assert "unchanged" not in said(capsys, "gate", gate, "--changed", "-j", "1")[1]
    code, out, _ = reported(capsys, "gate", gate, "--changed", "-j", "1", f"--json={path.with_name('r.json')}")
    assert (code, out.count("(unchanged since ")) == (0, 2)
    assert out.endswith("2 checks, 0 failed, 2 unchanged and answered from the last record\n")
    record = json.loads(path.with_name("r.json").read_text())["checks"][1]
    assert (record["stats"]["distinct"], record["gate"]["unchanged_since"][-3:]) == (16, "UTC")
    assert "unchanged" not in said(capsys, "gate", gate, "-j", "1")[1]  # without --changed everything runs


def test_what_has_changed_runs(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(gate)
    said(capsys, "gate", gate, "-j", "1")
    mine = path.with_name("mine.py")
    mine.write_text('"""Words are not a change."""\n' + MODEL)
    assert said(capsys, "gate", gate, "--changed", "-j", "1")[1].count("unchanged since") == 2
    mine.write_text(CHANGED)
    os.utime(mine, (1, 1))
    code, out, _ = said(capsys, "gate", gate, "--changed", "-j", "1")
    assert (code, out.count("unchanged since")) == (17, 1), out
    assert "generated 81, pinned 97" in out


def test_a_record_that_is_not_as_expected_is_no_answer(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The file may expect something else of the same run."""
    said(capsys, "gate", gate, "-j", "1")
    path = Path(gate)
    path.write_text(path.read_text().replace("generated = 97", "generated = 98"))
    code, out, _ = said(capsys, "gate", gate, "--changed", "-j", "1")
    assert (code, lines(out)[1]) == (17, "FAIL mine.py: pass, 16 distinct, 97 generated")
    for _ in range(2):  # and a failure is never answered from a record
        assert "unchanged" not in lines(said(capsys, "gate", gate, "--changed", "-j", "1")[1])[1]


def test_a_damaged_record_is_no_answer(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "gate", gate, "-j", "1")
    for path in run_gate.record_folder().glob("*.json"):
        path.write_text('{"record": 1')
    assert "unchanged" not in said(capsys, "gate", gate, "--changed", "-j", "1")[1]


def test_another_version_of_the_program_is_another_question(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check = read_gate_file(Path(gate)).checks[1]
    before = answer_key(check)
    monkeypatch.setattr("reassure.checkers.gate.run_check._program", lambda: "another")
    assert before is not None and answer_key(check) != before


def test_the_answer_of_a_comparison_depends_on_both_models(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(gate)
    path.write_text('[[check]]\nkind = "diff"\nmodel = "die_hard"\nvariant = "mine.py"\nexpect = "pass"\n')
    (check,) = read_gate_file(path).checks
    before = answer_key(check)
    path.with_name("mine.py").write_text(CHANGED)
    assert before is not None and answer_key(check) != before


@pytest.fixture
def around_a_run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has something be done immediately before and after the next run of a check."""
    run, found = run_check._run, list[Callable[[], object]]()

    def running(*given: Any) -> Any:
        before, after = found or (int, int)
        found.clear()
        before()
        answer = run(*given)
        after()
        return answer

    def meanwhile(before: Callable[[], object] = int, after: Callable[[], object] = int) -> None:
        found[:] = [before, after]

    monkeypatch.setattr(run_check, "_run", running)
    return meanwhile


@pytest.mark.parametrize("back", [False, True])
def test_an_answer_during_which_a_model_changes_is_not_kept(
    back: bool, gate: str, capsys: pytest.CaptureFixture[str], around_a_run: Callable[..., None]
) -> None:
    """A later `--changed` would take it for the answer of the text after it. back: the text is changed back."""
    mine = Path(gate).with_name("mine.py")
    mine.write_text(CHANGED if back else MODEL)
    around_a_run(before=lambda: back and mine.write_text(MODEL), after=lambda: mine.write_text(CHANGED))
    assert said(capsys, "gate", gate, "--only", "mine.py", "-j", "1")[0] == 0, "97 steps are of the text that ran"
    code, out, _ = said(capsys, "gate", gate, "--only", "mine.py", "--changed", "-j", "1")
    assert (code, "generated 81, pinned 97" in out) == (17, True), out


@pytest.mark.parametrize("source", SOURCES)
def test_a_value_from_outside_that_has_changed_runs(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is the same, and the answer is another: `--changed` says what a full run says."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "g.toml"
    path.write_text(f'[[check]]\nmodel = "{counter(tmp_path, source)}"\nengine = "reference"\nexpect = "pass"\n')
    words = ["gate", str(path), "-j", "1"]
    set_step(1, tmp_path, monkeypatch)
    assert said(capsys, *words)[0] == 0
    assert said(capsys, *words, "--changed")[1].count("unchanged since") == 1
    set_step(3, tmp_path, monkeypatch)
    assert said(capsys, *words)[0] == 15
    assert said(capsys, *words, "--changed")[0] == 15
    set_step(1, tmp_path, monkeypatch)
    assert said(capsys, *words, "--changed")[1].count("unchanged since") == 1, "the answer of this step is kept still"


def test_what_is_read_when_a_function_is_called_always_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No digest says what a property of the configuration will read, for each configuration of a sweep."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    read = 'class Config:\n    @property\n    def step(self) -> int:\n        return int(os.environ["STEP"])\n'
    text = COUNTER.replace("class Config: ...\n", read).replace("on(s: State)", "on(s: State, c: Config)")
    (tmp_path / "mine.py").write_text(text.replace("STEP\n\n\n", "").replace("FURTHER", "s.n + c.step"))
    path = tmp_path / "g.toml"
    path.write_text('[[check]]\nmodel = "mine.py"\nengine = "reference"\nexpect = "pass"\n')
    for step, code in ((1, 0), (3, 15)):
        set_step(step, tmp_path, monkeypatch)
        said(capsys, "gate", str(path), "-j", "1")
        assert said(capsys, "gate", str(path), "--changed", "-j", "1")[0] == code


def test_a_file_that_is_changed_while_it_is_read_is_another_question(
    gate: str, capsys: pytest.CaptureFixture[str], around_a_run: Callable[..., None]
) -> None:
    path, kept = Path(gate), Path(gate).with_name("kept.itf.json")
    said(capsys, "check", "die_hard", "--quiet", f"--trace-dir={path.parent}")
    (trace,) = path.parent.glob("*.itf.json")
    trace.rename(kept)
    path.write_text('[[check]]\nkind = "replay"\ntrace = "kept.itf.json"\nmodel = "die_hard"\nexpect = "pass"\n')
    around_a_run(after=lambda: kept.write_text("{}"))
    assert said(capsys, "gate", gate, "-j", "1")[0] == 0
    assert said(capsys, "gate", gate, "--changed", "-j", "1")[0] != 0


def test_names_in_a_folder_are_part_of_the_question(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_text("x")
    before = _of_file(tmp_path / "a")
    (tmp_path / "a" / "1").rename(tmp_path / "a" / "2")
    assert _of_file(tmp_path / "a") != before


def test_a_gate_file_that_is_edited_during_its_update_is_left_as_it_is(
    gate: str, capsys: pytest.CaptureFixture[str], around_a_run: Callable[..., None]
) -> None:
    path = Path(gate)
    path.write_text(GATE.replace("97", "98"))
    edited = GATE + "# a note\n"
    around_a_run(before=lambda: path.write_text(edited))
    code, _, err = said(capsys, "gate", gate, "--update", "-j", "1")
    assert (code, "was changed while its checks ran, and is left as it is" in err) == (153, True)
    assert path.read_text() == edited


@pytest.mark.parametrize("where", ["file", "command line"])
def test_a_spent_budget_is_no_pass(where: str, gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, junit = Path(gate), Path(gate).with_suffix(".xml")
    words = ["gate", gate, "-j", "1", f"--junit={junit}"]
    if where == "file":
        path.write_text('budget = "0.0001ms"\n' + path.read_text())
    else:
        words.append("--budget=0.0001ms")
    code, out, _ = reported(capsys, *words)
    assert code == Exit.INCONCLUSIVE.value, out
    assert out.endswith("2 not run\n")
    assert "not run: the budget of the gate is spent" in out
    suites = ElementTree.fromstring(junit.read_text())
    assert (suites.get("tests"), suites.get("skipped"), suites.get("failures")) == ("2", "2", "0")


def test_a_budget_that_is_long_enough_changes_nothing(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = reported(capsys, "gate", gate, "-j", "1", "--budget=10m")
    assert (code, out.splitlines()[-1]) == (0, "2 checks, 0 failed")


def test_records_that_others_can_write_answer_nothing(gate: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "gate", gate, "-j", "1")
    records = list(run_gate.record_folder().glob("*.json"))
    for path in records:
        path.chmod(0o666)
    assert len(records) == 2 and "unchanged" not in said(capsys, "gate", gate, "--changed", "-j", "1")[1]
    assert said(capsys, "gate", gate, "--changed", "-j", "1")[1].count("unchanged since") == 2
    run_gate.record_folder().chmod(0o777)
    assert "unchanged" not in said(capsys, "gate", gate, "--changed", "-j", "1")[1]


@pytest.mark.parametrize("options", [["-j", "1"], ["-j", "2"], ["-j", "1", "--changed"], ["--only", "uses/*"]])
def test_what_a_check_imports_does_not_depend_on_other_checks(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package of the working folder is found; one that is elsewhere is not, though another check has loaded it."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    for folder in ("protocols", "uses", "elsewhere/far"):
        (tmp_path / folder).mkdir(parents=True)
    for package in ("protocols", "elsewhere/far"):
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "mine.py").write_text(MODEL)
    for name, package in (("near", "protocols"), ("far", "far")):
        (tmp_path / "uses" / f"{name}.py").write_text(f"from {package} import mine\nMODEL = mine.MODEL\n")
    check = "[[check]]\nmodel = '{}'\nexpect = '{}'\n"
    (tmp_path / "gate.toml").write_text(
        check.format("elsewhere/far/mine.py", "pass")
        + check.format("protocols/mine.py", "pass")
        + check.format("uses/near.py", "pass")
        + check.format("uses/far.py", "model-error")
    )
    monkeypatch.chdir(tmp_path)
    code, out, _ = said(capsys, "gate", *options)
    assert (code, "0 failed" in out) == (0, True), out
