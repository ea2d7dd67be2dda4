"""The native engine: level-synchronous breadth-first search with a generated kernel, on all cores.

The answers are those of the reference engine for any number of threads. States are exact; every level is kept (a row of
words for each state), so that counterexamples are rebuilt backwards without storing parents, and replayed in Python.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from checkers.breadth_first import SMALL, Clock, Level, RaisedAt, Search, Seen
from checkers.kernels import compiled
from checkers.layout import WORD, layout_of
from checkers.options import Interrupted, Options, Progress
from checkers.paths import Paths
from checkers.search_text import TAG_BITS
from checkers.traces import Disagreement
from checkers.verdict import ActionCount, Finding, Reached, Verdict
from spec.binding import Bound, Clipped, ModelError
from spec.subset import Elaborated


def check(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
    """Searches every reachable state; fills in and returns the verdict. Raises as the reference engine does."""
    began = time.monotonic()
    layout = layout_of(bound.type, room=WORD, tag=TAG_BITS)
    kernel, module = compiled(lowered, layout, verdict.model_sha256)
    search = Search.of(kernel, module, options.workers, options.memory)
    search.compile()
    stats = verdict.stats
    stats.seconds["compile"] = time.monotonic() - began
    stats.bytes_per_state, stats.workers = layout.bytes_per_state, options.workers
    clock = Clock(options.budget)
    claims = [p for p in bound.properties if p.kind != "leads_to" and options.wants(p.name)]
    verdict.properties = [Finding(p.name, p.kind, "unknown") for p in bound.properties if options.wants(p.name)]
    if bound.model.deadlock and options.wants("deadlock"):
        verdict.properties.append(Finding("deadlock", "deadlock", "unknown"))
    verdict.covers = [Reached(p.name) for p in bound.covers if options.wants(p.name)]
    seen, seeds, clipped_at_start = Seen(), set(), 0
    for _, _, state in bound.initial_states():
        stats.generated += 1
        if isinstance(state, Clipped):
            clipped_at_start += 1
            stats.clipped_at[state.path] = stats.clipped_at.get(state.path, 0) + 1
            stats.undeclared += not state.declared
        else:
            seeds.add(layout.encode(state))
    started = stats.generated

    asked = {p.name for p in claims} | ({"deadlock"} if bound.model.deadlock else set())

    def count() -> None:
        total = np.sum([w.tally for w in search.workers], axis=0)
        clips = int(total[module.CLIPS_TOTAL])
        stats.generated = started + int(total[module.GENERATED]) + clips
        stats.distinct, stats.depth = search.distinct, len(search.levels)
        stats.memory = search.memory
        verdict.actions = {
            name: ActionCount(int(total[i]), int(search.new[i])) for i, name in enumerate(kernel.actions)
        }
        stats.clipped = clipped_at_start + clips
        for (path, declared), n in zip(kernel.clips, total[module.CLIP_AT : module.ERROR].tolist(), strict=True):
            if n:
                stats.clipped_at[path] = n
                stats.undeclared += 0 if declared else n

    def stop(left: int) -> None:
        clock.look()
        generated = started + sum(int(w.tally[module.GENERATED]) for w in search.workers)
        stats.frontier = left + sum(w.fresh for w in search.workers)
        progress.report(len(search.levels), generated, search.distinct, left, search.memory)

    with ThreadPoolExecutor(max(1, options.workers)) as pool:
        try:
            search.seed(sorted(seeds))
            verdict.stopped_because = "every reachable state was visited"
            while True:
                if options.depth is not None and len(search.levels) > options.depth:
                    stats.frontier = sum(len(p) for p in search.levels.pop())
                    verdict.stopped_because = f"depth {options.depth} was reached"
                    break
                level = Level(search, stop)
                several = pool if options.workers > 1 and level.left >= SMALL else None
                before = len(search.levels)
                level.run(several)
                seen.note(before, search.workers)
                level.finish(several)
                if len(search.levels) == before:
                    verdict.complete = True
                    stats.frontier = 0
                    break
                if options.fail_fast and seen.fallen(kernel, asked):
                    verdict.stopped_because = "a property is violated (--fail-fast)"
                    stats.frontier = sum(len(p) for p in search.levels.pop())
                    break
        except KeyboardInterrupt:
            verdict.stopped_because = "interrupted"
            seen.note(len(search.levels), search.workers)
        except RaisedAt as raised:
            explain(bound, layout.decode(raised.row.view(np.uint64)))
        except (Interrupted, MemoryError) as end:
            verdict.stopped_because = str(end) or "no more memory was to be had"
            seen.note(len(search.levels), search.workers)
    count()
    stats.seconds["search"] = clock.seconds
    began = time.monotonic()
    _conclude(bound, search, seen, verdict, options)
    verdict.conclude()
    stats.seconds["report"] = time.monotonic() - began
    return verdict


def explain(bound: Bound, state: Any) -> None:
    """Re-executes a state in plain Python, which raises with an explanation."""
    list(bound.steps(state))
    for p in [*bound.properties, *bound.covers]:
        if not p.over_steps:
            bound.holds(p, state)
    for step in bound.steps(state):
        for p in [*bound.properties, *bound.covers]:
            if p.over_steps and bound.concerns(p, step.action) and not isinstance(step.after, Clipped):
                bound.holds_on(p, state, step)
    raise Disagreement(f"the kernel found an error where plain Python finds none: {state}")


def _conclude(bound: Bound, search: Search, seen: Seen, verdict: Verdict, options: Options) -> None:
    paths, kernel = Paths(bound, search), search.kernel
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}

    hits = {name: (flag, seen.levels[flag]) for name, flag in kernel.flags().items() if flag in seen.levels}

    for finding in verdict.properties:
        if finding.name in hits:
            finding.trace = paths.shown(claims.get(finding.name), *hits[finding.name])
        if finding.trace is not None:
            finding.status, finding.depth = "violated", len(finding.trace)
    for cover in verdict.covers:
        if cover.name in hits:
            flag, level = hits[cover.name]
            cover.depth = level + claims[cover.name].over_steps
            if options.witness:
                cover.trace = paths.shown(claims[cover.name], flag, level)


__all__ = ["Disagreement", "ModelError", "Search", "check"]
