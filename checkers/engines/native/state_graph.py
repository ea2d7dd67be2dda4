"""All reachable states of a model with every step between them, numbered independently of threads."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import CompiledKernel, Exploration, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.model_code import ACTION_BITS, ACTION_MASK, TERMINAL
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.native.kernels.region_edges import JudgeArguments, judge_rows
from reassure.checkers.engines.native.kernels.row_numbers import find_numbers
from reassure.checkers.engines.native.liveness.buckets import Buckets
from reassure.checkers.engines.native.liveness.edge_lister import EdgeLister
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.probe import rows_in_order
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.memory import MemoryLimit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop, StopReason
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.traces.reconstruct import replayed_trace
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel, Clipped, ModelError, Params, Step
from reassure.spec.semantics.liveness import Assumption
from reassure.spec.semantics.trace import Trace

PIECE_WORDS = 1 << 21
"""Words of successors that are listed at a time, about."""

Numbers = NDArray[np.int32]


@dataclass
class StateGraph:
    """The reachable states of a model, level by level in canonical order, and the steps between them.

    Step j of state n is edge `begins[n] + j`, in the order in which plain Python takes the steps that stay within the
    bounds.
    """

    bound: BoundModel
    start: Start
    compiled: CompiledKernel
    rows: Rows
    levels: Numbers
    """By state: its level, from 0 (the initial states), which is the number of steps of a shortest path to it."""
    begins: Rows
    """By state: its first edge; one more entry at the end."""
    targets: Numbers
    """By edge: the state that it leads to; -1: one that was not visited before the search ended early."""
    actions: NDArray[np.uint8]
    """By edge: the number of its action."""
    step_claims: dict[str, NDArray[np.bool_]]
    """By claim over steps: for each edge, whether it is hit."""
    state_claims: NDArray[np.int64]
    """By state: the claims over states that it hits, a bit each, as `ModelKernel.state_flags` has them."""
    find: Callable[[Any], int]
    """The number of a state; -1 if it is none that was visited."""
    action_clips: list[int]
    """By action: its steps that leave a bound."""
    stopped: Stop

    @property
    def kernel(self) -> ModelKernel:
        return self.compiled.model

    @property
    def count(self) -> int:
        """Of states."""
        return len(self.rows)

    @property
    def complete(self) -> bool:
        """Whether every reachable state was visited."""
        return self.stopped == ALL_VISITED

    @cached_property
    def sources(self) -> Numbers:
        """By edge: the state that it begins in."""
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.begins))

    @cached_property
    def parents(self) -> Rows:
        """By state: the first edge that a shortest path to it ends with, -1 for an initial state."""
        edges = np.full(self.count, -1, np.int64)
        tree = np.nonzero((self.targets >= 0) & (self.levels[self.targets] == self.levels[self.sources] + 1))[0]
        edges[self.targets[tree[::-1]]] = tree[::-1]
        return edges

    @property
    def edge_count(self) -> int:
        """Of steps that stay within the bounds."""
        return len(self.targets)

    @property
    def terminal(self) -> NDArray[np.bool_]:
        """By state: whether a run may end there."""
        return (self.state_claims >> TERMINAL & 1) > 0

    @property
    def clipped(self) -> int:
        """Steps that leave a bound."""
        return sum(self.action_clips)

    @cached_property
    def _steps_of(self) -> Callable[[int], list[Step]]:
        return lru_cache(maxsize=1 << 14)(self._steps)

    def _steps(self, number: int) -> list[Step]:
        return [s for s in self.bound.steps(self.state(number)) if not isinstance(s.after, Clipped)]

    @cached_property
    def _state_of(self) -> Callable[[int], Any]:
        return lru_cache(maxsize=1 << 10)(lambda n: self.kernel.layout.decode(self.rows[n].view(np.uint64)))

    def state(self, number: int) -> Any:
        """A state by its number."""
        return self._state_of(number)

    def step(self, edge: int) -> Step:
        """The step of plain Python that an edge is."""
        source = int(self.sources[edge])
        return self._steps_of(source)[edge - int(self.begins[source])]

    def edge_of(self, source: int, action: str, params: Params) -> int:
        """The edge of a step of plain Python; -1 if the state has none such within the bounds."""
        for j, step in enumerate(self._steps_of(source)):
            if step.action.name == action and step.params == params:
                return int(self.begins[source]) + j
        return -1

    def path_to(self, number: int) -> list[int]:
        """The edges of the canonical shortest path to a state."""
        edges: list[int] = []
        while (edge := int(self.parents[number])) >= 0:
            edges.append(edge)
            number = int(self.sources[edge])
        return edges[::-1]

    def trace(self, start: int, edges: Sequence[int]) -> Trace:
        """The run along edges from an initial state, replayed in plain Python."""
        states = [self.state(number) for number in [start, *self.targets[list(edges)].tolist()]]
        return replayed_trace(self.bound, states, [self.step(edge) for edge in edges])

    def leading_out(self, lowered: LoweredModel, actions: Container[str]) -> NDArray[np.bool_]:
        """By state: whether a step of one of these actions leaves a bound, or leads to a state that was not visited."""
        counted = np.array([name in actions for name in self.kernel.actions])
        leading = np.zeros(self.count, np.bool_)
        leading[self.sources[(self.targets < 0) & counted[self.actions]]] = True
        clips = zip(self.kernel.actions, self.action_clips, strict=True)
        clipping = {name: Assumption(name, "weak") for name, count in clips if count and name in actions}
        if clipping:  # an edge of a label that leads to no number
            lister = EdgeLister(
                self.bound, Translation.of(lowered, self.compiled.model.layout), self.compiled, clipping
            )
            for piece in lister.edges(Buckets.one(self.rows), lambda: None, [(0, self.count)]):
                leading[piece.leaving] = True
        return leading


def reachable_graph(
    prepared: Prepared, options: SearchOptions, progress: Progress, enough: int | None = None
) -> StateGraph:
    """Searches every reachable state and lists every step; `options` may end the search early.

    enough: the search ends before the level that follows on so many states.
    Raises `ModelError` with its reason where plain Python raises in a reachable state, `Failure` if none was visited.
    """
    progress.ready("compiling")
    bound = prepared.bound
    kernel = compiled(prepared.lowered, state_layout(bound))
    search = Search(kernel, max(1, options.workers), options.memory)

    def look(left: int) -> None:
        progress.proof(f"{quantity(search.distinct, 'state')}")

    def until() -> Stop | None:
        if enough is None or search.distinct < enough:
            return None
        return Stop(StopReason.LIMIT, f"the limit of {enough:,} states was reached")

    start = Start.of(bound, kernel.model.layout)
    exploration = explore(bound, kernel, start, search, Limits.of(options), look, until)
    if (raised := exploration.raised(options.wants)) is not None:
        raise ModelError(f"{raised[1]}; `reassure check` shows how")
    if not search.found:
        raise Failure(Exit.INCONCLUSIVE, f"no state was visited: {exploration.stopped.text}")
    graph = _listed(exploration, progress)
    if graph.stopped.reason is StopReason.LIMIT and (graph.targets >= 0).all():
        graph.stopped = ALL_VISITED  # no step of the last level leads on
    return graph


def _listed(exploration: Exploration, progress: Progress) -> StateGraph:
    kernel = exploration.kernel
    words, layout = kernel.words, kernel.model.layout
    by_level = [rows_in_order(np.concatenate(parts)) for parts in exploration.level_rows]
    rows = np.concatenate(by_level)
    levels = np.repeat(np.arange(len(by_level), dtype=np.int32), [len(level) for level in by_level])
    known = Buckets.one(rows)

    def numbers_of(wanted: Rows) -> Numbers:
        numbers = np.zeros(len(wanted), np.int64)
        native(find_numbers)(words, rows, known.index, len(known.index), wanted, wanted.shape[1], len(wanted), numbers)
        return numbers.astype(np.int32)

    def number_of(state: Any) -> int:
        return int(numbers_of(np.array([layout.encode(state)], np.uint64).view(np.int64))[0])

    shape, total = kernel.shape, np.zeros(kernel.shape.tally_words, np.int64)
    piece = max(1, PIECE_WORDS // (max(1, shape.max_successors) * shape.row_words))
    counts, targets, steps = [], [], []
    held, limit = 0, MemoryLimit.of(None)
    for low in range(0, len(rows), piece):
        progress.proof(f"steps of {low:,} of {quantity(len(rows), 'state')}")
        successors, per_state = edge_list(kernel, rows[low : low + piece], total)
        counts.append(per_state)
        targets.append(numbers_of(successors))
        steps.append(successors[:, words : words + shape.step_words].copy())
        held += per_state.nbytes + targets[-1].nbytes + steps[-1].nbytes
        limit.allow(2 * held)  # each list is copied once at the end
    step_rows = np.concatenate(steps)
    hits = {
        name: step_rows[:, word - 1] >> (ACTION_BITS + bit) & 1 > 0
        for name, (word, bit) in kernel.model.flags().items()
        if word > 0
    }
    verdicts = np.zeros(len(rows), np.int64)
    native(judge_rows)(words, JudgeArguments(kernel.code.check, rows, len(rows), verdicts, total))
    actions = (step_rows[:, 0] & ACTION_MASK).astype(np.uint8)
    taken = np.bincount(actions, minlength=shape.actions)
    return StateGraph(
        bound=exploration.bound, start=exploration.start, compiled=kernel, rows=rows, levels=levels,
        begins=np.concatenate([[0], np.cumsum(np.concatenate(counts))]), targets=np.concatenate(targets),
        actions=actions, step_claims=hits, state_claims=verdicts, find=number_of,
        stopped=exploration.stopped,
        action_clips=[n - int(t) for n, t in zip(kernel.action_counts(total.tolist()), taken, strict=True)],
    )  # fmt: skip
