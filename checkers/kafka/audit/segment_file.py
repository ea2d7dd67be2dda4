"""Segments and snapshots of a log: record batches of format 2, checked by their sums."""

from __future__ import annotations

import base64
import gzip
import struct
import zlib
from collections.abc import Iterator

from reassure.checkers.kafka.audit.message_format import BatchOrder, MalformedRecord, Reader
from reassure.checkers.kafka.audit.metadata_records import (
    FRAME,
    KINDS,
    OTHERS,
    WHOLE,
    MetadataRecord,
    PartitionShare,
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
_POLYNOMIAL = 0x82F63B78


def _table() -> tuple[int, ...]:
    values = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        values.append(byte)
    return tuple(values)


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) sum of some bytes."""
    table, value = _TABLE, 0xFFFFFFFF
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
                yield _record(value, found, time, offset, share)
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


def _record(value: bytes | None, offset: int, time: int, batch: int, share: PartitionShare) -> MetadataRecord:
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
