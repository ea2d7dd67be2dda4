"""One partition as the controller keeps it, and the functions that properties about its reassignment use."""

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
    last_known_is_nobody: bool = False
    """lastKnownElr holds -1: Kafka up to 4.1 writes that where the ISR empties while nobody leads."""


@dataclass(frozen=True)
class Watched:
    """The view that the properties read: the partition, and when it has enough replicas."""

    partition: Partition
    min_isr: Annotated[int, Range(0, 64)]
    unclean: bool
    """Whether the topic allows unclean leader election."""
    requests: Annotated[int, Range(0, 64)]
    """Ghost: how many requests the administrator has made, refused ones included."""
    wanted: Brokers
    """Ghost: what the administrator asked for last, as far as it was not refused.

    After a cancellation: what was there before. Kept by the administrator's steps alone, so that it says whether the
    controller does what it was asked to.
    """


def first(count: int, c: object) -> Brokers:
    """The first brokers, by number."""
    return frozenset(b for b in every(Broker, c) if sum(1 for x in every(Broker, c) if x < b) < count)


def without(listed: tuple[Broker, ...], gone: Brokers) -> tuple[Broker, ...]:
    """The list but for some brokers, in its order."""
    return tuple(b for b in listed if b not in gone)


def last_stays(isr: Brokers, gone: Brokers, leader: Broker | None) -> Brokers:
    """The ISR without some brokers, as a controller with ZooKeeper takes them out: its last member stays in it."""
    left = isr - gone
    last = leader if leader is not None else min(isr, default=None)
    return left if left != NOBODY or last is None else NOBODY | {last}


def members(p: Partition) -> Brokers:
    return frozenset(p.replicas)


def reassigning(p: Partition) -> bool:
    """Something is being added or removed."""
    return p.adding != NOBODY or p.removing != NOBODY


def target_of(p: Partition) -> Brokers:
    """The replicas at the end of the reassignment."""
    return members(p) - p.removing


def enough(isr: Brokers, w: Watched) -> bool:
    return len(isr) >= w.min_isr


# -- what a step does to a reassignment, by its effect, whatever the action is called ------------------------


def moved(b: Partition, a: Partition) -> bool:
    """Between `b` and `a` a reassignment was started, changed, completed or cancelled."""
    return members(a) != members(b) or a.adding != b.adding or a.removing != b.removing


def requested(before: Watched, after: Watched) -> bool:
    """The step is a request of the administrator."""
    return after.requests != before.requests


def started(b: Partition, a: Partition) -> bool:
    """A reassignment is pending that was not before."""
    return reassigning(a) and not reassigning(b)


def ended(b: Partition, a: Partition) -> bool:
    """A reassignment was pending, or was done in this very step, and none is pending any more."""
    return not reassigning(a) and (reassigning(b) or members(a) != members(b))


def given_up(before: Watched, after: Watched) -> bool:
    """A request took the partition back to what it was on before: a cancellation, whatever it is called."""
    b, a = before.partition, after.partition
    back = reassigning(b) and not reassigning(a) and members(a) == members(b) - b.adding
    return back and requested(before, after)


def completed(before: Watched, after: Watched) -> bool:
    """A reassignment ended, and was not given up."""
    return ended(before.partition, after.partition) and not given_up(before, after)
