"""The history of brokers, topics and partitions by a metadata log, record by record; each change of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import groupby
from operator import attrgetter

from reassure.checkers.kafka.audit.metadata_records import (
    OTHERS,
    UNCHANGED_LEADER,
    UNCHANGED_RECOVERY,
    WHOLE,
    MetadataFields,
    MetadataRecord,
    PartitionShare,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, reassigning

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
ELR_FEATURE, METADATA_VERSION = "eligible.leader.replicas.version", "metadata.version"
TOPIC, BROKER = 2, 4
"""Resource types of configurations."""
CLUSTER = ""
"""The name of the resource that is every broker."""
RECOVERY_FROM, NO_BUMP_FROM = 3, 12
"""Levels of the metadata version: 3.2-IV0, 3.6-IV0."""
PartitionKey = tuple[str, int]
"""A topic's id, and a partition."""


class BrokenLog(Exception):
    """A record that cannot follow those before it."""


class BeginsEarlier(BrokenLog):
    """A record about something that the log does not have: it may begin earlier."""


@dataclass
class RegisteredBroker:
    """A broker as the log has it."""

    fenced: bool
    shutting_down: bool
    directories: frozenset[str] = frozenset()
    """Log directories that it had when it was registered."""
    impaired: bool = False
    """Some of them have failed since: replicas there cannot lead, though the broker is active."""
    rack: str | None = None
    cordoned: frozenset[str] = frozenset()
    """Log directories that take no new replicas (KIP-1066)."""
    since: int = 0
    """The offset at which it was registered, fenced, unfenced, or began or ended its controlled shutdown last."""

    @property
    def fault(self) -> str:
        """The reason why it can join no ISR; "" if it can."""
        return "fenced" if self.fenced else "in controlled shutdown" if self.shutting_down else ""


@dataclass(frozen=True)
class BrokerStates:
    """The brokers of a cluster. active: unfenced, and not in controlled shutdown."""

    registered: frozenset[int]
    active: frozenset[int]
    impaired: frozenset[int]


@dataclass(frozen=True)
class BatchEvents:
    """Broker events in the records of one batch. leaving: also brokers of which some log directories have failed."""

    leaving: frozenset[int] = frozenset()
    restarted: frozenset[int] = frozenset()
    coming: frozenset[int] = frozenset()


NO_EVENTS = BatchEvents()
REQUEST = attrgetter("replicas", "adding", "removing")
"""What a reassignment is to lead to."""
PARTITION_KINDS = ("Partition", "PartitionChange")


@dataclass(slots=True)
class PartitionChange:
    """One record of a partition, with what stood in the log when it was written. before: None of a new partition.

    Nothing changes one; as of `MetadataRecord`, there are too many to freeze them.
    """

    offset: int
    timestamp: int
    topic: str
    partition: int
    before: Partition | None
    after: Partition
    registered: frozenset[int]
    active: frozenset[int]
    events: BatchEvents
    min_isr: int | None
    """Of the topic or the cluster; None: the log does not say."""
    replicas_of_zero: tuple[int, ...]
    """The numbers of replicas of the topic's partition 0: when the batch began, and now."""
    unclean: bool | None
    """As `min_isr`."""
    elr: bool | None
    metadata_version: int | None
    directories: bool


@dataclass
class ClusterHistory:
    """The state of a cluster at a place of its log."""

    brokers: dict[int, RegisteredBroker] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    """Names by id."""
    partitions: dict[PartitionKey, Partition] = field(default_factory=dict)
    configs: dict[tuple[int, str, str], str] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    records: int = 0
    last: MetadataRecord | None = None
    pending: list[MetadataRecord] | None = None
    """The records of a transaction that has begun, and not ended; None outside of one."""
    share: PartitionShare = WHOLE
    """Of other partitions only the first of each topic is kept, for its number of replicas; no change is yielded."""

    states: BrokerStates | None = None
    """Of all brokers, until a record changes one."""
    settings_of: dict[str, tuple[int | None, bool | None]] = field(default_factory=dict)
    """`min_isr` and `unclean` of topics, until a record changes a configuration."""
    moving_since: dict[PartitionKey, tuple[int, int]] = field(default_factory=dict)
    """Of each reassignment under way: offset and time of the record that gave it its target."""

    def play(self, records: Iterable[MetadataRecord]) -> Iterator[PartitionChange]:
        """Plays a log; yields the records of partitions. Raises `BrokenLog`."""
        for _, group in groupby(self._committed(records), attrgetter("batch")):
            batch = list(group)
            events, zero = (NO_EVENTS, {}) if len(batch) == 1 else (_events(batch), self._zeros(batch))
            for record in batch:
                self.records += 1
                if self.last is not None and record.offset <= self.last.offset:
                    raise BrokenLog(f"offset {record.offset} comes after {self.last.offset}")
                self.last = record
                if record.kind in PARTITION_KINDS:
                    key = record.data["topicId"], record.data["partitionId"]
                    if self.share.has(*key):
                        yield self._partition(record, events, zero)
                    elif key[1] == 0:
                        self._partition(record, events, zero)
                elif record.kind and record.kind != OTHERS:
                    self._apply(record)

    def _committed(self, records: Iterable[MetadataRecord]) -> Iterator[MetadataRecord]:
        """The records but for those of transactions that were aborted, or not ended. A transaction may span files."""
        for record in records:
            if record.kind == "BeginTransaction":
                if self.pending is not None:
                    raise BrokenLog(f"offset {record.offset}: a transaction begins within another")
                self.pending = []
            elif record.kind in ("EndTransaction", "AbortTransaction"):
                if self.pending is None:
                    raise BrokenLog(f"offset {record.offset}: a transaction ends that has not begun")
                ended, self.pending = self.pending, None
                if record.kind == "EndTransaction":
                    yield from ended
            elif self.pending is not None:
                self.pending.append(record)
            else:
                yield record

    def _zeros(self, batch: list[MetadataRecord]) -> dict[str, int]:
        """The numbers of replicas of the partitions 0 of the topics that a batch is about."""
        topics = {r.data["topicId"] for r in batch if r.kind in PARTITION_KINDS}
        return {t: len(self.partitions[t, 0].replicas) for t in topics if (t, 0) in self.partitions}

    def _partition(self, record: MetadataRecord, events: BatchEvents, zero: dict[str, int]) -> PartitionChange:
        data, topic = record.data, record.data["topicId"]
        key = topic, data["partitionId"]
        before = self.partitions.get(key)
        if record.kind == "PartitionChange" and before is None:
            name = f"{self.topics.get(topic, topic)}-{key[1]}"
            raise BeginsEarlier(f"offset {record.offset}: a change of partition {name}, which was not created")
        if topic not in self.topics:
            raise BeginsEarlier(f"offset {record.offset}: a partition of topic {topic}, which was not created")
        if record.kind == "Partition":  # Kafka takes one of a partition that is there in its place
            after = _created(data)
            before = None if after == before else before
        else:
            assert before is not None
            after = _changed(before, data)
        zero_now = self.partitions.get((topic, 0))
        counts = {zero.get(topic, 0), len(zero_now.replicas) if zero_now is not None else 0}
        name = self.topics[topic]
        if name not in self.settings_of:
            self.settings_of[name] = self.min_isr(name), self.unclean(name)
        min_isr, unclean = self.settings_of[name]
        if self.states is None:
            self.states = BrokerStates(
                frozenset(self.brokers),
                frozenset(b for b, r in self.brokers.items() if not r.fault),
                frozenset(b for b, r in self.brokers.items() if r.impaired),
            )
        impaired = self.states.impaired
        change = PartitionChange(
            offset=record.offset, timestamp=record.timestamp, topic=name, partition=key[1], before=before, after=after,
            registered=self.states.registered, active=self.states.active,
            events=replace(events, leaving=events.leaving | impaired) if impaired else events,
            min_isr=min_isr, replicas_of_zero=tuple(sorted(counts - {0})), unclean=unclean, elr=self.elr,
            metadata_version=self.features.get(METADATA_VERSION), directories=data.get("directories") is not None,
        )  # fmt: skip
        self.partitions[key] = after
        if not reassigning(after):
            self.moving_since.pop(key, None)
        elif before is None or key not in self.moving_since or REQUEST(before) != REQUEST(after):
            self.moving_since[key] = record.offset, record.timestamp
        return change

    def _config(self, topic: str, name: str) -> str | None:
        """A configuration value by the log: the topic's, else that of every broker."""
        return self.configs.get((TOPIC, topic, name), self.configs.get((BROKER, CLUSTER, name)))

    def min_isr(self, topic: str) -> int | None:
        """MinISR of a topic by the log; None if it does not say."""
        text = self._config(topic, MIN_ISR)
        return int(text) if text is not None and text.isdigit() else None

    @property
    def elr(self) -> bool | None:
        """Whether eligible leader replicas are on by the log; None if it does not say."""
        return self.features[ELR_FEATURE] > 0 if ELR_FEATURE in self.features else None

    def unclean(self, topic: str) -> bool | None:
        """Whether a topic allows unclean election by the log; None if it does not say."""
        text = self._config(topic, UNCLEAN)
        return None if text is None else text.lower() == "true"

    def _apply(self, record: MetadataRecord) -> None:
        """Applies a record that is of no partition."""
        data, kind = record.data, record.kind
        if "Broker" in kind:
            self.states = None
        if kind == "RegisterBroker":
            directories, cordoned = (frozenset(data.get(name) or ()) for name in ("logDirs", "cordonedLogDirs"))
            shutting_down, rack = bool(data.get("inControlledShutdown")), data.get("rack")
            self.brokers[data["brokerId"]] = RegisteredBroker(
                bool(data["fenced"]), shutting_down, directories, False, rack, cordoned, record.offset
            )
        elif kind == "UnregisterBroker":
            self.brokers.pop(data["brokerId"], None)
        elif kind in ("FenceBroker", "UnfenceBroker"):
            broker = self._broker(data["id"], record)
            broker.fenced, broker.since = kind == "FenceBroker", record.offset
        elif kind == "BrokerRegistrationChange":
            broker = self._broker(data["brokerId"], record)
            if data.get("fenced") or data.get("inControlledShutdown"):
                broker.since = record.offset
            if data.get("fenced"):
                broker.fenced = data["fenced"] == 1
            if data.get("inControlledShutdown"):
                broker.shutting_down = data["inControlledShutdown"] == 1
            if data.get("logDirs") is not None:
                broker.impaired = not broker.directories <= set(data["logDirs"])
            if data.get("cordonedLogDirs") is not None:
                broker.cordoned = frozenset(data["cordonedLogDirs"])
        elif kind == "Topic":
            self.topics[data["topicId"]] = data["name"]
        elif kind == "RemoveTopic":
            self.partitions = {k: p for k, p in self.partitions.items() if k[0] != data["topicId"]}
            self.topics.pop(data["topicId"], None)
        elif kind == "Config":
            self.settings_of.clear()
            setting = data["resourceType"], data["resourceName"], data["name"]
            if data["value"] is None:
                self.configs.pop(setting, None)
            else:
                self.configs[setting] = data["value"]
        elif kind == "FeatureLevel":
            self.features[data["name"]] = data["featureLevel"]
        elif kind == "ClearElr":
            for key, p in self.partitions.items():
                eligible = p.elr or p.last_known_leader is not None or p.last_known_is_nobody
                if data["topicName"] in ("", self.topics.get(key[0])) and eligible:
                    cleared = replace(p, elr=NOBODY, last_known_leader=None, last_known_is_nobody=False)
                    self.partitions[key] = replace(cleared, partition_epoch=p.partition_epoch + 1)

    def _broker(self, number: int, record: MetadataRecord) -> RegisteredBroker:
        if number not in self.brokers:
            raise BeginsEarlier(f"offset {record.offset}: broker {number} is not registered")
        return self.brokers[number]


def _events(batch: list[MetadataRecord]) -> BatchEvents:
    leaving, restarted, coming = set(), set(), set()
    for record in batch:
        data, kind = record.data, record.kind
        if "Broker" not in kind:
            continue
        if kind in ("RegisterBroker", "UnregisterBroker"):
            leaving.add(data["brokerId"])
            restarted.add(data["brokerId"])
        elif kind == "FenceBroker" or (
            kind == "BrokerRegistrationChange"
            and (data.get("fenced") == 1 or data.get("inControlledShutdown") == 1 or data.get("logDirs") is not None)
        ):
            leaving.add(data["id"] if kind == "FenceBroker" else data["brokerId"])
        elif kind == "UnfenceBroker" or (kind == "BrokerRegistrationChange" and data.get("fenced") == -1):
            coming.add(data["id"] if kind == "UnfenceBroker" else data["brokerId"])
    return BatchEvents(frozenset(leaving), frozenset(restarted), frozenset(coming))


_broker = cache(Broker)


def _set(ids: list[int] | None) -> Brokers:
    return _same_set(tuple(ids)) if ids else NOBODY


@lru_cache(1 << 14)
def _same_set(ids: tuple[int, ...]) -> Brokers:
    """The set of these brokers: one object for many partitions, which keeps its hash."""
    return frozenset(map(_broker, ids))


@lru_cache(1 << 14)
def _same_row(ids: tuple[int, ...]) -> tuple[Broker, ...]:
    return tuple(map(_broker, ids))


def _leader(number: int) -> Broker | None:
    return None if number < 0 else _broker(number)


def _last_known(ids: list[int] | None) -> tuple[Broker | None, bool]:
    """The last known leader, of which production code keeps one at most, and whether it is written down as -1."""
    first = ids[0] if ids else None
    return _leader(first) if first is not None else None, first == -1


SET_FIELDS = "isr", "eligibleLeaderReplicas", "addingReplicas", "removingReplicas"


def _created(data: MetadataFields) -> Partition:
    replicas, recovering = _same_row(tuple(data["replicas"])), data.get("leaderRecoveryState", 0) == 1
    isr, elr, adding, removing = (_set(data.get(key)) for key in SET_FIELDS)
    leader, epochs, last = (
        _leader(data["leader"]),
        (data["leaderEpoch"], data["partitionEpoch"]),
        data.get("lastKnownElr"),
    )
    return Partition(replicas, isr, elr, adding, removing, leader, *epochs, recovering, *_last_known(last))


def _changed(before: Partition, data: MetadataFields) -> Partition:
    """A partition after a change: what a record leaves out stays; a leader that is named raises the leader epoch."""
    replicas, leader, recovery = data["replicas"], data["leader"], data["leaderRecoveryState"]
    isr, elr, adding, removing = (data.get(key) for key in SET_FIELDS)
    last, named = data.get("lastKnownElr"), leader != UNCHANGED_LEADER
    return Partition(
        before.replicas if replicas is None else _same_row(tuple(replicas)),
        before.isr if isr is None else _set(isr),
        before.elr if elr is None else _set(elr),
        before.adding if adding is None else _set(adding),
        before.removing if removing is None else _set(removing),
        _leader(leader) if named else before.leader,
        before.leader_epoch + named,
        before.partition_epoch + 1,
        before.recovering if recovery == UNCHANGED_RECOVERY else recovery == 1,
        *((before.last_known_leader, before.last_known_is_nobody) if last is None else _last_known(last)),
    )
