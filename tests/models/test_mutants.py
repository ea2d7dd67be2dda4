"""Every deliberate flaw falls to the properties it names, with the shortest traces, and to no other."""

from __future__ import annotations

import pytest

from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.language.vocabulary import Action
from tests.helpers.configurations import mutants
from tests.helpers.flaws import breaks, own_declarations, settings_of
from tests.helpers.runs import checked


def test_there_are_flaws() -> None:
    assert len(mutants()) >= 20


@pytest.mark.parametrize("name", mutants())
def test_a_flaw_is_one_action(name: str) -> None:
    """The tests that compare engines on single steps take it alone."""
    (flaw,) = own_declarations(name)
    assert isinstance(flaw, Action)


@pytest.mark.parametrize("name", mutants())
def test_flaw(name: str) -> None:
    """By the native engine, whose answers are compared with plain Python's elsewhere; not of whole runs, or covers."""
    settings = settings_of(name) or ["unclean=off"]
    judged = [p.name for p in prepare_plain(name, settings)[0].properties if p.kind in ("invariant", "step")]
    verdict, _ = checked(name, settings, "native", workers=1, properties=[*judged, "deadlock"])
    fallen = {p.name: len(p.trace) for p in verdict.properties if p.trace is not None}
    assert fallen == breaks(name)
    assert fallen
    assert verdict.complete
    assert verdict.stats.clipped == 0
