"""One mutant's search: every reachable state of it, and which claims are hit on the way.

A mutant's kernel runs once, so that it is compiled at the lowest level: what the search loses by it is less than what
the compiler would take.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.conclusion import state_claims
from reassure.checkers.engines.native.exploration import CompiledKernel, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.probe import rows_in_order
from reassure.checkers.engines.native.search import Clock, RaisedAt, Search
from reassure.checkers.engines.native.symmetry.reduced_search import EVERY_STATE, ExactClasses
from reassure.checkers.machine.stop import Ending, Interrupted, StopReason, budget_ended
from reassure.checkers.request.engine_results import SearchStatistics
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.reconstruct import raised_in
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of


@dataclass(frozen=True)
class MutantLimits:
    """The limits at which the search of one mutant is given up. memory: bytes."""

    seconds: float | None = None
    states: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class MutantOutcome:
    """The result of the search of a model or mutant."""

    violated: dict[str, int | None] = field(default_factory=dict)
    """Properties with the number of states of their shortest trace; None of one about whole runs."""
    reached: frozenset[str] = frozenset()
    """Covers."""
    unreached: frozenset[str] = frozenset()
    stats: SearchStatistics = field(default_factory=SearchStatistics)
    raised: str = ""
    """The error that plain Python raises in a reachable state; "": none."""
    ended: str = ""
    """The reason why the search ended before every state was visited and every property was decided; "": it did not."""

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
        limits: MutantLimits,
        look: Callable[[int], None],
        whole_runs: Container[str],
        classes: ExactClasses = EVERY_STATE,
    ) -> None:
        """bound: the mutant in plain Python; lowered: its actions and the claims that are asked for.

        look: called now and then with the number of states; raises `Interrupted` to end everything. whole_runs: the
        properties about whole runs that may be decided. classes: of which one state each is visited.
        """
        self.classes, self.layout, self.whole_runs = classes, layout, whole_runs
        self.bound, self.lowered, self.options, self.limits, self.look = bound, lowered, options, limits, look
        self.clock = Clock(limits.seconds)
        self.temporal = [p for p in bound.properties if p.temporal and p.name in whole_runs]
        self.assumptions = assumptions_of(bound.model)
        self.by_parameters = bool(self.temporal) and needs_parameters(self.assumptions)
        """Whether what is fair depends on the parameters of steps: equal steps may differ in whole runs."""
        parameters = self.by_parameters and classes.renamings is None
        self.kernel = compiled(lowered, layout, parameters, passing=True, representatives=classes.functions)
        self.search = Search(self.kernel, 1, limits.memory)

    def run(self, start: Start) -> MutantOutcome:
        """Visits every state; decides no property about whole runs. Raises what `look` raises."""
        self.first = start
        start = self.classes.start(start)
        exploration = explore(self.bound, self.kernel, start, self.search, Limits(), lambda left: self._look())
        exploration.stopped.end_run()
        exploration = self.classes.counted(exploration)
        self.symmetry = partial(self.classes.record, exploration)
        """The part of the run record about classes."""
        is_raised = exploration.stopped.reason is StopReason.RAISED
        raised = exploration.raised(self.options.wants, self.classes.paths(exploration)) if is_raised else None
        covers = frozenset(c.name for c in self.bound.covers if self.options.wants(c.name))
        reached = frozenset(exploration.violated(covers))
        return MutantOutcome(
            {**exploration.violated(state_claims(self.bound, self.options))},
            reached,
            covers - reached,
            exploration.stats,
            raised[1] if raised else "",
            "" if raised or exploration.complete else exploration.stopped.text,
        )

    def _look(self) -> None:
        """Raises what `look` raises; `Interrupted` with the reason `LIMIT` if this search alone is given up."""
        limits, states = self.limits, self.search.distinct
        self.look(states)
        if limits.seconds is not None and self.clock.seconds > limits.seconds:
            raise Interrupted(StopReason.LIMIT, budget_ended(limits.seconds).stop.text)
        if limits.states is not None and states > limits.states:
            raise Interrupted(StopReason.LIMIT, f"it has more than {limits.states:,} states")

    def decide_whole_runs(self, outcome: MutantOutcome) -> MutantOutcome:
        """Adds to a complete outcome the properties about whole runs that some fair run violates.

        Raises what `look` raises.
        """
        search, violated, raised = self.search, dict(outcome.violated), ""
        if not self.temporal or not outcome.complete:
            return outcome
        if self.classes.renamings is not None:
            whole = self.of_all_states()
            return whole.decide_whole_runs(whole.run(self.first))
        with Ending() as ending:
            names, rows = [claim.name for claim in self.temporal], search.found.arrays
            translation = Translation.of(self.lowered, self.kernel.model.layout)
            liveness = Liveness(self.bound, translation, self.kernel, rows, names, search.allow, self._look)
            try:
                for claim in self.temporal:
                    region, _ = liveness.region(claim)
                    if liveness.has_fair_loop(region, self.assumptions):
                        violated[claim.name] = None
            except RaisedAt as error:
                state = self.kernel.model.layout.decode(error.row.view(np.uint64))
                raised = raised_in(self.bound, state, self.options.wants).text
        if ending.stop is None:
            return replace(outcome, violated=violated, raised=raised)
        ending.stop.end_run()
        return replace(outcome, violated=violated, ended=ending.stop.text)

    def of_all_states(self) -> MutantSearch:
        """The same search without classes."""
        return MutantSearch(
            self.bound, self.lowered, self.layout, self.options, self.limits, self.look, self.whole_runs
        )

    @property
    def steps(self) -> CompiledKernel:
        """A kernel that lists the steps of a state, to no representatives."""
        return self.kernel if self.classes.renamings is None else self._unrenamed

    @cached_property
    def _unrenamed(self) -> CompiledKernel:
        return compiled(self.lowered, self.layout, passing=True)

    @cached_property
    def states(self) -> Rows:
        """Every state that was visited, in canonical order."""
        return rows_in_order(np.concatenate([part for level in self.search.found.arrays for part in level]))


BUFFERED = 1 << 16
"""Successors that are compared at a time."""


def same_behaviour(states: Rows, one: CompiledKernel, other: CompiledKernel) -> bool:
    """Whether two kernels have the same steps, action by action, from each of these states."""
    a, b = _Expander(one), _Expander(other)
    low = 0
    while low < len(states):
        high = a.expand(states, low, len(states))
        if b.expand(states, low, high) < high or not _equal(a.steps, b.steps):
            return False
        low = high
    return True


def _equal(a: Rows, b: Rows) -> bool:
    """Whether the rows are the same, in any order."""
    return a.shape == b.shape and (np.array_equal(a, b) or np.array_equal(rows_in_order(a), rows_in_order(b)))


class _Expander:
    """Lists the steps of states by a kernel."""

    def __init__(self, kernel: CompiledKernel) -> None:
        shape = kernel.shape
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        self.call = call(kernel.addresses["expand"])
        self.words = shape.words
        self.out = np.zeros((shape.max_successors + BUFFERED, shape.row_words), np.int64)
        self.tally = np.zeros(shape.tally_words, np.int64)
        self.steps: Rows = self.out[:0]
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
        self.steps = np.ascontiguousarray(np.column_stack([before, steps]))
        return low + len(ends) - 1
