"""R6 and B10: round trips, old readers, and clear refusals of what is truncated, corrupt or not to be written."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.models.kip36_racks import wire
from reassure.models.kip36_racks import wire_cases as wire_claims
from reassure.models.kip36_racks.wire import Broker, EndPoint, Message, Security, Software, WireError
from reassure.spec.claims import Outcome

ROOT = Path(__file__).parents[3]
SEED = ROOT.parent / "shared" / "seeds" / "000_fb6c529609128823.txt"

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
ENDPOINTS = st.builds(EndPoint, st.sampled_from(Security), TEXTS, INT32)
BROKERS = st.builds(Broker, INT32, st.lists(ENDPOINTS, max_size=4).map(tuple), st.none() | TEXTS)
HOSTS = st.from_regex(r"[a-z0-9.\-]{1,20}|[0-9a-f:]{2,20}", fullmatch=True)
LISTENERS = st.builds(EndPoint, st.sampled_from(Security), HOSTS, st.integers(0, 65535))
LISTED = st.lists(LISTENERS, min_size=1, max_size=4, unique_by=lambda e: e.protocol)
REGISTERED = st.builds(Broker, INT32, LISTED.map(tuple), st.none() | TEXTS)
IDS = st.lists(INT32, max_size=4)
PARTITIONS = st.fixed_dictionaries({"PartitionId": INT32, "CurrentBrokers": IDS, "TargetBrokers": IDS})
TOPICS = st.lists(st.fixed_dictionaries({"Name": TEXTS, "Partitions": st.lists(PARTITIONS, max_size=3)}), max_size=3)
RESPONSES = st.fixed_dictionaries(
    {
        "ThrottleTimeMs": INT32,
        "ErrorCode": st.integers(-(1 << 15), (1 << 15) - 1),
        "ErrorMessage": st.none() | TEXTS,
        "Topics": TOPICS,
        "CurrentBatch": TOPICS,
    }
)
MANY = settings(max_examples=150, deadline=None)


# -- the claims -----------------------------------------------------------------------------------------------

OUTCOMES: dict[str, tuple[int, str | None]] = {
    "broker_json_readers_as_documented": (405, None),
    "later_versions_are_read_by_what_is_known": (180, None),
    "no_rack_no_field": (135, None),
    "broker_bytes_are_read_back": (6075, None),
    "null_rack_is_a_length_of_minus_one": (45, None),
    "broker_bytes_need_their_version": (2025, None),
    "list_reassignments_v0_readers_see_what_they_saw": (338, None),
    "list_reassignments_are_read_back": (338, None),
    "batch_comes_last": (338, None),
    "one_name_for_both_fields": (1, "ListPartitionReassignmentsResponse: two fields 'Topics'"),
    "printed_brackets": (1, "the schema is no JSON: Extra data"),
}
"""By function: cases gone through, and what the counterexample says where the claim does not hold."""


@pytest.mark.parametrize("name", OUTCOMES)
def test_claim(name: str) -> None:
    outcome: Outcome = getattr(wire_claims, name)()
    cases, fallen = OUTCOMES[name]
    assert (outcome.cases, outcome.holds) == (cases, fallen is None), outcome.counterexample
    assert fallen is None or (outcome.counterexample is not None and fallen in outcome.counterexample)


def first_not_last(fields: tuple[wire.Field, ...]) -> tuple[wire.Field, ...]:
    return (*fields[-1:], *fields[:-1])


def always_there(fields: tuple[wire.Field, ...]) -> tuple[wire.Field, ...]:
    batch = fields[-1]
    inner = tuple(
        dataclasses.replace(f, since=0, fields=tuple(dataclasses.replace(g, since=0) for g in f.fields))
        for f in batch.fields
    )
    return (*fields[:-1], dataclasses.replace(batch, since=0, fields=inner))


def never_there(fields: tuple[wire.Field, ...]) -> tuple[wire.Field, ...]:
    return (*fields[:-1], dataclasses.replace(fields[-1], since=2))


@pytest.mark.parametrize(
    ("name", "part", "wrong"),
    [
        ("list_reassignments_v0_readers_see_what_they_saw", "LIST_REASSIGNMENTS", always_there),
        ("list_reassignments_are_read_back", "LIST_REASSIGNMENTS", never_there),
        ("batch_comes_last", "LIST_REASSIGNMENTS", first_not_last),
        ("broker_json_readers_as_documented", "read_registration", lambda f: lambda i, t, r: f(i, t, Software.V0_10)),
        ("later_versions_are_read_by_what_is_known", "read_registration", lambda f: lambda i, t, r: Broker(i, ())),
        ("no_rack_no_field", "write_registration", lambda f: lambda b, v: f(b, v)[:-1] + ', "rack": null}'),
        (
            "broker_bytes_need_their_version",
            "read_brokers",
            lambda f: lambda d, v: tuple(dataclasses.replace(b, rack=None) for b in f(d, 2)),
        ),
        ("broker_bytes_are_read_back", "read_brokers", lambda f: lambda d, v: tuple(reversed(f(d, v)))),
        (
            "null_rack_is_a_length_of_minus_one",
            "write_brokers",
            lambda f: lambda b, v: f([dataclasses.replace(x, rack=x.rack or "") for x in b], v),
        ),
    ],
)
def test_claims_can_fall(name: str, part: str, wrong: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, part, wrong(getattr(wire, part)))
    refused_too = WireError if name in ("list_reassignments_v0_readers_see_what_they_saw", "batch_comes_last") else ()
    with contextlib.suppress(refused_too):
        assert not getattr(wire_claims, name)().holds


# -- registrations ----------------------------------------------------------------------------------------------


def test_the_documents_registration() -> None:
    """The example of KIP-36, by every reader. Its rack is for 0.10 only."""
    text = """{"version": 3, "host": "localhost", "port": 9092, "jmx_port": 9999, "timestamp": "2233345666",
               "endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"], "rack": "dc1"}"""
    ends = (EndPoint(Security.PLAINTEXT, "host1", 9092), EndPoint(Security.SSL, "host1", 9093))
    assert wire.read_registration(4, text, Software.V0_10) == Broker(4, ends, "dc1")
    assert wire.read_registration(4, text, Software.V0_9_0_1) == Broker(4, ends, None)
    with pytest.raises(WireError, match=r"0\.9\.0\.0 reads registration versions 1 and 2, not 3"):
        wire.read_registration(4, text, Software.V0_9_0_0)


def test_what_is_written() -> None:
    broker = Broker(1, (EndPoint(Security.PLAINTEXT, "h", 1), EndPoint(Security.SSL, "::1", 2)), "r")
    base = {"host": "h", "port": 1, "jmx_port": -1, "timestamp": "0"}
    ends = ["PLAINTEXT://h:1", "SSL://[::1]:2"]
    written = [json.loads(wire.write_registration(broker, v)) for v in (1, 2, 3)]
    assert written == [
        {"version": 1, **base},
        {"version": 2, **base, "endpoints": ends},
        {"version": 3, **base, "endpoints": ends, "rack": "r"},
    ]
    assert "rack" not in wire.write_registration(dataclasses.replace(broker, rack=None), 3)


@given(REGISTERED)
@MANY
def test_registrations_are_read_back(broker: Broker) -> None:
    assert wire.read_registration(broker.id, wire.write_registration(broker, 3), Software.V0_10) == broker
    bare = dataclasses.replace(broker, rack=None)
    for reader in Software:
        assert wire.read_registration(broker.id, wire.write_registration(broker, 2), reader) == bare


GOOD = '{"version": 3, "host": "h", "port": 1, "endpoints": ["SSL://h:1"], "rack": "a"}'
BAD_JSON = [
    ("", "no JSON"),
    (GOOD[:-1], "no JSON"),
    ("[" * 100_000, "no JSON"),
    ("[]", "is an object"),
    ("{}", "version of a registration is a number, not None"),
    (GOOD.replace("3", '"3"', 1), "version of a registration is a number, not '3'"),
    (GOOD.replace("3", "true", 1), "is a number, not True"),
    (GOOD.replace("3", "0", 1), "registration version 0"),
    (GOOD.replace("}", ', "rack": "b"}'), "two fields 'rack'"),
    (GOOD.replace('"a"', "7"), "rack of a registration is a text, not 7"),
    (GOOD.replace('["SSL://h:1"]', '"SSL://h:1"'), "endpoints of a registration is a list"),
    (GOOD.replace("SSL://h:1", "h:1"), "endpoint 'h:1'; it is PROTOCOL://host:port"),
    (GOOD.replace("SSL://h:1", "TLS://h:1"), "endpoint 'TLS://h:1'"),
    (GOOD.replace("SSL://h:1", "SSL://h:70000"), "endpoint 'SSL://h:70000'"),
    (GOOD.replace('["SSL://h:1"]', "[7]"), "endpoint 7"),
    (GOOD.replace('"SSL://h:1"', '"SSL://h:1", "SSL://i:1"'), "two end points of one protocol"),
    ('{"version": 1, "port": 1}', "host of a registration is a text, not None"),
    ('{"version": 1, "host": "h", "port": -1}', "port -1 of a registration"),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON, ids=[m for _, m in BAD_JSON])
def test_bad_registrations(text: str, message: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.read_registration(1, text, Software.V0_10)
    assert message in str(raised.value)


def test_registrations_that_cannot_be_written() -> None:
    ssl, plain = EndPoint(Security.SSL, "h", 1), EndPoint(Security.PLAINTEXT, "h", 1)
    with pytest.raises(WireError, match="version 4; there are 1, 2 and 3"):
        wire.write_registration(Broker(1, (plain,)), 4)
    with pytest.raises(WireError, match="broker 1 has no PLAINTEXT end point"):
        wire.write_registration(Broker(1, (ssl,)), 1)
    with pytest.raises(WireError, match="two end points of one protocol"):
        wire.write_registration(Broker(1, (ssl, ssl)), 2)
    with pytest.raises(WireError, match="endpoint"):
        wire.write_registration(Broker(1, (EndPoint(Security.SSL, "a]b", 1),)), 2)


# -- binary brokers -----------------------------------------------------------------------------------------------


def test_the_layout_byte_by_byte() -> None:
    broker = Broker(258, (EndPoint(Security.SSL, "hé", 9093),), "dc1")
    layout = "00000001 00000102 00000001 00002385 0003 68c3a9 0001"
    assert wire.write_brokers([broker], 1) == bytes.fromhex(layout)
    assert wire.write_brokers([broker], 2) == bytes.fromhex(layout + "0003 646331")
    assert wire.write_brokers([dataclasses.replace(broker, rack=None)], 2) == bytes.fromhex(layout + "ffff")
    assert wire.write_brokers([dataclasses.replace(broker, rack="")], 2) == bytes.fromhex(layout + "0000")
    plain = Broker(1, (EndPoint(Security.PLAINTEXT, "h", 5),))
    assert wire.write_brokers([plain], 0) == bytes.fromhex("00000001 00000001 0001 68 00000005")


@given(st.lists(BROKERS, max_size=4))
@MANY
def test_brokers_are_read_back(brokers: list[Broker]) -> None:
    assert wire.read_brokers(wire.write_brokers(brokers, 2), 2) == tuple(brokers)
    bare = tuple(dataclasses.replace(b, rack=None) for b in brokers)
    assert wire.read_brokers(wire.write_brokers(brokers, 1), 1) == bare


@given(st.lists(BROKERS, min_size=1, max_size=3), st.data())
@MANY
def test_truncated_brokers_are_refused(brokers: list[Broker], data: st.DataObject) -> None:
    whole = wire.write_brokers(brokers, 2)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(WireError):
        wire.read_brokers(whole[:cut], 2)


@given(st.lists(BROKERS, max_size=3), st.data())
@MANY
def test_corrupt_brokers_are_refused_or_read(brokers: list[Broker], data: st.DataObject) -> None:
    """Never another exception; what is read is what would have been written so."""
    broken = bytearray(wire.write_brokers(brokers, 2))
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = wire.read_brokers(bytes(broken), 2)
    except WireError:
        return
    assert wire.write_brokers(found, 2) == bytes(broken)


BAD_BYTES = [
    ("000000", "number of brokers: 4 bytes are needed at offset 0, and 3 are left"),
    ("00000002", "number of brokers: 2 elements at offset 0, and 0 bytes are left"),
    ("ffffffff", "number of brokers: -1 elements"),
    ("00000001 00000001 00000000 fffe", "rack: length -2 at offset 12"),
    ("00000001 00000001 00000000 0002 c328", "rack: the 2 bytes at offset 14 are no UTF-8"),
    ("00000001 00000001 00000000 ffff 00", "1 bytes are left over at offset 14"),
    ("00000001 00000001 00000001 00002385 ffff 0000 ffff", "host: length -1 at offset 16"),
    ("00000001 00000001 00000001 00002385 0000 0009 ffff", "protocol 9 at offset 18"),
]


@pytest.mark.parametrize(("data", "message"), BAD_BYTES, ids=[m for _, m in BAD_BYTES])
def test_bad_bytes(data: str, message: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.read_brokers(bytes.fromhex(data), 2)
    assert message in str(raised.value)


UNWRITABLE: list[tuple[Broker, int, str]] = [
    (Broker(1 << 31, ()), 2, "broker id: 2147483648 is no int32"),
    (Broker(True, ()), 2, "broker id: True is no int32"),
    (Broker(1, (), "x" * 32768), 2, "rack: 32768 bytes; a string has 32767 at most"),
    (Broker(1, (), "\ud800"), 2, "is no text that UTF-8 can hold"),
    (Broker(1, ()), 3, "version 3; there are 0 to 2"),
    (Broker(1, (EndPoint(Security.SSL, "h", 1),)), 0, "broker 1 has no PLAINTEXT end point"),
]


@pytest.mark.parametrize(("broker", "version", "message"), UNWRITABLE, ids=[m for _, _, m in UNWRITABLE])
def test_what_no_layout_holds(broker: Broker, version: int, message: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.write_brokers([broker], version)
    assert message in str(raised.value)


# -- ListPartitionReassignmentsResponse -------------------------------------------------------------------------------

SMALL: Message = {
    "ThrottleTimeMs": 1,
    "ErrorCode": 2,
    "ErrorMessage": None,
    "Topics": [{"Name": "t", "Partitions": [{"PartitionId": 3, "CurrentBrokers": [4], "TargetBrokers": [5, 6]}]}],
    "CurrentBatch": [],
}


def test_the_response_byte_by_byte() -> None:
    first = "00000001 0002 ffff 00000001 0001 74 00000001 00000003 00000001 00000004 00000002 00000005 00000006"
    assert wire.write_list_reassignments(SMALL, 0) == bytes.fromhex(first)
    assert wire.write_list_reassignments(SMALL, 1) == bytes.fromhex(first + "00000000")


@given(RESPONSES)
@MANY
def test_responses_are_read_back(message: Message) -> None:
    assert wire.read_list_reassignments(wire.write_list_reassignments(message, 1), 1) == message
    old = wire.write_list_reassignments(wire_claims.before(message), 0)
    assert wire.write_list_reassignments(message, 0) == old
    assert wire.read_list_reassignments(old, 0) == wire_claims.before(message)


@given(RESPONSES, st.sampled_from([0, 1]), st.data())
@MANY
def test_truncated_responses_are_refused(message: Message, version: int, data: st.DataObject) -> None:
    whole = wire.write_list_reassignments(message, version)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(WireError):
        wire.read_list_reassignments(whole[:cut], version)
    with pytest.raises(WireError, match="left over"):
        wire.read_list_reassignments(whole + b"\0", version)


@given(st.binary(max_size=60), st.sampled_from([0, 1]))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_refused_or_read(data: bytes, version: int) -> None:
    try:
        found = wire.read_list_reassignments(data, version)
    except WireError:
        return
    assert wire.write_list_reassignments(found, version) == data


def changed(**values: Any) -> Message:
    return {**SMALL, **values}


BAD_MESSAGES = [
    (changed(Other=1), "Other is no field"),
    ({k: v for k, v in SMALL.items() if k != "CurrentBatch"}, "CurrentBatch is missing"),
    (changed(ErrorCode=1 << 15), "ErrorCode: 32768 is no int16"),
    (changed(ErrorCode=None), "ErrorCode: None is no int16"),
    (changed(ErrorMessage=7), "ErrorMessage is a text, not 7"),
    (changed(Topics={}), "Topics is a list, not {}"),
    (changed(Topics=[1]), "Topics[0] is a message, not 1"),
    (changed(Topics=[{"Name": None, "Partitions": []}]), "Topics[0].Name cannot be null"),
    (changed(Topics=[{"Name": "t", "Partitions": [{"PartitionId": 0}]}]), "Partitions[0].CurrentBrokers is missing"),
]


@pytest.mark.parametrize(("message", "said"), BAD_MESSAGES, ids=[m for _, m in BAD_MESSAGES])
def test_messages_that_cannot_be_written(message: Message, said: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.write_list_reassignments(message, 1)
    assert said in str(raised.value)


def test_versions_there_are() -> None:
    for version in (-1, 2):
        with pytest.raises(WireError, match=f"version {version}; there are 0 to 1"):
            wire.write_list_reassignments(SMALL, version)
        with pytest.raises(WireError, match=f"version {version}; there are 0 to 1"):
            wire.read_list_reassignments(b"", version)


def test_a_long_count_takes_no_memory() -> None:
    with pytest.raises(WireError, match="2147483647 elements"):
        wire.read_list_reassignments(struct.pack(">ihhi", 0, 0, -1, (1 << 31) - 1), 0)


BAD_SCHEMAS = [
    ('{"fields": 1}', "an object with fields"),
    ('{"fields": [{}]}', "a field without a name"),
    ('{"name": "M", "fields": [{"name": "a", "type": "int64", "versions": "0+"}]}', "M.a: type 'int64'"),
    ('{"name": "M", "fields": [{"name": "a", "type": "[Rows]", "versions": "0+"}]}', "type '[Rows]', with 0 fields"),
    ('{"name": "M", "fields": [{"name": "a", "type": "int32", "versions": "1"}]}', "versions '1'"),
    ('{"name": "M", "fields": [{"name": "a", "type": "int32"}]}', "versions None"),
]


@pytest.mark.parametrize(("text", "said"), BAD_SCHEMAS, ids=[m for _, m in BAD_SCHEMAS])
def test_bad_schemas(text: str, said: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.schema(text)
    assert said in str(raised.value)


# -- the schema as printed ----------------------------------------------------------------------------------------


@pytest.fixture
def printed() -> str:
    if not SEED.is_file():
        pytest.skip("the documents are not beside the checkout")
    blocks = re.findall(r"```\n(.*?)```", SEED.read_text(), re.DOTALL)
    return next(b for b in blocks if '"apiKey"' in b)


def test_the_printed_schema_is_no_json(printed: str) -> None:
    bare = re.sub(r'"[^"]*"', "", printed)
    assert (bare.count("{"), bare.count("}")) == (16, 16)
    assert (bare.count("["), bare.count("]")) == (5, 6)
    with pytest.raises(json.JSONDecodeError, match="Extra data"):
        json.loads(printed)
    with pytest.raises(WireError, match="the schema is no JSON: Extra data"):
        wire.schema(printed)


def mended(printed: str) -> str:
    """The printed schema with the response closed behind the batch instead of before it."""
    head, tail = re.split(r"\n  \]\n\},\n", printed)
    text = head + ",\n" + tail.rstrip()
    return text + "}" if text.count("{") > text.count("}") else text


def test_with_its_brackets_mended_it_has_one_name_twice(printed: str) -> None:
    with pytest.raises(WireError, match="two fields 'Topics'"):
        wire.schema(mended(printed))


def test_ours_is_the_printed_schema_mended_and_renamed(printed: str) -> None:
    head, _, tail = mended(printed).rpartition('"name": "Topics"')
    assert wire.schema(f'{head}"name": "CurrentBatch"{tail}') == wire.LIST_REASSIGNMENTS
