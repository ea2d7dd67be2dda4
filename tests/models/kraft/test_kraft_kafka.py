"""Kafka's rules by release: the facts found by running its controller classes, each told as a story."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.models.kraft import kafka_controller as rules
from reassure.models.kraft import kraft_kafka
from reassure.models.kraft.kafka_controller import PUBLISHED, Election, Release, switches
from reassure.models.kraft.kraft_kafka import Config, Kafka
from reassure.models.kraft.state import Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, Partition, reassigning
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import PlainConfig, replay
from tests.helpers.brokers import b, seq
from tests.helpers.kraft_story import partition

UP_TO_4_0 = (Release.V3_9, Release.V4_0)
UP_TO_4_2 = (*UP_TO_4_0, Release.V4_1, Release.V4_2)
FROM_4_3 = (Release.V4_3, Release.V4_4)
FIXED = Release.FIXED


class Story:
    """A cluster of a release that steps are taken on, each through the plain Python action."""

    def __init__(self, release: Release, unclean: bool = False, **config: Any) -> None:
        given: PlainConfig = {"admin_requests": 4, "disturbances": 4, "shutdowns": 2, **config}
        c = Config(release=release, unclean=Unclean.ON if unclean else Unclean.OFF, **given)
        self.bound = BoundModel(kraft_kafka.MODEL, c)
        (self.s,) = (s for _, _, s in self.bound.initial_states() if isinstance(s, Kafka))

    @property
    def p(self) -> Partition:
        return self.s.partition

    def take(self, name: str, **params: Any) -> Partition:
        after = self.bound.take(self.s, name, params)
        assert isinstance(after, Kafka)
        self.s = after
        return self.p

    def joins(self, follower: int) -> Partition:
        """A follower catches up and is taken into the ISR."""
        self.take("catch_up", follower=Broker(follower))
        self.take("propose_expansion", follower=Broker(follower))
        (request,) = self.s.requests
        self.take("alter_partition", request=request)
        if self.s.proposed != NOBODY or self.s.leader_isr != self.p.isr:
            self.take("hear")
        return self.p

    def holds(self, name: str) -> bool:
        claim = next(p for p in self.bound.model.properties if p.name == name)
        return bool(claim.function(self.s))


@pytest.mark.parametrize("release", PUBLISHED)
def test_a_living_stranger_makes_a_request_fail(release: Release) -> None:
    """2 stays eligible when it is removed; asked for again while nobody leads, its directory is not known."""
    story = Story(release)
    story.take("start", target=b(2))
    assert story.joins(2) == partition(seq(2), b(2), 2, elr=b(1), leader_epoch=1, partition_epoch=2)
    before = story.take("fence", broker=Broker(2))
    assert (before.leader, before.isr, before.elr) == (None, NOBODY, b(1, 2))
    assert story.take("start", target=b(1)) == before
    assert (story.s.asked, story.s.wanted) == (2, seq(2))


@pytest.mark.parametrize("release", UP_TO_4_2)
def test_lost_by_a_cancellation(release: Release) -> None:
    story = Story(release)
    story.take("start", target=b(2, 3))
    assert story.joins(3).isr == b(1, 3)
    assert story.take("cancel").elr == b(3)
    story.take("start", target=b(2, 3))
    assert story.holds("nothing_lost_by_a_cancellation")
    p = story.take("fence", broker=Broker(1))
    assert (p.leader, p.isr, p.recovering, story.s.complete) == (Broker(3), b(3), False, b(1))
    assert not story.holds("nothing_lost_by_a_cancellation")
    assert story.holds("nothing_lost_by_a_completion")
    assert story.holds("nothing_lost_otherwise")


@pytest.mark.parametrize("release", FROM_4_3)
def test_lost_by_a_completion(release: Release) -> None:
    story = Story(release)
    story.take("start", target=b(2, 3))
    p = story.joins(3)
    assert (p.replicas, p.isr, p.elr, reassigning(p)) == (seq(2, 3), b(3), b(1), False)
    story.take("start", target=b(1, 3))
    p = story.take("fence", broker=Broker(3))
    assert (p.leader, p.isr, p.recovering, story.s.complete) == (Broker(1), b(1), False, b(3))
    assert not story.holds("nothing_lost_by_a_completion")
    assert story.holds("nothing_lost_by_a_cancellation")


@pytest.mark.parametrize("release", PUBLISHED)
def test_rolled_back_by_its_original_assignment(release: Release) -> None:
    story = Story(release, initial_isr=2)
    before = story.s
    story.take("start", target=b(1, 3))
    started = story.s
    p = story.take("retarget", target=b(1, 2))
    ends = kraft_kafka.rolling_back_ends(before=started, after=story.s)
    assert reassigning(p) is (release in FROM_4_3)
    assert ends is (release not in FROM_4_3)
    if release in FROM_4_3:
        assert (p.adding, p.removing, p.isr) == (b(3), b(3), b(1, 2))
        assert not reassigning(story.take("cancel"))
        assert story.p.replicas == before.partition.replicas


@pytest.mark.parametrize("release", PUBLISHED)
def test_a_registration_that_throws(release: Release) -> None:
    """2 led uncleanly, was cancelled away, and is remembered as the last leader; 1 registers after losing its log."""
    story = Story(release, unclean=True, brokers=2, replication_factor=1, min_isr=1)
    story.take("start", target=b(2))
    assert story.take("fence", broker=Broker(1)).leader == Broker(2)
    p = story.take("cancel")
    remembers = release in (Release.V4_2, *FROM_4_3)
    assert (p.replicas, p.isr, p.leader) == (seq(1), b(1), None)
    assert p.last_known_leader == (Broker(2) if remembers else None)
    before = story.s
    story.take("shut_down_uncleanly", broker=Broker(1))
    throws = story.s == before
    assert throws is remembers
    carried_out = kraft_kafka.broker_events_are_carried_out(before=before, after=story.s, broker=Broker(1))
    assert carried_out is not throws


@pytest.mark.parametrize("release", PUBLISHED)
def test_only_an_early_release_elects_a_dead_last_known_leader(release: Release) -> None:
    story = Story(release)
    story.take("fence", broker=Broker(1))
    story.take("shut_down_uncleanly", broker=Broker(1))
    dead = release in UP_TO_4_0
    assert (story.p.leader, story.p.isr) == ((Broker(1), b(1)) if dead else (None, NOBODY))
    assert story.holds("isr_is_unfenced") is not dead


@pytest.mark.parametrize("release", PUBLISHED)
def test_an_isr_that_empties_without_a_leader(release: Release) -> None:
    """Up to 4.1 lastKnownElr becomes [-1]; in 3.9 and 4.0 that keeps every unclean election from happening."""
    w = switches(release)
    p = partition(seq(1, 2), b(1), None)
    emptied = rules.built(p, replace(rules.unchanged(p, Election.ONLINE), isr=NOBODY), NOBODY, b(1), 1, w).partition
    old = not w.last_known_on_loss
    assert (emptied.last_known_leader, emptied.last_known_is_nobody) == (None, old)
    vote = rules.elected(emptied, emptied.replicas, NOBODY, NOBODY, b(2), Election.UNCLEAN, w)
    assert vote.leader == (None if release in UP_TO_4_0 else Broker(2))


@pytest.mark.parametrize("release", PUBLISHED)
def test_unfencing_elects_in_the_same_step(release: Release) -> None:
    story = Story(release)
    assert story.take("fence", broker=Broker(1)).elr == b(1)
    assert story.take("unfence", broker=Broker(1)).leader == Broker(1)


@pytest.mark.parametrize("release", PUBLISHED)
def test_completion_with_a_kept_replica_out_of_sync(release: Release) -> None:
    """[1, 2] to [2, 3] while 2 is out: from 4.3 on it is done when 3 joins."""
    story = Story(release)
    story.take("start", target=b(2, 3))
    assert reassigning(story.joins(3)) is (release not in FROM_4_3)


# -- with the fixes ------------------------------------------------------------------------------------------------


def test_a_fixed_completion_leaves_nobody_eligible_who_is_no_replica() -> None:
    story = Story(FIXED)
    story.take("start", target=b(2, 3))
    p = story.joins(3)
    assert (p.replicas, p.isr, p.elr, reassigning(p)) == (seq(2, 3), b(3), NOBODY, False)
    story.take("start", target=b(1, 3))
    p = story.take("fence", broker=Broker(3))
    assert (p.leader, p.isr, p.elr, story.s.complete) == (None, NOBODY, b(3), b(3))
    assert story.holds("nothing_lost_by_a_completion")
    assert story.take("unfence", broker=Broker(3)).leader == Broker(3)


def test_a_fixed_cancellation_leaves_nobody_eligible_who_is_no_replica() -> None:
    story = Story(FIXED, brokers=4, initial_isr=2)
    story.take("start", target=b(3, 4))
    assert story.joins(3).isr == b(1, 2, 3)
    assert story.take("fence", broker=Broker(2)).isr == b(1, 3)
    p = story.take("cancel")
    assert (p.replicas, p.isr, p.elr) == (seq(1, 2), b(1), NOBODY)
    story.take("start", target=b(2, 3))
    assert story.take("fence", broker=Broker(1)).leader is None
    assert story.holds("nothing_lost_by_a_cancellation")


def test_a_fixed_rollback_ends_or_can_be_cancelled() -> None:
    """While no original is in sync, broker 3 is listed as added and as removed; a cancellation takes it away."""
    story = Story(FIXED, initial_isr=2)
    story.take("start", target=b(1, 3))
    p = story.take("retarget", target=b(1, 2))
    assert (p.replicas, p.adding, p.removing) == (seq(1, 2), NOBODY, NOBODY)
    story = Story(FIXED)
    story.take("start", target=b(2, 3))
    story.take("fence", broker=Broker(1))
    p = story.take("retarget", target=b(1, 2))
    assert (p.replicas, p.adding, p.removing, p.isr) == (seq(1, 2, 3), b(3), b(3), NOBODY)
    assert story.take("unfence", broker=Broker(1)).isr == b(1)
    p = story.take("cancel")
    assert (p.replicas, p.isr, reassigning(p)) == (seq(1, 2), b(1), False)


def test_a_fixed_request_for_the_present_replicas_stops_their_removal() -> None:
    story = Story(FIXED, replication_factor=3, initial_isr=3)
    story.take("fence", broker=Broker(3))
    assert story.take("start", target=b(2, 3)).removing == b(1)
    p = story.take("retarget", target=b(1, 2, 3))
    assert (p.replicas, p.isr, reassigning(p)) == (seq(1, 2, 3), b(1, 2), False)


def test_a_fixed_request_waits_for_what_an_earlier_one_adds() -> None:
    story = Story(FIXED, replication_factor=1)
    story.take("start", target=b(1, 2))
    assert story.take("retarget", target=b(1, 2, 3)).adding == b(2, 3)
    assert story.joins(3).adding == b(2, 3)
    assert not reassigning(story.joins(2))


def test_a_fixed_controller_remembers_no_leader_that_is_no_replica() -> None:
    story = Story(FIXED, unclean=True, brokers=2, replication_factor=1, min_isr=1)
    story.take("start", target=b(2))
    story.take("fence", broker=Broker(1))
    p = story.take("cancel")
    assert (p.replicas, p.isr, p.leader, p.last_known_leader) == (seq(1), b(1), None, None)
    before = story.s
    story.take("shut_down_uncleanly", broker=Broker(1))
    assert kraft_kafka.broker_events_are_carried_out(before=before, after=story.s, broker=Broker(1))
    assert (story.p.isr, story.p.last_known_leader) == (NOBODY, None)


def test_a_fixed_election_from_the_elr_that_is_enough_forgets_the_rest() -> None:
    """MinISR was lowered to 1 while the ISR was empty: who is elected of two eligible brokers commits alone."""
    p = replace(partition(seq(1, 2), NOBODY, None, elr=b(1, 2)), last_known_leader=Broker(1))
    for min_isr, elr in ((1, NOBODY), (2, b(1))):
        built = rules.built(p, rules.unchanged(p, Election.ONLINE), b(2), NOBODY, min_isr, switches(FIXED))
        assert (built.partition.leader, built.partition.elr) == (Broker(2), elr)


@pytest.mark.parametrize(
    ("last", "replicas", "remembered"), [(1, (1, 2), 1), (3, (1, 2), None), (1, (2,), None), (None, (1, 2), None)]
)
def test_a_fixed_last_known_leader_is_a_replica_throughout(
    last: int | None, replicas: tuple[int, ...], remembered: int | None
) -> None:
    p = replace(partition(seq(1, 2), NOBODY, None), last_known_leader=None if last is None else Broker(last))
    change = replace(rules.unchanged(p, Election.ONLINE), replicas=seq(*replicas))
    after = rules.built(p, change, NOBODY, NOBODY, 1, switches(FIXED)).partition
    assert after.last_known_leader == (None if remembered is None else Broker(remembered))


def test_min_isr_is_that_of_partition_zero() -> None:
    """Down to one replica, MinISR of a partition 0 that keeps two is still 2: the removed one stays eligible."""
    ours, another = Story(Release.V4_2, initial_isr=2), Story(Release.V4_2, initial_isr=2, replicas_of_partition_zero=2)
    for story in (ours, another):
        story.take("start", target=b(1))
        story.take("start", target=b(1, 2))
    assert (ours.p.elr, another.p.elr) == (NOBODY, b(2))


def test_a_partition_of_fewer_replicas_than_min_isr_commits() -> None:
    story = Story(Release.V4_4, replication_factor=1)
    story.take("start", target=b(1, 2))
    story.take("catch_up", follower=Broker(2))
    story.take("cancel")
    story.s = replace(story.s, complete=b(1, 3))
    story.take("commit")
    assert story.s.complete == b(1)


def test_balancing_elects_what_is_being_added() -> None:
    story = Story(Release.V4_4, brokers=3, replication_factor=1, min_isr=1, balancing=True)
    story.s = replace(story.s, partition=partition(seq(2, 3, 1), b(1, 2), 1, adding=b(2, 3), removing=b(1)))
    before = story.s
    assert story.take("elect_preferred").leader == Broker(2)
    assert kraft_kafka.preferred_leader_is_an_added_one(before=before, after=story.s) is True


@pytest.mark.parametrize("release", PUBLISHED)
def test_a_cancellation_that_stops_producers(release: Release) -> None:
    """4 is added with 3 and joins: enough are in sync, until both are cancelled away."""
    story = Story(release, brokers=4)
    story.take("start", target=b(2, 3, 4))
    before = story.s
    assert story.joins(3).isr == b(1, 3)
    enough = story.s
    story.take("cancel")
    assert (story.p.replicas, story.p.isr) == (seq(2, 1), b(1))
    assert not kraft_kafka.cancelling_keeps_min_isr(before=enough, after=story.s)
    assert kraft_kafka.cancelling_keeps_min_isr(before=before, after=story.s)  # no fewer than before


def test_a_cancellation_to_fewer_replicas_than_min_isr_stops_nobody() -> None:
    """MinISR is limited to the replicas: with one there were no more to begin with."""
    story = Story(Release.V4_4, brokers=4, replication_factor=1)
    story.take("start", target=b(1, 2, 3))
    story.joins(2)
    before = story.s
    assert story.take("cancel").isr == b(1)
    assert kraft_kafka.cancelling_keeps_min_isr(before=before, after=story.s)


KNOWN = {
    "nothing_lost_by_a_cancellation",
    "nothing_lost_by_a_completion",
    "nothing_lost_otherwise",
    "cancelling_keeps_min_isr",
    "rolling_back_ends",
    "broker_events_are_carried_out",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "pairs", "expected"),
    [
        (
            "4.2",
            [],
            {"nothing_lost_by_a_cancellation": 8, "nothing_lost_by_a_completion": 9, "cancelling_keeps_min_isr": 6},
        ),
        ("4.4", [], {"nothing_lost_by_a_completion": 7, "cancelling_keeps_min_isr": 7, "rolling_back_ends": 3}),
    ],
)
def test_what_search_finds(release: str, pairs: list[str], expected: dict[str, int]) -> None:
    chosen = [f"release={release}", "unclean=off", "admin_requests=3", "disturbances=2", "shutdowns=0", *pairs]
    verdict, bound = run(CheckRequest("kraft_kafka", chosen, "native", SearchOptions()), Progress(quiet=True))
    assert verdict.complete
    assert verdict.stats.clipped == 0
    traces = {p.name: p.trace for p in verdict.properties if p.trace is not None and p.name in KNOWN}
    assert {name: len(trace) for name, trace in traces.items()} == expected
    for trace in traces.values():
        replay(trace, bound)
