"""What each kind of engine has to say beside properties, covers and counts. A `CheckResult` holds one of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from reassure.checkers.base.run_record import EngineRecord


@dataclass
class SearchResult:
    """Of a search of every reachable state, on this machine or on a cluster."""

    exhaustive: ClassVar[bool] = True
    """Whether a complete run has tried every way to reach a cover."""
    about_safety: ClassVar[bool] = False
    """Whether properties about whole runs are left out unless they are named."""
    fairness: list[dict[str, Any]] = field(default_factory=list)
    """What properties about whole runs assume: actions, how fair they are, and for each value of which parameters."""
    cluster: dict[str, Any] = field(default_factory=dict)
    """Of a distributed search: the master, the partitions, and what each level took."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        record = EngineRecord()
        if self.fairness:
            record["fairness"] = self.fairness
        if self.cluster:
            record["spark"] = self.cluster
        return record


@dataclass
class SimulationResult:
    """Of random walks."""

    exhaustive: ClassVar[bool] = True
    about_safety: ClassVar[bool] = False
    walks: int = 0
    depth: int = 0
    """States of a walk, at most."""
    seed: int = 0
    weights: dict[str, int] = field(default_factory=dict)
    lengths: list[dict[str, int]] = field(default_factory=list)
    """How many walks had `from` to `to` states."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        numbers = {"walks": self.walks, "depth": self.depth, "seed": self.seed, "weights": self.weights}
        return {"simulation": {**numbers, "depths": self.lengths}}


@dataclass
class ProofSummary:
    """Of a proof."""

    exhaustive: ClassVar[bool] = False
    about_safety: ClassVar[bool] = True
    method: str = "auto"
    lemmas: list[str] = field(default_factory=list)
    """The lemmas that the proof uses, in words."""
    bounds_open: list[str] = field(default_factory=list)
    """Bounds that it does not exclude that a step leaves."""
    certificate: Any = None
    """The inductive invariant, a `Certificate`; None if nothing was proved by induction."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        return {"lemmas": self.lemmas, "bounds_open": self.bounds_open}


EngineResult = SearchResult | SimulationResult | ProofSummary
