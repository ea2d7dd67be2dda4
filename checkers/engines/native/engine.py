"""The native engine: level-synchronous breadth-first search with a compiled kernel, on all cores.

The answers are those of the reference engine for any number of threads. States are exact; every level is kept (a row of
words for each state), so that counterexamples are rebuilt backwards without storing parents, and replayed in Python.
"""

from __future__ import annotations

import time

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.conclusion import (
    conclusion,
    state_claims,
    temporal_claims,
    told_claims,
    whole_runs,
)
from reassure.checkers.engines.native.exploration import CompiledKernel, Limits, Start, compiled, explore, reporting
from reassure.checkers.engines.native.levels import SIZES, SearchSizes
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import Search
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import EngineResult, SearchResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.spec.semantics.liveness import assumptions_of


def check(prepared: Prepared, options: SearchOptions, progress: Progress, sizes: SearchSizes = SIZES) -> EngineResult:
    """Searches every reachable state, or one of each class. Raises as the reference engine does."""
    if options.symmetry != "off":
        from reassure.checkers.engines.native.symmetry import reduced_search  # a search of all states starts sooner

        return reduced_search.check(prepared, options, progress, sizes, check)
    began, bound = time.monotonic(), prepared.bound
    layout = state_layout(bound)
    translation = Translation(lambda: prepared.lowered.only(options.wants), layout, bound, prepared.kept)
    progress.ready("compiling")
    temporal = temporal_claims(bound, options)
    parameters = False
    if temporal:
        from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters

        parameters = needs_parameters(assumptions_of(bound.model))
    kept = translation.kept_kernel(parameters)
    kernel = compiled(translation.lowered, layout, parameters) if kept is None else CompiledKernel(kept)
    translation.keep(kernel.model)
    search = Search(kernel, max(1, options.workers), options.memory, sizes)
    search.warm_up()
    compile_seconds = time.monotonic() - began
    progress.begin()
    limits = Limits.of(options, state_claims(bound, options), told_claims(bound, options))
    start = Start.of(bound, layout)
    exploration = explore(bound, kernel, start, search, limits, reporting(search, start, progress))
    stats, paths, runs = exploration.stats, exploration.paths(look=limits.clock.look_to_the_end), None
    if temporal and exploration.complete:
        search.release_table()

        def liveness() -> Liveness:
            return Liveness(
                bound,
                translation,
                kernel,
                search.found.arrays,
                temporal,
                search.allow,
                limits.clock.look,
                len(search.workers),
            )

        runs = whole_runs(liveness, temporal, paths, options, progress, stats.clipped)
    stats.seconds["compile"] = compile_seconds
    stats.bytes_per_state, stats.workers = layout.bytes_per_state, options.workers
    return conclusion(prepared, options, exploration, paths, SearchResult(), runs)
