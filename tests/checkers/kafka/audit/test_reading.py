"""Metadata logs read: as Kafka's own tool prints them, by the schemas that Kafka publishes."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from typing import Any

import pytest

from reassure.checkers.kafka.audit.metadata_records import (
    OTHER_KINDS,
    SCHEMAS,
    BatchOrder,
    MalformedRecord,
    Reader,
    Schema,
    WireField,
    read_record,
)
from reassure.checkers.kafka.audit.record_files import LENGTH_AT, SUMMED_FROM, _fits, crc32c, read_dump, read_segment
from tests.helpers.kafka_jars import class_path
from tests.helpers.metadata_log_text import LOGS, batch_of, batches, kept_log, record_of

SEGMENT = (LOGS / "4.1.0.log").read_bytes()


@pytest.mark.parametrize("version", ["3.9.0", "4.1.0"])
def test_a_segment_reads_as_kafkas_tool_prints_it(version: str) -> None:
    with (LOGS / f"{version}.txt").open(encoding="utf-8") as lines:
        assert kept_log(version) == list(read_dump(lines, BatchOrder()))


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
                assert ours[field].nullable == ("nullableVersions" in f and "tag" not in f), (schema.name, field)
                compared += 1
    assert compared >= 55


@pytest.mark.parametrize("version", ["3.9.0", "4.4.0"])
def test_every_record_of_kafka_is_known(version: str) -> None:
    """What tells nothing of partitions or brokers is passed over by its name, and nothing else is."""
    jar = next(p for p in class_path(version).jars if p.name == f"kafka-metadata-{version}.jar")
    theirs = {}
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            if re.fullmatch(r"common/metadata/\w+Record\.json", name):
                schema = published(files.read(name).decode())
                theirs[schema["apiKey"]] = str(schema["name"]).removesuffix("Record")
    known = OTHER_KINDS | {key: schema.name for key, schema in SCHEMAS.items()}
    assert len(known) == len(OTHER_KINDS) + len(SCHEMAS) == 27
    assert {key: known.get(int(str(key))) for key in theirs} == theirs
    assert len(theirs) == {"3.9.0": 25, "4.4.0": 27}[version]


def test_the_sum() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


def test_a_damaged_byte_is_found() -> None:
    at = SEGMENT.index(b"watched")
    with pytest.raises(MalformedRecord, match="the sum of the batch is wrong"):
        list(read_segment(SEGMENT[:at] + b"W" + SEGMENT[at + 1 :], BatchOrder()))
    with pytest.raises(MalformedRecord, match="a batch of format 1"):
        list(read_segment(SEGMENT[:16] + b"\1" + SEGMENT[17:], BatchOrder()))


@pytest.mark.parametrize("lost", [1, 50, 100])
def test_a_torn_end_is_told(lost: int) -> None:
    whole = list(read_segment(SEGMENT, order := BatchOrder()))
    assert (order.torn, order.next) == (None, 94)
    read = list(read_segment(SEGMENT[:-lost], order := BatchOrder()))
    assert order.torn is not None and order.torn < len(SEGMENT) - lost
    assert whole[: len(read)] == read and 0 < len(whole) - len(read) <= 3


def with_attributes(bits: int) -> bytes:
    """The first batch, with other attributes."""
    (length,) = struct.unpack_from(">i", SEGMENT, 8)
    batch = bytearray(SEGMENT[: LENGTH_AT + length])
    batch[21:23] = struct.pack(">h", bits)
    batch[17:21] = struct.pack(">I", crc32c(bytes(batch[SUMMED_FROM:])))
    return bytes(batch)


def test_attributes_of_a_batch() -> None:
    assert len(list(read_segment(with_attributes(0), BatchOrder()))) == 1
    assert list(read_segment(with_attributes(32), BatchOrder())) == []
    with pytest.raises(MalformedRecord, match="compressed by zstd"):
        list(read_segment(with_attributes(4), BatchOrder()))


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


HEAD = "baseOffset: 0 lastOffset: {} count: 1 CreateTime: 5 isvalid: true"
PAYLOAD = '{"type":"TOPIC_RECORD","version":0,"data":{"name":"t","topicId":"T"}}'


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("| offset: 1 CreateTime: 5 keySize: -1 payload: Error at 1, skipping.", "one of a newer release can"),
        ("baseOffset: 1 last", "line 3: the head of a batch, of which the offsets cannot be read"),
        ("baseOffset: 0 lastOffset: 0 count: 1 crc: 7 isvalid: false", "the sum of the batch is wrong"),
        ('| offset: 1 CreateTime: 5 payload: {"type":"TOPIC_RECORD","data":{}}', "name, topicId is missing"),
        ("| offset: 1 CreateTime: 5 payload: {}", "not a metadata record"),
        (
            "| offset: 1 CreateTime: 5 keySize: -1 payload: " + PAYLOAD[:-2],
            "line 3: a record without its time and payl",
        ),
        ("| offset: 1 CreateTime: 5 keySize: -1 headerKeys: []", "kafka-dump-log prints records by --cluster-metadata"),
        ("| offset: 1 LogAppendTime: 5 payload: " + PAYLOAD, "line 3: a record without its time and payload"),
        (
            "| offset: 2 CreateTime: 5 payload: " + PAYLOAD,
            "line 3: a record of offset 2 in place of 1",
        ),
        ("| offset: 0 CreateTime: 5 payload: " + PAYLOAD, "line 3: a record of offset 0 in place of 1"),
        (
            '| offset: 1 CreateTime: 5 payload: {"type":"PARTITION_MOVE_RECORD","data":{}}',
            "of type PARTITION_MOVE_RECORD",
        ),
        ('| offset: 1 CreateTime: 5 payload: {"type":"FENCE_BROKER_RECORD","data":{"id":"1","epoch":2}}', 'id is "1"'),
        (
            '| offset: 1 CreateTime: 5 payload: {"type":"TOPIC_RECORD","data":{"name":null,"topicId":"T"}}',
            "name is null",
        ),
    ],
)
def test_lines_that_cannot_be_read(line: str, why: str) -> None:
    good = f"| offset: 0 CreateTime: 5 keySize: -1 payload: {PAYLOAD}"
    assert [r.kind for r in read_dump(["Dumping x", HEAD.format(0), good, "junk"], BatchOrder())] == ["Topic"]
    with pytest.raises(MalformedRecord, match=re.escape(why)):
        list(read_dump([HEAD.format(0 if line.startswith("base") else 1), good, line], BatchOrder()))


@pytest.mark.parametrize("version", ["3.9.0", "4.1.0"])
def test_a_dump_with_record_lines_alone_is_refused(version: str) -> None:
    """As `grep '| offset'` leaves it: otherwise all its records would count as one batch."""
    lines = (LOGS / f"{version}.txt").read_text().splitlines()
    for some in ([line for line in lines if line.startswith("|")], lines[:2] + lines[3:]):
        with pytest.raises(MalformedRecord, match="a record before the line of its batch"):
            list(read_dump(some, BatchOrder()))


@pytest.mark.parametrize("prefix", ["| ", " ", ""])
@pytest.mark.parametrize("version", ["3.9.0", "4.1.0"])
def test_a_dump_without_metadata_of_records_says_the_same(version: str, prefix: str) -> None:
    """`--skip-record-metadata`: offsets and times are those of the batch; releases print the bar or do not."""
    text = (LOGS / f"{version}.txt").read_text()
    bare = re.sub(r"^\| offset: .*? payload: ", f"{prefix}payload: ", text, flags=re.MULTILINE)
    assert bare.count("| offset") == 0 < text.count("| offset")
    assert list(read_dump(bare.splitlines(), BatchOrder())) == kept_log(version)
    lines = bare.splitlines()
    at = next(number for number, line in enumerate(lines) if "PARTITION_RECORD" in line)
    for some, why in (
        (lines[:at] + lines[at + 1 :], "is not there to its end"),
        ([*lines[: at + 1], lines[at], *lines[at + 1 :]], "after the batch of"),
        ([*lines[:at], f"{prefix}payload: Error at 9, skipping", *lines[at + 1 :]], "one of a newer release can"),
        ([*lines[:at], f"{prefix}payload: \x01\x02", *lines[at + 1 :]], "without its time and payload"),
        ([*lines[: at - 1], lines[at - 1].replace("CreateTime", "LogAppendTime"), *lines[at:]], "without its time and"),
    ):
        with pytest.raises(MalformedRecord, match=why):
            list(read_dump(some, BatchOrder()))


def test_a_control_record_without_metadata_is_an_empty_line() -> None:
    begun = HEAD.format(0) + " isControl: true"
    topic = ["baseOffset: 1 lastOffset: 1 count: 1 CreateTime: 5 isvalid: true", f"| payload: {PAYLOAD}"]
    read = list(read_dump([begun, "", *topic], order := BatchOrder()))
    assert ([(r.offset, r.timestamp, r.kind) for r in read], order.hides_control) == ([(1, 5, "Topic")], True)
    with pytest.raises(MalformedRecord, match="line 2: the batch of offsets 0 to 0 is not there to its end"):
        list(read_dump([begun, *topic], BatchOrder()))


def test_a_dump_of_heads_alone_names_the_options() -> None:
    lines = [line for line in (LOGS / "4.1.0.txt").read_text().splitlines() if line.startswith("baseOffset")]
    with pytest.raises(MalformedRecord, match="not one record of it: kafka-dump-log prints records by --cluster"):
        list(read_dump(lines, BatchOrder()))


TYPES_AND_VALUES = [
    ("int32", 7, ["7", None, True, 7.0]),
    ("bool", True, [1, None, "true"]),
    ("uuid", "A", [1, None]),
    ("string", "a", [1, None, ["a"]]),
    ("ids", [1, 2], ["12", None, [True], ["1"], {"1": 2}]),
    ("uuids", ["A"], [[1], "A"]),
    ("structures", [{}], [[1], {}, None]),
]


@pytest.mark.parametrize(("kind", "good", "bad"), TYPES_AND_VALUES)
def test_values_of_another_type_are_refused(kind: str, good: Any, bad: list[Any]) -> None:
    untagged, tagged = WireField("f", kind), WireField("f", kind, tag=0)
    assert _fits(good, untagged) and _fits(good, tagged)
    assert not any(_fits(value, untagged) for value in bad)
    assert _fits(None, tagged) == (kind not in ("int32", "bool"))
    assert _fits(None, WireField("f", "string", nullable=True))


@pytest.mark.parametrize("version", ["3.9.0", "4.1.0"])
def test_a_dump_without_any_of_its_records_is_refused(version: str) -> None:
    lines = (LOGS / f"{version}.txt").read_text().splitlines()
    records = [number for number, line in enumerate(lines) if line.startswith("| offset")]
    for number in records[:-1]:
        shorter_ones = [lines[:number] + lines[number + 1 :], lines[: number - 1] + lines[number + 1 :]]
        if lines[number - 1].startswith("baseOffset") and number > 3:  # the head of its batch alone
            shorter_ones.append(lines[: number - 1] + lines[number:])
        for shorter in shorter_ones:
            with pytest.raises(
                MalformedRecord, match=r"to its end|in place of|is missing|begins at offset 1,|after the batch"
            ):
                list(read_dump(shorter, BatchOrder()))
    begun = max(number for number, line in enumerate(lines, 1) if line.startswith("baseOffset"))
    read = list(read_dump(lines[: records[-1]], order := BatchOrder()))
    assert (order.torn, order.next) == (begun, read[-1].offset + 1)
    assert read == list(read_dump(lines[: begun - 1], order := BatchOrder())) and order.torn is None


def test_a_segment_without_any_of_its_batches_is_refused() -> None:
    parts = list(batches(SEGMENT))
    for number, (first, last, _) in enumerate(parts[1:-1], 1):
        data = b"".join(batch for _, _, batch in parts[:number] + parts[number + 1 :])
        with pytest.raises(
            MalformedRecord, match=f"offset {last + 1} comes after {first - 1}: what is between them is mi"
        ):
            list(read_segment(data, BatchOrder()))
    with pytest.raises(MalformedRecord, match="offset 0 comes after 93"):
        list(read_segment(SEGMENT + parts[0][2], BatchOrder()))


NO_OP = b"\1\x14\0\0"


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        (batch_of(0, record_of(0, NO_OP), more=1), "a batch of offsets 0 to 1 with 1 records"),
        (batch_of(0, record_of(1, NO_OP)), "a record of offset 1 in place of 0"),
        (batch_of(0, record_of(0, NO_OP) + b"\0"), "1 bytes after the last record of the batch"),
        (batch_of(0, record_of(0, b"\1\x1e\0\0")), "a record of API key 30"),
        (batch_of(0, record_of(0, NO_OP), attributes=1), "the batch cannot be decompressed: Not a gzipped file"),
        (batch_of(0, more=-1), "a batch of offsets 0 to -1"),
    ],
)
def test_batches_that_are_not_whole_are_refused(batch: bytes, why: str) -> None:
    assert len(list(read_segment(batch_of(0, record_of(0, NO_OP)), BatchOrder()))) == 1
    with pytest.raises(MalformedRecord, match=why):
        list(read_segment(batch, BatchOrder()))


def test_a_name_that_is_null_is_refused() -> None:
    with pytest.raises(MalformedRecord, match="name is null"):
        read_record(b"\1\2\0\0" + bytes(16) + b"\0")
