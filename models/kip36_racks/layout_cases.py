"""R6, R8 and R12: the fields of requests and responses, in the order that the document prints, byte by byte.

The bytes to compare with are put together here, from the printed order alone, and not by the encoders of `wire`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from reassure.models.kip36_racks import topic_metadata, update_metadata, wire
from reassure.models.kip36_racks.metadata_cases import BOUNDS as RESPONSES
from reassure.models.kip36_racks.metadata_cases import responses
from reassure.models.kip36_racks.wire import Broker, Message
from reassure.models.kip36_racks.wire_cases import BROKERS, brokers
from reassure.spec.claims import Outcome


def int16(value: int) -> bytes:
    return value.to_bytes(2, "big", signed=True)


def int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def string(text: str | None) -> bytes:
    """Its length as a short, then the text; null is the length -1."""
    return int16(-1) if text is None else int16(len(text.encode())) + text.encode()


# -- R8: BrokerID Host Port Rack -----------------------------------------------------------------------------------


def printed_endpoints(message: Message, version: int) -> bytes:
    """CorrelationID and BrokerEndpoints, as printed; the rack in version 1."""
    listed = message["BrokerEndpoints"]
    each = (
        int32(b["BrokerID"]) + string(b["Host"]) + int32(b["Port"]) + (string(b["Rack"]) if version == 1 else b"")
        for b in listed
    )
    return int32(message["CorrelationID"]) + int32(len(listed)) + b"".join(each)


def response_fields_are_as_printed(
    write: Callable[[Message, int], bytes] = topic_metadata.write_response,
) -> Outcome:
    """R8: TopicMetadataResponse has its fields in the printed order, in both versions."""
    cases = 0
    for message, version in itertools.product(responses(), (0, 1)):
        cases += 1
        data, printed = write(message, version), printed_endpoints(message, version)
        if not data.startswith(printed):
            return Outcome(False, cases, RESPONSES, f"version {version}: {data.hex()}, printed {printed.hex()}")
    return Outcome(True, cases, RESPONSES)


# -- R6: ID NumberOfEndPoints [Port Host ProtocolID] Rack --------------------------------------------------------------


def printed_broker(b: Broker, version: int) -> bytes:
    """A broker in version 1 or 2, as printed; the rack in version 2."""
    each = (int32(e.port) + string(e.host) + int16(e.protocol.value) for e in b.endpoints)
    return int32(b.id) + int32(len(b.endpoints)) + b"".join(each) + (string(b.rack) if version == 2 else b"")


def broker_fields_are_as_printed(write: Callable[[Sequence[Broker], int], bytes] = wire.write_brokers) -> Outcome:
    """R6: a broker has its fields in the printed order."""
    cases = 0
    for broker, version in itertools.product(brokers(), (1, 2)):
        cases += 1
        data, printed = write([broker], version), int32(1) + printed_broker(broker, version)
        if data != printed:
            return Outcome(False, cases, BROKERS, f"version {version}: {data.hex()}, printed {printed.hex()}")
    return Outcome(True, cases, BROKERS)


# -- R12: the whole UpdateMetadataRequest --------------------------------------------------------------------------


def heads() -> Iterator[Message]:
    """With and without a client's name, with no partition and with two."""
    state = {"Topic": "orders", "ControllerEpoch": 3, "Leader": 1, "LeaderEpoch": 2, "Isr": [1], "ZkVersion": 5}
    for client, count in itertools.product((None, "c"), (0, 2)):
        states = [{**state, "Partition": p, "Replicas": [1, p]} for p in range(count)]
        yield {
            "CorrelationID": 7,
            "ClientID": client,
            "Controller_ID": 2,
            "Controller_Epoch": 3,
            "Partition_States": states,
        }


REQUESTS = f"pairs of: {BROKERS}; with and without a client's name, no partition and two; versions 0 to 2"


def pairs() -> Iterator[tuple[Broker, Broker]]:
    """Each broker beside the next one."""
    return itertools.pairwise(brokers())


def requests_are_read_back() -> Outcome:
    """R12: what a request of a version has is read back; brokers as far as the version has them."""
    cases = 0
    for head, pair, version in itertools.product(heads(), pairs(), (0, 1, 2)):
        cases += 1
        got = update_metadata.read_request(update_metadata.write_request(head, pair, version))
        seen = tuple(
            Broker(b.id, (b.plain(),) if version == 0 else b.endpoints, b.rack if version == 2 else None) for b in pair
        )
        if got != ({**head, "VersionID": version}, seen):
            return Outcome(False, cases, REQUESTS, f"version {version}: {got} of {head}, {pair}")
    return Outcome(True, cases, REQUESTS)


def printed_request(head: Message, pair: Sequence[Broker], version: int) -> tuple[bytes, bytes]:
    """What a request begins and ends with, as printed; between them are the states of the partitions."""
    states = head["Partition_States"]
    front = int16(version) + int32(head["CorrelationID"]) + string(head["ClientID"])
    front += int32(head["Controller_ID"]) + int32(head["Controller_Epoch"]) + int32(len(states))
    return front, int32(len(pair)) + b"".join(printed_broker(b, version) for b in pair)


def request_fields_are_as_printed(
    write: Callable[[Message, Sequence[Broker], int], bytes] = update_metadata.write_request,
) -> Outcome:
    """R12: the fields of versions 1 and 2 are in the printed order, the brokers last."""
    cases = 0
    bounds = REQUESTS.replace("0 to 2", "1 and 2")
    for head, pair, version in itertools.product(heads(), pairs(), (1, 2)):
        cases += 1
        data, (front, back) = write(head, pair, version), printed_request(head, pair, version)
        if not data.startswith(front) or not data.endswith(back):
            return Outcome(False, cases, bounds, f"version {version}: {data.hex()}")
    return Outcome(True, cases, bounds)


# -- R6: the properties file -------------------------------------------------------------------------------------------

PROPERTIES: dict[str, str | None] = {
    "broker.rack=dc1": "dc1",
    "broker.rack=us-east-1c\nbroker.id=3": "us-east-1c",
    "broker.id=3": None,
    "# broker.rack=dc1": None,
    "broker.rack.old=dc1": None,
    "broker.rack = dc2 ": "dc2",
    "broker.rack=a\nbroker.rack=b=c": "b=c",
    "broker.rack=": "",
}
"""Properties files with the rack that they give; the first two are the document's examples."""


def racks_are_read_from_properties(read: Callable[[str], str | None] = wire.rack_of_properties) -> Outcome:
    """R6: broker.rack is the rack, and without it there is none."""
    bounds = "the document's two examples, and six files around them"
    for cases, (text, rack) in enumerate(PROPERTIES.items(), start=1):
        if read(text) != rack:
            return Outcome(False, cases, bounds, f"{text!r}: {read(text)!r}")
    return Outcome(True, len(PROPERTIES), bounds)
