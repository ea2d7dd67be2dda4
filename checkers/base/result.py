"""What an engine returns, what it means for the exit code, and the run record."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reassure.checkers.base.engine_results import EngineResult, ProofSummary, SearchResult, SimulationResult
from reassure.checkers.base.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, worst
from reassure.checkers.base.run_record import PropertyRecord, RunRecord
from reassure.checkers.base.stop import Stop, StopReason
from reassure.spec.language.vocabulary import TEMPORAL
from reassure.spec.semantics.trace import Trace

SCHEMA = 1
ENGINE_VERSION = "0.1.0"
RAISES = "raises"
"""Name and kind of the finding that the model raises."""
LIVENESS_NOTE = "about whole runs: `reassure check` decides it"


class PropertyStatus(StrEnum):
    """What a run says of a property. `UNKNOWN` and `NOT_CHECKED` are never a pass."""

    HOLDS = "holds"
    """In every reachable state or step."""
    HOLDS_WITHIN_BOUNDS = "holds_within_bounds"
    """As `HOLDS`, but steps that leave a declared range, length or size were cut off."""
    PROVED = "proved"
    HOLDS_TO_DEPTH = "holds_to_depth"
    """In every state and step up to a depth."""
    VIOLATED = "violated"
    VACUOUS = "vacuous"
    """It is about something that no reachable state does: nothing was established."""
    RAISED = "raised"
    """An action or a claim raises in a reachable state: what the model means from there on is not defined."""
    UNKNOWN = "unknown"
    NOT_CHECKED = "not_checked"


@dataclass
class PropertyResult:
    """One property's result. depth: levels to the violation, the initial states being level 1."""

    name: str
    kind: str
    status: PropertyStatus
    trace: Trace | None = None
    depth: int | None = None
    note: str = ""
    counterexample_to_induction: list[Any] = field(default_factory=list)
    """States, perhaps unreachable, of which all but the last satisfy everything."""

    @property
    def temporal(self) -> bool:
        """Whether it is about whole runs."""
        return self.kind in TEMPORAL

    def record(self, trace: str | None) -> PropertyRecord:
        """Its part of the run record; trace: the file of its counterexample."""
        row = PropertyRecord(name=self.name, kind=self.kind, status=self.status, trace=trace, depth=self.depth)
        if self.status is PropertyStatus.RAISED:
            row["error"] = self.note
        return row


@dataclass
class CoverResult:
    """One cover's result; `depth` is the level of the state (or of the state after the step)."""

    name: str
    depth: int | None = None
    trace: Trace | None = None
    walks: int | None = None
    """Of a simulation: how many walks reached it."""

    @property
    def reached(self) -> bool:
        return self.depth is not None


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
    """Of the clipped, those at bounds that the model does not declare."""
    frontier: int = 0
    """States found but not expanded when the run ended."""
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("load", "compile", "search", "report"), 0.0)
    )
    bytes_per_state: int = 0
    memory: int = 0
    workers: int = 1


@dataclass
class CheckResult:
    """The result of one run: everything that the record, the report and the exit code say."""

    model: str
    model_sha256: str
    config: dict[str, Any]
    engine: str
    properties: list[PropertyResult] = field(default_factory=list)
    covers: list[CoverResult] = field(default_factory=list)
    not_applicable: list[str] = field(default_factory=list)
    actions: dict[str, ActionStatistics] = field(default_factory=dict)
    stats: SearchStatistics = field(default_factory=SearchStatistics)
    complete: bool = False
    stopped: Stop | None = None
    """Why the run ended; None while it runs."""
    accept_clipping: bool = False
    source: str = ""
    """The name or path that the model was given by."""
    settings: list[str] = field(default_factory=list)
    """KEY=VALUE, as they were given."""
    repro: str = ""
    found: EngineResult = field(default_factory=SearchResult)
    """What this kind of engine has to say beside the above."""
    asked: set[str] = field(default_factory=set)
    """Properties that were asked for by name."""

    @property
    def stopped_because(self) -> str:
        """Why the run ended, in words."""
        return self.stopped.text if self.stopped is not None else ""

    @property
    def simulation(self) -> SimulationResult | None:
        """Of random walks."""
        return self.found if isinstance(self.found, SimulationResult) else None

    @property
    def proof(self) -> ProofSummary | None:
        """Of a proof."""
        return self.found if isinstance(self.found, ProofSummary) else None

    @property
    def search(self) -> SearchResult | None:
        """Of a search."""
        return self.found if isinstance(self.found, SearchResult) else None

    def ended(self, *reasons: StopReason) -> bool:
        """Whether the run ended for one of these reasons."""
        return self.stopped is not None and self.stopped.reason in reasons

    def conclude(self) -> None:
        """Gives every property that is not decided yet its status, by how far the search came."""
        for p in self.properties:
            if p.status is not PropertyStatus.UNKNOWN:
                continue
            if p.temporal and (self.simulation or self.ended(StopReason.COMPLETE)):
                p.status, p.note = PropertyStatus.NOT_CHECKED, p.note or LIVENESS_NOTE
            elif p.temporal:
                p.note = p.note or self._why_not_decided()
            elif not self.complete:
                to_depth = self.ended(StopReason.DEPTH)
                p.status = PropertyStatus.HOLDS_TO_DEPTH if to_depth else PropertyStatus.UNKNOWN
            elif self.stats.clipped:
                p.status = PropertyStatus.HOLDS_WITHIN_BOUNDS
            else:
                p.status = PropertyStatus.HOLDS

    def _why_not_decided(self) -> str:
        """Why a property about whole runs has no answer."""
        if not self.complete:
            return "this takes every reachable state"
        return "one about whole runs raises" if self.ended(StopReason.RAISED) else "its graph is not complete"

    def decide_temporal(self, name: str, trace: Trace | None, concerned: bool, fairness: str) -> None:
        """Gives a property about whole runs its status, every reachable state being known.

        trace: of a fair run that violates it. concerned: whether some reachable state is what it is about. fairness:
        what it assumes, in words.
        """
        p = next(p for p in self.properties if p.name == name)
        p.note = f"assuming {fairness}"
        if trace is not None:
            p.status, p.trace, p.depth = PropertyStatus.VIOLATED, trace, len(trace)
        elif not concerned:
            p.status, p.note = PropertyStatus.VACUOUS, "no reachable state satisfies its premise"
        else:
            p.status = PropertyStatus.HOLDS_WITHIN_BOUNDS if self.stats.clipped else PropertyStatus.HOLDS

    def add_raised(self, trace: Trace, text: str) -> None:
        """Adds the finding that the model raises at the end of a trace; text: what raises, and where."""
        self.properties.append(PropertyResult(RAISES, RAISES, PropertyStatus.RAISED, trace, len(trace), text))

    def exit(self) -> Exit:
        """The exit code: the most severe of what the run found."""
        codes = [Exit.OK]
        if not self.properties and not self.covers:
            codes.append(Exit.NOTHING)
        left_out = self.search is None and all(p.status is PropertyStatus.NOT_CHECKED for p in self.properties)
        if self.properties and left_out and not self.covers:  # a search decides them all, if its memory is enough
            codes.append(Exit.NOTHING)
        for p in self.properties:
            if p.status is PropertyStatus.VIOLATED:
                codes.append(Exit.DEADLOCK if p.kind == "deadlock" else Exit.LIVENESS if p.temporal else Exit.SAFETY)
            elif p.status is PropertyStatus.RAISED:
                codes.append(Exit.MODEL)
            elif p.status is PropertyStatus.VACUOUS:
                codes.append(Exit.VACUOUS)
            elif p.status is PropertyStatus.UNKNOWN or (
                p.status is PropertyStatus.NOT_CHECKED and (p.name in self.asked or not self.found.about_safety)
            ):
                codes.append(Exit.INCONCLUSIVE)
        if self.complete:
            short = Exit.VACUOUS if self.found.exhaustive else Exit.INCONCLUSIVE
            codes += [short for c in self.covers if not c.reached]
        elif self.ended(StopReason.DEPTH):
            codes += [Exit.INCONCLUSIVE for c in self.covers if not c.reached]
        if self.stats.undeclared and not self.accept_clipping:
            codes.append(Exit.INCONCLUSIVE)
        if not self.complete and not self.ended(StopReason.DEPTH):
            codes.append(Exit.INCONCLUSIVE)
        return worst(codes)

    @property
    def verdict(self) -> str:
        """The exit code in a word; what passes to a depth is told from what passes."""
        code = self.exit()
        return PASS_TO_DEPTH if code is Exit.OK and self.ended(StopReason.DEPTH) else VERDICTS[code]

    def record(self, traces: dict[str, str]) -> RunRecord:
        """The run record, `traces` giving the files that counterexamples were written to."""
        code = self.exit()
        s = self.stats
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "exit_code": code.value,
            "complete": self.complete,
            "stop_reason": self.stopped.reason if self.stopped is not None else None,
            "stopped_because": self.stopped_because,
            "model": self.model,
            "model_sha256": self.model_sha256,
            "config": self.config,
            "engine": self.engine,
            "engine_version": ENGINE_VERSION,
            "properties": [p.record(traces.get(p.name)) for p in self.properties],
            "covers": [{"name": c.name, "reached": c.reached, "depth": c.depth} for c in self.covers],
            "not_applicable": self.not_applicable,
            **self.found.record(),
            "actions": {name: {"taken": a.taken, "new": a.new} for name, a in self.actions.items()},
            "stats": {
                "generated": s.generated,
                "distinct": s.distinct,
                "depth": s.depth,
                "clipped": s.clipped,
                "clipped_at": s.clipped_at,
                "undeclared": s.undeclared,
                "frontier": s.frontier,
                "seconds": {k: round(v, 4) for k, v in s.seconds.items()},
                "bytes_per_state": s.bytes_per_state,
                "memory": s.memory,
                "workers": s.workers,
            },
            "repro": self.repro,
        }


def error_record(code: Exit, message: str, model: str, repro: str) -> RunRecord:
    """The record of a run that ended before an engine could answer."""
    return {
        "schema": SCHEMA,
        "verdict": VERDICTS[code],
        "exit_code": code.value,
        "complete": False,
        "stop_reason": StopReason.NOT_STARTED,
        "stopped_because": message,
        "model": model,
        "model_sha256": None,
        "config": {},
        "engine": None,
        "engine_version": ENGINE_VERSION,
        "properties": [],
        "covers": [],
        "not_applicable": [],
        "actions": {},
        "stats": {},
        "repro": repro,
    }
