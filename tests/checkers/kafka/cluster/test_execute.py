"""Schedules executed: on a cluster that a test plays, and one on Kafka's own."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.cluster.client import RecordCounts, RequestRefused
from reassure.checkers.kafka.cluster.distribution import distribution
from reassure.checkers.kafka.cluster.effects import (
    Outcome,
    lost_records,
    never_ends,
    nothing_more,
    offline,
    other_replicas,
)
from reassure.checkers.kafka.cluster.execute import Execution, Executor, Waits, Workload
from reassure.checkers.kafka.cluster.observed import SeenState
from reassure.checkers.kafka.cluster.report import cluster_record, logs_text, report_cluster
from reassure.checkers.kafka.cluster.schedule import Schedule, schedule
from reassure.checkers.kafka.cluster.session import ClusterResult, ClusterRun
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.replay import controller_trace
from reassure.checkers.kafka.controller.words import ControllerState
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import printed
from tests.helpers.committed_traces import committed_file, committed_trace

NO_WAIT = Waits(request=0, session=0, step=0, settle=0, bring_up=0, rest=0)


class PlayedWatch:
    """States of a partition that a test appends."""

    def __init__(self) -> None:
        self.states: list[SeenState] = []
        self.controller_epoch = 1

    def watch(self, topic: str, brokers: int) -> None:
        pass

    def poll(self) -> None:
        pass

    def state(self) -> ControllerState | None:
        return self.states[-1].state if self.states else None

    def unfenced(self) -> frozenset[int]:
        return frozenset({1, 2, 3})


class PlayedCluster:
    """Notes what is done to it; each act may append states. answers: errors, by request."""

    def __init__(self, watch: PlayedWatch) -> None:
        self.watch, self.done, self.nodes, self.brokers = watch, list[Any](), dict[int, Any](), list[Any]()
        self.effects: dict[str, list[ControllerState]] = {}
        self.answers: dict[str, str] = {}
        self.metadata = Path()
        self.counts = RecordCounts(100, 40, 60, 0, 40)
        self.listing = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def act(*values: Any) -> Any:
            self.done.append((name, *values))
            self.watch.states += [SeenState(0, state) for state in self.effects.get(name, [])]
            if name in self.answers:
                raise RequestRefused(self.answers[name], "no")
            return {"consume": self.counts, "stop": (101, 100, 1), "listed": self.listing}.get(name)

        return act

    def alive(self) -> None:
        pass


@pytest.fixture
def plan() -> Schedule:
    trace, bound = committed_trace("kraft_kafka_racks", "rolling_back_ends", release="4.4", initial_isr=0)
    return schedule(controller_trace(trace, ModelView(bound)))


@pytest.fixture
def played(plan: Schedule) -> tuple[Executor, PlayedCluster]:
    watch = PlayedWatch()
    cluster = PlayedCluster(watch)
    executor = Executor(cluster, cluster, NO_WAIT, lambda text: None)  # type: ignore[arg-type]
    executor.watch = watch  # type: ignore[assignment]
    cluster.effects["create"] = [plan.start]
    return executor, cluster


def begun(executor: Executor, plan: Schedule, load: Workload) -> Execution:
    execution = executor.begin("run-1", plan, load)
    for step in plan.steps:
        executor.take(step, execution)
    return execution


def test_requests_in_their_order(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, cluster = played
    cluster.effects["reassign"] = [step.expected for step in plan.steps]
    execution = begun(executor, plan, Workload(10, 200, 0))
    assert cluster.done == [
        ("create", "run-1", (1, 2), {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}),
        ("set", "BROKER", "", {"leader.replication.throttled.rate": "1", "follower.replication.throttled.rate": "1"}),
        ("produce", "run-1", 10, 200),
        ("set", "TOPIC", "run-1", {"follower.replication.throttled.replicas": "0:3"}),
        ("reassign", "run-1", (2, 3)),
        ("reassign", "run-1", (1, 2)),
    ]
    assert [step.differs for step in execution.steps] == [(), ()]
    assert execution.difference is None


def test_the_first_difference(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, _ = played
    execution = begun(executor, plan, Workload(0, 200, 0))
    assert execution.difference is execution.steps[0]
    assert execution.steps[0].differs == (
        ("replicas", "[2, 3, 1]", "[1, 2]"),
        ("adding", "{3}", "{}"),
        ("removing", "{1}", "{}"),
        ("partition epoch", "+1", "+0"),
    )


def test_an_answer_that_the_run_has_not(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, cluster = played
    cluster.effects["reassign"] = [step.expected for step in plan.steps]
    cluster.answers["reassign"] = "INVALID_REPLICA_ASSIGNMENT"
    execution = begun(executor, plan, Workload(0, 200, 0))
    assert execution.steps[0].differs == (("answer", "NONE", "INVALID_REPLICA_ASSIGNMENT"),)


def test_a_topic_that_cannot_be_created(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, cluster = played
    cluster.answers["create"] = "INVALID_REPLICATION_FACTOR"
    with pytest.raises(Failure, match="the cluster answers INVALID_REPLICATION_FACTOR: no") as refused:
        executor.begin("run-1", plan, Workload(0, 200, 0))
    assert refused.value.code is Exit.INCONCLUSIVE


def test_the_time_limit(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, _ = played
    executor.deadline = -math.inf
    with pytest.raises(Failure, match="the time limit was reached") as ended:
        executor.begin("run-1", plan, Workload(0, 200, 0))
    assert ended.value.code is Exit.INCONCLUSIVE


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        (RecordCounts(100, 40, 60, 0, 40), Outcome(True, "60 of 100 acknowledged records are lost")),
        (RecordCounts(100, 100, 0, 0, 101), Outcome(False, "0 of 100 acknowledged records are lost")),
    ],
)
def test_lost_records(
    played: tuple[Executor, PlayedCluster], plan: Schedule, counts: RecordCounts, outcome: Outcome
) -> None:
    executor, cluster = played
    cluster.counts = counts
    execution = executor.begin("run-1", plan, Workload(0, 200, 0))
    assert lost_records(executor, plan, execution) == outcome
    assert (execution.sent, execution.failed, execution.records) == (101, 1, counts)


def test_replicas_that_nobody_asked_for(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    executor, cluster = played
    execution = executor.begin("run-1", plan, Workload(0, 200, 0))
    assert other_replicas(executor, plan, execution).observed is False  # [1, 2] was asked for last
    other = replace(plan.start, partition=replace(plan.start.partition, replicas=(2, 3)))  # type: ignore[arg-type]
    cluster.watch.states.append(SeenState(1, other))
    assert other_replicas(executor, plan, execution) == Outcome(
        True, "asked for [1, 2], which was answered NONE, the replicas end as [2, 3]"
    )


def test_what_cannot_be_measured_is_neither_there_nor_not(
    played: tuple[Executor, PlayedCluster], plan: Schedule
) -> None:
    """With the fixes a run has to show no effect: one that cannot be seen would count as none."""
    executor, cluster = played
    execution = executor.begin("run-1", plan, Workload(0, 200, 0))
    cluster.counts = RecordCounts(0, 0, 0, 0, 0)
    with pytest.raises(Failure, match=r"^0 of 0 acknowledged records are lost$") as nothing:
        lost_records(executor, plan, execution)
    cluster.answers["consume"] = "TIMEOUT"
    unread = Execution()
    with pytest.raises(Failure, match=r"^the records could not be read: TIMEOUT: no$"):
        lost_records(executor, plan, unread)
    assert nothing_more(executor, plan, unread) == Outcome(None, "the records could not be read: TIMEOUT: no")
    going_on = replace(
        plan.start,
        partition=replace(plan.start.partition, isr=frozenset({1}), adding=frozenset({3})),  # type: ignore[arg-type]
    )
    cluster.watch.states.append(SeenState(1, going_on))
    with pytest.raises(Failure, match=r"^the reassignment goes on after 0 s$"):
        other_replicas(executor, plan, execution)
    cluster.listing = True
    with pytest.raises(Failure, match=r"^the reassignment goes on, but not every replica came back into the ISR$"):
        never_ends(executor, plan, execution)
    cluster.watch.states.clear()
    with pytest.raises(Failure, match=r"^the metadata log has no such partition$"):
        offline(executor, plan, execution)
    assert nothing.value.code is Exit.INCONCLUSIVE


# -- the report --------------------------------------------------------------------------------------------------


def result_of(played: tuple[Executor, PlayedCluster], plan: Schedule, agrees: bool, observed: bool) -> ClusterResult:
    executor, cluster = played
    cluster.effects["reassign"] = [step.expected for step in plan.steps] if agrees else []
    execution = begun(executor, plan, Workload(0, 200, 0))
    executor.read(execution)
    outcome = Outcome(observed, "text of the effect")
    return ClusterResult(ClusterRun("x.itf.json", "rolling_back_ends", plan), "4.4.0", execution, outcome, 12.3)


@pytest.mark.parametrize(
    ("agrees", "observed", "code"),
    [(True, True, Exit.OK), (True, False, Exit.TRACE), (False, True, Exit.TRACE), (False, False, Exit.TRACE)],
)
def test_exit_codes(
    played: tuple[Executor, PlayedCluster], plan: Schedule, agrees: bool, observed: bool, code: Exit
) -> None:
    result = result_of(played, plan, agrees, observed)
    assert result.code is code
    assert replace(result, failure=Failure(Exit.INCONCLUSIVE, "no")).code is Exit.INCONCLUSIVE
    record = cluster_record(result)
    assert (record["exit_code"], record["observed"]) == (code.value, observed)
    assert record["records"] == {
        "sent": 101, "not_acknowledged": 1, "acknowledged": 100, "readable": 40, "lost": 60, "different": 0, "end": 40,
    }  # fmt: skip
    assert [step["act"] for step in record["steps"]] == ["reassign", "reassign"]
    json.dumps(record)


def test_a_report(played: tuple[Executor, PlayedCluster], plan: Schedule) -> None:
    result = result_of(played, plan, True, True)
    steps = [replace(step, seconds=1.0) for step in result.execution.steps]
    result.execution.steps[:] = steps
    text = printed(lambda console: report_cluster(result, False, console))
    assert text.splitlines() == [
        "Kafka 4.4.0: x.itf.json",
        "  replicas [1, 2], MinISR 2, unclean election not allowed",
        "   1 start({2, 3}): asks for replicas (1.0 s)",
        "       throttled: the copy of broker 3",
        "       as in the run: replicas [2, 3, 1], adding {3}, removing {1}",
        "   2 retarget({1, 2}): asks for replicas (1.0 s)",
        "       throttled: the copy of broker 3",
        "       as in the run: replicas [1, 2, 3], removing {3}",
        "  at the end: no logs",
        "  records: 100 acknowledged, 40 left, 60 lost, 0 different; 1 not acknowledged",
        "rolling_back_ends: observed: text of the effect (12 s)",
    ]
    assert logs_text([]) == "no logs"


# -- refusals and a real cluster ---------------------------------------------------------------------------------

SECONDS = 120
"""What Maven may take."""
SHORTEST = committed_file("kraft_kafka_racks", "rolling_back_ends", release="4.4", initial_isr=0)


def test_without_a_jdk_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    assert main(["kafka", "cluster", str(SHORTEST), "--release", "4.4.0"]) == 153
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reassure: no `javac` on the path")


@pytest.fixture
def jars() -> None:
    """The jars of Kafka 4.4.0's brokers; skips the test where they cannot be fetched."""
    try:
        distribution(release("4.4.0"), SECONDS)
    except Failure as failure:
        pytest.skip(f"Kafka's brokers are not run: {failure}")


@pytest.mark.slow
def test_a_reassignment_that_never_ends_on_real_brokers(
    jars: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shortest run, without a fault: no broker has to be fenced in time on a machine with other work."""
    record = tmp_path / "record.json"
    words = ["kafka", "cluster", str(SHORTEST), "--release", "4.4.0", "--records", "5000", "--json", str(record)]
    assert main([*words, "--quiet"]) == 0
    (run,) = json.loads(record.read_text())["runs"]
    assert run["observed"] is True
    assert [step["differs"] for step in run["steps"]] == [[], []]
    assert (run["records"]["lost"], run["records"]["different"]) == (0, 0)
    assert run["records"]["acknowledged"] >= 5_000
