"""The tests of the findings: which release runs them, and what is said of an outcome that ought to be another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import findings_command, kafka_tests
from reassure.checkers.kafka.controller.findings_command import build_for_tests, wrong_outcome
from reassure.checkers.kafka.controller.junit import GOES_ON, REASONS
from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.finding_tests import FindingTest
from reassure.checkers.kafka.pages.headlines import ELR, HEADLINES, Headline
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.releases import RELEASES_OF_RULES

ROLLBACK = Headline("Going back never ends", "K1", ("small",), "rolling_back_ends", "It stays.", "A rule.")
RIGHT = FindingTest("4.3.1", "ab", GOES_ON, GOES_ON)


def case(violated: bool, needs_elr: bool = False) -> Any:
    return SimpleNamespace(headline=replace(ROLLBACK, needs_elr=needs_elr), violated=violated)


def test_the_newest_release_with_jars_of_its_tests_runs_them() -> None:
    """Of the minor version that bears the rules' name; 4.2.2 and 4.4.0 have no such jars."""
    builds = {rules: build_for_tests(rules) for rules in RELEASES_OF_RULES}
    assert {rules: build.version for rules, build in builds.items()} == {
        "3.9": "3.9.2",
        "4.0": "4.0.2",
        "4.1": "4.1.0",
        "4.2": "4.2.1",
        "4.3": "4.3.1",
        "4.4": "4.4.0",
    }
    assert [rules for rules, build in builds.items() if not build.tested] == ["4.4"]


@pytest.mark.parametrize(
    ("violated", "needs_elr", "outcome", "wrong"),
    [
        (True, False, RIGHT, ""),
        (True, False, replace(RIGHT, message=""), "its test passes"),
        (True, False, replace(RIGHT, message="NPE"), "its test fails for another reason: NPE"),
        (True, False, replace(RIGHT, without_elr=""), "its test passes without ELR"),
        (True, True, replace(RIGHT, without_elr=""), ""),
        (True, True, RIGHT, f"its test fails without ELR: {GOES_ON}"),
        (False, False, replace(RIGHT, message="", without_elr=""), ""),
        (False, False, RIGHT, f"its test fails: {GOES_ON}"),
        (True, False, replace(RIGHT, fixed_build="4.3.1", fixed=""), ""),
        (True, False, replace(RIGHT, fixed_build="4.3.1", fixed="x"), "its test fails on the build with the fixes: x"),
    ],
)
def test_an_outcome_that_ought_to_be_another(violated: bool, needs_elr: bool, outcome: FindingTest, wrong: str) -> None:
    assert wrong_outcome(case(violated, needs_elr), outcome) == wrong


def test_every_finding_has_a_reason_to_fail_for() -> None:
    assert {headline.property for headline in HEADLINES} == set(REASONS)
    assert set(ELR) == set(RELEASES_OF_RULES)
    assert [release for release in ELR if not HEADLINES[0].in_production(release)] == ["3.9"]
    assert [h.claim for h in HEADLINES if h.in_production("3.9")] == ["K23", "K14", "K25"]


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("AssertionError: it goes on: PartitionRegistration(replicas=[1])", "it goes on"),
        (
            "IllegalArgumentException: Replica 2 is not assigned to this partition.",
            "Replica 2 is not assigned to this partition.",
        ),
        ("it goes on: PartitionRegistration(replicas=[1]) ==> expected: <1>", "it goes on"),
        ("expected: <0> but was: <85>", "expected: <0> but was: <85>"),
        ("", ""),
    ],
)
def test_a_message_without_the_state(message: str, short: str) -> None:
    assert kafka_tests._short(message) == short


def test_a_folder_that_is_no_build_is_refused(tmp_path: Path) -> None:
    for text in (None, "{", "[]", "{}"):
        if text is not None:
            (tmp_path / "build.json").write_text(text)
        with pytest.raises(Failure, match=r"is not a build of `reassure kafka build`: it has no build\.json$"):
            findings_command._built_from(tmp_path)
    (tmp_path / "build.json").write_text('{"release": "4.3.1"}')
    assert findings_command._built_from(tmp_path) == "4.3.1"


def test_the_finding_of_one_claim_leaves_the_others_as_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its classes are not started here; its tests fail for its reason, in every release."""
    before = findings.recorded()
    file = tmp_path / "confirmed.json"
    file.write_text(findings.CONFIRMED.read_text())
    asked: list[str] = []

    def tested(cases: list[Any], *others: Any) -> dict[str, FindingTest]:
        asked.extend(c.key for c in cases)
        return {
            c.key: FindingTest("4.3.1", "ab", REASONS[c.headline.property], REASONS[c.headline.property]) for c in cases
        }

    for name, played in {"_executed": lambda *values: (["a class"], Exit.OK), "tested": tested}.items():
        monkeypatch.setattr(findings_command, name, played)
    assert main(["kafka", "findings", "--claim", "K25", "--out", str(file)]) == 0
    assert asked == [f"K25, {rules}" for rules in RELEASES_OF_RULES]
    after = findings.recorded(file)
    assert {key for key in after.tests if after.tests[key] != before.tests.get(key)} == set(asked)
    assert set(after.tests) == set(before.tests) | set(asked)
    changed = [digest for digest in after.runs if after.runs[digest] != before.runs.get(digest)]
    assert [after.runs[digest] for digest in changed] == [["a class"]] * len(RELEASES_OF_RULES)
    assert set(after.runs) == set(before.runs) | set(changed) and after.with_fixes == before.with_fixes
    assert main(["kafka", "findings", "--claim", "K22", "--out", str(file)]) == 64
    message = "K22 is not the claim of a finding; there are K21, K20, K23, K24, K14, K18, K25"
    assert message in " ".join(capsys.readouterr().err.split())
