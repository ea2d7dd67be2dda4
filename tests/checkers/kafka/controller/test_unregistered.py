"""K25 on Kafka's own classes: its method fails for the reason that the page tells, and passes with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller.kafka_tests import MethodOutcome, run_methods, with_tests
from reassure.checkers.kafka.controller.releases import release
from tests.helpers.kafka_jars import class_path

FINDINGS = Path(__file__).parents[4] / "docs" / "findings"
METHOD = (FINDINGS / "K25-4.3.java").read_text(encoding="utf-8")


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
