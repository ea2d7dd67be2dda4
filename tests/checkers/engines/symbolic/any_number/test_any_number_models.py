"""kraft for any number of brokers, and mutants of which nothing false is proved."""

from __future__ import annotations

import pytest

from tests.helpers.any_number import proof, statuses


@pytest.mark.slow
def test_kraft_with_nothing_but_min_isr_of_one_assumed() -> None:
    result = proof("kraft", "unclean=off")
    of = statuses(result)
    unproved = {name for name, status in of.items() if status != "proved"}
    assert unproved == {"limits_are_kept"}
    assert len(of) == 46
    assert result.proof is not None and result.proof.any_number is not None
    assert result.proof.bounds_open == []
    assert result.proof.any_number["free"]["min_isr"] == 1


LOST = ["nothing_lost_by_a_completion", "nothing_lost_by_a_cancellation"]


@pytest.mark.slow
def test_nothing_is_lost_by_kafkas_rules_with_the_fixes() -> None:
    """The promises of K20 and K21."""
    result = proof("kraft_kafka", "release=fixed", "unclean=off", properties=LOST)
    assert {name: statuses(result)[name] for name in LOST} == dict.fromkeys(LOST, "proved")
    assert result.proof is not None and "strays == NOTHING" in result.proof.lemmas


def test_a_record_is_lost_by_kafkas_own_rules() -> None:
    result = proof("kraft_kafka", "release=4.4", "unclean=off", properties=LOST[:1])
    (found,) = [p for p in result.properties if p.name == LOST[0]]
    assert found.status == "violated"
    assert found.trace is not None and len(found.trace) == 7


MUTANTS = [
    ("adding_not_awaited", "completion_needs_everything_added"),
    ("completion_without_min_isr", "completion_needs_min_isr"),
    ("elr_not_emptied", "elr_only_below_min_isr"),
    ("isr_not_trimmed", "isr_within_replicas"),
    ("fenced_accepted", "isr_is_unfenced"),
    ("leader_epoch_not_raised", "completion_raises_leader_epoch"),
    ("epoch_unchecked", "stale_request_changes_nothing"),
    ("cancel_unchecked", "cancel_below_min_isr_is_refused"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), MUTANTS)
def test_nothing_that_a_mutant_violates_is_proved(mutant: str, name: str) -> None:
    result = proof(mutant, properties=[name])
    assert statuses(result)[name] == "violated"
