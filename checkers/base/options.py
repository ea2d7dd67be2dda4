"""What a run is asked for, and how it reports its progress."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
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


@dataclass(frozen=True)
class Walks:
    """How to walk. depth: states of a walk, at most. weights: by action, 1 where not given; 0: it is not taken."""

    count: int = 10_000
    depth: int = 100
    seed: int = 0
    weights: dict[str, int] = field(default_factory=dict)

    def words(self) -> list[str]:
        """The options that repeat them."""
        weights = [f"--weight={name}={n}" for name, n in self.weights.items()]
        return [f"--walks={self.count}", f"--depth={self.depth}", f"--seed={self.seed}", *weights]


SECRET = "(?i)secret|password|token|access[._]?key"
"""Settings whose values are not printed, as Spark has it."""


@dataclass(frozen=True)
class Cluster:
    """Where and how to search with Spark.

    partitions: owners of the visited states (none: two for each core). small: a level of so many states goes to the
    cluster, smaller ones before it are searched in the driver. out: the run directory (none: a temporary one).
    """

    master: str = "local[2]"
    partitions: int | None = None
    small: int = 50_000
    out: str | None = None
    resume: bool = False
    data: bool = True
    """Whether a run that is kept leaves its state space as data."""
    fingerprints: bool = False
    """Whether owners keep fingerprints in place of whole states."""
    conf: dict[str, str] = field(default_factory=dict)
    """Further settings of Spark."""

    @property
    def steps(self) -> bool:
        """Whether states are kept with the steps they come by."""
        return self.out is not None and self.data

    def words(self) -> list[str]:
        """The options that repeat it."""
        found = [f"--master={self.master}"] if self.master != Cluster.master else []
        found += [f"--partitions={self.partitions}"] if self.partitions is not None else []
        found += ["--fingerprints"] if self.fingerprints else []
        return found + [f"--conf={key}={value}" for key, value in self.conf.items() if not re.search(SECRET, key)]


METHODS = ("auto", "bmc", "induction", "k-induction", "pdr")


@dataclass(frozen=True)
class Proof:
    """How to prove. depth: of bounded search and k-induction, in states."""

    method: str = "auto"
    depth: int | None = None
    seed: int = 0
    """Of Z3; another one may find another proof, never another truth."""

    def words(self) -> list[str]:
        """The options that repeat it."""
        depth = [f"--depth={self.depth}"] if self.depth is not None else []
        return [f"--method={self.method}", *depth, *([f"--seed={self.seed}"] if self.seed else [])]


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
        """Says on a terminal, at once, what is done before there is anything to count."""
        if self.terminal and not self.quiet:
            self._say(what)

    def begin(self) -> None:
        """Rates are from now on."""
        self.last = (time.monotonic(), 0, 0)

    def walks(self, done: int, of: int, steps: int, distinct: Callable[[], int]) -> None:
        """As `report`, for random walks."""
        if self._due():
            self._say(f"{done:,} of {of:,} walks | {steps:,} steps | about {distinct():,} distinct states")

    def proof(self, what: str) -> None:
        """As `report`, for a proof: what it is at."""
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
        line = f"\r\x1b[2K{text}" if self.terminal else f"{text}\n"
        print(line, end="", file=self.out, flush=True)
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
