"""KRaft by the document's rules: its worked examples, a case that each promise accepts and one it refuses, counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure import fill
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.models.kraft import kraft, properties, protocol
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka import partition_properties as r
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Watched
from reassure.spec.kafka.shared_properties import PROMISES
from reassure.spec.language.vocabulary import GuardRefused, Property
from reassure.spec.semantics.trace import replay
from tests.helpers.brokers import b, seq
from tests.helpers.kraft_story import Story, partition
from tests.helpers.runs import checked

# -- K10: the worked examples, transition by transition -----------------------------------------------------


def test_example_1_moving_one_replica() -> None:
    story = Story(4, partition(seq(1, 2, 3), b(1, 2), 1))
    grown = story.take("start", target=b(1, 2, 4), successor=Broker(1))
    assert grown == partition(seq(1, 2, 3, 4), b(1, 2), 1, partition_epoch=3, adding=b(4), removing=b(3))
    assert story.take("catch_up", follower=Broker(4)) == grown
    assert story.take("propose_expansion", follower=Broker(4)) == grown
    # The intermediate lines of the document (PartitionEpoch=3, as before) are never written: one change does both.
    done = story.alter(successor=1)
    assert done == partition(seq(1, 2, 4), b(1, 2, 4), 1, leader_epoch=2, partition_epoch=4)


@pytest.mark.parametrize("elected", [1, 2])
def test_example_2_reducing_the_replication_factor(elected: int) -> None:
    """The document elects 2; that 1, which comes first, may be elected as well is our reading."""
    story = Story(5, partition(seq(1, 2, 3, 4, 5), b(4, 5), 5))
    pending = story.take("start", target=b(1, 2, 3), successor=Broker(5))
    assert pending == partition(seq(1, 2, 3, 4, 5), b(4, 5), 5, partition_epoch=3, removing=b(4, 5))
    story.take("catch_up", follower=Broker(1))
    story.take("propose_expansion", follower=Broker(1))
    held_back = story.alter(successor=5)
    assert held_back == replace(pending, isr=b(1, 4, 5), partition_epoch=4)
    story.take("hear")
    story.take("catch_up", follower=Broker(2))
    story.take("propose_expansion", follower=Broker(2))
    # The document prints an intermediate ISR of [1, 2, 5], without 4, and PartitionEpoch=4 again: neither is written.
    (request,) = story.s.requests
    assert request.isr == b(1, 2, 4, 5)
    done = story.alter(successor=elected)
    assert done == partition(seq(1, 2, 3), b(1, 2), elected, leader_epoch=2, partition_epoch=5)


# -- single rules -------------------------------------------------------------------------------------------


def test_pure_removal_is_one_change() -> None:
    story = Story(3, partition(seq(1, 2, 3), b(1, 2, 3), 3))
    done = story.take("start", target=b(1, 2), successor=Broker(2))
    assert done == partition(seq(1, 2), b(1, 2), 2, leader_epoch=2, partition_epoch=3)


def test_target_below_min_isr_never_completes() -> None:
    story = Story(3, partition(seq(1, 2), b(1, 2), 1))
    pending = story.take("start", target=b(3), successor=Broker(1))
    story.take("catch_up", follower=Broker(3))
    story.take("propose_expansion", follower=Broker(3))
    assert story.alter(successor=1) == replace(pending, isr=b(1, 2, 3), partition_epoch=4)
    story.take("hear")
    # All that is left is the administrator, a disturbance, or nothing.
    assert {s.action.name for s in story.bound.steps(story.s)} == {
        "retarget",
        "cancel",
        "propose_shrink",
        "fence",
        "shut_down_uncleanly",
    }


def test_cancel_restores_and_raises_both_epochs() -> None:
    story = Story(3, partition(seq(1, 2), b(1, 2), 1))
    story.take("start", target=b(2, 3), successor=Broker(1))
    assert story.take("cancel", successor=Broker(1)) == partition(
        seq(1, 2), b(1, 2), 1, leader_epoch=2, partition_epoch=4
    )


def test_cancel_below_min_isr_is_an_error() -> None:
    story = Story(3, partition(seq(1, 2), b(1), 1))
    pending = story.take("start", target=b(2, 3), successor=Broker(1))
    assert story.take("cancel", successor=Broker(1)) == pending
    assert story.s.asked == 2


def test_unclean_cancel_may_pass_over_whoever_is_eligible() -> None:
    story = Story(3, partition(seq(1, 2, 3), NOBODY, None, elr=b(2), adding=b(3), removing=b(1)))
    story.s = replace(story.s, unclean=True, complete=b(2))
    story.take("cancel", successor=Broker(1))
    assert story.s.partition.leader == Broker(1)
    assert story.s.complete == b(1)


def test_retarget_drops_what_nobody_wants() -> None:
    story = Story(4, partition(seq(1, 2), b(1, 2), 1))
    story.take("start", target=b(2, 3), successor=Broker(1))
    p = story.take("retarget", target=b(2, 4), successor=Broker(1))
    assert (p.replicas, p.adding, p.removing) == (seq(1, 2, 4), b(4), b(1))
    assert (p.leader_epoch, p.partition_epoch) == (2, 4)


def test_retarget_is_refused_where_it_costs_min_isr() -> None:
    story = Story(4, partition(seq(1, 2, 3), b(1, 3), 1, adding=b(3), removing=b(2)))
    with pytest.raises(GuardRefused):
        story.take("retarget", target=b(1, 4), successor=Broker(1))


def test_commit_waits_for_what_is_proposed() -> None:
    story = Story(4, partition(seq(1, 2, 3, 4), b(1, 2), 1, adding=b(3, 4)))
    story.take("catch_up", follower=Broker(3))
    story.take("catch_up", follower=Broker(4))
    story.take("propose_expansion", follower=Broker(3))
    story.take("commit")
    assert story.s.complete == b(1, 2, 3)


def test_commit_needs_min_isr() -> None:
    story = Story(3, partition(seq(1, 2), b(1), 1))
    story.take("catch_up", follower=Broker(2))
    with pytest.raises(GuardRefused):
        story.take("commit")


def test_removed_replica_deletes_its_log() -> None:
    story = Story(3, partition(seq(1, 2, 3), b(1, 2, 3), 1))
    story.take("start", target=b(1, 2), successor=Broker(1))
    assert story.s.complete == b(1, 2)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"partition_epoch": 1}, True),
        ({"leader_epoch": 0}, True),
        ({"source": Broker(2)}, True),
        ({"isr": b(1, 2, 4)}, True),
        ({"isr": b(2, 3)}, True),
        ({"broker_epochs": fill(Broker, Config(brokers=4), 0).put(Broker(3), 1)}, True),
    ],
)
def test_alter_partition_checks(change: dict[str, Any], refused: bool) -> None:
    story = Story(4, partition(seq(1, 2, 3), b(1, 2), 1))
    request = AlterPartition(Broker(1), 1, 2, b(1, 2, 3), fill(Broker, Config(brokers=4), 0))
    story.s = replace(story.s, requests=frozenset({replace(request, **change)}))
    before = story.s.partition
    after = story.alter(successor=1)
    assert (after == before) == refused
    assert story.s.requests == frozenset()


def test_fenced_broker_is_not_accepted() -> None:
    story = Story(3, partition(seq(1, 2), b(1), 1))
    story.take("catch_up", follower=Broker(2))
    story.take("propose_expansion", follower=Broker(2))
    story.take("fence", broker=Broker(2), successor=Broker(1))
    assert story.alter(successor=1).isr == b(1)


# -- every promise accepts something and refuses something ------------------------------------------------------

P = partition(seq(1, 2), b(1, 2), 1)
MOVE = partition(seq(1, 2, 3), b(1, 2), 1, adding=b(3), removing=b(1), partition_epoch=3)
DONE = partition(seq(2, 3), b(2, 3), 2, leader_epoch=2, partition_epoch=4)
BACK = partition(seq(1, 2), b(1, 2), 1, leader_epoch=2, partition_epoch=4)
OTHER = partition(seq(1, 2, 4), b(1, 2), 1, adding=b(4), removing=b(1), leader_epoch=2, partition_epoch=4)
TRIED = replace(MOVE, isr=b(2, 3), leader=Broker(2))
KEPT = replace(BACK, isr=b(2), leader=Broker(2))


def watched(p: Partition, unclean: bool = False, requests: int = 0, wanted: Brokers = b(2, 3)) -> Watched:  # noqa: B008
    return Watched(p, 2, unclean, requests, wanted)


INVARIANTS: dict[Property, tuple[Watched, Watched]] = {
    r.leader_is_in_sync: (watched(P), watched(replace(P, leader=Broker(3)))),
    r.isr_within_replicas: (watched(P), watched(replace(P, isr=b(1, 3)))),
    r.elr_within_replicas: (watched(replace(P, isr=b(1), elr=b(2))), watched(replace(P, isr=b(1), elr=b(3)))),
    r.isr_and_elr_are_disjoint: (watched(replace(P, isr=b(1), elr=b(2))), watched(replace(P, isr=b(1), elr=b(1)))),
    r.elr_only_below_min_isr: (watched(replace(P, isr=b(1), elr=b(2))), watched(replace(P, elr=b(3)))),
    r.moving_replicas_are_replicas: (watched(MOVE), watched(replace(P, adding=b(3)))),
    r.replicas_are_distinct: (watched(P), watched(replace(P, replicas=seq(1, 1)))),
    r.leads_where_it_was_asked_to: (watched(MOVE, wanted=b(2, 3)), watched(MOVE, wanted=b(1, 3))),
}

ON_ITS_OWN: dict[Property, tuple[tuple[Partition, Partition], tuple[Partition, Partition]]] = {
    r.every_change_has_a_partition_epoch: ((P, MOVE), (P, replace(P, isr=b(1)))),
    r.one_partition_epoch_per_change: ((MOVE, DONE), (MOVE, replace(DONE, partition_epoch=5))),
    r.leader_epoch_rises_with_partition_epoch: ((MOVE, DONE), (DONE, MOVE)),
    r.new_leader_has_a_new_epoch: ((MOVE, DONE), (MOVE, replace(DONE, leader_epoch=1))),
    r.pending_applies_nothing: ((MOVE, TRIED), (MOVE, replace(TRIED, replicas=seq(2, 3)))),
    r.only_completion_or_cancellation_ends_it: ((MOVE, DONE), (MOVE, BACK)),
    r.completion_needs_min_isr: ((MOVE, DONE), (MOVE, replace(DONE, isr=b(3)))),
    r.completion_needs_everything_added: ((MOVE, DONE), (MOVE, replace(DONE, isr=b(2)))),
    r.completion_is_of_the_target_asked_for: ((MOVE, DONE), (MOVE, replace(DONE, replicas=seq(2)))),
    r.completion_trims_isr_and_elr: ((MOVE, DONE), (MOVE, replace(DONE, isr=b(1, 2, 3)))),
    r.completion_moves_leader_only_if_removed: ((MOVE, DONE), (TRIED, replace(DONE, leader=Broker(3)))),
    r.completion_raises_leader_epoch: ((MOVE, DONE), (TRIED, replace(DONE, leader_epoch=1))),
    r.reassignment_keeps_min_isr: ((MOVE, DONE), (MOVE, replace(DONE, isr=b(3)))),
    properties.reassignment_keeps_min_isr_even_if_unclean: ((MOVE, DONE), (MOVE, replace(DONE, isr=b(3)))),
    r.leader_has_a_successor: ((MOVE, DONE), (MOVE, replace(DONE, leader=None))),
    properties.leader_has_a_successor_even_if_unclean: ((MOVE, DONE), (MOVE, replace(DONE, leader=None))),
}
"""Steps that nobody asked for: one that the property accepts and one that it refuses."""

ASKED_FOR: dict[Property, tuple[tuple[Partition, Partition], tuple[Partition, Partition], Brokers]] = {
    r.growth_keeps_leader_and_isr: ((P, MOVE), (P, replace(MOVE, isr=b(1))), b(2, 3)),
    r.growth_is_the_union: ((P, MOVE), (P, replace(MOVE, replicas=seq(2, 3))), b(2, 3)),
    r.pure_removal_commits_if_enough_is_left: ((P, replace(P, removing=b(1))), (P, partition(seq(2), b(2), 2)), b(2)),
    r.cancel_restores_the_originals: ((MOVE, BACK), (MOVE, DONE), b(1, 2)),
    r.cancel_below_min_isr_is_refused: ((TRIED, TRIED), (TRIED, replace(BACK, isr=b(2))), b(1, 2)),
    r.cancel_is_carried_out_otherwise: ((MOVE, BACK), (MOVE, MOVE), b(1, 2)),
    properties.cancel_elects_from_the_isr: ((TRIED, KEPT), (TRIED, replace(KEPT, isr=b(1), leader=Broker(1))), b(1, 2)),
    r.cancel_trims_the_elr: ((MOVE, BACK), (MOVE, replace(BACK, isr=b(1), elr=b(3))), b(1, 2)),
    r.retarget_replaces_the_target: ((MOVE, OTHER), (MOVE, replace(OTHER, replicas=seq(1, 2, 3, 4))), b(2, 4)),
}
"""Requests, with what was asked for."""


@pytest.mark.parametrize("claim", INVARIANTS, ids=lambda p: p.name)
def test_invariant_accepts_and_refuses(claim: Property) -> None:
    good, bad = INVARIANTS[claim]
    assert claim(good) is True
    assert claim(bad) is False


@pytest.mark.parametrize("claim", ON_ITS_OWN, ids=lambda p: p.name)
def test_step_property_accepts_and_refuses(claim: Property) -> None:
    good, bad = ON_ITS_OWN[claim]
    assert claim(before=watched(good[0]), after=watched(good[1])) is True
    assert claim(before=watched(bad[0]), after=watched(bad[1])) is False


@pytest.mark.parametrize("claim", ASKED_FOR, ids=lambda p: p.name)
def test_property_of_a_request_accepts_and_refuses(claim: Property) -> None:
    good, bad, wanted = ASKED_FOR[claim]
    for (before, after), holds in ((good, True), (bad, False)):
        w = watched(before, wanted=b(2, 3) if wanted == b(2, 4) else b(1, 2))
        assert claim(before=w, after=watched(after, requests=1, wanted=wanted)) is holds


def test_what_was_asked_for_is_not_held_against_a_cancellation() -> None:
    """The same step is a cancellation if somebody asked for it, and the end of a reassignment by accident if not."""
    before, back = watched(MOVE), replace(BACK, isr=b(1, 2))
    for claim in (r.only_completion_or_cancellation_ends_it, r.completion_is_of_the_target_asked_for):
        assert claim(before=before, after=watched(back, requests=1, wanted=b(1, 2))) is True
        assert claim(before=before, after=watched(back)) is False


def cluster(p: Partition, **more: Any) -> Cluster:
    return replace(Story(3, p).s, **more)


def test_cluster_claims_accept_and_refuse() -> None:
    assert properties.leader_holds_everything_committed(cluster(P)) is True
    assert properties.leader_holds_everything_committed(cluster(P, complete=b(2))) is False
    assert properties.isr_is_unfenced(cluster(P)) is True
    assert properties.isr_is_unfenced(cluster(P, unfenced=b(1))) is False
    asks = properties.only_the_administrator_asks
    assert asks(before=cluster(P), after=cluster(MOVE, asked=1, wanted=seq(2, 3)), action=protocol.start) is True
    assert asks(before=cluster(P), after=cluster(P, wanted=seq(2, 3)), action=protocol.fence) is False
    ends = properties.ends_at_a_request_or_a_new_isr
    assert ends(before=cluster(MOVE), after=cluster(DONE), action=protocol.alter_partition) is True
    assert ends(before=cluster(MOVE), after=cluster(DONE), action=protocol.fence) is False
    late = AlterPartition(Broker(1), 1, 2, b(1), fill(Broker, Config(), 0))
    stale = properties.stale_request_changes_nothing
    assert stale(before=cluster(MOVE), after=cluster(MOVE), request=late) is True
    assert stale(before=cluster(MOVE), after=cluster(replace(MOVE, isr=b(1))), request=late) is False
    proposed = replace(late, isr=b(1, 3))
    below = replace(MOVE, isr=b(1), elr=b(2))
    taken = properties.pending_takes_the_isr_as_proposed
    grown = cluster(replace(below, isr=b(1, 3), elr=NOBODY))
    assert taken(before=cluster(below), after=grown, request=proposed) is True
    assert (
        taken(before=cluster(below), after=cluster(replace(below, isr=b(3), leader=Broker(3))), request=proposed)
        is False
    )
    small = replace(late, isr=b(1))
    assert taken(before=cluster(MOVE), after=cluster(below), request=small) is True
    assert taken(before=cluster(MOVE), after=cluster(replace(below, elr=NOBODY)), request=small) is False
    kept = properties.growth_keeps_who_is_eligible
    offered = replace(P, isr=b(1), elr=b(2))
    assert kept(before=cluster(offered), after=cluster(below)) is True
    assert kept(before=cluster(offered), after=cluster(replace(below, elr=NOBODY))) is False
    moving = cluster(MOVE, original=seq(2, 1))
    assert properties.cancel_restores_what_was_before(before=moving, after=cluster(BACK)) is True
    assert properties.cancel_restores_what_was_before(before=moving, after=cluster(DONE)) is False
    assert properties.cancel_restores_the_order(before=moving, after=cluster(BACK)) is False
    assert properties.cancel_restores_the_order(before=cluster(MOVE, original=seq(1, 2)), after=cluster(BACK)) is True
    offline = cluster(partition(seq(1, 2, 3), NOBODY, None, elr=b(2), adding=b(3)), complete=b(2))
    spared = properties.cancel_spares_the_eligible
    assert spared(before=offline, after=cluster(replace(BACK, leader=Broker(2)))) is True
    assert spared(before=offline, after=cluster(BACK)) is False


def test_no_claim_is_untested() -> None:
    tested = {p.name for p in [*INVARIANTS, *ON_ITS_OWN, *ASKED_FOR]} | {
        "only_the_administrator_asks",
        "ends_at_a_request_or_a_new_isr",
        "leader_holds_everything_committed",
        "isr_is_unfenced",
        "stale_request_changes_nothing",
        "cancel_restores_what_was_before",
        "cancel_restores_the_order",
        "cancel_spares_the_eligible",
        "pending_takes_the_isr_as_proposed",
        "growth_keeps_who_is_eligible",
    }
    shared = {p.name for p in PROMISES}  # tests/test_promises.py
    assert {p.name for p in kraft.MODEL.properties if p.kind in ("invariant", "step")} - shared == tested


def test_every_promise_says_what_breaks() -> None:
    for claim in kraft.MODEL.properties:
        if claim.kind != "cover" and claim not in PROMISES:
            assert claim.doc.startswith("K"), claim.name


# -- the whole space --------------------------------------------------------------------------------------------


def test_default_configuration() -> None:
    verdict, bound = run(CheckRequest("kraft", [], "native", SearchOptions()), Progress(quiet=True))
    stats = verdict.stats
    assert (stats.distinct, stats.generated, stats.depth, stats.clipped) == (39_662, 111_394, 21, 0)
    assert verdict.complete
    fallen = {p.name: p.trace for p in verdict.properties if p.trace is not None and not p.temporal}
    # What the document's own rule for cancelling where unclean election is allowed contradicts.
    assert {name: len(trace) for name, trace in fallen.items()} == {
        "reassignment_keeps_min_isr_even_if_unclean": 6,
        "cancel_spares_the_eligible": 5,
    }
    for trace in fallen.values():
        assert trace.steps[-1].action == "cancel"
        replay(trace, bound)
    assert [c.name for c in verdict.covers if not c.reached] == []
    assert all(a.taken for a in verdict.actions.values())


@pytest.mark.parametrize(
    "pairs",
    [
        ["min_isr=1", "admin_requests=1"],
        ["in_flight=2", "admin_requests=1"],
        ["replication_factor=3", "initial_isr=3"],
        ["disturbances=2", "shutdowns=2", "admin_requests=0"],
        ["brokers=4", "replication_factor=3", "admin_requests=1", "disturbances=0"],
    ],
)
def test_other_configurations_are_safe_and_never_clipped(pairs: list[str]) -> None:
    verdict, _ = checked("kraft", [*pairs, "unclean=off"], "native", workers=1)
    assert verdict.complete
    assert verdict.stats.clipped == 0
    assert [p.name for p in verdict.properties if p.status == "violated" and not p.temporal] == []
