"""Metadata logs read: as Kafka's own tool prints them, by the schemas that Kafka publishes."""

from __future__ import annotations

import json
import re
import struct
import zipfile

import pytest

from reassure.checkers.kafka.audit.dump_log import read_dump
from reassure.checkers.kafka.audit.message_format import MalformedRecord, Reader, Schema, WireField
from reassure.checkers.kafka.audit.metadata_records import SCHEMAS, read_record
from reassure.checkers.kafka.audit.segment_file import LENGTH_AT, SUMMED_FROM, TornEnd, crc32c, read_segment
from tests.helpers.kafka_jars import class_path
from tests.helpers.metadata_log_text import LOGS, kept_log

SEGMENT = (LOGS / "4.1.0.log").read_bytes()


@pytest.mark.parametrize("version", ["3.9.0", "4.1.0"])
def test_a_segment_reads_as_kafkas_tool_prints_it(version: str) -> None:
    with (LOGS / f"{version}.txt").open(encoding="utf-8") as lines:
        assert kept_log(version) == list(read_dump(lines))


def test_what_is_read() -> None:
    first, second, *_ = [r for r in kept_log("4.1.0") if r.kind.startswith("Partition")]
    assert (first.offset, first.kind, first.version) == (9, "Partition", 2)
    assert first.data["replicas"] == first.data["isr"] == [1, 2, 3]
    assert (first.data["leader"], first.data["leaderEpoch"], first.data["eligibleLeaderReplicas"]) == (1, 0, None)
    assert first.data["directories"] == [f"AAAAAAAAB9{i}AAAAAAAAH0{q}" for i, q in (("E", "Q"), ("I", "g"), ("M", "w"))]
    assert (second.offset, second.batch, second.timestamp) == (11, 11, 1_700_000_011_000)
    assert (second.data["isr"], second.data["leader"], second.data["replicas"]) == ([2, 3], 2, None)


def published(text: str) -> dict[str, object]:
    """A schema of Kafka, which is JSON with comments."""
    found = json.loads(re.sub(r"//[^\n]*", "", text))
    assert isinstance(found, dict)
    return found


TYPES = {"[]int32": "ids", "[]uuid": "uuids"}


@pytest.mark.parametrize("version", ["3.9.0", "4.4.0"])
def test_schemas_are_those_that_kafka_publishes(version: str) -> None:
    jar = next(p for p in class_path(version).jars if p.name == f"kafka-metadata-{version}.jar")
    compared = 0
    with zipfile.ZipFile(jar) as files:
        for key, schema in SCHEMAS.items():
            name = f"common/metadata/{schema.name}Record.json"
            if name not in files.namelist():
                assert (schema.name, version) == ("ClearElr", "3.9.0")
                continue
            theirs = published(files.read(name).decode())
            newest = int(str(theirs["validVersions"]).split("-")[-1])
            assert (theirs["apiKey"], schema.newest >= newest) == (key, True)
            ours = {f.name: f for f in schema.fields if f.first <= newest}
            fields = theirs["fields"]
            assert isinstance(fields, list)
            expected = [(f["name"][0].lower() + f["name"][1:], f) for f in fields]
            assert [n for n, _ in expected if n not in ours] == []
            assert len(expected) == len(ours)
            untagged = [n for n, f in expected if "tag" not in f]
            assert untagged == [f.name for f in schema.fields if f.tag is None and f.name in ours], schema.name
            for field, f in expected:
                kind = TYPES.get(f["type"], "structures" if f["type"].startswith("[]") else f["type"])
                first = int(f["versions"].rstrip("+"))
                assert (ours[field].type, ours[field].first, ours[field].tag) == (
                    kind,
                    first,
                    int(f["tag"]) if "tag" in f else None,
                )
                compared += 1
    assert compared >= 55


def test_the_sum() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


def test_a_damaged_byte_is_found() -> None:
    at = SEGMENT.index(b"watched")
    with pytest.raises(MalformedRecord, match="the sum of the batch is wrong"):
        list(read_segment(SEGMENT[:at] + b"W" + SEGMENT[at + 1 :], TornEnd()))
    with pytest.raises(MalformedRecord, match="a batch of format 1"):
        list(read_segment(SEGMENT[:16] + b"\1" + SEGMENT[17:], TornEnd()))


@pytest.mark.parametrize("lost", [1, 50, 100])
def test_a_torn_end_is_told(lost: int) -> None:
    torn = TornEnd()
    whole = list(read_segment(SEGMENT, torn))
    assert torn.at is None
    read = list(read_segment(SEGMENT[:-lost], torn))
    assert torn.at is not None and torn.at < len(SEGMENT) - lost
    assert whole[: len(read)] == read and 0 < len(whole) - len(read) <= 3


def with_attributes(bits: int) -> bytes:
    """The first batch, with other attributes."""
    (length,) = struct.unpack_from(">i", SEGMENT, 8)
    batch = bytearray(SEGMENT[: LENGTH_AT + length])
    batch[21:23] = struct.pack(">h", bits)
    batch[17:21] = struct.pack(">I", crc32c(bytes(batch[SUMMED_FROM:])))
    return bytes(batch)


def test_attributes_of_a_batch() -> None:
    assert len(list(read_segment(with_attributes(0), TornEnd()))) == 1
    assert list(read_segment(with_attributes(32), TornEnd())) == []
    with pytest.raises(MalformedRecord, match="compressed by zstd"):
        list(read_segment(with_attributes(4), TornEnd()))


def test_tagged_fields_that_are_not_known_are_passed_over() -> None:
    schema = Schema(
        "X", 1, (WireField("a", "int8"), WireField("b", "string", 0, 0, "none"), WireField("c", "ids", 1, 2))
    )
    bytes_of_b = b"\0\2" + b"\3" + b"hi"
    data = b"\5" + b"\3" + bytes_of_b[:1] + b"\3" + b"\3hi" + b"\1\1\x7f" + b"\2\5" + b"\2\0\0\0\7"
    assert schema.read(Reader(data), 1) == {"a": 5, "b": "hi", "c": [7]}
    assert schema.read(Reader(data), 0) == {"a": 5, "b": "hi", "c": None}
    assert schema.read(Reader(b"\5\0"), 1) == {"a": 5, "b": "none", "c": None}
    with pytest.raises(MalformedRecord, match="versions 0 to 1 are known"):
        schema.read(Reader(data), 2)
    with pytest.raises(MalformedRecord):
        schema.read(Reader(data[:6]), 1)


def test_numbers_of_variable_length() -> None:
    assert Reader(b"\xac\x02").unsigned() == 300
    assert [Reader(bytes([n])).signed() for n in (0, 1, 2, 3)] == [0, -1, 1, -2]
    with pytest.raises(MalformedRecord, match="does not end"):
        Reader(b"\xff" * 11).unsigned()


def test_other_records_are_passed_over_and_other_frames_refused() -> None:
    assert read_record(b"\1\x14\0\0") == ("", 0, {})
    with pytest.raises(MalformedRecord, match="a frame of version 2"):
        read_record(b"\2\x14\0\0")


PAYLOAD = '{"type":"TOPIC_RECORD","version":0,"data":{"name":"t","topicId":"T"}}'


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("| offset: 1 CreateTime: 5 keySize: -1 payload: Error at 1, skipping.", "one of a newer release can"),
        ("baseOffset: 0 lastOffset: 0 count: 1 crc: 7 isvalid: false", "the sum of the batch is wrong"),
        ('| offset: 1 CreateTime: 5 payload: {"type":"TOPIC_RECORD","data":{}}', "name, topicId is missing"),
        ("| offset: 1 CreateTime: 5 payload: {}", "not a metadata record"),
    ],
)
def test_lines_that_cannot_be_read(line: str, why: str) -> None:
    good = f"| offset: 0 CreateTime: 5 keySize: -1 payload: {PAYLOAD}"
    assert [r.kind for r in read_dump(["Dumping x", good, "junk"])] == ["Topic"]
    with pytest.raises(MalformedRecord, match=re.escape(why)):
        list(read_dump([good, line]))
