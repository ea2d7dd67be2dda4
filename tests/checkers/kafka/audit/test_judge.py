"""Changes judged: real logs by the rules of their release, and logs that nobody wrote."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from reassure.checkers.kafka.audit.cluster_history import BrokenLog, ClusterHistory
from reassure.checkers.kafka.audit.judge import Audit, ChangeJudge
from reassure.checkers.kafka.audit.metadata_records import MetadataRecord
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.metadata_log_text import cluster, kept_log, record

OWN = {
    "3.9.0": ("3.9", 34, {"4.1": 1, "4.2": 1, "4.3": 3, "4.4": 3}),
    "4.1.0": ("4.1", 46, {"4.2": 3, "4.3": 5, "4.4": 5}),
    "4.4.0": ("4.4", 44, {"3.9": 2, "4.0": 2, "4.1": 1, "4.2": 1}),
}
"""By log: its release, its changes, and how many of them other releases do not make."""


def audited(records: Sequence[MetadataRecord], release: str | None = None) -> Audit:
    return ChangeJudge(release, 1).judge(ClusterHistory().play(records))


@pytest.mark.parametrize("version", OWN)
def test_a_release_makes_its_own_changes(version: str) -> None:
    release, changes, others = OWN[version]
    audit = audited(kept_log(version), release)
    assert [f for f in audit.findings if f.kind == "rule"] == []
    assert (audit.created, audit.changes) == (1, changes)
    assert {r: n for r, n in audit.not_by.items() if n} == others


def test_the_log_of_a_real_cluster() -> None:
    audit = audited(kept_log("cluster-4.4.0"), "4.4")
    assert (audit.created, audit.changes) == (2, 15)
    assert {r: n for r, n in audit.not_by.items() if n} == {"3.9": 4, "4.0": 4, "4.1": 3, "4.2": 3}
    assert [(f.offset, f.topic, f.kind, f.name, f.change) for f in audit.findings] == [
        (
            150,
            "random-2",
            "promise",
            "moving_replicas_are_replicas",
            "replicas [4, 1, 3, 2] -> [1, 3, 2, 4], removing {2} -> {2, 4}",
        )
    ]


@pytest.mark.parametrize("version", OWN)
def test_a_change_that_was_tampered_with_is_found(version: str) -> None:
    """A leader that cannot be, at each change of the leader in turn."""
    records, found, judge = kept_log(version), 0, ChangeJudge(None, 1)
    judge.judge(ClusterHistory().play(records))
    for i, changed in enumerate(records):
        if changed.kind == "PartitionChange" and changed.data["leader"] >= 0:
            wrong = dataclasses.replace(changed, data={**changed.data, "leader": 9})
            judge.audit, judge.broken = Audit(), {}  # what was judged before is known
            findings = judge.judge(ClusterHistory().play([*records[:i], wrong])).findings
            (first, *_) = [f for f in findings if f.offset == changed.offset]
            assert (first.kind, first.name) == ("rule", "no release makes this change")
            found += 1
    assert found >= 5


def test_promises_that_kafka_breaks() -> None:
    told = [(f.offset, f.name) for f in audited(kept_log("4.4.0")).findings]
    assert told == [
        (11, "own_steps_keep_min_isr"),
        (11, "elr_within_replicas"),
        (22, "own_steps_keep_min_isr"),
        (22, "elr_within_replicas"),
        (38, "moving_replicas_are_replicas"),
        (46, "moving_replicas_are_replicas"),
        (48, "moving_replicas_are_replicas"),
    ]


BEFORE = cluster(1001, 1002, 1003)
NEXT = len(BEFORE)
CHANGE = {"partitionId": 0, "topicId": "T"}


def changed(**data: Any) -> MetadataRecord:
    return record(NEXT, "PartitionChange", **CHANGE, **data)


@pytest.mark.parametrize(
    ("data", "rule", "promises"),
    [
        ({"isr": [1001]}, False, set()),  # below MinISR whoever leaves the ISR is eligible
        ({"isr": [1001], "eligibleLeaderReplicas": [1002]}, True, set()),
        ({"isr": [1002]}, False, {"leader_is_in_sync"}),
        ({"isr": [1001, 1003]}, False, {"isr_within_replicas"}),
        ({"leader": 1002}, True, set()),
        ({"leader": 1003}, False, {"leader_is_in_sync"}),
        ({"replicas": [1003, 1001, 1002], "addingReplicas": [1003], "removingReplicas": [1001, 1002]}, True, set()),
        ({"replicas": [1003, 1002, 1001], "addingReplicas": [1003], "removingReplicas": [1001, 1002]}, False, set()),
        ({"replicas": [1003, 1001, 1002], "addingReplicas": [1003]}, True, set()),
        ({"replicas": [1003, 1001], "addingReplicas": [1003]}, False, {"isr_within_replicas"}),
        ({"directories": ["A", "B"]}, True, set()),
        ({}, False, set()),
        ({"leaderRecoveryState": 1}, False, set()),
    ],
)
def test_single_changes(data: JsonObject, rule: bool, promises: set[str]) -> None:
    """With preferred elections out of the way: 1001 leads already, so that 1002 may lead only if 1001 is not alive."""
    records = BEFORE
    if data.get("leader") == 1002:  # the same batch fences the leader, after the change
        fence = record(NEXT + 1, "BrokerRegistrationChange", NEXT, brokerId=1001, fenced=1)
        shrunk = changed(**data, isr=[1002], eligibleLeaderReplicas=[1001])
        records = [*BEFORE, shrunk, fence]
    else:
        records = [*BEFORE, changed(**data)]
    findings = audited(records).findings
    assert ([f for f in findings if f.kind == "rule"] == []) == rule
    assert {f.name for f in findings if f.kind == "promise"} == promises


def test_a_broken_promise_is_told_where_it_begins() -> None:
    strange = [
        changed(isr=[1001, 1003]),
        record(NEXT + 1, "PartitionChange", **CHANGE, directories=["A", "B"]),
        record(NEXT + 2, "PartitionChange", **CHANGE, isr=[1001, 1002]),
        record(NEXT + 3, "PartitionChange", **CHANGE, isr=[1001, 1003]),
    ]
    findings = [f for f in audited([*BEFORE, *strange]).findings if f.kind == "promise"]
    assert [(f.offset, f.name) for f in findings] == [(NEXT, "isr_within_replicas"), (NEXT + 3, "isr_within_replicas")]


def test_alike_changes_are_judged_once() -> None:
    """The numbers of brokers do not count, their order does."""
    more = []
    for number, replicas in ((1, [1001, 1003]), (2, [1002, 1003]), (3, [1003, 1002])):
        more.append(record(NEXT + 2 * number, "Partition", partitionId=number, topicId="T", replicas=replicas,
                           isr=replicas, addingReplicas=[], removingReplicas=[], leader=replicas[0], leaderEpoch=5,
                           partitionEpoch=9))  # fmt: skip
        more.append(record(NEXT + 2 * number + 1, "PartitionChange", partitionId=number, topicId="T",
                           isr=[replicas[0]], eligibleLeaderReplicas=[replicas[1]]))  # fmt: skip
    judge = ChangeJudge(None, 1)
    audit = judge.judge(ClusterHistory().play([*BEFORE, *more]))
    assert (audit.findings, audit.changes, len(judge.explanations_of)) == ([], 3, 2)


def test_a_broker_whose_directory_failed_may_lose_its_partitions() -> None:
    """It stays active: without the news of the directory nothing would explain the change."""
    shrunk = changed(isr=[1002], leader=1002, eligibleLeaderReplicas=[1001])
    back = record(NEXT + 5, "PartitionChange", **CHANGE, isr=[1001, 1002], eligibleLeaderReplicas=[])
    for news, expected in (
        ([], 1),
        ([record(NEXT + 1, "BrokerRegistrationChange", NEXT, brokerId=1001, logDirs=[])], 0),
    ):
        assert len([f for f in audited([*BEFORE, shrunk, *news]).findings if f.kind == "rule"]) == expected
    registered = [
        dataclasses.replace(r, data={**r.data, "logDirs": ["A", "B"]}) if r.kind == "RegisterBroker" else r
        for r in BEFORE
    ]
    for left, impaired in ((["A"], {1001}), (["A", "B", "C"], set())):
        history = ClusterHistory()
        news = [record(NEXT + 1, "BrokerRegistrationChange", NEXT, brokerId=1001, logDirs=left)]
        *_, last = history.play([*registered, shrunk, *news, back])
        assert last.events.leaving == impaired


def test_what_an_aborted_transaction_holds_does_not_count() -> None:
    wrong = dataclasses.replace(changed(leader=1003), offset=NEXT + 1)
    for end, expected in (("AbortTransaction", 0), ("EndTransaction", 1)):
        records = [*BEFORE, record(NEXT, "BeginTransaction"), wrong, record(NEXT + 2, end)]
        assert audited(records).changes == expected
    assert audited([*BEFORE, record(NEXT, "BeginTransaction"), wrong]).changes == 0


def test_topics_go_and_elrs_are_cleared() -> None:
    history = ClusterHistory()
    shrunk = changed(isr=[1001], eligibleLeaderReplicas=[1002])
    list(history.play([*BEFORE, shrunk]))
    assert {int(b) for b in history.partitions["T", 0].elr} == {1002}
    list(history.play([record(NEXT + 1, "ClearElr", topicName="other")]))
    assert history.partitions["T", 0].elr
    list(history.play([record(NEXT + 2, "ClearElr", topicName="")]))
    assert not history.partitions["T", 0].elr
    list(history.play([record(NEXT + 3, "RemoveTopic", topicId="T")]))
    assert history.partitions == {}


def test_a_log_that_begins_in_the_middle_is_refused() -> None:
    with pytest.raises(BrokenLog, match="a change of partition T-0, which was not created"):
        audited([record(5, "PartitionChange", **CHANGE)])
    with pytest.raises(BrokenLog, match="broker 7 is not registered"):
        audited([record(5, "FenceBroker", id=7)])
    with pytest.raises(BrokenLog, match="offset 5 comes after 5"):
        audited([record(5, "Topic", name="t", topicId="T"), record(5, "Topic", name="t", topicId="T")])
