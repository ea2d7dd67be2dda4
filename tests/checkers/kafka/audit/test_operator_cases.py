"""Dumps as operators have them: what is cut out of them, and what they say of the cluster now."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.kafka.audit.audit_log import AuditTask, audit_share, together
from reassure.checkers.kafka.audit.ending import LogEnd, UnderWay
from reassure.checkers.kafka.audit.log_files import LogFile
from reassure.checkers.kafka.audit.metadata_records import PartitionShare
from tests.helpers.command import said
from tests.helpers.metadata_log_text import cluster, dump_text, record

CASES = Path("tests/helpers/operator_cases")


def test_record_lines_alone_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole dump has a finding; without its heads of batches every record would explain every other."""
    folder = CASES / "audit-of-record-lines-only"
    code, out, _ = said(capsys, "audit", str(folder / "whole.txt"))
    assert (code, "     7  2023-11-14 22:13:20  orders-0   rule  no release makes this change" in out) == (18, True)
    code, out, err = said(capsys, "audit", str(folder / "records-only.txt"))
    assert (code, out) == (64, "")
    assert err == (
        f"reassure: {folder / 'records-only.txt'}: line 1: a record before the line of its batch (baseOffset: ...); "
        "without it, which records are one event is not known: give the whole output\n"
    )


def test_a_dump_without_metadata_of_records_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """It has five records of brokers, a topic and settings, and no partition: nothing was judged."""
    code, out, err = said(capsys, "audit", str(CASES / "dump-without-metadata-of-records" / "dump.txt"))
    assert (code, err) == (6, "")
    assert "5 records, offsets 0 to 4; at the end brokers: 1, topics: 1, partitions: 0\n" in out


def test_a_reassignment_that_does_not_end(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "audit", str(CASES / "audit-of-a-stuck-reassignment" / "dump.txt"))
    assert (code, err) == (0, "")
    assert out.splitlines()[9:15] == [
        "min.insync.replicas is taken to be 1 for 1 topic of which the log has none (--min-isr): orders",
        "reassignments under way at the end: 1",
        "  orders-0 to [4, 2, 3] since offset 7, 2023-11-14 22:13:20, 14.0 days before the last record: "
        "Kafka 4.0 to 4.2: waits for brokers 2 (fenced), 4 (fenced); Kafka 4.3, 4.4: waits for broker 4 (fenced)",
        "brokers that can join no ISR: 2 (2 fenced since offset 8, 4 fenced since offset 4)",
        "no findings",
        "",
    ]
    path = str(CASES / "audit-of-a-stuck-reassignment" / "dump.txt")
    assert ": waits for brokers 2 (fenced), 4 (fenced)\n" in said(capsys, "audit", path, "--release=4.2")[1]
    assert ": waits for broker 4 (fenced)\n" in said(capsys, "audit", path, "--release=4.4.0")[1]


def end_of(folder: Path, *more: tuple[str, dict[str, object]], shares: int = 1) -> LogEnd:
    """The end of a log of partitions 0 and 1 on brokers 1 and 2 of three, MinISR 2, and more records."""
    records = cluster(1, 2, 3)
    state = {"replicas": [1, 2], "isr": [1, 2], "addingReplicas": [], "removingReplicas": [], "leader": 1}
    one = ("Partition", {"partitionId": 1, "topicId": "T", "leaderEpoch": 0, "partitionEpoch": 0, **state})
    records += [record(len(records) + n, kind, **data) for n, (kind, data) in enumerate([one, *more])]
    path = folder / "dump.txt"
    path.write_text(dump_text(records))
    task = AuditTask((LogFile(str(path)),), None, 1)
    return together(audit_share(task, PartitionShare(n, shares)) for n in range(shares)).ending


def change(partition: int, **data: object) -> tuple[str, dict[str, object]]:
    return "PartitionChange", {"partitionId": partition, "topicId": "T", **data}


def config(kind: int, name: str, key: str, value: str | None = "1") -> tuple[str, dict[str, object]]:
    return "Config", {"resourceType": kind, "resourceName": name, "name": key, "value": value}


BEGUN = change(1, replicas=[1, 3, 2], addingReplicas=[3], removingReplicas=[2])


@pytest.mark.parametrize("shares", [1, 3])
def test_the_end_of_a_log_without_trouble(shares: int, tmp_path: Path) -> None:
    assert end_of(tmp_path, shares=shares) == LogEnd(time=8000)


@pytest.mark.parametrize("shares", [1, 3])
def test_what_the_end_of_a_log_has(shares: int, tmp_path: Path) -> None:
    """A request since its last change; who does not lead; too few in sync; a broker that is gone; throttles left."""
    end = end_of(
        tmp_path,
        BEGUN,
        change(1, isr=[1]),
        change(0, isr=[2], leader=-1),
        ("UnregisterBroker", {"brokerId": 3, "brokerEpoch": 1}),
        config(2, "other", "leader.replication.throttled.replicas"),
        config(2, "t", "follower.replication.throttled.replicas"),
        config(4, "2", "leader.replication.throttled.rate"),
        ("BrokerRegistrationChange", {"brokerId": 2, "inControlledShutdown": 1}),
        shares=shares,
    )
    assert end.under_way == [UnderWay("t", 1, (1, 3), 9, 9000, "waits for broker 3 (not registered)")]
    assert end.leaderless == ["t-0"]
    assert end.below_min_isr == ["t-0: 1 of 2", "t-1: 1 of 2"]
    assert end.unregistered == ["t-1: 3"]
    assert end.faults == ["2 in controlled shutdown since offset 16"]
    assert end.left_throttles() == ["topic other"], "t-1 moves, and the brokers' limit is for it"


def test_what_is_over_is_not_under_way(tmp_path: Path) -> None:
    """Completed or cancelled; the throttle of its brokers is left behind, until it is deleted."""
    over = change(1, replicas=[1, 3], isr=[1, 3], addingReplicas=[], removingReplicas=[])
    rate = config(4, "2", "leader.replication.throttled.rate")
    end = end_of(tmp_path, BEGUN, rate, over)
    assert (end.under_way, end.left_throttles()) == ([], ["broker 2"])
    gone = config(4, "2", "leader.replication.throttled.rate", None)
    assert end_of(tmp_path, BEGUN, rate, over, gone).left_throttles() == []


def test_a_new_target_begins_the_time_anew(tmp_path: Path) -> None:
    again = change(1, replicas=[3, 1, 2], addingReplicas=[3], removingReplicas=[2])
    (only,) = end_of(tmp_path, BEGUN, change(1, isr=[1]), again, change(1, isr=[1, 2])).under_way
    assert (only.target, only.since, only.waits) == ((3, 1), 11, "waits for broker 3 (out of sync)")


def test_min_isr_of_the_option_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CASES / "audit-of-a-stuck-reassignment" / "dump.txt")
    out = said(capsys, "audit", path, "--min-isr=3", f"--json={tmp_path / 'a.json'}")[1]
    assert "min.insync.replicas is taken to be 3 for 1 topic of which the log has none (--min-isr): orders\n" in out
    assert "min.insync.replicas at the end: 1 (orders-0: 2 of 3)\n" in out
    assert '"min_isr": 3' in (tmp_path / "a.json").read_text()
