"""K18: min.insync.replicas and unclean leader election changed on the way, by the document and by Kafka."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reassure.models.kraft import kraft_kafka_operated, kraft_reconfigured
from reassure.models.kraft.kafka_controller import Release
from reassure.models.kraft.kraft_kafka_operated import Operated
from reassure.models.kraft.kraft_reconfigured import Eligible, Reconfigured
from reassure.models.kraft.state import Cluster, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.brokers import b


def opened(config: kraft_reconfigured.Config) -> tuple[BoundModel, Reconfigured]:
    bound = BoundModel(kraft_reconfigured.MODEL, config)
    (s,) = (s for _, _, s in bound.initial_states() if isinstance(s, Reconfigured))
    return bound, s


ONE_IN_SYNC, NOBODY_IN_SYNC = b(1), NOBODY


@pytest.mark.parametrize(
    ("eligible", "isr", "kept"),
    [
        (Eligible.KEPT, ONE_IN_SYNC, b(2)),
        (Eligible.FORGOTTEN, ONE_IN_SYNC, NOBODY),
        (Eligible.TRIMMED, ONE_IN_SYNC, NOBODY),
        (Eligible.KEPT, NOBODY_IN_SYNC, b(2)),
        (Eligible.FORGOTTEN, NOBODY_IN_SYNC, NOBODY),
        (Eligible.TRIMMED, NOBODY_IN_SYNC, b(2)),
    ],
)
def test_who_is_eligible_after_a_lower_min_isr(eligible: Eligible, isr: Brokers, kept: Brokers) -> None:
    bound, s = opened(kraft_reconfigured.Config(eligible=eligible, unclean=Unclean.OFF))
    before = replace(s, partition=replace(s.partition, isr=isr, elr=b(2), leader=Broker(1) if isr else None))
    after: Any = bound.take(before, "change_min_isr", {"value": 1})
    assert (after.min_isr, after.partition.elr) == (1, kept)
    assert after.partition.partition_epoch == (0 if kept else 1)
    leaves = kraft_reconfigured.changed_min_isr_leaves_who_may_lead(before=before, after=after)
    assert leaves is (isr | kept != NOBODY)


def test_a_change_is_to_another_value_and_counted() -> None:
    bound, s = opened(kraft_reconfigured.Config(unclean=Unclean.OFF))
    with pytest.raises(GuardRefused):
        bound.take(s, "change_min_isr", {"value": 2})
    after: Any = bound.take(s, "change_unclean", {"allowed": True})
    assert (after.unclean, after.unclean_changed) == (True, 1)
    with pytest.raises(GuardRefused):
        bound.take(after, "change_unclean", {"allowed": False})


class Kafka:
    """Steps of a release's controller with what operators do."""

    def __init__(self, release: Release, **config: Any) -> None:
        given = {"min_isr_changes": 2, "unclean_changes": 1, "disturbances": 2, "unclean": Unclean.OFF, **config}
        self.bound = BoundModel(kraft_kafka_operated.MODEL, kraft_kafka_operated.Config(release=release, **given))
        (self.s,) = (s for _, _, s in self.bound.initial_states() if isinstance(s, Operated))

    def take(self, name: str, **params: Any) -> Operated:
        after = self.bound.take(self.s, name, params)
        assert isinstance(after, Operated) and isinstance(after, Cluster)
        self.s = after
        return after


@pytest.mark.parametrize("release", list(Release))
def test_kafka_forgets_the_last_eligible_replica(release: Release) -> None:
    """From 4.0 on a partition whose last in-sync replica is down stays offline when it returns; not with the fixes."""
    kafka = Kafka(release)
    kafka.take("fence", broker=Broker(1))
    before = kafka.s
    after = kafka.take("change_min_isr", value=1)
    kept = release in (Release.V3_9, Release.FIXED)
    assert after.partition.elr == (b(1) if kept else NOBODY)
    assert after.partition.partition_epoch == before.partition.partition_epoch + (0 if kept else 1)
    assert kraft_kafka_operated.changed_min_isr_leaves_who_may_lead(before=before, after=after) is kept
    assert kafka.take("unfence", broker=Broker(1)).partition.leader == (Broker(1) if kept else None)


@pytest.mark.parametrize("release", [Release.V4_0, Release.V4_4])
def test_a_clean_restart_keeps_the_broker_eligible(release: Release) -> None:
    kafka = Kafka(release)
    s = kafka.take("restart_cleanly", broker=Broker(1))
    assert (s.partition.isr, s.partition.elr, s.complete) == (NOBODY, b(1), b(1))
    assert (s.unfenced, s.broker_epochs[Broker(1)]) == (b(2, 3), 1)
    assert kafka.take("unfence", broker=Broker(1)).partition.leader == Broker(1)


def test_3_9_knows_no_clean_restart() -> None:
    with pytest.raises(GuardRefused):
        Kafka(Release.V3_9).take("restart_cleanly", broker=Broker(1))


def test_a_controlled_shutdown_moves_the_leader_and_ends_with_fencing() -> None:
    kafka = Kafka(Release.V4_4, initial_isr=2, disturbances=0)
    before = kafka.s
    s = kafka.take("shut_down_in_control", broker=Broker(1))
    assert (s.partition.leader, s.partition.isr, s.partition.elr) == (Broker(2), b(2), b(1))
    assert (s.unfenced, s.shutting_down) == (b(1, 2, 3), b(1))
    moves = kraft_kafka_operated.controlled_shutdown_moves_the_leader
    assert moves(before=before, after=s, broker=Broker(1))
    stays = replace(s, partition=replace(s.partition, leader=None))
    assert not moves(before=before, after=stays, broker=Broker(1))
    with pytest.raises(GuardRefused):
        kafka.take("propose_expansion", follower=Broker(1))
    assert kafka.take("fence", broker=Broker(1)).unfenced == b(2, 3)
    with pytest.raises(GuardRefused):
        kafka.take("unfence", broker=Broker(1))
    assert kafka.take("restart_cleanly", broker=Broker(1)).shutting_down == NOBODY
    assert kafka.take("unfence", broker=Broker(1)).unfenced == b(1, 2, 3)
