"""R8: what the document says about TopicMetadata in version 1, case by case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from reassure.models.kip36_racks import topic_metadata as metadata
from reassure.models.kip36_racks.wire import Message, WireError
from reassure.spec.claims import Outcome

HOSTS = ("localhost", "2001:db8::1")
RACKS = (None, "", "dc1", "Zürich")


def endpoints() -> Iterator[list[Message]]:
    """No broker, one, or two, with every rack and none."""
    yield []
    for count in (1, 2):
        for racks in itertools.product(RACKS, repeat=count):
            for host in HOSTS:
                yield [{"BrokerID": b, "Host": host, "Port": 9092 + b, "Rack": r} for b, r in enumerate(racks)]


def topics() -> Iterator[list[Message]]:
    """No topic, one without partitions, and one with two of them."""
    partitions = [
        {"PartitionErrorCode": 0, "PartitionID": 0, "Leader": 1, "Replicas": [1, 0], "ISR": [1]},
        {"PartitionErrorCode": 5, "PartitionID": 1, "Leader": -1, "Replicas": [], "ISR": []},
    ]
    yield []
    for made in ([], partitions):
        yield [{"TopicErrorCode": 0, "TopicName": "orders", "Partitions": made}]


def responses() -> Iterator[Message]:
    for brokers, named in itertools.product(endpoints(), topics()):
        yield {"CorrelationID": 7, "BrokerEndpoints": brokers, "TopicsMetadata": named}


BOUNDS = f"no broker to two, {len(HOSTS)} hosts, {len(RACKS)} racks (none and empty among them), 3 lists of topics"


def without_racks(message: Message) -> Message:
    """The response as it was before there were racks."""
    brokers = [{k: v for k, v in b.items() if k != "Rack"} for b in message["BrokerEndpoints"]]
    return {**message, "BrokerEndpoints": brokers}


def seen(message: Message, version: int) -> Message:
    """What a reader of a version is to see."""
    return message if version == 1 else without_racks(message)


def responses_are_read_back() -> Outcome:
    """Version 1 with its racks, version 0 without them."""
    cases = 0
    for message, version in itertools.product(responses(), (0, 1)):
        cases += 1
        got = metadata.read_response(metadata.write_response(message, version), version)
        if got != seen(message, version):
            return Outcome(False, cases, BOUNDS, f"version {version}: {got} of {message}")
    return Outcome(True, cases, BOUNDS)


def version_0_is_what_it_was() -> Outcome:
    """To a reader of version 0 a broker with racks sends the very bytes that one without them sends."""
    cases = 0
    for message in responses():
        cases += 1
        bare = {**message, "BrokerEndpoints": [{**b, "Rack": None} for b in message["BrokerEndpoints"]]}
        old, new = metadata.write_response(bare, 0), metadata.write_response(message, 0)
        if old != new:
            return Outcome(False, cases, BOUNDS, f"{message}: {new.hex()}, and {old.hex()} before")
    return Outcome(True, cases, BOUNDS)


def racks_are_in_what_asks_for_them() -> Outcome:
    """A request of version 1 is answered with racks, one of version 0 without: each reader can read its answer."""
    cases = 0
    bounds = f"{BOUNDS}; requests of both versions, with and without a client's name and topics"
    for message, version in itertools.product(responses(), (0, 1)):
        for client, named in itertools.product((None, "c"), ([], ["orders"])):
            cases += 1
            request = metadata.write_request(version, 7, named, client)
            got = metadata.read_response(metadata.answered(request, message), version)
            if got != seen(message, version):
                return Outcome(False, cases, bounds, f"version {version}: {got} of {message}")
    return Outcome(True, cases, bounds)


def version_1_can_be_read_as_0() -> Outcome:
    """Why a response has the version of its request: with a broker in it, a reader of version 0 makes nothing of it."""
    cases = 0
    for message in responses():
        cases += 1
        try:
            got = metadata.read_response(metadata.write_response(message, 1), 0, rest=True)
        except WireError as error:
            return Outcome(False, cases, BOUNDS, f"{message}: {error}")
        if got != without_racks(message):
            return Outcome(False, cases, BOUNDS, f"{message}: {got}")
    return Outcome(True, cases, BOUNDS)
