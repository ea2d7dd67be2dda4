"""The present state of partitions, as far as a metadata log or a description of `kafka-topics` has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reassure.checkers.kafka.plan.metadata_log import is_log, metadata_log
from reassure.checkers.kafka.printed.shell_output import Described, DescribedPartition
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning

Key = tuple[str, int]


@dataclass(frozen=True)
class PresentState:
    """A partition as it is now. elr: whether it is known that eligible leader replicas are on.

    gone: replicas that cannot lead now, by what the input says. observers: replicas that are never in sync, of
    Confluent's Kafka.
    """

    partition: Partition
    elr: bool = False
    gone: frozenset[int] = frozenset()
    observers: frozenset[int] = frozenset()

    @property
    def before(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment under way adds."""
        return tuple(int(b) for b in self.partition.replicas if b not in self.partition.adding)

    @property
    def moving(self) -> bool:
        """Whether a reassignment is under way."""
        return reassigning(self.partition)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment under way removes."""
        return tuple(int(b) for b in self.partition.replicas if b not in self.partition.removing)

    @property
    def healthy(self) -> bool:
        """Whether all replicas are in sync, the preferred one leads, and nothing is under way."""
        p = self.partition
        return p.isr == members(p) and p.leader == p.replicas[0] and not reassigning(p) and not self.observers


def brokers(ids: Iterable[int]) -> Brokers:
    return frozenset(Broker(b) for b in ids)


def in_sync(replicas: tuple[int, ...]) -> Partition:
    """All replicas in sync, and the preferred leader leads."""
    return Partition(
        tuple(Broker(b) for b in replicas),
        brokers(replicas),
        NOBODY,
        NOBODY,
        NOBODY,
        Broker(replicas[0]),
        0,
        0,
        False,
        None,
    )


def from_description(p: DescribedPartition) -> PresentState:
    """A partition by `kafka-topics --describe`. Who could lead and does not is gone: Kafka elects at once."""
    last = p.last_known[0] if p.last_known else None
    partition = Partition(
        tuple(Broker(b) for b in p.replicas),
        brokers(p.isr),
        brokers(p.elr or ()),
        brokers(p.adding),
        brokers(p.removing),
        None if p.leader is None else Broker(p.leader),
        0,
        0,
        False,
        None if last is None or last < 0 else Broker(last),
        last == -1,
    )
    gone = p.isr | (p.elr or frozenset()) if p.leader is None else frozenset()
    return PresentState(partition, bool(p.elr), gone | p.offline, p.observers)


def from_log(path: Path) -> dict[Key, PresentState]:
    """The partitions at the end of a metadata log."""
    states = {}
    for key, p in metadata_log(path).partitions.items():
        electable = p.isr if p.isr else p.elr
        states[key] = PresentState(p, gone=frozenset(map(int, electable)) if p.leader is None else frozenset())
    return states


def suspects(topics_of: Described) -> dict[int, str]:
    """Brokers with replicas, of which not one is in sync: they may be down."""
    count: dict[int, int] = {}
    for p in topics_of.partitions.values():
        for b in p.before:
            count[b] = count.get(b, 0) + (b not in p.observers)
    synced = {b for p in topics_of.partitions.values() for b in p.isr}
    return {b: f"in sync in none of its {n:,} partitions" for b, n in count.items() if n and b not in synced}


@dataclass
class Present:
    """The present states of partitions. suspects: brokers that may be down, with the reason."""

    states: dict[Key, PresentState] = field(default_factory=dict)
    suspects: dict[int, str] = field(default_factory=dict)

    def add(self, path: Path, topics_of: Described | None, current: Mapping[Key, tuple[int, ...]]) -> None:
        """Adds the states that a file has of partitions with these replicas: a metadata log, or a description."""
        if is_log(path):
            states = from_log(path)
        elif topics_of is not None:
            states = {key: from_description(p) for key, p in topics_of.partitions.items()}
            self.suspects |= suspects(topics_of)
        else:
            return
        for key, state in states.items():
            if key not in self.states and current.get(key) == state.before:
                self.states[key] = state

    def state_of(self, key: Key, replicas: tuple[int, ...], faults: Mapping[int, str]) -> PresentState:
        """The state of a partition; where no file has it, every broker without a fault is in sync."""
        if key in self.states:
            return self.states[key]
        p = in_sync(replicas)
        if not any(b in faults for b in replicas):
            return PresentState(p)
        isr = brokers(b for b in replicas if b not in faults)
        return PresentState(replace(p, isr=isr, leader=next((b for b in p.replicas if b in isr), None)))
