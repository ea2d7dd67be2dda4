"""Brokers with other numbers: words are renamed as states are, and findings do not depend on numbers.

Also here: k25 on Kafka's own classes: its method fails for the reason that the page tells, and passes with the fix.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller import explore_properties
from reassure.checkers.kafka.controller.explore_properties import Renaming, renamings
from reassure.checkers.kafka.controller.kafka_tests import MethodOutcome, run_methods, with_tests
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import ControllerState, packed, unpacked
from reassure.spec.kafka.partition import Partition
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_explored import explored
from tests.helpers.kafka_jars import class_path


def test_a_state_is_renamed_in_every_field() -> None:
    partition = Partition(seq(3, 1), b(1), b(3), b(3), b(2), seq(1)[0], 0, 0, True, seq(2)[0])
    state = ControllerState(partition, b(1, 3), (0, 0, 0), True, b(1), False, 2, b(3), b(2))
    word, _, settings = packed(state)
    turned = Renaming((2, 3, 1))
    partition = Partition(seq(1, 2), b(2), b(1), b(1), b(3), seq(2)[0], 0, 0, True, seq(3)[0])
    words = (turned.states(np.array([word])), turned.settings(np.array([settings])))
    assert unpacked(int(words[0][0]), 0, int(words[1][0]), 3) == ControllerState(
        partition, b(1, 2), (0, 0, 0), True, b(2), False, 2, b(1), b(3)
    )


def test_the_first_renaming_changes_nothing() -> None:
    words = explored("4.4.0").states
    first, other = renamings(2)
    assert (first.states(words) == words).all() and (other.states(words) != words).any()
    assert (other.states(other.states(words)) == words).all()


def test_findings_are_the_same_without_renamings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No property reads a number: what is evaluated for one of several states holds for all of them."""
    graph = explored("3.9.0")
    findings = explore_properties.evaluate(graph)
    monkeypatch.setattr(explore_properties, "renamings", lambda brokers: renamings(brokers)[:1])
    assert explore_properties.evaluate(graph) == findings
    assert max(hit.count for hit in findings.violated.values()) > 1


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
