"""One search of a model's states, from the initial states to its end: the only driver of a breadth-first search.

It takes the levels one after the other, looks at the clock and at limits, and catches what ends a search: Ctrl-C, lack
of time or memory, a model that raises. Every engine and every analysis asks the `Exploration` that it returns.

Also here: from a lowered model to its kernel: machine code, and what the numbers that it writes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, KernelShape, Rows
from reassure.checkers.engines.native.kernels.model_code import CLIPS_TOTAL, GENERATED
from reassure.checkers.engines.native.kernels.state_table import MAX_TAG
from reassure.checkers.engines.native.level_look import ClassOf, LevelLook
from reassure.checkers.engines.native.levels import FirstHits
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.native.translator.language import UNROLLED
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import (
    ALL_VISITED,
    FAILED_FAST,
    MODEL_RAISES,
    Ending,
    Stop,
    depth_reached,
)
from reassure.checkers.request.engine_results import ActionStatistics, SearchStatistics
from reassure.checkers.request.options import SearchOptions
from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import LanguageError
from reassure.spec.semantics.interpreter import BoundModel, Clipped
from reassure.spec.semantics.trace import Trace

if TYPE_CHECKING:
    from reassure.spec.frontend.lowered_model import LoweredModel


class CompiledKernel(Kernel):
    """A kernel with the description of its model."""

    def __init__(self, model: ModelKernel, passing: bool = False) -> None:
        """passing: as of `Kernel`."""
        super().__init__(shape_of(model), passing)
        self.model = model


def shape_of(model: ModelKernel) -> KernelShape:
    """The part of a kernel that other processes need."""
    return KernelShape(
        ir=model.ir,
        words=model.layout.words,
        actions=len(model.actions),
        clips=len(model.clips),
        max_successors=model.max_successors,
        step_claims=len(model.step_flags),
        step_words=model.step_words,
        parameter_words=model.parameter_words,
    )


def compiled(
    lowered: LoweredModel, layout: Layout, parameters: bool = False, passing: bool = False, representatives: str = ""
) -> CompiledKernel:
    """The kernel of a model, its machine code taken from disk if it is there.

    parameters, representatives: as of `model_kernel`. passing: as of `Kernel`. Raises `LanguageError` for a
    model with more actions or claims than a kernel has room for, or of a larger state.
    """
    if layout.words > UNROLLED:
        raise LanguageError(
            f"a state takes {layout.words} words of 64 bits: the compiled engines take at most {UNROLLED}; "
            "give its fields smaller types (`reassure models NAME` shows them), or use `--engine reference`"
        )
    if len(lowered.actions) > MAX_TAG:
        raise LanguageError(f"{len(lowered.actions)} actions: the compiled engines take at most {MAX_TAG}")
    from reassure.checkers.engines.native.model.model_kernel import model_kernel  # not where its text is kept

    return CompiledKernel(model_kernel(lowered, layout, parameters, representatives), passing)


TELLING = 0.5
"""Of the time until a claim is hit, the part that looking for its trace may take."""
LEAST_TELLING = 0.1
"""Seconds that it may take in any case."""


@dataclass(frozen=True)
class Start:
    """The initial states, packed and in canonical order. stats: what counts before the first step."""

    rows: list[tuple[int, ...]]
    stats: SearchStatistics

    @classmethod
    def of(cls, bound: BoundModel, layout: Layout) -> Start:
        stats, seeds = SearchStatistics(), set()
        for _, _, state in bound.initial_states():
            stats.generated += 1
            if isinstance(state, Clipped):
                stats.clip(state.path, state.declared)
            else:
                seeds.add(layout.encode(state))
        return cls(sorted(seeds), stats)

    def of_classes(self, representative: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Start:
        """The representatives of the initial states."""
        return Start(sorted({representative(row) for row in self.rows}), self.stats)


class LevelSearch(Protocol):
    """A search that goes level by level: in this process (`Search`), or on a cluster."""

    hits: FirstHits
    raised_on: int | None
    """The level with states in which the model raises; none is searched after it."""

    @property
    def tally(self) -> list[int]: ...

    @property
    def new_by_action(self) -> list[int]: ...

    @property
    def distinct(self) -> int: ...

    @property
    def memory(self) -> int: ...

    @property
    def disk(self) -> int:
        """Bytes of levels that were moved to disk, memory being full."""

    @property
    def depth(self) -> int:
        """Levels that were expanded, or were to be when the search ended."""

    @property
    def frontier(self) -> int:
        """States that were found and not expanded."""

    def begin(self, rows: list[tuple[int, ...]]) -> None:
        """Takes the initial states."""

    def levels(self, look: Callable[[int], None], last: int | None = None) -> Iterator[int]:
        """Expands one level after the other; yields the number of each (from 1) before it is expanded.

        Levels up to `last` that hit nothing new may be expanded in one go. look: called now and then with the number
        of states of the level that are left; raises to end the search.
        """

    def leave_off(self) -> None:
        """Ends before the last level, which is not expanded."""


@dataclass(frozen=True)
class Exploration:
    """A search that has ended."""

    bound: BoundModel
    kernel: CompiledKernel
    start: Start
    search: LevelSearch
    stopped: Stop
    seconds: float
    of_all: tuple[int, Any] | None = None
    """Of a search of representatives: the states and the tally that the search of all states has."""

    @property
    def complete(self) -> bool:
        """Whether every reachable state was visited."""
        return self.stopped == ALL_VISITED

    @property
    def distinct(self) -> int:
        return self.search.distinct if self.of_all is None else self.of_all[0]

    @property
    def tally(self) -> Any:
        """What was counted, by its place (`native.tally`): an array of whole numbers."""
        return self.search.tally if self.of_all is None else self.of_all[1]

    @property
    def steps(self) -> int:
        """Steps within the bounds."""
        return int(self.tally[GENERATED])

    @property
    def clipped_steps(self) -> int:
        """Steps that leave a bound."""
        return int(self.tally[CLIPS_TOTAL])

    @property
    def level_rows(self) -> list[list[Rows]]:
        """By level: its states, in parts; of a search in this process."""
        assert isinstance(self.search, Search)
        return self.search.found.arrays

    @cached_property
    def stats(self) -> SearchStatistics:
        """All that was counted."""
        tally, start = self.tally, self.start.stats
        stats = SearchStatistics(
            start.generated + int(tally[GENERATED]) + int(tally[CLIPS_TOTAL]),
            self.distinct,
            self.search.depth,
            start.clipped,
            dict(start.clipped_at),
            start.undeclared,
            0 if self.complete else self.search.frontier,
            memory=self.search.memory,
            disk=self.search.disk,
        )
        for (path, declared), count in zip(self.kernel.model.clips, self.kernel.clip_counts(tally), strict=True):
            if count:
                stats.clip(path, declared, count)
        stats.seconds["search"] = self.seconds
        return stats

    @cached_property
    def actions(self) -> dict[str, ActionStatistics]:
        """By action: steps, and states that it was the first to reach."""
        taken, new = self.kernel.action_counts(self.tally), self.search.new_by_action
        return {
            name: ActionStatistics(steps, first)
            for name, steps, first in zip(self.kernel.model.actions, taken, new, strict=True)
        }

    def violated(self, names: Container[str]) -> dict[str, int]:
        """Of these claims (and "deadlock"), those that were hit, with the number of states of their shortest traces."""
        return self.search.hits.violated(self.kernel.model, names)

    def paths(
        self,
        bound: BoundModel | None = None,
        switch: int = 0,
        class_of: ClassOf | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> Paths:
        """Shortest paths to the states. bound, switch: of a search without a guard, the model that lacks it too.

        class_of, look: as of `LevelLook`.
        """
        assert isinstance(self.search, Search)
        levels = LevelLook(self.kernel, self.search, switch, class_of, look)
        return Paths(bound or self.bound, self.kernel.model.layout, levels.smallest, levels.back)

    def raised(self, wants: Callable[[str], bool], paths: Paths | None = None) -> tuple[Trace, str] | None:
        """The shortest run to a state in which the model raises, and what raises there, if it does.

        paths: of representatives, their runs.
        """
        if self.search.raised_on is None:
            return None
        trace, raised = (paths or self.paths()).raising(self.search.raised_on, wants)
        return trace, raised.text


@dataclass(frozen=True)
class Limits:
    """The limits of a search. clock: runs from its making; fail_fast: claims of which a hit ends it; told: those of
    which a hit gets a trace, which takes time afterwards."""

    depth: int | None = None
    clock: Clock = field(default_factory=lambda: Clock(None))
    fail_fast: Container[str] = frozenset()
    told: Container[str] = frozenset()

    @classmethod
    def of(
        cls, options: SearchOptions, claims: Container[str] = frozenset(), told: Container[str] = frozenset()
    ) -> Limits:
        """The limits that options set; the clock begins now. claims: of which a hit ends a search that fails fast."""
        return cls(options.depth, Clock(options.budget), claims if options.fail_fast else frozenset(), told)


def explore(
    bound: BoundModel,
    kernel: CompiledKernel,
    start: Start,
    search: LevelSearch,
    limits: Limits,
    look: Callable[[int], None] = lambda left: None,
    until: Callable[[], Stop | None] | None = None,
) -> Exploration:
    """Searches from the initial states to the end, or to a limit.

    look: called now and then with the number of states of the level that are left; may raise `Interrupted`. until:
    asked before each level, and ends the search there with the reason that it gives; the level stays in the search.
    """

    def look_at_all(left: int) -> None:
        limits.clock.look()
        look(left)

    stopped, told = ALL_VISITED, 0

    def reserve() -> None:
        nonlocal told
        if len(hits := search.hits.violated(kernel.model, limits.told)) > told:
            told = len(hits)
            limits.clock.reserve(TELLING * limits.clock.seconds + LEAST_TELLING)

    with Ending() as ending:
        search.begin(start.rows)
        for level in search.levels(look_at_all, limits.depth if until is None else 0):
            reserve()
            if search.hits.violated(kernel.model, limits.fail_fast):
                stopped = FAILED_FAST
            elif limits.depth is not None and level > limits.depth:
                stopped = depth_reached(limits.depth)
            elif until is not None and (reason := until()) is not None:
                stopped = reason
                break
            else:
                continue
            search.leave_off()
            break
        if stopped is ALL_VISITED and search.raised_on is not None:
            stopped = MODEL_RAISES
            if search.depth > search.raised_on:
                search.leave_off()
    reserve()
    return Exploration(bound, kernel, start, search, ending.stop or stopped, limits.clock.seconds)


def reporting(search: Search, start: Start, progress: Progress) -> Callable[[int], None]:
    """Reports a search in this process; to be called with the number of states of the level that are left."""

    def report(left: int) -> None:
        generated = start.stats.generated + sum(int(worker.tally[GENERATED]) for worker in search.workers)
        progress.report(search.depth, generated, search.distinct, left, search.memory)

    return report
