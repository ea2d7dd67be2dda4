"""Wire formats: brokers as KIP-36 has them (R6), ListPartitionReassignmentsResponse as KIP-435 does (B10).

Plain Python, not the model language. Every encoder has a decoder; whatever is not as documented is refused with a
`WireError` that says where. Strings are as the documents have them: length as a short, then the bytes; -1 is null.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class WireError(ValueError):
    """Bytes or JSON that are not as documented, or a value that a format cannot hold."""


# -- primitive types ------------------------------------------------------------------------------------------

WIDTHS = {"int16": (">h", 15), "int32": (">i", 31)}


class Writer:
    """Collects what is written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def bytes(self) -> bytes:
        return b"".join(self.parts)

    def number(self, kind: str, value: int, what: str) -> None:
        layout, bits = WIDTHS[kind]
        if type(value) is not int or not -(1 << bits) <= value < 1 << bits:
            raise WireError(f"{what}: {value!r} is no {kind}")
        self.parts.append(struct.pack(layout, value))

    def string(self, value: str | None, what: str, nullable: bool = False) -> None:
        if value is None:
            if not nullable:
                raise WireError(f"{what} cannot be null")
            self.number("int16", -1, what)
            return
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise WireError(f"{what}: {value!r} is no text that UTF-8 can hold") from None
        if len(data) > 32767:
            raise WireError(f"{what}: {len(data)} bytes; a string has 32767 at most")
        self.number("int16", len(data), what)
        self.parts.append(data)


class Reader:
    """Reads from the front; refuses to read past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int, what: str) -> bytes:
        left = len(self.data) - self.at
        if count > left:
            raise WireError(f"{what}: {count} bytes are needed at offset {self.at}, and {left} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind: str, what: str) -> int:
        layout, bits = WIDTHS[kind]
        found: int = struct.unpack(layout, self.take((bits + 1) // 8, what))[0]
        return found

    def count(self, what: str) -> int:
        """The length of an array: every element takes a byte at least."""
        start, found = self.at, self.number("int32", what)
        if not 0 <= found <= len(self.data) - self.at:
            raise WireError(
                f"{what}: {found} elements at offset {start}, and {len(self.data) - self.at} bytes are left"
            )
        return found

    def string(self, what: str, nullable: bool = False) -> str | None:
        start, length = self.at, self.number("int16", what)
        if length == -1 and nullable:
            return None
        if length < 0:
            raise WireError(f"{what}: length {length} at offset {start}")
        try:
            return self.take(length, what).decode()
        except UnicodeDecodeError:
            raise WireError(f"{what}: the {length} bytes at offset {start + 2} are no UTF-8") from None

    def text(self, what: str) -> str:
        found = self.string(what)
        assert found is not None
        return found

    def end(self) -> None:
        if self.at != len(self.data):
            raise WireError(f"{len(self.data) - self.at} bytes are left over at offset {self.at}")


# -- brokers --------------------------------------------------------------------------------------------------


class Security(Enum):
    """A security protocol; the value is its id in binary layouts."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


@dataclass(frozen=True)
class EndPoint:
    """Where a broker listens."""

    protocol: Security
    host: str
    port: int

    def text(self) -> str:
        """As in a registration; a literal IPv6 address is bracketed."""
        return f"{self.protocol.name}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @classmethod
    def of(cls, text: object) -> EndPoint:
        """The end point of such a text."""
        found = re.fullmatch(r"([A-Z_]+)://(\[[^\[\]]*\]|[^\[\]:]*):(\d{1,5})", text) if isinstance(text, str) else None
        if not found or found[1] not in Security.__members__ or int(found[3]) > 65535:
            raise WireError(f"endpoint {text!r}; it is PROTOCOL://host:port")
        return cls(Security[found[1]], found[2].strip("[]"), int(found[3]))


@dataclass(frozen=True)
class Broker:
    """A broker's registered data. End points in order, at most one for each protocol."""

    id: int
    endpoints: tuple[EndPoint, ...]
    rack: str | None = None

    def plain(self) -> EndPoint:
        """The end point that formats without protocols show."""
        found = next((e for e in self.endpoints if e.protocol is Security.PLAINTEXT), None)
        if found is None:
            raise WireError(f"broker {self.id} has no PLAINTEXT end point, and this version shows no other")
        return found


# -- registrations: JSON ------------------------------------------------------------------------------------------


class Software(Enum):
    """The release whose `getBrokerInfo` reads a registration."""

    V0_9_0_0 = "0.9.0.0"
    """Throws for versions other than 1 and 2: the bug that 0.9.0.1 is needed for."""
    V0_9_0_1 = "0.9.0.1"
    """Takes what it knows from any version; it does not know racks."""
    V0_10 = "0.10.0"
    """Takes what it knows from any version; racks are in 3 and later ones."""


def write_registration(broker: Broker, version: int, timestamp: str = "0", jmx_port: int = -1) -> str:
    """A registration: version 1 has one plain end point, version 2 all of them, version 3 the rack if there is one."""
    if version not in (1, 2, 3):
        raise WireError(f"registration version {version}; there are 1, 2 and 3")
    if len({e.protocol for e in broker.endpoints}) != len(broker.endpoints):
        raise WireError(f"broker {broker.id} has two end points of one protocol")
    for e in broker.endpoints:
        if EndPoint.of(e.text()) != e:
            raise WireError(f"endpoint {e.text()!r} would be read as another")
    plain = next((e for e in broker.endpoints if e.protocol is Security.PLAINTEXT), None)
    if version == 1:
        plain = broker.plain()
    data: dict[str, Any] = {
        "version": version,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": jmx_port,
        "timestamp": timestamp,
    }
    if version >= 2:
        data["endpoints"] = [e.text() for e in broker.endpoints]
    if version >= 3 and broker.rack is not None:
        data["rack"] = broker.rack
    return json.dumps(data)


def read_registration(broker_id: int, text: str, reader: Software) -> Broker:
    """The registration as this software decodes it; `WireError` if it throws, or if the text is no registration."""
    try:
        data = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a registration that is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise WireError("a registration is an object")
    version = _field(data, "version", int)
    if version < 1:
        raise WireError(f"registration version {version}")
    if reader is Software.V0_9_0_0 and version > 2:
        raise WireError(f"{reader.value} reads registration versions 1 and 2, not {version}")
    if version == 1:
        port = _field(data, "port", int)
        if not 0 <= port <= 65535:
            raise WireError(f"port {port} of a registration")
        return Broker(broker_id, (EndPoint(Security.PLAINTEXT, _field(data, "host", str), port),))
    endpoints = tuple(EndPoint.of(e) for e in _field(data, "endpoints", list))
    if len({e.protocol for e in endpoints}) != len(endpoints):
        raise WireError("a registration with two end points of one protocol")
    known = version >= 3 and reader is Software.V0_10 and data.get("rack") is not None
    return Broker(broker_id, endpoints, _field(data, "rack", str) if known else None)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two fields {max(names, key=names.count)!r}")
    return made


def _field(data: dict[str, Any], name: str, kind: type[Any]) -> Any:
    if type(data.get(name)) is not kind:
        what = {int: "a number", str: "a text", list: "a list"}[kind]
        raise WireError(f"{name} of a registration is {what}, not {data.get(name)!r}")
    return data[name]


RACK_KEY = "broker.rack"


def rack_of_properties(text: str) -> str | None:
    """The rack in a broker's properties file; the last line with the key counts, as in every properties file."""
    lines = [line.strip() for line in text.splitlines() if not line.lstrip().startswith(("#", "!"))]
    found = [value.strip() for key, equals, value in (line.partition("=") for line in lines) if key.strip() == RACK_KEY]
    return found[-1] if found else None


# -- brokers: binary ----------------------------------------------------------------------------------------------


def write_brokers(brokers: Sequence[Broker], version: int) -> bytes:
    """The brokers of an UpdateMetadataRequest. Version 0: id, host, port; 1: end points; 2: also the rack."""
    _known(version, 2)
    out = Writer()
    out.number("int32", len(brokers), "number of brokers")
    for b in brokers:
        out.number("int32", b.id, "broker id")
        if version == 0:
            out.string(b.plain().host, "host")
            out.number("int32", b.plain().port, "port")
            continue
        out.number("int32", len(b.endpoints), "number of end points")
        for e in b.endpoints:
            out.number("int32", e.port, "port")
            out.string(e.host, "host")
            out.number("int16", e.protocol.value, "protocol")
        if version >= 2:
            out.string(b.rack, "rack", nullable=True)
    return out.bytes()


def read_brokers(data: bytes, version: int) -> tuple[Broker, ...]:
    """The brokers written by `write_brokers`, as far as this version has them."""
    _known(version, 2)
    source = Reader(data)
    found = []
    for _ in range(source.count("number of brokers")):
        number = source.number("int32", "broker id")
        if version == 0:
            host = source.text("host")
            endpoints = [EndPoint(Security.PLAINTEXT, host, source.number("int32", "port"))]
        else:
            endpoints = [_endpoint(source) for _ in range(source.count("number of end points"))]
        rack = source.string("rack", nullable=True) if version >= 2 else None
        found.append(Broker(number, tuple(endpoints), rack))
    source.end()
    return tuple(found)


def _endpoint(source: Reader) -> EndPoint:
    port, host, protocol = source.number("int32", "port"), source.text("host"), source.number("int16", "protocol")
    if protocol not in {p.value for p in Security}:
        raise WireError(f"protocol {protocol} at offset {source.at - 2}")
    return EndPoint(Security(protocol), host, port)


def _known(version: int, newest: int) -> None:
    if not 0 <= version <= newest:
        raise WireError(f"version {version}; there are 0 to {newest}")


# -- ListPartitionReassignmentsResponse -----------------------------------------------------------------------------

SCHEMA_TEXT = """
{
  "apiKey": 46, "type": "response", "name": "ListPartitionReassignmentsResponse", "validVersions": "0-1",
  "fields": [
    { "name": "ThrottleTimeMs", "type": "int32", "versions": "0+" },
    { "name": "ErrorCode", "type": "int16", "versions": "0+" },
    { "name": "ErrorMessage", "type": "string", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Topics", "type": "[OngoingTopicReassignment]", "versions": "0+", "fields": [
      { "name": "Name", "type": "string", "versions": "0+" },
      { "name": "Partitions", "type": "[OngoingPartitionReassignment]", "versions": "0+", "fields": [
        { "name": "PartitionId", "type": "int32", "versions": "0+" },
        { "name": "CurrentBrokers", "type": "[int32]", "versions": "0+" },
        { "name": "TargetBrokers", "type": "[int32]", "versions": "0+" }
      ] }
    ] },
    { "name": "CurrentBatch", "type": "[CurrentTopicReassignmentBatch]", "versions": "1+", "fields": [
      { "name": "Name", "type": "string", "versions": "1+" },
      { "name": "Partitions", "type": "[CurrentPartitionReassignmentBatch]", "versions": "1+", "fields": [
        { "name": "PartitionId", "type": "int32", "versions": "1+" },
        { "name": "CurrentBrokers", "type": "[int32]", "versions": "1+" },
        { "name": "TargetBrokers", "type": "[int32]", "versions": "1+" }
      ] }
    ] }
  ]
}
"""
"""The schema corrected (B10): the batch is the last field of the response, and has a name of its own.

As printed it stands behind the closed response and is called `Topics`, like the field before it.
"""


@dataclass(frozen=True)
class Field:
    """A field of a message: from which versions it is there, since which it may be null, and what is in it."""

    name: str
    type: str
    since: int
    nullable_since: int | None
    fields: tuple[Field, ...]

    @property
    def item(self) -> str | None:
        """Of an array, the type of its elements."""
        return self.type[1:-1] if self.type.startswith("[") else None


def schema(text: str) -> tuple[Field, ...]:
    """The fields of a schema; `WireError` says why a text is none."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise WireError(f"the schema is no JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("fields"), list):
        raise WireError("a schema is an object with fields")
    return _fields(data["fields"], str(data.get("name")))


def _fields(entries: list[Any], where: str) -> tuple[Field, ...]:
    made: list[Field] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise WireError(f"{where}: a field without a name")
        name, kind = entry["name"], entry.get("type")
        if any(f.name == name for f in made):
            raise WireError(f"{where}: two fields {name!r}")
        since = _since(entry.get("versions"), f"{where}.{name}: versions")
        nullable = entry.get("nullableVersions")
        inner = _fields(entry.get("fields", []), f"{where}.{name}")
        plain = kind in (*WIDTHS, "string") or kind in ("[int16]", "[int32]", "[string]")
        if not isinstance(kind, str) or not (plain or re.fullmatch(r"\[[A-Z]\w*\]", kind)) or plain == bool(inner):
            raise WireError(f"{where}.{name}: type {kind!r}, with {len(inner)} fields in it")
        since_null = None if nullable is None else _since(nullable, f"{where}.{name}: nullableVersions")
        made.append(Field(name, kind, since, since_null, inner))
    return tuple(made)


def _since(text: object, what: str) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"\d+\+", text):
        raise WireError(f'{what} {text!r}; it is such as "1+"')
    return int(text[:-1])


Message = dict[str, Any]
"""By field: a number, a text or null, a list of them, or a list of messages."""

LIST_REASSIGNMENTS = schema(SCHEMA_TEXT)
NEWEST = 1


def write_message(fields: tuple[Field, ...], message: Message, version: int) -> bytes:
    """The message in this version: what the version does not have is left out, what it has must be there."""
    out = Writer()
    _write(fields, message, version, out, "")
    return out.bytes()


def _write(fields: tuple[Field, ...], message: Message, version: int, out: Writer, where: str) -> None:
    unknown = set(message) - {f.name for f in fields}
    if unknown:
        raise WireError(f"{where}{min(unknown)} is no field")
    for f in fields:
        if version < f.since:
            continue
        if f.name not in message:
            raise WireError(f"{where}{f.name} is missing")
        value, what = message[f.name], where + f.name
        if f.item is None:
            _write_plain(f, f.type, value, version, out, what)
            continue
        if not isinstance(value, list):
            raise WireError(f"{what} is a list, not {value!r}")
        out.number("int32", len(value), what)
        for i, element in enumerate(value):
            if not f.fields:
                _write_plain(f, f.item, element, version, out, f"{what}[{i}]")
            elif isinstance(element, dict):
                _write(f.fields, element, version, out, f"{what}[{i}].")
            else:
                raise WireError(f"{what}[{i}] is a message, not {element!r}")


def _write_plain(f: Field, kind: str, value: Any, version: int, out: Writer, what: str) -> None:
    if kind in WIDTHS:
        out.number(kind, value, what)
    elif value is None or isinstance(value, str):
        out.string(value, what, f.nullable_since is not None and version >= f.nullable_since)
    else:
        raise WireError(f"{what} is a text, not {value!r}")


def read_message(fields: tuple[Field, ...], data: bytes, version: int, rest: bool = False) -> Message:
    """The message that these bytes are in this version.

    rest: whether bytes may be left over (nothing but a reader of the wrong version needs that).
    """
    source = Reader(data)
    found = _read(fields, version, source, "")
    if not rest:
        source.end()
    return found


def read_front(fields: tuple[Field, ...], data: bytes) -> tuple[Message, bytes]:
    """A message that all versions share, and the bytes behind it."""
    source = Reader(data)
    return _read(fields, 0, source, ""), data[source.at :]


def _read(fields: tuple[Field, ...], version: int, source: Reader, where: str) -> Message:
    found: Message = {}
    for f in fields:
        if version < f.since:
            continue
        what = where + f.name
        if f.item is None:
            found[f.name] = _read_plain(f, f.type, version, source, what)
        elif f.fields:
            found[f.name] = [_read(f.fields, version, source, f"{what}[{i}].") for i in range(source.count(what))]
        else:
            found[f.name] = [_read_plain(f, f.item, version, source, f"{what}[{i}]") for i in range(source.count(what))]
    return found


def _read_plain(f: Field, kind: str, version: int, source: Reader, what: str) -> int | str | None:
    if kind in WIDTHS:
        return source.number(kind, what)
    return source.string(what, f.nullable_since is not None and version >= f.nullable_since)


def write_list_reassignments(message: Message, version: int) -> bytes:
    """A ListPartitionReassignmentsResponse of version 0 or 1."""
    _known(version, NEWEST)
    return write_message(LIST_REASSIGNMENTS, message, version)


def read_list_reassignments(data: bytes, version: int) -> Message:
    """What a reader of version 0 or 1 sees in such a response."""
    _known(version, NEWEST)
    return read_message(LIST_REASSIGNMENTS, data, version)
