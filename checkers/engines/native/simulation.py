"""Random walks with the native kernel, for spaces too large to search: seeded, repeatable, and never a proof.

A walk starts in an initial state chosen at random, then takes an action chosen by weight among the enabled ones, with
parameters chosen at random; `simulate` draws no step that changes nothing. What a walk does depends on the seed and its
number alone: any number of threads, and the same seed later, give the same walks. What is found is rebuilt in plain
Python, shortened there, and replayed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import CompiledKernel, Start, compiled
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import CLIPS_TOTAL, ERROR
from reassure.checkers.engines.native.kernels.random_walk import SKETCH_BITS, WalkArguments, take_walks
from reassure.checkers.engines.native.levels import BEAT
from reassure.checkers.engines.native.search import Clock
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import FAILED_FAST, Ending, Interrupted, Stop, StopReason
from reassure.checkers.request.engine_results import (
    ActionStatistics,
    CoverResult,
    EngineResult,
    Evidence,
    PropertyFact,
    SearchStatistics,
    SimulationResult,
)
from reassure.checkers.request.options import UNTIL_THE_BUDGET_ENDS, SearchOptions, SimulationOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.traces.reconstruct import (
    Disagreement,
    errors,
    note_in,
    raised_in,
    replayed_trace,
    shows,
    step_between,
    steps_between,
)
from reassure.spec.language.vocabulary import GuardRefused, Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Step
from reassure.spec.semantics.trace import Trace

NEVER = 1 << 62
PIECE = 64
"""Walks that a thread takes at a time."""


@dataclass
class Walked:
    """The counts and hits of walks, over all threads; merging two gives the same in any order."""

    taken: Rows
    lengths: Rows
    """Number of walks by their steps."""
    best: Rows
    """By flag: the fewest steps to a hit, and the walk."""
    hits: Rows
    """By flag: walks with a hit."""
    sketch: Rows
    tally: Rows
    walks: int = 0
    raised: tuple[int, int] | None = None
    """The fewest steps to a state in which the model raises, and the walk."""
    raised_walks: int = 0

    @classmethod
    def none(cls, kernel: CompiledKernel, depth: int) -> Walked:
        """No walks yet. depth: states of a walk, at the most."""
        words = kernel.shape.claim_words
        sizes = max(len(kernel.model.actions), 1), depth, (words, 64, 2), (words, 64), 1 << SKETCH_BITS
        taken, lengths, best, hits, sketch = (np.zeros(size, np.int64) for size in sizes)
        return cls(taken, lengths, best + NEVER, hits, sketch, np.zeros(kernel.shape.tally_words, np.int64))

    def add(self, other: Walked) -> None:
        """Merges another thread's walks into these."""
        self.taken += other.taken
        self.lengths += other.lengths
        self.hits += other.hits
        self.tally += other.tally
        self.walks += other.walks
        self.raised_walks += other.raised_walks
        self.raised = min((r for r in (self.raised, other.raised) if r is not None), default=None)
        np.maximum(self.sketch, other.sketch, out=self.sketch)
        mine, theirs = self.best, other.best
        sooner = (theirs[..., 0] < mine[..., 0]) | ((theirs[..., 0] == mine[..., 0]) & (theirs[..., 1] < mine[..., 1]))
        mine[sooner] = theirs[sooner]

    def distinct(self) -> int:
        """An estimate of the number of distinct states visited (HyperLogLog; standard error 1 %)."""
        m = len(self.sketch)
        raw = 0.7213 / (1 + 1.079 / m) * m * m / float(np.sum(2.0 ** -self.sketch.astype(float)))
        empty = int(np.sum(self.sketch == 0))
        return round(m * math.log(m / empty)) if raw <= 2.5 * m and empty else round(raw)


class Walker:
    """Walks of one model with its kernel."""

    def __init__(
        self, bound: BoundModel, kernel: CompiledKernel, walks: SimulationOptions, initials: Rows, idle: bool = True
    ) -> None:
        """idle: whether steps that change nothing are drawn; if not, they are only where one hits a claim for the first
        time in its walk, and a walk ends where there is no other."""
        self.bound, self.kernel, self.walks, self.initials, self.idle = bound, kernel, walks, initials, idle
        declared = {action.name: action.weight for action in bound.model.actions}
        weights = [walks.weights.get(name, declared[name]) for name in kernel.model.actions]
        self.weights = np.array(weights or [0], np.int64)

    def run(self, first: int, last: int, path: Rows | None = None) -> tuple[Walked, int]:
        """Walks first..last-1; and the number of states of the last one."""
        shape, words = self.kernel.shape, self.kernel.words
        walked = Walked.none(self.kernel, self.walks.depth)
        path = np.zeros((0, words), np.int64) if path is None else path
        arguments = WalkArguments(
            model=self.kernel.code, first=first, last=last, seed=self.walks.seed, steps=self.walks.depth - 1,
            initial_states=self.initials, initial_count=len(self.initials), weights=self.weights,
            successors=np.zeros((shape.max_successors + 1, shape.row_words), np.int64),
            state=np.zeros(words, np.int64), tally=walked.tally, taken=walked.taken, lengths=walked.lengths,
            first_hits=walked.best, hits=walked.hits, expanded=np.zeros(shape.claim_words, np.int64),
            seen=np.zeros(shape.claim_words, np.int64), sketch=walked.sketch, path=path, path_states=len(path),
            idle=int(self.idle), states=0,
        )  # fmt: skip
        while True:
            self.kernel.run(take_walks, words, arguments)
            if not walked.tally[ERROR]:
                break
            walked.tally[ERROR], walked.raised_walks = 0, walked.raised_walks + 1
            walked.raised = min(r for r in (walked.raised, (arguments.states - 1, arguments.first)) if r is not None)
            arguments.first += 1
        walked.walks = last - first
        return walked, arguments.states

    def states(self, number: int, count: int) -> list[Any]:
        """The first so many states of a walk, by walking it again."""
        path = np.zeros((count, self.kernel.words), np.int64)
        _, states = self.run(number, number + 1, path)
        if states < count:
            raise Disagreement(f"walk {number} was longer the first time")
        return [self.kernel.model.layout.decode(row.view(np.uint64)) for row in path]


def simulate(prepared: Prepared, options: SearchOptions, progress: Progress, walks: SimulationOptions) -> EngineResult:
    """Walks. A property that no walk violates is left open."""
    clock, bound = Clock(None), prepared.bound
    layout = state_layout(bound)
    kernel = compiled(prepared.lowered, layout)
    stats = SearchStatistics(bytes_per_state=layout.bytes_per_state, workers=options.workers)
    start = Start.of(bound, layout)
    initials = np.array(start.rows, np.uint64).view(np.int64).reshape(-1, layout.words)
    walker = Walker(bound, kernel, walks, initials, idle=False)
    seen, _ = walker.run(0, 0)  # compiles, or loads what is compiled
    stats.seconds["compile"], clock = clock.seconds, Clock(options.budget)
    names = {*(p.name for p in bound.properties), *(["deadlock"] if bound.model.deadlock else [])}

    def ended() -> bool:
        return seen.raised is not None or any(
            name in names and options.wants(name) and seen.hits[flag] for name, flag in kernel.model.flags().items()
        )

    count = None if walks.count == UNTIL_THE_BUDGET_ENDS else walks.count

    def beat() -> None:
        clock.look()
        progress.walks(seen.walks, count, int(seen.taken.sum()), seen.distinct)
        if options.fail_fast and ended():
            raise Interrupted(FAILED_FAST.reason, FAILED_FAST.text)

    with Ending() as ending:
        _walk_all(walker, options.workers, seen, beat)
    all_taken = Stop(StopReason.WALKS, f"{walks.count:,} walks of at most {walks.depth:,} states were taken")
    stats.seconds["search"] = clock.seconds
    stats.generated, stats.distinct = int(seen.taken.sum()), seen.distinct()
    stats.clipped = int(seen.tally[CLIPS_TOTAL])
    reached = np.nonzero(seen.lengths)[0]
    stats.depth = int(reached[-1]) + 1 if len(reached) else 0
    for (path, _), n in zip(kernel.model.clips, kernel.clip_counts(seen.tally.tolist()), strict=True):
        if n:
            stats.clipped_at[path] = n
    actions = {name: ActionStatistics(int(seen.taken[i])) for i, name in enumerate(kernel.model.actions)}
    summary = SimulationResult(seen.walks, walks.depth, walks.seed, dict(walks.weights), _histogram(seen.lengths))
    clock = Clock(None)
    facts, covers, raised = _conclude(walker, seen, options)
    stats.seconds["report"] = clock.seconds
    return EngineResult(summary, stats, ending.stop or all_taken, False, facts, tuple(covers), actions, raised)


def _walk_all(walker: Walker, workers: int, seen: Walked, beat: Callable[[], None]) -> None:
    """All walks, a piece at a time to each thread."""
    pieces = iter(range(0, walker.walks.count, PIECE))
    busy: set[Future[tuple[Walked, int]]] = set()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                while len(busy) < 2 * workers and (first := next(pieces, None)) is not None:
                    busy.add(pool.submit(walker.run, first, min(first + PIECE, walker.walks.count)))
                if not busy:
                    return
                done, busy = wait(busy, timeout=BEAT, return_when=FIRST_COMPLETED)
                for job in done:
                    seen.add(job.result()[0])
                beat()
        finally:
            for job in busy:
                job.cancel()


def _histogram(lengths: Rows) -> list[dict[str, int]]:
    """Walks by their number of states, in at most ten classes."""
    longest = len(lengths)
    width = -(-longest // 10)
    classes = []
    for low in range(1, longest + 1, width):
        high = min(low + width - 1, longest)
        number = int(lengths[low - 1 : high].sum())
        if number:
            classes.append({"from": low, "to": high, "walks": number})
    return classes


def _conclude(
    walker: Walker, seen: Walked, options: SearchOptions
) -> tuple[dict[str, PropertyFact], list[CoverResult], tuple[Trace, str] | None]:
    """The facts about every property and cover that is asked for; a run into a state in which the model raises."""
    bound, flags = walker.bound, walker.kernel.model.flags()
    claims = {p.name: p for p in [*bound.properties, *bound.covers]}

    def hit(name: str) -> tuple[int, int, int] | None:
        """Steps, walk and number of walks with a hit."""
        flag = flags.get(name)
        if flag is None or not seen.hits[flag]:
            return None
        return int(seen.best[flag][0]), int(seen.best[flag][1]), int(seen.hits[flag])

    facts = {}
    for name in [*(p.name for p in bound.properties), *(["deadlock"] if bound.model.deadlock else [])]:
        if not options.wants(name):
            continue
        prop = claims.get(name)
        if (shortest := hit(name)) is not None:
            steps, walk, count = shortest
            trace = _trace(walker, walk, steps + 1, prop)
            facts[name] = PropertyFact(Evidence.COUNTEREXAMPLE, trace, _share(count, seen.walks))
        else:
            left_out = prop is not None and prop.temporal
            evidence = Evidence.LEFT_OUT if left_out else Evidence.OPEN
            note = "" if left_out else "no walk violates it; that proves nothing"
            facts[name] = PropertyFact(evidence, note=note)
    covers = [CoverResult(p.name) for p in bound.covers if options.wants(p.name)]
    for cover in covers:
        if (shortest := hit(cover.name)) is not None:
            steps, walk, cover.walks = shortest
            cover.depth = steps + 1
            cover.trace = _trace(walker, walk, steps + 1, claims[cover.name]) if options.witness else None
    raised = None
    if seen.raised is not None:
        trace, text = raising_walk(walker, *seen.raised, options.wants)
        raised = trace, f"{text}; {_share(seen.raised_walks, seen.walks)}"
    return facts, covers, raised


def _share(number: int, walks: int) -> str:
    return f"in {number:,} of {walks:,} walks"


def _trace(walker: Walker, number: int, count: int, prop: Property | None) -> Trace:
    """The first so many states of a walk with their actions, shortened; the last one shows what is claimed."""
    bound = walker.bound
    states = walker.states(number, count)

    def shown(before: Any, step: Step | None, after: Any) -> bool:
        return shows(bound, prop, before, step, after)

    states, steps = shortened(bound, shown, states, steps_between(bound, prop, states))
    return replayed_trace(bound, states, steps)


def raising_walk(walker: Walker, steps: int, number: int, wants: Callable[[str], bool]) -> tuple[Trace, str]:
    """The walk that ends in a state in which the model raises, shortened, and what raises there."""
    bound = walker.bound

    def shown(before: Any, step: Step | None, after: Any) -> bool:
        return next(errors(bound, after, wants), None) is not None

    states = walker.states(number, steps + 1)
    taken = [step_between(bound, before, after) for before, after in pairwise(states)]
    states, taken = shortened(bound, shown, states, taken)
    raised = raised_in(bound, states[-1], wants)
    if raised.step is not None:
        states, taken = [*states, raised.step.after], [*taken, raised.step]
    trace = replayed_trace(bound, states, taken)
    note_in(trace, raised)
    return trace, raised.text


def shortened(
    bound: BoundModel, shown: Callable[[Any, Step | None, Any], bool], states: list[Any], steps: list[Step]
) -> tuple[list[Any], list[Step]]:
    """A run without the steps that it can do without: leaves out ever smaller pieces as long as the rest still runs and
    shows the same (delta debugging). The result can do without none of its steps, but need not be the shortest run.

    shown: whether a step (none: the initial state) shows what the run is told for, given the states around it.
    """

    def rerun(steps: list[Step]) -> tuple[list[Any], list[Step]] | None:
        try:
            return follow(steps)
        except (GuardRefused, ModelError):
            return None

    def follow(steps: list[Step]) -> tuple[list[Any], list[Step]] | None:
        path, done = [states[0]], []
        if shown(None, None, path[0]):
            return path, []
        for step in steps:
            after = bound.take(path[-1], step.action.name, step.params)
            if isinstance(after, Clipped):
                return None
            path.append(after)
            done.append(Step(step.action, step.params, after))
            if shown(path[-2], done[-1], after):
                return path, done
        return None

    best = rerun(steps) or (states, steps)
    piece = max(1, len(best[1]) // 2)
    while True:
        shorter, at = False, 0
        while at < len(best[1]):
            run = rerun(best[1][:at] + best[1][at + piece :])
            if run is None:
                at += piece
            else:
                best, shorter = run, True
        if piece == 1 and not shorter:
            return best
        piece = max(1, piece // 2)
