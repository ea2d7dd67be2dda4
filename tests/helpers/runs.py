"""Checks run in this process, and what of their results engines must agree on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reassure import Model
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.reference import search as reference
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import CheckResult
from reassure.checkers.request.run_identity import RunIdentity
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, make_config
from reassure.spec.semantics.trace import PlainConfig


def checked(model: str, pairs: list[str], engine: str, **options: Any) -> tuple[CheckResult, BoundModel]:
    """A model checked by an engine. options: of `SearchOptions`."""
    return run(CheckRequest(model, pairs, engine, SearchOptions(**options)), Progress(quiet=True))


def bind(model: Model, values: PlainConfig) -> tuple[BoundModel, LoweredModel]:
    """A model with configuration values, and in the form that engines translate."""
    bound = BoundModel(model, make_config(model, values))
    return bound, lower_model(bound)


def result_of(
    engine: Callable[[Prepared, SearchOptions, Progress], EngineResult],
    bound: BoundModel,
    options: SearchOptions | None = None,
    lowered: LoweredModel | None = None,
) -> CheckResult:
    """The result of an engine on a model that need not be in a file."""
    chosen = SearchOptions() if options is None else options
    prepared = Prepared(bound, restricted=lowered)
    identity = RunIdentity.of(prepared, "", "")
    return CheckResult.of(identity, bound, chosen, engine(prepared, chosen, Progress(quiet=True)))


def plain_result(bound: BoundModel, options: SearchOptions | None = None) -> CheckResult:
    """The result of the reference engine."""
    return result_of(reference.check, bound, options)


def everything(verdict: CheckResult) -> dict[str, object]:
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
