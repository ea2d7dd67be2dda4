"""What Kafka's own tools printed about real brokers (`python -m tests.helpers.tool_outputs`), read by commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reassure.checkers.kafka.audit.metadata_records import BatchOrder
from reassure.checkers.kafka.audit.record_files import read_dump
from reassure.checkers.kafka.plan.cluster_file import ClusterFile
from reassure.checkers.kafka.plan.kafka_json import read_assignment, read_cluster
from reassure.checkers.kafka.printed.shell_output import described
from reassure.checkers.kafka.printed.tool_formats import RELEASES, format_of
from reassure.spec.kafka.releases import minor
from tests.helpers.command import said
from tests.helpers.tool_outputs import KEPT, unpacked

OF_RELEASES = sorted(path.stem for path in KEPT.glob("*.txt"))
FOUR = ClusterFile(dict.fromkeys((1, 2, 3, 4)))
TARGET = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 2, 3]}]}


@pytest.fixture(scope="module", params=OF_RELEASES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs of a release, a file each."""
    made = tmp_path_factory.mktemp(request.param)
    unpacked(request.param, made)
    return made


def test_the_table_names_the_releases_of_these_outputs() -> None:
    assert ", ".join(map(minor, OF_RELEASES)) == RELEASES


def test_every_output_has_its_format(folder: Path) -> None:
    names = {"describe": "kafka-topics --describe", "dump": "kafka-dump-log --cluster-metadata-decoder"}
    for path in sorted(folder.glob("*.txt")):
        tool = path.stem.split("-")[0]
        found = format_of(path.read_text(encoding="utf-8"))
        assert found is not None and found.name == names.get(tool, f"kafka-reassign-partitions --{tool}"), path


def test_assignments(folder: Path) -> None:
    orders = {("orders", 0): (1, 2, 3), ("orders", 1): (2, 3, 1)}
    assert read_assignment(folder / "generate.txt", FOUR, "current").replicas == orders
    assert read_assignment(folder / "generate.txt", FOUR).replicas.keys() == orders.keys()
    assert read_assignment(folder / "execute.txt", FOUR, "current").replicas == {("orders", 0): (1, 2, 3)}
    assert read_assignment(folder / "describe.txt", FOUR, "current").replicas == {**orders, ("a-b.c_1", 0): (4, 1)}
    for name in ("list.txt", "list-offline.txt"):
        assert read_assignment(folder / name, FOUR).replicas == {("orders", 0): (4, 2, 3)}
    assert read_assignment(folder / "describe-moving.txt", FOUR, "current").replicas["orders", 0] == (2, 3, 1)


def test_settings_and_states(folder: Path) -> None:
    """MinISR of brokers' files is in the line of Configs; what has no such line has no MinISR."""
    assert read_cluster(folder / "describe.txt").topics == {"orders": 2, "a-b.c_1": 2}
    for name in ("describe-under-replicated", "describe-unavailable"):
        assert read_cluster(folder / f"{name}.txt").topics == {}
    offline = described((folder / "describe-offline.txt").read_text())
    assert offline is not None
    assert {key: (p.leader, p.moving) for key, p in offline.partitions.items()} == {
        ("orders", 0): (None, True),
        ("orders", 1): (None, False),
        ("a-b.c_1", 0): (4, False),
    }


def test_a_plan_of_partitions_that_nobody_leads(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is under way waits for brokers that are down, with and without the head lines."""
    (proposed := tmp_path / "p.json").write_text(json.dumps(TARGET))
    for name in ("describe-offline", "describe-unavailable"):
        words = [f"--{option}={folder / name}.txt" for option in ("cluster", "current")]
        code, out, _ = said(capsys, "plan", *words, f"--proposed={proposed}")
        assert (code, "(leader none;" in out) == (13, True)
        assert "moves_end_as_wanted             violated for 1 partition\n" in out
        assert ": nobody leads: waits for broker" in out
        assert ("its MinISR is in no file" in out) == (name == "describe-unavailable")


def test_what_is_listed_is_the_same_as_what_is_described(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target that is under way, and a rollback to the original list, which 4.3 never ends."""
    (cluster := tmp_path / "c.json").write_text(json.dumps({"brokers": [{"id": b} for b in (1, 2, 3, 4)]}))
    (back := tmp_path / "p.json").write_text(json.dumps(TARGET).replace("[4, 2, 3]", "[1, 2, 3]"))
    words = [f"--cluster={cluster}", f"--proposed={back}", "--release=4.3.1", "--min-isr=2"]
    listed = [f"--current={folder / 'execute.txt'}", f"--running={folder / 'list.txt'}"]
    for more in (listed, [f"--current={folder / 'describe-moving.txt'}"]):
        code, out, _ = said(capsys, "plan", *words, *more)
        assert (code, "never ends: broker 4 is both being added and removed; a cancellation" in out) == (13, True), more


def test_dumps_with_and_without_metadata_say_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [(folder / f"{name}.txt").read_text() for name in ("dump", "dump-without-metadata")]
    whole, bare = (list(read_dump(text.splitlines(), BatchOrder())) for text in texts)
    assert whole == bare and len(whole) > 20
    answers = [said(capsys, "audit", str(folder / f"{name}.txt")) for name in ("dump", "dump-without-metadata")]
    assert [code for code, *_ in answers] == [0, 0]
    first, second = (out.split("again:")[0] for _, out, _ in answers)
    assert first == second
    assert "reassignments under way at the end: 1\n  orders-0 to [4, 2, 3] since offset " in first
    assert "nobody leads: waits for broker" in first
    assert "partitions that nobody leads at the end: 2 (orders-0, orders-1)\n" in first


def test_the_dump_is_a_cluster_of_a_plan(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (proposed := tmp_path / "p.json").write_text(json.dumps(TARGET).replace("orders", "a-b.c_1").replace("2, 3", "2"))
    dump = folder / "dump.txt"
    code, out, _ = said(
        capsys, "plan", f"--cluster={dump}", f"--current={dump}", f"--proposed={proposed}", "--min-isr=1"
    )
    assert (code, "waits for broker 2 (fenced)" in out) == (13, True), out


def test_a_dump_that_is_indented_and_texts_that_are_no_dump(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, other = (folder / "dump.txt").read_text(), tmp_path / "other.txt"
    code, out, _ = said(capsys, "audit", str(folder / "dump.txt"))
    for blank in ("  ", "\t"):
        other.write_text("in a ticket:\n" + "".join(blank + line for line in dump.splitlines(keepends=True)))
        answer = said(capsys, "audit", str(other))
        assert (
            (code, out.split("again:")[0]) == (answer[0], answer[1].split("again:")[0]) == (0, out.split("again:")[0])
        )
    log = "kafka-dump-log prints a log: "
    texts = {
        (folder / "describe.txt").read_text(): "it is output of kafka-topics --describe; " + log,
        '{"brokers": [], "topics": [], "originating_broker": {}}': "it is JSON of kcat -L -J; " + log,
        "junk": "",
    }
    for text, what in texts.items():
        other.write_text(text)
        assert said(capsys, "audit", str(other))[::2] == (6, f"reassure: {other}: {what}no metadata record\n")


def test_a_plan_takes_no_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It reads its files several times, and a second reading of a pipe has nothing."""
    os.mkfifo(pipe := tmp_path / "pipe")
    unpacked("4.3.1", tmp_path)
    for name in ("cluster", "current", "proposed"):
        files = {
            "cluster": tmp_path / "describe.txt",
            "current": tmp_path / "describe.txt",
            "proposed": pipe,
        }
        words = [f"--{option}={path}" for option, path in {**files, name: pipe}.items()]
        code, _, err = said(capsys, "plan", *words)
        assert (code, "pipe is a pipe, which can be read only once" in err) == (64, True)
