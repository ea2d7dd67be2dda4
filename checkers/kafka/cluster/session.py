"""Runs executed one after the other on a cluster that is started for them.

Also here: `reassure kafka cluster --findings`: the runs of the page of findings on clusters of real brokers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.kafka.cluster.client import ClusterClient
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.effects import (
    EFFECTS,
    LAST,
    LATE_FETCH,
    LATE_FETCH_PROMISE,
    LATE_FETCH_SETTINGS,
    PAUSED,
    Outcome,
    nothing_more,
)
from reassure.checkers.kafka.cluster.execute import Execution, Executor, Waits, Workload, schedule_of
from reassure.checkers.kafka.cluster.processes import Cluster
from reassure.checkers.kafka.cluster.schedule import Schedule, schedule
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import trace_of_controller
from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.measurements import MeasuredRun, Measurement
from reassure.checkers.ledger import verdicts
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure

WAITS = Waits()


@dataclass(frozen=True)
class ClusterRun:
    """A run to execute. name: of its file. promise: the property that it violates, or "".

    fixed: the build has the fixes, with which the run has to show no effect, and to lose nothing. load: None: the
    command's. settings: of the brokers of its cluster.
    """

    name: str
    promise: str
    plan: Schedule
    fixed: bool = False
    load: Workload | None = None
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ClusterResult:
    """A run executed. outcome: None where a failure ended it, which is `failure` then."""

    run: ClusterRun
    release: str
    execution: Execution
    outcome: Outcome | None
    seconds: float
    failure: Failure | None = None

    @property
    def code(self) -> Exit:
        """0 the effect was observed, 18 the cluster did something else, else the failure's; with the fixes 18 if it was
        observed, or a record is lost or read with another content."""
        if self.failure is not None:
            return self.failure.code
        if self.run.fixed and self.outcome is not None:
            records = self.execution.records
            broken = records is not None and (records.lost or records.different)
            return Exit.TRACE if self.outcome.observed or broken else Exit.OK
        seen = self.outcome is not None and self.outcome.observed is not False
        return Exit.OK if seen and self.execution.difference is None else Exit.TRACE


@dataclass(frozen=True)
class ClusterLimits:
    """place: the folder to keep, or None. seconds: for everything together, or None. memory: bytes, or None."""

    place: Path | None = None
    seconds: float | None = None
    memory: int | None = None


@contextmanager
def started_cluster(
    kafka: Distribution, brokers: int, elr: bool, limits: ClusterLimits, tell: Callable[[str], None],
    waits: Waits = WAITS, settings: Mapping[str, str] = {}, gated: bool = False, logged: bool = False,
) -> Iterator[Executor]:  # fmt: skip
    """A cluster whose processes are being started, with its client; `Failure` if it cannot be started.

    settings, gated, logged: as of `Cluster`.
    """
    deadline = time.monotonic() + (limits.seconds if limits.seconds is not None else math.inf)
    with Cluster(kafka, brokers, elr, limits.place, limits.memory, settings, gated, logged) as cluster:
        tell("formatting")
        cluster.format()
        for number in cluster.nodes:
            cluster.start(number)
        with ClusterClient(cluster) as client:
            yield Executor(cluster, client, waits, tell, deadline)


def execute_runs(
    kafka: Distribution,
    runs: Sequence[ClusterRun],
    load: Workload,
    limits: ClusterLimits,
    tell: Callable[[str], None],
    waits: Waits = WAITS,
) -> Generator[ClusterResult, None, None]:
    """Executes runs on one cluster, those that leave it without a controller last; yields each result at once.

    `Failure` if the cluster cannot be started. Runs with and without ELR need clusters of their own, as do runs with
    other settings.
    """
    ordered = sorted(runs, key=lambda run: run.promise in LAST)
    brokers, elr = max(run.plan.brokers for run in runs), runs[0].plan.elr
    settings = dict(runs[0].settings)
    with started_cluster(kafka, brokers, elr, limits, tell, waits, settings, logged=bool(settings)) as executor:
        executor.bring_up()
        for number, run in enumerate(ordered, 1):
            result = _executed(executor, f"run-{number}", run, run.load or load)
            yield result
            if result.failure is not None and result.failure.code is Exit.SYSTEM:
                break
            if number < len(ordered) and run.promise not in LAST:
                executor.bring_up()


def _executed(executor: Executor, topic: str, run: ClusterRun, load: Workload) -> ClusterResult:
    began, execution = time.monotonic(), Execution()
    outcome, failure = None, None
    try:
        execution = executor.begin(topic, run.plan, load)
        for step in run.plan.steps:
            executor.take(step, execution)
        outcome = EFFECTS.get(run.promise, nothing_more)(executor, run.plan, execution)
    except Failure as error:
        failure = error
    version = executor.cluster.kafka.release.version
    return ClusterResult(run, version, execution, outcome, time.monotonic() - began, failure)


def cases_of(kafka: Release) -> list[Case]:
    """The findings that a release has by the rules that it goes by; `Failure` if it has none."""
    cases = [case for case in findings.cases(verdicts.of_project()) if case.release == kafka.rules and case.counts]
    if not cases:
        raise UsageFailure(f"no finding is known of Kafka {kafka.version}")
    return cases


def run_of(case: Case) -> ClusterRun:
    """The run of a finding, named by the finding's claim."""
    promise = case.headline.property
    if promise == LATE_FETCH_PROMISE:
        return late_fetch_run(case.headline.claim)
    trace, bound = verdicts.trace_of(case.answer, promise)
    try:
        plan = schedule(trace_of_controller(trace, bound), promise in PAUSED)
    except Failure as failure:
        raise Failure(failure.code, f"claim {case.headline.claim}: {failure}") from None
    return ClusterRun(case.headline.claim, promise, plan)


def late_fetch_run(name: str) -> ClusterRun:
    """The run of `unregistered_fetch`: its steps are of processes, fetches and logs, which `late_fetch` executes."""
    plan = schedule_of((1,), 2, 1)
    return ClusterRun(name, LATE_FETCH_PROMISE, plan, load=LATE_FETCH, settings=LATE_FETCH_SETTINGS)


def measurements(kafka: Release, cases: Sequence[Case], results: Sequence[ClusterResult]) -> list[Measurement]:
    """The measurements of a release's results; those that a failure ended are left out."""
    digest = {case.headline.claim: findings.run_digest(case) for case in cases}
    release = kafka.stated
    return [
        Measurement(result.run.name, release, bool(kafka.build), digest[result.run.name], (_measured_run(result),))
        for result in results
        if result.outcome is not None
    ]


def _measured_run(result: ClusterResult) -> MeasuredRun:
    records, outcome = result.execution.records, result.outcome
    assert outcome is not None
    return MeasuredRun(
        observed=outcome.observed is True,
        as_in_run=result.execution.difference is None,
        acknowledged=records.acknowledged if records is not None else None,
        lost=records.lost if records is not None else None,
        effect=outcome.text,
        seconds=round(result.seconds),
    )
