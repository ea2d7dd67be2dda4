"""The output of `kafka-dump-log --cluster-metadata-decoder --print-data-log`, read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from reassure.checkers.kafka.audit.message_format import MalformedRecord, WireField
from reassure.checkers.kafka.audit.metadata_records import KINDS, SCHEMAS, MetadataRecord

BATCH = re.compile(r"^baseOffset: (\d+) ")
RECORD = re.compile(r"^\|? ?offset: (\d+) .*?CreateTime: (-?\d+) .*?payload: ?(\{.*\})\s*$")
UNREAD = re.compile(r"^\|? ?offset: \d+ .*payload: ?Error at")


def read_dump(lines: Iterable[str]) -> Iterator[MetadataRecord]:
    """The records of a dump; lines that show none are passed over. Raises `MalformedRecord`."""
    batch = 0
    for number, line in enumerate(lines, 1):
        if (begun := BATCH.match(line)) is not None:
            batch = int(begun[1])
            if "isvalid: false" in line:
                raise MalformedRecord(f"line {number}: the tool found that the sum of the batch is wrong")
        if UNREAD.match(line) is not None:
            raise MalformedRecord(f"line {number}: the tool could not read this record; one of a newer release can")
        if (match := RECORD.match(line)) is None:
            continue
        try:
            payload = json.loads(match[3])
            kind = _kind(payload["type"])
            version, data = int(payload.get("version", 0)), payload.get("data", {})
            fields = _filled(SCHEMAS[KINDS[kind]].fields, data) if kind else {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MalformedRecord(f"line {number}: a payload that is not a metadata record: {error}") from None
        yield MetadataRecord(int(match[1]), int(match[2]), batch, kind, version, fields)


def _kind(name: str) -> str:
    """The kind of a record by its type as it is printed, as in REGISTER_BROKER_RECORD; "" of one not known here."""
    words = name.removesuffix("_RECORD").split("_")
    kind = "".join(word.capitalize() for word in words)
    return kind if kind in KINDS else ""


def _filled(fields: tuple[WireField, ...], data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record; a tagged field with its default is not printed."""
    values = {f.name: data.get(f.name, f.default) for f in fields}
    missing = [f.name for f in fields if f.tag is None and f.first == 0 and f.name not in data]
    if missing:
        raise KeyError(f"{', '.join(missing)} is missing")
    return values
