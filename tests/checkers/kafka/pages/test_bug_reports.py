"""The reports of the findings for Kafka's developers."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.pages import findings
from reassure.checkers.kafka.pages.bug_reports import FIXES, bug_reports
from reassure.checkers.kafka.pages.findings import Case
from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.kafka.pages.measurements import MeasuredRun, Measurement, measured
from reassure.checkers.ledger import verdicts
from reassure.checkers.ledger.ledger import PATHS

LOSS = MeasuredRun(True, True, 100, 60, "60 of 100 acknowledged records are lost", 34)
OTHERWISE = MeasuredRun(True, False, 100, 10, "10 of 100 acknowledged records are lost", 34)
NONE = MeasuredRun(False, False, 100, 0, "0 of 100 acknowledged records are lost", 40)
MEASURED = [
    Measurement("K21", "4.3.1", True, "a", (NONE, NONE)),
    Measurement("K21", "4.3.1", False, "a", (OTHERWISE,)),
    Measurement("K21", "4.4.0", False, "a", (OTHERWISE, LOSS)),
]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return findings.cases(verdicts.of_project())


def test_every_finding_has_a_report_and_a_fix(cases: list[Case]) -> None:
    reports = bug_reports(cases, findings.recorded(), [])
    assert set(reports) == {f"{headline.claim}.md" for headline in HEADLINES}
    for headline in HEADLINES:
        text, fix = reports[f"{headline.claim}.md"], FIXES[headline.claim]
        assert text.startswith(f"# {headline.title}\n")
        assert f"[{fix}]({fix})" in text
        assert (PATHS.traces.parent / "docs" / "findings" / fix).is_file()
        assert ("eligible.leader.replicas.version=1" in text) is headline.needs_elr
        assert "**Observed.** Not run on a cluster." in text


def test_what_was_measured(cases: list[Case]) -> None:
    text = bug_reports(cases, findings.recorded(), MEASURED)["K21.md"]
    (observed,) = (line for line in text.splitlines() if line.startswith("**Observed.**"))
    assert observed == (
        "**Observed.** 1 of 2 runs on a cluster of 4.4.0: 60 of 100 acknowledged records are lost. "
        "0 of 1 runs on a cluster of 4.3.1: 10 of 100 acknowledged records are lost."
    )
    (fix,) = (line for line in text.splitlines() if line.startswith("**Fix.**"))
    assert fix.endswith(
        "With the project's fixes on a cluster of 4.3.1, 2 of 2 runs without the effect: "
        "0 of 100 acknowledged records are lost."
    )
    assert "**Affected versions.** 4.0.0 to 4.0.2, 4.1.0, " in text
    assert (
        "the rules of their controllers. Seen on clusters of 4.4.0. Not seen on a cluster of 4.3.1: 10 of 100 ackn"
        in text
    )
    assert "2. The administrator asks for replicas {1, 3}." in text


def test_versions_on_whose_clusters_the_effect_was_not_seen_are_named(cases: list[Case]) -> None:
    text = bug_reports(cases, findings.recorded(), measured())["K24.md"]
    (versions,) = (line for line in text.splitlines() if line.startswith("**Affected versions.**"))
    assert versions.endswith(
        "Seen on clusters of 4.1.2, 4.2.2, 4.3.1, 4.4.0. "
        "Not seen on a cluster of 4.0.2: the controller's epoch rises by 2 (from 1); broker 1 is registered."
    )
    assert "Not seen" not in bug_reports(cases, findings.recorded(), measured())["K21.md"]


def test_a_cancellation_is_judged_by_the_sentence_that_its_fix_keeps(cases: list[Case]) -> None:
    """The fix keeps the ELR within the replicas; it refuses no cancellation."""
    text = bug_reports(cases, findings.recorded(), [])["K20.md"]
    assert "the ELR only contains replicas in the final replica set" in text
    assert "min ISR requirement is also enforced" not in text
    assert "repeat-a-finding-by-hand.md#2-committed-records-are-lost-after-a-cancelled-reassignment" in text
