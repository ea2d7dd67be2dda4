"""Runs what claims need and the ledger lacks."""

from __future__ import annotations

from collections.abc import Callable

from reassure.checkers.ledger.engines_version import engines_version
from reassure.checkers.ledger.ledger import Ledger, read, write
from reassure.checkers.ledger.recorded_run import record_run
from reassure.checkers.ledger.run_spec import RunSpec, properties_by_run
from reassure.checkers.ledger.sample import by_other_engines, run_again
from reassure.checkers.ledger.subjects import Subjects
from reassure.checkers.ledger.trace_names import TraceKey, trace_uses
from reassure.checkers.ledger.trace_store import TraceStore
from reassure.checkers.ledger.verdicts import Staleness, entries
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import DEFAULT_ENGINE
from reassure.checkers.request.result import PropertyStatus
from reassure.spec import claims
from reassure.spec.claims import Claim

Say = Callable[[str], None]


def refresh(chosen: list[Claim], say: Say, progress: Progress, engine: str = DEFAULT_ENGINE) -> None:
    """Runs what is stale or missing for these claims, and forgets what no claim needs.

    If these are all claims, and other engines gave some of the records: repeats a sample of those, and all of them if
    one differs.
    """
    everything = claims.read()
    ledger = read()
    needed = properties_by_run(everything)
    _run_all(_due(chosen, ledger), needed, ledger, say, progress, engine)
    keys = {spec.key for spec in needed}
    ledger.records = {k: r for k, r in ledger.records.items() if k in keys}
    named = {c.id for c in everything}
    if gone := sorted(set(ledger.claims) - named, key=claims.order):
        say(f"forgotten, for no file of claims has them: {', '.join(gone)}")
    ledger.claims = {k: v for k, v in ledger.claims.items() if k in named} | {c.id: c.digest() for c in chosen}
    _forget_traces(needed, everything, ledger)
    write(ledger)
    if len(chosen) == len(everything) and ledger.confirmed != engines_version():
        _confirm(needed, ledger, say, progress, engine)


def _forget_traces(needed: dict[RunSpec, set[str]], everything: list[Claim], ledger: Ledger) -> None:
    """Removes the kept traces of what no longer is violated, and names the others as the claims are now."""
    kept = TraceStore.read(ledger.paths.traces, ledger.traces, trace_uses(everything, ledger.records))
    records = [(spec, ledger.records[spec.key]) for spec in needed if spec.key in ledger.records]
    now = {
        TraceKey.of(spec.subject, spec.method, record.config, name)
        for spec, record in records
        for name, result in record.results.items()
        if result.status != PropertyStatus.VIOLATED
    }
    for key in now & kept.traces.keys():
        del kept.traces[key]
    kept.write(ledger.paths.traces, ledger.traces)


def _confirm(needed: dict[RunSpec, set[str]], ledger: Ledger, say: Say, progress: Progress, engine: str) -> None:
    again, others = run_again(needed, ledger, say, progress), by_other_engines(needed, ledger)
    for line in again.differences:
        say(line)
    if others and (again.differences or not again.runs):
        say(f"repeating all {len(others):,} runs of other versions of the engines")
        _run_all(list(others), needed, ledger, say, progress, engine)
    ledger.confirmed = engines_version()
    write(ledger)


def _run_all(
    specs: list[RunSpec], needed: dict[RunSpec, set[str]], ledger: Ledger, say: Say, progress: Progress, engine: str
) -> None:
    subjects = Subjects()
    for spec in specs:
        if absent := subjects.of(spec).absent:
            say(f"skipped: {spec.key} ({absent})")
            continue
        say(f"running: {spec.key}")
        run_into(ledger, spec, sorted(needed[spec]), subjects.of(spec).sha256, progress, engine)


def run_into(ledger: Ledger, spec: RunSpec, needed: list[str], sha256: str, progress: Progress, engine: str) -> None:
    """Runs what decides a reading, and writes its record and its traces. sha256: of a function's text."""
    result, folder = record_run(spec, needed, sha256, progress, engine), ledger.paths.traces
    ledger.records[spec.key] = result.record
    if result.traces:
        store = TraceStore.read(folder, ledger.traces, trace_uses(claims.read(), ledger.records))
        for trace, bound in result.traces:
            store.add(trace, bound, spec.method)
        store.write(folder, ledger.traces)
    write(ledger)


def _due(chosen: list[Claim], ledger: Ledger) -> list[RunSpec]:
    """The runs that are due, each once, in the order of the claims."""
    answers = [a for e in entries(chosen, ledger) for a in e.answers]
    fresh = (None, Staleness.CLAIM_CHANGED, Staleness.CLAIM_NOT_LISTED)
    return list(dict.fromkeys(a.run for a in answers if a.staleness not in fresh))
