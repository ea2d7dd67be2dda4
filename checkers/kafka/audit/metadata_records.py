"""Records of a KRaft metadata log that tell of partitions and brokers, by Kafka's published schemas (3.3 to 4.4).

Kafka's message format, as far as these records use it: flexible versions with tagged fields. Lengths are unsigned
variable-length integers, one more than the length (0: null); what is tagged follows the other fields of a structure,
with its number and size, so that a reader skips what it does not know.
"""

from __future__ import annotations

import base64
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reassure.spec.semantics.trace import JsonObject

FRAME = 1
"""The version of the frame that each record of the log stands in."""
OTHERS = "-"
"""The kind of a record of a partition that is another share's, and was not decoded."""
UNCHANGED_LEADER = -2
"""In a change of a partition: the leader is as it was."""
UNCHANGED_RECOVERY = -1


class MalformedRecord(Exception):
    """Bytes that are not a record of this format."""


class Reader:
    """Reads values from bytes, in order."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return self.end - self.at

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if size < 0 or size > self.left:
            raise MalformedRecord(f"{size} bytes are wanted at {self.at}, {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        """An integer of fixed size, big-endian; form: as `struct` names it."""
        (value,) = struct.unpack(">" + form, self.take(struct.calcsize(form)))
        return int(value)

    def unsigned(self) -> int:
        """A variable-length unsigned integer: seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise MalformedRecord(f"a number that does not end at {self.at}")

    def signed(self) -> int:
        """A variable-length signed integer, small numbers of either sign being short (zigzag)."""
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def uuid(self) -> str:
        """A UUID, as Kafka prints it."""
        return base64.urlsafe_b64encode(self.take(16)).decode().rstrip("=")


@dataclass(frozen=True)
class WireField:
    """A field of a message. type: of `FIXED`, or "bool", "string", "uuid", "ids" or "uuids" (arrays), "structures".

    first: the version from which it is there. tag: its number if it is tagged. default: what stands for a tagged field
    that is left out. nullable: it may be null. Null is taken for every tagged field. fields: of each structure.
    """

    name: str
    type: str
    first: int = 0
    tag: int | None = None
    default: Any = None
    fields: tuple[WireField, ...] = ()
    nullable: bool = False


FIXED = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q"}
MetadataFields = JsonObject
"""The fields of a message of Kafka by name, of the types that its `Schema` gives them."""


@dataclass(frozen=True)
class Schema:
    """A message. newest: the last version that is known here; fields that later ones add are not read."""

    name: str
    newest: int
    fields: tuple[WireField, ...] = ()

    def read(self, reader: Reader, version: int) -> MetadataFields:
        """The fields of a message by name. Raises `MalformedRecord`."""
        if not 0 <= version <= self.newest:
            raise MalformedRecord(f"{self.name} of version {version}: versions 0 to {self.newest} are known")
        return _structure(self.fields, reader, version)


def _structure(fields: tuple[WireField, ...], reader: Reader, version: int) -> MetadataFields:
    present = [f for f in fields if f.first <= version]
    values = {f.name: _value(f, reader, version) for f in present if f.tag is None}
    values |= {f.name: f.default for f in fields if f.tag is not None}
    by_tag = {f.tag: f for f in present if f.tag is not None}
    for _ in range(reader.unsigned()):
        tag, size = reader.unsigned(), reader.unsigned()
        inner = Reader(reader.data, reader.at, reader.at + size)
        reader.take(size)
        if tag in by_tag:
            values[by_tag[tag].name] = _value(by_tag[tag], inner, version)
    return values


def _value(f: WireField, reader: Reader, version: int) -> Any:
    if f.type in FIXED:
        return reader.number(FIXED[f.type])
    if f.type == "bool":
        return reader.number("b") != 0
    if f.type == "uuid":
        return reader.uuid()
    length = reader.unsigned() - 1
    if length < 0:
        if f.tag is None and not f.nullable:
            raise MalformedRecord(f"{f.name} is null")
        return None
    if f.type == "string":
        try:
            return reader.take(length).decode()
        except UnicodeDecodeError:
            raise MalformedRecord(f"{f.name} is not UTF-8") from None
    if length > reader.left:
        raise MalformedRecord(f"{f.name} has {length} members, and {reader.left} bytes are left")
    if f.type == "ids":
        return [reader.number("i") for _ in range(length)]
    if f.type == "uuids":
        return [reader.uuid() for _ in range(length)]
    return [_structure(f.fields, reader, version) for _ in range(length)]


def _fields(**types: str) -> tuple[WireField, ...]:
    """Fields that are in every version."""
    return tuple(WireField(name, type) for name, type in types.items())


_TOPIC_PARTITION = _fields(partitionId="int32", topicId="uuid")
_ENDPOINT = _fields(name="string", host="string", port="uint16", securityProtocol="int16")
_FEATURE = _fields(name="string", minSupportedVersion="int16", maxSupportedVersion="int16")

SCHEMAS = {
    0: Schema("RegisterBroker", 4, (
        WireField("brokerId", "int32"), WireField("isMigratingZkBroker", "bool", 2), WireField("incarnationId", "uuid"),
        WireField("brokerEpoch", "int64"), WireField("endPoints", "structures", fields=_ENDPOINT),
        WireField("features", "structures", fields=_FEATURE), WireField("rack", "string", nullable=True),
        WireField("fenced", "bool"), WireField("inControlledShutdown", "bool", 1),
        WireField("logDirs", "uuids", 3, 0, ()), WireField("cordonedLogDirs", "uuids", 4, 1),
    )),
    1: Schema("UnregisterBroker", 0, _fields(brokerId="int32", brokerEpoch="int64")),
    2: Schema("Topic", 0, _fields(name="string", topicId="uuid")),
    3: Schema("Partition", 2, (
        *_TOPIC_PARTITION, *_fields(replicas="ids", isr="ids", removingReplicas="ids", addingReplicas="ids"),
        WireField("leader", "int32"), WireField("leaderRecoveryState", "int8", 0, 0, 0),
        *_fields(leaderEpoch="int32", partitionEpoch="int32"), WireField("directories", "uuids", 1),
        WireField("eligibleLeaderReplicas", "ids", 2, 1), WireField("lastKnownElr", "ids", 2, 2),
    )),
    4: Schema("Config", 0, (
        *_fields(resourceType="int8", resourceName="string", name="string"),
        WireField("value", "string", nullable=True),
    )),
    5: Schema("PartitionChange", 2, (
        *_TOPIC_PARTITION, WireField("isr", "ids", 0, 0), WireField("leader", "int32", 0, 1, UNCHANGED_LEADER),
        WireField("replicas", "ids", 0, 2), WireField("removingReplicas", "ids", 0, 3),
        WireField("addingReplicas", "ids", 0, 4), WireField("leaderRecoveryState", "int8", 0, 5, UNCHANGED_RECOVERY),
        WireField("directories", "uuids", 1, 8), WireField("eligibleLeaderReplicas", "ids", 2, 6),
        WireField("lastKnownElr", "ids", 2, 7),
    )),
    7: Schema("FenceBroker", 0, _fields(id="int32", epoch="int64")),
    8: Schema("UnfenceBroker", 0, _fields(id="int32", epoch="int64")),
    9: Schema("RemoveTopic", 0, _fields(topicId="uuid")),
    12: Schema("FeatureLevel", 0, _fields(name="string", featureLevel="int16")),
    17: Schema("BrokerRegistrationChange", 3, (
        *_fields(brokerId="int32", brokerEpoch="int64"), WireField("fenced", "int8", 0, 0, 0),
        WireField("inControlledShutdown", "int8", 1, 1, 0), WireField("logDirs", "uuids", 2, 2),
        WireField("cordonedLogDirs", "uuids", 3, 3),
    )),
    23: Schema("BeginTransaction", 0, (WireField("name", "string", 0, 0),)),
    24: Schema("EndTransaction", 0),
    25: Schema("AbortTransaction", 0, (WireField("reason", "string", 0, 0),)),
    28: Schema("ClearElr", 0, _fields(topicName="string")),
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


@dataclass
class BatchOrder:
    """The order of a log's batches: each begins at the offset that follows the last one of the batch before it.

    A log with a gap would be judged without the changes that are missing.
    """

    next: int = 0
    """The offset that comes next. A log begins at 0, or goes on from a snapshot."""
    covered: int = 0
    """The end of the snapshot that the log goes on from: batches before it tell what the snapshot tells."""
    torn: int | None = None
    """Of the file read last: the byte (of a dump, the line) where its incomplete last batch begins; None: all of it was
    read. A file ends so where a controller stopped while writing."""
    has_header: bool = False
    has_footer: bool = False
    """The file read last has the header of a snapshot, or its footer."""
    hides_control: bool = False
    """The file read last is a dump with `--skip-record-metadata`, which has neither, though the snapshot may."""

    def follow(self, first: int, last: int) -> None:
        """Goes on by the offsets of a batch. Raises `MalformedRecord` if they are not the next ones."""
        if not 0 <= first <= last:
            raise MalformedRecord(f"a batch of offsets {first} to {last}")
        if self.next == self.covered and first < self.next:
            if last < self.next:
                return
            first = self.next
        if first > self.next == 0:
            raise MalformedRecord(f"the log begins at offset {first}, and has no snapshot to begin with")
        if first > self.next:
            raise MalformedRecord(f"offset {first} comes after {self.next - 1}: what is between them is missing")
        if first < self.next:
            raise MalformedRecord(f"offset {first} comes after {self.next - 1}")
        self.next = last + 1
