"""Ctrl-C ends every command of several checks with 5: nothing else begins, and what was not run is not judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.analyses.diff import analysis as diff_analysis
from reassure.checkers.analyses.diff import command as diff_command
from reassure.checkers.analyses.guards.analysis import GuardSearches
from reassure.checkers.analyses.mutants.analysis import Judge
from reassure.checkers.analyses.sweep import analysis as sweep_analysis
from reassure.checkers.cli.commands import verify
from reassure.checkers.engines.native.liveness.decide import Liveness
from reassure.checkers.gate import run_check
from reassure.checkers.kafka.controller import model_steps
from reassure.checkers.kafka.diff.result import BuildDiff
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import ALL_VISITED, BY_USER, Interrupted, Stop, StopReason, budget_ended
from reassure.checkers.publish import model_pages
from reassure.checkers.testing import file_tests
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import report_of, said

DIE_HARD = """
from reassure import leads_to, invariant
from reassure.models.examples import die_hard
from reassure.models.examples.die_hard import Jugs

@leads_to(lambda s: s.big == 4)
def is_solved(s: Jugs) -> bool:
    return s.big == 0

@leads_to(lambda s: s.big == 5)
def is_filled(s: Jugs) -> bool:
    return s.big == 1

MODEL = die_hard.MODEL.adding(is_solved, is_filled)
"""
CTRL_C = [KeyboardInterrupt(), Interrupted(BY_USER.reason, BY_USER.text)]


@pytest.fixture
def from_call(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Puts something else in the place of a function's call of this number and of those after it; gives its calls."""

    def instead(number: int, owner: Any, name: str, other: Callable[[Callable[[], Any]], Any]) -> list[Any]:
        """other: what is done then, given what makes the call."""
        calls, function = list[Any](), getattr(owner, name)

        def wrapped(*args: Any, **options: Any) -> Any:
            calls.append(args)
            call = partial(function, *args, **options)
            return other(call) if len(calls) >= number else call()

        monkeypatch.setattr(owner, name, wrapped)
        return calls

    return instead


@pytest.fixture
def fails_at(from_call: Callable[..., list[Any]]) -> Callable[..., None]:
    """Has a function of a class or module raise in its call of this number, and in those after it."""

    def replace_function(number: int, owner: Any, name: str, error: BaseException = CTRL_C[0]) -> None:
        def fail(_: object) -> None:
            raise error

        from_call(number, owner, name, fail)

    return replace_function


def record(path: Path) -> JsonObject:
    data: JsonObject = json.loads(path.read_text())
    return data


@pytest.mark.parametrize("error", [*CTRL_C, budget_ended(3)])
def test_mutants(
    error: BaseException, tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Survivors that a budget left behind still count; that a property kills none is said of all mutants alone."""
    by_user = error in CTRL_C
    fails_at(13, Judge, "judge", error)
    code, out, _ = said(capsys, "mutants", "core", f"--json={tmp_path / 'r.json'}")
    assert "2 killed, 6 survived, 2 equivalent, 2 refused" in out
    assert "unexercised" not in out and "each of these mutants reaches it" not in out
    assert report_of(out, 5 if by_user else 15)
    written = record(tmp_path / "r.json")
    assert (code, written["exit_code"], len(written["mutants"])) == ((5, 5, 12) if by_user else (15, 15, 12))
    assert (written["complete"], written["unexercised"]) == (False, [])


def test_sweep(tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """The first configuration is violated, the second is not run."""
    words = ["sweep", "die_hard", "--set=goal=4,5", "--engine=reference", "-j", "1", f"--json={tmp_path / 'r.json'}"]
    assert said(capsys, *words)[0] == 12
    fails_at(2, sweep_analysis, "check_one")
    code, out, _ = said(capsys, *words)
    assert report_of(out, 5).endswith("\n1 safety-violation, 1 not run: interrupted\n")
    written = record(tmp_path / "r.json")
    assert (code, written["exit_code"], written["not_run"]) == (5, 5, [{"goal": "5"}])


GATE = """
[[check]]
model = "die_hard"
expect = "pass"

[[check]]
model = "core"
expect = "pass"

[[check]]
model = "die_hard"
kind = "guards"
expect = "pass"
"""


def test_gate(tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """The first check fails, the second is interrupted, the third is not begun."""
    path = tmp_path / "gate.toml"
    path.write_text(GATE)
    words = ["gate", str(path), "-j", "1", f"--json={tmp_path / 'r.json'}"]
    fails_at(2, run_check, "parse")
    code, out, _ = said(capsys, *words)
    assert out.count("FAIL") == 2 and "3 checks, 2 failed, 1 not run\n\ninconclusive (exit code 5)\n" in out
    written = record(tmp_path / "r.json")
    assert (code, written["exit_code"], written["complete"]) == (5, 5, False)
    assert [check["exit_code"] for check in written["checks"]] == [12, 5]


def test_a_gate_ends_where_a_command_tells_of_ctrl_c_by_an_exception(
    tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """As Z3 does in `verify`."""
    path = tmp_path / "gate.toml"
    path.write_text("[[check]]\nkind = 'verify'\ncertificate = 'c.json'\nexpect = 'pass'\n" + GATE)
    fails_at(1, verify, "run", CTRL_C[1])
    code, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (code, "4 checks, 1 failed, 3 not run\n\ninconclusive (exit code 5)\n" in out) == (5, True), out


def test_guards(tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    fails_at(3, GuardSearches, "judged")
    code, out, _ = said(capsys, "guards", "core", f"--json={tmp_path / 'r.json'}")
    written = record(tmp_path / "r.json")
    verdicts = [guard["verdict"] for guard in written["guards"]]
    assert (code, written["exit_code"], written["complete"]) == (5, 5, False)
    assert "undecided" not in verdicts[:2] and set(verdicts[2:]) == {"undecided"}
    assert "stopped because interrupted" in out


def test_fairness(tmp_path: Path, fails_at: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """The first property is violated, which gives 13; the second is not decided."""
    path = tmp_path / "mine.py"
    path.write_text(DIE_HARD)
    words = ["fairness", str(path), f"--json={tmp_path / 'r.json'}"]
    assert said(capsys, *words)[0] == 13
    fails_at(2, Liveness, "violating_run")
    code, out, _ = said(capsys, *words)
    written = record(tmp_path / "r.json")
    assert (code, written["exit_code"], written["stop_reason"]) == (5, 5, "interrupted")
    assert [p["holds"] for p in written["fairness"]] == [False, None]
    assert "is_solved  violated" in out and "is_filled  undecided" in out


def half_explored(call: Callable[[], Any]) -> Any:
    """The graph, as if Ctrl-C had ended its search."""
    graph = call()
    graph.stopped = BY_USER
    return graph


def half_checked(call: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """The result and the model, as if Ctrl-C had ended the search."""
    result, bound = call()
    return replace(result, returned=replace(result.returned, stopped=BY_USER)), bound


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    ("owner", "name", "half"),
    [
        (diff_analysis, "reachable_graph", half_explored),
        (diff_command, "check", half_checked),
    ],
    ids=["graphs", "properties"],
)
def test_diff(
    owner: Any,
    name: str,
    half: Callable[[Callable[[], Any]], Any],
    number: int,
    from_call: Callable[..., list[Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The search of one model ends by Ctrl-C: no other begins, and nothing is compared with half a model.

    A property of a search that was cut off is not said to be gained or lost.
    """
    calls = from_call(number, owner, name, half)
    code, out, err = said(capsys, "diff", "core", "core_liveness")
    assert (code, out, err, len(calls)) == (5, "", "reassure: interrupted\n", number)


@pytest.mark.parametrize(
    ("stop", "code"),
    [
        (ALL_VISITED, Exit.SAFETY),
        (budget_ended(1).stop, Exit.SAFETY),
        (Stop(StopReason.DEPTH, "depth 2 was reached"), Exit.SAFETY),
        (BY_USER, Exit.INCONCLUSIVE),
    ],
)
def test_kafka_diff(stop: Stop, code: Exit) -> None:
    """The builds differ, and one breaks a promise, as far as they were compared."""
    graphs = [SimpleNamespace(stopped=stop, complete=stop is ALL_VISITED)] * 2
    diff = BuildDiff(SimpleNamespace(graphs=graphs), (object(),), SimpleNamespace(exit=Exit.SAFETY))  # type: ignore[arg-type]
    assert diff.exit is code


def test_kafka_conform(from_call: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]) -> None:
    """The search of the model's states ends by Ctrl-C: the second release is not compared."""
    calls = from_call(1, model_steps, "explore", lambda call: replace(call(), stopped=BY_USER))
    words = ["kraft_kafka", "--kept", "--release=4.3.1", "--release=4.2.2", "--depth=2"]
    code, out, err = said(capsys, "kafka", "conform", *words)
    assert (code, len(calls)) == (5, 1), err
    assert err.endswith("reassure: interrupted\n") and "agree" not in out


def test_pages_are_not_made_of_half_a_search(tmp_path: Path, from_call: Callable[..., list[Any]]) -> None:
    path = tmp_path / "gate.toml"
    path.write_text("[[check]]\nmodel = 'die_hard'\nexpect = 'pass'\n[[check]]\nmodel = 'core'\nexpect = 'pass'\n")
    assert [run.check.model for run in model_pages.gate_runs(path)] == ["die_hard", "core"]
    calls = from_call(1, model_pages, "run", half_checked)
    with pytest.raises(KeyboardInterrupt):
        model_pages.gate_runs(path)
    assert len(calls) == 1


def test_models_in_pytest(from_call: Callable[..., list[Any]]) -> None:
    """The search of one model ends by Ctrl-C: pytest ends, and its properties are no failed tests."""
    calls = from_call(1, file_tests, "run", half_checked)
    tests = file_tests.TestsOfModel("die_hard", "reference")
    assert len(tests.tests()) > 1
    with pytest.raises(KeyboardInterrupt):
        tests.problem("")
    assert len(calls) == 1
