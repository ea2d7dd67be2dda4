"""The stages of a plan's protocols, as their models and Kafka have them; batches within their limits."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.kafka.plan import stages
from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.evaluate import judge_plan
from reassure.checkers.kafka.plan.stages import (
    Batch,
    PlanLimits,
    PlanRules,
    Stage,
    batches,
    batching,
    classic,
    copies,
    kraft,
)
from reassure.spec.kafka.partition import Broker
from reassure.spec.language.vocabulary import GuardRefused
from tests.helpers.brokers import b, lists, seq
from tests.helpers.kafka_vectors import Vector, vectors
from tests.helpers.kraft_story import Story, partition

# -- the stages of each protocol ----------------------------------------------------------------------------------


def test_kraft_grows_then_is_the_target() -> None:
    path = kraft((1, 2, 3), (5, 4, 3), PlanRules(min_isr=2))
    assert path == (
        Stage((1, 2, 3), frozenset({1, 2, 3}), 1),
        Stage((5, 4, 3, 1, 2), frozenset({1, 2, 3}), 1, (5, 4), True),
        Stage((5, 4, 3), frozenset({3, 4, 5}), 5, follows=True),
    )
    assert [s.leader for s in kraft((3, 1), (5, 3), PlanRules(min_isr=1))] == [3, 3, 3]  # it stays if it can
    assert lists(kraft((1, 2, 3), (2, 1), PlanRules(min_isr=1))) == [(1, 2, 3), (2, 1)]


def test_classic_keeps_the_order_while_it_grows() -> None:
    path = classic((1, 2, 3), (5, 4, 3), PlanRules(min_isr=2))
    assert lists(path) == [(1, 2, 3), (1, 2, 3, 5, 4), (5, 4, 3)]
    assert [sorted(s.certain) for s in path] == [[1, 2, 3], [1, 2, 3], [3, 4, 5]]


@vectors("reassignment_replicas")
def test_kafka_merges_as_kraft_grows(v: Vector) -> None:
    """Kafka's own list while a reassignment goes on (with none going on before)."""
    current, target = tuple(v["current"]["replicas"] if isinstance(v["current"], dict) else v["current"]), v["target"]
    path = kraft(current, tuple(target), PlanRules(min_isr=1))
    if v["expect"]["adding"]:
        assert list(path[1].replicas) == v["expect"]["merged"]
        assert sorted(path[1].adding) == sorted(v["expect"]["adding"])
    else:
        assert len(path) <= 2


SETS = [frozenset(c) for n in range(1, 5) for c in itertools.combinations(range(1, 5), n)]


def passed_through(current: frozenset[int], target: frozenset[int]) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Replicas and ISR whenever the replicas of `models.kraft.kraft` change, nothing failing."""
    story = Story(4, partition(seq(*sorted(current)), b(*current), min(current)), min_isr=1)
    passed = [(current, current)]

    def take(name: str, **parameters: Any) -> None:
        chosen = [{"successor": Broker(x)} for x in range(1, 5)] if name in ("start", "alter_partition") else [{}]
        for more in chosen:
            with contextlib.suppress(GuardRefused):
                p = story.take(name, **parameters, **more)
                if frozenset(p.replicas) != passed[-1][0]:
                    passed.append((frozenset(map(int, p.replicas)), frozenset(map(int, p.isr))))
                return
        assert name == "hear", name

    take("start", target=b(*target))
    for follower in sorted(target - current):
        take("catch_up", follower=Broker(follower))
        take("propose_expansion", follower=Broker(follower))
        (request,) = story.s.requests
        take("alter_partition", request=request)
        take("hear")
    return passed


@pytest.mark.parametrize("current", SETS, ids=lambda c: "".join(str(x) for x in sorted(c)))
def test_the_model_of_kraft_passes_through_what_is_calculated(current: frozenset[int]) -> None:
    """From each replica set of four brokers to each other, step by step in plain Python."""
    for target in SETS:
        if target != current:
            path = kraft(tuple(sorted(current)), tuple(sorted(target)), PlanRules(min_isr=1))
            stages = [(frozenset(s.replicas), s.certain) for s in path]
            if stages[-1][0] == stages[-2][0]:  # only grown: being the target changes no replica
                stages.pop()
            assert passed_through(current, target) == stages


FIVE = ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))


def test_batching_one_by_one() -> None:
    path = batching(*FIVE, PlanRules(PlanLimits(replicas=1), 2))
    assert lists(path) == [
        (0, 1, 2, 3, 4),
        (5, 0, 1, 2, 3, 4),
        (5, 1, 2, 3, 4),
        (5, 6, 1, 2, 3, 4),
        (5, 6, 2, 3, 4),
        (5, 6, 7, 2, 3, 4),
        (5, 6, 7, 3, 4),
        (5, 6, 7, 8, 3, 4),
        (5, 6, 7, 8, 4),
        (5, 6, 7, 8, 9, 4),
        (5, 6, 7, 8, 9),
    ]
    assert {len(s.certain) for s in path[:1] + path[2:]} == {5}
    assert [s.leader for s in path] == [0, 0, *[5] * 9]
    assert [i for i, s in enumerate(path) if s.moves_leader] == [1]
    assert copies(path) == [1, 2, 3, 5, 7, 9]


def test_batching_two_by_two_gives_the_lists_of_the_documents_example() -> None:
    """With each list that it prints but the first, what is dropped is there until the new ones are in sync (B2)."""
    path = batching(*FIVE, PlanRules(PlanLimits(replicas=2), 2))
    assert lists(path) == [
        (0, 1, 2, 3, 4),
        (5, 0, 1, 2, 3, 4),
        (5, 6, 0, 1, 2, 3, 4),
        (5, 6, 2, 3, 4),
        (5, 6, 7, 8, 2, 3, 4),
        (5, 6, 7, 8, 4),
        (5, 6, 7, 8, 9, 4),
        (5, 6, 7, 8, 9),
    ]
    assert min(len(s.certain) for s in path) == 5
    assert copies(path) == [1, 2, 4, 6]


def test_batching_without_limits_is_the_existing_algorithm() -> None:
    """B8: union, wait, target; the order of the union apart."""
    for target in ((3, 4, 5), (0, 4, 5), (1, 0), (2, 3)):
        new, old = (calculate((0, 1, 2), target, PlanRules(min_isr=2)) for calculate in (batching, classic))
        assert [(set(s.replicas), s.certain, s.leader, s.adding) for s in new] == [
            (set(s.replicas), s.certain, s.leader, s.adding) for s in old
        ]


def test_batching_may_exceed_its_limit_at_first_to_reach_min_isr() -> None:
    path = batching((1,), (1, 2, 3, 4), PlanRules(PlanLimits(replicas=1), 3))
    assert lists(path) == [(1,), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4)]


def test_batching_shrinks_and_reorders() -> None:
    path = batching((1, 2, 3, 4), (4, 3), PlanRules(PlanLimits(replicas=1), 1))
    assert lists(path) == [(1, 2, 3, 4), (4, 3, 2), (4, 3)]
    assert [s.leader for s in path] == [1, 4, 4]
    assert [s.moves_leader for s in path] == [False, True, False]
    path = batching((1, 2), (2, 1), PlanRules(PlanLimits(replicas=1)))
    assert lists(path) == [(1, 2), (2, 1)]
    assert not path[1].moves_leader  # it stays, as it is wanted


def test_a_leader_that_goes_before_the_next_has_come() -> None:
    """More go than come, so the first step drops only; somebody of those that stay leads meanwhile."""
    path = batching((1, 2, 3), (4,), PlanRules(PlanLimits(replicas=1)))
    assert lists(path) == [(1, 2, 3), (2, 3), (3,), (4, 3), (4,)]
    assert [s.leader for s in path] == [1, 2, 3, 3, 4]


@pytest.mark.parametrize("at_once", [1, 2, 3, 9])
def test_batching_takes_the_steps_of_the_model(at_once: int) -> None:
    """The lists that its steps end with are those of `rules.repaired`, everybody being in sync."""
    rules = pytest.importorskip("reassure.models.kip435_batching.rules")
    some = [c for n in (1, 2, 3) for c in itertools.permutations(range(4), n)]
    for current, target, min_isr in itertools.product(some, some, (1, 3)):
        have, goals = current, [current]
        while have != target:
            have = rules.repaired(target, have, frozenset(have), frozenset(range(4)), at_once, min_isr)
            goals.append(have)
        path = batching(current, target, PlanRules(PlanLimits(replicas=at_once), min_isr))
        ends = [s.replicas for s, then in zip(path, (*path[1:], None), strict=True) if then is None or not then.follows]
        assert ends == goals, (current, target)


BROKERS = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).map(tuple)


@given(BROKERS, BROKERS, st.integers(1, 6), st.integers(1, 4), st.sampled_from(sorted(stages.PROTOCOLS)))
@settings(max_examples=400, deadline=None)
def test_every_path(current: Any, target: Any, replicas: int, min_isr: int, protocol: str) -> None:
    if current == target:
        return
    limits = PlanLimits(replicas=replicas) if protocol.startswith("batching") else PlanLimits()
    racks = {x: "abc"[x % 3] for x in range(10)}
    path = stages.PROTOCOLS[protocol](current, target, PlanRules(limits, min_isr, racks))
    assert path[0] == Stage(current, frozenset(current), current[0])
    assert path[-1].replicas == target
    for before, after in itertools.pairwise(path):
        assert set(after.adding) == set(after.replicas) - set(before.replicas)
        assert set(after.replicas) <= set(current) | set(target)
        assert len(set(after.replicas)) == len(after.replicas)
        assert after.certain == set(before.replicas) & set(after.replicas)  # all had come in sync, none comes back
        assert not after.follows or (not after.adding and before.adding)
        assert after.leader in after.certain
        assert len(after.certain) >= min(len(current), len(target))
        assert len(set(before.replicas) - set(after.replicas)) <= limits.replicas
    for number, stage in enumerate(path[1:], 1):
        short = min_isr - len(current) if number == 1 else 0
        assert len(stage.adding) <= max(limits.replicas, short)
    assert path[-1].leader == current[0] or current[0] not in target


# -- batches ------------------------------------------------------------------------------------------------------


def named(made: list[Batch]) -> list[list[tuple[int, int]]]:
    return [[(p[1], stage) for p, stage in batch] for batch in made]


def test_batches_take_leader_movements_first_and_no_more_than_are_allowed() -> None:
    """Partitions 0 to 2 move their leaders in their first stage, 3 and 4 never do."""
    targets: list[tuple[int, ...]] = [(4, 2), (4, 3), (5, 2), (1, 4), (1, 5)]
    limits = PlanLimits(1, 3, 1)
    paths = {("t", i): batching((1, 2), t, PlanRules(limits)) for i, t in enumerate(targets)}
    assert [len(p) for p in paths.values()] == [3, 5, 3, 3, 3]
    made = named(batches(paths, limits))
    assert made == [[(0, 1), (3, 1), (4, 1)], [(1, 1)], [(2, 1), (1, 2)], [(1, 3)]]
    assert named(batches(paths, PlanLimits(1, 3, 3))) == [[(0, 1), (1, 1), (2, 1)], [(1, 2), (3, 1), (4, 1)], [(1, 3)]]
    assert named(batches(paths, PlanLimits(1))) == [[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)], [(1, 2)], [(1, 3)]]


@given(st.lists(st.tuples(BROKERS, BROKERS), min_size=1, max_size=12), st.data())
@settings(max_examples=150, deadline=None)
def test_limits_are_kept_and_nothing_is_left_out(moves: list[Any], data: st.DataObject) -> None:
    limits = PlanLimits(*(data.draw(st.integers(1, 5)) for _ in range(3)))
    current = {("t", i): before for i, (before, _) in enumerate(moves)}
    proposed = {("t", i): after for i, (_, after) in enumerate(moves)}
    if current == proposed:
        return
    found = judge_plan(ClusterFile(dict.fromkeys(range(10))), current, proposed, "batching", limits)
    assert found.promises["limits_are_kept"].status == "holds"
    assert sum(len(b) for b in found.batches) == sum(len(copies(p)) for p in found.paths.values())
    for batch in found.batches:
        assert len(batch) <= limits.partitions
        assert sum(found.paths[p][i].moves_leader for p, i in batch) <= limits.leaders
