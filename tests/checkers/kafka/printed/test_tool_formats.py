"""What Kafka's tools print, read back; what is no format, or of another tool, refused with what to take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.kafka.printed.shell_output import DescribedPartition, described, generated, listed
from reassure.checkers.kafka.printed.tool_formats import cleaned, format_of
from tests.helpers.command import said

MOVES = "Current partition reassignments:\norders-0: replicas: 3,2,1. adding: 3. removing: 1.\n"


def partition(text: str) -> DescribedPartition:
    found = described(text)
    assert found is not None
    ((_, only),) = found.partitions.items()
    return only


def line(more: str = "", leader: str = "1", isr: str = "1,2") -> str:
    return f"\tTopic: a-b.c_1\tPartition: 7\tLeader: {leader}\tReplicas: 1,2,3\tIsr: {isr}{more}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (line(), {}),
        (line("\tElr: 3\tLastKnownElr: 2,1"), {"elr": frozenset({3}), "last_known": (2, 1)}),
        (line("\tElr: \tLastKnownElr: "), {"elr": frozenset()}),
        (line("\tElr: N/A\tLastKnownElr: N/A"), {}),
        (line(leader="none", isr=""), {"leader": None, "isr": frozenset()}),
        (line(leader="-1", isr=" "), {"leader": None, "isr": frozenset()}),
        (line("\tObservers: 3\tOffline: 2"), {"observers": frozenset({3}), "offline": frozenset({2})}),
        (line("\tAdding Replicas: 3\tRemoving Replicas: 1"), {"adding": frozenset({3}), "removing": frozenset({1})}),
        (line(isr="1, 2").replace("\t", "  "), {}),
    ],
)
def test_a_line_of_a_partition(text: str, expected: dict[str, object]) -> None:
    usual: dict[str, object] = {"replicas": (1, 2, 3), "leader": 1, "isr": frozenset({1, 2})}
    assert vars(partition(text)) == vars(DescribedPartition(**usual | expected))  # type: ignore[arg-type]


def test_settings_are_those_of_lines_with_configs() -> None:
    head = "Topic: {}\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {}\n"
    values = "cleanup.policy=compact,delete,min.insync.replicas=2,unclean.leader.election.enable=true"
    text = head.format("t", values) + head.format("u", "") + head.format("w", "segment.bytes=1") + line()
    found = described(text)
    assert found is not None
    assert (found.min_isr, found.unclean) == ({"t": 2, "u": 1, "w": 1}, {"t": True, "u": False, "w": False})


def test_a_partition_with_two_states_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a-b\.c_1-7 is described twice, with another state"):
        described(line() + line(isr="1"))
    assert described(line() + line()) is not None


def test_what_list_prints() -> None:
    both = listed(MOVES + "a-b.c-1-12: replicas: 1,2. removing: 2.\nx-0: replicas: 1,4. adding: 4.\n")
    assert both is not None
    assert {key: (p.before, p.target) for key, p in both.items()} == {
        ("orders", 0): ((2, 1), (3, 2)),
        ("a-b.c-1", 12): ((1, 2), (1,)),
        ("x", 0): ((1,), (1, 4)),
    }
    assert (listed("No partition reassignments found.\n"), listed("{}")) == ({}, None)
    for wrong, why in (
        (MOVES[:-12], "the line of orders-0 is not what kafka-reassign-partitions --list prints"),
        (MOVES + MOVES, "orders-0 is listed twice"),
    ):
        with pytest.raises(ValueError, match=why):
            listed(wrong)


ONE = {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_an_object_ends_where_its_brackets_close(indent: int | None) -> None:
    first, second = json.dumps(ONE, indent=indent), json.dumps({"partitions": []}, indent=indent)
    heads = "Current partition replica assignment", "Proposed partition reassignment configuration"
    text = f"{heads[0]}\n{first}\n\n{heads[1]}\n{second}\n"
    assert [generated(text, part) for part in ("current", "proposed")] == [first, second]
    with pytest.raises(ValueError, match="it has 2 current assignments; a file has one"):
        generated(text.replace(heads[1], ""), "current")
    assert generated(f"{heads[0]}\n{first[:-2]}", "current") == first[:-2], "its reader says what is wrong"


@pytest.mark.parametrize(
    "noise",
    [
        "[2024-05-01 10:00:00,123] WARN [AdminClient clientId=x] Connection failed (org.apache.kafka.clients.X)",
        "$ kafka-reassign-partitions.sh --bootstrap-server b:9092 --list",
        "[root@kafka-1 ~]# bin/kafka-topics.sh --describe",
        "user@host:/opt/kafka$ ./bin/kafka-reassign-partitions.sh --list",
        "SLF4J: Class path contains multiple SLF4J bindings.",
        "OpenJDK 64-Bit Server VM warning: Option UseConcMarkSweepGC was deprecated",
        "Picked up JAVA_TOOL_OPTIONS: -Xmx1g",
    ],
)
def test_lines_of_loggers_and_shells_are_read_over(noise: str) -> None:
    for text in (MOVES, json.dumps(ONE, indent=1), line()):
        assert cleaned(f"\ufeff{noise}\n{text}".replace("\n", "\r\n")) == text


KCAT = {"originating_broker": {"id": 1}, "query": {"topic": "*"}, "brokers": [{"id": 1}], "topics": []}
HEAD = {"brokers": [{"id": b} for b in (1, 2, 3, 4)]}


def test_keys_that_no_tool_reads_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("cluster", "current", "proposed")}
    target = {"comment": "x", "partitions": [{**ONE["partitions"][0], "replicas": [1, 3], "reason": 1}]}
    for name, value in (("cluster", HEAD), ("current", ONE), ("proposed", target)):
        files[name].write_text(json.dumps(value))
    code, out, err = said(capsys, "plan", *(f"--{name}={path}" for name, path in files.items()))
    assert (code, err) == (0, f"note: {files['proposed']}: read over, as Kafka's tool does: comment, reason\n")
    assert "1 of 1 partitions move" in out


def test_a_log_is_no_other_format() -> None:
    for text, name in ((MOVES, "kafka-reassign-partitions --list"), (line(), "kafka-topics --describe")):
        found = format_of(text)
        assert found is not None and found.name == name
    assert format_of(json.dumps(ONE)) is None
