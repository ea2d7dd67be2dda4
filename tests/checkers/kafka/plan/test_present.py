"""Plans that begin from the state that is there: to their end, or to what they wait for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.kafka.plan.courses import MoveRules, MoveSettings, Ways
from reassure.checkers.kafka.plan.evaluate import judge_plan
from reassure.checkers.kafka.plan.kafka_json import read_cluster
from reassure.checkers.kafka.plan.present import Present, PresentState, in_sync
from reassure.checkers.kafka.plan.stages import PlanLimits, PlanRules, kraft
from tests.helpers.brokers import ONE, SIX
from tests.helpers.command import said
from tests.helpers.metadata_log_text import dump_text, record

CASES = Path(__file__).parents[3] / "helpers" / "operator_cases"
Answer = tuple[int, str, str]


def planned(
    capsys: pytest.CaptureFixture[str],
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    *more: str,
    cluster: str = "cluster.json",
    current: str = "describe.txt",
    proposed: str = "proposed.json",
) -> Answer:
    monkeypatch.chdir(CASES / folder)
    return said(capsys, "plan", f"--cluster={cluster}", f"--current={current}", f"--proposed={proposed}", *more)


def rows(out: str, promise: str) -> list[str]:
    """The lines about a promise, without its name."""
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"  {promise} "))
    told = [lines[at].split(None, 1)[1]]
    for line in lines[at + 1 :]:
        if not line.startswith("      "):
            break
        told.append(line.strip())
    return told


def test_a_partition_that_nobody_leads(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = planned(capsys, "plan-of-an-offline-partition", monkeypatch)
    assert code == 13
    assert out.splitlines()[2:6] == [
        "orders-0",
        "  before    1, 2, 3   (leader none; in sync none)",
        "  stage 1   4, 2, 3, 1   (leader none; adding 4; certainly in sync none)",
        "  nobody leads: waits for broker 1 (of the ELR)",
    ]
    assert rows(out, "moves_end_as_wanted") == [
        "violated for 1 partition",
        "orders-0, stage 1: nobody leads: waits for broker 1 (of the ELR)",
    ]
    for promise in ("own_steps_keep_a_leader", "stays_spread"):  # in no rack there is nothing to keep
        assert rows(out, promise) == ["not applicable: every partition that moves broke it before"]


@pytest.mark.parametrize(
    ("cluster", "code", "told"),
    [
        ("cluster-4.2.0.json", 13, ["violated for 1 partition", "t-0, stage 1: waits for broker 2 (out of sync)"]),
        ("cluster-4.4.0.json", 0, ["holds"]),
    ],
)
def test_a_replica_that_stays_out_of_sync(
    cluster: str, code: int, told: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-19975: 4.3 waits for what is added alone; the ISR at the target is 1 and 3."""
    folder = "plan-blocked-by-a-replica-that-stays"
    got, out, _ = planned(capsys, folder, monkeypatch, "--json=-", cluster=cluster)
    plan = json.loads(out)["plan"]
    last = plan["paths"][0]["stages"][-1]
    assert (got, rows(planned(capsys, folder, monkeypatch, cluster=cluster)[1], "moves_end_as_wanted")) == (code, told)
    assert (last["replicas"], last["certain"]) == (([1, 2, 3], [1, 3]) if code == 0 else ([1, 2, 3, 0], [0, 1]))


def test_a_fenced_broker(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, log = "plan-onto-a-fenced-broker", "metadata.txt"
    code, out, _ = planned(capsys, folder, monkeypatch, cluster=log, current=log)
    assert (code, rows(out, "moves_end_as_wanted")[1:]) == (13, ["orders-0, stage 1: waits for broker 4 (fenced)"])
    words = ["plan", f"--cluster={log}", f"--current={log}", "--generate"]
    proposal = json.loads(said(capsys, *words, "--replication-factor=3")[1])
    assert proposal["partitions"][0]["replicas"] == [1, 2, 3]
    assert said(capsys, *words, "--brokers=1,4")[::2] == (151, "reassure: broker 4 is fenced\n")
    code, out, _ = planned(capsys, folder, monkeypatch, "--protocol=classic", cluster=log, current=log)
    assert (code, rows(out, "moves_end_as_wanted")[1:]) == (13, ["orders-0, stage 1: waits for broker 4 (fenced)"])


def test_indented_json_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"current": "generate.txt", "proposed": "generate.txt"}
    code, out, _ = planned(capsys, "generate-indented", monkeypatch, **words)
    assert (code, out.splitlines()[5]) == (0, "  target    4, 2, 3   (leader 4)")
    assert (
        "assumed: all replicas of 1 partition are in sync, and the preferred leaders lead: no file has their ISR" in out
    )


def test_what_is_listed_is_under_way(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same answer as for its target in Kafka's JSON."""
    running = tmp_path / "running.json"
    running.write_text('{"partitions": [{"topic": "orders", "partition": 0, "replicas": [3, 2]}]}')
    answers = [
        planned(capsys, "list-as-running", monkeypatch, f"--running={file}", current="current.json")[:2]
        for file in ("list.txt", running)
    ]
    code, out = answers[0]
    assert (code, answers[1][0], out.split("again:")[0]) == (0, 0, answers[1][1].split("again:")[0])
    assert "moved elsewhere already: 1; the plan replaces these targets" in out
    assert out.splitlines()[3:7] == [
        "  before    1, 2   (leader 1)",
        "  stage 1   3, 2, 1   (leader 1; adding 3; certainly in sync 1, 2)",
        "  stage 2   4, 2, 3, 1   (leader 1; adding 4; certainly in sync 1, 2)",
        "  target    4, 2, 3   (leader 4)",
    ]


def test_min_isr_that_no_file_has(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "describe-without-its-head-line"
    words = {"cluster": "describe.txt"}
    code, out, _ = planned(capsys, folder, monkeypatch, **words)
    unknown = ["not decided", "orders: its MinISR is in no file (--min-isr N)"]
    assert (code, rows(out, "producers_survive_a_broker"), rows(out, "own_steps_keep_min_isr")) == (5, unknown, unknown)
    code, out, _ = planned(capsys, folder, monkeypatch, "--min-isr=2", **words)
    assert (code, rows(out, "producers_survive_a_broker")) == (
        12,
        ["violated for 1 partition", "orders-0, target, broker 2 or 4 fails: 2 certainly in sync (2, 4), MinISR 2"],
    )
    assert rows(planned(capsys, folder, monkeypatch, "--min-isr=1", **words)[1], "producers_survive_a_broker") == [
        "holds"
    ]


# -- the kinds behind the cases ---------------------------------------------------------------------------------

LINE = "\tTopic: orders\tPartition: 0\tLeader: {}\tReplicas: {}\tIsr: {}\tElr: {}\tLastKnownElr: \n"
HEAD = "Topic: orders\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=1{}\n"


def told(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    state: Sequence[str],
    target: list[int],
    release: str = "",
    more: str = "",
    columns: str = "",
) -> tuple[int, list[str]]:
    """The exit code, and the lines about the end of a move from a state: leader, replicas, ISR, ELR."""
    description, proposed = folder / "d.txt", folder / "p.json"
    description.write_text(HEAD.format(more) + LINE.format(*state).rstrip("\n") + columns)
    proposed.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": target}]}))
    cluster = folder / "c.json"
    cluster.write_text(json.dumps({"brokers": [{"id": b} for b in range(1, 7)]}))
    words = [f"--cluster={cluster}", f"--current={description}", f"--proposed={proposed}"]
    code, out, err = said(capsys, "plan", *words, *([f"--release={release}"] if release else []))
    return code, rows(out, "moves_end_as_wanted") if out else [err]


VIOLATED = "violated for 1 partition"
WAITS = "orders-0, stage 1: waits for broker 2 (out of sync)"


@pytest.mark.parametrize(
    ("state", "target", "release", "code", "lines"),
    [
        # what is removed alone completes only with the whole target in sync
        (("1", "1,2,3", "1,3", ""), [1, 2], "4.4", 13, [VIOLATED, WAITS]),
        (("1", "1,2,3", "1,3", ""), [1, 3], "4.4", 0, ["holds"]),
        # more is removed than added: 4.3 waits for the rest of the target too
        (("1", "1,2,3", "1", ""), [2, 4], "4.4", 13, [VIOLATED, WAITS]),
        (("1", "1,2,3", "1", ""), [2, 4, 5], "4.4", 0, ["holds"]),
        (("1", "1,2,3", "1", ""), [2, 4, 5], "4.2", 13, [VIOLATED, WAITS]),
        (("2", "1,2,3", "1,2,3", ""), [1, 4, 3], "", 0, ["holds"]),  # a leader that is not preferred
        (
            ("none", "1,2,3", "", ""),
            [1, 2, 4],
            "4.4",
            13,
            [VIOLATED, "orders-0, stage 1: nobody leads and ISR and ELR are empty: nobody may lead"],
        ),
        (
            ("-1", "1,2,3", "1", ""),
            [4, 5, 6],
            "3.9",
            13,
            [VIOLATED, "orders-0, stage 1: nobody leads: waits for broker 1 (of the ISR)"],
        ),
        # the order alone needs nobody
        (("1", "1,2,3", "1", ""), [1, 3, 2], "", 0, ["holds"]),
    ],
)
def test_the_state_decides_where_a_move_ends(
    state: Sequence[str],
    target: list[int],
    release: str,
    code: int,
    lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert told(capsys, tmp_path, state, target, release) == (code, lines)


def test_a_rollback_of_what_is_under_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The original list again: 4.3 and 4.4 wait for ever for what is both being added and removed."""
    state, columns = ("1", "1,3,2", "1,2", ""), "\tAdding Replicas: 3\tRemoving Replicas: 2\n"
    never = "broker 3 is both being added and removed; a cancellation ends it (--cancel)"
    assert told(capsys, tmp_path, state, [1, 2], "4.4", columns=columns) == (
        13,
        [VIOLATED, f"orders-0, stage 2: never ends: {never}"],
    )
    assert told(capsys, tmp_path, state, [1, 2], "4.2", columns=columns) == (0, ["holds"])
    assert told(capsys, tmp_path, state, [1, 2], columns=columns) == (
        5,
        ["not decided", f"orders-0: Kafka 4.3, 4.4: never ends: {never}; Kafka 3.9 to 4.2: holds"],
    )


def test_unclean_election_decides_if_nobody_leads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its target leads, with an empty log; the other replicas are down, or one would lead by now."""
    state = ("none", "1,2,3", "", "1")
    on = ",unclean.leader.election.enable=true"
    assert told(capsys, tmp_path, state, [4, 5, 6], "4.4")[0] == 13
    assert told(capsys, tmp_path, state, [4, 5, 6], "4.4", on) == (0, ["holds"])
    code, lines = told(capsys, tmp_path, state, [4, 2, 3], "4.2", on)
    assert (code, lines[1]) == (13, "orders-0, stage 2: waits for brokers 2 (offline), 3 (offline)")


def test_observers_are_of_another_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ("1", "1,2,3", "1,2", "")
    assert told(capsys, tmp_path, state, [1, 4, 3], columns="\tObservers: 3\n") == (
        5,
        ["not decided", "orders-0: it has observers (3), of which the rules are not known"],
    )


def test_a_broker_that_is_in_sync_nowhere_is_not_assumed_to_catch_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "".join(f"\tTopic: x\tPartition: {n}\tLeader: 1\tReplicas: 1,4\tIsr: 1\n" for n in range(3))
    code, lines = told(capsys, tmp_path, ("1", "1,2,3", "1,2,3", ""), [1, 2, 4], columns="\n" + more)
    assert (code, lines) == (5, ["not decided", "orders-0: broker 4 is in sync in none of its 3 partitions"])
    well = more.replace("Isr: 1\n", "Isr: 1,4\n", 1)
    assert told(capsys, tmp_path, ("1", "1,2,3", "1,2,3", ""), [1, 2, 4], columns="\n" + well) == (0, ["holds"])


REGISTERED = [record(b, "RegisterBroker", brokerId=b + 1, fenced=False) for b in range(4)]


def of_log(folder: Path, *more: tuple[str, dict[str, object]]) -> Path:
    """A log of one partition on brokers 1, 2 and 3, and more records."""
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "addingReplicas": [], "removingReplicas": [], "leader": 1}
    records = [
        *REGISTERED,
        record(4, "Topic", name="orders", topicId="T"),
        record(5, "Partition", partitionId=0, topicId="T", leaderEpoch=0, partitionEpoch=0, **state),
    ]
    records += [record(6 + n, kind, **data) for n, (kind, data) in enumerate(more)]
    path = folder / "log.txt"
    path.write_text(f"$ kafka-dump-log.sh --cluster-metadata-decoder --files x\nDumping x\n{dump_text(records)}\n")
    return path


CONFIGURED = ("Config", {"resourceType": 2, "resourceName": "orders", "name": "min.insync.replicas", "value": "2"})


@pytest.mark.parametrize(
    ("records", "code", "lines"),
    [
        ([CONFIGURED], 0, ["holds"]),
        (
            [CONFIGURED, ("BrokerRegistrationChange", {"brokerId": 4, "inControlledShutdown": 1})],
            13,
            [VIOLATED, "orders-0, stage 1: waits for broker 4 (in controlled shutdown)"],
        ),
        (
            [CONFIGURED, ("FenceBroker", {"id": 4, "epoch": 1})],
            13,
            [VIOLATED, "orders-0, stage 1: waits for broker 4 (fenced)"],
        ),
        ([CONFIGURED, ("FenceBroker", {"id": 4, "epoch": 1}), ("UnfenceBroker", {"id": 4, "epoch": 1})], 0, ["holds"]),
        (
            [
                CONFIGURED,
                ("FeatureLevel", {"name": "metadata.version", "featureLevel": 30}),
                ("PartitionChange", {"partitionId": 0, "topicId": "T", "isr": [1, 3]}),
            ],
            0,
            ["holds"],
        ),
        (
            [CONFIGURED, ("PartitionChange", {"partitionId": 0, "topicId": "T", "isr": [1, 3]})],
            5,
            ["not decided", "orders-0: Kafka 3.9 to 4.2: waits for broker 2 (out of sync); Kafka 4.3, 4.4: holds"],
        ),
        ([], 5, ["holds"]),  # MinISR of orders is in no record
    ],
)
def test_a_log_says_who_can_catch_up(
    records: list[tuple[str, dict[str, object]]],
    code: int,
    lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log, proposed = of_log(tmp_path, *records), tmp_path / "p.json"
    proposed.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 4]}]}))
    got, out, _ = said(capsys, "plan", f"--cluster={log}", f"--current={log}", f"--proposed={proposed}")
    assert (got, rows(out, "moves_end_as_wanted")) == (code, lines)


def test_a_replica_on_a_broker_that_is_not_registered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The partition is there, so the cluster is read; a target on such a broker is refused, as Kafka does."""
    gone = [
        ("UnregisterBroker", {"brokerId": 3, "brokerEpoch": 1}),
        ("PartitionChange", {"partitionId": 0, "topicId": "T", "isr": [1, 2]}),
    ]
    log, proposed = of_log(tmp_path, CONFIGURED, *gone), tmp_path / "p.json"
    words = [f"--cluster={log}", f"--current={log}", f"--proposed={proposed}"]
    proposed.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 4]}]}))
    code, out, _ = said(capsys, "plan", *words)
    assert (code, rows(out, "moves_end_as_wanted")) == (0, ["holds"])
    proposed.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 3, 4]}]}))
    code, out, _ = said(capsys, "plan", *words)
    assert (code, rows(out, "moves_end_as_wanted")[1]) == (
        13,
        "orders-0, before: Kafka answers INVALID_REPLICA_ASSIGNMENT: broker 3 is not registered",
    )


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_from_a_healthy_state_the_rules_lead_where_the_protocol_does(data: st.DataObject) -> None:
    """By every release: the stages of `kraft` are what Kafka's controller makes if all are in sync."""
    some = st.lists(st.sampled_from(range(1, 7)), min_size=1, max_size=4, unique=True)
    current, target = tuple(data.draw(some)), tuple(data.draw(some))
    if current == target:
        return
    rules = MoveRules(SIX.releases)
    (course,) = rules.of_move(PresentState(in_sync(current)), target, {}, MoveSettings(1, False, None))
    expected = kraft(current, target, PlanRules())[1:]
    assert (course.blocked, len(course.steps)) == ("", len(expected))
    for step, stage in zip(course.steps, expected, strict=True):
        assert (step.replicas, step.certain, step.leader) == (stage.replicas, stage.certain, stage.leader)
        assert sorted(step.adding) == sorted(stage.adding)


def test_moves_that_differ_in_numbers_are_run_once() -> None:
    rules = MoveRules(SIX.releases)
    first = rules.of_move(PresentState(in_sync((1, 2))), (1, 3), {}, MoveSettings(1, False, None))
    other = rules.of_move(PresentState(in_sync((4, 5))), (4, 6), {}, MoveSettings(1, False, None))
    assert (len(rules.courses), first[0].steps[-1].replicas, other[0].steps[-1].replicas) == (1, (1, 3), (4, 6))


def test_states_of_a_log_are_taken_where_the_assignment_is_in_a_file(tmp_path: Path) -> None:
    """The log is the cluster, and the current assignment is in JSON: the log says who is in sync."""
    log = of_log(tmp_path, ("PartitionChange", {"partitionId": 0, "topicId": "T", "isr": [1, 3]}))
    present, current = Present(), {("orders", 0): (1, 2, 3), ("other", 0): (1, 2, 3)}
    present.add(log, None, current)
    assert present.states.keys() == {("orders", 0)}
    ways = Ways(read_cluster(log), current, "kraft", PlanLimits(), {}, present)
    assert [way.blocked for way in ways.of(("orders", 0), (1, 2, 4))] == ["waits for broker 2 (out of sync)", ""]
    moved = Present()
    moved.add(log, None, {("orders", 0): (3, 2, 1)})
    assert moved.states == {}, "a state of other replicas says nothing"


def test_a_plan_below_its_end_is_no_pass() -> None:
    judged = judge_plan(SIX, {ONE: (1, 2)}, {ONE: (1, 4)}, "kraft", PlanLimits())
    assert (judged.blocked, judged.assumed_in_sync, judged.exit().value) == ({}, 1, 12)
    assert {p.name for p in judged.promises.values() if p.breaks} == {"partitions_survive_a_rack"}
