"""Progress on stderr: what is told when, with a clock of its own."""

from __future__ import annotations

import io

import pytest

from reassure.checkers.machine import progress
from reassure.checkers.machine.progress import Progress


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


class Terminal(io.StringIO):
    """A terminal of 60 columns."""

    def isatty(self) -> bool:
        return True


def test_a_line_fits_in_the_terminal(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What wraps stays when the line is cleared; the time is always there."""
    out = Terminal()
    told = Progress(out)
    monkeypatch.setattr(told, "_columns", lambda: 60)
    clock.now += 1
    told.report(7, 123_456_789, 12_345_678, 1_234_567, 5 << 30)
    clock.now += 1
    told.proof("x" * 80)
    told.done()
    lines = out.getvalue().split("\r\x1b[2K")[1:]
    assert lines == ["depth 7 | 123,456,789 generated (123.5M/s) | 1 s", f"{'x' * 53} | 2 s", ""]
    assert all(len(line) < 60 for line in lines)
