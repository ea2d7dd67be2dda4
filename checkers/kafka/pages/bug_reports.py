"""A report for Kafka's developers of each finding, made from the ledger, the runs, the tests and the measurements."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.findings import Case, FindingsRecord
from reassure.checkers.kafka.pages.headlines import Headline
from reassure.checkers.kafka.pages.measurements import Measurement
from reassure.checkers.ledger.markdown import BY
from reassure.checkers.ledger.pages import relative
from reassure.spec.kafka.releases import releases_text

FIXES = {
    "K20": "fix-elr-of-replicas.patch",
    "K21": "fix-elr-of-replicas.patch",
    "K14": "fix-reassignment-as-requested.patch",
    "K23": "fix-reassignment-as-requested.patch",
    "K24": "fix-last-known-leader-is-a-replica.patch",
    "K18": "fix-elr-outlives-minisr.patch",
    "K25": "no-join-without-epoch.patch",
}
"""The project's fix, by the claim of the finding; in the folder of the reports."""
BY_HAND = "../how-to/repeat-a-finding-by-hand.md"


def bug_reports(cases: list[Case], record: FindingsRecord, measured: list[Measurement]) -> dict[str, str]:
    """The reports by file name, of each finding that some release has."""
    reports = {}
    for number, (headline, of_it) in enumerate(groupby(cases, lambda case: case.headline), 1):
        several = list(of_it)
        if any(case.counts for case in several):
            measurements = [m for m in measured if m.claim == headline.claim]
            reports[f"{headline.claim}.md"] = _report(number, several, record, measurements)
    return reports


def _report(number: int, cases: list[Case], record: FindingsRecord, measured: list[Measurement]) -> str:
    headline = cases[0].headline
    broken = [case for case in cases if case.counts]
    last = broken[-1]
    trace = Path("../..") / relative(last.path)
    parts = [
        f"# {headline.title}",
        f"{BY}, to be filed at issues.apache.org/jira, project KAFKA, component `controller`.",
        f"**Affected versions.** {affected_versions(broken, measured)}",
        headline.breaks,
        f"**Steps**, in {last.release} ({findings.setting_of(last)}):",
        f"![{headline.title}]({headline.claim}.svg)",
        "\n".join(findings.story_of(last)),
        f"**Expected.** {expected_words(headline)}",
        f"**Observed.** {observed_words(measured)}",
        f"**Cause.** {headline.cause} Introduced by: {headline.introduced}",
    ]
    parts += [f"**Workaround.** {headline.helps}"] if headline.helps else []
    fix = FIXES[headline.claim]
    fixed = [m for m in measured if m.fixed]
    parts.append(f"**Fix.** [{fix}]({fix}), which `reassure kafka build` applies. {fixed_words(fixed)}".strip())
    tests = [f"[{name}]({name}) ({', '.join(c.release for c in of)})" for name, of in findings.tests_of(cases, record)]
    if tests:
        parts.append(f"**Tests**, methods of `ReplicationControlManagerTest` that fail: {', '.join(tests)}.")
    parts.append(
        f"**To repeat it on real brokers**: `reassure kafka cluster` with [the run]({trace}), or "
        f"[a script]({BY_HAND}#{findings.anchor(number, headline)}) that needs Kafka's shell tools alone."
    )
    parts.append(
        f"**To file it**: `reassure kafka report {headline.claim} --out DIR` writes priority, preconditions, script, "
        "and one diff of fix and test for a checkout of Kafka."
    )
    return "\n\n".join(parts) + "\n"


def affected_versions(broken: list[Case], measured: list[Measurement]) -> str:
    """The releases whose rules have a run of it, and the clusters on which its effect was not seen.

    broken: the cases of one finding that count. measured: of it.
    """
    elr = (
        ", with eligible leader replicas (`eligible.leader.replicas.version=1`)" if broken[0].headline.needs_elr else ""
    )
    released = [m for m in measured if not m.fixed]
    seen = ", ".join(m.release for m in released if m.seen)
    unseen = [f"{m.release}: {m.runs[0].effect}" for m in released if not m.seen]
    parts = [f"{', '.join(releases_text(case.release) for case in broken)}{elr}, by the rules of their controllers."]
    parts += [f"Seen on clusters of {seen}."] if seen else []
    parts += [f"Not seen on a cluster of {'; '.join(unseen)}."] if unseen else []
    return " ".join(parts)


def expected_words(headline: Headline) -> str:
    """What Kafka promises instead, with its source."""
    if headline.source:
        return f'"{headline.promise}" ({headline.source}).'
    return f"No document is needed: {headline.promise.removeprefix('none is needed: ')}."


def observed_words(measured: list[Measurement]) -> str:
    """Clusters on which the effect was seen, and on which it was not."""
    parts = []
    for m in (m for m in measured if not m.fixed):
        count = f"{m.seen} of {len(m.runs)} runs on a cluster of {m.release}"
        first = next((run for run in m.runs if run.observed and run.as_in_run), m.runs[0])
        parts.append(f"{count}: {first.effect}.")
    return " ".join(parts[::-1]) or "Not run on a cluster."


def fixed_words(fixed: list[Measurement]) -> str:
    """Clusters with the project's fixes."""
    return " ".join(
        f"With the project's fixes on a cluster of {m.release}, {sum(not run.observed for run in m.runs)} of "
        f"{len(m.runs)} runs without the effect: {m.runs[0].effect}."
        for m in fixed
    )
