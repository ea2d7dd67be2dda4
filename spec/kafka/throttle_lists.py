"""Which brokers the tool puts into which list of throttled replicas for a reassignment (KIP-73, which KIP-542 keeps).

`leader.replication.throttled.replicas` has the brokers that send: all that have the partition. Of
`follower.replication.throttled.replicas` are those that copy it: the ones that it is new on. Both are texts of
`partition:broker`, separated by commas, one for each topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Partition = tuple[str, int]
"""A topic and a partition's number."""


@dataclass(frozen=True)
class Move:
    """A partition that moves. current: its replicas, without those that a reassignment is adding already.

    Another target drops those, unless it has them: they neither send nor copy.
    """

    current: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def sources(self) -> frozenset[int]:
        """Brokers that may send: who has the partition."""
        return frozenset(self.current)

    @property
    def destinations(self) -> frozenset[int]:
        """Brokers that copy: who is new on it."""
        return frozenset(self.target) - self.sources


def leader_lists(moves: Mapping[Partition, Move]) -> dict[str, str]:
    """By topic: leader.replication.throttled.replicas."""
    return _lists({partition: move.sources for partition, move in moves.items()})


def follower_lists(moves: Mapping[Partition, Move]) -> dict[str, str]:
    """By topic: follower.replication.throttled.replicas."""
    return _lists({partition: move.destinations for partition, move in moves.items()})


def _lists(brokers: Mapping[Partition, frozenset[int]]) -> dict[str, str]:
    """Each text in the order in which Kafka writes it: the entries as texts."""
    entries: dict[str, set[str]] = {}
    for (topic, number), listed in brokers.items():
        entries.setdefault(topic, set()).update(f"{number}:{broker}" for broker in listed)
    return {topic: ",".join(sorted(found)) for topic, found in sorted(entries.items())}
