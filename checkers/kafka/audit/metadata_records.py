"""Records of a KRaft metadata log that tell of partitions and brokers, by Kafka's published schemas (3.3 to 4.4)."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.kafka.audit.message_format import MalformedRecord, MetadataFields, Reader, Schema, WireField

FRAME = 1
"""The version of the frame that each record of the log stands in."""
OTHERS = "-"
"""The kind of a record of a partition that is another share's, and was not decoded."""
UNCHANGED_LEADER = -2
"""In a change of a partition: the leader is as it was."""
UNCHANGED_RECOVERY = -1

_TOPIC_PARTITION = (WireField("partitionId", "int32"), WireField("topicId", "uuid"))
_ENDPOINT = (
    WireField("name", "string"),
    WireField("host", "string"),
    WireField("port", "uint16"),
    WireField("securityProtocol", "int16"),
)
_FEATURE = (
    WireField("name", "string"),
    WireField("minSupportedVersion", "int16"),
    WireField("maxSupportedVersion", "int16"),
)

SCHEMAS = {
    0: Schema("RegisterBroker", 4, (
        WireField("brokerId", "int32"), WireField("isMigratingZkBroker", "bool", 2), WireField("incarnationId", "uuid"),
        WireField("brokerEpoch", "int64"), WireField("endPoints", "structures", fields=_ENDPOINT),
        WireField("features", "structures", fields=_FEATURE), WireField("rack", "string", nullable=True),
        WireField("fenced", "bool"), WireField("inControlledShutdown", "bool", 1),
        WireField("logDirs", "uuids", 3, 0, ()), WireField("cordonedLogDirs", "uuids", 4, 1),
    )),
    1: Schema("UnregisterBroker", 0, (WireField("brokerId", "int32"), WireField("brokerEpoch", "int64"))),
    2: Schema("Topic", 0, (WireField("name", "string"), WireField("topicId", "uuid"))),
    3: Schema("Partition", 2, (
        *_TOPIC_PARTITION, WireField("replicas", "ids"), WireField("isr", "ids"), WireField("removingReplicas", "ids"),
        WireField("addingReplicas", "ids"), WireField("leader", "int32"),
        WireField("leaderRecoveryState", "int8", 0, 0, 0), WireField("leaderEpoch", "int32"),
        WireField("partitionEpoch", "int32"), WireField("directories", "uuids", 1),
        WireField("eligibleLeaderReplicas", "ids", 2, 1), WireField("lastKnownElr", "ids", 2, 2),
    )),
    4: Schema("Config", 0, (
        WireField("resourceType", "int8"), WireField("resourceName", "string"), WireField("name", "string"),
        WireField("value", "string", nullable=True),
    )),
    5: Schema("PartitionChange", 2, (
        *_TOPIC_PARTITION, WireField("isr", "ids", 0, 0), WireField("leader", "int32", 0, 1, UNCHANGED_LEADER),
        WireField("replicas", "ids", 0, 2), WireField("removingReplicas", "ids", 0, 3),
        WireField("addingReplicas", "ids", 0, 4), WireField("leaderRecoveryState", "int8", 0, 5, UNCHANGED_RECOVERY),
        WireField("directories", "uuids", 1, 8), WireField("eligibleLeaderReplicas", "ids", 2, 6),
        WireField("lastKnownElr", "ids", 2, 7),
    )),
    7: Schema("FenceBroker", 0, (WireField("id", "int32"), WireField("epoch", "int64"))),
    8: Schema("UnfenceBroker", 0, (WireField("id", "int32"), WireField("epoch", "int64"))),
    9: Schema("RemoveTopic", 0, (WireField("topicId", "uuid"),)),
    12: Schema("FeatureLevel", 0, (WireField("name", "string"), WireField("featureLevel", "int16"))),
    17: Schema("BrokerRegistrationChange", 3, (
        WireField("brokerId", "int32"), WireField("brokerEpoch", "int64"), WireField("fenced", "int8", 0, 0, 0),
        WireField("inControlledShutdown", "int8", 1, 1, 0), WireField("logDirs", "uuids", 2, 2),
        WireField("cordonedLogDirs", "uuids", 3, 3),
    )),
    23: Schema("BeginTransaction", 0, (WireField("name", "string", 0, 0),)),
    24: Schema("EndTransaction", 0),
    25: Schema("AbortTransaction", 0, (WireField("reason", "string", 0, 0),)),
    28: Schema("ClearElr", 0, (WireField("topicName", "string"),)),
}  # fmt: skip
"""By API key."""
OTHER_KINDS = {
    10: "DelegationToken", 11: "UserScramCredential", 14: "ClientQuota", 15: "ProducerIds", 18: "AccessControlEntry",
    19: "RemoveAccessControlEntry", 20: "NoOp", 21: "ZkMigrationState", 22: "RemoveUserScramCredential",
    26: "RemoveDelegationToken", 27: "RegisterController", 29: "UnregisterController",
}  # fmt: skip
"""Records that tell nothing of partitions or brokers, by API key. What one of another key tells is not known."""
KINDS = {schema.name: key for key, schema in SCHEMAS.items()}


@dataclass(slots=True)
class MetadataRecord:
    """One record of the log. kind: the name of its schema; "" of one that tells nothing of partitions or brokers.

    Nothing changes one. It is not frozen: a million are made, and a frozen one takes three times as long to make.
    """

    offset: int
    timestamp: int
    """Milliseconds since 1970."""
    batch: int
    """The offset of the first record of its batch."""
    kind: str
    version: int
    data: MetadataFields


def read_record(value: bytes) -> tuple[str, int, MetadataFields]:
    """Kind, version and fields of the value of a record. Raises `MalformedRecord`."""
    reader = Reader(value)
    frame = reader.unsigned()
    if frame != FRAME:
        raise MalformedRecord(f"a frame of version {frame}; {FRAME} is known")
    key, version = reader.unsigned(), reader.unsigned()
    schema = SCHEMAS.get(key)
    if schema is None and key in OTHER_KINDS:
        return "", version, {}
    if schema is None:
        raise MalformedRecord(f"a record of API key {key}: this program knows those of Kafka 3.3 to 4.4")
    return schema.name, version, schema.read(reader, version)


def unknown_records(jar: Path) -> list[str]:
    """Records that are not known here, or of a later version, by the schemas in a release's `kafka-metadata` jar."""
    newest = {key: schema.newest for key, schema in SCHEMAS.items()}
    unknown = []
    with zipfile.ZipFile(jar) as archive:
        for name in sorted(archive.namelist()):
            if not re.fullmatch(r"common/metadata/\w+Record\.json", name):
                continue
            text = archive.read(name).decode()
            key, version = re.search(r'"apiKey":\s*(\d+)', text), re.search(r'"validVersions":\s*"[\d-]*?(\d+)"', text)
            if key and version and int(key[1]) not in OTHER_KINDS and int(version[1]) > newest.get(int(key[1]), -1):
                unknown.append(f"{Path(name).stem} of version {version[1]}, API key {key[1]}")
    return unknown


@dataclass(frozen=True)
class PartitionShare:
    """The partitions that one of several processes or machines judges. number: from 0."""

    number: int = 0
    of: int = 1

    def has(self, topic: str, partition: int) -> bool:
        """Whether a partition is of this share. topic: its id."""
        return self.of == 1 or zlib.crc32(f"{topic}-{partition}".encode()) % self.of == self.number

    def decodes(self, topic: str, partition: int) -> bool:
        """Whether records of a partition are decoded: of this share, and of partition 0 of each topic."""
        return partition == 0 or self.has(topic, partition)


WHOLE = PartitionShare()
