"""Brokers by their numbers; a cluster to plan for, and the lists that a partition passes through."""

from __future__ import annotations

from reassure.checkers.kafka.plan import stages
from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.spec.kafka.partition import Broker, Brokers

SIX = ClusterFile({1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}, 1, {"orders": 2})
"""Six brokers in three racks."""
ONE = ("orders", 0)


def b(*numbers: int) -> Brokers:
    """A set of brokers."""
    return frozenset(Broker(n) for n in numbers)


def seq(*numbers: int) -> tuple[Broker, ...]:
    """A list of brokers."""
    return tuple(Broker(n) for n in numbers)


def lists(path: stages.Path) -> list[tuple[int, ...]]:
    return [s.replicas for s in path]
