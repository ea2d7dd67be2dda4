"""From what a compiled search saw to a verdict; shared by the engines that run a kernel, in one process or in many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.prepare import open_results
from reassure.checkers.base.result import ActionStatistics, CheckResult, PropertyStatus
from reassure.checkers.base.stop import BY_USER, NO_MEMORY, RUNS_RAISE, Interrupted, Stop, StopReason
from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.compiled_kernel import CompiledKernel
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.tally import CLIPS_TOTAL, GENERATED
from reassure.checkers.engines.native.model.model_kernel import ModelKernel
from reassure.checkers.engines.native.search import FirstHits, RaisedAt
from reassure.spec.semantics.interpreter import BoundModel, Clipped


@dataclass
class Start:
    """The initial states, packed and in canonical order, and what counts before the first step."""

    rows: list[tuple[int, ...]]
    generated: int = 0
    clipped: int = 0
    clipped_at: dict[str, int] = field(default_factory=dict)
    undeclared: int = 0

    @classmethod
    def of(cls, bound: BoundModel, layout: Layout) -> Start:
        start, seeds = cls([]), set()
        for _, _, state in bound.initial_states():
            start.generated += 1
            if isinstance(state, Clipped):
                start.clipped += 1
                start.clipped_at[state.path] = start.clipped_at.get(state.path, 0) + 1
                start.undeclared += not state.declared
            else:
                seeds.add(layout.encode(state))
        start.rows = sorted(seeds)
        return start


def open_findings(bound: BoundModel, options: SearchOptions, verdict: CheckResult) -> set[str]:
    """Lists what is asked for, undecided; the names of the claims that can fall."""
    open_results(bound, options, verdict)
    return {p.name for p in verdict.properties if not p.temporal}


def count(verdict: CheckResult, start: Start, kernel: CompiledKernel, total: Rows, new: Sequence[int]) -> None:
    """Statistics from the kernel's tallies. new: distinct states by the action that reached them first."""
    stats = verdict.stats
    clips = int(total[CLIPS_TOTAL])
    stats.generated = start.generated + int(total[GENERATED]) + clips
    stats.clipped = start.clipped + clips
    stats.clipped_at, stats.undeclared = dict(start.clipped_at), start.undeclared
    for (path, declared), n in zip(kernel.model.clips, kernel.clip_counts(total), strict=True):
        if n:
            stats.clipped_at[path] = n
            stats.undeclared += 0 if declared else n
    verdict.actions = {
        name: ActionStatistics(taken, first)
        for name, taken, first in zip(kernel.model.actions, kernel.action_counts(total), new, strict=True)
    }


def conclude(
    bound: BoundModel,
    kernel: ModelKernel,
    hits: FirstHits,
    paths: Paths,
    verdict: CheckResult,
    options: SearchOptions,
    raised_on: int | None = None,
) -> None:
    """Traces and statuses. raised_on: the level with a state in which the model raises."""
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}
    found = {name: (flag, hits.levels[flag]) for name, flag in kernel.flags().items() if flag in hits.levels}
    for finding in verdict.properties:
        if finding.name in found:
            finding.trace = paths.shown(claims.get(finding.name), *found[finding.name])
            finding.status, finding.depth = PropertyStatus.VIOLATED, len(finding.trace)
    for cover in verdict.covers:
        if cover.name in found:
            flag, level = found[cover.name]
            cover.depth = level + claims[cover.name].over_steps
            if options.witness:
                cover.trace = paths.shown(claims[cover.name], flag, level)
    if raised_on is not None:
        trace, raised = paths.raising(raised_on, options.wants)
        verdict.add_raised(trace, raised.text)
    verdict.conclude()


@contextmanager
def early_end_noted(verdict: CheckResult) -> Iterator[None]:
    """Notes in the verdict what ends the work within early."""
    try:
        yield
    except KeyboardInterrupt:
        verdict.stopped = BY_USER
    except Interrupted as end:
        verdict.stopped = end.stop
    except MemoryError as error:
        verdict.stopped = Stop(StopReason.MEMORY, str(error)) if str(error) else NO_MEMORY


@contextmanager
def raised_noted(
    levels: Iterable[Iterable[Rows]], paths: Paths, options: SearchOptions, verdict: CheckResult
) -> Iterator[None]:
    """Adds to the verdict that the model raises in a state of these levels, where that ends the work within."""
    try:
        yield
    except RaisedAt as raised:
        level = next(n for n, parts in enumerate(levels, 1) if any((p == raised.row).all(axis=1).any() for p in parts))
        state = paths.kernel.layout.decode(raised.row.view(np.uint64))
        trace, found = paths.raising_in(level, state, options.wants)
        verdict.add_raised(trace, found.text)
        verdict.stopped = RUNS_RAISE
