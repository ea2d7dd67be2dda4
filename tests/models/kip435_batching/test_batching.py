"""KIP-435: the worked example, the calculations case by case, every repair left out once, and what the claims say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from reassure import Model, action, require
from reassure.checkers.base.model_loader import config_values, load, settings
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.reference import search as reference
from reassure.models.kip435_batching import batching, batching_literal, reassignment_classic, rules
from reassure.models.kip435_batching import cases as batching_claims
from reassure.models.kip435_batching import zookeeper_cluster as zookeeper
from reassure.models.kip435_batching.rules import allowance, as_in_the_example, as_printed, moves_leader, repaired
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Memory, Next
from reassure.spec.claims import FOLDER, Reading, read
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.kafka.shared_properties import Part
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from reassure.spec.semantics.trace import replay
from tests.helpers.brokers import b, seq

QUIET = Progress(quiet=True)
P0 = Part(0)
P1 = Part(1)
ALL = frozenset(Broker(n) for n in range(1, 11))


def searched(model: Model, pairs: list[str]) -> tuple[CheckResult, BoundModel]:
    bound = BoundModel(model, make_config(model, settings(model, pairs)))
    verdict = CheckResult(model.name, "", config_values(bound.config), "reference")
    return reference.check(bound, SearchOptions(), verdict, QUIET), bound


@cache
def checked(name: str, pairs: tuple[str, ...], engine: str) -> CheckResult:
    return run(CheckRequest(name, list(pairs), engine, SearchOptions()), QUIET)[0]


def fallen(verdict: CheckResult) -> dict[str, int]:
    """What is violated, with the number of states of the shortest trace."""
    assert verdict.complete
    assert verdict.stats.clipped == 0
    return {p.name: len(p.trace) for p in verdict.properties if p.trace is not None and not p.temporal}


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


# -- claims by cases ------------------------------------------------------------------------------------------

CASES = {
    "rows_describe_what_they_name": (False, 3),
    "one_name_each": (False, 5),
    "printed_calculation_gives_the_example": (False, 1),
    "example_reading_gives_the_example": (True, 5),
    "repaired_calculation_gives_the_example": (True, 5),
    "printed_first_step_reaches_min_isr": (False, 3602),
    "repaired_first_step_reaches_min_isr": (True, 24048),
    "count_is_never_negative_if_3a_only_looks": (True, 250),
    "count_is_never_negative_if_3a_adds": (False, 8),
    "printed_batches_are_filled": (False, 42),
    "batches_from_steps_are_filled": (True, 324),
    "printed_lists_end_as_asked": (True, 19200),
    "repaired_lists_end_as_asked": (True, 19200),
    "printed_default_is_one_step": (False, 49),
    "repaired_default_is_one_step": (True, 4800),
}


@pytest.mark.parametrize("name", CASES)
def test_claim_by_cases(name: str) -> None:
    found = getattr(batching_claims, name)()
    assert (found.holds, found.cases) == CASES[name]
    assert (found.counterexample is None) == found.holds


def test_the_mapping_of_names_is_that_of_the_table() -> None:
    """B1: the names that the page of rules maps are those of the document, each once."""
    said = rules.__doc__ or ""
    lines = [line for line in said.splitlines() if line.startswith(("| R", "| P", "| L"))]
    rows = [[cell.strip() for cell in line.split("|")[2:4]] for line in lines]
    table = {f"reassignment.max.concurrent.{row[0].split(' ')[0]}" for row in rows}
    used = {f"reassignment.parallel.{row[1]}" for row in rows}
    assert table == set(batching_claims.TABLE)
    assert used == {name for where, name in batching_claims.USED.items() if where.startswith("Algorithm")}


def test_cases_can_fall() -> None:
    """Rules that leave something out are found out."""

    def without_exception(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        return repaired(target, current, isr, alive, at_once, 1)

    def leader_always_first(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        if target[0] in alive and target[0] not in current:
            return target[:1] + current
        return repaired(target, current, isr, alive, at_once, min_isr)

    def as_a_set(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        return tuple(sorted(repaired(target, current, isr, alive, at_once, min_isr)))

    assert not batching_claims.first_step_reaches_min_isr(without_exception).holds
    assert batching_claims.first_step_reaches_min_isr(leader_always_first).holds is False
    assert not batching_claims.one_step_by_default(leader_always_first).holds
    assert not batching_claims.ends_as_asked(as_a_set).holds


# -- the models, whole (the defaults are in gate.toml) -----------------------------------------------------------

NOTHING_FAILS = ("deaths=0", "crashes=0")
TINY = ("brokers=2", "replication_factor=1", "min_isr=1")
WHOLE: list[tuple[str, tuple[str, ...], tuple[int, int, int], dict[str, int]]] = [
    ("reassignment_classic", ("deaths=0", "crashes=2"), (2499, 6048, 30), {}),
    ("reassignment_classic", ("brokers=3", "deaths=1", "crashes=0"), (1174, 2588, 19), {"own_steps_keep_min_isr": 14}),
    (
        "reassignment_classic",
        ("brokers=3", "deaths=2", "crashes=0"),
        (7218, 20865, 22),
        {"own_steps_keep_min_isr": 14, "own_steps_keep_an_in_sync_copy": 15, "deadlock": 15},
    ),
    (
        "batching_literal",
        ("brokers=3", "deaths=1", "crashes=0"),
        (1936, 4417, 25),
        {
            "isr_is_assigned": 5,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 10,
            "own_steps_keep_an_in_sync_copy": 7,
            "never_fewer_copies_than_asked_for": 6,
            "deadlock": 15,
        },
    ),
    (
        "batching_literal",
        NOTHING_FAILS,
        (406, 660, 26),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 21,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 19,
            "own_steps_keep_an_in_sync_copy": 15,
            "limits_are_kept": 17,
            "replicas_within_limit": 17,
            "deadlock": 22,
        },
    ),
    (
        "batching_literal",
        ("deaths=0",),
        (2170, 4213, 28),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 21,
            "drops_after_all_added_were_in_sync": 10,
            "ends_without_leftovers": 17,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 18,
            "own_steps_keep_an_in_sync_copy": 10,
            "limits_are_kept": 14,
            "replicas_within_limit": 14,
            "deadlock": 8,
        },
    ),
    (
        "batching_literal",
        ("replicas_at_once=4", *NOTHING_FAILS),
        (352, 588, 16),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 11,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 9,
            "own_steps_keep_an_in_sync_copy": 5,
            "deadlock": 12,
        },
    ),
    (
        # A leader in TR is waited for: no copy is lost, and MinISR is.
        "batching_waits_to_lead",
        NOTHING_FAILS,
        (374, 628, 26),
        {
            "isr_is_assigned": 5,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_an_in_sync_copy": 15,
            "limits_are_kept": 17,
            "replicas_within_limit": 17,
        },
    ),
    (
        "batching_example",
        NOTHING_FAILS,
        (636, 1104, 36),
        {
            "isr_is_assigned": 5,
            "a_whole_copy_is_left": 31,
            "drops_after_all_added_were_in_sync": 10,
            "own_steps_keep_min_isr": 10,
            "own_steps_keep_a_leader": 29,
            "own_steps_keep_an_in_sync_copy": 25,
            "limits_are_kept": 27,
            "first_step_elects_the_new_leader": 11,
            "replicas_within_limit": 27,
            "deadlock": 32,
        },
    ),
    ("batching", ("brokers=3", "deaths=1"), (5968, 15786, 35), {}),
    ("batching", ("brokers=3", "replicas_at_once=3", "deaths=1"), (5976, 15826, 35), {}),
    (
        "batching",
        ("brokers=3", "replication_factor=1", "wanted_factor=2", "min_isr=1", "deaths=1"),
        (8893, 24416, 43),
        {},
    ),
]


@pytest.mark.parametrize(("name", "pairs", "counts", "expected"), WHOLE)
def test_whole(name: str, pairs: tuple[str, ...], counts: tuple[int, int, int], expected: dict[str, int]) -> None:
    # Four brokers have 341 lists to ask for in every state: too many for plain Python.
    verdict = checked(name, pairs, "reference" if "brokers=3" in pairs else "native")
    stats = verdict.stats
    assert fallen(verdict) == expected
    assert (stats.distinct, stats.generated, stats.depth) == counts
    assert [c.name for c in verdict.covers if not c.reached] == []


# -- every repair, left out ---------------------------------------------------------------------------------------

CONTROLLER: dict[str, Any] = {"who": "controller", "fair": "weak"}
Flaw = Callable[[], Model]


def nothing_awaited() -> Model:
    @action(**CONTROLLER)
    def wait(s: Cluster, part: Part) -> Cluster:
        require(reassignment_classic.stands_at(s, part, Next.AWAIT))
        return reassignment_classic.then(s, part, Next.REMEMBER)

    return batching.MODEL.replacing(wait)


def dropping_unjudged() -> Model:
    @action(who="controller", fair="weak", tags=["stop"])
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
    @action(who="controller", fair="weak", tags=["stop"])
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
        {"limits_are_kept": 5, "partitions_within_limit": 5},
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
    claims = [*batching.MODEL.properties, *batching_literal.MODEL.properties]
    assert {p.name for p in claims if p.kind in ("invariant", "step")} <= seen


# -- more than one partition ---------------------------------------------------------------------------------


def test_as_printed_neither_limits_leaders_nor_fills_batches() -> None:
    """B5. The shortest traces: two requests and the batch."""
    pairs = ["brokers=3", "partitions=2", "requests=2", "leaders_at_once=1", *NOTHING_FAILS]
    bound = BoundModel(
        batching_literal.MODEL, make_config(batching_literal.MODEL, settings(batching_literal.MODEL, pairs))
    )
    verdict = CheckResult("batching_literal", "", config_values(bound.config), "reference")
    asked = ["leaders_within_limit", "batches_are_filled", "partitions_within_limit"]
    reference.check(bound, SearchOptions(asked, 5), verdict, QUIET)
    found = {p.name: p.trace for p in verdict.properties}
    assert {name: len(trace) for name, trace in found.items() if trace is not None} == {
        "leaders_within_limit": 4,
        "batches_are_filled": 4,
    }


def taken(bound: BoundModel, s: Cluster, *steps: tuple[str, dict[str, Any]]) -> Cluster:
    for name, params in steps:
        after = bound.take(s, name, params)
        assert isinstance(after, Cluster)
        s = after
    return s


def enabled(bound: BoundModel, s: Cluster, who: str) -> set[tuple[str, Part | None]]:
    return {(t.action.name, dict(t.params).get("part")) for t in bound.steps(s) if t.action.who == who}


def two_partitions(name: str) -> tuple[BoundModel, Cluster]:
    """Partition 0 is to go to broker 3, which is offline, and partition 1 to broker 2."""
    config = Config(brokers=3, partitions=2, requests=2, deaths=1, replication_factor=1, min_isr=1)
    bound = BoundModel(load(name), config)
    start = next(s for _, _, s in bound.initial_states())
    asked = ("reassign", {"part": P0, "target": seq(3)}), ("reassign", {"part": P1, "target": seq(2)})
    return bound, taken(bound, start, *asked, ("die", {"broker": Broker(3)}))


def test_a_partition_that_cannot_begin_keeps_its_place() -> None:
    """B7, by the text: it waits in the batch, and the next batch, with the other's next step, waits for it."""
    bound, s = two_partitions("batching_example")
    steps = ["wait", "assign", "tell", "start", "remember", "lead", "stop", "delete", "finish"]
    s = taken(bound, s, ("collect", {}), *((step, {"part": P1}) for step in steps))
    assert (s.stored[P1].assignment, s.stored[P1].target) == (seq(2, 1), seq(2))
    assert enabled(bound, s, "controller") == {("crash", None)}


def test_a_partition_that_cannot_begin_holds_up_no_other() -> None:
    bound, s = two_partitions("batching")
    steps = ["calculate", "assign", "tell", "start"]
    assert enabled(bound, s, "controller") == {("calculate", P1), ("crash", None)}
    s = taken(bound, s, *((step, {"part": P1}) for step in steps))
    assert enabled(bound, s, "controller") == {("crash", None)}  # until broker 2 is in sync
    s = taken(bound, s, ("catch_up", {"part": P1, "broker": Broker(2)}), ("join", {"part": P1, "broker": Broker(2)}))
    steps = ["wait", "remember", "lead", "stop", "delete", "settle", "finish"]
    s = taken(bound, s, *((step, {"part": P1}) for step in steps))
    assert (s.stored[P1].assignment, s.stored[P1].leader, s.stored[P1].target) == (seq(2), Broker(2), ())


def test_requests_that_are_none() -> None:
    """The list as it is, a broker twice, another number of replicas, a second request too early, or one too many."""
    bound = BoundModel(batching.MODEL, Config(brokers=3, requests=2))
    start = next(s for _, _, s in bound.initial_states())
    for target in (seq(1, 2), seq(2, 2), seq(3), seq(1, 2, 3), ()):
        with pytest.raises(GuardRefused):
            taken(bound, start, ("reassign", {"part": P0, "target": target}))
    asked = taken(bound, start, ("reassign", {"part": P0, "target": seq(2, 1)}))
    with pytest.raises(GuardRefused):
        taken(bound, asked, ("reassign", {"part": P0, "target": seq(1, 3)}))
    steps = ["calculate", "assign", "tell", "start", "wait", "remember", "lead", "stop", "delete", "settle"]
    s = taken(bound, asked, *((step, {"part": P0}) for step in steps))
    with pytest.raises(GuardRefused):
        taken(bound, s, ("reassign", {"part": P0, "target": seq(1, 3)}))
    s = taken(bound, s, ("finish", {"part": P0}), ("reassign", {"part": P0, "target": seq(1, 3)}))
    assert (s.stored[P0].assignment, s.stored[P0].target, s.asked) == (seq(2, 1), seq(1, 3), 2)
    only = BoundModel(batching.MODEL, Config(brokers=3))
    with pytest.raises(GuardRefused):
        taken(only, replace(start, asked=1), ("reassign", {"part": P0, "target": seq(2, 1)}))


def test_limits_change_the_next_step_only() -> None:
    """B6: R goes down while two replicas are being added; they stay, and the next step adds none."""
    config = Config(brokers=4, replication_factor=1, wanted_factor=3, min_isr=1, replicas_at_once=2, changes=1)
    bound = BoundModel(batching.MODEL, config)
    start = next(s for _, _, s in bound.initial_states())
    s = taken(bound, start, ("reassign", {"part": P0, "target": seq(1, 2, 3)}), ("calculate", {"part": P0}))
    s = taken(bound, s, ("reconfigure", {"limits": replace(s.limits, replicas=1)}))
    assert s.memory[P0].goal == seq(1, 2, 3)
    assert (s.limits.replicas, s.granted.replicas, s.logs[P0].allowed) == (1, 2, 2)
    s = taken(bound, s, *((step, {"part": P0}) for step in ("assign", "tell", "start")))
    assert s.logs[P0].fresh == b(2, 3)
    with pytest.raises(GuardRefused):
        taken(bound, s, ("reconfigure", {"limits": replace(s.limits, replicas=2)}))


# -- the existing algorithm --------------------------------------------------------------------------------------


def states(name: str, config: Config) -> set[Cluster]:
    bound = BoundModel(load(name), config)
    frontier = [s for _, _, s in bound.initial_states()]
    seen = set(frontier)
    while frontier:
        after = {step.after for s in frontier for step in bound.steps(s)} - seen
        seen |= after
        frontier = list(after)
    return seen


def test_without_limits_batching_is_the_existing_algorithm() -> None:
    """B8: what those who depend on a partition can see is the same, state for state."""
    config = Config(brokers=3, replicas_at_once=3, deaths=0)
    seen = {
        name: {zookeeper.duties(s, config).parts for s in states(name, config)}
        for name in ("reassignment_classic", "batching")
    }
    assert seen["batching"] == seen["reassignment_classic"]
    assert len(seen["batching"]) == 56


def test_a_controller_may_die_between_any_two_steps() -> None:
    """B9: the covers say that others go on; this says where from."""
    config = Config(brokers=2, replication_factor=1, min_isr=1, deaths=0)
    bound = BoundModel(load("reassignment_classic"), config)
    left = {
        s.memory[P0].next
        for s in states("reassignment_classic", config)
        if s.asked and ("crash", None) in enabled(bound, s, "controller")
    }
    assert left == set(Next) - {Next.CALCULATE}


# -- input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["replication_factor=5"], "replication_factor=5 is more than brokers=4"),
        (["initial_isr=3"], "initial_isr=3 is more than 2 replicas"),
        (["min_isr=3"], "2 wanted replicas are not from min_isr=3 to 4"),
        (["wanted_factor=5"], "5 wanted replicas are not from min_isr=2 to 4"),
        (["replicas_at_once=0"], "replicas_at_once"),
        (["crashes=4"], "crashes"),
    ],
)
def test_configurations_that_are_none(pairs: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(batching.MODEL, settings(batching.MODEL, pairs))


# -- the claims -----------------------------------------------------------------------------------------------------

CLAIMS = read([FOLDER / "B.toml"])
READINGS = [(c.id, r) for c in CLAIMS for r in c.readings]


def test_every_claim_of_the_document_has_readings() -> None:
    assert [c.id for c in CLAIMS] == [f"B{n}" for n in range(1, 11)]
    assert {c.document for c in CLAIMS} == {"000_fb6c529609128823.txt"}


@pytest.mark.parametrize(("claim", "reading"), READINGS, ids=[f"{c}: {r.name}" for c, r in READINGS])
def test_reading(claim: str, reading: Reading) -> None:
    """It can be decided; and where this file knows the answer, it is the one expected."""
    if reading.function is not None:
        module, name = reading.function.split(":")
        if module == "kip435_batching.cases":
            assert reading.expect == ("holds" if CASES[name][0] else "violated")
        else:
            assert claim == "B10"
        return
    assert reading.model is not None
    model = load(reading.model)
    config = make_config(model, settings(model, [f"{k}={v}" for k, v in reading.set.items()]))
    bound = BoundModel(model, config)
    assert set(reading.properties) <= {p.name for p in [*bound.properties, *bound.covers]} | {"deadlock"}
    for name, pairs, _, expected in WHOLE:
        if (name, {*pairs}) == (reading.model, {f"{k}={v}" for k, v in reading.set.items()}):
            violated = tuple(p for p in reading.properties if p in expected)
            assert violated == (reading.properties if reading.expect == "violated" else ())


def test_the_readings_that_are_known_here() -> None:
    known = [(n, {*p}) for n, p, *_ in WHOLE]
    decided = [c for c, r in READINGS if (r.model, {f"{k}={v}" for k, v in r.set.items()}) in known]
    assert len(decided) == 9
