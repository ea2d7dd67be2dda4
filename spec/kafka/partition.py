"""One partition as the controller keeps it, and the words that properties about its reassignment are written in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reassure.spec.language.types import MaxLen, Range
from reassure.spec.language.values import Id, every


class Broker(Id, size="brokers", first=1):
    """A broker, numbered from 1 as in the documents' examples."""


Brokers = frozenset[Broker]
Replicas = Annotated[tuple[Broker, ...], MaxLen("brokers")]
Epoch = Annotated[int, Range(0, "max_epoch")]
NOBODY: Brokers = frozenset()


@dataclass(frozen=True)
class Partition:
    """One partition's metadata at the controller (`PartitionRegistration` in Kafka)."""

    replicas: Replicas
    """In order; the first is the preferred leader."""
    isr: Brokers
    elr: Brokers
    """Eligible leader replicas (KIP-966)."""
    adding: Brokers
    removing: Brokers
    leader: Broker | None
    leader_epoch: Epoch
    partition_epoch: Epoch
    recovering: bool
    """Leader recovery state: an unclean leader has not finished its recovery."""
    last_known_leader: Broker | None
    """Kafka's lastKnownElr, which in production holds at most the last leader."""


@dataclass(frozen=True)
class Watched:
    """What the promises read: the partition, and what counts as enough for it."""

    partition: Partition
    min_isr: Annotated[int, Range(0, 64)]
    unclean: bool
    """Whether the topic allows unclean leader election."""


def first(count: int, c: object) -> Brokers:
    """The first brokers, by number."""
    return frozenset(b for b in every(Broker, c) if sum(1 for x in every(Broker, c) if x < b) < count)


def without(listed: tuple[Broker, ...], gone: Brokers) -> tuple[Broker, ...]:
    """The list but for some brokers, in its order."""
    return tuple(b for b in listed if b not in gone)


def members(p: Partition) -> Brokers:
    return frozenset(p.replicas)


def reassigning(p: Partition) -> bool:
    """Something is being added or removed."""
    return p.adding != NOBODY or p.removing != NOBODY


def target_of(p: Partition) -> Brokers:
    """Where the reassignment leads."""
    return members(p) - p.removing


def reached(b: Partition, a: Partition) -> bool:
    """From `b` to `a` a reassignment was completed: nothing is pending any more, and something was, or has changed."""
    return not reassigning(a) and (reassigning(b) or members(a) != members(b))


def enough(isr: Brokers, w: Watched) -> bool:
    return len(isr) >= w.min_isr


def moved(b: Partition, a: Partition) -> bool:
    """Between `b` and `a` a reassignment was started, changed, completed or cancelled."""
    return members(a) != members(b) or a.adding != b.adding or a.removing != b.removing
