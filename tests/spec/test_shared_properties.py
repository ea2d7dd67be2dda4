"""The promises that all protocols share: each accepted and refused by some state or step."""

from __future__ import annotations

import pytest

from reassure import Map, replace
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.kafka.shared_properties import PROMISES, Copies, Duties, Part
from tests.helpers.brokers import b

SETTLED = Copies(
    replicas=(Broker(1), Broker(2)),
    isr=b(1, 2),
    leader=Broker(1),
    min_isr=2,
    wanted=b(1, 2),
    moving=False,
    whole=b(1, 2),
    loss_allowed=False,
    leaving=NOBODY,
    down=NOBODY,
    load=0,
    limit=1,
)
MOVING = replace(SETTLED, replicas=(Broker(1), Broker(2), Broker(3)), wanted=b(2, 3), moving=True, load=1)
CAUGHT_UP = replace(MOVING, isr=b(1, 2, 3), whole=b(1, 2, 3), load=0)
DONE = replace(SETTLED, replicas=(Broker(2), Broker(3)), isr=b(2, 3), leader=Broker(2), wanted=b(2, 3), whole=b(2, 3))


def duties(*copies: Copies, partitions: int = 0, leaders: int = 0) -> Duties:
    parts = {Part(i): p for i, p in enumerate(copies)}
    return Duties(frozenset(parts), Map(parts), partitions, 1, leaders, 1)


STEPS = [
    ("own_steps_keep_min_isr", CAUGHT_UP, DONE, True),
    ("own_steps_keep_min_isr", CAUGHT_UP, replace(DONE, isr=b(2)), False),
    ("own_steps_keep_min_isr", replace(CAUGHT_UP, isr=b(1)), replace(DONE, isr=b(2)), True),
    ("own_steps_keep_min_isr", replace(CAUGHT_UP, loss_allowed=True), replace(DONE, isr=b(2)), True),
    # A leader's own shrinking is fate; being forced out is not.
    ("own_steps_keep_min_isr", MOVING, replace(MOVING, isr=b(1)), True),
    ("own_steps_keep_min_isr", replace(MOVING, leaving=b(2)), replace(MOVING, isr=b(1)), False),
    ("own_steps_keep_min_isr", replace(MOVING, leaving=b(2)), replace(MOVING, isr=b(1), down=b(2)), True),
    ("own_steps_keep_a_leader", replace(MOVING, leaving=b(1)), replace(MOVING, leader=None, down=b(1)), True),
    ("own_steps_keep_a_leader", replace(MOVING, leaving=b(1)), replace(MOVING, leader=None), False),
    ("own_steps_keep_a_leader", CAUGHT_UP, DONE, True),
    ("own_steps_keep_a_leader", CAUGHT_UP, replace(DONE, leader=None), False),
    ("own_steps_keep_a_leader", replace(CAUGHT_UP, leader=None), replace(DONE, leader=None), True),
    ("own_steps_keep_an_in_sync_copy", CAUGHT_UP, DONE, True),
    ("own_steps_keep_an_in_sync_copy", CAUGHT_UP, replace(DONE, whole=b(1)), False),
    ("own_steps_keep_an_in_sync_copy", CAUGHT_UP, replace(DONE, isr=NOBODY), False),
    ("moves_end_as_wanted", CAUGHT_UP, DONE, True),
    ("moves_end_as_wanted", CAUGHT_UP, replace(DONE, replicas=(Broker(1), Broker(3))), False),
    ("moves_end_as_wanted", MOVING, CAUGHT_UP, True),
    ("a_move_ends", CAUGHT_UP, DONE, True),
    ("a_move_ends", MOVING, CAUGHT_UP, False),
]
STATES = [
    ("leaders_hold_what_was_committed", duties(SETTLED), True),
    ("leaders_hold_what_was_committed", duties(replace(SETTLED, whole=b(2))), False),
    ("leaders_hold_what_was_committed", duties(replace(SETTLED, whole=b(2), leader=None)), True),
    ("leaders_hold_what_was_committed", duties(replace(SETTLED, whole=b(2), loss_allowed=True)), True),
    ("limits_are_kept", duties(MOVING, partitions=1, leaders=1), True),
    ("limits_are_kept", duties(MOVING, partitions=2), False),
    ("limits_are_kept", duties(MOVING, leaders=2), False),
    ("limits_are_kept", duties(SETTLED, replace(MOVING, load=2)), False),
]
BY_NAME = {p.name: p for p in PROMISES}


@pytest.mark.parametrize(("name", "before", "after", "holds"), STEPS)
def test_steps(name: str, before: Copies, after: Copies, holds: bool) -> None:
    """Of one partition, and of the second of two."""
    function = BY_NAME[name].function
    assert function(duties(before), duties(after)) is holds
    assert function(duties(SETTLED, before), duties(SETTLED, after)) is holds


@pytest.mark.parametrize(("name", "state", "holds"), STATES)
def test_states(name: str, state: Duties, holds: bool) -> None:
    assert BY_NAME[name].function(state) is holds


def test_every_promise_is_accepted_and_refused() -> None:
    seen = {(name, holds) for name, *_, holds in [*STEPS, *STATES]}
    assert seen == {(p.name, holds) for p in PROMISES for holds in (True, False)}


def test_every_promise_says_what_breaks() -> None:
    for p in PROMISES:
        assert p.kind == "cover" or ". Otherwise " in p.doc, p.name
