"""The gate: what it accepts, what it refuses, and that many processes say what one says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reassure.checkers.gate import run_gate
from reassure.checkers.gate.gate_file import Check, GateFile
from reassure.checkers.gate.run_check import unanswered
from reassure.checkers.gate.run_gate import GateReport
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import BY_USER
from tests.helpers.command import HEEDS_SIGNALS, children_of, executing, model_file, reported, said
from tests.helpers.raising_model import ACTION, written

ROOT = Path(__file__).parents[3]


def test_an_expected_violation_hides_no_vacuous_cover(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    cut = text.index("MODEL =")
    idle = "@cover\ndef full(s: Jugs) -> bool:\n    return s.big == 5 and s.small == 3 and s.big == 0\n\n\n"
    model = model_file(
        tmp_path, "from reassure import cover\n" + text[:cut].replace("from __future__", "# ") + idle + text[cut:]
    )
    path = tmp_path / "g.toml"
    check = f"[[check]]\nmodel = '{model}'\nengine = 'reference'\nexpect = 'safety-violation'\n"
    path.write_text(check)
    code, out, _ = said(capsys, "gate", str(path))
    assert (code, "cover full is never reached" in out) == (16, True), out
    path.write_text(check + "unreached = ['full']\n")
    assert said(capsys, "gate", str(path))[0] == 0


def test_an_interrupted_gate_stops(tmp_path: Path) -> None:
    path, record = tmp_path / "g.toml", tmp_path / "g.json"
    slow = "[[check]]\nmodel = 'core'\nset = { brokers = 5 }\nengine = 'reference'\nexpect = 'pass'\n"
    path.write_text(slow * 2)
    process = subprocess.Popen(
        [*HEEDS_SIGNALS, sys.executable, "-m", "reassure", "gate", str(path), "--jobs=2", f"--json={record}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # two checks, and Python's tracker
    while process.poll() is None and len(children_of(executing(process.pid))) < 3:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, "1 not run" in out, "Traceback" in err) == (5, True, False), out + err
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["complete"], len(data["checks"])) == (5, False, 1)


@pytest.mark.parametrize(("more", "walks"), [("", 10_000), ("walks = 20\n", 20), ("budget = '1s'\n", None)])
def test_the_budget_of_a_gate_is_not_for_walks_alone(
    more: str, walks: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random walks take as many as without it; as long as a budget of their own says."""
    path, record = tmp_path / "g.toml", tmp_path / "g.json"
    check = "[[check]]\nmodel = 'core'\nkind = 'simulate'\ndepth = 5\nexpect = 'inconclusive'\n"
    path.write_text(f"budget = '100s'\n{check}{more}")
    assert said(capsys, "gate", str(path), f"--json={record}")[0] == 0
    (taken,) = json.loads(record.read_text())["checks"]
    assert taken["stop_reason"] == ("budget" if walks is None else "walks")
    assert walks in (None, taken["simulation"]["walks"])


def test_a_gate_whose_last_check_is_interrupted_is_not_complete() -> None:
    one = Check("one", "check", {"model": "core"}, "pass", None, None, {})
    report = GateReport(GateFile(Path("g.toml"), [one]), [one], [unanswered(one, Exit.INCONCLUSIVE, BY_USER)])
    assert (report.not_run, report.record()["complete"]) == (0, False)


@pytest.mark.parametrize("output", ["--json", "--junit", "--sarif", "--html"])
def test_a_gate_whose_report_cannot_be_written_says_nothing_else(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "g.toml"
    path.write_text("[[check]]\nmodel = 'die_hard'\nengine = 'reference'\nexpect = 'safety-violation'\n")
    code, out, err = said(capsys, "gate", str(path), output, "/dev/full")
    assert (code, out.count("exit code"), err) == (153, 0, "reassure: /dev/full: No space left on device\n")


SEVERAL = """
[[check]]
model = "die_hard"
expect = "safety-violation"
violated = { goal_not_reached = 7 }

[[check]]
model = "two_phase_commit"
name = "a wrong pin"
expect = "pass"
pin = { distinct = 289 }

[[check]]
model = "die_hard"
name = "a wrong expectation"
expect = "pass"

[[check]]
model = "core"
expect = "pass"
"""


def test_processes_say_what_one_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the file, whichever ends first."""
    path = tmp_path / "g.toml"
    path.write_text(SEVERAL)
    one = reported(capsys, "gate", str(path), "-j", "1")
    several = reported(capsys, "gate", str(path), "-j", "3")
    assert several[:2] == one[:2]
    assert one[0] == 15
    assert [line[:4] for line in one[1].splitlines() if line[:4] in ("ok  ", "FAIL")] == [
        "ok  ",
        "FAIL",
        "FAIL",
        "ok  ",
    ]
    assert one[1].endswith("4 checks, 2 failed\n")


def test_a_failure_says_what_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    path, junit = tmp_path / "g.toml", tmp_path / "g.xml"
    path.write_text(SEVERAL)
    _, out, _ = reported(capsys, "gate", str(path), "--trace-dir", str(tmp_path / "traces"), "--junit", str(junit))
    lines = out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("FAIL a wrong expectation: safety-violation"))
    trace = tmp_path / "traces" / "die_hard--goal_not_reached.itf.json"
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    line = text[: text.index("@invariant")].count("\n") + 1
    die_hard = f"models/examples/die_hard.py:{line}"
    assert lines[at + 1 : at + 4] == [
        "     expected pass, got safety-violation",
        f"     violated: goal_not_reached after 6 steps ({die_hard})",
        "     | die_hard: goal_not_reached is violated after 6 steps",
    ]
    story = [line for line in lines[at:] if line.startswith("     | ")]
    assert story[-1] == "     |     c.goal = 4"
    assert lines[at + 3 + len(story) :] == [
        f"     trace: {trace}",
        "     again: reassure check die_hard",
        "ok   core: pass, 1,668 distinct, 7,699 generated",
        "4 checks, 2 failed",
    ]
    assert said(capsys, "replay", str(trace))[0] == 0


def test_models_lie_beside_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ci" / "protocols").mkdir(parents=True)
    model = "from reassure.models.examples import die_hard\nMODEL = die_hard.MODEL.without('goal_not_reached')\n"
    (tmp_path / "ci" / "protocols" / "calm.py").write_text(model)
    path = tmp_path / "ci" / "gate.toml"
    path.write_text("[[check]]\nmodel = 'protocols/calm.py'\nengine = 'reference'\nexpect = 'pass'\n")
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "gate", "ci/gate.toml")[0] == 0
    monkeypatch.chdir(tmp_path / "ci")
    assert said(capsys, "gate")[0] == 0


def test_a_depth_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What holds to a depth is not said to hold; and a cover beyond it is not said to be reached."""
    path = tmp_path / "g.toml"
    check = "[[check]]\nmodel = 'core'\nengine = 'reference'\ndepth = {depth}\nexpect = '{expect}'\n"
    path.write_text(check.format(depth=9, expect="pass"))
    code, _, err = said(capsys, "gate", str(path))
    assert (code, 'expect = "pass-to-depth"' in err) == (64, True), err
    path.write_text(check.format(depth=9, expect="pass-to-depth"))
    assert said(capsys, "gate", str(path))[0] == 0
    path.write_text(check.format(depth=1, expect="pass-to-depth"))
    code, out, _ = said(capsys, "gate", str(path))
    assert (code, "expected pass-to-depth, got inconclusive" in out) == (5, True), out
    path.write_text(check.format(depth=1, expect="inconclusive"))
    assert said(capsys, "gate", str(path))[0] == 0
    assert said(capsys, "check", "core", "--depth=1", "--engine=reference")[0] == 5
    code, out, _ = said(capsys, "check", "core", "--depth=9", "--engine=reference")
    assert (code, "pass-to-depth (exit code 0)" in out) == (0, True), out


def test_a_model_that_raises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told with its exit code and its story, beside what is violated; it may be what is expected."""
    written(tmp_path, ACTION)
    gate = tmp_path / "g.toml"
    gate.write_text('[[check]]\nmodel = "raising.py"\nproperty = ["never", "one_is_alive"]\nexpect = "pass"\n')
    code, out, _ = said(capsys, "gate", str(gate), "--jobs=1", f"--trace-dir={tmp_path / 'traces'}")
    assert code == 150
    assert "the model raises: commit(k=Node(0)) raised ValueError: min() arg is an empty sequence" in out
    assert "violated: one_is_alive after 3 steps" in out
    assert (tmp_path / "traces" / "raising--raises.itf.json").is_file()
    gate.write_text(gate.read_text().replace('expect = "pass"', 'expect = "model-error"\nviolated = ["one_is_alive"]'))
    code, out, _ = said(capsys, "gate", str(gate), "--jobs=1")
    assert (code, "0 failed" in out) == (0, True), out  # though `never` is not decided
    gate.write_text(gate.read_text().replace('["one_is_alive"]', '["never"]'))
    code, out, _ = said(capsys, "gate", str(gate), "--jobs=1")
    assert (code, "not violated: never" in out, "violated: one_is_alive" in out) == (15, True, True)


def test_a_gate_that_cannot_begin_has_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, junit = tmp_path / "g.toml", tmp_path / "j.xml"
    path.write_text("[[check]]\nmodle = 'core'\n")
    assert said(capsys, "gate", str(path), f"--junit={junit}")[0] == 64
    (suite,) = ElementTree.fromstring(junit.read_text())
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    (error,) = suite.iter("error")
    assert (error.get("type"), "unknown modle; did you mean model?" in str(error.text)) == ("usage", True)


def test_a_killed_process_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has an answer by then is reported, with every file that was asked for."""

    def killed(run: Any, arguments: list[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
        yield run(*arguments[0])
        raise BrokenProcessPool

    monkeypatch.setattr(run_gate, "in_processes", killed)
    path, junit = tmp_path / "g.toml", tmp_path / "j.xml"
    check = "[[check]]\nmodel = 'core'\nname = '{}'\nengine = 'reference'\nexpect = 'pass'\n"
    path.write_text("".join(check.format(name) for name in "abc"))
    code, out, _ = reported(capsys, "gate", str(path), f"--junit={junit}")
    assert (code, out.splitlines()[-1]) == (153, "3 checks, 1 failed, 1 not run")
    results = [[r.tag for c in s.iter("testcase") for r in c] for s in ElementTree.fromstring(junit.read_text())]
    assert results == [[], ["error"], ["skipped"]]
