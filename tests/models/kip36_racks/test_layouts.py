"""R6, R8, R12: the printed order of fields is judged, and another order is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reassure.models.kip36_racks import layout_cases, update_metadata, wire
from reassure.models.kip36_racks.topic_metadata import RESPONSE_TEXT
from reassure.models.kip36_racks.wire import Broker, Message, WireError

CASES = {
    "response_fields_are_as_printed": 246,
    "broker_fields_are_as_printed": 90,
    "requests_are_read_back": 528,
    "request_fields_are_as_printed": 352,
    "racks_are_read_from_properties": 8,
}


@pytest.mark.parametrize("name", CASES)
def test_claim(name: str) -> None:
    outcome = getattr(layout_cases, name)()
    assert (outcome.holds, outcome.cases, outcome.counterexample) == (True, CASES[name], None)


PORT = '{ "name": "Port", "type": "int32", "versions": "0+" },'
RACK = '{ "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "1+" }'
HOST = '{ "name": "Host", "type": "string", "versions": "0+" },'
BROKER = '{ "name": "BrokerID", "type": "int32", "versions": "0+" },'


@pytest.mark.parametrize(
    ("old", "new", "cases"),
    [((HOST, PORT), (PORT, HOST), 7), ((BROKER,), (f"{RACK},", BROKER), 8)],
    ids=["port before host", "rack first"],
)
def test_another_order_is_refused(old: tuple[str, ...], new: tuple[str, ...], cases: int) -> None:
    text = " ".join(RESPONSE_TEXT.split()).replace(" ".join(old), " ".join(new))
    if RACK in new[0]:
        text = text.replace(f", {RACK} ]", " ]")
    fields = wire.schema(text)
    outcome = layout_cases.response_fields_are_as_printed(lambda m, v: wire.write_message(fields, m, v))
    assert (outcome.holds, outcome.cases) == (False, cases)


def test_a_rack_before_the_end_points_is_refused() -> None:
    def rack_first(brokers: Sequence[Broker], version: int) -> bytes:
        data = wire.write_brokers(brokers, 1)
        return data[:8] + layout_cases.string(brokers[0].rack) + data[8:] if version == 2 else data

    assert not layout_cases.broker_fields_are_as_printed(rack_first).holds


def test_brokers_before_the_partitions_are_refused() -> None:
    def brokers_first(head: Message, brokers: Sequence[Broker], version: int) -> bytes:
        listed = wire.write_brokers(brokers, version)
        return listed + update_metadata.write_request(head, brokers, version).removesuffix(listed)

    assert not layout_cases.request_fields_are_as_printed(brokers_first).holds


def test_a_key_that_begins_alike_is_another() -> None:
    def careless(text: str) -> str | None:
        return next((line.partition("=")[2] for line in text.splitlines() if line.startswith("broker.rack")), None)

    assert layout_cases.racks_are_read_from_properties(careless).counterexample == "'broker.rack.old=dc1': 'dc1'"


def test_a_request_says_its_version() -> None:
    (head, pair) = next(layout_cases.heads()), next(layout_cases.pairs())
    data = update_metadata.write_request(head, pair, 1)
    with pytest.raises(WireError, match="there are 0 to 2"):
        update_metadata.read_request(layout_cases.int16(3) + data[2:])
    with pytest.raises(WireError):
        update_metadata.read_request(data[:-1])
