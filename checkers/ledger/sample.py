"""A sample of the ledger's runs, run again: after a change of the engines, do they still give these results?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from reassure.checkers.ledger.engines_version import engines_version
from reassure.checkers.ledger.ledger import Ledger, Record
from reassure.checkers.ledger.recorded_run import record_run
from reassure.checkers.ledger.run_spec import RunSpec
from reassure.checkers.ledger.subjects import Subjects
from reassure.checkers.machine.progress import Progress

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
    texts = [f"{name}: {_said(new, name)}, and the ledger says {_said(old, name)}" for name in names
             if old.results.get(name) != new.results.get(name)]  # fmt: skip
    texts += [f"{name} {new.stats.get(name)}, and the ledger says {old.stats.get(name)}" for name in old.stats
              if new.stats.get(name) != old.stats[name]]  # fmt: skip
    as_before = replace(new, repro=old.repro, engine_version=old.engine_version, engines=old.engines)
    return texts or ([] if as_before == old else ["it ends, or is bounded, otherwise than the ledger says"])


def _said(record: Record, name: str) -> str:
    result = record.results.get(name)
    if result is None:
        return "nothing"
    return f"{result.status}, {result.states} states" if result.states else result.status
