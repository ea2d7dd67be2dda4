"""Every deliberate flaw falls to the properties it names, with the shortest traces, and to no other."""

from __future__ import annotations

import pytest

from reassure.spec.language.vocabulary import Action
from tests.helpers.configurations import SHOWN_IN_PART, mutants
from tests.helpers.flaws import breaks, own_declarations, settings_of
from tests.helpers.runs import checked


def test_there_are_flaws() -> None:
    assert len(mutants()) >= 20


@pytest.mark.parametrize("name", mutants())
def test_a_flaw_is_one_action(name: str) -> None:
    """The tests that compare engines on single steps take it alone."""
    (flaw,) = own_declarations(name)
    assert isinstance(flaw, Action)


def falls_as_it_says(name: str) -> None:
    """In the whole space of its settings, by the native engine."""
    verdict, _ = checked(name, settings_of(name) or ["unclean=off"], "native", workers=1)
    fallen = {p.name: len(p.trace) for p in verdict.properties if p.trace is not None and not p.temporal}
    assert fallen == breaks(name)
    assert fallen
    assert verdict.complete
    assert verdict.stats.clipped == 0


@pytest.mark.parametrize("name", sorted(SHOWN_IN_PART))
def test_flaw(name: str) -> None:
    """Those of which a small space shows a part only."""
    falls_as_it_says(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(mutants()) - SHOWN_IN_PART))
def test_flaw_in_a_large_space(name: str) -> None:
    """Of the others `tests/conformance/test_engines.py` asks the same of a small space, by two engines."""
    falls_as_it_says(name)
