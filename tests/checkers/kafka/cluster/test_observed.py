"""The metadata log of a running cluster, and its brokers' logs."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from reassure.checkers.kafka.audit.record_files import HEAD
from reassure.checkers.kafka.cluster.observed import (
    FIRST_SEGMENT,
    BrokerLog,
    IsrRequest,
    MetadataWatch,
    broker_logs,
    end_offset,
    isr_requests,
)

KEPT = Path(__file__).parents[3] / "helpers" / "kept_logs" / "4.4.0.log"


def batch(base: int, records: int) -> bytes:
    """The head of a batch with its length, and no record."""
    length = HEAD.size - 12 + 10
    head = HEAD.pack(base, length, 0, 2, 0, 0, records - 1, 0, 0, 0, 0, 0, records)
    return head + bytes(10)


def test_a_log_is_read_while_it_grows(tmp_path: Path) -> None:
    whole = KEPT.read_bytes()
    watch = MetadataWatch(tmp_path)
    watch.watch("watched", 4)
    watch.poll()  # there is no file yet
    assert watch.states == []
    for end in range(0, len(whole) + 997, 997):  # pieces end within batches
        (tmp_path / FIRST_SEGMENT).write_bytes(whole[:end])
        watch.poll()
    assert len(watch.states) == 72
    last = watch.states[-1].state
    assert (last.partition.replicas, last.partition.isr, last.partition.elr) == ((3, 2, 4), frozenset(), {3})
    assert (last.partition.leader, last.partition.leader_epoch, last.partition.partition_epoch) == (None, 15, 44)
    assert last.incarnations == (5, 2, 1, 3)  # registrations since the topic was created
    assert watch.unfenced() == last.unfenced == {1, 3, 4}
    assert watch.controller_epoch == 1
    assert sorted(watch.broker_epochs) == [1, 2, 3, 4]


def test_brokers_beyond_those_of_the_run_do_not_count(tmp_path: Path) -> None:
    (tmp_path / FIRST_SEGMENT).write_bytes(KEPT.read_bytes())
    watch = MetadataWatch(tmp_path)
    watch.watch("watched", 3)
    watch.poll()
    assert watch.states[-1].state.unfenced == {1, 3}
    assert watch.unfenced() == {1, 3, 4}
    watch.watch("another", 3)
    assert (watch.states, watch.state()) == ([], None)


def test_the_end_of_a_segment() -> None:
    assert end_offset(b"") == 0
    assert end_offset(batch(0, 5)) == 5
    assert end_offset(batch(0, 5) + batch(5, 7)) == 12
    assert end_offset(batch(0, 5) + batch(5, 7)[:-1]) == 5  # the last batch is being written
    assert end_offset(struct.pack(">q", 3)) == 0


def test_logs_of_a_broker_that_were_put_aside(tmp_path: Path) -> None:
    digits = "0123456789abcdef" * 2
    for name, content in (
        ("run-1-0", batch(0, 5) + batch(5, 7)),
        (f"run-1-0.{digits}-delete", batch(0, 3)),
        (f"run-1-0.{digits}-stray", b""),
        ("run-1-01", batch(0, 9)),
        ("run-10-0", batch(0, 9)),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / FIRST_SEGMENT).write_bytes(content)
    size = len(batch(0, 1))
    logs = broker_logs(tmp_path, 2, "run-1")
    assert logs == [
        BrokerLog(2, "", 2 * size, 12),
        BrokerLog(2, "deleted", size, 3),
        BrokerLog(2, "stray", 0, 0),
    ]
    assert broker_logs(tmp_path / "absent", 2, "run-1") == []


def logged(topic: str, code: int, whole: int = 0, name: str = "ALTER_PARTITION", **epochs: int) -> str:
    """A line of the request log; epochs: of the proposed ISR."""
    isr = [{"brokerId": int(broker[1:]), "brokerEpoch": epoch} for broker, epoch in epochs.items()]
    asked = [
        {"topicId": "another", "partitions": [{"partitionIndex": 0, "newIsrWithEpochs": []}]},
        {"topicId": topic, "partitions": [{"partitionIndex": 0, "newIsrWithEpochs": isr}]},
    ]
    answered = [{"topicId": topic, "partitions": [{"partitionIndex": 0, "errorCode": code}]}]
    seen = {
        "requestHeader": {"requestApiKeyName": name},
        "request": {"brokerId": 1, "topics": asked},
        "response": {"errorCode": whole, "topics": [] if whole else answered},
    }
    return f"40602 [thread] DEBUG kafka.request.logger - Completed request:{json.dumps(seen, separators=(',', ':'))}\n"


def test_requests_for_an_isr_in_a_request_log(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text(
        '14 [main] INFO a line about "topic"\n'
        + logged("topic", 107, b1=12, b2=13)
        + logged("other", 0, b1=12, b2=13)
        + logged("topic", 0, name="DESCRIBE_TOPIC_PARTITIONS")
        + logged("topic", 0, whole=77, b1=12)
        + logged("topic", 0, b1=12, b2=70)
    )
    assert isr_requests(log, "topic") == [
        IsrRequest({1: 12, 2: 13}, "INELIGIBLE_REPLICA"),
        IsrRequest({1: 12}, "77"),
        IsrRequest({1: 12, 2: 70}, "NONE"),
    ]
    assert isr_requests(log, "nothing") == []
