"""X1 for batches: the counterexample stands, and the walk sees what it should."""

from __future__ import annotations

from reassure.models.kip435_batching import rack_cases as racks
from reassure.models.kip435_batching.cases import brokers, steps
from reassure.models.kip435_batching.rules import repaired


def test_a_step_that_leaves_a_rack() -> None:
    """By hand: broker 8 comes before the request's third, and 4, alone in its rack, stands first among the excess."""
    passed = steps(repaired, brokers(1, 8, 5), brokers(1, 4, 7), 1, 2)
    assert brokers(1, 8, 7) in passed and passed[-1] == brokers(1, 8, 5)
    found = racks.repaired_stays_spread()
    assert not found.holds
    assert found.counterexample is not None
    assert found.counterexample.startswith("(1, 4, 7) to (1, 8, 5) with R = 1: (1 (rack a), 8 (rack c), 7 (rack c))")
    assert not racks.repaired_keeps_min_isr_without_any_rack().holds


def test_one_replica_is_always_left() -> None:
    found = racks.repaired_survives_any_rack()
    assert (found.holds, found.cases) == (True, 1_326)
    assert racks.example_survives_any_rack().holds


def test_the_conditions() -> None:
    assert racks.covers_all_racks(brokers(1, 4, 7)) and not racks.covers_all_racks(brokers(1, 4, 5))
    assert racks.survives_any_rack(brokers(1, 4)) and not racks.survives_any_rack(brokers(1, 2, 3))
    assert racks.produces_without_any_rack(brokers(1, 4, 7)) and not racks.produces_without_any_rack(brokers(1, 4, 5))


def test_every_pair_is_gone_through() -> None:
    assert len(list(racks.moves())) == 27 * 6 - 1
