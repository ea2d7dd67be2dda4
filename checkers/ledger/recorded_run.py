"""One run of the ledger: what its engine finds, as a record, with the traces of what it violates."""

from __future__ import annotations

from dataclasses import dataclass, field

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.ledger.ledger import NOT_REACHED, REACHED, Record, RecordedResult, engines_version
from reassure.checkers.ledger.subjects import RunSpec, function_values
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import function
from reassure.checkers.request.options import DEFAULT_ENGINE, ProofOptions, SearchOptions
from reassure.checkers.request.outside_values import values_digest
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus, bound_of
from reassure.checkers.request.run_identity import ENGINE_VERSION
from reassure.checkers.traces.fairness import assumptions_in_words, from_data
from reassure.spec.claims import ANY_NUMBER, PROOFS, Outcome
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

DECIDED = frozenset({PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.VIOLATED})
"""Statuses of properties about whole runs that say something of them."""


@dataclass
class RecordedRun:
    """A record with the traces of the properties that were asked for and are violated."""

    record: Record
    traces: list[tuple[Trace, BoundModel]] = field(default_factory=list)


def record_run(
    spec: RunSpec, needed: list[str], sha256: str, progress: Progress, engine: str = DEFAULT_ENGINE
) -> RecordedRun:
    """Runs what decides a reading. needed: the properties and covers; sha256: of a function's text.

    `Failure` names the run; `KeyboardInterrupt` if the user ended it.
    """
    try:
        if spec.method == "enumerate":
            return RecordedRun(_enumerate(spec, sha256))
        return _search(spec, needed, progress, engine)
    except Failure as failure:
        raise Failure(failure.code, f"{spec.key}: {failure}") from None


def _search(spec: RunSpec, needed: list[str], progress: Progress, engine: str) -> RecordedRun:
    request = CheckRequest(spec.subject, list(spec.settings), engine, SearchOptions(workers=1, witness=True))
    if spec.method in PROOFS:
        any_number = spec.method == ANY_NUMBER
        request.engine = "prove:any-number" if any_number else "prove:auto"
        request.proof, request.options.properties = ProofOptions(any_number=any_number), needed
    result, bound = run(request, progress)
    result.stopped.raise_interrupt()
    traces = [(p.trace, bound_of(p, bound)) for p in result.properties if p.name in needed and p.trace is not None]
    return RecordedRun(_record(result, values_digest(bound), searched=spec.method == "check"), traces)


def _record(result: CheckResult, values: str, searched: bool) -> Record:
    """The record of a run.

    values: the digest of those that the model reaches. searched: exhaustively, so that a cover that was not reached
    cannot be.
    """
    results: dict[str, RecordedResult] = {}
    for item in result.answers:
        states = len(item.trace) if item.trace is not None else item.depth
        if isinstance(item, PropertyResult):
            results[item.name] = RecordedResult(item.kind, item.status, states)
        else:
            idle = NOT_REACHED if result.complete and searched else PropertyStatus.UNKNOWN
            results[item.name] = RecordedResult("cover", REACHED if item.reached else idle, states)
    s = result.stats
    decided = any(p.temporal and p.status in DECIDED for p in result.properties)
    assumed = assumptions_in_words(from_data(result.search.fairness)) if decided and result.search is not None else ""
    return Record(
        sha256=result.identity.model_sha256 or "",
        values=values,
        engine=result.identity.engine or "",
        engine_version=ENGINE_VERSION,
        repro=result.repro,
        config=result.identity.config,
        stopped_because=result.stopped_because,
        stats={"distinct": s.distinct, "generated": s.generated, "depth": s.depth} if searched else {},
        bounds=sorted({*s.clipped_at, *(result.proof.bounds_open if result.proof else [])}),
        fairness=assumed,
        results=results,
        engines=engines_version(),
    )


def _enumerate(spec: RunSpec, sha256: str) -> Record:
    call = function(spec.subject)
    try:
        outcome = call()
    except Exception as error:
        raise Failure(Exit.MODEL, f"{spec.subject} raises {type(error).__name__}: {error}") from error
    if not isinstance(outcome, Outcome) or outcome.cases < 1:
        raise Failure(Exit.MODEL, f"{spec.subject} went through no cases: it returned {outcome!r}")
    if outcome.holds == bool(outcome.counterexample):
        raise Failure(
            Exit.MODEL, f"{spec.subject}: a counterexample is given if and only if the claim is violated: {outcome!r}"
        )
    name = spec.subject.partition(":")[2]
    status = PropertyStatus.HOLDS if outcome.holds else PropertyStatus.VIOLATED
    return Record(
        sha256=sha256,
        values=function_values(spec.subject),
        engine="enumeration",
        engine_version=ENGINE_VERSION,
        repro=f"reassure claims --refresh ({spec.subject})",
        cases=outcome.cases,
        covered=outcome.bounds,
        counterexample=outcome.counterexample or "",
        results={name: RecordedResult("cases", status)},
    )
