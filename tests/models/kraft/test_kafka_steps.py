"""The rules for every command, where `kraft_kafka` does not have it: elections asked for, controlled shutdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reassure.models.kraft.kafka_controller import Release
from reassure.models.kraft.kafka_steps import Held, controller_step
from reassure.spec.kafka.partition import NOBODY, Broker, Partition

ONE, TWO = Broker(1), Broker(2)
BOTH = frozenset({ONE, TWO})
LED = Held(
    Partition((ONE, TWO), BOTH, NOBODY, NOBODY, NOBODY, TWO, 5, 5, False, None), BOTH, NOBODY, False, 1, Release.V4_4
)
HEADLESS = replace(
    LED,
    partition=replace(LED.partition, isr=NOBODY, elr=frozenset({ONE}), leader=None, last_known_leader=ONE),
    unfenced=frozenset({TWO}),
    min_isr=2,
)


@pytest.mark.parametrize(
    ("held", "kind", "broker", "leader", "error"),
    [
        (LED, "elect_preferred", 0, ONE, "NONE"),
        (LED, "balance", 0, ONE, "NONE"),
        (LED, "elect_unclean", 0, TWO, "ELECTION_NOT_NEEDED"),
        (LED, "cancel", 0, TWO, "NO_REASSIGNMENT_IN_PROGRESS"),
        (LED, "controlled_shutdown", 2, ONE, "NONE"),
        (LED, "restart_cleanly", 2, ONE, "NONE"),
        (HEADLESS, "elect_preferred", 0, None, "PREFERRED_LEADER_NOT_AVAILABLE"),
        (HEADLESS, "elect_unclean", 0, TWO, "NONE"),
        (HEADLESS, "maybe_elect_unclean", 0, None, "NONE"),
        (replace(HEADLESS, unclean=True), "maybe_elect_unclean", 0, TWO, "NONE"),
        (HEADLESS, "elect_leaderless", 0, None, "NONE"),
        (HEADLESS, "unfence", 1, ONE, "NONE"),
    ],
)
def test_who_leads_and_what_is_answered(held: Held, kind: str, broker: int, leader: Broker | None, error: str) -> None:
    outcome = controller_step(held, kind, broker, ())
    assert (outcome.held.partition.leader, outcome.error, outcome.resigns) == (leader, error, False)


def test_a_clean_restart_leaves_a_broker_eligible_and_an_unclean_one_does_not() -> None:
    held = replace(LED, min_isr=2)
    assert controller_step(held, "restart_cleanly", 2, ()).held.partition.elr == {TWO}
    assert controller_step(held, "restart_uncleanly", 2, ()).held.partition.elr == NOBODY


def test_a_living_stranger_makes_the_controller_throw() -> None:
    p = Partition((ONE,), NOBODY, frozenset({TWO}), NOBODY, NOBODY, None, 5, 5, False, None)
    held = replace(LED, partition=p, unfenced=frozenset({TWO}), min_isr=2)
    asked = controller_step(held, "reassign", 0, (2, 1))
    assert (asked.held, asked.error, asked.resigns) == (held, "UNKNOWN_SERVER_ERROR", False)
