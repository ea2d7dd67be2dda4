"""R8 and R10: TopicMetadata in two versions, and topics created in the middle of an upgrade."""

from __future__ import annotations

import pytest

from reassure.models.kip36_racks import metadata_cases, topic_metadata, upgrade_cases
from reassure.models.kip36_racks.wire import Software, WireError
from reassure.spec.claims import Outcome
from reassure.spec.kafka.placement import RackMode
from reassure.spec.semantics.trace import JsonObject

OUTCOMES: dict[str, tuple[int, str | None]] = {
    "metadata_cases:responses_are_read_back": (246, None),
    "metadata_cases:version_0_is_what_it_was": (123, None),
    "metadata_cases:racks_are_in_what_asks_for_them": (984, None),
    "metadata_cases:version_1_can_be_read_as_0": (4, "-65536 elements at offset 27, and 2 bytes are left"),
    "upgrade_cases:automatic_creation_works": (7880, None),
    "upgrade_cases:automatic_creation_works_for_every_release": (7, "0.9.0.0, registered: 0 as version 3"),
    "upgrade_cases:tools_work": (51, "0 as version 2, 1 as version 3: no rack is known of broker 0"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_claim(name: str) -> None:
    module, function = name.split(":")
    outcome: Outcome = getattr({"metadata_cases": metadata_cases, "upgrade_cases": upgrade_cases}[module], function)()
    cases, fallen = OUTCOMES[name]
    assert (outcome.cases, outcome.holds) == (cases, fallen is None)
    assert fallen is None or (outcome.counterexample is not None and fallen in outcome.counterexample)


MESSAGE: JsonObject = {
    "CorrelationID": 7,
    "BrokerEndpoints": [{"BrokerID": 1, "Host": "h", "Port": 9092, "Rack": "r"}],
    "TopicsMetadata": [],
}


def test_the_layout_byte_by_byte() -> None:
    head, tail = "00000007 00000001 00000001 0001 68 00002384", "00000000"
    assert topic_metadata.write_response(MESSAGE, 0) == bytes.fromhex(head + tail)
    assert topic_metadata.write_response(MESSAGE, 1) == bytes.fromhex(head + "0001 72" + tail)
    none = {**MESSAGE, "BrokerEndpoints": [{**MESSAGE["BrokerEndpoints"][0], "Rack": None}]}
    assert topic_metadata.write_response(none, 1) == bytes.fromhex(head + "ffff" + tail)
    request = topic_metadata.write_request(1, 7, ["t"], "c")
    assert request == bytes.fromhex("0001 00000007 0001 63 00000001 0001 74")
    assert topic_metadata.read_request(request) == {
        "VersionID": 1,
        "CorrelationID": 7,
        "ClientID": "c",
        "Topics": ["t"],
    }


def test_an_answer_has_the_version_and_id_of_its_request() -> None:
    for version in (0, 1):
        data = topic_metadata.answered(topic_metadata.write_request(version, 99, []), MESSAGE)
        assert data == topic_metadata.write_response({**MESSAGE, "CorrelationID": 99}, version)


def test_versions_there_are() -> None:
    with pytest.raises(WireError, match="version 2; there are 0 to 1"):
        topic_metadata.write_request(2, 7, [])
    with pytest.raises(WireError, match="version 2; there are 0 to 1"):
        topic_metadata.write_response(MESSAGE, 2)
    with pytest.raises(WireError, match="version 9; there are 0 to 1"):
        topic_metadata.answered(bytes.fromhex("0009 00000007 ffff 00000000"), MESSAGE)
    with pytest.raises(WireError, match="VersionID"):
        topic_metadata.read_request(b"\x00")


def test_claims_that_hold_can_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    write = topic_metadata.write_response
    monkeypatch.setattr(topic_metadata, "write_response", lambda message, version: write(message, 1))
    assert not metadata_cases.version_0_is_what_it_was().holds
    for case in (metadata_cases.responses_are_read_back, metadata_cases.racks_are_in_what_asks_for_them):
        with pytest.raises(WireError, match="bytes are left"):
            case()
    assert not upgrade_cases.created(RackMode.REFUSE, (Software.V0_10,)).holds
