"""One mutant's search: every reachable state of it, and which claims are hit on the way.

A mutant's kernel runs once, so that it is compiled at the lowest level: what the search loses by it is less than what
the compiler would take.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.stop import Interrupted, StopReason, budget_ended
from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.compiled_kernel import CompiledKernel, compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.exploration import Start
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK
from reassure.checkers.engines.native.kernels.tally import CLIPS_TOTAL, GENERATED
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.probe import in_order
from reassure.checkers.engines.native.search import OutOfMemory, RaisedAt, Search
from reassure.checkers.traces.raising import raised_in
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of


@dataclass(frozen=True)
class Limits:
    """Where a search is given up. seconds: of one search; states: of one search; memory: bytes."""

    seconds: float | None = None
    states: int | None = None
    memory: int | None = None


@dataclass
class Outcome:
    """What the search of a model or mutant found."""

    violated: dict[str, int | None] = field(default_factory=dict)
    """Properties with the number of states of their shortest trace; None of one about whole runs."""
    reached: set[str] = field(default_factory=set)
    """Covers."""
    unreached: set[str] = field(default_factory=set)
    distinct: int = 0
    generated: int = 0
    clipped: dict[str, int] = field(default_factory=dict)
    """Steps and initial states that leave a bound, by the bound's path."""
    raised: str = ""
    """What plain Python raises, if it does."""
    ended: str = ""
    """Why the search ended before every state was visited and every property was decided."""

    @property
    def complete(self) -> bool:
        """Whether everything reachable was visited and judged."""
        return not self.ended and not self.raised


class MutantSearch:
    """The search of one model or mutant."""

    def __init__(
        self,
        bound: BoundModel,
        lowered: LoweredModel,
        layout: Layout,
        options: SearchOptions,
        limits: Limits,
        look: Callable[[int], None],
        whole_runs: Container[str],
    ) -> None:
        """bound: the mutant in plain Python; lowered: its actions and the claims that are asked for.

        look: called now and then with the number of states; raises to end everything. whole_runs: which properties
        about whole runs may be decided.
        """
        self.bound, self.lowered, self.options, self.limits, self.look = bound, lowered, options, limits, look
        self.began = time.monotonic()
        self.temporal = [p for p in bound.properties if p.temporal and p.name in whole_runs]
        self.assumptions = assumptions_of(bound.model)
        parameters = bool(self.temporal) and needs_parameters(self.assumptions)
        self.kernel = compiled(lowered, layout, parameters, passing=True)
        self.search = Search(self.kernel, 1, limits.memory)

    def run(self, start: Start) -> Outcome:
        """Visits every state; decides no property about whole runs. Raises what `look` raises."""
        search, found = self.search, Outcome()
        try:
            search.allow(0)
            search.seed(start.rows)
            for _ in search.levels(lambda left: self._look()):
                pass
            if search.raised_on is not None:
                _, raised = Paths.of(self.bound, self.kernel, search).raising(search.raised_on, self.options.wants)
                found.raised = raised.text
        except (OutOfMemory, _Limited) as end:
            found.ended = end.stop.text
        except MemoryError:
            found.ended = "the memory is used up"
        self._count(start, found)
        return found

    def _look(self) -> None:
        limits, states = self.limits, self.search.distinct
        self.look(states)
        if limits.seconds is not None and time.monotonic() - self.began > limits.seconds:
            raise _Limited(budget_ended(limits.seconds))
        if limits.states is not None and states > limits.states:
            raise OutOfMemory(f"it has more than {limits.states:,} states")

    def _count(self, start: Start, found: Outcome) -> None:
        """Takes over what the search counted and hit."""
        search, kernel = self.search, self.kernel
        claims = {p.name for p in self.bound.properties if not p.temporal}
        claims |= {"deadlock"} if self.bound.model.deadlock and self.options.wants("deadlock") else set()
        found.violated = dict(search.hits.violated(kernel.model, claims))
        covers = {c.name for c in self.bound.covers if self.options.wants(c.name)}
        found.reached = set(search.hits.violated(kernel.model, covers))
        found.unreached = covers - found.reached
        tally = search.tally
        found.distinct = search.distinct
        found.generated = start.stats.generated + int(tally[GENERATED]) + int(tally[CLIPS_TOTAL])
        found.clipped = dict(start.stats.clipped_at)
        for (path, _), count in zip(kernel.model.clips, kernel.clip_counts(tally), strict=True):
            if count:
                found.clipped[path] = found.clipped.get(path, 0) + count

    def decide_whole_runs(self, found: Outcome) -> None:
        """After a complete search: adds the properties about whole runs that some fair run violates."""
        search = self.search
        if not self.temporal:
            return
        liveness = Liveness(self.bound, self.lowered, self.kernel, search.level_rows, search.allow, self._look)
        try:
            for claim in self.temporal:
                region, _ = liveness.region(claim, self.assumptions)
                if liveness.has_fair_loop(region, self.assumptions):
                    found.violated[claim.name] = None
        except RaisedAt as error:
            state = self.kernel.model.layout.decode(error.row.view(np.uint64))
            found.raised = raised_in(self.bound, state, self.options.wants).text
        except (OutOfMemory, _Limited) as end:
            found.ended = end.stop.text
        except MemoryError:
            found.ended = "the memory is used up"

    @cached_property
    def states(self) -> Rows:
        """Every state that was visited, in canonical order."""
        return in_order(np.concatenate([part for level in self.search.level_rows for part in level]))


class _Limited(Interrupted):
    """This search takes too long; others go on."""

    def __init__(self, end: Interrupted) -> None:
        super().__init__(StopReason.BUDGET, end.stop.text)


BUFFERED = 1 << 16
"""Successors that are compared at a time."""


def same_behaviour(states: Rows, one: CompiledKernel, other: CompiledKernel) -> bool:
    """Whether two kernels have the same steps, action by action, from each of these states."""
    a, b = _Expander(one), _Expander(other)
    low = 0
    while low < len(states):
        high = a.expand(states, low, len(states))
        if b.expand(states, low, high) < high or not _equal(a.found, b.found):
            return False
        low = high
    return True


def _equal(a: Rows, b: Rows) -> bool:
    """Whether rows are the same, in whatever order."""
    return a.shape == b.shape and (np.array_equal(a, b) or np.array_equal(in_order(a), in_order(b)))


class _Expander:
    """Lists the steps of states by a kernel."""

    def __init__(self, kernel: CompiledKernel) -> None:
        shape = kernel.shape
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        self.call = call(kernel.addresses["expand"])
        self.words = shape.words
        self.out = np.zeros((shape.max_successors + BUFFERED, shape.row_words), np.int64)
        self.tally = np.zeros(shape.tally_words, np.int64)
        self.found: Rows = self.out[:0]
        """By step: the number of the state before, the state after, the number of the action."""

    def expand(self, states: Rows, low: int, high: int) -> int:
        """Lists the steps of some states from `low` on, at most to `high`; the next one to expand."""
        out, tally, ends = self.out.ctypes.data, self.tally.ctypes.data, [0]
        row, size = states.ctypes.data, states.strides[0]
        for number in range(low, high):
            ends.append(self.call(row + number * size, out, ends[-1], tally, 0))
            if ends[-1] >= BUFFERED:
                break
        steps = self.out[: ends[-1], : self.words + 1].copy()
        steps[:, -1] &= ACTION_MASK
        before = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        self.found = np.ascontiguousarray(np.column_stack([before, steps]))
        return low + len(ends) - 1
