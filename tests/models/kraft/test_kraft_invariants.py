"""What K12 rests on: each invariant accepts the start, and refuses a state that is wrong in its way alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reassure import fill
from reassure.models.kraft import kraft_invariants
from reassure.models.kraft.state import AlterPartition, Cluster, Config, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.brokers import b

BOUND = BoundModel(kraft_invariants.MODEL, Config(unclean=Unclean.OFF))
(START,) = (s for _, _, s in BOUND.initial_states() if isinstance(s, Cluster))
EPOCHS = fill(Broker, BOUND.config, 0)
REQUEST = AlterPartition(Broker(1), 0, 0, b(1, 2), EPOCHS)
ASKED = replace(START, requests=frozenset({REQUEST}), proposed=b(1, 2), complete=b(1, 2))
"""The leader asks to add 2, which is complete."""

WRONG = {
    "unclean_election_stays_off": replace(ASKED, unclean=True),
    "in_sync_replicas_are_complete": replace(START, complete=NOBODY),
    "eligible_replicas_are_complete": replace(START, partition=replace(START.partition, elr=b(2))),
    "requests_are_not_ahead": replace(ASKED, requests=frozenset({replace(REQUEST, partition_epoch=1)})),
    "requests_know_no_later_registration": replace(
        ASKED, requests=frozenset({replace(REQUEST, broker_epochs=EPOCHS.put(Broker(2), 1))})
    ),
    "the_leader_waits_for_its_request": replace(ASKED, proposed=NOBODY),
    "proposed_replicas_are_complete": replace(ASKED, complete=b(1)),
    "the_leader_waits_for_the_isr": replace(START, leader_isr=NOBODY),
    "the_leader_waits_for_the_eligible": replace(
        START, leader_isr=b(1, 2), complete=b(1, 2, 3), partition=replace(START.partition, elr=b(3))
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_invariant(name: str) -> None:
    claim = next(p for p in BOUND.model.properties if p.name == name)
    assert BOUND.holds(claim, START)
    assert BOUND.holds(claim, ASKED)
    assert not BOUND.holds(claim, WRONG[name])


def test_each_is_tried() -> None:
    added = {p.name for p in kraft_invariants.MODEL.properties} - {
        p.name for p in kraft_invariants.kraft.MODEL.properties
    }
    assert added == set(WRONG)
