"""`reassure mutants --all` and `--record`: the plan is followed, what is stale is judged, reasons are asked for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants import mutants_of_all
from reassure.checkers.analyses.mutants.mutant_run import MutantReport, MutantRequest
from reassure.checkers.analyses.mutants.mutants_of_all import MutantsOfAll
from reassure.checkers.analyses.mutants.record import MutantPaths, read_records, shipped_models
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Stop, budget_ended
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import load_model


@pytest.fixture
def paths(tmp_path: Path) -> MutantPaths:
    """A plan for one model, or for all."""
    plan = tmp_path / "mutants.toml"
    plan.write_text("max = 12\nseed = 2\n")
    return MutantPaths(plan, tmp_path / "mutants.json")


def judged(paths: MutantPaths, model: str | None, write: bool) -> tuple[Exit, str]:
    out = io.StringIO()
    console = Console(file=out, width=200)
    code = MutantsOfAll(1, None, None, Progress(quiet=True), console, paths).run(model, write)
    return code, out.getvalue()


def test_the_record_of_one_model(paths: MutantPaths) -> None:
    code, out = judged(paths, "two_phase_commit", True)
    assert code is Exit.OK
    assert out.startswith("two_phase_commit: 12 mutants, a sample of 37: ")
    record = read_records(paths.record)["two_phase_commit"]
    assert (record.sha256, record.set, record.seed) == (digest(load_model("two_phase_commit")), [], 2)
    assert (record.mutants, record.judged, sum(record.counts.values())) == (37, 12, 12)
    assert [*record.kills] == ["consistent", "deadlock", "everybody_commits", "everybody_aborts"]
    assert (record.violated, record.unexercised) == ([], [])
    assert len(record.survivors) == record.counts["survived"]
    again = judged(paths, "two_phase_commit", True)
    assert again == (Exit.OK, "nothing is stale\n")


def test_equivalent_mutants_are_judged_again_in_wider_configurations(paths: MutantPaths) -> None:
    """Of three brokers each is among the first three, and a reassignment does not move the leader."""
    plan = 'max = 6\nfurther = 0\nseed = 1177\n[[run]]\nmodel = "core"\n'
    paths.plan.write_text(plan)
    judged(paths, "core", True)
    without = read_records(paths.record)["core"]
    paths.plan.write_text(plan + "wider = [{ brokers = 4 }]\n")
    judged(paths, "core", True)
    record = read_records(paths.record)["core"]
    assert (record.wider, without.wider, without.equivalent) == ([["brokers=4"]], [], [])
    assert (record.counts, record.survivors) == (without.counts, without.survivors)
    assert [(e.place, e.change, e.verdict, e.note) for e in record.equivalent] == [
        ("core.py:43", "without b <= Broker(2)", "survived",
         "with brokers=4: survived: the same number of states and steps, but different ones"),
        ("core.py:83", "without p.leader is None", "equivalent", "the same with brokers=4"),
        ("core.py:135", "without leader=keep_or_elect(p, isr)", "killed",
         "with brokers=4: killed: leader_in_isr (8 steps)"),
    ]  # fmt: skip


def test_an_unexercised_property_without_a_reason_is_told(paths: MutantPaths) -> None:
    """In `die_hard` some jug can always be filled or emptied, and the other property is violated by the model."""
    code, out = judged(paths, "die_hard", True)
    assert code is Exit.EXPECTATION
    assert out.startswith("die_hard: 38 mutants: ")
    assert "  unexercised: deadlock: no reason is stated in mutants.toml\n" in out
    record = read_records(paths.record)["die_hard"]
    assert (record.unexercised, record.violated) == (["deadlock"], ["goal_not_reached"])


def test_without_record_nothing_is_written(paths: MutantPaths) -> None:
    paths.plan.write_text('max = 3\n[[reason]]\nproperties = ["deadlock"]\nwhy = "a jug can always be filled"\n')
    code, out = judged(paths, "die_hard", False)
    assert code is Exit.OK
    assert "die_hard: 3 mutants, a sample of 38: " in out
    assert "  unexercised: deadlock: a jug can always be filled\n" in out
    assert not paths.record.exists()


def test_after_the_sample_others_are_judged_until_each_property_has_killed_one(paths: MutantPaths) -> None:
    paths.plan.write_text("max = 1\nseed = 2\n")
    judged(paths, "two_phase_commit", True)
    record = read_records(paths.record)["two_phase_commit"]
    assert 1 < record.judged < 37
    assert record.unexercised == []
    paths.plan.write_text(f"max = 1\nfurther = {record.judged - 2}\nseed = 2\n")
    paths.record.unlink()
    assert judged(paths, "two_phase_commit", True)[0] is Exit.EXPECTATION
    fewer = read_records(paths.record)["two_phase_commit"]
    assert (fewer.judged, len(fewer.unexercised)) == (record.judged - 1, 1)
    paths.plan.write_text('max = 1\nseed = 2\n[[reason]]\nproperties = ["consistent", "deadlock"]\nwhy = "a test"\n')
    paths.record.unlink()
    code, out = judged(paths, "two_phase_commit", True)
    record = read_records(paths.record)["two_phase_commit"]
    assert record.judged == 1
    assert (code, record.unexercised != []) == (Exit.OK, True)
    assert f"  unexercised: {record.unexercised[0]}: a test\n" in out


@pytest.mark.parametrize(
    ("number", "early", "unexercised", "write", "expected"),
    [
        (1, BY_USER, [], True, Exit.INCONCLUSIVE),
        (2, BY_USER, ["deadlock"], False, Exit.INCONCLUSIVE),
        (2, budget_ended(1).stop, ["deadlock"], False, Exit.EXPECTATION),
    ],
)
def test_what_is_ended_early_is_not_recorded(
    number: int,
    early: Stop,
    unexercised: list[str],
    write: bool,
    expected: Exit,
    paths: MutantPaths,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One model is ended early, and others are not begun; one before it may have an unexercised property."""
    asked = []

    def ended(request: MutantRequest, *given: object) -> MutantReport:
        asked.append(request.model)
        return MutantReport(request.model, unexercised, [], [], [1, 2], early=early if len(asked) == number else None)

    monkeypatch.setattr(mutants_of_all, "judge_mutants", ended)
    code, out = judged(paths, None, write)
    assert (code, asked) == (expected, shipped_models()[:number])
    assert f"{asked[-1]}: 0 of 2 mutants: none was judged (" in out
    assert f"  this is incomplete: stopped because {early.text}\n" in out
    assert not paths.record.exists()


def test_a_model_that_is_not_of_the_project_has_no_record(paths: MutantPaths) -> None:
    with pytest.raises(Failure, match=r"fence_all\.py is none of them") as failed:
        judged(paths, "fence_all.py", True)
    assert failed.value.code is Exit.USAGE
