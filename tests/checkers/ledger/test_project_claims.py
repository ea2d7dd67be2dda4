"""The claims of the project: each is there, and the ledger is fresh."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.ledger import pages as ledger_page
from reassure.checkers.ledger import verdicts
from reassure.checkers.ledger.html_page import claims_html
from reassure.checkers.machine.progress import Progress
from reassure.checkers.publish.model_pages import ACROSS, PROTOCOLS
from reassure.checkers.request.model_loader import function
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.properties_here import of_each_configuration
from reassure.spec import claims
from reassure.spec.kafka.shared_properties import PROMISES
from reassure.spec.semantics.trace import read_itf
from tests.helpers.browser import WIDTHS, chromium, faults
from tests.helpers.html_page import read_page

NUMBERS = {"K": 25, "B": 18, "I": 9, "T": 14, "R": 12, "X": 3}
"""How many claims there are, by document."""
SEVERAL = {"K1", "K2", "K3", "K5", "K7", "K8", "K9", "K12", "K13", "K14", "K15"}
NAMED, BECAUSE = 54, 16
"""How many quantifiers the statements have, and how many of them have a reason instead of a cover or of cases."""


@pytest.fixture(scope="module")
def found() -> list[verdicts.Entry]:
    return verdicts.of_project()


def test_every_claim_is_there(found: list[verdicts.Entry]) -> None:
    assert {e.claim.id for e in found} == {
        f"{letter}{n}" for letter, most in NUMBERS.items() for n in range(1, most + 1)
    }


def test_the_ledger_is_fresh_and_says_what_is_expected(found: list[verdicts.Entry]) -> None:
    """Fails when a model, a claim or a verdict has changed without its record: `reassure claims --refresh`."""
    wrong = []
    for entry in found:
        for answer in entry.answers:
            where = f"{entry.claim.id}, {answer.reading.name}"
            if answer.stale:
                wrong.append(f"{where}: {answer.stale}")
            if answer.differs:
                wrong.append(f"{where}: {answer.verdict}, expected {answer.reading.expect}")
            if answer.unstated:
                wrong.append(f"{where}: {answer.verdict}, and no expectation")
    assert wrong == []


def test_nothing_is_left_open(found: list[verdicts.Entry]) -> None:
    """Of no property, those about whole runs included."""
    for entry in found:
        for answer in entry.answers:
            assert answer.verdict not in ("open", "not-decided"), f"{entry.claim.id}, {answer.reading.name}"


def test_every_quantifier_has_a_cover_that_makes_it_more_than_one(found: list[verdicts.Entry]) -> None:
    """Of one thing "all" and "some" are the same. A quantifier without a cover names the bound, or the reason."""
    assert {e.claim.id: e.unshown() for e in found if e.unshown()} == {}
    named = [q for e in found for q in e.claim.quantifiers]
    assert (len(named), sum(not q.by for q in named)) == (NAMED, BECAUSE)


def test_claims_of_several_added_replicas_are_proved_for_any_number_of_brokers(found: list[verdicts.Entry]) -> None:
    """And searched with four brokers, where two can be added at once, and with three replicas."""
    brokers, replicas = {"brokers": 4, "unclean": "off"}, {"replication_factor": 3, "initial_isr": 0}
    for entry in (e for e in found if e.claim.id in SEVERAL):
        held = [a.reading for a in entry.answers if a.verdict == "holds" and a.reading.column == "document"]
        assert [r.set for r in held if r.method == claims.ANY_NUMBER] == [{"unclean": "off"}], entry.claim.id
        searched = [r.set for r in held if r.method == "check"]
        assert brokers in searched and brokers | replicas in searched, entry.claim.id


def test_functions_still_say_what_the_ledger_says(found: list[verdicts.Entry]) -> None:
    """They are quick enough to be asked each time. `models/kip36_racks/test_placement.py` asks those of placement."""
    by_cases = [a for e in found for a in e.answers if a.reading.function is not None and a.record is not None]
    by_cases = [a for a in by_cases if ".placement_cases:" not in str(a.reading.function)]
    assert len(by_cases) > 80
    for answer in by_cases:
        outcome = function(str(answer.reading.function))()
        assert answer.record is not None
        assert (outcome.holds, outcome.cases, outcome.bounds, outcome.counterexample or "") == (
            answer.verdict == "holds",
            answer.record.cases,
            answer.record.covered,
            answer.record.counterexample,
        )


def test_a_small_run_still_says_what_the_ledger_says(found: list[verdicts.Entry]) -> None:
    """The engines may change without a model's text doing so."""
    records = {a.run: a.record for e in found for a in e.answers if a.record is not None and a.run.method == "check"}
    wanted, record = min(records.items(), key=lambda pair: pair[1].stats["generated"])
    verdict, _ = run(
        CheckRequest(wanted.subject, list(wanted.settings), "reference", SearchOptions()), Progress(quiet=True)
    )
    stats = {"distinct": verdict.stats.distinct, "generated": verdict.stats.generated, "depth": verdict.stats.depth}
    assert stats == record.stats
    statuses = {p.name: (p.status, len(p.trace) if p.trace else None) for p in verdict.properties}
    statuses |= {c.name: ("reached" if c.reached else "not_reached", c.depth) for c in verdict.covers}
    assert statuses == {name: (r.status, r.states) for name, r in record.results.items()}


def test_every_refutation_has_its_trace(found: list[verdicts.Entry]) -> None:
    """As long as the record says; that it replays, and shows what it should, tests/test_docs.py asks of all of them."""
    told = 0
    for answer in (a for e in found for a in e.answers if a.verdict == "violated" and a.reading.function is None):
        assert answer.violated or "not_reached" in {r.status for r in answer.results.values()}
        for name, result in answer.violated.items():
            data = read_itf(answer.traces[name])
            named = {n for meta in of_each_configuration(data["#meta"]) for n in meta["properties"]}
            assert len(data["states"]) == result.states and name in named
            told += 1
    assert told >= 20


def test_the_table_has_no_empty_cell(found: list[verdicts.Entry]) -> None:
    rows = verdicts.promise_table(found)
    assert len(rows) == 7
    for answer, cells in rows:
        limited = answer.run.subject in ("batching", "batching_literal")
        names = [p.name for p in PROMISES if limited or p.name != "limits_are_kept"]
        assert list(answer.reading.properties) == names
        assert len(cells) == len(PROMISES)
        for promise, cell in zip(PROMISES, cells, strict=True):
            told = ledger_page.cell(answer, cell)
            if promise.name in names:
                assert told and cell is not None
            else:  # it would hold for want of any
                assert told == "not declared"


def test_the_pages_of_models_have_the_claims(found: list[verdicts.Entry]) -> None:
    """Each document has a page beside its protocol, or beside the index, with a section for each claim."""
    models = Path(__file__).parents[3] / "models"
    folders = {letter: models / protocol for protocol, (_, letter) in PROTOCOLS.items()} | {ACROSS: models}
    for entry in found:
        folder = folders[entry.claim.id[0]] / "claims"
        page = (folder / "README.md").read_text(encoding="utf-8")
        assert [path.name for path in folder.iterdir()] == ["README.md"]
        index, *sections = re.split(r"^## (?=[A-Z]\d)", page, flags=re.MULTILINE)
        (text,) = (section for section in sections if section.startswith(f"{entry.claim.id}\n"))
        standing = ledger_page.standing(entry)
        assert f"\n\n{standing[0].upper()}{standing[1:]}. " in text and f"\n> {entry.claim.statement}\n" in text
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        quantified = len(entry.claim.quantifiers)
        assert len(rows) == 1 + len(entry.answers) + quantified + (quantified > 0)
        assert "nothing shows it" not in text
        assert f"| [{entry.claim.id}](#{entry.claim.id.lower()}) | {standing} | {entry.claim.statement} |" in index


def test_the_page_of_the_project(found: list[verdicts.Entry]) -> None:
    reader = read_page(claims_html(found))
    for entry in found:
        assert entry.claim.id in reader.ids
        assert entry.claim.statement in reader.text
        assert ledger_page.title(entry.claim.document, found) in reader.text
    for promise in PROMISES:
        assert promise.name in reader.text


def test_the_page_in_a_browser(found: list[verdicts.Entry], tmp_path: Path) -> None:
    """Of some claims, with every story open."""
    file = tmp_path / "claims.html"
    file.write_text(claims_html([e for e in found if e.claim.id in ("B2", "I4", "K9", "T1", "X1")]), encoding="utf-8")
    stories = "document.querySelectorAll('details').forEach(story => { story.open = true })"
    with chromium() as browser:
        for width in WIDTHS:
            assert faults(file.as_uri(), browser, width, lambda page: page.evaluate(stories)) == [], width


def test_every_document_has_a_title(found: list[verdicts.Entry]) -> None:
    assert all(e.claim.title for e in found)
    assert ledger_page.title("toys.txt", found) == "toys.txt"
