"""Every deliberate flaw falls to the properties it names, with the shortest traces, and to no other."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from checkers.options import Options, Progress
from checkers.run import Asked, run

FLAWS = sorted(p.stem for p in (Path(__file__).parent.parent / "models" / "broken").glob("[!_]*.py"))


def test_there_are_flaws() -> None:
    assert len(FLAWS) >= 8


@pytest.mark.parametrize("name", FLAWS)
def test_flaw(name: str) -> None:
    verdict, _ = run(Asked(name, ["unclean=off"], "reference", Options()), Progress(quiet=True))
    fallen = {p.name: len(p.trace) for p in verdict.properties if p.trace is not None}
    assert fallen == importlib.import_module(f"models.broken.{name}").BREAKS
    assert fallen
    assert verdict.complete
    assert verdict.stats.clipped == 0
