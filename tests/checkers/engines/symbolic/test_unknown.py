"""What a proof that is not found says: the step, the question whether it is reached, and the lemmas of the model."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from reassure.checkers.engines.symbolic import prover
from reassure.checkers.engines.symbolic.any_number.samples import Samples, promising_for_any_number
from reassure.checkers.engines.symbolic.houdini import Houdini
from reassure.checkers.engines.symbolic.scout import Scout, promising
from reassure.checkers.engines.symbolic.solver import ProofClock, query_interrupted
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Interrupted, Stop, StopReason, budget_ended
from reassure.checkers.publish import sessions
from reassure.checkers.request.prepare import prepare
from tests.helpers.any_number import bound_to, system_of
from tests.helpers.command import said

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "prove-your-own.md"


@pytest.fixture
def permits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("permits", "conserved"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, text in sessions.files_of_page(PAGE.read_text()).items():
        Path(name).write_text(text.replace("Range(0, 6)", "Range(0, 3)").replace("6", "3"))
    return tmp_path


def test_the_step_is_named_and_its_state_can_be_searched_for(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "prove", "permits.py", "--set=clients=2")
    assert code == 5
    assert "\n  1. monitor: ring()\n       alarm: no -> yes\n" in out
    (command,) = re.findall(r"^    (reassure find permits.py .*)$", out, re.MULTILINE)
    code, out, _ = said(capsys, *shlex.split(command)[1:], "--no-guards")
    assert (code, "never true in this configuration" in out) == (16, True)


def test_an_invariant_that_is_not_asked_for_is_a_lemma(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["prove", "conserved.py", "--set=clients=2", "--property=no_alarm", "--certificate=c.json"]
    code, out, _ = said(capsys, *words)
    assert (code, "no_alarm  proved" in out, "  permits_are_conserved\n" in out) == (0, True, True)
    assert said(capsys, "verify", "c.json", "--model=conserved.py")[0] == 0


@pytest.fixture
def too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget ends as soon as relations of fields are looked for."""

    def promising(scout: object) -> list[object]:
        raise budget_ended(30)

    monkeypatch.setattr(prover, "promising", promising)


@pytest.mark.usefixtures("too_late")
def test_what_own_invariants_prove_needs_no_other_lemma(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "prove", "conserved.py", "--set=clients=2", "--certificate=c.json")
    assert (code, "an inductive invariant of 2 lemmas\n" in out) == (0, True)
    assert said(capsys, "verify", "c.json", "--model=conserved.py")[0] == 0


@pytest.mark.usefixtures("too_late")
def test_the_end_of_the_budget_leaves_what_was_checked(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("fewer.py").write_text(
        Path("conserved.py").read_text().replace("permits_are_conserved", "none_is_lost").replace("== 3", ">= 3")
    )
    code, out, _ = said(capsys, "prove", "fewer.py", "--set=clients=2", "--budget=30s")
    assert code == 5
    assert "  no_alarm      unknown (not inductive)\n  none_is_lost  holds within bounds (" in out
    assert "an inductive invariant of 1 lemma\n  none_is_lost\n" in out
    assert "stopped because the budget of 30 s ended\n" in out
    assert "is tried as a lemma; more --budget tries more relations of fields\n" in out


def test_the_step_is_from_a_state_that_keeps_every_invariant(permits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what breaks although all the others are assumed has a step; for the rest it is said what they need."""
    text = (
        Path("conserved.py").read_text().replace("permits_are_conserved", "few_are_out").replace("s.free + sum", "sum")
    )
    Path("few.py").write_text(text.replace("== 3", "<= 3"))
    code, out, _ = said(capsys, "prove", "few.py", "--set=clients=2", "--method=induction")
    assert code == 5
    assert "  no_alarm     unknown (proved as soon as few_are_out is)\n" in out
    assert "  few_are_out  unknown (not inductive)\n" in out
    assert re.findall(r"^(\w+) is not preserved by this step", out, re.MULTILINE) == ["few_are_out"]


def test_the_budget_ends_what_precedes_the_queries() -> None:
    """Of a large model there are tens of thousands of candidate lemmas."""
    prepared, told = prepare("core", []), list[str]()

    def say(what: str) -> None:
        told.append(what)
        if what in ("looking for lemmas", "8 candidate lemmas"):
            raise budget_ended(1)

    scout = Scout(prepared.bound, prepared.lowered)
    lemmas = promising(scout)
    scout.say = say
    with pytest.raises(Interrupted):
        promising(scout)
    told.clear()
    with pytest.raises(Interrupted):
        Houdini(Machine(prepared.lowered), scout, [], lemmas, say, lambda: None)
    assert told == [f"{n} candidate lemmas" for n in range(9)]


def test_the_budget_ends_what_precedes_the_queries_of_any_number() -> None:
    system, told = system_of(bound_to("two_phase_commit")), list[str]()
    samples = Samples(system, told.append)
    assert len(told) == len(set(told)) == len(samples.states)
    told.clear()
    promising_for_any_number(samples)
    assert told.count("looking for lemmas") > told.count("comparing lemmas") > 9


def test_z3_has_many_names_for_the_end_of_the_budget() -> None:
    quiet, canceled = Progress(quiet=True), query_interrupted("canceled").stop
    over, left, none = ProofClock(0.0, quiet), ProofClock(1e9, quiet), ProofClock(None, quiet)
    assert canceled == Stop(StopReason.SOLVER, "Z3 gave no answer: canceled")
    assert over.cause(canceled) == budget_ended(0.0).stop
    assert (over.cause(None), over.cause(BY_USER)) == (None, BY_USER)
    assert (left.cause(canceled), none.cause(canceled)) == (canceled, canceled)
    with pytest.raises(Interrupted, match="the budget of 0 s ended"):
        over.say("a goal")
    left.say("a goal")
    none.say("a goal")
