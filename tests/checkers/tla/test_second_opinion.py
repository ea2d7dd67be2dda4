"""TLC's answers beside ours: what is compared, what is read back, what is said where TLC is missing or differs."""

# ruff: noqa: E501 - a row of a table is one line
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.engines.native.model.emit_nodes import OPERATIONS
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.tla import second_opinion
from reassure.checkers.tla.module import export
from reassure.checkers.tla.second_opinion import evaluated_once
from reassure.checkers.tla.tlc import TlcInstallation, TlcRun, TlcTrace, Unreadable, read_run, read_value, run_tlc
from reassure.spec.language.values import Map
from tests.helpers.command import said
from tests.helpers.printed_by_tlc import (
    COUNTED,
    FINISHED,
    NO_ERROR,
    SEARCH,
    STATES,
    TRACE,
    TWO_PHASE_COMMIT,
    installed,
    jar,
)
from tests.helpers.runs import checked as checked_model
from tests.helpers.tlc_jar import tlc


def checked(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *options: str,
    search: str = SEARCH,
    trace: str = TRACE,
    alone: str = "",
) -> tuple[int, str, str]:
    """`check die_hard` with a second opinion; trace: in the search of all states."""
    installed(folder, monkeypatch, search + trace, alone)
    words = ("check", "die_hard", "--second-opinion", "tlc", "--jar", str(folder / "tla2tools.jar"))
    return said(capsys, *words, *options, "--json", str(folder / "record.json"))


def test_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(tmp_path, monkeypatch, capsys)
    assert code == 12
    said_last = out.splitlines()[-4]
    assert said_last.startswith("TLC agrees: 6 answers the same, 1 of TLC's counterexamples executed in plain Python;")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["exit_code"] == 12
    opinion = record["second_opinion"]
    assert opinion.pop("seconds") >= 0
    assert opinion == {
        "checker": "tlc", "same": True, "compared": 6, "differences": [], "traces": 1, "reason": "", "undecided": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("16 distinct", "15 distinct", "  distinct states: ours 16, TLC's 15"),
        ("97 states generated", "98 states generated", "  generated states: ours 97, TLC's 98"),
        ("search is 8", "search is 9", "  depth: ours 8, TLC's 9"),
        (
            '"goal_not_reached", 6',
            '"goal_not_reached", 5',
            "  goal_not_reached: ours violated: 7 states, TLC's violated: 6 states",
        ),
        ('<<"reassure", "goal_not_reached", 6>>\n', "", "  goal_not_reached: ours violated: 7 states, TLC's holds"),
    ],
)
def test_a_difference_is_exit_code_19(
    old: str, new: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = checked(tmp_path, monkeypatch, capsys, search=SEARCH.replace(old, new))
    assert code == 19
    assert line in out.splitlines()
    assert "TLC disagrees about 1 of 6 answers" in out.splitlines()
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["exit_code"], record["verdict"]) == (19, "engine-disagreement")


def test_a_fault_in_a_kernel_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tests/conformance/test_second_opinion.py` puts in more of them, with TLC."""
    words = ("check", "two_phase_commit", "--second-opinion", "tlc")
    installed(tmp_path, monkeypatch, TWO_PHASE_COMMIT)
    code, out, _ = said(capsys, *words)
    assert (code, out.splitlines()[-4].partition(";")[0]) == (0, "TLC agrees: 7 answers the same")
    monkeypatch.setitem(OPERATIONS, "union", OPERATIONS["inter"])
    code, out, _ = said(capsys, *words)
    assert code == 19
    assert "  everybody_commits: ours not reached, TLC's reached: 11 states" in out.splitlines()


GATE = """
[[check]]
model = "die_hard"
second_opinion = "tlc"
expect = "{expect}"
violated = {{ goal_not_reached = 7 }}
"""


@pytest.mark.parametrize(
    ("search", "alone", "expect", "code", "line"),
    [
        (SEARCH + TRACE, "", "safety-violation", 0, "ok   die_hard: safety-violation, 16 distinct, 97 generated"),
        (SEARCH, NO_ERROR, "safety-violation", 19, "     goal_not_reached, TLC's run: ours 7 states, executed, TLC's TLC printed no counterexample"),
        (SEARCH.replace("16 distinct", "15 distinct") + TRACE, "", "safety-violation", 19, "     distinct states: ours 16, TLC's 15"),
        (SEARCH.replace("16 distinct", "15 distinct") + TRACE, "", "engine-disagreement", 19, "     distinct states: ours 16, TLC's 15"),
        (TRACE, "", "safety-violation", 5, "     no second opinion: TLC stopped: invariant"),
        ("", "", "safety-violation", 5, "     no second opinion: TLC stopped: TLC printed nothing"),
    ],
)  # fmt: skip
def test_a_gate_asks_for_it(
    search: str,
    alone: str,
    expect: str,
    code: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed(tmp_path, monkeypatch, search, alone)
    (tmp_path / "gate.toml").write_text(GATE.format(expect=expect), encoding="utf-8")
    got, out, _ = said(capsys, "gate", str(tmp_path / "gate.toml"), "--json", str(tmp_path / "gate.json"))
    assert (got, line in out.splitlines()) == (code, True), out
    assert json.loads((tmp_path / "gate.json").read_text())["exit_code"] == code


@pytest.mark.parametrize("value", ['"apalache"', "true", '"tlc"\nsymmetry = "on"'])
def test_a_gate_refuses(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(f'[[check]]\nmodel = "die_hard"\nexpect = "pass"\nsecond_opinion = {value}\n', encoding="utf-8")
    code, out, err = said(capsys, "gate", str(path))
    assert code == 64
    if "symmetry" in value:
        assert "     --second-opinion compares whole searches: leave out --symmetry" in out.splitlines()
    else:
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new", "theirs"),
    [
        ("/\\ big = 2\n/\\ small = 3", "/\\ big = 3\n/\\ small = 3", "Python has no step from its state 2 to the next"),
        (
            "/\\ big = 0\n/\\ small = 0",
            "/\\ big = 1\n/\\ small = 0",
            "its first state is not an initial state in Python",
        ),
        ("/\\ big = 4\n/\\ small = 3", "/\\ big = 5\n/\\ small = 3", "7 states, executed, no violation"),
        ("/\\ big = 4\n/\\ small = 3", "/\\ big = 6\n/\\ small = 3", "6 is not of the kind int 0..5"),
        (STATES, "", "TLC printed no counterexample"),
    ],
)
def test_a_run_that_python_does_not_execute_is_a_difference(
    old: str, new: str, theirs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = TRACE.replace(old, new)
    code, out, _ = checked(tmp_path, monkeypatch, capsys, trace=trace, alone=trace)
    assert code == 19
    assert f"  goal_not_reached, TLC's run: ours 7 states, executed, TLC's {theirs}" in out.splitlines()


def test_a_counterexample_that_the_search_does_not_print_is_searched_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = checked(tmp_path, monkeypatch, capsys, trace="", alone=TRACE.replace("First1", "goal_not_reached"))
    assert code == 12
    assert out.splitlines()[-4].startswith("TLC agrees: 6 answers the same, 1 of TLC's counterexamples executed")


def test_a_value_that_is_not_of_its_type_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = checked(tmp_path, monkeypatch, capsys, trace=TRACE + TRACE.replace("First1", "TypeOK"))
    assert code == 19
    assert "  TypeOK: ours holds, TLC's violated" in out.splitlines()


def test_one_quiet_line_has_the_verdict_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = checked(
        tmp_path, monkeypatch, capsys, "--quiet", search=SEARCH.replace("16 distinct", "15 distinct")
    )
    assert (code, out) == (19, "engine-disagreement (exit code 19)\n")


@pytest.mark.parametrize(
    ("search", "ending", "why"),
    [
        (SEARCH, "exit 1", "ended with the code 1"),
        (SEARCH, "kill -9 $$", "ended by SIGKILL"),
        (SEARCH, "exit 255", "ended with the code 255"),
        (SEARCH.replace("0 states left", "17 states left"), "", "17 states were left"),
        (SEARCH.replace("2199", "2198"), "", "it printed no counts"),
        ("@!@!@STARTMSG 1000:1 @!@!@\nOut of memory.\n@!@!@ENDMSG 1000 @!@!@\n" + SEARCH, "", "Out of memory"),
        (SEARCH + "@!@!@STARTMSG 1000:1 @!@!@\nDisk full.\n@!@!@ENDMSG 1000 @!@!@\n", "", "Disk full"),
    ],
)
def test_a_run_that_does_not_end_well_is_no_opinion(
    search: str,
    ending: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever it has printed: that it found no error, and right counts."""
    installed(tmp_path, monkeypatch, TWO_PHASE_COMMIT if search is SEARCH else search, ending=ending)
    model = "two_phase_commit" if search is SEARCH else "die_hard"
    code, out, _ = said(capsys, "check", model, "--second-opinion=tlc")
    assert code != 0 and "TLC agrees" not in out
    assert f"no second opinion: TLC stopped: {why}" in out


@pytest.mark.parametrize(
    ("deadlocks", "agrees"),
    [(NO_ERROR, True), (FINISHED, False), (FINISHED + COUNTED.replace("0 states left", "3 states left"), False)],
)
def test_a_later_run_counts_what_it_searched(
    deadlocks: str,
    agrees: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed(tmp_path, monkeypatch, SEARCH + TRACE, deadlocks=deadlocks)
    _, out, _ = said(capsys, "check", "die_hard", "--second-opinion=tlc")
    assert ("TLC agrees" in out) == agrees, out


def test_output_that_is_odd_is_no_crash() -> None:
    run = read_run(SEARCH.replace("search is 8.", "search is unknown."), 0.0)
    assert (run.complete, run.depth) == (True, 0)


def test_without_an_answer_nothing_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = "@!@!@STARTMSG 2171:1 @!@!@\nIn evaluation,\nsomething failed\n@!@!@ENDMSG 2171 @!@!@\n"
    code, out, _ = checked(tmp_path, monkeypatch, capsys, search=error, trace="")
    assert code == 12
    assert "no second opinion: TLC stopped: In evaluation, something failed" in out.splitlines()
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["second_opinion"]["same"] is False


def test_what_is_missing_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TLA2TOOLS", raising=False)
    words = ("check", "die_hard", "--second-opinion", "tlc")
    code, out, err = said(capsys, *words)
    assert (code, out) == (153, "")
    assert err.splitlines() == ["reassure: TLC needs a tla2tools.jar: give --jar FILE, or set TLA2TOOLS to its path"]
    code, _, err = said(capsys, *words, "--jar", str(tmp_path / "none.jar"))
    assert (code, len(err.splitlines())) == (153, 1)
    assert "none.jar, which should be tla2tools.jar" in err
    code, _, err = said(capsys, *words, "--jar", str(tmp_path / "no_folder" / "none.jar"))
    assert (code, (tmp_path / "no_folder").exists()) == (153, False)
    code, _, err = said(capsys, *words, "--jar", str(tmp_path))
    assert err.splitlines() == [f"reassure: there is no file {tmp_path}, which should be tla2tools.jar"]
    (tmp_path / "other.jar").write_text("x")
    code, _, err = said(capsys, *words, "--jar", str(tmp_path / "other.jar"))
    assert code == 153
    assert err.splitlines() == [f"reassure: {tmp_path}/other.jar is not tla2tools.jar: it has no tlc2/TLC.class"]
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, _, err = said(capsys, *words, "--jar", str(jar(tmp_path)))
    assert code == 153
    assert err.splitlines() == [f"reassure: TLC needs Java, and there is none in JAVA_HOME={tmp_path}"]
    code, _, err = said(capsys, "check", "die_hard", "--jar", "x.jar")
    assert code == 64
    assert "--jar is for --second-opinion" in err


def run_by(monkeypatch: pytest.MonkeyPatch, run: Callable[..., TlcRun]) -> None:
    """Has TLC run by another function."""
    monkeypatch.setattr(second_opinion, "run_tlc", run)


def test_an_interruption_keeps_our_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> TlcRun:
        raise KeyboardInterrupt

    run_by(monkeypatch, interrupted)
    code, out, _ = checked(tmp_path, monkeypatch, capsys)
    assert code == 12
    assert out.splitlines()[-4] == "no second opinion: interrupted"
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["stats"]["distinct"] == 16
    assert record["second_opinion"]["same"] is False


def test_a_budget_is_for_all_runs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(tmp_path, monkeypatch, TWO_PHASE_COMMIT)
    budgets, passed, right = [], [0.0], second_opinion.run_tlc

    def run(tlc: TlcInstallation, folder: Path, module: str, budget: float, *more: Any) -> TlcRun:
        budgets.append(budget)
        passed[0] += 61
        return right(tlc, folder, module, budget, *more)

    run_by(monkeypatch, run)
    monkeypatch.setattr(second_opinion, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    words = ("check", "two_phase_commit", "--second-opinion", "tlc", "--budget")
    code, out, _ = said(capsys, *words, "60s")
    assert (code, budgets) == (5, [60])
    assert "TLC did not finish in time: deadlock" in out.splitlines()
    code, out, _ = said(capsys, *words, "100s")
    assert (code, budgets) == (0, [60, 100, 39])


PROGRESS = """@!@!@STARTMSG 2200:0 @!@!@
Progress(4) at 2026-01-01 00:01:00: 1,385 states generated (1,385 s/min), 222 distinct states found, 178 on queue.
@!@!@ENDMSG 2200 @!@!@
"""


def test_a_limit_of_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends a run, however long that takes by the clock; the run says how far it came."""
    installed(tmp_path, monkeypatch, PROGRESS)
    java = tmp_path / "bin" / "java"
    java.write_text(java.read_text() + "while :; do :; done\n")
    run = run_tlc(replace(TlcInstallation.find(None), processor=0.2), tmp_path, "x", None)
    assert (run.finished, run.complete, run.generated, run.distinct) == (False, False, 1385, 222)
    assert 0.5 < run.processor < 1.5
    java.write_text(java.read_text().replace("while :; do :; done", "sleep 0.1; kill -9 $$"))
    run = run_tlc(replace(TlcInstallation.find(None), processor=9), tmp_path, "x", None)
    assert (run.finished, run.complete, run.error) == (True, False, "ended by SIGKILL")


def test_runs_after_the_search_share_a_limit_of_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits, right = [], second_opinion.run_tlc
    installed(tmp_path, monkeypatch, SEARCH, TRACE)

    def run(tlc: TlcInstallation, *more: Any) -> TlcRun:
        limits.append(tlc.processor)
        return replace(right(tlc, *more), processor=50)

    run_by(monkeypatch, run)
    result, bound = checked_model("die_hard", [], "native")
    for processor, expected in ((120, [120, 120, 70]), (50, [50, 50])):
        limits.clear()
        tlc = replace(TlcInstallation.find(None), processor=processor)
        opinion = second_opinion.ask_tlc(result, bound, SearchOptions(), tlc, Progress(quiet=True))
        assert (limits, opinion.processor) == (expected, 50)
        assert opinion.undecided == (["deadlock"] if processor == 50 else [])


def test_what_ends_the_search_early_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = "@!@!@STARTMSG 1001:1 @!@!@\nJava ran out of memory.\n@!@!@ENDMSG 1001 @!@!@\n"
    code, out, _ = checked(tmp_path, monkeypatch, capsys, search=PROGRESS + memory, trace="")
    report = "its last report was of 1,385 generated and 222 distinct states"
    assert (code, out.splitlines()[-4]) == (
        12,
        f"no second opinion: TLC stopped: Java ran out of memory; {report}",
    )


@pytest.mark.parametrize(("model", "expected"), [("intermediate_half_open", "StepOrEnd"), ("core", "Next")])
def test_where_a_run_may_end_is_no_deadlock(
    model: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Step` alone, which stands before `StepOrEnd` in the module, ends nowhere."""
    bound, texts = prepare(model, []).bound, []

    def run(_: TlcInstallation, folder: Path, module: str, *__: Any) -> TlcRun:
        texts.append((folder / f"{module}.tla").read_text())
        return TlcRun(0, False)

    run_by(monkeypatch, run)
    result: Any = None
    tlc = TlcInstallation("java", tmp_path)
    asked = second_opinion.Asked(result, bound, SearchOptions(), tlc, export(bound), tmp_path)
    asked.deadlock(result)
    (text,) = texts
    assert f"NextOrEnd == vars = vars /\\ {expected}\n" in text


def test_an_incomplete_search_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jar(tmp_path)
    words = ("check", "die_hard", "--depth", "3", "--second-opinion", "tlc")
    code, out, _ = said(capsys, *words, "--jar", str(tmp_path / "tla2tools.jar"))
    assert code == 5
    assert any(line.startswith("no second opinion: our own search is not complete") for line in out.splitlines())


def test_a_state_is_evaluated_once_within_enabled() -> None:
    module = "Becomes(s) ==\n    /\\ x' = s.x\n    /\\ seas' = s.seas\n\nInit == TRUE\n"
    assert evaluated_once(module) == (
        "BecomesOnce(s) ==\n    \\E s_once \\in {s} :\n        /\\ x' = s_once.x\n        /\\ seas' = s_once.seas\n"
    )
    assert evaluated_once("Init == TRUE\n") == ""


def test_values_are_read_back() -> None:
    kinds = dict(prepare("kraft", []).bound.type.fields)
    partition = read_value(
        "[ replicas |-> <<1, 2>>, isr |-> {1}, elr |-> {}, adding |-> {}, removing |-> {2}, leader |-> None,\n"
        "  leader_epoch |-> 3, partition_epoch |-> 0, recovering |-> FALSE, last_known_leader |-> 2,\n"
        "  last_known_is_nobody |-> TRUE ]",
        kinds["partition"],
    )
    assert (partition.replicas, partition.removing, partition.leader) == ((1, 2), frozenset({2}), None)
    assert (partition.leader_epoch, partition.last_known_leader, partition.last_known_is_nobody) == (3, 2, True)
    assert read_value("<<0, 1, 0>>", kinds["broker_epochs"]) == Map({1: 0, 2: 1, 3: 0})
    assert read_value("(1 :> 0 @@ 2 :> 1 @@ 3 :> 0)", kinds["broker_epochs"]) == Map({1: 0, 2: 1, 3: 0})
    assert read_value("1..2", kinds["unfenced"]) == frozenset({1, 2})
    for wrong in ("{4}", "{1", "<<1>>", "{1} 2", "?"):
        with pytest.raises(Unreadable):
            read_value(wrong, kinds["unfenced"])


def test_an_initial_state_may_violate() -> None:
    body = "Invariant x is violated by the initial state:\n/\\ big = 1\n/\\ small = 0\n"
    text = f"@!@!@STARTMSG 2107:1 @!@!@\n{body}@!@!@ENDMSG 2107 @!@!@\n"
    run = read_run(text, 0)
    assert run.traces == [TlcTrace("invariant", "x", [{"big": "1", "small": "0"}])]


def test_an_invariant_may_be_false_everywhere() -> None:
    text = "@!@!@STARTMSG 2230:1 @!@!@\nThe invariant of x is equal to FALSE\n@!@!@ENDMSG 2230 @!@!@\n"
    assert (read_run(text, 0).first.violated, read_run(text, 0).error) == ("constant", "")


def test_lassos_are_read() -> None:
    back = "@!@!@STARTMSG 2122:4 @!@!@\n2: Back to state 2: <step>\n@!@!@ENDMSG 2122 @!@!@\n"
    stutters = "@!@!@STARTMSG 2218:4 @!@!@\n8: Stuttering\n@!@!@ENDMSG 2218 @!@!@\n"
    assert read_run(TRACE + stutters, 0).first.loop == 6
    assert len(read_run(TRACE + stutters, 0).first.states) == 7
    assert read_run(TRACE + back, 0).first.loop == 1
    assert [len(trace.states) for trace in read_run(TRACE + TRACE + back, 0).traces] == [7, 7]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["die_hard", "two_phase_commit", "core", "core_liveness", "reassignment_contexts"])
def test_tlc_agrees(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    tlc()
    _, out, _ = said(capsys, "check", model, "--second-opinion", "tlc")
    assert out.splitlines()[-4].startswith("TLC agrees: ")


def test_a_search_of_classes_has_no_second_opinion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "two_phase_commit", "--second-opinion=tlc", "--symmetry=on")
    assert (code, "--second-opinion compares whole searches: leave out --symmetry" in err) == (64, True)
