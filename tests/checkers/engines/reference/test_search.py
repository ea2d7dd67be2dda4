"""What the search in plain Python keeps changes nothing of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reassure.checkers.engines.reference import search
from reassure.spec.semantics.interpreter import BoundModel, Step
from tests.helpers.runs import checked, everything


def test_steps_that_are_not_remembered_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """For traces, and for the loop of a violated property about whole runs."""
    asked: list[Any] = []
    steps = BoundModel.steps

    def noting(bound: BoundModel, state: Any) -> Iterator[Step]:
        asked.append(state)
        return steps(bound, state)

    monkeypatch.setattr(BoundModel, "steps", noting)
    known, _ = checked("core_liveness", [], "reference", witness=True)
    few = len(asked)
    monkeypatch.setattr(search, "REMEMBERED", 30)
    forgotten, _ = checked("core_liveness", [], "reference", witness=True)
    assert everything(forgotten) == everything(known)
    assert [(p.name, len(p.trace)) for p in known.properties if p.trace] == [("a_pending_reassignment_ends", 4)]
    assert few < 30 < 500 < len(asked)
