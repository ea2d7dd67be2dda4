"""The page of findings: what it tells of the ledger, and what it does not know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.progress import Progress
from reassure.checkers.evidence import findings, verdicts
from reassure.checkers.evidence.headlines import HEADLINES, Headline
from reassure.checkers.evidence.ledger import Ledger, LedgerPaths
from reassure.checkers.evidence.refresh import _run as record_of
from reassure.checkers.evidence.run_spec import RunSpec
from reassure.checkers.evidence.subjects import Subjects
from reassure.models.kraft.kafka_controller import Release
from reassure.spec import claims
from reassure.spec.claims import Claim, Reading

ROLLBACK = Headline("Going back never ends", "K1", ("small",), "rolling_back_ends", "It stays.", "A rule.")
SETTINGS = {"admin_requests": 2, "disturbances": 0, "shutdowns": 0, "unclean": "off"}


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[verdicts.Entry]:
    """A claim of its own, decided for 4.2 and 4.3, and not run for 4.4."""
    folder = tmp_path_factory.mktemp("ledger")
    readings = [
        Reading(
            name=f"small, Kafka {release}",
            method="check",
            model="kraft_kafka",
            set={**SETTINGS, "release": release},
            properties=("rolling_back_ends",),
            column="kafka",
        )
        for release in ("4.2", "4.3", "4.4")
    ]
    kept = Ledger(paths=LedgerPaths(folder / "ledger.json", folder / "counterexamples"))
    subjects = Subjects()
    for reading in readings[:2]:
        spec = RunSpec.of(reading)
        found = record_of(
            spec, ["rolling_back_ends"], subjects.of(spec).sha256, Progress(quiet=True), kept.paths, "native"
        )
        kept.records[spec.key] = found
    return verdicts.entries([Claim("K1", "toys.txt", "It ends.", tuple(readings))], kept)


def page(entries: list[verdicts.Entry], notes: dict[str, list[str]]) -> str:
    return findings.markdown(entries, Path("docs"), notes, (ROLLBACK,))


def test_the_table_says_what_the_ledger_says(entries: list[verdicts.Entry]) -> None:
    lines = page(entries, {}).splitlines()
    assert "|  | 4.2 | 4.3 | 4.4 |" in lines
    assert (
        "| [1. Going back never ends](#1-going-back-never-ends) | none within the bounds | 2 steps | not run |" in lines
    )


def test_the_story_is_that_of_the_trace(entries: list[verdicts.Entry]) -> None:
    text = page(entries, {})
    assert (
        "**In 4.3**, 2 steps, 2 requests, 0 failures (3 brokers, replicas [1, 2], ISR {1}, MinISR 2, "
        "unclean election off):" in text
    )
    (first, second) = [line for line in text.splitlines() if line[:2] in ("1.", "2.")]
    assert first.startswith("1. The administrator asks for replicas {") and "adding {} → {3}" in first
    assert second.startswith("2. The administrator asks for replicas {") and second.endswith("*")
    assert "**Confirmed.** Not executed: 4.3." in text


def test_what_kafkas_classes_did_is_of_this_very_run(entries: list[verdicts.Entry]) -> None:
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    digest = findings.run_digest(case)
    assert "with the same outcome. a class: 4.3." in page(entries, {digest: ["a class"]})
    assert "**Confirmed.** Not executed: 4.3." in page(entries, {"another run": ["a class"]})


def test_a_run_is_told_by_its_release_and_its_states(
    entries: list[verdicts.Entry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    digest, data = findings.run_digest(case), json.loads(case.path.read_text())
    assert findings.run_digest(replace(case, release="4.4")) != digest
    other = tmp_path / "other.itf.json"
    monkeypatch.setattr(findings.Case, "path", other)
    other.write_text(json.dumps({**data, "#meta": {}}))
    assert findings.run_digest(case) == digest
    other.write_text(json.dumps({**data, "states": data["states"][:-1]}))
    assert findings.run_digest(case) != digest


def test_a_finding_of_no_reading_is_refused(entries: list[verdicts.Entry]) -> None:
    with pytest.raises(Failure, match=r"^claim K1 has no reading 'large' of Kafka by release$") as caught:
        findings.cases(entries, (replace(ROLLBACK, readings=("large",)),))
    assert caught.value.code is Exit.USAGE


def test_confirmations_are_read(tmp_path: Path) -> None:
    path = tmp_path / "confirmed.json"
    assert findings.confirmations(path) == {}
    path.write_text('{"runs": {"abc": ["a class"]}}')
    assert findings.confirmations(path) == {"abc": ["a class"]}
    path.write_text("[]")
    with pytest.raises(Failure, match="is no file of confirmations"):
        findings.confirmations(path)


def test_every_headline_is_a_reading_of_each_release() -> None:
    """By the claims alone: the ledger need not be fresh."""
    by_id = {c.id: c for c in claims.read()}
    assert len(HEADLINES) == 6
    for headline in HEADLINES:
        readings = {r.name: r for r in by_id[headline.claim].readings if r.column == "kafka"}
        for release in Release:
            of_it = [readings.get(f"{name}, Kafka {release.value}") for name in headline.readings]
            assert any(r is not None and headline.property in r.properties for r in of_it)
