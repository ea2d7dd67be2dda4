"""What a plan keeps and breaks, and what is proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.kafka.plan import evaluate as plan
from reassure.checkers.kafka.plan import stages
from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile
from reassure.checkers.kafka.plan.evaluate import JudgedPlan, judge_plan
from reassure.checkers.kafka.plan.propose import propose
from reassure.checkers.kafka.plan.stages import PlanLimits, PlanRules, Stage, batches, kraft
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.brokers import ONE, SIX, lists


def found(
    current: Sequence[int],
    target: Sequence[int],
    protocol: str = "kraft",
    cluster: ClusterFile = SIX,
    replicas: int = 1,
) -> JudgedPlan:
    limits = PlanLimits(replicas=replicas) if protocol.startswith("batching") else PlanLimits()
    return judge_plan(cluster, {ONE: tuple(current)}, {ONE: tuple(target)}, protocol, limits)


def broken(judged: JudgedPlan) -> dict[str, list[tuple[int, str]]]:
    return {p.name: [(b.stage, b.failure) for b in p.breaks] for p in judged.promises.values() if p.breaks}


def test_kraft_keeps_all_promises_between_spread_sets() -> None:
    judged = found([1, 2, 3], [5, 4, 6])
    assert broken(judged) == {}
    assert {p.status for p in judged.promises.values()} == {"holds"}
    assert (judged.moved, judged.busiest, judged.fewest_racks, judged.exit()) == (3, [3], 3, Exit.OK)


WHERE = "all log directories of broker 1 are cordoned"


@pytest.mark.parametrize(
    ("rules", "current", "target", "text"),
    [
        ("4.4", [2, 3], [1, 3], f"{WHERE}: INVALID_REPLICA_ASSIGNMENT"),
        ("4.4", [1, 2], [1, 3], f"{WHERE}, where the replica is already: INVALID_REPLICA_ASSIGNMENT"),
        ("4.4", [1, 2], [2, 3], None),
        ("4.3", [2, 3], [1, 3], f"{WHERE}, and it gets a replica"),
        ("4.3", [1, 2], [1, 3], None),
    ],
)
def test_cordoned_brokers_are_spared(rules: str, current: list[int], target: list[int], text: str | None) -> None:
    cluster = replace(SIX, cordoned=frozenset({1}), releases=(rules,))
    breaks = found(current, target, cluster=cluster).promises["cordoned_brokers_are_spared"].breaks
    assert [(b.stage, b.failure, b.text) for b in breaks] == ([(2, "", text)] if text else [])


def test_a_cordoned_broker_that_stays_is_open_without_a_release() -> None:
    """4.4 refuses it and no release before it does: with both in question it is neither kept nor broken."""
    judged = found([1, 2], [1, 3], cluster=replace(SIX, cordoned=frozenset({1}), releases=("4.3", "4.4")))
    promise = judged.promises["cordoned_brokers_are_spared"]
    text = f"{WHERE}, where the replica is already: Kafka 4.4 answers INVALID_REPLICA_ASSIGNMENT, releases before "
    text += "it do not"
    assert (promise.breaks, promise.open, promise.status) == ([], {"orders-0": text}, "not_checked")
    assert judged.exit() == Exit.INCONCLUSIVE


def test_a_cordoned_broker_is_not_proposed() -> None:
    cluster = replace(SIX, cordoned=frozenset({1}))
    assert propose(cluster, {ONE: (1, 2)}, [], None, ignore_racks=True) == {ONE: (2, 3)}
    with pytest.raises(Failure, match="all log directories of broker 1 are cordoned"):
        propose(cluster, {ONE: (1, 2)}, [1, 2, 3], None)
    with pytest.raises(Failure, match="all log directories of every broker are cordoned"):
        propose(replace(SIX, cordoned=frozenset(SIX.racks)), {ONE: (1, 2)}, [], None)


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
    judged = judge_plan(
        cluster, {ONE: current}, {ONE: target}, "batching-by-rack", PlanLimits(data.draw(st.integers(1, 4)))
    )
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


def literal(current: tuple[int, ...], target: tuple[int, ...], rules: PlanRules) -> stages.Path:
    """KIP-435's step as printed (B2, B4): the first R of the excess are dropped at once, nothing is waited for."""
    path, have, in_sync = [stages.beginning(current)], list(current), set(current)
    while have != list(target):
        dropping = [b for b in have if b not in target][: rules.limits.replicas]
        adding = [b for b in target if b not in have][: rules.limits.replicas]
        have = [b for b in target if b in have or b in adding] + [
            b for b in have if b not in target and b not in dropping
        ]
        in_sync -= set(dropping)
        path.append(Stage(tuple(have), frozenset(in_sync), current[0], tuple(adding)))
    return tuple(path)


def test_the_step_as_printed_breaks_what_the_repaired_one_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stages.PROTOCOLS, "batching", literal)
    falls = broken(found([1, 2, 3], [4, 5, 6], "batching"))
    assert falls["own_steps_keep_min_isr"] == [(2, ""), (3, "")]
    assert falls["own_steps_keep_a_leader"] == [(1, ""), (2, ""), (3, "")]
    assert falls["own_steps_keep_an_in_sync_copy"] == [(3, "")]
    assert falls["partitions_survive_a_broker"] == [(2, "broker 3 fails")]


def test_a_protocol_that_ends_elsewhere_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stages.PROTOCOLS, "kraft", lambda c, t, rules: kraft(c, tuple(sorted(t)), rules))
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
    limits = PlanLimits(1, 1, 1)
    both: Assignment = {("t", 0): (1, 2, 3), ("t", 1): (1, 2, 3)}
    judged = judge_plan(SIX, both, dict.fromkeys(both, (4, 5, 6)), "batching", limits)
    assert text in [b.text for b in judged.promises["limits_are_kept"].breaks]


def test_more_than_r_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stages.PROTOCOLS, "batching", lambda c, t, rules: kraft(c, t, rules))
    judged = found([1, 2, 3], [4, 5, 6], "batching", replicas=2)
    assert [b.text for b in judged.promises["limits_are_kept"].breaks] == ["3 replicas are added at once"]


def test_time_and_load() -> None:
    """Two partitions led by broker 1 go to 4 and 5: in step it sends four copies, one by one a copy at a time."""
    both: Assignment = {("t", 0): (1, 2), ("t", 1): (1, 3)}
    target: Assignment = {("t", 0): (4, 5), ("t", 1): (5, 4)}
    at_once = judge_plan(SIX, both, target, "kraft", PlanLimits())
    assert (at_once.moved, at_once.busiest, at_once.seconds(100, 10)) == (4, [4], 40.0)
    singly = judge_plan(SIX, both, target, "batching", PlanLimits(1, 1, 1))
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
