"""`reassure plan` on what Kafka's shell tools print, on top of a reassignment that is under way, and its times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import said

DESCRIBED = """\
Topic: orders\tTopicId: abc\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2,segment.bytes=107
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: 
\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,3,1\tIsr: 2,3,1\tElr: \tLastKnownElr: 
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
    """Racks are not in it, so that what depends on them is not checked: that is no pass."""
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


def test_a_mark_of_the_encoding_is_read_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("proposed.json").write_text("\ufeff" + assignment([[1, 2, 6]]), encoding="utf-8")
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=proposed.json"]
    assert "1 of 2 partitions move" in said(capsys, *words)[1]


def test_disks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("proposed.json").write_text(assignment([[1, 2, 6]], ["/d1", "any", "any"]))
    words = ["plan", "--cluster=cluster.json", "--current=generate.txt", "--proposed=proposed.json"]
    assert "partitions that name log directories: 1; moves between disks are not judged" in said(capsys, *words)[1]
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
    assert "  stage 2   1, 2, 6, 3   (leader 1; adding 6; certainly in sync 1, 2, 3)\n" in out
    assert (
        "elsewhere already: 1; the plan replaces these targets, and gives up replicas that are being copied: 1" in out
    )
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
