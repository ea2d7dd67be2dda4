"""The pages from the ledger are what the ledger, its traces and the confirmations give; the front page has the same."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.kafka.controller import findings_command
from reassure.checkers.kafka.pages import findings, measurements, release_matrix
from reassure.checkers.ledger.verdicts import Entry
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.publish import front_page
from reassure.checkers.publish.__main__ import main as publish_main
from tests.helpers.claim_text import ledger_entries

ROOT = publish.ROOT


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return ledger_entries()


@pytest.fixture(scope="module")
def pages(entries: list[Entry]) -> dict[Path, str]:
    return publish.pages(entries)


def test_the_pages_are_fresh(pages: dict[Path, str]) -> None:
    stale = [str(page.relative_to(ROOT)) for page in publish.differing(pages)]
    assert stale == [], "run `python -m reassure.checkers.publish --pages`"


def test_every_run_was_executed_by_kafkas_classes(entries: list[Entry]) -> None:
    """A run that has changed is to be executed anew: `reassure kafka findings`."""
    runs = findings.recorded().runs
    cases = [c for c in findings.cases(entries) if c.counts]
    assert len(cases) == 34
    assert [c.key for c in cases if not runs.get(findings.run_digest(c))] == []


def test_what_was_measured_is_of_the_runs_of_the_page(entries: list[Entry]) -> None:
    """A run that has changed is to be measured anew: `reassure kafka cluster --findings`."""
    runs = {(c.headline.claim, findings.run_digest(c)) for c in findings.cases(entries) if c.counts}
    measured = measurements.measured()
    assert len(measured) > 20
    assert [m.key for m in measured if (m.claim, m.run) not in runs] == []


def test_nothing_is_published_of_a_ledger_that_is_stale(
    entries: list[Entry], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pages would say "holds", or that no release does it, of what nobody has decided."""
    monkeypatch.setattr(publish.verdicts, "entries", lambda *_: entries)
    monkeypatch.setattr(publish.verdicts, "exit_code", lambda found: Exit.EXPECTATION)
    monkeypatch.setattr("reassure.checkers.publish.__main__.session_pages", dict)
    with pytest.raises(Failure, match="the ledger is stale or has other verdicts than expected"):
        publish.project_entries()
    assert publish_main(["--pages"]) == 15
    assert capsys.readouterr().err.startswith("publish: the ledger is stale")


def test_a_test_that_is_not_printed_is_not_published(entries: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(c for c in findings.cases(entries) if c.counts)
    monkeypatch.setattr(publish.sessions, "output", lambda words: "")
    with pytest.raises(Failure, match=r"prints no test$"):
        publish.kafka_test("x.java", case, findings.recorded())


def test_every_test_was_run_as_it_is_printed(entries: list[Entry]) -> None:
    """A text that has changed is to be run anew: `reassure kafka findings`. It does what it has to do."""
    recorded = findings.recorded().tests
    cases = [c for c in findings.cases(entries) if c.headline.in_production(c.release)]
    assert set(recorded) == {c.key for c in cases} and len(cases) == 38
    for case in cases:
        text = findings_command.method_of(case, cases)[1]
        assert hashlib.sha256(text.encode()).hexdigest() == recorded[case.key].method, case.key
        assert findings_command.wrong_outcome(case, recorded[case.key]) == "", case.key
        assert bool(recorded[case.key].message) == case.violated


def test_the_files_of_the_tests_are_those_that_were_run(entries: list[Entry]) -> None:
    record, folder = findings.recorded(), publish.FINDINGS.parent / "findings"
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.java")}
    by_claim: dict[str, list[findings.Case]] = {}
    for case in findings.cases(entries):
        by_claim.setdefault(case.headline.claim, []).append(case)
    groups = [group for several in by_claim.values() for group in findings.tests_of(several, record)]
    assert {name: {record.tests[c.key].method for c in of_it} for name, of_it in groups} == {
        name: {digest} for name, digest in digests.items()
    }


def test_the_index_has_the_findings_of_their_page(pages: dict[Path, str]) -> None:
    """Numbers in the same order, as many steps in the newest release, and tests, a report and a picture of each."""
    folder = publish.FINDINGS.parent / "findings"
    own = pages[publish.FINDINGS]
    told = [line for line in own.splitlines() if re.match(r"## \d", line)]
    rows = [line.split(" | ") for line in pages[folder / "README.md"].splitlines() if re.match(r"\| \d", line)]
    assert [row[0] for row in rows] == [f"| {number}" for number in range(1, 8)] and len(told) == 7
    for row, title in zip(rows, told, strict=True):
        below = own[own.index(f"| [{title[3:]}]") :].split("\n\n")[0].splitlines()
        newest = next(line for line in below if "4.4" in line.split(" | ")[1]).split(" | ")[3]
        assert re.search(rf"4.4: {newest}$", row[4])
        assert 3 <= len(row[1][1:].split("]")[0].split()) <= 4
        claim = row[2][1:].split("]")[0]
        assert {folder / f"{claim}.md", folder / f"{claim}.svg"} <= pages.keys()
        assert f"[picture]({claim}.svg)" in row[5]
        assert (folder / f"{claim}.svg").read_text(encoding="utf-8") == pages[folder / f"{claim}.svg"]
    assert [row[-1] for row in rows].count("- |") == 0
    assert len([path for path in pages if path.suffix == ".java"]) == 12


def test_the_speed_is_the_one_that_was_measured() -> None:
    measured = (
        "core, 5 brokers: 1,989,040 distinct, 13,687,571 generated (...)\n\n"
        "| checker              | median s | min s |\n|---|---|---|\n"
        "| reassure, 1 thread   | 0.239 | 0.231 |\n| reassure, whole command | 0.412 | 0.4 |\n"
        "| reassure, whole command, empty cache | 0.710 | 0.693 |\n"
        "| TLC, 2 workers       | 32.480 | 32.480 |\n\n"
        "| model | configuration |\n|---|---|\n| core | 4 |\n"
    )
    text = front_page.speed(measured)
    assert text.splitlines()[:3] == [
        "| `core`, 5 brokers: 1,989,040 states | reassure, 2 cores | TLC, 2 cores |",
        "|---|---|---|",
        "| whole run | 0.41 s | 32.48 s |",
    ]
    assert "reassure has it compiled in its cache\n(0.71 s with an empty one)." in text


def test_the_matrix_has_a_row_for_each_reading_of_kafka(entries: list[Entry]) -> None:
    """With the steps of the shortest run of a release, and no cell without a verdict."""
    text = release_matrix.matrix_page(entries)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    at = rows.index(["column", "releases"])
    assert rows[at + 4] == ["4.2", "4.1.1, 4.1.2, 4.2.0 to 4.2.2"]
    rows = rows[at + 7 :]
    assert rows[0] == ["claim", "reading", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    (rollback,) = [row for row in rows if row[0].startswith("[K23](")]
    assert rollback[2:] == ["holds", "holds", "holds", "holds", "**2**", "**2**"]
    assert [row for row in rows if "" in row[-6:]] == []
