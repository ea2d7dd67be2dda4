"""Records of a KRaft metadata log that tell of partitions and brokers, by Kafka's published schemas (3.3 to 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reassure.checkers.kafka.audit.message_format import Field, MalformedRecord, Reader, Schema

FRAME = 1
"""The version of the frame that each record of the log stands in."""
OTHERS = "-"
"""The kind of a record of a partition that is another share's, and was not decoded."""
UNCHANGED_LEADER = -2
"""In a change of a partition: the leader is as it was."""
UNCHANGED_RECOVERY = -1

_TOPIC_PARTITION = (Field("partitionId", "int32"), Field("topicId", "uuid"))
_ENDPOINT = (Field("name", "string"), Field("host", "string"), Field("port", "uint16"),
             Field("securityProtocol", "int16"))  # fmt: skip
_FEATURE = (Field("name", "string"), Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16"))

SCHEMAS = {
    0: Schema("RegisterBroker", 4, (
        Field("brokerId", "int32"), Field("isMigratingZkBroker", "bool", 2), Field("incarnationId", "uuid"),
        Field("brokerEpoch", "int64"), Field("endPoints", "structures", fields=_ENDPOINT),
        Field("features", "structures", fields=_FEATURE), Field("rack", "string"), Field("fenced", "bool"),
        Field("inControlledShutdown", "bool", 1), Field("logDirs", "uuids", 3, 0, ()),
        Field("cordonedLogDirs", "uuids", 4, 1),
    )),
    1: Schema("UnregisterBroker", 0, (Field("brokerId", "int32"), Field("brokerEpoch", "int64"))),
    2: Schema("Topic", 0, (Field("name", "string"), Field("topicId", "uuid"))),
    3: Schema("Partition", 2, (
        *_TOPIC_PARTITION, Field("replicas", "ids"), Field("isr", "ids"), Field("removingReplicas", "ids"),
        Field("addingReplicas", "ids"), Field("leader", "int32"),
        Field("leaderRecoveryState", "int8", 0, 0, 0), Field("leaderEpoch", "int32"), Field("partitionEpoch", "int32"),
        Field("directories", "uuids", 1), Field("eligibleLeaderReplicas", "ids", 2, 1),
        Field("lastKnownElr", "ids", 2, 2),
    )),
    4: Schema("Config", 0, (
        Field("resourceType", "int8"), Field("resourceName", "string"), Field("name", "string"),
        Field("value", "string"),
    )),
    5: Schema("PartitionChange", 2, (
        *_TOPIC_PARTITION, Field("isr", "ids", 0, 0), Field("leader", "int32", 0, 1, UNCHANGED_LEADER),
        Field("replicas", "ids", 0, 2), Field("removingReplicas", "ids", 0, 3), Field("addingReplicas", "ids", 0, 4),
        Field("leaderRecoveryState", "int8", 0, 5, UNCHANGED_RECOVERY), Field("directories", "uuids", 1, 8),
        Field("eligibleLeaderReplicas", "ids", 2, 6), Field("lastKnownElr", "ids", 2, 7),
    )),
    7: Schema("FenceBroker", 0, (Field("id", "int32"), Field("epoch", "int64"))),
    8: Schema("UnfenceBroker", 0, (Field("id", "int32"), Field("epoch", "int64"))),
    9: Schema("RemoveTopic", 0, (Field("topicId", "uuid"),)),
    12: Schema("FeatureLevel", 0, (Field("name", "string"), Field("featureLevel", "int16"))),
    17: Schema("BrokerRegistrationChange", 3, (
        Field("brokerId", "int32"), Field("brokerEpoch", "int64"), Field("fenced", "int8", 0, 0, 0),
        Field("inControlledShutdown", "int8", 1, 1, 0), Field("logDirs", "uuids", 2, 2),
        Field("cordonedLogDirs", "uuids", 3, 3),
    )),
    23: Schema("BeginTransaction", 0, (Field("name", "string", 0, 0),)),
    24: Schema("EndTransaction", 0),
    25: Schema("AbortTransaction", 0, (Field("reason", "string", 0, 0),)),
    28: Schema("ClearElr", 0, (Field("topicName", "string"),)),
}  # fmt: skip
"""By API key."""
KINDS = {schema.name: key for key, schema in SCHEMAS.items()}


@dataclass(frozen=True)
class MetadataRecord:
    """One record of the log. kind: the name of its schema; "" of one that tells nothing of partitions or brokers."""

    offset: int
    timestamp: int
    """Milliseconds since 1970."""
    batch: int
    """The offset of the first record of its batch."""
    kind: str
    version: int
    data: dict[str, Any]


def read_record(value: bytes) -> tuple[str, int, dict[str, Any]]:
    """Kind, version and fields of the value of a record. Raises `MalformedRecord`."""
    reader = Reader(value)
    frame = reader.unsigned()
    if frame != FRAME:
        raise MalformedRecord(f"a frame of version {frame}; {FRAME} is known")
    key, version = reader.unsigned(), reader.unsigned()
    schema = SCHEMAS.get(key)
    if schema is None:
        return "", version, {}
    return schema.name, version, schema.read(reader, version)
