"""Records of a log's files: of segments and snapshots, and of what `kafka-dump-log` prints of them.

Segments and snapshots have record batches of format 2, which are checked by their sums. A dump is the output of
`kafka-dump-log --cluster-metadata-decoder --print-data-log`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from reassure.checkers.kafka.audit.metadata_records import (
    FIXED,
    FRAME,
    KINDS,
    OTHER_KINDS,
    OTHERS,
    SCHEMAS,
    WHOLE,
    BatchOrder,
    MalformedRecord,
    MetadataFields,
    MetadataRecord,
    PartitionShare,
    Reader,
    Schema,
    WireField,
    read_record,
)

HEAD = struct.Struct(">qiibIhiqqqhii")
"""Offset, length, leader epoch, magic, sum, attributes, last offset, first and last time, producer with its epoch and
number, count of records."""
LENGTH_AT, SUMMED_FROM = 12, 21
"""Offsets in a batch: of the bytes that its length counts, and of those that its checksum covers."""
MAGIC = 2
CODEC, CONTROL = 7, 1 << 5
"""Of a batch's attributes: how it is compressed; it is not data."""
SNAPSHOT_HEADER, SNAPSHOT_FOOTER = b"\0\3", b"\0\4"
"""The types of the control records that begin and end a snapshot, in their keys after the version."""
GZIP = 1
CODECS = {2: "snappy", 3: "lz4", 4: "zstd"}
HEAD_OF_PARTITION = struct.Struct(">bbbi16s")
"""Frame, API key and version of a record of a partition, which then names the partition and its topic."""
PARTITION_KEYS = (KINDS["Partition"], KINDS["PartitionChange"])
BATCH = re.compile(r"^baseOffset: (\d+) lastOffset: (\d+) ")
BATCH_TIME = re.compile(r" CreateTime: (-?\d+)\b")
OFFSET = re.compile(r"^\|? ?offset: (\d+) ")
QUICK = re.compile(
    r"\| offset: (\d+) CreateTime: (-?\d+) keySize: -1 (?:valueSize: -?\d+ )?(?:sequence: -?\d+ )?"
    r"headerKeys: \[\] payload: (?=\{)"
)
"""What stands before the payload of nearly every record: a line that has it needs no other expression."""
RECORD = re.compile(r"^\|? ?offset: \d+ .*?CreateTime: (-?\d+) .*?payload: ?(\{.*\})\s*$")
BARE_RECORD = re.compile(r"^(?:\|? ?|\| key: .*? )payload: ?(.*?)\s*$")
"""A record of a dump with `--skip-record-metadata`."""
OF_PARTITION = re.compile(
    r'\{"type":"PARTITION_(?:CHANGE_)?RECORD","version":\d+,"data":\{"partitionId":(\d+),"topicId":"([\w-]+)"'
)
"""How the payload of a record of a partition begins."""
UNREADABLE = "Error at"
UNREAD = re.compile(rf"^(?:\|? ?offset: \d+ .*|\|? ?)payload: ?{UNREADABLE}")
CONTROL_LINE = re.compile(
    r" (?:LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters|controlType|endTxnMarker)\b"
)
HEADER, FOOTER = "SnapshotHeader", "SnapshotFooter"
HOW = "kafka-dump-log prints records by --cluster-metadata-decoder --print-data-log"
NO_HEAD = (
    "a record before the line of its batch (baseOffset: ...); without it, which records are one event is not known: "
    "give the whole output"
)


@cache
def _table() -> tuple[int, ...]:
    """Of CRC-32C, by byte."""
    values = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        values.append(byte)
    return tuple(values)


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) sum of some bytes."""
    table, value = _table(), 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def read_segment(data: bytes, order: BatchOrder, share: PartitionShare = WHOLE) -> Iterator[MetadataRecord]:
    """The records of a segment or snapshot, control records left out. Raises `MalformedRecord`.

    order: of the batches before these; goes on with them. share: records of other partitions are not decoded, and the
    sums of batches are checked in turn.
    """
    at = number = 0
    order.torn, order.has_header, order.has_footer = None, False, False
    while at < len(data):
        if len(data) - at < HEAD.size:
            order.torn = at
            return
        head = HEAD.unpack_from(data, at)
        offset, length, _, magic, checksum, attributes, more, first_time, *_, count = head
        if magic != MAGIC:
            raise MalformedRecord(f"at byte {at}: a batch of format {magic}; {MAGIC} is known")
        end = at + LENGTH_AT + length
        if length < HEAD.size - LENGTH_AT:
            raise MalformedRecord(f"at byte {at}: a batch of {length} bytes")
        if end > len(data):
            order.torn = at
            return
        number += 1
        if number % share.of == share.number and crc32c(data[at + SUMMED_FROM : end]) != checksum:
            raise MalformedRecord(f"at byte {at}, offset {offset}: the sum of the batch is wrong; the file is damaged")
        if count != more + 1:
            raise MalformedRecord(f"at byte {at}: a batch of offsets {offset} to {offset + more} with {count} records")
        order.follow(offset, offset + more)
        reader = Reader(_unpacked(data[at + HEAD.size : end], attributes & CODEC, at))
        for due in range(offset, offset + count):
            found, time, key, value = _parts(reader, offset, first_time)
            if found != due:
                raise MalformedRecord(f"at byte {at}: a record of offset {found} in place of {due}")
            if attributes & CONTROL:
                order.has_header |= key[2:4] == SNAPSHOT_HEADER
                order.has_footer |= key[2:4] == SNAPSHOT_FOOTER
            else:
                yield _decoded_record(value, found, time, offset, share)
        if reader.left:
            raise MalformedRecord(f"at byte {at}: {reader.left} bytes after the last record of the batch")
        at = end


def _unpacked(data: bytes, codec: int, at: int) -> bytes:
    if codec == 0:
        return data
    if codec == GZIP:
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise MalformedRecord(f"at byte {at}: the batch cannot be decompressed: {error}") from None
    raise MalformedRecord(f"at byte {at}: compressed by {CODECS.get(codec, codec)}, which is not read here")


def _parts(reader: Reader, first_offset: int, first_time: int) -> tuple[int, int, bytes, bytes | None]:
    """Offset, time, key and value of the next record of a batch."""
    length = reader.signed()
    body = Reader(reader.data, reader.at, reader.at + length)
    reader.take(length)
    body.number("b")
    time, offset = first_time + body.signed(), first_offset + body.signed()
    key = body.take(max(0, body.signed()))
    value_length = body.signed()
    return offset, time, key, None if value_length < 0 else body.take(value_length)


def _decoded_record(value: bytes | None, offset: int, time: int, batch: int, share: PartitionShare) -> MetadataRecord:
    if value is None:
        raise MalformedRecord(f"offset {offset}: a record without a value")
    if share.of > 1 and not _is_wanted(value, share):
        return MetadataRecord(offset, time, batch, OTHERS, 0, {})
    try:
        kind, version, fields = read_record(value)
    except MalformedRecord as error:
        raise MalformedRecord(f"offset {offset}: {error}") from None
    return MetadataRecord(offset, time, batch, kind, version, fields)


def _is_wanted(value: bytes, share: PartitionShare) -> bool:
    """Whether a record has to be decoded: if it is of a partition, one of the share, or partition 0 of a topic."""
    if len(value) < HEAD_OF_PARTITION.size or value[0] != FRAME or value[1] not in PARTITION_KEYS:
        return True
    _, _, _, partition, topic = HEAD_OF_PARTITION.unpack_from(value)
    return share.decodes(base64.urlsafe_b64encode(topic).decode().rstrip("="), partition)


@dataclass(slots=True)
class _Batch:
    """A batch of which the head was read. line: the number of its head. seen: the offset of the last record read."""

    first: int
    last: int
    seen: int
    line: int
    head: str
    control: bool
    records: list[MetadataRecord] = field(default_factory=list)

    @property
    def time(self) -> int | None:
        """Of its records; None where the head has none."""
        time = BATCH_TIME.search(self.head)
        return time and int(time[1])


def read_dump(
    lines: Iterable[str], order: BatchOrder, begin: int = 1, share: PartitionShare = WHOLE
) -> Iterator[MetadataRecord]:
    """The records of a dump of one file. Raises `MalformedRecord`, also where a record or a head of a batch is missing.

    order: of the batches before these; goes on with them. begin: the number of the first line. share: records of
    other partitions are not decoded.
    """
    order.torn, order.has_header, order.has_footer, order.hides_control = None, False, False, False
    batch: _Batch | None = None
    decodes = cache(share.decodes) if share.of > 1 else None
    for number, line in enumerate(lines, begin):
        quick = QUICK.match(line) if line.endswith("}") and UNREADABLE not in line else None
        if quick is None and (begun := BATCH.match(line)) is not None:
            if batch is not None and batch.seen < batch.last:
                none = "" if batch.seen >= batch.first else f", not one record of it: {HOW}"
                raise MalformedRecord(
                    f"line {number}: the batch of offsets {batch.first} to {batch.last} is not there to its end{none}"
                )
            if "isvalid: false" in line:
                raise MalformedRecord(f"line {number}: the tool found that the sum of the batch is wrong")
            first = int(begun[1])
            batch = _Batch(first, int(begun[2]), first - 1, number, line, "isControl: true" in line)
            continue
        if quick is None and line.startswith("baseOffset:"):
            raise MalformedRecord(f"line {number}: the head of a batch, of which the offsets cannot be read")
        told = quick or OFFSET.match(line)
        bare = BARE_RECORD.match(line) if told is None else None
        if batch is None and (told or bare):
            raise MalformedRecord(f"line {number}: {NO_HEAD}")
        if batch is None:
            continue
        if told is not None:
            offset = int(told[1])
        elif bare is not None:
            offset = batch.seen + 1
        elif batch.control and not line.strip() and batch.seen < batch.last:
            order.hides_control = True  # with --skip-record-metadata this line is all that a control record prints
            offset = batch.seen + 1
        else:
            continue
        if offset != batch.seen + 1:
            raise MalformedRecord(f"line {number}: a record of offset {offset} in place of {batch.seen + 1}")
        if offset > batch.last:
            raise MalformedRecord(
                f"line {number}: a record of offset {offset} after the batch of {batch.first} to {batch.last}"
            )
        if offset == order.next:
            order.next = offset + 1
        else:
            try:
                order.follow(offset, offset)
            except MalformedRecord as error:
                raise MalformedRecord(f"line {number}: {error}") from None
        batch.seen = offset
        if quick is not None:
            batch.records.append(
                _printed_record(line[quick.end() :], int(quick[2]), number, offset, batch.first, decodes)
            )
        elif UNREADABLE in line and UNREAD.match(line) is not None:
            raise MalformedRecord(f"line {number}: the tool could not read this record; one of a newer release can")
        elif told is None and batch.control:
            pass
        elif "payload:" not in line and CONTROL_LINE.search(line) is not None:
            order.has_header |= HEADER in line
            order.has_footer |= FOOTER in line
        elif told is None:
            text = bare[1] if bare is not None else ""
            batch.records.append(_printed_record(text, batch.time, number, offset, batch.first, decodes))
        elif (match := RECORD.match(line)) is not None:
            batch.records.append(_printed_record(match[2], int(match[1]), number, offset, batch.first, decodes))
        else:
            raise MalformedRecord(f"line {number}: a record without its time and payload; {HOW}")
        if batch.seen >= batch.last:
            yield from batch.records
    if batch is not None and batch.seen < batch.last:
        order.torn, order.next = batch.line, batch.first


def _printed_record(
    text: str, time: int | None, number: int, offset: int, batch: int, decodes: Callable[[str, int], bool] | None
) -> MetadataRecord:
    """The record of a payload. time: None if the dump has none. decodes: whether it is needed by its partition."""
    if time is None or not text.startswith("{"):
        raise MalformedRecord(f"line {number}: a record without its time and payload; {HOW}")
    if decodes is not None and (of := OF_PARTITION.match(text)) is not None and not decodes(of[2], int(of[1])):
        return MetadataRecord(offset, time, batch, OTHERS, 0, {})
    try:
        kind, version, fields = _decoded(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedRecord(f"line {number}: a payload that is not a metadata record: {error}") from None
    except MalformedRecord as error:
        raise MalformedRecord(f"line {number}: {error}") from None
    return MetadataRecord(offset, time, batch, kind, version, fields)


@lru_cache(1 << 14)
def _decoded(text: str) -> tuple[str, int, MetadataFields]:
    """Kind, version and fields of a payload. Changes of partitions name no epochs: many have the same text."""
    payload = json.loads(text)
    kind = _kind(payload["type"])
    version, data = payload.get("version", 0), payload.get("data", {})
    return kind, version, _filled(SCHEMAS[KINDS[kind]], version, data) if kind else {}


@cache
def _kind(name: str) -> str:
    """The kind of a record by its type as it is printed, as in REGISTER_BROKER_RECORD; "" of one that tells nothing of
    partitions or brokers."""
    words = name.removesuffix("_RECORD").split("_")
    kind = "".join(word.capitalize() for word in words)
    if kind not in KINDS and kind not in OTHER_KINDS.values():
        raise MalformedRecord(f"a record of type {name}: this program knows those of Kafka 3.3 to 4.4")
    return kind if kind in KINDS else ""


def _filled(schema: Schema, version: Any, data: MetadataFields) -> MetadataFields:
    """The fields of a record; a tagged field with its default is not printed."""
    if type(version) is not int or not 0 <= version <= schema.newest:
        raise MalformedRecord(f"{schema.name} of version {version}: versions 0 to {schema.newest} are known")
    by_name, defaults, required = _of_schema(schema.name)
    if unknown := data.keys() - by_name.keys():
        raise MalformedRecord(f"{schema.name} has no field {min(unknown)}")
    if not required <= data.keys():
        raise KeyError(f"{', '.join(name for name in by_name if name in required - data.keys())} is missing")
    if not all(_fits(value, by_name[name]) for name, value in data.items()):
        name = next(name for name in by_name if name in data and not _fits(data[name], by_name[name]))
        raise MalformedRecord(f"{name} is {json.dumps(data[name])}")
    return defaults | data


@cache
def _of_schema(name: str) -> tuple[dict[str, WireField], MetadataFields, frozenset[str]]:
    """The fields of a record's schema by name, their defaults, and the names of those that every dump prints."""
    fields = SCHEMAS[KINDS[name]].fields
    required = frozenset(f.name for f in fields if f.tag is None and f.first == 0)
    return {f.name: f for f in fields}, {f.name: f.default for f in fields}, required


def _fits(value: Any, f: WireField) -> bool:
    """Whether a value in JSON is of a field's type."""
    if f.type in FIXED:
        return type(value) is int
    if f.type == "bool":
        return type(value) is bool
    if value is None:
        return f.tag is not None or f.nullable
    if f.type in ("string", "uuid"):
        return type(value) is str
    member = {"ids": int, "uuids": str, "structures": dict}[f.type]
    return type(value) is list and all(type(one) is member for one in value)
