"""KIP-435: sentences that contradict each other, by cases, and that each answer can change."""

from __future__ import annotations

import pytest

from reassure.models.kip435_batching import sentence_cases as sentences
from reassure.models.kip435_batching.cases import as_in_the_example, as_printed, brokers
from reassure.models.kip435_batching.rules import repaired
from reassure.spec.kafka.partition import Broker, Brokers
from tests.helpers.batching_spaces import SENTENCES


@pytest.mark.parametrize("name", SENTENCES)
def test_sentence(name: str) -> None:
    found = getattr(sentences, name)()
    assert (found.holds, found.cases) == SENTENCES[name]
    assert (found.counterexample is None) == found.holds


def test_the_printed_calculation_gives_the_second_example() -> None:
    """B13: by hand, for MinISR 1 and 2."""
    assert sentences.printed_calculation_gives_the_batches().counterexample == (
        "MinISR = 1: (0, 1) (5, 6); (2, 3) (7,); (4,) (8,); () (9,)"
    )
    after = as_printed(
        brokers(5, 6, 7, 8, 9), brokers(0, 1, 2, 3, 4), frozenset(), frozenset(brokers(*range(10))), 2, 2
    )
    assert after == brokers(2, 3, 4, 5, 6)
    assert sentences.batch(brokers(0, 1, 2, 3, 4), after) == ((0, 1), (5, 6))


def test_copies_that_are_held() -> None:
    """B11: who is there before or after a step."""
    assert sentences.copies_held([brokers(1, 2), brokers(2, 3), brokers(3, 4, 5)]) == 4
    assert sentences.most_copies(sentences.all_in_one_step, 7).counterexample == "MinISR = 1: 8 copies, not 7"
    assert not sentences.most_copies(as_in_the_example, 8).holds


def test_n_adds_the_difference() -> None:
    """B16: 2 replicas become 5 with R = 1, so that n is 3."""
    now, wanted = brokers(1, 2), brokers(1, 2, 3, 4, 5)
    everybody = frozenset(wanted)
    assert sentences.with_n(wanted, now, everybody, everybody, 1, 0) == wanted
    assert as_printed(wanted, now, everybody, everybody, 1, 1) == brokers(1, 2, 3)


def test_cases_can_fall() -> None:
    """A rule in one step stores only what was stored; one that adds too much is found out."""

    def everything(
        target: tuple[Broker, ...], current: tuple[Broker, ...], isr: Brokers, alive: Brokers, r: int, min_isr: int
    ) -> tuple[Broker, ...]:
        return target

    assert sentences.stores_what_was_stored(everything).holds
    assert not sentences.stores_what_was_stored(repaired).holds
    assert not sentences.adds_at_most_r(everything).holds
    assert not sentences.gives_the_batches(everything, 1).holds
