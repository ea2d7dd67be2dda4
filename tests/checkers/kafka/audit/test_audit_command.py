"""`reassure audit` from the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.kafka.audit import log_files
from reassure.checkers.kafka.audit.audit_log import (
    AuditReport,
    AuditTask,
    audit_by_spark,
    audit_share,
    together,
)
from reassure.checkers.kafka.audit.log_files import LogFile
from reassure.checkers.kafka.audit.metadata_records import PartitionShare
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.options import SparkOptions
from tests.helpers.command import reported, said
from tests.helpers.metadata_log_text import LOGS, batches, cluster, dump_text, record, snapshot_of
from tests.helpers.spark_runs import MASTER, needs_spark

SEGMENT = LOGS / "4.1.0.log"


def test_a_clean_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cut = tmp_path / "cut.log"
    cut.write_bytes((LOGS / "3.9.0.log").read_bytes()[:5000])
    code, out, err = said(capsys, "audit", str(cut), "--release=3.9")
    assert code == 0
    assert "partitions created: 1, changes: 16, different ones: 16" in out
    ending = f"pass (exit code 0)\nagain: reassure audit {cut} --release=3.9\n"
    assert out.endswith(f"no findings\n\n{ending}")
    assert err == f"note: {cut} ends within a batch at byte 4921: 79 bytes were not read\n"


def test_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = tmp_path / "a.json"
    code, out, err = said(capsys, "audit", str(SEGMENT), "--release=4.3", f"--json={answer}")
    assert (code, err) == (12, "")
    assert "94 records, offsets 0 to 93; at the end brokers: 4, topics: 1, partitions: 1" in out
    data = json.loads(answer.read_text())
    assert (data["verdict"], data["exit_code"], data["records"], data["changes"]) == ("safety-violation", 12, 94, 46)
    assert data["not_made_by_release"] == {"3.9": 0, "4.0": 0, "4.1": 0, "4.2": 3, "4.3": 5, "4.4": 5}
    rules = [f for f in data["findings"] if f["kind"] == "rule"]
    assert [f["offset"] for f in rules] == [36, 37, 62, 68, 90]
    assert re.search(r"^4\.2 +4\.1\.1, 4\.1\.2, 4\.2\.0 to 4\.2\.2 +3$", out, re.MULTILINE)
    assert rules[2] == {
        "offset": 62,
        "timestamp": 1_700_000_062_000,
        "topic": "watched",
        "partition": 0,
        "kind": "rule",
        "name": "4.3 does not make this change; 3.9, 4.0, 4.1, 4.2 would",
        "change": "replicas [1, 2, 3, 4] -> [1], adding {3} -> {}, removing {4} -> {}, leader epoch 12 -> 13",
    }


def test_a_patch_release_is_judged_by_the_rules_of_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    """4.1.0 wrote the log; 4.1.2 has the rules of 4.2, which do not make three of its changes."""
    by_release = {v: reported(capsys, "audit", str(SEGMENT), f"--release={v}") for v in ("4.1.2", "4.2")}
    assert by_release["4.1.2"] == by_release["4.2"]
    assert by_release["4.2"][1].count("4.2 does not make this change; 3.9, 4.0, 4.1 would") == 3
    assert "does not make this change" not in said(capsys, "audit", str(SEGMENT), "--release=4.1.0")[1]


def test_a_narrow_terminal_has_two_lines_for_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name is cut off, as the cells of a table would be."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = said(capsys, "audit", str(SEGMENT), "--release=4.3")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    at = lines.index("    72  2023-11-14 22:14:32  watched-0  promise: moving_replicas_are_replicas")
    assert lines[at + 1] == "        replicas [1, 4, 2, 3] -> [1, 2, 3, 4], removing {3} -> {2, 3, 4}"
    assert max(map(len, lines)) <= 100


def test_a_dump_says_the_same_as_the_segment(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = reported(capsys, "audit", str(SEGMENT))
    assert reported(capsys, "audit", str(SEGMENT.with_suffix(".txt"))) == (code, out, "")


def test_a_folder_with_segments_and_a_snapshot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A snapshot of the same records: what it covers is not played again."""
    shutil.copy(SEGMENT, tmp_path / f"{0:020}.log")
    whole = reported(capsys, "audit", str(tmp_path))
    assert whole == reported(capsys, "audit", str(SEGMENT))
    (tmp_path / f"{0:020}.log").rename(tmp_path / f"{5:020}.log")
    code, _, err = said(capsys, "audit", str(tmp_path))
    assert code == 64 and "begins at offset 5, and has no snapshot to begin with" in err
    snapshot = tmp_path / f"{94:020}-{1:010}.checkpoint"
    snapshot.write_bytes(snapshot_of(SEGMENT.read_bytes()))
    code, out, err = said(capsys, "audit", str(tmp_path))
    assert (code, err) == (whole[0], "")
    assert re.sub("offsets 0 to 93", "offsets 1 to 94", whole[1]).splitlines()[:9] == out.splitlines()[:9]
    snapshot.write_bytes(snapshot_of(SEGMENT.read_bytes(), footer=False))
    code, out, err = said(capsys, "audit", str(tmp_path))
    assert (code, out) == (64, "") and "a snapshot without its footer: the file is cut, or was still being w" in err


def of(*offsets: range) -> bytes:
    """The batches of the segment with these offsets."""
    parts = batches(SEGMENT.read_bytes())
    return b"".join(batch for first, _, batch in parts if any(first in some for some in offsets))


def test_a_log_that_goes_on_from_a_snapshot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What the snapshot covers is not judged twice; what is between it and the log is not left out."""
    (tmp_path / f"{11:020}-{1:010}.checkpoint").write_bytes(snapshot_of(of(range(11))))
    for begin, end in ((2, 40), (40, 94)):
        (tmp_path / f"{begin:020}.log").write_bytes(of(range(begin, end)))
    words = ("audit", str(tmp_path), "--release=4.3", "--quiet")
    code, out, err = reported(capsys, *words)
    whole = reported(capsys, "audit", str(SEGMENT), "--release=4.3", "--quiet")
    assert (code, err) == (12, "")
    assert (
        out.splitlines()[0].startswith("94 records, offsets 1 to 93; ")
        and out.splitlines()[1:] == whole[1].splitlines()[1:]
    )
    (tmp_path / f"{40:020}.log").write_bytes(of(range(41, 94)))
    code, out, err = said(capsys, *words)
    assert (code, out) == (64, "") and "offset 41 comes after 39: what is between them is missing" in err
    (tmp_path / f"{40:020}.log").unlink()
    (tmp_path / f"{2:020}.log").write_bytes(of(range(2, 11), range(13, 94)))
    code, out, err = said(capsys, *words)
    assert (code, out) == (64, "") and "offset 13 comes after 10: what is between them is missing" in err


def test_files_in_the_order_of_their_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As a shell lists them: a snapshot of what was read already is passed over, which a note says."""
    (first := tmp_path / f"{0:020}.log").write_bytes(of(range(40)))
    (snapshot := tmp_path / f"{40:020}-{1:010}.checkpoint").write_bytes(snapshot_of(of(range(40))))
    (second := tmp_path / f"{40:020}.log").write_bytes(of(range(40, 94)))
    whole = reported(capsys, "audit", str(SEGMENT))
    code, out, err = reported(capsys, "audit", str(first), str(snapshot), str(second))
    assert (code, out) == whole[:2]
    assert err == f"note: {snapshot} was not read: the files before it tell what this snapshot tells\n"
    for files, why in (
        ((first, first), "offset 0 comes after 39"),
        ((second, first), "the log begins at offset 40, and has no snapshot to begin with"),
        (
            (first, snapshot.rename(tmp_path / f"{50:020}-{1:010}.checkpoint")),
            "a snapshot of offset 50 after 39: what is betw",
        ),
    ):
        code, out, err = said(capsys, "audit", *map(str, files))
        assert (code, out) == (64, "") and why in err


def test_a_dump_of_several_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`kafka-dump-log --files SNAPSHOT,SEGMENT`: each is read as the file that it is of."""
    lines = SEGMENT.with_suffix(".txt").read_text().splitlines()
    at = {int(line.split()[1]): number for number, line in enumerate(lines) if line.startswith("baseOffset")}
    footer = "| offset: 12 CreateTime: 0 keySize: 4 valueSize: 3 sequence: -1 headerKeys: [] SnapshotFooter {}"
    until = [re.sub(r"^(\| o|baseO)ffset: (\d+)( lastOffset: \d+)?", _one_more, line) for line in lines[2 : at[11]]]
    name = f"Dumping /kafka/{11:020}-{1:010}.checkpoint"
    control = "baseOffset: {0} lastOffset: {0} count: 1 isControl: true"
    head = "| offset: 0 CreateTime: 0 keySize: 4 headerKeys: [] SnapshotHeader {}"
    dump = [name, control.format(0), head, *until, control.format(12), footer]
    log = ["Dumping /kafka/00000000000000000005.log", *lines[at[5] :]]
    path = tmp_path / "dump.txt"
    path.write_text("\n".join([*dump, *log]))
    code, out, err = said(capsys, "audit", str(path))
    assert (code, err) == (12, "") and "partitions created: 1, changes: 46, different ones: 46" in out
    path.write_text("\n".join([*dump[:-2], *log]))
    assert "a snapshot without its footer" in said(capsys, "audit", str(path))[2]
    path.write_text("\n".join([*dump, log[0], *lines[at[13] :]]))
    assert "offset 13 comes after 10: what is between them is missing" in said(capsys, "audit", str(path))[2]


def _one_more(found: re.Match[str]) -> str:
    """An offset line as a snapshot has it, after its header."""
    offset = int(found[2]) + 1
    return f"{found[1]}ffset: {offset}" + (f" lastOffset: {offset}" if found[3] else "")


def test_what_else_a_dump_may_have(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The index of a segment; ends of lines of Windows; a value with a line break that JSON leaves as it is."""
    text = SEGMENT.with_suffix(".txt").read_text()
    whole = reported(capsys, "audit", str(SEGMENT))[:2]
    path = tmp_path / "dump.txt"
    breaks = text.replace('"name":"watched"', '"name":"watc\u2028hed"', 1)
    for other in (f"{text}Dumping 0.index\noffset: 0 position: 0\noffset: 5 position: 400\n", breaks):
        path.write_text(other, encoding="utf-8")
        code, out, err = said(capsys, "audit", str(path))
        assert (code, err, out.splitlines()[:8]) == (whole[0], "", whole[1].splitlines()[:8])
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert reported(capsys, "audit", str(path))[:2] == whole


def test_a_snapshot_by_another_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "snapshot.checkpoint"
    path.write_bytes(snapshot_of(of(range(11))))
    code, out, err = said(capsys, "audit", str(path))
    assert (code, out) == (64, "") and "a snapshot has the offset at which it ends in its name, as in 0000" in err


def test_a_partition_that_is_created_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Kafka takes the record in place of what was there: no release makes the change, which is a finding."""
    found = cluster(1, 2, 3)
    again = replace(found[-1], offset=len(found), batch=len(found))
    path = tmp_path / "dump.txt"
    path.write_text(dump_text([*found, again]))
    assert said(capsys, "audit", str(path))[0] == 0
    other = replace(again, data={**again.data, "replicas": [2, 3], "isr": [2], "leader": 2})
    path.write_text(dump_text([*found, other]))
    code, out, _ = said(capsys, "audit", str(path))
    assert code == 12 and "no release makes this change" in out


def test_a_time_that_no_calendar_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = Path(many_partitions(tmp_path))
    path.write_text(re.sub(r"CreateTime: \d+", f"CreateTime: {1 << 62}", path.read_text()))
    code, out, _ = said(capsys, "audit", str(path))
    assert code == 12 and f"{1 << 62} ms" in out


def test_bad_input_gets_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "empty").write_text("Dumping nothing\n")
    (tmp_path / "later").write_text(
        "baseOffset: 0 lastOffset: 0 count: 1\n"
        '| offset: 0 CreateTime: 5 payload: {"type":"FENCE_BROKER_RECORD","version":0,"data":{"id":7,"epoch":1}}\n'
    )
    for words, code, why in (
        ((str(tmp_path / "none"),), 64, "No such file"),
        ((str(tmp_path),), 64, "has no segment"),
        ((str(tmp_path / "noise"),), 64, "is neither a segment nor what kafka-dump-log"),
        ((str(tmp_path / "empty"),), 6, "no metadata record"),
        ((str(tmp_path / "later"),), 64, "broker 7 is not registered; does the log begin earlier?"),
        ((str(SEGMENT), "--release=3.1"), 64, "it is one of 3.9, 4.0, 4.1, 4.2, 4.3, 4.4, or such as 4.1.2"),
    ):
        found, _, err = said(capsys, "audit", *words)
        assert found == code
        assert why in err and len(err.splitlines()) == 1


def many_partitions(folder: Path) -> str:
    """A dump of 40 partitions, each of which begins to have a stranger in its ISR, and one whose leader is none."""
    found = cluster(1, 2, 3)
    replicas = {"replicas": [2, 3], "isr": [2, 3], "addingReplicas": [], "removingReplicas": [], "leader": 2}
    for number in range(1, 41):
        offset = len(found)
        about = {"partitionId": number, "topicId": "T"}
        found.append(record(offset, "Partition", leaderEpoch=0, partitionEpoch=0, **about, **replicas))
        change = {"isr": [2, 3, 1]} if number != 7 else {"isr": [2], "eligibleLeaderReplicas": [3]}
        found.append(record(offset + 1, "PartitionChange", **about, **change))
    path = folder / "dump.txt"
    path.write_text(dump_text(found))
    return str(path)


@pytest.mark.parametrize("name", ["3.9.0.log", "4.4.0.log", "4.1.0.txt"])
def test_shares_of_a_segment_are_the_whole(name: str) -> None:
    """Records of other shares are not decoded, and each batch is checked by one share."""
    task = AuditTask((LogFile(str(LOGS / name)),), None, 1)
    whole = together([audit_share(task, PartitionShare())])
    assert together(audit_share(task, PartitionShare(i, 3)) for i in range(3)) == whole


def test_processes_change_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = many_partitions(tmp_path)
    code, out, _ = said(capsys, "audit", path, "--jobs=1", f"--json={tmp_path / '1'}")
    assert code == 12
    assert "partitions created: 41, changes: 40, different ones: 2" in out
    assert "78 findings" in out and "and 38 more (--json FILE has all)" in out
    assert said(capsys, "audit", path, "--jobs=2", f"--json={tmp_path / '2'}") == (code, out, "")
    assert (tmp_path / "1").read_text() == (tmp_path / "2").read_text()


def test_a_pipe_is_read_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, pipe = many_partitions(tmp_path), tmp_path / "pipe"
    answers = []
    for jobs in ([], ["--jobs=2"]):
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(Path(path).read_bytes(),), daemon=True)
        writer.start()
        answers.append(said(capsys, "audit", str(pipe), *jobs)[:2])
        writer.join(10)
    code, out, _ = said(capsys, "audit", path)
    assert code == 12
    assert [(code, text.replace(str(pipe), path).replace(" --jobs=2", "")) for code, text in answers] == [(12, out)] * 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_made_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """A block ends where a line ends, also where a name has letters of several bytes or other breaks of lines."""
    text = Path(many_partitions(tmp_path)).read_text().replace('"name": "t"', '"name": "t\u00e9\u2028"')
    path = tmp_path / "blocks.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", end).encode())
    task = AuditTask((LogFile(str(path)),), None, 1)
    whole = audit_share(task, PartitionShare())
    assert isinstance(whole, AuditReport)
    assert (len(whole.audit.findings), whole.audit.findings[0].topic) == (79, "t\u00e9\u2028")
    for size in (1000, 100, 7, 1):
        monkeypatch.setattr(log_files, "BLOCK", size)
        assert audit_share(task, PartitionShare()) == whole
    path.write_bytes(path.read_bytes() + b"\xff")
    refused = audit_share(task, PartitionShare())
    assert isinstance(refused, Failure) and refused.code.value == 64 and "is neither a segment nor" in str(refused)


def test_a_log_that_is_refused_in_another_process(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.log"
    data = SEGMENT.read_bytes()
    at = data.index(b"watched")
    damaged.write_bytes(data[:at] + b"W" + data[at + 1 :])
    for jobs in (1, 3):
        code, _, err = said(capsys, "audit", str(damaged), f"--jobs={jobs}")
        assert code == 64
        assert "the sum of the batch is wrong; the file is damaged" in err and len(err.splitlines()) == 1


def test_the_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    path = Path(many_partitions(tmp_path))
    path.write_text(path.read_text().replace('"name": "t"', '"name": "<b>"'))
    assert said(capsys, "audit", str(path), f"--html={page}")[0] == 12
    text = page.read_text()
    assert text.count("<tr>") == 1 + 6 + 1 + 3 + 1 + 20 + 1 + 79  # heads and rows of four tables
    assert "&lt;b&gt;-1" in text and "<b>" not in text
    assert "http" not in text.replace("http-equiv", "")


@needs_spark
def test_shares_of_spark_are_the_whole(context: Any) -> None:
    task = AuditTask((LogFile(str(LOGS / "4.1.0.log")),), "4.3", 1)
    found = audit_by_spark(task, SparkOptions(MASTER), 3, lambda: None)
    assert found == together([audit_share(task, PartitionShare())])
    assert len(found.audit.findings) == 7
