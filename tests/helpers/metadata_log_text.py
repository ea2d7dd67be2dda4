"""Metadata records from text, and batches of bytes, for logs that no controller wrote."""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reassure.checkers.kafka.audit.metadata_records import KINDS, SCHEMAS, BatchOrder, MetadataFields, MetadataRecord
from reassure.checkers.kafka.audit.record_files import CONTROL, HEAD, LENGTH_AT, SUMMED_FROM, crc32c, read_segment

LOGS = Path(__file__).parent / "kept_logs"
NULLS: dict[str, MetadataFields] = {
    "RegisterBroker": {"incarnationId": "I", "brokerEpoch": 1, "endPoints": [], "features": [], "rack": ""},
    "BrokerRegistrationChange": {"brokerEpoch": 1},
}
"""What is left out of records here, though a log has it."""
TOPIC = {"name": "t", "topicId": "T"}


def record(offset: int, kind: str, batch: int | None = None, **data: Any) -> MetadataRecord:
    """A record; what is not given has its default, or None."""
    fields = {f.name: f.default for f in SCHEMAS[KINDS[kind]].fields} | data
    version = min(2, SCHEMAS[KINDS[kind]].newest)
    return MetadataRecord(offset, 1000 * offset, offset if batch is None else batch, kind, version, fields)


def cluster(*brokers: int) -> list[MetadataRecord]:
    """Unfenced brokers, and a topic with partition 0 on the first two of them; offsets from 0."""
    found = [record(i, "RegisterBroker", brokerId=b, fenced=False) for i, b in enumerate(brokers)]
    next_offset = len(found)
    first = list(brokers[:2])
    return [
        *found,
        record(next_offset, "Topic", **TOPIC),
        record(next_offset + 1, "FeatureLevel", name="eligible.leader.replicas.version", featureLevel=1),
        record(next_offset + 2, "Config", resourceType=2, resourceName="t", name="min.insync.replicas", value="2"),
        record(next_offset + 3, "Config", resourceType=2, resourceName="t", name="unclean.leader.election.enable",
               value="false"),
        record(next_offset + 4, "Partition", partitionId=0, topicId="T", replicas=first, isr=first, addingReplicas=[],
               removingReplicas=[], leader=first[0], leaderEpoch=0, partitionEpoch=0),
    ]  # fmt: skip


def dump_line(r: MetadataRecord) -> str:
    """A record as Kafka's tool prints it."""
    kind = re.sub("(?<!^)([A-Z])", r"_\1", r.kind).upper()
    data = {name: value for name, value in r.data.items() if value is not None or name == "value"}
    payload = json.dumps({"type": f"{kind}_RECORD", "version": r.version, "data": NULLS.get(r.kind, {}) | data})
    return f"| offset: {r.offset} CreateTime: {r.timestamp} keySize: -1 headerKeys: [] payload: {payload}"


def dump_text(records: Iterable[MetadataRecord]) -> str:
    """Records as the lines of a dump, each batch after its head."""
    lines = []
    for _, group in itertools.groupby(records, lambda r: r.batch):
        batch = list(group)
        first, last = batch[0].offset, batch[-1].offset
        lines.append(
            f"baseOffset: {first} lastOffset: {last} count: {len(batch)} isControl: false "
            f"CreateTime: {batch[-1].timestamp} isvalid: true"
        )
        lines += map(dump_line, batch)
    return "\n".join(lines)


def kept_log(version: str) -> list[MetadataRecord]:
    """The records of a log that the controller of a release wrote."""
    return list(read_segment((LOGS / f"{version}.log").read_bytes(), BatchOrder()))


def batches(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The batches of a segment, with their first and last offsets."""
    at = 0
    while at < len(data):
        first, length, *_ = head = HEAD.unpack_from(data, at)
        yield first, first + head[6], data[at : at + LENGTH_AT + length]
        at += LENGTH_AT + length


def at_offset(batch: bytes, offset: int) -> bytes:
    """A batch elsewhere in a log: its sum does not cover its offset."""
    return struct.pack(">q", offset) + batch[8:]


def batch_of(offset: int, *records: bytes, attributes: int = 0, more: int | None = None) -> bytes:
    """A batch of records as bytes. more: what it says of its last offset, where that is not so."""
    body = b"".join(records)
    last = len(records) - 1 if more is None else more
    length = HEAD.size - LENGTH_AT + len(body)
    head = HEAD.pack(offset, length, 1, 2, 0, attributes, last, 0, 0, -1, -1, -1, len(records))
    summed = head[SUMMED_FROM:] + body
    return head[: SUMMED_FROM - 4] + struct.pack(">I", crc32c(summed)) + summed


def record_of(number: int, value: bytes, key: bytes = b"") -> bytes:
    """A record of a batch, the one of a number from 0; at most 63 bytes in all."""
    body = b"\0\0" + bytes([2 * number, 2 * len(key) if key else 1]) + key + bytes([2 * len(value)]) + value + b"\0"
    return bytes([2 * len(body)]) + body


def snapshot_of(data: bytes, footer: bool = True) -> bytes:
    """A snapshot with the batches of a segment."""
    header = record_of(0, b"\0\0" + bytes(8) + b"\0", b"\0\0\0\3")
    parts, offset = [batch_of(0, header, attributes=CONTROL)], 1
    for first, last, batch in batches(data):
        parts.append(at_offset(batch, offset))
        offset += last - first + 1
    if footer:
        parts.append(batch_of(offset, record_of(0, b"\0\0\0", b"\0\0\0\4"), attributes=CONTROL))
    return b"".join(parts)
