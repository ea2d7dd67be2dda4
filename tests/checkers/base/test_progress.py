"""Progress on stderr: what is told when, with a clock of its own."""

from __future__ import annotations

import io

import pytest

from reassure.checkers.base import progress
from reassure.checkers.base.progress import Progress


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_a_compilation_is_no_level_of_the_search(clock: Clock) -> None:
    """Off a terminal the first line comes 10 s after the search began, however long it took to compile."""
    out = io.StringIO()
    told = Progress(out)
    told.ready("compiling")
    clock.now += 30
    told.begin()
    told.report(1, 10, 10, 10, 0)
    assert out.getvalue() == ""
    clock.now += 10
    told.report(7, 2010, 510, 40, 0)
    assert out.getvalue() == "depth 7 | 2,010 generated (201/s) | 510 distinct (51/s) | frontier 40 | 40 s\n"


def test_lines_become_rarer(clock: Clock) -> None:
    out = io.StringIO()
    told = Progress(out)
    for _ in range(60):
        clock.now += 1
        told.proof("still at it")
    assert out.getvalue() == "".join(f"still at it | {seconds} s\n" for seconds in (10, 25, 48))
