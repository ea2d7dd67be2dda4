"""Kafka's message format, as far as metadata records use it: flexible versions with tagged fields.

Lengths are unsigned variable-length integers, one more than the length (0: null); what is tagged follows the other
fields of a structure, with its number and size, so that a reader skips what it does not know.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass, field
from typing import Any

from reassure.spec.semantics.trace import JsonObject

NULL = -1
"""The length of what is null."""


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

    def length(self) -> int:
        """The length of a string or an array; `NULL` of none."""
        return self.unsigned() - 1

    def uuid(self) -> str:
        """A UUID, as Kafka prints it."""
        return base64.urlsafe_b64encode(self.take(16)).decode().rstrip("=")


@dataclass(frozen=True)
class WireField:
    """A field of a message. type: of `FIXED`, or "bool", "string", "uuid", "ids" or "uuids" (arrays), "structures".

    first: the version from which it is there. tag: its number if it is tagged. default: what stands for a tagged field
    that is left out. nullable: it may be null. Null is taken for every tagged field.
    """

    name: str
    type: str
    first: int = 0
    tag: int | None = None
    default: Any = None
    fields: tuple[WireField, ...] = ()
    """Of each structure."""
    nullable: bool = False


FIXED = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q"}


MetadataFields = JsonObject
"""The fields of a message of Kafka by name, of the types that its `Schema` gives them."""


@dataclass(frozen=True)
class Schema:
    """A message. newest: the last version that is known here; fields that later ones add are not read."""

    name: str
    newest: int
    fields: tuple[WireField, ...] = field(default_factory=tuple)

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
    length = reader.length()
    if length == NULL:
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
