"""Runs what claims need and the ledger lacks."""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import function
from reassure.checkers.base.options import DEFAULT_ENGINE, ProofOptions, SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.base.run_identity import ENGINE_VERSION
from reassure.checkers.base.stop import StopReason
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.evidence.ledger import Ledger, LedgerPaths, Record, RecordedResult, read, write
from reassure.checkers.evidence.run_spec import RunSpec
from reassure.checkers.evidence.subjects import Subjects
from reassure.checkers.evidence.trace_store import TraceStore
from reassure.checkers.evidence.verdicts import NOT_REACHED, REACHED, Staleness, entries
from reassure.checkers.traces.fairness import from_data, in_words
from reassure.spec import claims
from reassure.spec.claims import Claim, Outcome

DECIDED = frozenset({PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.VIOLATED})
"""Statuses of properties about whole runs that say something of them."""


def refresh(chosen: list[Claim], say: Callable[[str], None], progress: Progress, engine: str = DEFAULT_ENGINE) -> None:
    """Runs what is stale or missing for these claims, and forgets what no claim needs."""
    everything = claims.read()
    ledger = read()
    subjects = Subjects()
    needed: dict[RunSpec, set[str]] = {}
    for reading in (r for c in everything for r in c.readings):
        needed.setdefault(RunSpec.of(reading), set()).update(reading.properties)
    for spec in _due(chosen, ledger):
        if absent := subjects.of(spec).absent:
            say(f"skipped: {spec.key} ({absent})")
            continue
        say(f"running: {spec.key}")
        try:
            record = _run(spec, sorted(needed[spec]), subjects.of(spec).sha256, progress, ledger.paths, engine)
        except Failure as failure:
            raise Failure(failure.code, f"{spec.key}: {failure}") from None
        ledger.records[spec.key] = record
        write(ledger)
    keys = {spec.key for spec in needed}
    ledger.records = {k: r for k, r in ledger.records.items() if k in keys}
    named = {c.id for c in everything}
    ledger.claims = {k: v for k, v in ledger.claims.items() if k in named} | {c.id: c.digest() for c in chosen}
    write(ledger)


def _due(chosen: list[Claim], ledger: Ledger) -> list[RunSpec]:
    """The runs that are due, each once, in the order of the claims."""
    answers = [a for e in entries(chosen, ledger) for a in e.answers]
    fresh = (None, Staleness.CLAIM_CHANGED)
    return list(dict.fromkeys(a.run for a in answers if a.staleness not in fresh))


def _run(spec: RunSpec, needed: list[str], sha256: str, progress: Progress, paths: LedgerPaths, engine: str) -> Record:
    if spec.method == "enumerate":
        return _enumerate(spec, sha256)
    request = CheckRequest(spec.subject, list(spec.settings), engine, SearchOptions(workers=1, witness=True))
    if spec.method == "prove":
        request.engine, request.proof, request.options.properties = "prove:auto", ProofOptions(), needed
    result, bound = run(request, progress)
    if result.ended(StopReason.INTERRUPTED):
        raise KeyboardInterrupt
    traces = [p.trace for p in result.properties if p.name in needed and p.trace is not None]
    if traces:
        store = TraceStore.read(paths.traces)
        for trace in traces:
            store.add(trace, bound, spec.method)
        store.write(paths.traces)
    return _record(result, searched=spec.method == "check")


def _record(result: CheckResult, searched: bool) -> Record:
    """The record of a run. searched: exhaustively, so that a cover that was not reached cannot be."""
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
    assumed = in_words(from_data(result.search.fairness)) if decided and result.search is not None else ""
    return Record(
        sha256=result.identity.model_sha256 or "",
        engine=result.identity.engine or "",
        engine_version=ENGINE_VERSION,
        repro=result.repro,
        config=result.identity.config,
        stopped_because=result.stopped_because,
        stats={"distinct": s.distinct, "generated": s.generated, "depth": s.depth} if searched else {},
        bounds=sorted({*s.clipped_at, *(result.proof.bounds_open if result.proof else [])}),
        fairness=assumed,
        results=results,
    )


def _enumerate(spec: RunSpec, sha256: str) -> Record:
    call, _ = function(spec.subject)
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
        engine="enumeration",
        engine_version=ENGINE_VERSION,
        repro=f"reassure claims --refresh ({spec.subject})",
        cases=outcome.cases,
        covered=outcome.bounds,
        counterexample=outcome.counterexample or "",
        results={name: RecordedResult("cases", status)},
    )
