"""The tests of the findings: which release runs them, what is said of an outcome that ought to be another, and K25."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller import findings_command, kafka_tests
from reassure.checkers.kafka.controller.findings_command import build_for_tests, wrong_outcome
from reassure.checkers.kafka.controller.junit import GOES_ON, REASONS
from reassure.checkers.kafka.controller.kafka_tests import MethodOutcome, run_methods, with_tests
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.pages.finding_tests import FindingTest
from reassure.checkers.kafka.pages.headlines import ELR, HEADLINES, Headline
from reassure.checkers.machine.exit_codes import Failure
from reassure.spec.kafka.releases import RELEASES_OF_RULES
from tests.helpers.kafka_jars import class_path

FINDINGS = Path(__file__).parents[4] / "docs" / "findings"
METHOD = (FINDINGS / "K25-4.3.java").read_text(encoding="utf-8")

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
    assert [h.claim for h in HEADLINES if h.in_production("3.9")] == ["K23", "K14"]


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


def outcome(version: str, build: Path | None = None) -> MethodOutcome:
    class_path(version, tests=True)  # else the test is skipped
    (ran,) = run_methods(with_tests(release(version), build), [METHOD])
    return ran


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_a_request_of_before_the_registration_is_accepted(version: str) -> None:
    ran = outcome(version)
    assert not ran.passed and ran.message in ("expected: <[1]> but was: <[1, 2]>", "expected: <[1]> but was: <[2, 1]>")


def test_the_fix_refuses_it(tmp_path: Path) -> None:
    class_path("4.3.1", tests=True)
    make_build([FINDINGS / "no-join-without-epoch.patch"], release("4.3.1"), tmp_path / "fixed")
    assert outcome("4.3.1", tmp_path / "fixed") == MethodOutcome(True, "")
