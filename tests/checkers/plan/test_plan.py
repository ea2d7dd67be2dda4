"""`reassure plan`: the stages of each protocol, every promise kept and broken, Kafka's JSON, and bad input."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.cli.main import main
from reassure.checkers.plan import evaluate as plan
from reassure.checkers.plan.evaluate import (
    Batch,
    Judged,
    Limits,
    Rules,
    Stage,
    batches,
    batching,
    classic,
    copies,
    judge,
    kraft,
    propose,
)
from reassure.checkers.plan.kafka_json import Assignment, ClusterFile, read_assignment, read_cluster, write_assignment
from reassure.checkers.plan.report import lasting
from reassure.spec.kafka.partition import Broker
from reassure.spec.language.vocabulary import GuardRefused
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_vectors import vectors
from tests.helpers.kraft_story import Story, partition

SIX = ClusterFile({1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}, 1, {"orders": 2})
ONE = ("orders", 0)


def lists(path: plan.Path) -> list[tuple[int, ...]]:
    return [s.replicas for s in path]


# -- the stages of each protocol ----------------------------------------------------------------------------------


def test_kraft_grows_then_is_the_target() -> None:
    path = kraft((1, 2, 3), (5, 4, 3), Rules(min_isr=2))
    assert path == (
        Stage((1, 2, 3), frozenset({1, 2, 3}), 1),
        Stage((5, 4, 3, 1, 2), frozenset({1, 2, 3}), 1, (5, 4), True),
        Stage((5, 4, 3), frozenset({3, 4, 5}), 5, follows=True),
    )
    assert [s.leader for s in kraft((3, 1), (5, 3), Rules(min_isr=1))] == [3, 3, 3]  # it stays if it can
    assert lists(kraft((1, 2, 3), (2, 1), Rules(min_isr=1))) == [(1, 2, 3), (2, 1)]


def test_classic_keeps_the_order_while_it_grows() -> None:
    path = classic((1, 2, 3), (5, 4, 3), Rules(min_isr=2))
    assert lists(path) == [(1, 2, 3), (1, 2, 3, 5, 4), (5, 4, 3)]
    assert [sorted(s.certain) for s in path] == [[1, 2, 3], [1, 2, 3], [3, 4, 5]]


@vectors("reassignment_replicas")
def test_kafka_merges_as_kraft_grows(v: dict[str, Any]) -> None:
    """Kafka's own list while a reassignment goes on (with none going on before)."""
    current, target = tuple(v["current"]["replicas"] if isinstance(v["current"], dict) else v["current"]), v["target"]
    path = kraft(current, tuple(target), Rules(min_isr=1))
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
            path = kraft(tuple(sorted(current)), tuple(sorted(target)), Rules(min_isr=1))
            stages = [(frozenset(s.replicas), s.certain) for s in path]
            if stages[-1][0] == stages[-2][0]:  # only grown: being the target changes no replica
                stages.pop()
            assert passed_through(current, target) == stages


FIVE = ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))


def test_batching_one_by_one() -> None:
    path = batching(*FIVE, Rules(Limits(replicas=1), 2))
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
    path = batching(*FIVE, Rules(Limits(replicas=2), 2))
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
        new, old = (calculate((0, 1, 2), target, Rules(min_isr=2)) for calculate in (batching, classic))
        assert [(set(s.replicas), s.certain, s.leader, s.adding) for s in new] == [
            (set(s.replicas), s.certain, s.leader, s.adding) for s in old
        ]


def test_batching_may_exceed_its_limit_at_first_to_reach_min_isr() -> None:
    path = batching((1,), (1, 2, 3, 4), Rules(Limits(replicas=1), 3))
    assert lists(path) == [(1,), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4)]


def test_batching_shrinks_and_reorders() -> None:
    path = batching((1, 2, 3, 4), (4, 3), Rules(Limits(replicas=1), 1))
    assert lists(path) == [(1, 2, 3, 4), (4, 3, 2), (4, 3)]
    assert [s.leader for s in path] == [1, 4, 4]
    assert [s.moves_leader for s in path] == [False, True, False]
    path = batching((1, 2), (2, 1), Rules(Limits(replicas=1)))
    assert lists(path) == [(1, 2), (2, 1)]
    assert not path[1].moves_leader  # it stays, as it is wanted


def test_a_leader_that_goes_before_the_next_has_come() -> None:
    """More go than come, so the first step drops only; somebody of those that stay leads meanwhile."""
    path = batching((1, 2, 3), (4,), Rules(Limits(replicas=1)))
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
        path = batching(current, target, Rules(Limits(replicas=at_once), min_isr))
        ends = [s.replicas for s, then in zip(path, (*path[1:], None), strict=True) if then is None or not then.follows]
        assert ends == goals, (current, target)


BROKERS = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).map(tuple)


@given(BROKERS, BROKERS, st.integers(1, 6), st.integers(1, 4), st.sampled_from(sorted(plan.PROTOCOLS)))
@settings(max_examples=400, deadline=None)
def test_every_path(current: Any, target: Any, replicas: int, min_isr: int, protocol: str) -> None:
    if current == target:
        return
    limits = Limits(replicas=replicas) if protocol.startswith("batching") else Limits()
    racks = {x: "abc"[x % 3] for x in range(10)}
    path = plan.PROTOCOLS[protocol](current, target, Rules(limits, min_isr, racks))
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
    limits = Limits(1, 3, 1)
    paths = {("t", i): batching((1, 2), t, Rules(limits)) for i, t in enumerate(targets)}
    assert [len(p) for p in paths.values()] == [3, 5, 3, 3, 3]
    made = named(batches(paths, limits))
    assert made == [[(0, 1), (3, 1), (4, 1)], [(1, 1)], [(2, 1), (1, 2)], [(1, 3)]]
    assert named(batches(paths, Limits(1, 3, 3))) == [[(0, 1), (1, 1), (2, 1)], [(1, 2), (3, 1), (4, 1)], [(1, 3)]]
    assert named(batches(paths, Limits(1))) == [[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)], [(1, 2)], [(1, 3)]]


@given(st.lists(st.tuples(BROKERS, BROKERS), min_size=1, max_size=12), st.data())
@settings(max_examples=150, deadline=None)
def test_limits_are_kept_and_nothing_is_left_out(moves: list[Any], data: st.DataObject) -> None:
    limits = Limits(*(data.draw(st.integers(1, 5)) for _ in range(3)))
    current = {("t", i): before for i, (before, _) in enumerate(moves)}
    proposed = {("t", i): after for i, (_, after) in enumerate(moves)}
    if current == proposed:
        return
    found = judge(ClusterFile(dict.fromkeys(range(10))), current, proposed, "batching", limits)
    assert found.promises["limits_are_kept"].status == "holds"
    assert sum(len(b) for b in found.batches) == sum(len(copies(p)) for p in found.paths.values())
    for batch in found.batches:
        assert len(batch) <= limits.partitions
        assert sum(found.paths[p][i].moves_leader for p, i in batch) <= limits.leaders


# -- promises -----------------------------------------------------------------------------------------------------


def found(
    current: Sequence[int],
    target: Sequence[int],
    protocol: str = "kraft",
    cluster: ClusterFile = SIX,
    replicas: int = 1,
) -> Judged:
    limits = Limits(replicas=replicas) if protocol.startswith("batching") else Limits()
    return judge(cluster, {ONE: tuple(current)}, {ONE: tuple(target)}, protocol, limits)


def broken(judged: Judged) -> dict[str, list[tuple[int, str]]]:
    return {p.name: [(b.stage, b.failure) for b in p.breaks] for p in judged.promises.values() if p.breaks}


def test_kraft_keeps_all_promises_between_spread_sets() -> None:
    judged = found([1, 2, 3], [5, 4, 6])
    assert broken(judged) == {}
    assert {p.status for p in judged.promises.values()} == {"holds"}
    assert (judged.moved, judged.busiest, judged.fewest_racks, judged.exit()) == (3, [3], 3, Exit.OK)


def test_batches_leave_the_racks_between_spread_sets() -> None:
    """X1: target and start are spread over three racks, and in between two replicas in sync are in rack b."""
    judged = found([1, 2, 3], [5, 4, 6], "batching")
    assert broken(judged) == {
        "producers_survive_a_rack": [(2, "rack b fails"), (3, "rack b fails")],
        "stays_spread": [(2, ""), (3, "")],
    }
    assert judged.promises["stays_spread"].breaks[0].text == "3 certainly in sync (2, 3, 5), in 2 of 3 racks"
    assert (judged.fewest_racks, judged.exit()) == (2, Exit.SAFETY)


def test_dropping_by_rack_keeps_them() -> None:
    judged = found([1, 2, 3], [5, 4, 6], "batching-by-rack")
    assert lists(judged.paths[ONE]) == [
        (1, 2, 3), (5, 1, 2, 3), (5, 1, 3), (5, 4, 1, 3), (5, 4, 3), (5, 4, 6, 3), (5, 4, 6),
    ]  # fmt: skip
    assert broken(judged) == {}


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_dropping_by_rack_keeps_the_spread_there_was(data: st.DataObject) -> None:
    """Racks in sync are never fewer than before or in the target, whatever the layout, order and R."""
    racks = dict(enumerate(data.draw(st.lists(st.sampled_from("abcd"), min_size=2, max_size=9))))
    some = st.lists(st.sampled_from(sorted(racks)), min_size=1, max_size=5, unique=True)
    current, target = tuple(data.draw(some)), tuple(data.draw(some))
    if current == target:
        return
    cluster = ClusterFile(dict(racks.items()))
    judged = judge(cluster, {ONE: current}, {ONE: target}, "batching-by-rack", Limits(data.draw(st.integers(1, 4))))
    assert judged.promises["stays_spread"].breaks == []


@pytest.mark.parametrize(
    ("current", "target", "want"),
    [
        ([1, 2, 3], [1], {"own_steps_keep_min_isr", "partitions_survive_a_broker", "partitions_survive_a_rack"}),
        ([1, 2, 3], [1, 2], set()),
        ([1, 2, 3], [1, 4, 2], set()),
        ([1, 2], [1, 4], {"partitions_survive_a_rack"}),
    ],
)
def test_what_the_target_itself_breaks(current: list[int], target: list[int], want: set[str]) -> None:
    three = {"producers_survive_a_broker", "producers_survive_a_rack"}
    expected = want | (three if len(current) == 3 and len(target) < 3 else set())
    expected |= {"producers_survive_a_rack"} if target == [1, 4, 2] else set()
    judged = found(current, target)
    assert set(broken(judged)) == expected
    assert all(stage == len(judged.paths[ONE]) - 1 for breaks in broken(judged).values() for stage, _ in breaks)


def test_what_was_not_kept_before_is_no_blame() -> None:
    """All in one rack, one short of MinISR: the move can break none of what was broken."""
    judged = found([1, 4], [4, 1], cluster=ClusterFile({1: "a", 4: "a"}, 3))
    assert broken(judged) == {}
    kept_by_fewer = {p.name for p in judged.promises.values() if p.before}
    assert kept_by_fewer == {
        "own_steps_keep_min_isr",
        "producers_survive_a_broker",
        "partitions_survive_a_rack",
        "producers_survive_a_rack",
    }


def test_without_racks_nothing_is_said_about_them() -> None:
    judged = found([1, 2, 3], [4, 5, 6], cluster=ClusterFile({**SIX.racks, 6: None}))
    about_racks = {p.name for p in judged.promises.values() if p.status == "not_checked"}
    assert about_racks == {"partitions_survive_a_rack", "producers_survive_a_rack", "stays_spread"}
    assert judged.fewest_racks is None


def literal(current: tuple[int, ...], target: tuple[int, ...], rules: Rules) -> plan.Path:
    """KIP-435's step as printed (B2, B4): the first R of the excess are dropped at once, nothing is waited for."""
    stages, have, in_sync = [plan.beginning(current)], list(current), set(current)
    while have != list(target):
        dropping = [b for b in have if b not in target][: rules.limits.replicas]
        adding = [b for b in target if b not in have][: rules.limits.replicas]
        have = [b for b in target if b in have or b in adding] + [
            b for b in have if b not in target and b not in dropping
        ]
        in_sync -= set(dropping)
        stages.append(Stage(tuple(have), frozenset(in_sync), current[0], tuple(adding)))
    return tuple(stages)


def test_the_step_as_printed_breaks_what_the_repaired_one_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plan.PROTOCOLS, "batching", literal)
    falls = broken(found([1, 2, 3], [4, 5, 6], "batching"))
    assert falls["own_steps_keep_min_isr"] == [(2, ""), (3, "")]
    assert falls["own_steps_keep_a_leader"] == [(1, ""), (2, ""), (3, "")]
    assert falls["own_steps_keep_an_in_sync_copy"] == [(3, "")]
    assert falls["partitions_survive_a_broker"] == [(2, "broker 3 fails")]


def test_a_protocol_that_ends_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plan.PROTOCOLS, "kraft", lambda c, t, rules: kraft(c, tuple(sorted(t)), rules))
    judged = found([1, 2, 3], [6, 5, 4])
    assert [b.text for b in judged.promises["moves_end_as_wanted"].breaks] == ["ends as [4, 5, 6], not [6, 5, 4]"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda made: [[entry for batch in made for entry in batch]], "batch 1: 8 partitions, 2 leader movements"),
        (lambda made: made[:-1], "stages [1, 2, 3] are in batches"),
        (lambda made: made[::-1], "stages [5, 3, 2, 1] are in batches"),
    ],
)
def test_batches_beyond_the_limits_are_noticed(wrong: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "batches", lambda paths, limits: wrong(batches(paths, limits)))
    limits = Limits(1, 1, 1)
    both: Assignment = {("t", 0): (1, 2, 3), ("t", 1): (1, 2, 3)}
    judged = judge(SIX, both, dict.fromkeys(both, (4, 5, 6)), "batching", limits)
    assert text in [b.text for b in judged.promises["limits_are_kept"].breaks]


def test_more_than_r_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plan.PROTOCOLS, "batching", lambda c, t, rules: kraft(c, t, rules))
    judged = found([1, 2, 3], [4, 5, 6], "batching", replicas=2)
    assert [b.text for b in judged.promises["limits_are_kept"].breaks] == ["3 replicas are added at once"]


def test_time_and_load() -> None:
    """Two partitions led by broker 1 go to 4 and 5: in step it sends four copies, one by one a copy at a time."""
    both: Assignment = {("t", 0): (1, 2), ("t", 1): (1, 3)}
    target: Assignment = {("t", 0): (4, 5), ("t", 1): (5, 4)}
    at_once = judge(SIX, both, target, "kraft", Limits())
    assert (at_once.moved, at_once.busiest, at_once.seconds(100, 10)) == (4, [4], 40.0)
    singly = judge(SIX, both, target, "batching", Limits(1, 1, 1))
    assert (singly.moved, singly.busiest, singly.seconds(100, 10)) == (
        4,
        [1, 1, 0, 1, 0, 1],
        40.0,
    )  # what only drops copies nothing


# -- proposals ----------------------------------------------------------------------------------------------------


def test_proposal_is_spread_and_even() -> None:
    current: Assignment = {("t", i): (1, 4, 2) for i in range(6)} | {("u", i): (1, 2) for i in (3, 4, 9)}
    made = propose(SIX, current, [], None)
    assert made[("t", 0)] == (1, 2, 3)
    assert [made[("u", i)] for i in (3, 4, 9)] == [(1, 5), (2, 6), (3, 1)]  # begins where t ended: one round on
    assert all(len(SIX.rack_of(r)) == len(r) for r in made.values())
    assert sorted(made) == sorted(current)
    assert set(propose(SIX, current, [1, 2], 2).values()) == {(1, 2), (2, 1)}
    assert propose(SIX, current, [], None, start_index=1)[("t", 0)] == (2, 3, 4)


@pytest.mark.parametrize(
    ("brokers", "factor", "message"),
    [
        ([], 7, "t: replication factor 7 is more than the 6 brokers"),
        ([1, 2], None, "t: replication factor 3 is more than the 2 brokers"),
        ([1, 9], 1, "broker 9 is not in the cluster"),
        ([], None, "partitions of u have 1 and 2 replicas; give --replication-factor"),
    ],
)
def test_proposals_that_cannot_be(brokers: list[int], factor: int | None, message: str) -> None:
    current: Assignment = {("t", 0): (1, 2, 3), ("u", 0): (1,), ("u", 1): (1, 2)}
    with pytest.raises(Failure) as raised:
        propose(SIX, current, brokers, factor)
    assert (str(raised.value), raised.value.code) == (message, Exit.CONFIG)


def test_proposal_where_racks_are_missing() -> None:
    partly = ClusterFile({1: "a", 2: None, 3: "b"})
    with pytest.raises(Failure, match="no rack is known of broker 2; --ignore-racks places without racks"):
        propose(partly, {("t", 0): (1, 2)}, [], None)
    assert propose(partly, {("t", 0): (1, 2)}, [], None, ignore_racks=True) == {("t", 0): (1, 2)}
    assert propose(ClusterFile({1: None, 2: None}), {("t", 0): (1,)}, [], 2) == {("t", 0): (1, 2)}


# -- the command --------------------------------------------------------------------------------------------------

CLUSTER: dict[str, Any] = {
    "brokers": [{"id": b, "rack": r} for b, r in SIX.racks.items()],
    "topics": {"orders": {"min.insync.replicas": 2}},
}


def kafka(*partitions: tuple[str, int, list[int]]) -> dict[str, Any]:
    made = [{"topic": t, "partition": p, "replicas": r} for t, p, r in partitions]
    return {"version": 1, "partitions": made}


CURRENT = kafka(("orders", 0, [1, 2, 3]), ("orders", 1, [2, 3, 1]), ("x", 0, [3]))
PROPOSED = kafka(("orders", 0, [5, 4, 6]), ("orders", 1, [2, 3, 1]))


def files(folder: Path, **changed: Any) -> list[str]:
    """The options for the three files; a text is written as it is."""
    words = []
    for key, default in (("cluster", CLUSTER), ("current", CURRENT), ("proposed", PROPOSED)):
        value = changed.get(key, default)
        path = folder / f"{key}.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        words += [f"--{key}", str(path)]
    return words


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["plan", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_plan_that_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = [*files(tmp_path), "--json", str(record), "--size", "10G", "--throttle", "50M"]
    code, out, err = said(capsys, *words)
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "1 of 3 partitions move, by kraft",
        "",
        "orders-0",
        "  before    1, 2, 3   (leader 1)",
        "  stage 1   5, 4, 6, 1, 2, 3   (leader 1; adding 5, 4, 6; certainly in sync 1, 2, 3)",
    ]
    assert "3 replicas are copied in 1 batch; a broker has 3 at most in one" in out
    assert "10.2 min at least, with 10,737,418,240 bytes a partition and 52,428,800 bytes/s" in out
    assert "not covered" in out and "two failures at once" in out
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["verdict"], data["model"], data["complete"]) == (0, "pass", "plan:kraft", True)
    assert {p["status"] for p in data["properties"]} == {"holds"}
    assert data["plan"]["paths"][0]["stages"][1] == {
        "replicas": [5, 4, 6, 1, 2, 3],
        "certain": [1, 2, 3],
        "leader": 1,
        "adding": [5, 4, 6],
    }
    assert (data["plan"]["seconds"], data["plan"]["unmoved"]) == (614.4, 2)
    again = data["repro"].split()[2:]
    assert said(capsys, *again)[1] == out


def test_a_plan_that_breaks_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = files(tmp_path)
    limits = ["--protocol", "batching", "--replicas", "1", "--partitions", "2", "--leaders", "1"]
    code, out, _ = said(capsys, *words, *limits, "--json", str(record))
    assert code == 12
    assert "1 of 3 partitions move, by batching --replicas 1 --partitions 2 --leaders 1" in out
    assert "      orders-0, stage 2, rack b fails: 3 certainly in sync (2, 3, 5), MinISR 2" in out
    assert "safety-violation (exit code 12)" in out
    data = json.loads(record.read_text())
    assert [(b["promise"], b["stage"], b["failure"]) for b in data["plan"]["breaks"]] == [
        ("producers_survive_a_rack", 2, "rack b fails"),
        ("producers_survive_a_rack", 3, "rack b fails"),
        ("stays_spread", 2, None),
        ("stays_spread", 3, None),
    ]
    assert data["config"] == {"replicas": 1, "partitions": 2, "leaders": 1}
    assert said(capsys, *data["repro"].split()[2:])[:2] == (code, out)


def test_generated_json_is_what_can_be_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    code, out, err = said(capsys, *words[:4], "--generate", "--replication-factor", "3")
    assert (code, err) == (0, "3 partitions, 3 replicas to be copied\n")
    assert json.loads(out) == kafka(("orders", 0, [1, 2, 3]), ("orders", 1, [2, 3, 4]), ("x", 0, [3, 4, 5]))
    proposal = tmp_path / "generated.json"
    proposal.write_text(out)
    assert read_assignment(proposal, SIX) == propose(SIX, read_assignment(Path(words[3]), SIX), [], 3)
    assert said(capsys, *words[:4], "--proposed", str(proposal))[0] == 0


def test_kafkas_own_output_is_taken(tmp_path: Path) -> None:
    """With log_dirs, as kafka-reassign-partitions prints the current assignment."""
    path = tmp_path / "k.json"
    path.write_text(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["any","any"]}]}'
    )
    made = read_assignment(path, SIX)
    assert made == {("t", 0): (2, 1)}
    path.write_text(write_assignment(made))
    assert read_assignment(path, SIX) == made


def test_many_breaks_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    current = kafka(*(("t", i, [1, 2, 3]) for i in range(5)))
    proposed = kafka(*(("t", i, [1]) for i in range(5)))
    code, out, _ = said(capsys, *files(tmp_path, current=current, proposed=proposed))
    assert code == 12
    assert "partitions_survive_a_broker     violated for 5 partitions" in out
    assert "... and 2 more (--json has all)" in out
    assert "... and 2 more partitions (--show 5)" in out


def test_without_racks_the_report_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = {"brokers": [{"id": b} for b in SIX.racks]}
    code, out, _ = said(capsys, *files(tmp_path, cluster=bare), "--show", "0")
    assert code == 0
    assert "stays_spread                    not checked" in out
    assert "not every broker concerned has a rack" in out
    assert "orders-0" not in out


BROKEN: list[tuple[str, Any, int, str]] = [
    ("cluster", "{", 64, "cluster.json is no JSON: Expecting"),
    ("cluster", '{"brokers": [], "brokers": []}', 64, "'brokers' is there twice"),
    ("cluster", [], 151, "a cluster is an object, not []"),
    ("cluster", {}, 151, "a cluster has no brokers"),
    ("cluster", {"brokers": []}, 151, "brokers is a list of at least one"),
    ("cluster", {"brokers": [{"id": 1}, {"id": 1}]}, 151, "broker 1 is there twice"),
    ("cluster", {"brokers": [{"id": -1}]}, 151, "a broker's id is a whole number of at least 0, not -1"),
    ("cluster", {"brokers": [{"id": True}]}, 151, "not True"),
    ("cluster", {"brokers": [{"id": 1, "rack": 7}]}, 151, "the rack of broker 1 is a text, not 7"),
    ("cluster", {"brokers": [{"id": 1, "host": "h"}]}, 151, "a broker has no 'host'; it has id, rack"),
    ("cluster", {**CLUSTER, "topics": []}, 151, "topics is an object"),
    ("cluster", {**CLUSTER, "topics": {"t": {}}}, 151, "topic t has no min.insync.replicas"),
    ("cluster", {**CLUSTER, "min.insync.replicas": 0}, 151, "min.insync.replicas is a whole number of at least 1"),
    ("current", "nonsense", 64, "current.json is no JSON"),
    ("proposed", {"version": 2, "partitions": []}, 151, "version 2 of the format; there is 1"),
    ("proposed", {"version": True, "partitions": []}, 151, "version True"),
    ("proposed", {"partitions": []}, 151, "a reassignment has no version"),
    ("proposed", {"version": 1, "partitions": []}, 151, "partitions is a list of at least one"),
    ("proposed", {"version": 1, "partitions": [7]}, 151, "a partition is an object, not 7"),
    ("proposed", {"version": 1, "partitions": [{"topic": "t"}]}, 151, "a partition has no partition"),
    ("proposed", kafka(("", 0, [1])), 151, "a topic is a name, not ''"),
    ("proposed", kafka(("t", -1, [1])), 151, "a partition of t is a whole number of at least 0, not -1"),
    ("proposed", kafka(("t", 0, [])), 151, "t-0 has no replicas"),
    ("proposed", kafka(("t", 0, [1, 2, 1])), 151, "t-0: broker 1 has two replicas"),
    ("proposed", kafka(("t", 0, [1, 7])), 151, "t-0: broker 7 is not in the cluster"),
    ("proposed", kafka(("orders", 0, [1]), ("orders", 0, [2])), 151, "orders-0 is there twice"),
    ("proposed", kafka(("orders", 7, [1])), 151, "orders-7 is proposed, and not among the current partitions"),
    ("proposed", CURRENT, 6, "the proposal changes nothing"),
]


@pytest.mark.parametrize(("key", "value", "code", "message"), BROKEN, ids=[m for *_, m in BROKEN])
def test_bad_files(
    key: str, value: Any, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    got, out, err = said(capsys, *files(tmp_path, **{key: value}), "--json", str(record))
    assert (got, out) == (code, "")
    assert err.startswith("reassure: ") and err.count("\n") == 1
    assert message in err
    assert json.loads(record.read_text())["exit_code"] == code


WRONG = [
    (["--proposed", "nothing.json"], 64, "--cluster"),
    (["--cluster", "nothing.json", "--current", "x", "--proposed", "y"], 64, "nothing.json: No such file"),
    (["FILES", "--generate"], 64, "not allowed with argument"),
    (["FILES", "--protocol", "raft"], 64, "invalid choice"),
    (["FILES", "--replicas", "0"], 64, "at least 1"),
    (["FILES", "--replicas", "1"], 64, "--replicas is a limit of --protocol batching"),
    (["FILES", "--size", "1G"], 64, "--size and --throttle go together"),
    (["FILES", "--size", "big", "--throttle", "1"], 64, "no size"),
    (["FILES", "--brokers", "1,2"], 64, "--brokers does not go with --proposed"),
    (["TWO", "--generate", "--protocol", "kraft"], 64, "--protocol does not go with --generate"),
    (["TWO", "--generate", "--show", "0"], 64, "--show does not go with --generate"),
    (["TWO", "--generate", "--brokers", "1,1"], 64, "names one twice"),
    (["TWO", "--generate", "--brokers", "1,x"], 64, "no whole number"),
    (["TWO", "--generate", "--replication-factor", "7"], 151, "replication factor 7 is more than the 6 brokers"),
    (["TWO"], 64, "one of the arguments --proposed --generate is required"),
    (["FILES", "--json", "/proc/nowhere/f.json"], 153, "cannot be written"),
]


@pytest.mark.parametrize(("words", "code", "message"), WRONG, ids=[" ".join(w) for w, _, _ in WRONG])
def test_bad_options(
    words: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    all_three = files(tmp_path)
    meant = [w for word in words for w in {"FILES": all_three, "TWO": all_three[:4]}.get(word, [word])]
    got, out, err = said(capsys, *meant)
    assert (got, out) == (code, "")
    assert err.startswith("reassure: ") and err.count("\n") == 1
    assert message in err


def test_deep_nesting_is_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *files(tmp_path, cluster="[" * 100_000))
    assert code == 64 and "is no JSON" in err


def test_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"brokers": [{"id": 3}, {"id": 1, "rack": null}], "min.insync.replicas": 2}')
    cluster = read_cluster(path)
    assert (cluster.racks, cluster.enough("any")) == ({3: None, 1: None}, 2)
    assert (SIX.enough("orders"), SIX.enough("x")) == (2, 1)


def test_times_to_read() -> None:
    assert [lasting(s) for s in (0, 90, 120, 7199, 7200, 172800)] == [
        "0.0 s",
        "90.0 s",
        "2.0 min",
        "120.0 min",
        "2.0 h",
        "2.0 d",
    ]


def test_ten_thousand_partitions_take_seconds() -> None:
    """A ratio would say nothing here: the bound is ten times what it takes on a slow machine."""
    current: Assignment = {(f"t{i // 50}", i % 50): (i % 100, (i + 7) % 100, (i + 31) % 100) for i in range(10_000)}
    target = {p: tuple((b + 50) % 100 for b in r) for p, r in current.items()}
    began = time.monotonic()
    judged = judge(ClusterFile({b: f"r{b % 5}" for b in range(100)}), current, target, "batching", Limits(1, 50, 10))
    assert time.monotonic() - began < 30
    assert (judged.moved, len(judged.paths)) == (30_000, 10_000)
