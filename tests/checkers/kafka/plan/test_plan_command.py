"""`reassure plan`: its report, Kafka's JSON, and bad input."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.plan.cluster_file import Assignment, ClusterFile
from reassure.checkers.kafka.plan.evaluate import judge_plan
from reassure.checkers.kafka.plan.kafka_json import read_assignment, read_cluster, write_assignment
from reassure.checkers.kafka.plan.propose import propose
from reassure.checkers.kafka.plan.report import lasting
from reassure.checkers.kafka.plan.stages import PlanLimits
from reassure.checkers.machine.progress import Progress
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.brokers import SIX

CLUSTER: JsonObject = {
    "brokers": [{"id": b, "rack": r} for b, r in SIX.racks.items()],
    "topics": {"orders": {"min.insync.replicas": 2}},
}


def kafka(*partitions: tuple[str, int, list[int]]) -> JsonObject:
    made = [{"topic": t, "partition": p, "replicas": r} for t, p, r in partitions]
    return {"version": 1, "partitions": made}


CURRENT = kafka(("orders", 0, [1, 2, 3]), ("orders", 1, [2, 3, 1]), ("x", 0, [3]))
PROPOSED = kafka(("orders", 0, [5, 4, 6]), ("orders", 1, [2, 3, 1]))


def files(folder: Path, **changed: Any) -> list[str]:
    """The options for the three files; a text is written as it is."""
    words = []
    for key, default in (("cluster", CLUSTER), ("current", CURRENT), ("proposed", PROPOSED)):
        value = changed.get(key, default)
        path = folder / f"{key}.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        words += [f"--{key}", str(path)]
    return words


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["plan", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_plan_that_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = [*files(tmp_path), "--json", str(record), "--size", "10G", "--throttle", "50M"]
    code, out, err = said(capsys, *words)
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "1 of 3 partitions move, by kraft",
        "",
        "orders-0",
        "  before    1, 2, 3   (leader 1)",
        "  stage 1   5, 4, 6, 1, 2, 3   (leader 1; adding 5, 4, 6; certainly in sync 1, 2, 3)",
    ]
    assert "3 replicas are copied in 1 batch\na broker sends or receives at most 3 of them in a batch\n" in out
    assert "copying takes at least 10.2 min: 10,737,418,240 bytes a partition, 52,428,800 bytes/s" in out
    assert "not covered" in out and "two failures at once" in out
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["verdict"], data["model"], data["complete"]) == (0, "pass", "plan:kraft", True)
    assert {p["status"] for p in data["properties"]} == {"holds"}
    assert data["plan"]["paths"][0]["stages"][1] == {
        "replicas": [5, 4, 6, 1, 2, 3],
        "certain": [1, 2, 3],
        "leader": 1,
        "adding": [5, 4, 6],
    }
    assert (data["plan"]["seconds"], data["plan"]["unmoved"]) == (614.4, 2)
    again = data["repro"].split()[2:]
    assert said(capsys, *again)[1] == out


def test_a_plan_that_breaks_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = files(tmp_path)
    limits = ["--protocol", "batching", "--replicas", "1", "--partitions", "2", "--leaders", "1"]
    code, out, _ = said(capsys, *words, *limits, "--json", str(record))
    assert code == 12
    assert "1 of 3 partitions move, by batching --replicas 1 --partitions 2 --leaders 1" in out
    assert "      orders-0, stage 2, rack b fails: 3 certainly in sync (2, 3, 5), MinISR 2" in out
    assert "safety-violation (exit code 12)" in out
    data = json.loads(record.read_text())
    assert [(b["promise"], b["stage"], b["failure"]) for b in data["plan"]["breaks"]] == [
        ("producers_survive_a_rack", 2, "rack b fails"),
        ("producers_survive_a_rack", 3, "rack b fails"),
        ("stays_spread", 2, None),
        ("stays_spread", 3, None),
    ]
    assert data["config"] == {"replicas": 1, "partitions": 2, "leaders": 1}
    assert said(capsys, *data["repro"].split()[2:])[:2] == (code, out)


def test_generated_json_is_what_can_be_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    code, out, err = said(capsys, *words[:4], "--generate", "--replication-factor", "3")
    assert (code, err) == (0, "3 partitions, 3 replicas to be copied\n")
    assert json.loads(out) == kafka(("orders", 0, [1, 2, 3]), ("orders", 1, [2, 3, 4]), ("x", 0, [3, 4, 5]))
    proposal = tmp_path / "generated.json"
    proposal.write_text(out)
    assert read_assignment(proposal, SIX).replicas == propose(SIX, read_assignment(Path(words[3]), SIX).replicas, [], 3)
    assert said(capsys, *words[:4], "--proposed", str(proposal))[0] == 0


def test_kafkas_own_output_is_taken(tmp_path: Path) -> None:
    """With log_dirs, as kafka-reassign-partitions prints the current assignment."""
    path = tmp_path / "k.json"
    path.write_text(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["any","any"]}]}'
    )
    made = read_assignment(path, SIX).replicas
    assert made == {("t", 0): (2, 1)}
    path.write_text(write_assignment(made))
    assert read_assignment(path, SIX).replicas == made


def test_many_breaks_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    current = kafka(*(("t", i, [1, 2, 3]) for i in range(5)))
    proposed = kafka(*(("t", i, [1]) for i in range(5)))
    code, out, _ = said(capsys, *files(tmp_path, current=current, proposed=proposed))
    assert code == 12
    assert "partitions_survive_a_broker     violated for 5 partitions" in out
    assert "... and 2 more (--json has all)" in out
    assert "... and 2 more partitions (--show 5)" in out


def test_without_racks_the_report_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = {"brokers": [{"id": b} for b in SIX.racks]}
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, *files(tmp_path, cluster=bare), "--show", "0", f"--json={record}")
    assert code == 0
    assert "stays_spread" not in out and "orders-0" not in out
    assert "the promises about racks do not apply: no broker has a rack" in out
    data = json.loads(record.read_text())
    assert (data["complete"], len(data["not_applicable"]), len(data["properties"])) == (True, 3, 8)


def test_brokers_without_a_rack_in_a_cluster_with_racks_leave_its_promises_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where none of the brokers that the plan names has one."""
    elsewhere = {"brokers": [{"id": b} for b in SIX.racks] + [{"id": 99, "rack": "a"}]}
    code, out, _ = said(capsys, *files(tmp_path, cluster=elsewhere), "--show", "0")
    assert code == 5
    assert "the promises about racks are not checked: some of the brokers have no rack" in out


def test_promises_that_are_not_checked_are_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where some brokers have a rack and others have none."""
    half = {"brokers": [{"id": b, **({"rack": r} if b > 1 else {})} for b, r in SIX.racks.items()]}
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, *files(tmp_path, cluster=half), "--show", "0", f"--json={record}")
    assert (code, "inconclusive (exit code 5)" in out) == (5, True)
    assert "stays_spread                    not checked" in out
    assert "the promises about racks are not checked: some of the brokers have no rack" in out
    data = json.loads(record.read_text())
    assert (data["complete"], data["stop_reason"], data["not_applicable"]) == (False, "open", [])


@pytest.mark.parametrize(("least", "said_so"), [(3, False), (4, True)])
def test_a_target_with_fewer_replicas_than_min_isr_is_named(
    least: int, said_so: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = {"brokers": [{"id": b} for b in SIX.racks], "min.insync.replicas": least}
    _, out, _ = said(capsys, *files(tmp_path, cluster=bare), "--show", "0")
    assert (
        "to have fewer replicas than min.insync.replicas: no producer with acks=all is served there" in out
    ) is said_so


@pytest.mark.parametrize(
    ("partition", "message"),
    [(("x" * 70_000, 0, [1]), "not 'xxxxxxxxxxxx"), (("t", 0, [1] * 200_000), "t-0: broker 1 has two replicas")],
    ids=["name", "replicas"],
)
def test_a_long_text_is_not_printed(
    partition: tuple[str, int, list[int]], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    got, out, err = said(capsys, *files(tmp_path, proposed=kafka(partition)), "--json", str(record))
    assert (got, out) == (151, "")
    assert err.startswith("reassure: ") and err.count("\n") == 1 and len(err) < 600
    assert message in err
    assert json.loads(record.read_text())["exit_code"] == 151


def test_a_proposal_and_a_record_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, *files(tmp_path)[:4], "--generate", "--json", "-")
    assert (code, json.loads(out)["exit_code"]) == (64, 64)
    assert err == "reassure: --generate and --json - both write to standard output\n"


def test_deep_nesting_is_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, *files(tmp_path, cluster="[" * 100_000))
    assert code == 64 and "is not JSON" in err


def test_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"brokers": [{"id": 3}, {"id": 1, "rack": null}], "min.insync.replicas": 2}')
    cluster = read_cluster(path)
    assert (cluster.racks, cluster.enough("any")) == ({3: None, 1: None}, 2)
    assert (SIX.enough("orders"), SIX.enough("x")) == (2, 1)


@pytest.mark.parametrize(
    ("broker", "cordoned"),
    [
        ({}, False),
        ({"cordoned.log.dirs": "*"}, True),
        ({"log.dirs": "/a,/b", "cordoned.log.dirs": ""}, False),
        ({"log.dirs": "/a,/b", "cordoned.log.dirs": "/b"}, False),
        ({"log.dirs": "/a,/b", "cordoned.log.dirs": "/b, /a"}, True),
    ],
)
def test_a_broker_is_cordoned_if_all_its_log_directories_are(
    broker: dict[str, str], cordoned: bool, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"brokers": [{"id": 1, **broker}]}))
    assert read_cluster(path).cordoned == ({1} if cordoned else set())


@pytest.mark.parametrize(
    ("release", "refused"), [(None, None), ("4.4.0", True), ("4.4", True), ("4.3.1", False), ("3.9.2", False)]
)
def test_the_release_decides_who_may_stay(release: str | None, refused: bool | None, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"brokers": [{"id": 1}], **({"release": release} if release else {})}))
    assert read_cluster(path).refuses_cordoned == refused


def test_times_to_read() -> None:
    assert [lasting(s) for s in (0, 90, 120, 7199, 7200, 172800)] == [
        "0.0 s",
        "90.0 s",
        "2.0 min",
        "120.0 min",
        "2.0 h",
        "2.0 d",
    ]


def test_ten_thousand_partitions_take_seconds() -> None:
    """A ratio would say nothing here: the bound is ten times what it takes on a slow machine."""
    current: Assignment = {(f"t{i // 50}", i % 50): (i % 100, (i + 7) % 100, (i + 31) % 100) for i in range(10_000)}
    target = {p: tuple((b + 50) % 100 for b in r) for p, r in current.items()}
    began = time.monotonic()
    judged = judge_plan(
        ClusterFile({b: f"r{b % 5}" for b in range(100)}), current, target, "batching", PlanLimits(1, 50, 10)
    )
    assert time.monotonic() - began < 30
    assert (judged.moved, len(judged.paths)) == (30_000, 10_000)


class _Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_told_by_partitions() -> None:
    """On a terminal, in a line that changes; `quiet` tells nothing."""
    current: Assignment = {("t", 0): (1, 2), ("t", 1): (2, 3)}
    wanted: Assignment = {("t", 0): (1, 3), ("t", 1): (2, 1)}
    cluster = ClusterFile(dict.fromkeys((1, 2, 3)))
    told = {}
    for quiet in (False, True):
        terminal = _Terminal()
        progress = Progress(terminal, quiet)
        progress.next = progress.wait = 0
        judge_plan(cluster, current, wanted, "kraft", PlanLimits(), progress=progress)
        told[quiet] = [line.rpartition(" | ")[0] for line in terminal.getvalue().split("\r\x1b[2K")[1:]]
    of = "the moves: {} of 2 partitions"
    assert told == {
        False: [f"{what} {of.format(number)}" for what in ("calculating", "judging") for number in (0, 1)],
        True: [],
    }
