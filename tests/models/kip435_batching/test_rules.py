"""KIP-435: what a step is calculated to be; the document's worked example."""

from __future__ import annotations

from itertools import pairwise

import pytest

from reassure.models.kip435_batching import rules
from reassure.models.kip435_batching.rules import allowance, as_in_the_example, as_printed, moves_leader, repaired
from reassure.spec.kafka.partition import Broker, Brokers
from tests.helpers.batching_spaces import P0, P1
from tests.helpers.brokers import b, seq

ALL = frozenset(Broker(n) for n in range(1, 11))


# -- a step's calculation (brokers 1 to 10 stand for the document's 0 to 9) ------------------------------------

FROM, TO = seq(1, 2, 3, 4, 5), seq(6, 7, 8, 9, 10)
WORKED = [
    FROM,
    seq(6, 1, 2, 3, 4, 5),
    seq(6, 7, 3, 4, 5),
    seq(6, 7, 8, 9, 5),
    TO,
]


def test_worked_example() -> None:
    """B2, in the two calculations that give it."""
    for before, after in pairwise(WORKED):
        assert as_in_the_example(TO, before, ALL, 2, 2) == after
        assert repaired(TO, before, frozenset(before), ALL, 2, 2) == after


def test_worked_example_as_printed() -> None:
    """B2: the first step drops the leader and its neighbour at once, and the list is in no one's order."""
    assert as_printed(TO, FROM, ALL, 2, 2) == seq(3, 4, 5, 6, 7)
    assert as_printed(TO, seq(3, 4, 5, 6, 7), ALL, 2, 2) == seq(5, 6, 7, 8, 9)
    assert as_printed(TO, seq(5, 6, 7, 8, 9), ALL, 2, 2) == TO


@pytest.mark.parametrize(
    ("target", "current", "alive", "at_once", "min_isr", "after"),
    [
        (seq(3, 4), seq(1, 2), ALL, 2, 1, seq(3, 4)),
        (seq(3, 4), seq(1, 2), b(1, 2), 2, 1, ()),  # nothing to add, and all dropped
        (seq(3, 4), seq(1, 2), b(1, 2), 1, 1, seq(2)),
        (seq(1, 3), seq(1, 2), ALL, 1, 1, seq(1, 3)),
        (seq(1, 4, 5), seq(1, 2, 3), ALL, 2, 1, seq(1, 4)),  # 3c takes min(MinISR, R) = 1, 2c drops 2
        (seq(2, 1), seq(1, 2), ALL, 1, 1, seq(2, 1)),
        (seq(1, 2), seq(1, 2), ALL, 1, 1, seq(1, 2)),
    ],
)
def test_as_printed(
    target: tuple[Broker, ...],
    current: tuple[Broker, ...],
    alive: Brokers,
    at_once: int,
    min_isr: int,
    after: tuple[Broker, ...],
) -> None:
    assert as_printed(target, current, alive, at_once, min_isr) == after


@pytest.mark.parametrize(
    ("target", "current", "isr", "alive", "at_once", "min_isr", "after"),
    [
        # The prose's own case: four brokers, MinISR 3, one in sync; two are added at once though R is 1.
        (seq(1, 2, 3), seq(1), b(1), b(1, 2, 3, 4), 1, 3, seq(1, 2, 3)),
        (seq(1, 2, 3), seq(1), b(1), b(1, 2, 3, 4), 1, 1, seq(1, 2)),
        # Nothing goes before as many have come.
        (seq(3, 4), seq(1, 2), b(1, 2), b(1, 2), 2, 1, seq(1, 2)),
        (seq(3, 4), seq(1, 2), b(1, 2), b(1, 2, 4), 2, 1, seq(4, 2)),
        # What is joining counts against R.
        (seq(3, 4), seq(3, 1, 2), b(1, 2), ALL, 1, 1, seq(3, 2)),
        (seq(3, 4), seq(3, 2), b(2), ALL, 1, 1, seq(3, 2)),
        (seq(3, 4), seq(3, 2), b(2, 3), ALL, 1, 1, seq(3, 4)),
        # The leader first, alone, unless all fits into one step.
        (seq(3, 4), seq(1, 2), b(1, 2), ALL, 1, 1, seq(3, 1, 2)),
        (seq(3, 4), seq(1, 2), b(1, 2), ALL, 2, 1, seq(3, 4)),
        # More replicas, fewer, the same in another order.
        (seq(1, 3, 4), seq(1, 2), b(1, 2), ALL, 1, 1, seq(1, 3, 2)),
        (seq(1,), seq(1, 2, 3), b(1, 2, 3), ALL, 1, 1, seq(1, 3)),
        (seq(2, 1), seq(1, 2), b(1, 2), ALL, 1, 1, seq(2, 1)),
    ],
)  # fmt: skip
def test_repaired(
    target: tuple[Broker, ...],
    current: tuple[Broker, ...],
    isr: Brokers,
    alive: Brokers,
    at_once: int,
    min_isr: int,
    after: tuple[Broker, ...],
) -> None:
    assert repaired(target, current, isr, alive, at_once, min_isr) == after


def test_example_with_its_first_broker_offline() -> None:
    assert as_in_the_example(TO, FROM, ALL - b(6), 2, 2) == FROM
    assert as_in_the_example(TO, WORKED[1], ALL - b(7, 8), 2, 2) == seq(6, 9, 3, 4, 5)


def test_allowance() -> None:
    assert allowance(b(1), ALL, 1, 3) == 2
    assert allowance(b(1, 2), b(1), 1, 3) == 2
    assert allowance(b(1), ALL, 4, 3) == 4


def test_which_steps_move_the_leader() -> None:
    assert moves_leader(seq(3, 4), seq(1, 2), seq(3, 1, 2), Broker(1))
    assert moves_leader(seq(3, 4), seq(3, 1), seq(3, 4), Broker(1))
    assert not moves_leader(seq(3, 4), seq(3, 1, 2), seq(3, 1), Broker(1))
    assert not moves_leader(seq(3, 1), seq(1, 2), seq(3, 1), Broker(1))
    assert not moves_leader(seq(3, 4), seq(1, 2), seq(3, 4), None)


def test_batches() -> None:
    """B5: as printed, what fills a batch is taken from all that was asked for."""
    both = frozenset({P0, P1})
    assert rules.collected(both, frozenset({P0}), 2) == frozenset({P0})
    assert rules.collected_from_steps(both, frozenset({P0}), 2) == both
    assert rules.collected(both, both, 1) == rules.collected_from_steps(both, both, 1) == frozenset({P0})
