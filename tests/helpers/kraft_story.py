"""A KRaft cluster that a test takes steps on, one by one, in plain Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reassure.models.kraft import kraft
from reassure.models.kraft.state import Cluster, Config, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition
from reassure.spec.semantics.interpreter import BoundModel


def partition(replicas: tuple[Broker, ...], isr: Brokers, leader: int | None, **more: Any) -> Partition:
    """A partition; epochs as at the start of the examples unless given."""
    plain = Partition(
        replicas=replicas,
        isr=isr,
        elr=NOBODY,
        adding=NOBODY,
        removing=NOBODY,
        leader=None if leader is None else Broker(leader),
        leader_epoch=1,
        partition_epoch=2,
        recovering=False,
        last_known_leader=None,
    )
    return replace(plain, **more)


class Story:
    """A cluster that steps are taken on, each through the plain Python action."""

    def __init__(self, brokers: int, p: Partition, **config: Any) -> None:
        self.bound = BoundModel(
            kraft.MODEL, Config(brokers=brokers, replication_factor=1, unclean=Unclean.OFF, **config)
        )
        start = next(s for _, _, s in self.bound.initial_states())
        assert isinstance(start, Cluster)
        self.s = replace(start, partition=p, leader_isr=p.isr, complete=p.isr, original=p.replicas, wanted=p.replicas)

    def take(self, name: str, **params: Any) -> Partition:
        self.s = self.bound.take(self.s, name, params)
        assert isinstance(self.s, Cluster)
        return self.s.partition

    def alter(self, successor: int) -> Partition:
        (request,) = self.s.requests
        return self.take("alter_partition", request=request, successor=Broker(successor))
