"""Progress on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Progress on stderr: a line that changes on a terminal, one now and then elsewhere; none for short runs.

    As a context it clears its line at the end.
    """

    def __init__(self, out: TextIO | None = None, quiet: bool = False) -> None:
        self.out = out or sys.stderr
        self.quiet = quiet
        self.began = time.monotonic()
        self.terminal = self.out.isatty()
        self.first = 0.5 if self.terminal else 10.0
        self.next = self.began + self.first
        self.wait = 0.2 if self.terminal else 10.0
        self.last = (self.began, 0, 0)
        self.shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.done()

    def report(self, depth: int, generated: int, distinct: int, frontier: int, memory: int, more: str = "") -> None:
        """Called often; prints seldom. memory: bytes, 0 if unknown."""
        if not self._due():
            return
        now = time.monotonic()
        then, g, d = self.last
        span = max(now - then, 1e-9)
        text = (
            f"depth {depth} | {generated:,} generated ({_rate((generated - g) / span)}/s) | "
            f"{distinct:,} distinct ({_rate((distinct - d) / span)}/s) | frontier {frontier:,}"
        )
        if memory:
            text += f" | {memory / 2**20:,.0f} MiB"
        if more:
            text += f" | {more}"
        self.last = (now, generated, distinct)
        self._say(text)

    def ready(self, what: str) -> None:
        """Prints on a terminal, at once, a text about work that precedes the first count."""
        if self.terminal and not self.quiet:
            self._say(what)

    def begin(self) -> None:
        """Rates are from now on, and waits: a long compilation is not a reason to tell the first state at once."""
        now = time.monotonic()
        self.last = (now, 0, 0)
        self.next = now + self.first

    def walks(self, done: int, of: int | None, steps: int, distinct: Callable[[], int]) -> None:
        """As `report`, for random walks. of: how many are asked for; None: as many as there is time for."""
        if self._due():
            number = f"{done:,} walks" if of is None else f"{done:,} of {of:,} walks"
            self._say(f"{number} | {steps:,} steps | about {distinct():,} distinct states")

    def proof(self, what: str) -> None:
        """As `report`, for a proof: the goal that it works on."""
        if self._due():
            self._say(what)

    def _due(self) -> bool:
        return not self.quiet and time.monotonic() >= self.next

    def _say(self, text: str) -> None:
        now = time.monotonic()
        text += f" | {now - self.began:.0f} s"
        if not self.terminal:
            self.wait = min(self.wait * 1.5, 300)
        self.next = now + self.wait
        line = f"\r\x1b[2K{self._cut(text)}" if self.terminal else f"{text}\n"
        print(line, end="", file=self.out, flush=True)
        self.shown = True

    def _cut(self, text: str) -> str:
        """The text as far as it fits in a line: what wraps stays when the line is cleared. The time is at its end."""
        room = self._columns() - 1  # a terminal may wrap as soon as the last column is full
        if len(text) <= room:
            return text
        rest, _, spent = text.rpartition(" | ")
        while rest and len(rest) + len(spent) + 3 > room and " | " in rest:
            rest = rest.rpartition(" | ")[0]
        return f"{rest[: max(room - len(spent) - 3, 0)]} | {spent}"

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self.out.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):
            return 80

    def done(self) -> None:
        """Clears the line on a terminal."""
        if self.shown and self.terminal:
            print("\r\x1b[2K", end="", file=self.out, flush=True)


def _rate(x: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if x >= size:
            return f"{x / size:.1f}{unit}"
    return f"{x:.0f}"
