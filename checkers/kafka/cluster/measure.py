"""`reassure kafka cluster --findings`: the runs of the page of findings on clusters of real brokers."""

from __future__ import annotations

from collections.abc import Sequence

from reassure.checkers.kafka.cluster.effects import PAUSED
from reassure.checkers.kafka.cluster.schedule import schedule
from reassure.checkers.kafka.cluster.session import ClusterResult, ClusterRun
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import controller_trace
from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.measurements import MeasuredRun, Measurement
from reassure.checkers.ledger import ledger, verdicts
from reassure.checkers.machine.exit_codes import Failure, UsageFailure
from reassure.spec import claims


def cases_of(kafka: Release) -> list[Case]:
    """The findings that a release has by the rules that it goes by; `Failure` if it has none."""
    entries = verdicts.entries(claims.read(), ledger.read())
    cases = [case for case in findings.cases(entries) if case.release == kafka.rules and case.counts]
    if not cases:
        raise UsageFailure(f"no finding is known of Kafka {kafka.version}")
    return cases


def run_of(case: Case) -> ClusterRun:
    """The run of a finding, named by the finding's claim."""
    promise = case.headline.property
    trace, bound = verdicts.trace_of(case.answer, promise)
    try:
        plan = schedule(controller_trace(trace, ModelView(bound)), promise in PAUSED)
    except Failure as failure:
        raise Failure(failure.code, f"claim {case.headline.claim}: {failure}") from None
    return ClusterRun(case.headline.claim, promise, plan)


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
