"""The state of a running cluster: the metadata log that its controller writes, and the logs of its brokers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reassure.checkers.kafka.audit.cluster_history import ClusterHistory
from reassure.checkers.kafka.audit.metadata_records import BatchOrder, MetadataRecord
from reassure.checkers.kafka.audit.record_files import HEAD, LENGTH_AT, read_segment
from reassure.checkers.kafka.controller.words import ControllerState
from reassure.spec.kafka.partition import Broker
from reassure.spec.semantics.trace import JsonObject

FIRST_SEGMENT = "00000000000000000000.log"


@dataclass(frozen=True)
class SeenState:
    """The controller's state of the watched partition after a batch of the metadata log.

    changes: records of the batch that change the partition. The controller's log may hold several events in a batch.
    """

    offset: int
    state: ControllerState
    changes: int = 0


class MetadataWatch:
    """A metadata log read while it grows; every state of one topic's partition 0, batch by batch.

    watch: the topic, and the number of brokers of which fencing and unfencing count.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FIRST_SEGMENT
        self.history = ClusterHistory()
        self.states: list[SeenState] = []
        self.controller_epoch = 0
        """Of the last batch: it rises when the active controller resigns."""
        self.broker_epochs: dict[int, int] = {}
        """By broker, the epoch of its last registration."""
        self.topic, self.brokers = "", 0
        self._registrations = Counter[int]()
        """Of brokers since the watched topic was created."""
        self._read = 0
        self._order = BatchOrder()

    def watch(self, topic: str, brokers: int) -> None:
        """Forgets the states seen so far, and notes those of another topic."""
        self.topic, self.brokers, self.states = topic, brokers, []
        self._registrations.clear()

    def poll(self) -> None:
        """Reads what was written since the last call. Raises `MalformedRecord`, `BrokenLog`."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        batch: list[MetadataRecord] = []
        for record in read_segment(data, self._order):
            if batch and record.batch != batch[0].batch:
                self._apply(batch)
                batch = []
            batch.append(record)
        if batch:
            self._apply(batch)
        whole = len(data) if self._order.torn is None else self._order.torn
        self._note_epochs(data[:whole])
        self._read += whole

    def _apply(self, batch: list[MetadataRecord]) -> None:
        for record in batch:
            if record.kind == "RegisterBroker":
                self.broker_epochs[record.data["brokerId"]] = record.data["brokerEpoch"]
                self._registrations[record.data["brokerId"]] += bool(self.states)
        changes = sum((c.topic, c.partition) == (self.topic, 0) for c in self.history.play(batch))
        state = self.state()
        if state is not None and (not self.states or self.states[-1].state != state):
            last = self.history.last
            self.states.append(SeenState(last.offset if last is not None else 0, state, changes))

    def _note_epochs(self, data: bytes) -> None:
        at = 0
        while at + HEAD.size <= len(data):
            _, length, epoch, *_ = HEAD.unpack_from(data, at)
            self.controller_epoch = max(self.controller_epoch, epoch)
            at += LENGTH_AT + length

    def state(self) -> ControllerState | None:
        """The watched partition and its brokers now; None before the topic is there."""
        key = self.topic_id()
        partition = self.history.partitions.get((key, 0)) if key is not None else None
        if partition is None:
            return None
        registered = {n: b for n, b in self.history.brokers.items() if n <= self.brokers}
        return ControllerState(
            partition=partition,
            unfenced=frozenset(Broker(n) for n, b in registered.items() if not b.fenced),
            incarnations=tuple(self._registrations[n] for n in range(1, self.brokers + 1)),
            unclean=bool(self.history.unclean(self.topic)),
            shutting_down=frozenset(Broker(n) for n, b in registered.items() if b.shutting_down),
            keeps_nobody=partition.last_known_is_nobody,
            min_isr=self.history.min_isr(self.topic) or 0,
        )

    def topic_id(self) -> str | None:
        """The watched topic's; None before the topic is there."""
        return next((key for key, name in self.history.topics.items() if name == self.topic), None)

    def unfenced(self) -> frozenset[int]:
        """Every broker that is registered and not fenced."""
        return frozenset(n for n, b in self.history.brokers.items() if not b.fenced)


@dataclass(frozen=True)
class BrokerLog:
    """A folder of a partition's log on a broker. kind: "", "deleted", "stray" or "future"."""

    broker: int
    kind: str
    bytes: int
    end: int
    """The offset after the last record."""

    def __str__(self) -> str:
        return f"broker {self.broker}: {self.end:,} records, {self.bytes:,} bytes{f', {self.kind}' * bool(self.kind)}"


_KINDS = {"delete": "deleted", "stray": "stray", "future": "future"}


def broker_logs(data: Path, broker: int, topic: str) -> list[BrokerLog]:
    """The logs of a topic's partition 0 in a broker's folder: its own, and those that it has put aside."""
    name = re.compile(rf"{re.escape(topic)}-0(\.[0-9a-f]{{32}}-(delete|stray|future))?")
    logs = []
    for folder in sorted(data.iterdir()) if data.is_dir() else []:
        if (match := name.fullmatch(folder.name)) is not None:
            segments = sorted(folder.glob("*.log")) + sorted(folder.glob("*.log.deleted"))
            contents = [_content(segment) for segment in segments]
            end = max((end_offset(content) for content in contents), default=0)
            logs.append(BrokerLog(broker, _KINDS.get(match[2] or "", ""), sum(map(len, contents)), end))
    return logs


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a log that is being deleted
        return b""


def end_offset(segment: bytes) -> int:
    """The offset after the last whole batch of a segment; 0 if there is none."""
    at = end = 0
    while at + HEAD.size <= len(segment):
        base, length, _, _, _, _, last, *_ = HEAD.unpack_from(segment, at)
        if at + LENGTH_AT + length > len(segment):
            break
        end, at = base + last + 1, at + LENGTH_AT + length
    return end


@dataclass(frozen=True)
class IsrRequest:
    """An AlterPartition request. epochs: of the proposed ISR, by broker. answer: an error's name, or its number."""

    epochs: Mapping[int, int]
    answer: str


REQUEST = "Completed request:"
ANSWERS = {0: "NONE", 107: "INELIGIBLE_REPLICA"}
"""Names of Kafka's errors."""


def isr_requests(log: Path, topic: str) -> list[IsrRequest]:
    """The AlterPartition requests about a topic's partition 0 that a controller has answered, by its request log.

    topic: its id, as Kafka writes it.
    """
    requests = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if f'"{topic}"' not in line or '"ALTER_PARTITION"' not in line:
            continue
        seen = json.loads(line.partition(REQUEST)[2])
        asked, answered = _of_topic(seen["request"], topic), _of_topic(seen["response"], topic)
        code = seen["response"]["errorCode"] or answered["errorCode"]
        epochs = {b["brokerId"]: b["brokerEpoch"] for b in asked["newIsrWithEpochs"]}
        requests.append(IsrRequest(epochs, ANSWERS.get(code, str(code))))
    return requests


def _of_topic(message: Mapping[str, Any], topic: str) -> JsonObject:
    """What a request or its answer says of a topic's partition 0; no error if it says nothing."""
    partitions = (p for t in message["topics"] if t["topicId"] == topic for p in t["partitions"])
    return next((p for p in partitions if p["partitionIndex"] == 0), {"errorCode": 0})
