"""Checks run in this process, and what of their results engines must agree on."""

from __future__ import annotations

from typing import Any

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.check import CheckRequest, run
from reassure.spec.semantics.interpreter import BoundModel


def checked(model: str, pairs: list[str], engine: str, **options: Any) -> tuple[CheckResult, BoundModel]:
    """A model checked by an engine. options: of `SearchOptions`."""
    return run(CheckRequest(model, pairs, engine, SearchOptions(**options)), Progress(quiet=True))


def everything(verdict: CheckResult) -> dict[str, Any]:
    """All that engines must agree on."""
    record = verdict.record({})
    kept = {k: record[k] for k in ("verdict", "complete", "stopped_because", "properties", "covers", "actions")}
    stats = {k: record["stats"][k] for k in ("generated", "distinct", "depth", "clipped", "clipped_at", "frontier")}
    traces = {
        p.name: (p.trace.states, [(s.action, s.params) for s in p.trace.steps], p.trace.loop, p.trace.closing)
        for p in [*verdict.properties, *verdict.covers]
        if p.trace is not None
    }
    return {**kept, **stats, "traces": traces}
