"""Moves by the protocols of controllers with ZooKeeper, from a state that is not all in sync."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.evaluate import judge_plan
from reassure.checkers.kafka.plan.older_courses import course, missing_rule
from reassure.checkers.kafka.plan.present import Present, PresentState, brokers, in_sync
from reassure.checkers.kafka.plan.stages import PROTOCOLS, UNLIMITED, PlanLimits, PlanRules
from reassure.spec.kafka.partition import Broker

ONE_BY_ONE = PlanRules(PlanLimits(replicas=1))


def state(replicas: tuple[int, ...], isr: set[int], leader: int | None) -> PresentState:
    p = in_sync(replicas)
    return PresentState(replace(p, isr=brokers(isr), leader=None if leader is None else Broker(leader)))


@pytest.mark.parametrize("protocol", ["classic", "batching"])
def test_from_a_state_that_is_all_in_sync_it_is_the_usual_path(protocol: str) -> None:
    for current, size, most, least in itertools.product([(1,), (1, 2), (1, 2, 3)], (1, 2, 3), (1, UNLIMITED), (1, 2)):
        rules = PlanRules(PlanLimits(replicas=most), least)
        for target in itertools.permutations(range(1, 6), size):
            if target != current and least <= min(size, len(current)):
                usual = PROTOCOLS[protocol](current, target, rules)
                assert course(protocol, state(current, set(current), 1), target, {}, rules) == (usual, "")


@pytest.mark.parametrize(
    ("protocol", "target", "faults", "lists", "blocked"),
    [
        ("classic", (1, 2, 4), {}, [(1, 2, 3), (1, 2, 3, 4)], "waits for broker 2 (out of sync)"),
        ("batching", (1, 2, 4), {}, [(1, 2, 3)], "waits for broker 2 (out of sync)"),
        ("classic", (4, 3, 1), {}, [(1, 2, 3), (1, 2, 3, 4), (4, 3, 1)], ""),
        ("batching", (4, 3, 1), {}, [(1, 2, 3), (4, 3, 1, 2), (4, 3, 1)], ""),
        ("classic", (4, 3, 1), {4: "fenced"}, [(1, 2, 3), (1, 2, 3, 4)], "waits for broker 4 (fenced)"),
        ("batching", (4, 3, 1), {4: "fenced"}, [(1, 2, 3), (3, 1, 2)], "waits for broker 4 (fenced)"),
        ("classic", (3, 1), {}, [(1, 2, 3), (3, 1)], ""),
        ("classic", (2, 1, 3), {}, [(1, 2, 3), (1, 2, 3)], "waits for broker 2 (out of sync)"),
        (
            "batching",
            (4, 5, 1),
            {},
            [(1, 2, 3), (4, 1, 2, 3), (4, 1, 3), (4, 5, 1, 3), (4, 5, 1)],
            "",
        ),
    ],
)
def test_a_replica_out_of_sync(
    protocol: str, target: tuple[int, ...], faults: dict[int, str], lists: list[tuple[int, ...]], blocked: str
) -> None:
    """Broker 2 is out of sync: a step waits for it where it stays, and drops it where it goes."""
    path, told = course(protocol, state((1, 2, 3), {1, 3}, 1), target, faults, ONE_BY_ONE)
    assert ([stage.replicas for stage in path], told) == (lists, blocked)
    assert path[0].certain == {1, 3} and (told or path[-1].certain == set(target))


def test_a_leader_that_goes_waits_for_nobody_who_is_out_of_sync() -> None:
    """The leader is dropped: the first replica of the target that is in sync leads."""
    path, told = course("classic", state((1, 2, 3), {1, 3}, 1), (3, 4), {}, ONE_BY_ONE)
    assert (told, [stage.leader for stage in path], path[1].moves_leader) == ("", [1, 1, 3], True)


def test_min_isr_stays_in_sync_without_what_goes() -> None:
    """`enough_without` of the model: an added replica takes the place of one, and another is out of sync."""
    rules = PlanRules(PlanLimits(replicas=2), 2)
    path, told = course("batching", state((1, 2), {1, 2}, 1), (1,), {}, rules)
    assert (len(path), told) == (1, "waits: without broker 2 fewer than MinISR are in sync")
    assert course("classic", state((1, 2), {1, 2}, 1), (1,), {}, rules)[1] == ""


def test_nobody_leads() -> None:
    nobody = state((1, 2), {1}, None)
    told = "nobody leads: waits for broker 1 (of the ISR)"
    for protocol in ("classic", "batching"):
        assert missing_rule(protocol, nobody, False, False) == ""
        path, blocked = course(protocol, replace(nobody, gone=frozenset({1})), (2, 3), {}, ONE_BY_ONE)
        assert (blocked, len(path)) == (told, 1)


@pytest.mark.parametrize(
    ("protocol", "given_state", "moves", "unclean", "rule"),
    [
        ("classic", state((1, 2), {1}, 1), False, None, ""),
        ("batching", state((1, 2), {1}, 1), False, None, ""),
        ("batching-by-rack", state((1, 2), {1}, 1), False, None, "which replicas go first while some are out of sync"),
        ("classic", state((1, 2), {1}, 1), True, None, "what becomes of the reassignment that is under way"),
        ("classic", state((1, 2), {1}, None), False, None, "whom an unclean election makes the leader"),
        (
            "classic",
            replace(state((1, 2), {1}, 1), observers=frozenset({2})),
            False,
            None,
            "when observers (2) come in sync",
        ),
    ],
)
def test_the_rule_that_is_missing_is_named(
    protocol: str, given_state: PresentState, moves: bool, unclean: bool | None, rule: str
) -> None:
    told = missing_rule(protocol, given_state, moves, unclean)
    assert told == (rule and f"{protocol} has no rule here for this state: {rule}")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_move_ends_as_wanted_or_says_what_it_waits_for(data: st.DataObject) -> None:
    """And nobody is ever counted as in sync who is not, or who is dead."""
    some = st.permutations([1, 2, 3, 4, 5])
    current, target = (tuple(data.draw(some)[: data.draw(st.integers(1, 3))]) for _ in range(2))
    isr = set(data.draw(st.sets(st.sampled_from(current), min_size=1)))
    faults = dict.fromkeys(data.draw(st.sets(st.integers(1, 5))) - isr, "fenced")
    leader = data.draw(st.sampled_from(sorted(isr)))
    rules = PlanRules(PlanLimits(replicas=data.draw(st.sampled_from([1, 2, UNLIMITED]))), data.draw(st.integers(1, 2)))
    for protocol in ("classic", "batching"):
        path, blocked = course(protocol, state(current, isr, leader), target, faults, rules)
        if current == target:
            assert (len(path), blocked) == (1, "")
            continue
        assert blocked not in ("waits", "waits for brokers ")
        assert blocked or (path[-1].replicas == target and path[-1].certain == set(target))
        came = isr | (set(target) - set(current))
        assert all(stage.certain <= (came & set(stage.replicas)) - faults.keys() for stage in path)
        assert all(stage.leader in stage.certain for stage in path)


def test_batching_without_a_known_min_isr_is_open() -> None:
    cluster = ClusterFile(dict.fromkeys(range(1, 5)), min_isr=None)
    present = Present({("t", 0): state((1, 2), {1}, 1)})
    answers = {
        protocol: judge_plan(cluster, {("t", 0): (1, 2)}, {("t", 0): (1, 3)}, protocol, PlanLimits(), present=present)
        for protocol in ("classic", "batching")
    }
    why = "its MinISR is in no file (--min-isr N), which the steps of batching go by"
    assert answers["batching"].promises["moves_end_as_wanted"].open == {"t-0": why}
    assert answers["classic"].promises["moves_end_as_wanted"].status == "holds"
