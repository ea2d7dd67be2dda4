"""The page of findings is what the ledger, its traces and the confirmations give."""

from __future__ import annotations

from reassure.checkers import publish
from reassure.checkers.evidence import findings


def test_the_page_is_fresh() -> None:
    text = findings.markdown(publish.entries(), publish.FINDINGS.parent)
    assert publish.FINDINGS.read_text(encoding="utf-8") == text, "run `python -m reassure.checkers.publish`"


def test_every_run_was_executed_by_kafkas_classes() -> None:
    """A run that has changed is to be executed anew: `reassure kafka findings`."""
    confirmed = findings.confirmations()
    cases = [c for c in findings.cases(publish.entries()) if c.violated]
    assert len(cases) > 20
    assert [f"{c.headline.claim}, {c.release}" for c in cases if not confirmed.get(findings.run_digest(c))] == []
