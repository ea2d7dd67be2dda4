"""The facts that an engine returns. It decides no status: `CheckResult.of` does, for every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto
from typing import Any, ClassVar

from reassure.checkers.machine.stop import Stop
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.run_identity import (
    AnyNumberRecord,
    ClassesRecord,
    EngineRecord,
    FairnessRecord,
    PremiseRecord,
    SparkRecord,
)
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.trace import Trace


@dataclass
class SearchResult:
    """The result of a search of every reachable state, on this machine or on a cluster."""

    exhaustive: ClassVar[bool] = True
    """Whether a complete run has tried every way to reach a cover."""
    about_safety: ClassVar[bool] = False
    """Whether properties about whole runs are left out unless they are named."""
    fairness: list[FairnessRecord] = field(default_factory=list)
    """The assumed fairness: actions, how fair they are, and for each value of which parameters."""
    cluster: SparkRecord = field(default_factory=SparkRecord)
    """Of a distributed search: the master, the partitions, and what each level took."""
    symmetry: ClassesRecord = field(default_factory=ClassesRecord)
    """Of a search of one state of each class: the ids that were renamed, the classes, and their states."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        record = EngineRecord()
        if self.fairness:
            record["fairness"] = self.fairness
        if self.cluster:
            record["spark"] = self.cluster
        if self.symmetry:
            record["symmetry"] = self.symmetry
        return record


@dataclass
class SimulationResult:
    """The result of random walks."""

    exhaustive: ClassVar[bool] = True
    about_safety: ClassVar[bool] = False
    walks: int = 0
    depth: int = 0
    """States of a walk, at most."""
    seed: int = 0
    weights: dict[str, int] = field(default_factory=dict)
    lengths: list[dict[str, int]] = field(default_factory=list)
    """Counts of walks that had `from` to `to` states."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        return {
            "simulation": {
                "walks": self.walks,
                "depth": self.depth,
                "seed": self.seed,
                "weights": self.weights,
                "depths": self.lengths,
            }
        }


@dataclass
class ProofSummary:
    """The result of a proof."""

    exhaustive: ClassVar[bool] = False
    about_safety: ClassVar[bool] = True
    method: str = "auto"
    lemmas: list[str] = field(default_factory=list)
    """The lemmas that the proof uses, in words."""
    bounds_open: list[str] = field(default_factory=list)
    """Bounds that it does not exclude that a step leaves."""
    any_number: AnyNumberRecord | None = None
    certificate: Any = None
    """The inductive invariant, a `Certificate`; None if nothing was proved by induction."""

    def record(self) -> EngineRecord:
        """Its part of the run record."""
        record: EngineRecord = {"lemmas": self.lemmas, "bounds_open": self.bounds_open}
        if self.any_number is not None:
            record["any_number"] = self.any_number
        return record


@dataclass
class ActionStatistics:
    """taken: enabled transitions; new: distinct states first reached, in their level, by this action."""

    taken: int = 0
    new: int = 0


@dataclass
class SearchStatistics:
    generated: int = 0
    distinct: int = 0
    depth: int = 0
    clipped: int = 0
    clipped_at: dict[str, int] = field(default_factory=dict)
    """Clipped transitions by the bound that they leave."""
    undeclared: int = 0
    """The number of clipped transitions at bounds that the model does not declare."""
    frontier: int = 0
    """States found but not expanded when the run ended."""
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("load", "compile", "search", "report"), 0.0)
    )
    bytes_per_state: int = 0
    memory: int = 0
    """Bytes of table, levels and buffers."""
    disk: int = 0
    """Bytes of levels that a search in this process moved to disk, its memory being full."""
    workers: int = 1

    def clip(self, path: str, declared: bool, count: int = 1) -> None:
        """Counts transitions that leave a bound."""
        self.clipped += count
        self.clipped_at[path] = self.clipped_at.get(path, 0) + count
        self.undeclared += 0 if declared else count


class Evidence(Enum):
    """The kind of fact that an engine established of one property."""

    COUNTEREXAMPLE = auto()
    NO_PREMISE = auto()
    """No reachable state satisfies the premise of a property about whole runs."""
    NO_FAIR_RUN = auto()
    """Fair runs satisfy the premise of a property about whole runs only where they leave a bound."""
    EVERY_STATE = auto()
    """Every reachable state and step satisfies it, whatever else the run leaves open."""
    EVERY_FAIR_RUN = auto()
    """Every fair run satisfies it."""
    PROOF = auto()
    """A proof that passed its check."""
    NONE_TO_DEPTH = auto()
    """No counterexample of up to so many states, by bounded search."""
    LEFT_OUT = auto()
    """The engine does not check this property."""
    OPEN = auto()
    """The engine tried, and found neither a proof nor a counterexample."""


@dataclass(frozen=True)
class PremiseStates:
    """The reachable states that satisfy the premise of a property about whole runs: all of them, if it has none.

    count: how many there are. beyond: through how many of them every fair run leaves a bound. rests_on_a_bound: whether
    a fair run would violate the property if no step that leaves a bound was enabled.
    """

    count: int
    beyond: int = 0
    rests_on_a_bound: bool = False

    def __bool__(self) -> bool:
        """Whether a report has to tell something of it."""
        return self.beyond > 0 or self.rests_on_a_bound

    def record(self) -> PremiseRecord:
        """Its part of the run record."""
        return {
            "states": self.count,
            "without_fair_run": self.beyond,
            "rests_on_a_bound": self.rests_on_a_bound,
        }


@dataclass(frozen=True)
class PropertyFact:
    """One property as an engine leaves it."""

    evidence: Evidence
    trace: Trace | None = None
    note: str = ""
    counterexample_to_induction: tuple[Any, ...] = ()
    """States, perhaps unreachable, of which all but the last satisfy everything."""
    elsewhere: Prepared | None = None
    """The model under the configuration that the trace or step is of, if that is not the run's."""
    depth: int | None = None
    """Of a counterexample without a trace: its states."""
    premise: PremiseStates | None = None
    """Of a property about whole runs that no fair run violates, where steps of fair actions leave a bound."""


def whole_run_fact(
    trace: Trace | None, concerned: bool, note: str, premise: PremiseStates | None = None
) -> PropertyFact:
    """The fact about a property of whole runs, every reachable state being known.

    trace: of a fair run that violates it. concerned: whether some reachable state satisfies its premise. note: the
    fairness that it assumes, in words. premise: None if a fair run within the bounds goes through every state.
    """
    if trace is not None:
        return PropertyFact(Evidence.COUNTEREXAMPLE, trace, note)
    if not concerned:
        return PropertyFact(Evidence.NO_PREMISE)
    if premise is not None and premise.beyond == premise.count:
        return PropertyFact(Evidence.NO_FAIR_RUN, premise=premise)
    return PropertyFact(Evidence.EVERY_FAIR_RUN, note=note, premise=premise)


@dataclass
class CoverResult:
    """One cover's result; `depth` is the level of the state (or of the state after the step)."""

    kind: ClassVar[str] = "cover"
    name: str
    depth: int | None = None
    trace: Trace | None = None
    walks: int | None = None
    """In a simulation, the number of walks that reached it."""

    @property
    def reached(self) -> bool:
        return self.depth is not None


@dataclass(frozen=True)
class EngineResult:
    """The end of one run of an engine.

    complete: whether every reachable state was visited, or everything was decided. facts: by property; how far the
    engine came decides the others. covers: those that it looked for. raised: a run into a state in which the model
    raises (None if there was no time to find it), and what raises there.
    """

    summary: SearchResult | SimulationResult | ProofSummary
    stats: SearchStatistics
    stopped: Stop
    complete: bool
    facts: Mapping[str, PropertyFact] = field(default_factory=dict)
    covers: tuple[CoverResult, ...] = ()
    actions: dict[str, ActionStatistics] = field(default_factory=dict)
    raised: tuple[Trace | None, str] | None = None
