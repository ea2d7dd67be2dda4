"""Plans over racks carried out by KRaft (X1): the racks themselves, what each claim accepts and refuses, counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure.models.kraft import kraft_racks
from reassure.models.kraft.kraft_racks import Config, Rack, covered, of, spread, survives_any_rack
from reassure.models.kraft.state import Cluster, Unclean
from reassure.spec.kafka.partition import Broker, Brokers
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import replay
from tests.helpers.brokers import b, seq
from tests.helpers.kraft_story import partition
from tests.helpers.runs import checked


def config(**more: Any) -> Config:
    return Config(**{"brokers": 5, "unclean": Unclean.OFF, **more})


def test_brokers_take_turns_over_the_racks() -> None:
    assert [of(Rack(n), config(racks=3)) for n in range(3)] == [b(1, 4), b(2, 5), b(3)]
    assert [of(Rack(n), config(racks=2)) for n in range(2)] == [b(1, 3, 5), b(2, 4)]


@pytest.mark.parametrize(
    ("brokers", "racks", "many", "good", "survives"),
    [
        (b(1, 2), 3, 2, True, True),
        (b(1, 4), 3, 1, False, False),
        (b(1, 2, 3), 3, 3, True, True),
        (b(1, 2, 4), 3, 2, False, True),
        (b(1, 2, 4, 5), 3, 2, False, True),
        (b(1, 2, 3, 4), 3, 3, True, True),
        (b(1, 2, 3), 2, 2, True, True),
        (b(1, 3, 5), 2, 1, False, False),
        (b(2), 2, 1, True, False),
        (b(), 2, 0, True, False),
    ],
)
def test_what_is_spread(brokers: Brokers, racks: int, many: int, good: bool, survives: bool) -> None:
    c = config(racks=racks)
    assert (covered(brokers, c), spread(brokers, c), survives_any_rack(brokers, c)) == (many, good, survives)


def begun(**more: Any) -> tuple[BoundModel, Cluster]:
    bound = BoundModel(kraft_racks.MODEL, config(**more))
    (initial,) = (s for _, _, s in bound.initial_states())
    assert isinstance(initial, Cluster)
    return bound, initial


def test_only_plans_of_the_placement_are_asked_for() -> None:
    bound, s = begun(racks=3)
    asked = {step.params["target"] for step in bound.steps(s) if step.action.name == "start"}
    assert asked == {t for n in (1, 2, 3, 4, 5) for m in range(n + 1, 6) if spread(t := b(n, m), bound.config)} - {
        b(1, 2)
    }
    assert b(1, 4) not in asked
    with pytest.raises(GuardRefused):
        bound.take(s, "start", {"target": b(1, 3, 5), "successor": Broker(1)})


def test_another_target_is_a_plan_too() -> None:
    bound, s = begun(racks=3)
    s = bound.take(s, "start", {"target": b(2, 3), "successor": Broker(1)})
    wanted = {step.params["target"] for step in bound.steps(s) if step.action.name == "retarget"}
    assert b(3, 4) in wanted
    assert b(2, 5) not in wanted
    assert all(len(t) == 2 for t in wanted)


def cluster(s: Cluster, replicas: tuple[int, ...], isr: tuple[int, ...], **more: Any) -> Cluster:
    p = partition(seq(*replicas), b(*isr), isr[0] if isr else None, **more)
    return replace(s, partition=p, complete=b(*isr))


def test_each_claim_accepts_and_refuses() -> None:
    _, s = begun(racks=3)
    c = config(racks=3)
    settled, crowded = cluster(s, (1, 2), (1, 2)), cluster(s, (1, 4), (1, 4))
    growing = cluster(s, (1, 2, 4), (1, 2), adding=b(4), removing=b(1))
    assert kraft_racks.replicas_are_spread(settled, c) is True
    assert kraft_racks.replicas_are_spread(growing, c) is False
    assert kraft_racks.replicas_are_spread_when_settled(growing, c) is True
    assert kraft_racks.replicas_are_spread_when_settled(crowded, c) is False
    assert kraft_racks.replicas_cover_as_many_racks_as_a_plan(growing, c) is True
    assert kraft_racks.replicas_cover_as_many_racks_as_a_plan(crowded, c) is False
    assert kraft_racks.any_rack_may_be_lost(settled, c) is True
    assert kraft_racks.any_rack_may_be_lost(crowded, c) is False
    for claim in (kraft_racks.reassignment_keeps_racks_apart, kraft_racks.reassignment_keeps_whole_copies_apart):
        assert claim(before=growing, after=settled, c=c) is True
        assert claim(before=growing, after=crowded, c=c) is False
        # Nothing is promised where it was not so before, where data loss is allowed, or for what is not a reassignment.
        assert claim(before=cluster(s, (1, 2, 4), (1,), adding=b(4)), after=crowded, c=c) is True
        assert claim(before=replace(growing, unclean=True), after=crowded, c=c) is True
        assert claim(before=settled, after=cluster(s, (1, 2), (1,)), c=c) is True
    ends = kraft_racks.a_replica_has_moved
    assert ends(before=replace(growing, original=seq(1, 2)), after=cluster(s, (2, 4), (2, 4))) is True
    assert ends(before=replace(growing, original=seq(1, 2)), after=settled) is False


SAFE = ["replicas_cover_as_many_racks_as_a_plan", "replicas_are_spread_when_settled"]
SMALL = ["brokers=4", "unclean=off"]


THREE_IN_TWO = ["initial_isr=0", "racks=2", "replication_factor=3", "shutdowns=0"]


@pytest.mark.parametrize(
    ("model", "pairs", "counts", "fallen"),
    [
        ("kraft_racks", ["initial_isr=0", "disturbances=0"], (432, 819, 17), {"replicas_are_spread": 2}),
        (
            "kraft_racks",
            THREE_IN_TWO,
            (6_220, 16_413, 16),
            {"reassignment_keeps_racks_apart": 6, "reassignment_keeps_whole_copies_apart": 7},
        ),
        (
            "kraft_kafka_racks",
            THREE_IN_TWO,
            (4_820, 13_073, 16),
            {
                "cancel_restores_the_order": 3,
                "moving_replicas_are_replicas": 3,
                "retarget_replaces_the_target": 3,
                "rolling_back_ends": 3,
                "reassignment_keeps_racks_apart": 6,
                "reassignment_keeps_whole_copies_apart": 7,
                "deadlock": 9,
            },
        ),
    ],
)
def test_what_holds_and_what_falls(
    model: str, pairs: list[str], counts: tuple[int, int, int], fallen: dict[str, int]
) -> None:
    verdict, bound = checked(model, [*SMALL, *pairs], "native", workers=1)
    stats = verdict.stats
    assert (stats.distinct, stats.generated, stats.depth, stats.clipped) == (*counts, 0)
    assert verdict.complete
    traces = {p.name: p.trace for p in verdict.properties if p.trace is not None and not p.temporal}
    assert {name: len(trace) for name, trace in traces.items()} == fallen
    for trace in traces.values():
        replay(trace, bound)
    assert {p.name: p.status for p in verdict.properties if p.name in SAFE} == dict.fromkeys(SAFE, "holds")
    assert "a_replica_has_moved" in [c.name for c in verdict.covers if c.reached]


def test_completion_may_leave_one_rack_in_sync() -> None:
    """K2 asks for what is added, and for MinISR; the replica that stays, and was alone in its rack, is down."""
    bound, s = begun(brokers=4, racks=2, replication_factor=3, initial_isr=0)

    def take(name: str, **params: Any) -> Cluster:
        after = bound.take(s, name, params)
        assert isinstance(after, Cluster)
        return after

    s = take("fence", broker=Broker(1), successor=Broker(2))
    s = take("start", target=b(1, 2, 4), successor=Broker(2))
    s = take("catch_up", follower=Broker(4))
    s = take("propose_expansion", follower=Broker(4))
    assert survives_any_rack(s.partition.isr, bound.config)
    (request,) = s.requests
    s = take("alter_partition", request=request, successor=Broker(2))
    assert s.partition.isr == b(2, 4) == of(Rack(1), bound.config)
