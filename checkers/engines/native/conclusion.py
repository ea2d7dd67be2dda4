"""From a search that has ended to the facts that its engine returns; shared by the engines that run a kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from reassure.checkers.engines.native.counterexample import Paths, Wanted
from reassure.checkers.engines.native.exploration import Exploration
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.search import RaisedAt
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import RUNS_RAISE, Ending, Stop
from reassure.checkers.request.engine_results import CoverResult, EngineResult, Evidence, PropertyFact, SearchResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import after
from reassure.checkers.traces.fairness import as_data
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of
from reassure.spec.semantics.trace import Trace

if TYPE_CHECKING:
    from reassure.checkers.engines.native.liveness.decide import Liveness


@dataclass
class WholeRuns:
    """The answers to properties about whole runs, as far as they were decided."""

    facts: dict[str, PropertyFact] = field(default_factory=dict)
    stopped: Stop | None = None
    """The reason why some were not decided."""
    raised: tuple[Trace, str] | None = None
    seconds: float = 0.0
    memory: int = 0
    """Bytes that were held at a time, at most, beside the states."""


def state_claims(bound: BoundModel, options: SearchOptions) -> frozenset[str]:
    """The properties of states and steps that are asked for, and "deadlock": those that a kernel hits."""
    names = {p.name for p in bound.properties if not p.temporal} | ({"deadlock"} if bound.model.deadlock else set())
    return frozenset(name for name in names if options.wants(name))


def told_claims(bound: BoundModel, options: SearchOptions) -> frozenset[str]:
    """The claims whose hits get traces: properties, and covers with `--witness`."""
    covers = (p.name for p in bound.covers if options.witness and options.wants(p.name))
    return state_claims(bound, options).union(covers) if options.traces else frozenset()


def temporal_claims(bound: BoundModel, options: SearchOptions) -> list[str]:
    """The properties about whole runs that are asked for."""
    return [p.name for p in bound.properties if p.temporal and options.wants(p.name)]


def whole_runs(
    make: Callable[[], Liveness],
    names: list[str],
    paths: Paths,
    options: SearchOptions,
    progress: Progress,
    clipped: int,
) -> WholeRuns:
    """Decides properties about whole runs; what ends that early is in the answer. clipped: as of `decide`."""
    from reassure.checkers.engines.native.liveness.decide import decide  # which only some models need

    began, answers = time.monotonic(), WholeRuns()
    with Ending() as ending:
        liveness = make()
        try:
            for name, fact in decide(liveness, names, paths, progress, clipped):
                answers.facts[name] = fact
        except RaisedAt as raised:
            answers.raised = _raised_in(liveness.level_rows, raised.row, paths, options)
        finally:
            answers.memory = liveness.peak
    answers.stopped = RUNS_RAISE if answers.raised is not None else ending.stop
    answers.seconds = time.monotonic() - began
    return answers


def _raised_in(levels: Iterable[Iterable[Rows]], row: Rows, paths: Paths, options: SearchOptions) -> tuple[Trace, str]:
    """The shortest run to the state of this row, in which the model raises, and what raises there."""
    level = next(n for n, parts in enumerate(levels, 1) if any((p == row).all(axis=1).any() for p in parts))
    trace, raised = paths.raising_in(level, paths.layout.decode(row.tolist()), options.wants)
    return trace, raised.text


def conclusion(
    prepared: Prepared,
    options: SearchOptions,
    exploration: Exploration,
    paths: Paths,
    summary: SearchResult,
    runs: WholeRuns | None = None,
) -> EngineResult:
    """The facts of a search that has ended. runs: of properties about whole runs, where the search was complete."""
    began, bound, stats = time.monotonic(), prepared.bound, exploration.stats
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}
    levels, asked = exploration.search.hits.levels, state_claims(bound, options)
    hits = {name: flag for name, flag in exploration.kernel.model.flags().items() if flag in levels}
    raised_on = exploration.search.raised_on
    raised: tuple[Trace | None, str] | None = runs.raised if runs is not None else None
    told = told_claims(bound, options)
    ends = [(levels[flag], Wanted(flag)) for name, flag in hits.items() if name in (told or asked)]
    raising = [(raised_on, Wanted(raises=True))] if raised_on is not None else []
    traces: dict[str, Trace] = {}
    with Ending() as ending:
        paths.look_for([*ends, *raising], paths=options.traces)
        for name in sorted(told & hits.keys(), key=lambda name: levels[hits[name]]):
            traces[name] = paths.shown(claims.get(name), hits[name], levels[hits[name]])
        for name in () if options.traces else asked & hits.keys():
            paths.end(claims.get(name), hits[name], levels[hits[name]])
        if raised_on is not None:
            trace, place = paths.raising(raised_on, options.wants)
            raised = trace, place.text
    why = f"was not rebuilt: {ending.stop.text}" if ending.stop is not None else "is left out (--stories 0)"
    if raised_on is not None and raised is None:
        raised = None, f"in a state of level {raised_on}, to which the trace {why}"
    facts = dict(runs.facts) if runs is not None else {}
    for name in asked & hits.keys():
        states = levels[hits[name]] + (name in claims and claims[name].over_steps)
        note = "" if name in traces else f"{after(states, '')}; its trace {why}"
        facts[name] = PropertyFact(Evidence.COUNTEREXAMPLE, traces.get(name), note, depth=states)
    covers = [CoverResult(p.name) for p in bound.covers if options.wants(p.name)]
    for cover in covers:
        if cover.name in hits:
            cover.depth = levels[hits[cover.name]] + claims[cover.name].over_steps
            cover.trace = traces.get(cover.name)
    if runs is not None:
        stats.memory += runs.memory
        stats.seconds["liveness"] = runs.seconds
        if temporal_claims(bound, options):
            summary.fairness = as_data(assumptions_of(bound.model))
    stats.seconds["report"] = time.monotonic() - began
    stopped = (runs.stopped if runs is not None else None) or exploration.stopped
    return EngineResult(
        summary, stats, stopped, exploration.complete, facts, tuple(covers), exploration.actions, raised
    )
