"""`reassure plan` on what Kafka's shell tools print, on top of a reassignment that is under way, and its times."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.kafka.audit.metadata_records import MetadataRecord
from reassure.checkers.kafka.plan.kafka_json import read_cluster
from reassure.checkers.kafka.printed.shell_output import described
from tests.helpers.command import said
from tests.helpers.metadata_log_text import dump_text, record

DESCRIBED = """\
Topic: orders\tTopicId: abc\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2,segment.bytes=107
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: 
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,3,1\tElr: \tLastKnownElr: 
"""


def assignment(replicas: list[list[int]], disks: list[str] | None = None) -> str:
    partitions = [
        {"topic": "orders", "partition": n, "replicas": r, "log_dirs": disks or ["any"] * len(r)}
        for n, r in enumerate(replicas)
    ]
    return json.dumps({"version": 1, "partitions": partitions})


GENERATED = (
    f"Current partition replica assignment\n{assignment([[1, 2, 3], [2, 3, 1]])}\n\n"
    f"Proposed partition reassignment configuration\n{assignment([[4, 5, 6], [2, 3, 4]])}\n"
)
CLUSTER = {"brokers": [{"id": b, "rack": r} for b, r in zip(range(1, 7), "abcabc", strict=True)]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("describe.txt").write_text(DESCRIBED)
    Path("generate.txt").write_text(GENERATED)
    Path("cluster.json").write_text(json.dumps({**CLUSTER, "topics": {"orders": {"min.insync.replicas": 2}}}))


def test_the_output_of_generate_and_describe(capsys: pytest.CaptureFixture[str]) -> None:
    """Racks are not in it, so that what depends on them is not checked: that is not a pass."""
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=generate.txt"]
    code, out, _ = said(capsys, *words, "--json=r.json")
    paths = json.loads(Path("r.json").read_text())["plan"]["paths"]
    assert [path["stages"][0]["replicas"] for path in paths] == [[1, 2, 3], [2, 3, 1]]
    assert [path["stages"][-1]["replicas"] for path in paths] == [[4, 5, 6], [2, 3, 4]]
    code, out, _ = said(capsys, "plan", "--cluster=describe.txt", "--current=describe.txt", "--proposed=generate.txt")
    assert (code, "partitions_survive_a_rack       not checked" in out) == (5, True)
    assert "not checked: the cluster's file says nothing of racks" in out
    Path("few.txt").write_text(assignment([[1]]))
    code, out, _ = said(capsys, "plan", "--cluster=describe.txt", "--current=describe.txt", "--proposed=few.txt")
    assert "own_steps_keep_min_isr          violated for 1 partition" in out, "MinISR is in the topic's Configs"


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("generate.txt", GENERATED + GENERATED, "it has 2 current assignments; a file has one"),
        ("generate.txt", GENERATED + assignment([[1, 2, 4]]), "it has 2 proposed assignments; a file has one"),
        ("generate.txt", "Current partition replica assignment\n" + GENERATED[GENERATED.index("Proposed") :],
         "it has no current assignment"),
        ("describe.txt", DESCRIBED + "\tTopic: pay\tPartition: 0\tLeader: 1\tRepl",
         "the line of pay-0 is not what kafka-topics prints: no list of replicas"),
        ("describe.txt", DESCRIBED + "\tTopic: pay\tPartition:",
         "the line of pay- is not what kafka-topics prints: no list of replicas"),
        ("describe.txt", DESCRIBED + DESCRIBED.replace("2,3,1", "2,3,4"),
         "orders-1 is described twice, with other replicas"),
    ],
)  # fmt: skip
def test_no_partition_of_a_file_is_left_out(file: str, text: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(text)
    code, _, err = said(capsys, "plan", "--cluster=cluster.json", f"--current={file}", "--proposed=generate.txt")
    assert (code, why in err) == (151, True), err


ON_TOP = "the plan comes on top of those that it replaces, --running counts the others too"
MOVING = (
    "Topic: orders\tTopicId: abc\tPartitionCount: 1\tReplicationFactor: 6\tConfigs: min.insync.replicas=2\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 4,5,6,1,2,3\tIsr: 1,2,3\tAdding Replicas: 4,5,6\t"
    "Removing Replicas: 1,2,3\tElr: \tLastKnownElr: \n"
)


def test_what_is_under_way_by_describe_is_not_there_yet(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the target would be in place, with no replica in sync, and every promise would hold."""
    Path("moving.txt").write_text(MOVING)
    Path("p.txt").write_text(assignment([[4, 5, 6]]))
    words = ["plan", "--cluster=cluster.json", "--current=moving.txt"]
    _, _, err = said(capsys, *words, "--proposed=p.txt", "--json=r.json")
    assert f"note: reassignments under way by moving.txt: 1; {ON_TOP}\n" in err
    moving = described(MOVING)
    assert moving is not None and moving.partitions["orders", 0].before == (1, 2, 3)
    plan = json.loads(Path("r.json").read_text())["plan"]
    assert (plan["replicas_copied"], plan["paths"][0]["stages"][0]["replicas"]) == (3, [1, 2, 3])
    assert set(plan["inputs"]) == {"cluster", "current", "proposed"}
    _, out, _ = said(capsys, *words, "--generate")
    assert len(json.loads(out)["partitions"][0]["replicas"]) == 3


def test_an_indented_description_has_its_settings_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("indented.txt").write_text("".join(f"  {line}\n" for line in DESCRIBED.splitlines()))
    Path("few.txt").write_text(assignment([[1]]))
    _, out, _ = said(capsys, "plan", "--cluster=indented.txt", "--current=indented.txt", "--proposed=few.txt")
    assert "own_steps_keep_min_isr          violated for 1 partition" in out


def test_a_setting_of_a_topic_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cluster.json").write_text(json.dumps({**CLUSTER, "topics": {"ordres": {"min.insync.replicas": 2}}}))
    _, _, err = said(capsys, "plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=generate.txt")
    assert err == "note: of ordres the cluster file has a setting, and generate.txt no partition\n"


def test_a_promise_that_every_partition_broke_before_is_not_said_to_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """The record says what the report says: it is about none of them."""
    Path("one.txt").write_text(assignment([[1]]))
    Path("other.txt").write_text(assignment([[2]]))
    words = ["plan", "--cluster=cluster.json", "--current=one.txt", "--proposed=other.txt", "--json=r.json"]
    _, out, _ = said(capsys, *words)
    record = json.loads(Path("r.json").read_text())
    idle = re.findall(r"^  (\w+) +not applicable", out, re.MULTILINE)
    assert idle and set(idle) <= set(record["not_applicable"])
    assert not set(idle) & {p["name"] for p in record["properties"]}


def test_a_topic_may_be_described_twice(capsys: pytest.CaptureFixture[str]) -> None:
    Path("describe.txt").write_text(DESCRIBED + DESCRIBED)
    words = ["plan", "--cluster=cluster.json", "--current=describe.txt", "--proposed=generate.txt"]
    assert "2 of 2 partitions move" in said(capsys, *words)[1]


def test_a_mark_of_the_encoding_is_read_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("proposed.json").write_text("\ufeff" + assignment([[1, 2, 6]]), encoding="utf-8")
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=proposed.json"]
    assert "1 of 2 partitions move" in said(capsys, *words)[1]


def test_files_of_windows(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines that end with CR and LF, in UTF-8 with a mark or as PowerShell writes what a command prints."""
    for encoding in ("utf-8-sig", "utf-16"):
        for name, text in (("d.txt", DESCRIBED), ("g.txt", GENERATED)):
            Path(name).write_bytes(text.replace("\n", "\r\n").encode(encoding))
        out = said(capsys, "plan", "--cluster=d.txt", "--current=d.txt", "--proposed=g.txt")[1]
        assert "2 of 2 partitions move" in out, encoding


def test_a_replica_that_is_out_of_sync_is_no_obstacle_if_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    """orders-0 goes from 1, 2, 3 to 4, 5, 6; orders-1 keeps 2 and 3, for which releases before 4.3 wait."""
    words = ["plan", "--cluster=cluster.json", "--current=describe.txt", "--proposed=generate.txt"]
    assert "moves_end_as_wanted             holds" in said(capsys, *words)[1]
    Path("describe.txt").write_text(DESCRIBED.replace("Isr: 1,2,3", "Isr: 1"))
    code, out, _ = said(capsys, *words)
    assert (code, "moves_end_as_wanted             holds" in out) == (0, True), out
    assert "  before    1, 2, 3   (leader 1; in sync 1)\n" in out
    Path("describe.txt").write_text(DESCRIBED.replace("Isr: 2,3,1", "Isr: 2"))
    code, out, _ = said(capsys, *words)
    assert (code, "moves_end_as_wanted             not decided" in out) == (5, True)
    assert "      orders-1: Kafka 3.9 to 4.2: waits for broker 3 (out of sync); Kafka 4.3, 4.4: holds\n" in out
    for release, expected, text in (("4.2.1", 13, "violated for 1 partition"), ("4.3", 0, "holds")):
        code, out, _ = said(capsys, *words, f"--release={release}")
        assert (code, f"moves_end_as_wanted             {text}" in out) == (expected, True), release
    assert said(capsys, *words, "--release=3.1")[2] == (
        "reassure: --release 3.1: it is one of 3.9, 4.0, 4.1, 4.2, 4.3, 4.4, or such as 4.1.2\n"
    )


def test_disks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("proposed.json").write_text(assignment([[1, 2, 6]], ["/d1", "any", "any"]))
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=proposed.json"]
    assert "partitions that name log directories: 1; moves between disks are not judged" in said(capsys, *words)[1]
    Path("proposed.json").write_text(assignment([[1, 2, 3]], ["/d1", "any", "any"]))
    code, _, err = said(capsys, *words)
    assert (code, "changes nothing but log directories: moves between disks are not judged" in err) == (6, True)
    Path("proposed.json").write_text(assignment([[1, 2, 6]], ["/d1", "any"]))
    code, _, err = said(capsys, *words)
    assert (code, "orders-0: log_dirs has 2 entries for 3 replicas" in err) == (151, True)


def test_on_top_of_a_reassignment_under_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Its target is replaced, and what it copies is given up; where the plan says nothing it goes on."""
    Path("running.json").write_text(assignment([[1, 2, 5], [2, 3, 5]]))
    Path("proposed.json").write_text(assignment([[1, 2, 6]]))
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=proposed.json"]
    out = said(capsys, *words, "--running=running.json")[1]
    assert "2 of 2 partitions move" in out
    assert "  stage 1   1, 2, 5, 3   (leader 1; adding 5; certainly in sync 1, 2, 3)\n" in out
    assert "  stage 2   1, 2, 6, 3, 5   (leader 1; adding 6; certainly in sync 1, 2, 3)\n" in out
    assert (
        "elsewhere already: 1; the plan replaces these targets, and gives up replicas that are being copied: 1" in out
    )
    times = said(capsys, *words, "--running=running.json", "--size=6G", "--throttle=60M")[1]
    assert "2 replicas are copied in 1 batch\n" in times, "what is given up need not be copied to its end"
    assert "copying takes at least 102.4 s" in times
    code, _, err = said(capsys, *words, "--running=running.json", "--protocol=classic")
    assert (code, "--running is for --proposed and --protocol kraft" in err) == (64, True)


def test_how_long_each_batch_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """And for how long a partition has few replicas in sync: one that grows from a single replica."""
    Path("one.json").write_text(assignment([[1]]))
    Path("three.json").write_text(assignment([[1, 2, 3]]))
    words = [
        "plan",
        "--cluster=cluster.json",
        "--current=one.json",
        "--proposed=three.json",
        "--size=6G",
        "--throttle=60M",
    ]
    out = said(capsys, *words)[1]
    assert "copying takes at least 3.4 min" in out
    assert "  batch 1: 3.4 min, 1 partition\n" in out
    assert "  orders-0, stage 1: 1 certainly in sync, below MinISR 2, for 3.4 min\n" in out
    two = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=generate.txt", *words[4:]]
    assert "at every moment each partition has MinISR" in said(capsys, *two)[1]


RUNNING = {"replicas": [1, 2, 4], "addingReplicas": [4], "removingReplicas": [1]}
REGISTERED = [
    *(record(b, "RegisterBroker", brokerId=b, fenced=False, rack=r) for b, r in zip(range(1, 6), "abcab", strict=True)),
    record(6, "Topic", name="orders", topicId="T"),
    record(7, "Config", resourceType=2, resourceName="orders", name="min.insync.replicas", value="2"),
    record(8, "Partition", partitionId=0, topicId="T", replicas=[1, 2], isr=[1, 2], addingReplicas=[],
           removingReplicas=[], leader=1, leaderEpoch=0, partitionEpoch=0),
]  # fmt: skip
CORDONED = [
    record(20, "RegisterBroker", brokerId=5, fenced=False, rack="b", logDirs=["D"], cordonedLogDirs=["D"]),
    record(21, "BrokerRegistrationChange", brokerId=4, logDirs=None, cordonedLogDirs=None),
]


def dumped(records: list[MetadataRecord], name: str = "metadata.txt") -> str:
    numbered = [replace(r, offset=offset, batch=offset) for offset, r in enumerate(records)]
    Path(name).write_text("Dumping 00000000000000000000.log\n" + dump_text(numbered))
    return name


def test_a_metadata_log_is_the_cluster_and_the_present_assignment(capsys: pytest.CaptureFixture[str]) -> None:
    log, proposed = dumped([*REGISTERED, *CORDONED]), Path("proposed.json")
    proposed.write_text(assignment([[3, 2]]))
    words = [f"--cluster={log}", f"--current={log}", f"--proposed={proposed}"]
    code, out, err = said(capsys, "plan", *words, "--json=r.json")
    (path,) = json.loads(Path("r.json").read_text())["plan"]["paths"]
    assert (code, path["stages"][0]["replicas"], path["stages"][-1]["replicas"], err) == (0, [1, 2], [3, 2], "")
    cluster = read_cluster(Path(log))
    assert cluster.racks == {1: "a", 2: "b", 3: "c", 4: "a", 5: "b"}
    assert (cluster.topics, cluster.min_isr, cluster.cordoned) == ({"orders": 2}, None, {5})
    proposed.write_text(assignment([[5, 2]]))
    code, out, _ = said(capsys, "plan", *words)
    assert (code, "cordoned" in out) == (12, True), out


def test_what_is_under_way_by_a_metadata_log(capsys: pytest.CaptureFixture[str]) -> None:
    Path("proposed.json").write_text(assignment([[3, 2]]))
    changed = record(9, "PartitionChange", partitionId=0, topicId="T", **RUNNING)
    words = ["plan", "--proposed=proposed.json", "--cluster=moving.txt", "--current=moving.txt"]
    dumped([*REGISTERED, changed], "moving.txt")
    _, out, err = said(capsys, *words)
    assert err == f"note: reassignments under way by moving.txt: 1; {ON_TOP}\n"
    assert "1 of 1 partitions move" in out
    _, out, err = said(capsys, *words, "--running=moving.txt")
    given_up = (
        "moved elsewhere already: 1; the plan replaces these targets, and gives up replicas that are being copied: 1"
    )
    assert (err, given_up in out, "out of sync now" in out) == ("", True, False), out
    code, _, err = said(capsys, *words, f"--running={dumped(REGISTERED, 'idle.txt')}")
    assert (code, err) == (6, "reassure: idle.txt: no reassignment is under way\n")


def test_a_log_that_has_no_brokers_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--cluster=empty.txt", "--current=empty.txt", "--proposed=generate.txt"]
    dumped([], "empty.txt")
    assert said(capsys, *words)[::2] == (64, "reassure: empty.txt has no brokers\n")
    Path("empty.txt").unlink()
    Path("empty.txt").mkdir()
    assert "empty.txt has no segment" in said(capsys, *words)[2]
