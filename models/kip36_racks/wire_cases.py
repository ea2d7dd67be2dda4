"""R6 and B10: what the documents promise about old readers of new formats, gone through case by case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from reassure.models.kip36_racks import wire
from reassure.models.kip36_racks.wire import Broker, EndPoint, Message, Security, Software, WireError
from reassure.spec.claims import Outcome

HOSTS = ("localhost", "10.0.0.7", "2001:db8::1")
RACKS = (None, "", "dc1", "us-east-1c", "Zürich")

CORRECT_READERS = (Software.V0_9_0_1, Software.V0_10)


def brokers() -> Iterator[Broker]:
    """Brokers with one to three end points, the first of them plain, and every rack."""
    for host, rack in itertools.product(HOSTS, RACKS):
        for count in (1, 2, 3):
            made = tuple(EndPoint(p, host, 9092 + i) for i, p in enumerate(tuple(Security)[:count]))
            yield Broker(7, made, rack)


BROKERS = f"{len(HOSTS)} hosts (a name, IPv4, IPv6), 1 to 3 end points, {len(RACKS)} racks (none and empty among them)"

# -- R6: registrations --------------------------------------------------------------------------------------------


def shown(broker: Broker, version: int, reader: Software) -> Broker:
    """What the document says that a reader gets from a version, unless it throws."""
    endpoints = (broker.plain(),) if version == 1 else broker.endpoints
    return Broker(broker.id, endpoints, broker.rack if version == 3 and reader is Software.V0_10 else None)


def broker_json_readers_as_documented() -> Outcome:
    """R6: 0.9.0.0 reads versions 1 and 2 and throws for 3; 0.9.0.1 reads all without the rack; 0.10 with it."""
    cases = 0
    bounds = f"{BROKERS}; versions 1 to 3; three releases of readers"
    for broker, version, reader in itertools.product(brokers(), (1, 2, 3), Software):
        cases += 1
        text = wire.write_registration(broker, version)
        try:
            got: Broker | None = wire.read_registration(broker.id, text, reader)
        except WireError:
            got = None
        throws = version == 3 and reader is Software.V0_9_0_0
        if got != (None if throws else shown(broker, version, reader)):
            return Outcome(False, cases, bounds, f"{reader.value} makes {got} of {text}")
    return Outcome(True, cases, bounds)


def later_versions_are_read_by_what_is_known() -> Outcome:
    """R6: from 0.9.0.1 on a version that is yet to come (4, with a further field) is read as far as it is known."""
    cases = 0
    bounds = f"{BROKERS}; versions 4 and 9 with an unknown field; 0.9.0.1 and 0.10.0"
    for broker, version, reader in itertools.product(brokers(), (4, 9), CORRECT_READERS):
        cases += 1
        text = wire.write_registration(broker, 3).replace(
            '"version": 3', f'"features": {{"x": 1}}, "version": {version}'
        )
        got = wire.read_registration(broker.id, text, reader)
        if got != shown(broker, 3, reader):
            return Outcome(False, cases, bounds, f"{reader.value} makes {got} of {text}")
    return Outcome(True, cases, bounds)


def no_rack_no_field() -> Outcome:
    """R6: without a rack the field is left out of the JSON; an empty rack is a rack."""
    cases = 0
    for broker, version in itertools.product(brokers(), (1, 2, 3)):
        cases += 1
        text = wire.write_registration(broker, version)
        if ('"rack"' in text) != (version == 3 and broker.rack is not None):
            return Outcome(False, cases, f"{BROKERS}; versions 1 to 3", text)
    return Outcome(True, cases, f"{BROKERS}; versions 1 to 3")


# -- R6: binary ---------------------------------------------------------------------------------------------------


def broker_bytes_are_read_back() -> Outcome:
    """R6: each version of the brokers in an UpdateMetadataRequest is read back as far as it goes."""
    cases = 0
    bounds = f"pairs of: {BROKERS}; versions 0 to 2"
    for pair, version in itertools.product(itertools.product(brokers(), repeat=2), (0, 1, 2)):
        cases += 1
        got = wire.read_brokers(wire.write_brokers(pair, version), version)
        want = tuple(
            Broker(b.id, (b.plain(),) if version == 0 else b.endpoints, b.rack if version == 2 else None) for b in pair
        )
        if got != want:
            return Outcome(False, cases, bounds, f"version {version}: {got} of {pair}")
    return Outcome(True, cases, bounds)


def null_rack_is_a_length_of_minus_one() -> Outcome:
    """R6: no rack is the length -1 with nothing behind it, apart from which version 2 is version 1 with the rack."""
    cases = 0
    for broker in brokers():
        cases += 1
        rack = b"\xff\xff" if broker.rack is None else _string(broker.rack)
        got = wire.write_brokers([broker], 2)
        if got != wire.write_brokers([broker], 1) + rack:
            return Outcome(False, cases, BROKERS, f"{broker}: {got.hex()}")
    return Outcome(True, cases, BROKERS)


def _string(text: str) -> bytes:
    return len(text.encode()).to_bytes(2, "big") + text.encode()


def broker_bytes_need_their_version() -> Outcome:
    """R6: why a controller writes for each receiver. Read as version 1, two brokers of version 2 are never right."""
    cases = 0
    bounds = f"pairs of: {BROKERS}; written as version 2, read as version 1"
    for pair in itertools.product(brokers(), repeat=2):
        cases += 1
        data = wire.write_brokers(pair, 2)
        try:
            got = wire.read_brokers(data, 1)
        except WireError:
            continue
        if got == tuple(Broker(b.id, b.endpoints) for b in pair):
            return Outcome(False, cases, bounds, f"{data.hex()}: {got}")
    return Outcome(True, cases, bounds)


# -- B10 ----------------------------------------------------------------------------------------------------------

LISTS: tuple[list[int], ...] = ([], [1], [3, 1, 2])


def topics() -> Iterator[list[Message]]:
    """No topic, or one or two with no partition, one or two."""
    parts: list[Message] = [
        {"PartitionId": i, "CurrentBrokers": current, "TargetBrokers": target}
        for i, (current, target) in enumerate(itertools.product(LISTS, repeat=2))
    ]
    lists = [[], *([p] for p in parts), parts[3:5]]
    yield []
    for partitions in lists:
        yield [{"Name": "orders", "Partitions": partitions}]
    yield [{"Name": "a", "Partitions": lists[1]}, {"Name": "", "Partitions": lists[-1]}]


def responses() -> Iterator[Message]:
    """Responses without and with an error, with every pair of topics that are moved and topics in the batch."""
    for error, message in ((0, None), (41, "not the controller")):
        for ongoing, batch in itertools.product(topics(), repeat=2):
            yield {
                "ThrottleTimeMs": 5,
                "ErrorCode": error,
                "ErrorMessage": message,
                "Topics": ongoing,
                "CurrentBatch": batch,
            }


RESPONSES = "with and without an error, and all pairs of 13 lists of ongoing topics and 13 of the batch"


def before(message: Message) -> Message:
    """The response as it was before there were batches."""
    return {name: value for name, value in message.items() if name != "CurrentBatch"}


def list_reassignments_v0_readers_see_what_they_saw() -> Outcome:
    """B10: to a reader of version 0 a controller with batches sends the very bytes that one without them sent."""
    cases = 0
    for message in responses():
        cases += 1
        old, new = wire.write_list_reassignments(before(message), 0), wire.write_list_reassignments(message, 0)
        if new != old or wire.read_list_reassignments(new, 0) != before(message):
            return Outcome(False, cases, RESPONSES, f"{message}: {new.hex()}, and {old.hex()} before")
    return Outcome(True, cases, RESPONSES)


def list_reassignments_are_read_back() -> Outcome:
    """B10: version 1 is read back with its batch."""
    cases = 0
    for message in responses():
        cases += 1
        got: Any = wire.read_list_reassignments(wire.write_list_reassignments(message, 1), 1)
        if got != message:
            return Outcome(False, cases, RESPONSES, f"{got} of {message}")
    return Outcome(True, cases, RESPONSES)


def batch_comes_last() -> Outcome:
    """B10: version 1 begins with the bytes of version 0: the two differ by the batch behind them, and nothing else."""
    cases = 0
    for message in responses():
        cases += 1
        data = wire.write_list_reassignments(message, 1)
        seen = wire.read_message(wire.LIST_REASSIGNMENTS, data, 0, rest=True)
        if seen != before(message) or not data.startswith(wire.write_list_reassignments(message, 0)):
            return Outcome(False, cases, RESPONSES, f"{seen} of {message}")
    return Outcome(True, cases, RESPONSES)


def one_name_for_both_fields() -> Outcome:
    """B10 as printed, its brackets mended: the batch is called `Topics` like the field before it."""
    text = wire.SCHEMA_TEXT.replace('"CurrentBatch"', '"Topics"')
    try:
        wire.schema(text)
    except WireError as error:
        return Outcome(False, 1, "the schema with balanced brackets and the printed name", str(error))
    return Outcome(True, 1, "the schema with balanced brackets and the printed name")


def printed_brackets() -> Outcome:
    """B10 as printed: the response is closed before the batch's field, which then stands outside."""
    head, _, tail = wire.SCHEMA_TEXT.rpartition('    { "name": "CurrentBatch"')
    text = f'{head.rstrip().removesuffix(",")}\n  ]\n}},\n{{ "name": "Topics"{tail.rstrip().removesuffix("}")}'
    try:
        wire.schema(text)
    except WireError as error:
        return Outcome(False, 1, "the schema with the printed brackets", str(error))
    return Outcome(True, 1, "the schema with the printed brackets")
