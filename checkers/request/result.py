"""The result of a check, with its exit code and its run record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, worst
from reassure.checkers.machine.stop import ENDED_EARLY, Stop, StopReason
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.engine_results import (
    ActionStatistics,
    CoverResult,
    EngineResult,
    Evidence,
    PremiseStates,
    ProofSummary,
    PropertyFact,
    SearchResult,
    SearchStatistics,
    SimulationResult,
)
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.run_identity import PropertyRecord, RunIdentity, RunRecord
from reassure.checkers.request.vacuity import meanings, replaced_claims
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import TEMPORAL
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

RAISES = "raises"
"""Name and kind of the finding that the model raises."""
LIVENESS_NOTE = "about whole runs: `reassure check` decides it"


class PropertyStatus(StrEnum):
    """The status of a property after a run. `UNKNOWN` and `NOT_CHECKED` are never a pass."""

    HOLDS = "holds"
    """In every reachable state or step."""
    HOLDS_WITHIN_BOUNDS = "holds_within_bounds"
    """As `HOLDS`, but steps that leave a declared range, length or size were cut off."""
    PROVED = "proved"
    HOLDS_TO_DEPTH = "holds_to_depth"
    """In every state and step up to a depth."""
    VIOLATED = "violated"
    VACUOUS = "vacuous"
    """It is about something that no reachable state does, or no fair run within the bounds: nothing was established."""
    RAISED = "raised"
    """An action or a claim raises in a reachable state: what the model means from there on is not defined."""
    UNKNOWN = "unknown"
    NOT_CHECKED = "not_checked"


def status_in_words(kind: str, status: str) -> str:
    """The status of a property of a kind. A deadlock does not hold or fail: it is found, or there is none."""
    words = status.replace("_", " ")
    if kind != "deadlock":
        return words
    return {"violated": "found", "proved": "none, proved"}.get(words, words.replace("holds", "none"))


def after(states: int, kind: str) -> str:
    """The length of a run for a reader, in steps: "after 3 steps". states: of its trace, the first among them.

    kind: of the property. A run that violates a property of whole runs never ends.
    """
    return "by a run that never ends" if kind in TEMPORAL else f"after {quantity(states - 1, 'step')}"


def fair_runs_beyond(kind: str, premise: PremiseStates, bounds: Collection[str]) -> str:
    """What it means for a property of whole runs that steps of fair actions leave a bound; "" if nothing."""
    of_some = kind == "leads_to"
    where = f" ({', '.join(bounds)})" if bounds else ""
    rests = f"a fair run would violate it if steps beyond the bounds{where} were disabled" * premise.rests_on_a_bound
    if not premise.beyond:
        return rests
    if premise.beyond == premise.count:
        return f"every fair run{' that satisfies its premise' if of_some else ''} leaves a bound{where}"
    states = f"{premise.beyond:,} of {premise.count:,} states{' that satisfy its premise' if of_some else ''}"
    return "; ".join(filter(None, [f"no fair run within the bounds{where} goes through {states}", rests]))


def in_a_list(name: str) -> str:
    """The name of a property in a list of what was checked, where "deadlock" alone reads as if there was one."""
    return "no deadlock" if name == "deadlock" else name


@dataclass
class PropertyResult:
    """One property's result. depth: levels to the violation, the initial states being level 1."""

    name: str
    kind: str
    status: PropertyStatus
    trace: Trace | None = None
    depth: int | None = None
    note: str = ""
    counterexample_to_induction: tuple[Any, ...] = ()
    """States, perhaps unreachable, of which all but the last satisfy everything."""
    elsewhere: Prepared | None = None
    """The model under the configuration that the trace is of, if that is not the run's."""
    premise: PremiseStates | None = None
    """Of a property about whole runs, where fair runs leave a bound."""

    @property
    def temporal(self) -> bool:
        """Whether it is about whole runs."""
        return self.kind in TEMPORAL

    def record(self, trace: str | None) -> PropertyRecord:
        """Its part of the run record; trace: the file of its counterexample."""
        row = PropertyRecord(name=self.name, kind=self.kind, status=self.status, trace=trace, depth=self.depth)
        if self.status is PropertyStatus.RAISED:
            row["error"] = self.note
        if self.premise is not None:
            row["premise"] = self.premise.record()
        return row


@dataclass
class CheckResult:
    """The result of one run: everything that the record, the report and the exit code say."""

    identity: RunIdentity
    bound: BoundModel
    properties: list[PropertyResult]
    covers: list[CoverResult]
    returned: EngineResult
    """The facts that the engine returned."""
    not_applicable: list[str] = field(default_factory=list)
    accept_clipping: bool = False
    by_name: frozenset[str] = frozenset()
    """Properties that were asked for by name."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Of a variant: the claims that it declares otherwise, each with the model whose claim it was."""

    def __bool__(self) -> NoReturn:
        """Raises `TypeError`: `assert check(...)` would pass whatever came out."""
        raise TypeError("a result is neither true nor false: compare result.exit() with Exit.OK")

    @classmethod
    def of(
        cls,
        identity: RunIdentity,
        bound: BoundModel,
        options: SearchOptions,
        engine: EngineResult,
        accept_clipping: bool = False,
        expressions: Mapping[str, str] = MappingProxyType({}),
        vacuous: Mapping[str, str] = MappingProxyType({}),
    ) -> CheckResult:
        """The result of a run: each property with its status, and each trace with where it comes from.

        expressions: by name, of the claims that are not the model's own. vacuous: the claims that say nothing
        (`vacuous_claims`), with the reason.
        """
        engine.stats.clipped_at = dict(sorted(engine.stats.clipped_at.items()))  # engines meet bounds in other orders
        properties = property_results(bound, options, engine, vacuous)
        if engine.raised is not None:
            trace, text = engine.raised
            depth = len(trace) if trace is not None else None
            properties.append(PropertyResult(RAISES, RAISES, PropertyStatus.RAISED, trace, depth, text))
        names = [*_kinds(bound), *(p.name for p in bound.covers)] if options.properties else []
        result = cls(
            identity, bound, properties, list(engine.covers), engine,
            [p.name for p in bound.not_applicable if p.name not in vacuous], accept_clipping,
            frozenset(name for name in names if options.wants(name)), replaced_claims(bound.model),
        )  # fmt: skip
        for answer in result.answers:
            if answer.trace is not None:
                result.identity_of(answer).sign(answer.trace, answer.name, answer.kind)
                if answer.name in expressions:
                    answer.trace.meta["expression"] = expressions[answer.name]
        return result

    def identity_of(self, answer: PropertyResult | CoverResult) -> RunIdentity:
        """The identity that a trace is signed by: that of the run, under the configuration of the trace."""
        other = elsewhere(answer)
        return self.identity if other is None else RunIdentity.of(other, self.identity.engine or "", self.repro)

    @property
    def answers(self) -> list[PropertyResult | CoverResult]:
        """Everything that may have a trace."""
        return [*self.properties, *self.covers]

    @property
    def model(self) -> str:
        return self.identity.model

    @property
    def repro(self) -> str:
        """The command that repeats the run."""
        return self.identity.repro

    @property
    def stopped_because(self) -> str:
        """The reason why the run ended, in words."""
        return self.stopped.text

    @property
    def stats(self) -> SearchStatistics:
        return self.returned.stats

    @property
    def actions(self) -> dict[str, ActionStatistics]:
        return self.returned.actions

    @property
    def complete(self) -> bool:
        """Whether every reachable state was visited, or everything was decided."""
        return self.returned.complete

    @property
    def stopped(self) -> Stop:
        """The reason why the run ended."""
        return self.returned.stopped

    @property
    def simulation(self) -> SimulationResult | None:
        """Of random walks."""
        return self.returned.summary if isinstance(self.returned.summary, SimulationResult) else None

    @property
    def proof(self) -> ProofSummary | None:
        """Of a proof."""
        return self.returned.summary if isinstance(self.returned.summary, ProofSummary) else None

    @property
    def search(self) -> SearchResult | None:
        """Of a search."""
        return self.returned.summary if isinstance(self.returned.summary, SearchResult) else None

    def ended(self, *reasons: StopReason) -> bool:
        """Whether the run ended for one of these reasons."""
        return self.stopped.reason in reasons

    def exit(self) -> Exit:
        """The exit code: the most severe of what the run found."""
        codes, summary = [Exit.OK], self.returned.summary
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
                codes.append(Exit.INCONCLUSIVE if self.ended(*ENDED_EARLY) else Exit.VACUOUS)
            elif p.status is PropertyStatus.UNKNOWN or (
                p.status is PropertyStatus.NOT_CHECKED
                and (p.name in self.by_name or not self.returned.summary.about_safety)
            ):
                codes.append(Exit.INCONCLUSIVE)
        if self.complete:
            short = Exit.VACUOUS if summary.exhaustive else Exit.INCONCLUSIVE
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
        s, summary = self.stats, self.returned.summary
        return {
            **self.identity.record(self.exit(), self.complete, self.stopped),
            "verdict": self.verdict,
            "properties": [p.record(traces.get(p.name)) for p in self.properties],
            "covers": [{"name": c.name, "reached": c.reached, "depth": c.depth} for c in self.covers],
            "not_applicable": self.not_applicable,
            "meanings": meanings(self.bound),
            "replaced": self.replaced,
            **summary.record(),
            "actions": {name: {"taken": a.taken, "new": a.new} for name, a in self.returned.actions.items()},
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
                "disk": s.disk,
                "workers": s.workers,
            },
        }

    def write_traces(self, folder: Path, bound: BoundModel) -> dict[str, str]:
        """Writes every trace as ITF; the files by property."""
        return {
            answer.name: self.identity_of(answer).write_trace(
                folder, answer.name, answer.trace, bound_of(answer, bound)
            )
            for answer in self.answers
            if answer.trace is not None
        }


def elsewhere(answer: PropertyResult | CoverResult) -> Prepared | None:
    """The model under the configuration of an answer's trace, if that is not the run's."""
    return answer.elsewhere if isinstance(answer, PropertyResult) else None


def bound_of(answer: PropertyResult | CoverResult, bound: BoundModel) -> BoundModel:
    """The model that an answer's trace is of. bound: that of the run."""
    other = elsewhere(answer)
    return bound if other is None else other.bound


def _kinds(bound: BoundModel) -> dict[str, str]:
    """The kinds of the properties of a model, by name; "deadlock" is one unless the model says otherwise."""
    return {p.name: p.kind for p in bound.properties} | ({"deadlock": "deadlock"} if bound.model.deadlock else {})


def property_results(
    bound: BoundModel, options: SearchOptions, engine: EngineResult, vacuous: Mapping[str, str]
) -> list[PropertyResult]:
    """Every property that is asked for, with its status; also the claims that apply to no configuration."""
    kinds = _kinds(bound) | {claim.name: claim.kind for claim in bound.not_applicable if claim.name in vacuous}
    results = [_property_result(name, kind, engine) for name, kind in kinds.items() if options.wants(name)]
    for result in results:
        if result.name in vacuous and result.status is not PropertyStatus.VIOLATED:
            if engine.complete:
                result.status, result.note = PropertyStatus.VACUOUS, vacuous[result.name]
            else:
                result.status, result.note = (
                    PropertyStatus.UNKNOWN,
                    f"a complete run calls it vacuous: {vacuous[result.name]}",
                )
    return results


def _property_result(name: str, kind: str, engine: EngineResult) -> PropertyResult:
    fact = engine.facts.get(name)
    status, remark = _status(kind in TEMPORAL, fact, engine)
    if fact is None:
        return PropertyResult(name, kind, status, note=remark)
    depth = len(fact.trace) if fact.trace is not None else fact.depth
    premise = fact.premise or None
    beyond = fair_runs_beyond(kind, premise, engine.stats.clipped_at) if premise is not None else ""
    note = "; ".join(text for text in (beyond, fact.note or remark) if text)
    return PropertyResult(
        name, kind, status, fact.trace, depth, note, fact.counterexample_to_induction, fact.elsewhere, premise
    )


def _status(temporal: bool, fact: PropertyFact | None, engine: EngineResult) -> tuple[PropertyStatus, str]:
    """The status of a property, for every engine; and a remark where the status does not say it all.

    temporal: whether it is about whole runs. fact: what the engine established of it by itself, if anything.
    """
    bounds_open = isinstance(engine.summary, ProofSummary) and engine.summary.bounds_open
    clipped = bool(bounds_open or engine.stats.clipped)
    holds = PropertyStatus.HOLDS_WITHIN_BOUNDS if clipped else PropertyStatus.HOLDS
    match fact.evidence if fact is not None else None:
        case Evidence.COUNTEREXAMPLE:
            return PropertyStatus.VIOLATED, ""
        case Evidence.NO_PREMISE:
            return PropertyStatus.VACUOUS, "no reachable state satisfies its premise"
        case Evidence.NO_FAIR_RUN:
            return PropertyStatus.VACUOUS, ""
        case Evidence.EVERY_FAIR_RUN | Evidence.EVERY_STATE:
            return holds, ""
        case Evidence.PROOF:
            return (holds if clipped else PropertyStatus.PROVED), ""
        case Evidence.NONE_TO_DEPTH:
            return PropertyStatus.HOLDS_TO_DEPTH, ""
        case Evidence.LEFT_OUT:
            return PropertyStatus.NOT_CHECKED, LIVENESS_NOTE if temporal else ""
        case Evidence.OPEN:
            return PropertyStatus.UNKNOWN, ""
    reason = engine.stopped.reason
    if temporal:
        if isinstance(engine.summary, SimulationResult) or reason is StopReason.COMPLETE:
            return PropertyStatus.NOT_CHECKED, LIVENESS_NOTE
        if not engine.complete:
            return PropertyStatus.UNKNOWN, "this takes every reachable state"
        raised = reason is StopReason.RAISED
        return PropertyStatus.UNKNOWN, "one about whole runs raises" if raised else "its graph is not complete"
    if engine.complete and not isinstance(engine.summary, ProofSummary):
        return holds, ""
    return PropertyStatus.HOLDS_TO_DEPTH if reason is StopReason.DEPTH else PropertyStatus.UNKNOWN, ""
