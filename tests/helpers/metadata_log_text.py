"""Metadata records from text, for logs that no controller wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from reassure.checkers.kafka.audit.metadata_records import KINDS, SCHEMAS, MetadataRecord
from reassure.checkers.kafka.audit.segment_file import TornEnd, read_segment

LOGS = Path(__file__).parent / "kept_logs"
NULLS: dict[str, dict[str, Any]] = {
    "RegisterBroker": {"incarnationId": "I", "brokerEpoch": 1, "endPoints": [], "features": [], "rack": ""},
    "BrokerRegistrationChange": {"brokerEpoch": 1},
}
"""What is left out of records here, though a log has it."""
TOPIC = {"name": "t", "topicId": "T"}


def record(offset: int, kind: str, batch: int | None = None, **data: Any) -> MetadataRecord:
    """A record; what is not given has its default, or None."""
    fields = {f.name: f.default for f in SCHEMAS[KINDS[kind]].fields} | data
    return MetadataRecord(offset, 1000 * offset, offset if batch is None else batch, kind, 2, fields)


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
    data = {name: value for name, value in r.data.items() if value is not None}
    payload = json.dumps({"type": f"{kind}_RECORD", "version": r.version, "data": NULLS.get(r.kind, {}) | data})
    return f"| offset: {r.offset} CreateTime: {r.timestamp} keySize: -1 headerKeys: [] payload: {payload}"


def kept_log(version: str) -> list[MetadataRecord]:
    """The records of a log that the controller of a release wrote."""
    return list(read_segment((LOGS / f"{version}.log").read_bytes(), TornEnd()))
