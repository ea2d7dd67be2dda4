"""Runs of the controller as requests and faults of a cluster."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.cluster.effects import EFFECTS, PAUSED
from reassure.checkers.kafka.cluster.schedule import Act, Schedule, schedule
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.replay import ControllerTrace, controller_trace
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.committed_traces import committed_trace

Row = tuple[int, Act, int, tuple[int, ...], set[int]]


def run_of(model: str, name: str, **settings: object) -> ControllerTrace:
    trace, bound = committed_trace(model, name, **{"initial_isr": 0, **settings})
    return controller_trace(trace, ModelView(bound))


def rows(plan: Schedule) -> list[Row]:
    return [(s.number, s.act, s.broker, s.brokers, set(s.held)) for s in plan.steps]


def test_a_removed_broker_is_throttled_when_it_is_added_again() -> None:
    plan = schedule(run_of("kraft_kafka_racks", "nothing_lost_by_a_completion", release="4.4"))
    assert rows(plan) == [
        (1, Act.KILL, 1, (), set()),
        (2, Act.REASSIGN, 0, (1, 3), set()),
        (5, Act.WAIT, 0, (), set()),
        (6, Act.REASSIGN, 0, (2, 3), {2}),
        (7, Act.KILL, 3, (), {2}),
    ]
    assert (plan.brokers, plan.min_isr, plan.elr, plan.throttles) == (3, 2, True, True)
    assert plan.targets == [(1, 3), (2, 3)]


def test_a_follower_that_joins_and_is_added_again_is_throttled_the_second_time() -> None:
    plan = schedule(run_of("kraft_kafka_racks", "nothing_lost_by_a_cancellation", release="4.4"))
    assert rows(plan) == [
        (1, Act.REASSIGN, 0, (3, 4), {4}),
        (4, Act.WAIT, 0, (), {4}),
        (5, Act.KILL, 2, (), {4}),
        (6, Act.CANCEL, 0, (), {4}),
        (7, Act.REASSIGN, 0, (2, 3), {3, 4}),
        (8, Act.KILL, 1, (), {3, 4}),
    ]


def test_a_broker_that_comes_back_with_its_registration_is_paused() -> None:
    plan = schedule(run_of("kraft_kafka", "nothing_lost_by_a_completion", release="4.2"))
    assert rows(plan) == [
        (1, Act.REASSIGN, 0, (1,), set()),
        (2, Act.KILL, 1, (), set()),
        (3, Act.PAUSE, 2, (), set()),
        (4, Act.REASSIGN, 0, (2,), set()),
        (5, Act.RESUME, 2, (), set()),
    ]
    assert not plan.throttles


def test_a_broker_that_registers_anew_is_killed_and_started() -> None:
    plan = schedule(run_of("kraft_kafka", "broker_events_are_carried_out", release="4.2", min_isr=1, initial_isr=1))
    assert rows(plan) == [
        (1, Act.REASSIGN, 0, (2,), {2}),
        (2, Act.KILL, 1, (), {2}),
        (3, Act.CANCEL, 0, (), {2}),
        (4, Act.START, 1, (), {2}),
    ]
    assert [step.resigns for step in plan.steps] == [False, False, False, True]
    assert plan.start.unclean


@pytest.mark.parametrize(("pauses", "act"), [(False, Act.KILL), (True, Act.PAUSE)])
def test_a_broker_that_does_not_come_back_is_killed_or_paused(pauses: bool, act: Act) -> None:
    run = run_of("kraft_kafka_operated", "changed_min_isr_leaves_who_may_lead", release="4.4")
    plan = schedule(run, pauses)
    assert rows(plan) == [(1, act, 2, (), set()), (2, act, 1, (), set()), (3, Act.SET, 0, (), set())]
    assert plan.steps[2].setting == ("min.insync.replicas", "1")


def test_a_run_that_begins_out_of_sync_is_refused() -> None:
    trace, bound = committed_trace(
        "kraft_kafka", "nothing_lost_by_a_completion", release="4.2", initial_isr=1, admin_requests=3
    )
    with pytest.raises(Failure) as refused:
        schedule(controller_trace(trace, ModelView(bound)))
    assert refused.value.code is Exit.INCONCLUSIVE
    assert "does not begin with a new topic" in str(refused.value)


def test_every_finding_has_its_measurement() -> None:
    from reassure.checkers.kafka.pages.headlines import HEADLINES

    assert {h.property for h in HEADLINES} <= set(EFFECTS)
    assert set(EFFECTS) >= PAUSED
