"""Runs what claims need and the ledger lacks.

Also here: a sample of the ledger's runs, run again: after a change of the engines, do they still give these results?
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from reassure.checkers.ledger.ledger import Ledger, Record, engines_version, read_ledger, write
from reassure.checkers.ledger.recorded_run import record_run
from reassure.checkers.ledger.subjects import RunSpec, Subjects, properties_by_run
from reassure.checkers.ledger.trace_store import TraceKey, TraceStore, trace_uses
from reassure.checkers.ledger.verdicts import Staleness, entries
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import DEFAULT_ENGINE
from reassure.checkers.request.result import PropertyStatus
from reassure.spec import claims
from reassure.spec.claims import Claim

MOST_STEPS = 10_000
"""Steps of the largest search that a sample may repeat."""
MOST_PROVED = 2
"""Properties of the largest proof that a sample may repeat."""


@dataclass
class RunAgain:
    """The runs of a sample, by key, and what they give now that their records do not say."""

    runs: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def by_other_engines(runs: Mapping[RunSpec, set[str]], ledger: Ledger) -> dict[RunSpec, Record]:
    """The records that another version of the engines gave; of no enumeration, which needs no engine."""
    now = engines_version()
    records = {run: ledger.records[run.key] for run in runs if run.method != "enumerate" and run.key in ledger.records}
    return {run: record for run, record in records.items() if record.engines != now}


def sample(records: Mapping[RunSpec, Record]) -> list[RunSpec]:
    """Cheap runs with at least one of every kind of result that cheap runs have.

    The version of the engines chooses: the same ones each time, and others after another change.
    """
    cheap = {run: r for run, r in records.items() if _is_cheap(run, r)}
    seen: set[tuple[str, str, str]] = set()
    chosen = []
    for run in sorted(cheap, key=lambda run: hashlib.sha256(f"{engines_version()} {run.key}".encode()).digest()):
        kinds = {(run.method, result.kind, result.status) for result in cheap[run].results.values()}
        if kinds - seen:
            chosen.append(run)
            seen |= kinds
    return chosen


def _is_cheap(run: RunSpec, record: Record) -> bool:
    if run.method == "check":
        return record.stats["generated"] <= MOST_STEPS
    return run.method == "prove" and len(record.results) <= MOST_PROVED  # a proof for any number can take minutes


def run_again(
    runs: Mapping[RunSpec, set[str]], ledger: Ledger, say: Callable[[str], None], progress: Progress
) -> RunAgain:
    """Repeats a sample of what other engines gave. runs: with their properties; stale records are left out."""
    subjects, again = Subjects(), RunAgain()
    others = by_other_engines(runs, ledger)
    fresh = {
        run: r for run, r in others.items() if (r.sha256, r.values) == (subjects.of(run).sha256, subjects.values(run))
    }
    for run in sample(fresh):
        say(f"running again: {run.key}")
        record, old = others[run], others[run]
        found = record_run(run, sorted(runs[run]), "", progress, record.engine).record
        again.runs.append(run.key)
        again.differences += [f"{run.key}: {text}" for text in _differences(old, found)]
    return again


def _differences(old: Record, new: Record) -> list[str]:
    """What a run gives that its record does not say, in words."""
    names = sorted(old.results.keys() | new.results.keys())
    texts = [
        f"{name}: {_said(new, name)}, and the ledger says {_said(old, name)}"
        for name in names
        if old.results.get(name) != new.results.get(name)
    ]
    texts += [
        f"{name} {new.stats.get(name)}, and the ledger says {old.stats.get(name)}"
        for name in old.stats
        if new.stats.get(name) != old.stats[name]
    ]
    as_before = replace(new, repro=old.repro, engine_version=old.engine_version, engines=old.engines)
    return texts or ([] if as_before == old else ["it ends, or is bounded, otherwise than the ledger says"])


def _said(record: Record, name: str) -> str:
    result = record.results.get(name)
    if result is None:
        return "nothing"
    return f"{result.status}, {result.states} states" if result.states else result.status


Say = Callable[[str], None]


def refresh(chosen: list[Claim], say: Say, progress: Progress, engine: str = DEFAULT_ENGINE) -> None:
    """Runs what is stale or missing for these claims, and forgets what no claim needs.

    If these are all claims, and other engines gave some of the records: repeats a sample of those, and all of them if
    one differs.
    """
    everything = claims.read()
    ledger = read_ledger()
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
