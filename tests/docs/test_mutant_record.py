"""The record of mutants is of the models as they are, and no property of theirs is unexercised in silence."""

from __future__ import annotations

from pathlib import Path

from reassure.checkers.analyses.mutants.record import of_the_project, stale_records, unexercised
from reassure.checkers.ledger.mutant_page import mutant_pages
from reassure.checkers.publish import differing
from reassure.checkers.publish.model_pages import protocol_of

ROOT = Path(__file__).parents[2]


def test_every_model_has_a_record_of_its_text() -> None:
    assert stale_records(*of_the_project()) == [], "run `python -m reassure mutants --all --record`"


def test_no_property_is_unexercised_without_a_stated_reason() -> None:
    plans, records = of_the_project()
    assert [(u.model, u.name) for u in unexercised(plans, records) if not u.reason] == []


def test_every_stated_reason_is_needed() -> None:
    plans, records = of_the_project()
    for reason in plans.reasons:
        for name in reason.properties:
            for model in reason.models or records:
                of = [m for m in records if model == m]
                assert any(name in records[m].unexercised for m in of), f"{model}: {name}"


def test_the_page_is_that_of_the_record() -> None:
    made = mutant_pages(*of_the_project(), ROOT / "counterexamples", protocol_of)
    assert len(made) == 1 + 6
    assert [p.name for p in differing(made)] == [], "run `python -m reassure.checkers.publish`"
