"""Every deliberate flaw falls to the properties it names, with the shortest traces, and to no other."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.check import CheckRequest, run

TWO_REQUESTS = {
    "cancel_keeps_what_is_in_sync",
    "retarget_ignored",
    "cancel_unchecked",
    "epoch_unchecked",
    "isr_not_trimmed",
    "retarget_unchecked",
    "shrink_counted_at_once",
}
"""Flaws that show only after two requests of the administrator, or by other properties after one.

The others fall to the same properties with the same traces in about an eighth of the states.
"""

FLAWS = sorted(p.stem for p in (Path(__file__).parents[2] / "models" / "mutants").glob("[!_]*.py"))


def test_there_are_flaws() -> None:
    assert len(FLAWS) >= 8
    assert set(FLAWS) >= TWO_REQUESTS


LONG = sorted(TWO_REQUESTS - {"cancel_unchecked"})


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in FLAWS])
def test_flaw(name: str) -> None:
    settings = ["unclean=off", f"admin_requests={2 if name in TWO_REQUESTS else 1}"]
    verdict, _ = run(CheckRequest(name, settings, "reference", SearchOptions()), Progress(quiet=True))
    fallen = {p.name: len(p.trace) for p in verdict.properties if p.trace is not None and not p.temporal}
    assert fallen == importlib.import_module(f"reassure.models.mutants.{name}").BREAKS
    assert fallen
    assert verdict.complete
    assert verdict.stats.clipped == 0
