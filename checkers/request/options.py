"""The options of a run, as the command line gives them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

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
