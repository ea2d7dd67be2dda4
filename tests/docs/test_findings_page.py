"""The pages from the ledger are what the ledger, its traces and the confirmations give; the front page has the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.evidence import findings, release_matrix
from reassure.checkers.evidence.verdicts import Entry
from reassure.checkers.publish import front_page
from tests.helpers.ledger_entries import ledger_entries

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
    confirmed = findings.confirmations()
    cases = [c for c in findings.cases(entries) if c.violated]
    assert len(cases) > 20
    assert [f"{c.headline.claim}, {c.release}" for c in cases if not confirmed.get(findings.run_digest(c))] == []


def test_the_front_page_has_the_findings_of_their_page(pages: dict[Path, str]) -> None:
    """The same titles, in the same order, as many steps in the newest release, and a test of each."""
    front = pages[ROOT / "README.md"]
    own = pages[publish.FINDINGS]
    told = [line for line in own.splitlines() if line.startswith("## ")]
    rows = [line for line in front.splitlines() if line.startswith("| [") and "docs/findings.md#" in line]
    assert len(rows) == len(told) == 6
    for row, title in zip(rows, told, strict=True):
        name = title.split(". ", 1)[1]
        assert row.startswith(f"| [{name}](docs/findings.md#")
        newest = next(line for line in own.splitlines() if line.startswith(f"| [{title[3:]}]")).split(" | ")[-1]
        assert row.split(" | ")[1].endswith(f"4.4: {newest.split()[0]}")
    assert [row.split(" | ")[-1] for row in rows].count("- |") == 0
    assert len([path for path in pages if path.suffix == ".java"]) == 6


def test_the_speed_is_the_one_that_was_measured() -> None:
    measured = (
        "core, 5 brokers: 1,989,040 distinct, 13,687,571 generated (...)\n\n"
        "| checker              | median s | min s |\n|---|---|---|\n"
        "| reassure, 1 thread   | 0.239 | 0.231 |\n| TLC, 2 workers       | 32.480 | 32.480 |\n\n"
        "| model | configuration |\n|---|---|\n| core | 4 |\n"
    )
    text = front_page.speed(measured)
    assert "(1,989,040 states, 13,687,571 steps)" in text
    assert "| reassure, 1 thread | TLC, 2 workers |\n|---|---|\n| 0.24 s | 32.48 s |" in text


def test_the_matrix_has_a_row_for_each_reading_of_kafka(entries: list[Entry]) -> None:
    """With the steps of the shortest run of a release, and no cell without a verdict."""
    text = release_matrix.page(entries)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    at = rows.index(["column", "releases"])
    assert rows[at + 4] == ["4.2", "4.1.1, 4.1.2, 4.2.0 to 4.2.2"]
    rows = rows[at + 7 :]
    assert rows[0] == ["claim", "reading", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    (rollback,) = [row for row in rows if row[0].startswith("[K23](")]
    assert rollback[2:] == ["holds", "holds", "holds", "holds", "**2**", "**2**"]
    assert [row for row in rows if "" in row[-6:]] == []
