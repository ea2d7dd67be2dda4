"""The native engine: level-synchronous breadth-first search with a compiled kernel, on all cores.

The answers are those of the reference engine for any number of threads. States are exact; every level is kept (a row of
words for each state), so that counterexamples are rebuilt backwards without storing parents, and replayed in Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.stop import ALL_VISITED, FAILED_FAST, MODEL_RAISES, depth_reached
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.tally import GENERATED
from reassure.checkers.engines.native.liveness.decide import Liveness, decide, needs_parameters
from reassure.checkers.engines.native.model.model_kernel import ModelKernel
from reassure.checkers.engines.native.results import (
    Start,
    conclude,
    count,
    early_end_noted,
    open_findings,
    raised_noted,
)
from reassure.checkers.engines.native.search import SIZES, Clock, Search, SearchSizes
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of


def check(
    bound: BoundModel,
    lowered: LoweredModel,
    options: SearchOptions,
    verdict: CheckResult,
    progress: Progress,
    sizes: SearchSizes = SIZES,
) -> CheckResult:
    """Searches every reachable state; fills in and returns the verdict. Raises as the reference engine does."""
    began = time.monotonic()
    layout = state_layout(bound)
    progress.ready("compiling")
    temporal = any(p.temporal and options.wants(p.name) for p in bound.properties)
    kernel = compiled(lowered, layout, parameters=temporal and needs_parameters(assumptions_of(bound.model)))
    search = Search(kernel, max(1, options.workers), options.memory, sizes)
    search.warm_up()
    stats = verdict.stats
    stats.seconds["compile"] = time.monotonic() - began
    stats.bytes_per_state, stats.workers = layout.bytes_per_state, options.workers
    clock = Clock(options.budget)
    progress.begin()
    claims = open_findings(bound, options, verdict)
    start = Start.of(bound, layout)

    def stop(left: int) -> None:
        clock.look()
        generated = start.generated + sum(int(w.tally[GENERATED]) for w in search.workers)
        stats.frontier = left + sum(w.fresh for w in search.workers)
        progress.report(len(search.level_rows), generated, search.distinct, left, search.memory)

    with early_end_noted(verdict):
        search.allow(0)
        search.seed(start.rows)
        explore(search, kernel.model, options, claims, stop, verdict)
    count(verdict, start, kernel, search.tally, search.new_by_action)
    stats.distinct, stats.depth, stats.memory = search.distinct, len(search.level_rows), search.memory
    stats.seconds["search"] = clock.seconds
    if temporal and verdict.complete:
        began = time.monotonic()
        paths = Paths.of(bound, kernel, search)
        with early_end_noted(verdict), raised_noted(search.level_rows, paths, options, verdict):
            liveness = Liveness(bound, lowered, kernel, search.level_rows, search.allow, clock.look)
            decide(liveness, paths, verdict, progress)
        stats.seconds["liveness"] = time.monotonic() - began
    began = time.monotonic()
    conclude(bound, kernel.model, search.hits, Paths.of(bound, kernel, search), verdict, options, search.raised_on)
    stats.seconds["report"] = time.monotonic() - began
    return verdict


def explore(
    search: Search,
    kernel: ModelKernel,
    options: SearchOptions,
    claims: set[str],
    stop: Callable[[int], None],
    verdict: CheckResult,
    enough: Callable[[], bool] = lambda: False,
) -> bool:
    """Searches on from the last level, to the end or to what the options say; the verdict says why it ended.

    enough: asked before each level; True ends the search for another engine to go on, and is why False is returned.
    """
    stats = verdict.stats
    for level in search.levels(stop):
        if options.fail_fast and search.hits.violated(kernel, claims):
            verdict.stopped = FAILED_FAST
        elif options.depth is not None and level > options.depth:
            verdict.stopped = depth_reached(options.depth)
        elif enough():
            return False
        else:
            continue
        stats.frontier = search.leave_off()
        return True
    if search.raised_on is not None:
        verdict.stopped = MODEL_RAISES
        stats.frontier = search.leave_off() if len(search.level_rows) > search.raised_on else 0
        return True
    verdict.stopped = ALL_VISITED
    verdict.complete, stats.frontier = True, 0
    return True
