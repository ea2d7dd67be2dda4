"""What a run is asked for, and how it reports its progress."""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TextIO


class Interrupted(Exception):
    """The search was told to stop; the message says why."""


@dataclass
class Options:
    """Options that every engine takes. budget: seconds. memory: bytes. properties: names or patterns (empty: all)."""

    properties: list[str] = field(default_factory=list)
    depth: int | None = None
    budget: float | None = None
    memory: int | None = None
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    fail_fast: bool = False
    witness: bool = False

    def wants(self, name: str) -> bool:
        """Whether a property or cover of this name is asked for."""
        return not self.properties or any(fnmatchcase(name, pattern) for pattern in self.properties)


def seconds(text: str) -> float:
    """A duration such as `60s`, `5m`, `2h` or `90`, in seconds; `ValueError` for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text)
    if not found or float(found[1]) == 0:
        raise ValueError(f"{text!r} is no duration; write 60s, 5m or 2h")
    return float(found[1]) * {"ms": 0.001, "s": 1, None: 1, "m": 60, "h": 3600}[found[2]]


class Progress:
    """Progress on stderr: a line that changes on a terminal, one now and then elsewhere; none for short runs."""

    def __init__(self, out: TextIO | None = None, quiet: bool = False) -> None:
        self.out = out or sys.stderr
        self.quiet = quiet
        self.began = time.monotonic()
        self.terminal = self.out.isatty()
        self.next = self.began + (0.5 if self.terminal else 10.0)
        self.wait = 0.2 if self.terminal else 10.0
        self.last = (self.began, 0, 0)
        self.shown = False

    def report(self, depth: int, generated: int, distinct: int, frontier: int, memory: int) -> None:
        """Called often; prints seldom. memory: bytes, 0 if unknown."""
        now = time.monotonic()
        if self.quiet or now < self.next:
            return
        then, g, d = self.last
        span = max(now - then, 1e-9)
        text = (
            f"depth {depth} | {generated:,} generated ({_rate((generated - g) / span)}/s) | "
            f"{distinct:,} distinct ({_rate((distinct - d) / span)}/s) | frontier {frontier:,}"
        )
        if memory:
            text += f" | {memory / 2**20:,.0f} MiB"
        text += f" | {now - self.began:.0f} s"
        self.last = (now, generated, distinct)
        if not self.terminal:
            self.wait = min(self.wait * 1.5, 300)
        self.next = now + self.wait
        print(
            f"\r\x1b[2K{text}" if self.terminal else text, end="" if self.terminal else "\n", file=self.out, flush=True
        )
        self.shown = True

    def done(self) -> None:
        """Clears the line on a terminal."""
        if self.shown and self.terminal:
            print("\r\x1b[2K", end="", file=self.out, flush=True)


def _rate(x: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if x >= size:
            return f"{x / size:.1f}{unit}"
    return f"{x:.0f}"
