"""KIP-435: every repair of the document's protocol left out once, and what falls then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reassure import Model, action, require
from reassure.models.kip435_batching import batching, batching_literal, reassignment_classic
from reassure.models.kip435_batching import zookeeper_cluster as zookeeper
from reassure.models.kip435_batching.rules import as_in_the_example, repaired
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Memory, Next
from reassure.models.mutants import last_in_sync_leaves, limit_stops_a_step
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.kafka.shared_properties import Part
from reassure.spec.semantics.trace import replay
from tests.helpers.batching_spaces import NOTHING_FAILS, TINY, WHOLE, fallen, searched

CONTROLLER: dict[str, str] = {"who": "controller", "fair": "weak"}
Flaw = Callable[[], Model]


def nothing_awaited() -> Model:
    @action(**CONTROLLER)
    def wait(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.AWAIT))
        return reassignment_classic.then(s, part, Next.REMEMBER)

    return batching.MODEL.replacing(wait)


def dropping_unjudged() -> Model:
    @action(who="controller", fair="weak")
    def stop(s: Cluster, part: Part) -> Cluster:
        m = s.memory[part]
        told = replace(s.logs[part], told=frozenset(m.goal))
        remembered = reassignment_classic.remembering(s, part, replace(m, assigned=m.goal))
        return reassignment_classic.stopped(reassignment_classic.logging(remembered, part, told), part)

    return batching.MODEL.replacing(stop)


def stored_at_once() -> Model:
    @action(**CONTROLLER)
    def assign(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.ASSIGN))
        m = s.memory[part]
        written = reassignment_classic.storing(s, part, replace(s.stored[part], assignment=m.goal))
        grown = reassignment_classic.union(m.assigned, m.goal)
        return reassignment_classic.remembering(written, part, replace(m, next=Next.TELL, assigned=grown))

    return batching.MODEL.replacing(assign)


def leader_from_anywhere() -> Model:
    @action(**CONTROLLER)
    def lead(s: Cluster, part: Part) -> Cluster:
        return reassignment_classic.led(s, part, successor=lambda p, m, alive: zookeeper.in_order(m.goal, alive))

    return batching.MODEL.replacing(lead)


def no_leader_is_fine() -> Model:
    @action(**CONTROLLER)
    def lead(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.LEAD))
        p, m = s.stored[part], s.memory[part]
        leader = batching.preferred_if_new(p, m, s.alive)
        told = replace(s.logs[part], told=frozenset(m.goal))
        led = reassignment_classic.storing(s, part, replace(p, leader=leader))
        return reassignment_classic.then(reassignment_classic.logging(led, part, told), part, Next.STOP)

    return batching.MODEL.replacing(lead)


def by_rule(rule: batching.Rule) -> Model:
    @action(**CONTROLLER)
    def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
        return batching.calculated(s, c, part, rule=rule)

    return batching.MODEL.replacing(calculate)


def more_goes_than_comes() -> Model:
    return by_rule(
        lambda target, current, isr, alive, r, min_isr: as_in_the_example(target, current, alive, r, min_isr)
    )


def joining_not_counted() -> Model:
    return by_rule(
        lambda target, current, isr, alive, r, min_isr: repaired(
            target, current, isr | frozenset(current) & frozenset(target), alive, r, min_isr
        )
    )


def leaders_not_limited() -> Model:
    return limited(partitions=True, leaders=False)


def partitions_not_limited() -> Model:
    return limited(partitions=False, leaders=True)


def limited(partitions: bool, leaders: bool) -> Model:
    def may_begin(s: Cluster, c: Config, leads: bool) -> bool:
        room = zookeeper.running_in(s, c) < s.limits.partitions or not partitions
        return room and (not leads or zookeeper.leading_in(s, c) < s.limits.leaders or not leaders)

    @action(**CONTROLLER)
    def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
        return batching.calculated(s, c, part, may_begin=may_begin)

    return batching.MODEL.replacing(calculate)


def finished_is_not_seen() -> Model:
    @action(**CONTROLLER)
    def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
        require(s.memory[part].assigned != s.stored[part].target)
        return batching.calculated(s, c, part)

    return batching.MODEL.replacing(calculate)


def remembered_too_early() -> Model:
    return batching.MODEL.replacing(reassignment_classic.remember)


def led_once() -> Model:
    return batching.MODEL.without("lead_again")


def leader_not_told() -> Model:
    @action(who="controller", fair="weak")
    def stop(s: Cluster, c: Config, part: Part) -> Cluster:
        m = s.memory[part]
        require(batching.enough_without(s.stored[part], m, c))
        remembered = reassignment_classic.remembering(s, part, replace(m, assigned=m.goal))
        return reassignment_classic.stopped(remembered, part)

    return batching.MODEL.replacing(stop)


def done_after_one_step() -> Model:
    @action(who="controller", fair="weak", tags=["finish"])
    def finish(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.FINISH))
        done = Memory(Next.IDLE, s.memory[part].goal, (), NOBODY, False)
        stored = replace(s.stored[part], target=())
        return reassignment_classic.remembering(reassignment_classic.storing(s, part, stored), part, done)

    return batching.MODEL.replacing(finish)


def order_is_nothing() -> Model:
    @action(who="controller", fair="weak", tags=["finish"])
    def finish(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.FINISH))
        p, m = s.stored[part], s.memory[part]
        target = () if frozenset(p.target) == frozenset(m.goal) else p.target
        done = Memory(Next.IDLE, m.goal, (), NOBODY, False)
        stored = replace(p, target=target)
        return reassignment_classic.remembering(reassignment_classic.storing(s, part, stored), part, done)

    def as_a_set(
        target: tuple[Broker, ...], current: tuple[Broker, ...], isr: Brokers, alive: Brokers, r: int, min_isr: int
    ) -> tuple[Broker, ...]:
        return tuple(sorted(repaired(target, current, isr, alive, r, min_isr)))

    return by_rule(as_a_set).replacing(finish)


FLAWS: list[tuple[Flaw, list[str], dict[str, int]]] = [
    (
        nothing_awaited,
        ["brokers=3", "min_isr=1", *NOTHING_FAILS],
        {"drops_after_all_added_were_in_sync": 10},
    ),
    (
        dropping_unjudged,
        ["brokers=3", "deaths=1", "crashes=0"],
        {"own_steps_keep_min_isr": 14, "own_steps_keep_a_leader": 14},
    ),
    (stored_at_once, ["brokers=3", "deaths=0"], {"isr_is_assigned": 4, "ends_without_leftovers": 19}),
    (leader_from_anywhere, [*TINY, "deaths=1", "crashes=0"], {"leaders_hold_what_was_committed": 15, "deadlock": 15}),
    (no_leader_is_fine, [*TINY, "deaths=1", "crashes=0"], {"own_steps_keep_a_leader": 12}),
    (
        more_goes_than_comes,
        ["brokers=3", "min_isr=1", "deaths=1", "crashes=0"],
        {"never_fewer_copies_than_asked_for": 13},
    ),
    (
        joining_not_counted,
        ["brokers=3", "replication_factor=1", "wanted_factor=2", "min_isr=1", "deaths=0"],
        {"limits_are_kept": 12, "replicas_within_limit": 12},
    ),
    (
        leaders_not_limited,
        [*TINY, "partitions=2", "requests=2", "leaders_at_once=1", *NOTHING_FAILS],
        {"limits_are_kept": 5, "leaders_within_limit": 5},
    ),
    (
        partitions_not_limited,
        [*TINY, "partitions=2", "requests=2", "partitions_at_once=1", *NOTHING_FAILS],
        {"limits_are_kept": 5, "movements_within_product": 11, "partitions_within_limit": 5},
    ),
    (finished_is_not_seen, ["brokers=3", "deaths=0"], {"deadlock": 14}),
    (remembered_too_early, [*TINY, "deaths=2", "crashes=0"], {"deadlock": 16}),
    (led_once, [*TINY, "deaths=2", "crashes=0"], {"deadlock": 17}),
    (
        leader_not_told,
        [*TINY, "deaths=2", "crashes=0"],
        {"isr_is_assigned": 18, "ends_without_leftovers": 19, "deadlock": 21},
    ),
    (done_after_one_step, [*NOTHING_FAILS], {"ends_in_the_order_asked_for": 15, "moves_end_as_wanted": 15}),
    (order_is_nothing, ["brokers=3", *NOTHING_FAILS], {"ends_in_the_order_asked_for": 15, "deadlock": 2}),
]


@pytest.mark.parametrize(("flaw", "pairs", "expected"), FLAWS, ids=[f.__name__ for f, _, _ in FLAWS])
def test_flaw(flaw: Flaw, pairs: list[str], expected: dict[str, int]) -> None:
    verdict, bound = searched(flaw(), pairs)
    assert fallen(verdict) == expected
    for p in verdict.properties:
        if p.trace is not None:
            replay(p.trace, bound)


@pytest.mark.parametrize("pairs", sorted({tuple(pairs) for _, pairs, _ in FLAWS}))
def test_without_a_flaw_nothing_falls(pairs: tuple[str, ...]) -> None:
    assert fallen(searched(batching.MODEL, list(pairs))[0]) == {}


def test_every_claim_of_the_models_falls_somewhere() -> None:
    seen = {name for *_, expected in [*WHOLE, *FLAWS] for name in expected} | {"batches_are_filled"}
    seen |= last_in_sync_leaves.BREAKS.keys() | limit_stops_a_step.BREAKS.keys()
    claims = [*batching.MODEL.properties, *batching_literal.MODEL.properties]
    assert {p.name for p in claims if p.kind in ("invariant", "step")} <= seen
