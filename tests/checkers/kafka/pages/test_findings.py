"""The page of findings: what it tells of the ledger, and what it does not know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.kafka.pages import finding_tests, findings
from reassure.checkers.kafka.pages.finding_tests import FindingTest, RunWithFixes
from reassure.checkers.kafka.pages.findings import FindingsRecord
from reassure.checkers.kafka.pages.headlines import HEADLINES, Headline
from reassure.checkers.ledger import verdicts
from reassure.checkers.ledger.ledger import Ledger, LedgerPaths, RecordedResult
from reassure.checkers.ledger.refresh import run_into
from reassure.checkers.ledger.subjects import RunSpec, Subjects
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.models.kraft.kafka_controller import PUBLISHED
from reassure.spec import claims
from reassure.spec.claims import Claim, Reading
from reassure.spec.kafka.releases import rules_in_name

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
        run_into(kept, spec, ["rolling_back_ends"], subjects.of(spec).sha256, Progress(quiet=True), "native")
    claim = Claim("K1", "toys.txt", "It ends.", tuple(readings))
    kept.claims = {claim.id: claim.digest()}
    return verdicts.entries([claim], kept)


def page(
    entries: list[verdicts.Entry],
    notes: dict[str, list[str]],
    tests: dict[str, FindingTest] | None = None,
    headline: Headline = ROLLBACK,
) -> str:
    return findings.findings_markdown(entries, Path("docs"), FindingsRecord(notes, tests or {}), (headline,))


TITLE = "[1. Going back never ends](#1-going-back-never-ends)"


def test_the_table_says_what_the_ledger_says(entries: list[verdicts.Entry]) -> None:
    text = page(entries, {})
    assert "| finding | rules of | ELR | steps | test | with the fixes | promise |" in text
    assert f"| {TITLE} | 4.2 | not needed | none | - | - |  |" in text
    assert "|  | 4.3 | not needed | 2 | - | - |  |" in text
    assert "|  | 4.4 | not needed | not run | - | - |  |" in text


def test_the_table_says_what_came_of_the_tests(entries: list[verdicts.Entry]) -> None:
    tests = {
        "K1, 4.2": FindingTest("4.2.1", "a", "", ""),
        "K1, 4.3": FindingTest("4.3.1", "b", "it goes on", "it goes on", "4.3.1", ""),
    }
    text = page(entries, {}, tests)
    assert f"| {TITLE} | 4.2 | not needed | none | passes on 4.2.1 | - |  |" in text
    assert "|  | 4.3 | not needed | 2 | [fails](findings/K1-4.3.java) on 4.3.1 | passes on 4.3.1 |  |" in text
    assert "The tests, by release: [4.3](findings/K1-4.3.java)." in text
    broken = replace(tests["K1, 4.3"], fixed="it goes on")
    assert "| fails on 4.3.1 |" in page(entries, {}, {"K1, 4.3": broken})


def test_a_release_without_elr_in_production_does_not_count(entries: list[verdicts.Entry]) -> None:
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    needs = replace(case, headline=replace(ROLLBACK, needs_elr=True))
    assert case.counts and needs.counts
    assert replace(case, release="3.9").counts and not replace(needs, release="3.9").counts
    text = page(entries, {}, headline=replace(ROLLBACK, needs_elr=True))
    assert "|  | 4.3 | needed, on by default | 2 | - | - |  |" in text


def test_cases_with_one_test_share_its_file(entries: list[verdicts.Entry]) -> None:
    """It bears the name of the first release; a release whose text differs has a file of its own."""
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    several = [replace(case, release=r) for r in ("4.1", "4.2", "4.3", "4.4")]
    tests = {c.key: FindingTest("", method, "x", "x") for c, method in zip(several, "aabb", strict=True)}
    assert [(n, [c.release for c in of_it]) for n, of_it in findings.tests_of(several, FindingsRecord({}, tests))] == [
        ("K1-4.1.java", ["4.1", "4.2"]),
        ("K1-4.3.java", ["4.3", "4.4"]),
    ]
    assert findings.tests_of(several, FindingsRecord()) == []


def test_the_fewest_steps_are_those_of_any_reading(entries: list[verdicts.Entry]) -> None:
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    longer = replace(case.answer, results={ROLLBACK.property: RecordedResult("step", "violated", 9)})
    assert replace(case, answer=longer).fewest == 8
    assert replace(case, answer=longer, others=(case.answer,)).fewest == 2


def test_the_page_names_the_bounds_of_the_search(entries: list[verdicts.Entry]) -> None:
    run = "`kraft_kafka (admin_requests=2, disturbances=0, shutdowns=0, unclean=off)`"
    (line,) = [line for line in page(entries, {}).splitlines() if line.startswith("**Search.**")]
    assert f"{run}: 4.2 no run (" in line and "; 4.3 2 steps (" in line and line.endswith(" states).")


def test_the_promise_is_quoted_with_its_source(entries: list[verdicts.Entry]) -> None:
    told = replace(ROLLBACK, promise="it ends", source="the manual", introduced="PR 1.")
    text = page(entries, {}, headline=told)
    assert "**Introduced by** PR 1.\n" in text
    assert "| it ends (the manual) |" in text
    assert "**Introduced by**" not in page(entries, {})


def test_the_story_is_that_of_the_trace(entries: list[verdicts.Entry]) -> None:
    text = page(entries, {})
    assert (
        " of 2 steps, 2 requests, 0 failures (3 brokers, replicas [1, 2], ISR {1}, MinISR 2, unclean election off):"
        in text
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


def test_a_reading_that_is_not_decided_is_not_said_to_have_no_run(entries: list[verdicts.Entry]) -> None:
    cases = findings.cases(entries, (ROLLBACK,))
    assert findings._searched(cases).startswith("All states within these bounds were visited; ")
    open_case = next(case for case in cases if not case.violated)
    undecided = replace(open_case.answer, verdict=verdicts.ReadingVerdict.UNDECIDED)
    said = findings._searched([replace(open_case, answer=undecided, others=())])
    assert said.startswith(f"Not decided for {open_case.release}. ") and "undecided" in said and "no run" not in said


def test_a_finding_of_no_reading_is_refused(entries: list[verdicts.Entry]) -> None:
    with pytest.raises(Failure, match=r"^claim K1 has no reading 'large' of Kafka by release$") as caught:
        findings.cases(entries, (replace(ROLLBACK, readings=("large",)),))
    assert caught.value.code is Exit.USAGE


FIXED_RUN = RunWithFixes("4.3.1", 0, 2, "retarget({1, 2})", (("adding", "{3}", ""),), "it goes on", "")


@pytest.mark.parametrize(
    ("run", "wrong"),
    [
        (FIXED_RUN, ""),
        (replace(FIXED_RUN, step=0), "Kafka 4.3.1 with the fixes takes every step of its run"),
        (replace(FIXED_RUN, test="it goes on"), "its run breaks the promise with the fixes: it goes on"),
        (replace(FIXED_RUN, release_test=""), "Kafka 4.3.1 takes its run, and keeps the promise"),
        (replace(FIXED_RUN, release_test="NPE"), "its test fails on Kafka 4.3.1 for another reason: NPE"),
        (replace(FIXED_RUN, release_step=1, test="another error"), ""),
    ],
)
def test_what_is_wrong_with_a_run_on_both_builds(run: RunWithFixes, wrong: str) -> None:
    assert run.wrong("goes on") == wrong


def test_a_run_that_the_release_does_not_take_is_not_called_kept() -> None:
    assert FIXED_RUN.words == "the fixes keep the promise"
    assert replace(FIXED_RUN, release_step=1).words == "it does not occur in Kafka 4.3.1: its step 1 has another result"


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (
            FIXED_RUN,
            "Kafka 4.3.1 takes every step and breaks the promise; with the fixes step 2, `retarget({1, 2})`, gives "
            "adding none instead of {3}, and the same requests keep the promise.",
        ),
        (
            replace(FIXED_RUN, step=0, test="it goes on"),
            "Kafka 4.3.1 takes every step and breaks the promise; with the fixes every step is taken too, and the same "
            "requests break the promise.",
        ),
    ],
)
def test_the_page_tells_the_run_on_both_builds(entries: list[verdicts.Entry], run: RunWithFixes, line: str) -> None:
    (case,) = [c for c in findings.cases(entries, (ROLLBACK,)) if c.violated]
    digest = findings.run_digest(case)
    record = FindingsRecord({}, {}, {digest: run})
    text = findings.findings_markdown(entries, Path("docs"), record, (ROLLBACK,))
    assert f"**With the fixes.** The run of 4.3: {line}" in text
    other = FindingsRecord({}, {}, {digest: replace(run, release_step=1)})
    text = findings.findings_markdown(entries, Path("docs"), other, (ROLLBACK,))
    assert "**With the fixes.** The run of 4.3 does not occur in Kafka 4.3.1: its step 1 has another result.\n" in text


def test_the_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "confirmed.json"
    assert findings.recorded(path) == FindingsRecord()
    tests = {"K1, 4.3": FindingTest("4.3.1", "ab", "it fails", "", "4.3.1", "")}
    data = {"runs": {"abc": ["a class"]}, "tests": finding_tests.outcomes_as_json(tests)}
    path.write_text(json.dumps(data))
    assert findings.recorded(path) == FindingsRecord({"abc": ["a class"]}, tests)
    with_fixes = {"abc": FIXED_RUN}
    path.write_text(json.dumps({**data, "with_fixes": finding_tests.outcomes_as_json(with_fixes)}))
    assert findings.recorded(path) == FindingsRecord({"abc": ["a class"]}, tests, with_fixes)
    for wrong in ("[]", "{", '{"runs": {}}', '{"runs": {}, "tests": {"K1, 4.3": {"other": 1}}}'):
        path.write_text(wrong)
        with pytest.raises(Failure, match="is not a file of confirmations"):
            findings.recorded(path)


def test_every_headline_is_a_reading_of_each_release() -> None:
    """By the claims alone: the ledger need not be fresh. Each begins with every replica in sync."""
    by_id = {c.id: c for c in claims.read()}
    assert len(HEADLINES) == 7
    for headline in HEADLINES:
        named = [(r, *rules_in_name(r.name)) for r in by_id[headline.claim].readings if r.column == "kafka"]
        readings = {(name, release): reading for reading, name, releases in named for release in releases}
        for release in PUBLISHED:
            of_it = [readings.get((name, release.value)) for name in headline.readings]
            assert any(r is not None and headline.property in r.properties for r in of_it)
            for reading in filter(None, of_it):
                if reading.model == "unregistered_fetch":  # it begins so without a setting
                    continue
                assert reading.set.get("initial_isr", 1) in (0, reading.set.get("replication_factor", 2))
