"""The native engine: level-synchronous breadth-first search with a generated kernel, on all cores.

The answers are those of the reference engine for any number of threads. States are exact; every level is kept (a row of
words for each state), so that counterexamples are rebuilt backwards without storing parents, and replayed in Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.stop import ALL_VISITED, BY_USER, FAILED_FAST, NO_MEMORY, Interrupted, depth_reached
from reassure.checkers.encoding.state_layout import WORD, layout_of
from reassure.checkers.native.counterexample import Paths
from reassure.checkers.native.kernel_cache import compiled
from reassure.checkers.native.results import Start, conclude, count, explain, open_findings
from reassure.checkers.native.search import SMALL, Clock, Level, RaisedAt, Search, Seen
from reassure.checkers.native.table_text import TAG_BITS
from reassure.spec.frontend.lowering import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel


def check(
    bound: BoundModel, lowered: LoweredModel, options: SearchOptions, verdict: CheckResult, progress: Progress
) -> CheckResult:
    """Searches every reachable state; fills in and returns the verdict. Raises as the reference engine does."""
    began = time.monotonic()
    layout = layout_of(bound.type, room=WORD, tag=TAG_BITS)
    progress.ready("compiling")
    kernel, module = compiled(lowered, layout, verdict.model_sha256)
    search = Search.of(kernel, module, options.workers, options.memory)
    search.compile()
    stats = verdict.stats
    stats.seconds["compile"] = time.monotonic() - began
    stats.bytes_per_state, stats.workers = layout.bytes_per_state, options.workers
    clock = Clock(options.budget)
    progress.begin()
    claims = open_findings(bound, options, verdict)
    seen, start = Seen(), Start.of(bound, layout)

    def stop(left: int) -> None:
        clock.look()
        generated = start.generated + sum(int(w.tally[module.GENERATED]) for w in search.workers)
        stats.frontier = left + sum(w.fresh for w in search.workers)
        progress.report(len(search.levels), generated, search.distinct, left, search.memory)

    try:
        search.allow(0)
        search.seed(start.rows)
        explore(search, seen, options, claims, stop, verdict)
    except KeyboardInterrupt:
        verdict.stopped = BY_USER
    except RaisedAt as raised:
        explain(bound, options, layout.decode(raised.row.view(np.uint64)))
    except Interrupted as end:
        verdict.stopped = end.stop
    except MemoryError:
        verdict.stopped = NO_MEMORY
    count(verdict, start, kernel, module, np.sum([w.tally for w in search.workers], axis=0), search.new)
    stats.distinct, stats.depth, stats.memory = search.distinct, len(search.levels), search.memory
    stats.seconds["search"] = clock.seconds
    began = time.monotonic()
    conclude(bound, kernel, seen, Paths.of(bound, search), verdict, options)
    stats.seconds["report"] = time.monotonic() - began
    return verdict


def explore(
    search: Search,
    seen: Seen,
    options: SearchOptions,
    claims: set[str],
    stop: Callable[[int], None],
    verdict: CheckResult,
    enough: Callable[[], bool] = lambda: False,
) -> bool:
    """Searches on from the last level, to the end or to what the options say; the verdict says why it ended.

    enough: asked after each level; True ends the search for another engine to go on, and is why False is returned.
    """
    stats, verdict.stopped = verdict.stats, ALL_VISITED
    with ThreadPoolExecutor(max(1, options.workers)) as pool:
        try:
            while True:
                if options.depth is not None and len(search.levels) > options.depth:
                    stats.frontier = search.leave_off()
                    verdict.stopped = depth_reached(options.depth)
                    return True
                if enough():
                    return False
                level = Level(search, stop)
                several = pool if options.workers > 1 and level.left >= SMALL else None
                before = len(search.levels)
                level.run(several)
                seen.note(before, search.workers)
                level.finish(several)
                if len(search.levels) == before:
                    verdict.complete = True
                    stats.frontier = 0
                    return True
                if options.fail_fast and seen.fallen(search.kernel, claims):
                    verdict.stopped = FAILED_FAST
                    stats.frontier = search.leave_off()
                    return True
        except (KeyboardInterrupt, Interrupted, MemoryError):
            seen.note(len(search.levels), search.workers)
            raise
