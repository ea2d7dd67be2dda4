"""The options of a run, as the command line gives them, and the types of command-line arguments."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import field
from fnmatch import fnmatchcase

from reassure.spec.language.light_dataclasses import dataclass

ENGINE_NAMES = ("native", "reference", "spark")
"""Engines that search every reachable state."""
EXHAUSTIVE_ENGINES = ("native", "reference")
"""Those that need no Java."""
DEFAULT_ENGINE = "native"


EXACT_SYMMETRIES = ("off", "auto", "on")
SYMMETRIES = (*EXACT_SYMMETRIES, "any-order")
"""off: every state. on: one state of each class under renaming; auto: where it pays. any-order: the order of ids is
forgotten too."""


@dataclass
class SearchOptions:
    """Options that every engine takes. budget: seconds. memory: bytes. properties: names or patterns (empty: all)."""

    properties: list[str] = field(default_factory=list)
    depth: int | None = None
    budget: float | None = None
    memory: int | None = None
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    fail_fast: bool = False
    witness: bool = False
    symmetry: str = "off"
    """One of `SYMMETRIES`."""
    traces: bool = True
    """Whether violations get traces, as far as these take long."""

    def wants(self, name: str) -> bool:
        """Whether a property or cover of this name is asked for."""
        return not self.properties or any(fnmatchcase(name, pattern) for pattern in self.properties)


@dataclass(frozen=True)
class SimulationOptions:
    """Options of random walks. depth: most states of a walk. weights: by action, default 1; 0: never taken."""

    count: int = 10_000
    """Or `UNTIL_THE_BUDGET_ENDS`."""
    depth: int = 100
    seed: int = 0
    weights: dict[str, int] = field(default_factory=dict)


UNTIL_THE_BUDGET_ENDS = 1 << 62
"""More walks than there is time for."""


@dataclass(frozen=True)
class SparkOptions:
    """Options of a search with Spark.

    partitions: owners of the visited states (none: two for each core). small: a level of so many states goes to the
    cluster, smaller ones before it are searched in the driver; of a local master also smaller ones after it. out: the
    run directory (none: a temporary one).
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


METHODS = ("auto", "bmc", "induction", "k-induction", "pdr")


@dataclass(frozen=True)
class ProofOptions:
    """Options of a proof. depth: of bounded search and k-induction, in states."""

    method: str = "auto"
    depth: int | None = None
    seed: int = 0
    """The seed of Z3; another one may give another proof, never another truth."""
    any_number: bool = False
    """For all values of the numbers of the configuration that are not chosen."""


def seconds(text: str) -> float:
    """A duration such as `60s`, `5m`, `2h` or `90`, in seconds; `ValueError` for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text)
    if not match or float(match[1]) == 0:
        raise ValueError(f"{text!r} is not a duration; write 60s, 5m or 2h")
    return float(match[1]) * {"ms": 0.001, "s": 1, None: 1, "m": 60, "h": 3600}[match[2]]


def duration(text: str) -> float:
    """As `seconds`, for the command line."""
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> int:
    """A size such as `2G` or `512M`, in bytes: 512M and 512MiB are of 1,048,576 bytes each, 512MB of a million."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?B)?", text, re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 512M or 2G")
    base = 1000 if match[3] and match[3].upper() == "B" else 1024
    return int(float(match[1]) * base ** " KMGT".index(match[2].upper() or " "))


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def whole(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def ids(text: str) -> list[int]:
    """Different whole numbers with commas between them."""
    numbers = [whole(part) for part in text.split(",")]
    if len(set(numbers)) < len(numbers):
        raise argparse.ArgumentTypeError(f"{text!r} names one twice")
    return numbers


def seed(text: str) -> int:
    """A whole number of 63 bits."""
    if not text.isdigit() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def weight(text: str) -> tuple[str, int]:
    """`ACTION=N`, N from 0 to a million."""
    name, _, number = text.partition("=")
    if not name or not number.isdigit() or int(number) > 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a weight; write ACTION=N, N from 0 to 1000000")
    return name, int(number)


def setting(text: str) -> tuple[str, str]:
    """`KEY=VALUE` of Spark's."""
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting of Spark; write spark.KEY=VALUE")
    return key, value
