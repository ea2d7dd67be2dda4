"""The present state of a cluster and its partitions, as far as a metadata log or a description of a tool has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from reassure.checkers.kafka.audit.cluster_history import BROKER, CLUSTER, METADATA_VERSION, MIN_ISR
from reassure.checkers.kafka.audit.ending import rules_from
from reassure.checkers.kafka.audit.log_files import LogFile, LogRead, changes_in, files_of
from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile, Replicas
from reassure.checkers.kafka.printed.shell_output import Described, DescribedPartition, Key
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning

DUMPED = re.compile(r"^(Dumping |baseOffset: \d|\| offset: \d|\| payload: )", re.M)
"""A line of `kafka-dump-log` that no other format has."""
BEGIN = 1 << 16
"""Bytes in which such a line is looked for: a shell or a logger may have written before it."""


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
    def before(self) -> Replicas:
        """The replicas without those that a reassignment under way adds."""
        return tuple(int(b) for b in self.partition.replicas if b not in self.partition.adding)

    @property
    def moving(self) -> bool:
        """Whether a reassignment is under way."""
        return reassigning(self.partition)

    @property
    def target(self) -> Replicas:
        """The replicas without those that a reassignment under way removes."""
        return tuple(int(b) for b in self.partition.replicas if b not in self.partition.removing)

    @property
    def healthy(self) -> bool:
        """Whether all replicas are in sync, the preferred one leads, and nothing is under way."""
        p = self.partition
        return p.isr == members(p) and p.leader == p.replicas[0] and not reassigning(p) and not self.observers


def brokers(ids: Iterable[int]) -> Brokers:
    return frozenset(Broker(b) for b in ids)


def in_sync(replicas: Replicas) -> Partition:
    """All replicas in sync, and the preferred leader leads."""
    row = tuple(map(Broker, replicas))
    return Partition(row, frozenset(row), NOBODY, NOBODY, NOBODY, row[0], 0, 0, False, None)


def _from_description(p: DescribedPartition) -> PresentState:
    """A partition by `kafka-topics --describe`. Who could lead and does not is gone: Kafka elects at once."""
    last = p.last_known[0] if p.last_known else None
    leader = None if p.leader is None else Broker(p.leader)
    last_known = None if last is None or last < 0 else Broker(last)
    isr, elr, adding, removing = map(brokers, (p.isr, p.elr or (), p.adding, p.removing))
    row, nobody = tuple(map(Broker, p.replicas)), last == -1
    partition = Partition(row, isr, elr, adding, removing, leader, 0, 0, False, last_known, nobody)
    gone = p.isr | (p.elr or frozenset()) if p.leader is None else frozenset()
    return PresentState(partition, bool(p.elr), gone | p.offline, p.observers)


def is_log(path: Path) -> bool:
    """Whether a path is a folder, a segment or a snapshot of a metadata log, or a dump of one."""
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(BEGIN)
    wide = begin[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = begin.decode("utf-16" if wide else "utf-8-sig", errors="ignore")
    return begin[:1] == b"\0" or DUMPED.search(text) is not None


def metadata_log(path: Path) -> MetadataLog:
    """A log that is read once, though several options may name it."""
    return _read(path, path.resolve(), path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, resolved: Path, changed: int) -> MetadataLog:
    return MetadataLog(path)


class MetadataLog:
    """The cluster at the end of a metadata log; `Failure` where the log cannot be read."""

    def __init__(self, path: Path) -> None:
        read = LogRead()
        for _ in changes_in([LogFile(str(file)) for file in files_of([path])], read):
            pass
        self.history = read.history
        self.not_read = read.torn
        """What of the log was not read, in words."""
        if not self.history.brokers or not self.states:
            raise Failure(Exit.USAGE, f"{path} has no {'partitions' if self.history.brokers else 'brokers'}")

    @cached_property
    def states(self) -> dict[Key, PresentState]:
        """The partitions. Who could lead and does not is gone."""
        states = {}
        for (topic, number), p in self.history.partitions.items():
            if topic in self.history.topics:
                gone = frozenset(map(int, p.isr or p.elr)) if p.leader is None else frozenset()
                states[self.history.topics[topic], number] = PresentState(p, gone=gone)
        return states

    @property
    def cluster(self) -> ClusterFile:
        """The cluster at the end of the log. What a broker's file of properties says is in no log."""
        history = self.history
        brokers_of = dict(sorted(history.brokers.items()))
        text = history.configs.get((BROKER, CLUSTER, MIN_ISR), "")
        every = {topic: history.min_isr(topic) for topic in history.topics.values()}
        unclean = {topic: history.unclean(topic) for topic in history.topics.values()}
        return ClusterFile(
            {n: b.rack or None for n, b in brokers_of.items()},
            int(text) if text.isdigit() else None,
            {topic: least for topic, least in every.items() if least is not None},
            frozenset(n for n, b in brokers_of.items() if b.directories and b.directories <= b.cordoned),
            rules_from(history.features.get(METADATA_VERSION)),
            of_log=True,
            faults={n: fault for n, b in brokers_of.items() if (fault := b.fault)},
            unclean={topic: allowed for topic, allowed in unclean.items() if allowed is not None},
            elr=history.elr,
        )

    @property
    def before(self) -> Assignment:
        """The replicas of each partition, without those that a reassignment under way adds."""
        return {key: state.before for key, state in self.states.items()}

    @property
    def running(self) -> Assignment:
        """The targets of the reassignments under way."""
        return {key: state.target for key, state in self.states.items() if state.moving}


def _suspects(topics_of: Described) -> dict[int, str]:
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

    def add(self, path: Path, topics_of: Described | None, current: Assignment) -> None:
        """Adds the states that a file has of partitions with these replicas: a metadata log, or a description."""
        if is_log(path):
            states = metadata_log(path).states
        elif topics_of is not None:
            states = {key: _from_description(p) for key, p in topics_of.partitions.items()}
            self.suspects |= _suspects(topics_of)
        else:
            return
        for key, state in states.items():
            if key not in self.states and current.get(key) == state.before:
                self.states[key] = state

    def state_of(self, key: Key, replicas: Replicas, faults: Mapping[int, str]) -> PresentState:
        """The state of a partition; where no file has it, every broker without a fault is in sync."""
        if key in self.states:
            return self.states[key]
        p = in_sync(replicas)
        if not any(b in faults for b in replicas):
            return PresentState(p)
        isr = brokers(b for b in replicas if b not in faults)
        return PresentState(replace(p, isr=isr, leader=next((b for b in p.replicas if b in isr), None)))
