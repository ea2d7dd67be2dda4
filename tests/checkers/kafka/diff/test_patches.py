"""Patches of Kafka that change nothing print nothing; a fault is shown, by a run that Kafka executes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.builds import patched_build
from reassure.checkers.kafka.builds.own_tests import OwnTests
from reassure.checkers.kafka.controller.explore import LATE, ExploreLimits, Scope
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.diff import patches, patches_command
from reassure.checkers.kafka.diff.analysis import BASE, HEAD
from reassure.checkers.kafka.diff.patches import PatchJudge, PatchOutcome
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from tests.helpers.command import report_of, said
from tests.helpers.kafka_jars import kafka_sources

FOLDER = Path(patched_build.__file__).parent / "patches"


@pytest.mark.slow
def test_ten_changes_of_nothing_in_one_build_and_a_fault_that_kafkas_own_tests_miss() -> None:
    kafka_sources("4.3.1")
    judge = PatchJudge(release("4.3.1"), [Scope(2, events=(LATE,))], 1, ExploreLimits())
    fault = FOLDER / "fault-06-cancellation-unchecked.patch"
    same, wrong = judge.outcomes([sorted(FOLDER.glob("same-*")), [fault]], Progress(quiet=True))
    assert len(same.paths) == 10 and same.complete and same.states == 1588
    assert (same.differences, same.differing_steps, same.run, same.head_breaks, same.base_breaks) == ((), 0, (), (), ())
    assert wrong.differing_steps == 424 and wrong.complete
    assert wrong.run == ("reassign([1])", "reassign([2])", "fence(1)", "cancel()")
    assert wrong.head_breaks == ("leader_has_a_successor",)


OUTCOME = PatchOutcome((Path("p.patch"),), ("ab",), "", Scope(2), 9, 9, 0, (), (), (), (), True, OwnTests(3, ()), 1.0)


@pytest.mark.parametrize(
    ("outcome", "code", "line"),
    [
        (OUTCOME, Exit.OK, "p: no difference (2 brokers; 1 s); 0 of Kafka's own tests fail"),
        (
            replace(OUTCOME, own_tests=OwnTests(2, ("testA(): x",))),
            Exit.SAFETY,
            "p: no difference (2 brokers; 1 s); 1 of Kafka's own tests fail",
        ),
        (
            replace(OUTCOME, complete=False),
            Exit.INCONCLUSIVE,
            "p: no difference (2 brokers, not finished; 1 s); 0 of Kafka's own tests fail",
        ),
        (
            replace(OUTCOME, differences=("isr",), differing_steps=4, run=("cancel()",)),
            Exit.EXPECTATION,
            "p: 4 of 9 steps differ (2 brokers; 1 s): cancel(); 0 of Kafka's own tests fail",
        ),
        *(
            (
                replace(
                    OUTCOME, differences=("isr",), differing_steps=4, run=("cancel()",), head_breaks=tuple(promises)
                ),
                code,
                "p: 4 of 9 steps differ (2 brokers; 1 s): cancel(); "
                f"breaks {', '.join(promises)}; 0 of Kafka's own tests fail",
            )
            for promises, code in (
                (["a_led_reassignment_can_end"], Exit.LIVENESS),
                (["a_led_reassignment_can_end", "leader_has_a_successor"], Exit.SAFETY),
            )
        ),
    ],
    ids=["the same", "a test fails", "not finished", "it differs", "it hangs", "it breaks a promise"],
)
def test_the_exit_code_and_line_of_an_outcome(
    outcome: PatchOutcome, code: Exit, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Judged:
        def __init__(self, *_: object) -> None:
            pass

        def outcomes(self, *_: object) -> list[PatchOutcome]:
            return [outcome]

    monkeypatch.setattr(patches_command, "PatchJudge", Judged)
    got, out, _ = said(capsys, "kafka", "patches", "p.patch", "--own-tests")
    differing = sum(bool(o.differences) for o in [outcome])
    assert (got, report_of(out, got)) == (code.value, f"{line}\n{differing} of 1 builds differ from Kafka 4.3.1\n")


def test_a_scope_that_was_cut_short_is_not_made_good_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = iter([False, True])

    def compared(base: object, head: object) -> SimpleNamespace:
        graphs = {HEAD: SimpleNamespace(states=[1])}
        return SimpleNamespace(differences=list, complete=next(complete), graphs=graphs, steps=1, differing_steps=0)

    build = SimpleNamespace(digests=("ab",), comment="why")
    none = SimpleNamespace(only={HEAD: [], BASE: []})
    for name, value in {
        "make_build": lambda *_: build,
        "release": lambda _: "head",
        "fetch": lambda _: "jars",
        "sources": lambda _: None,
        "Driver": lambda _: nullcontext(),
        "explore_controller": lambda *_: None,
        "BuildComparison": compared,
        "compare_promises": lambda *_: none,
    }.items():
        monkeypatch.setattr(patches, name, value)
    judge = PatchJudge(release("4.3.1"), [Scope(2), Scope(3)], 1, ExploreLimits())
    (outcome,) = judge.outcomes([[Path("p.patch")]], Progress(quiet=True))
    assert (outcome.scope, outcome.complete) == (Scope(3), False)
    assert (outcome.record()["sha256"], outcome.record()["comment"]) == (["ab"], "why")


def test_what_is_no_folder_of_patches_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kafka_sources("4.3.1")
    assert main(["kafka", "patches", str(tmp_path)]) == Exit.USAGE.value
    assert capsys.readouterr().err == f"reassure: {tmp_path} has no file *.patch or *.diff\n"
