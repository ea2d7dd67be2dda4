"""Fair loops of a region's graph: components found by a kernel, fairness counted with numpy, round by round.

The method is that of `reference.liveness`, on all components at once: those with a loop that is fair are kept, those
without one are dropped, and of those where a strongly fair action is starved the states where it is enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.kernels.components import ComponentArguments, find_components
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS, MOST_LABELS
from reassure.checkers.engines.native.liveness.region import RegionGraph, distinct
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.traces.lasso import fair_loop, shortest_stem
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumptions, Constraint, in_order

STATES = 1 << 18
"""States whose edges are looked at at a time."""


def among(values: Rows, ordered: Rows) -> NDArray[np.bool_]:
    """By value: whether it is one of some distinct numbers in ascending order."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


@dataclass(frozen=True)
class Fairness:
    """The fairness that is assumed of a region's labels."""

    constraints: list[Constraint]
    """In canonical order."""
    number: NDArray[np.int32]
    """By label: 1 + the number of its constraint; 0: it counts for nothing."""
    strong: NDArray[np.bool_]
    """By 1 + the number of a constraint."""

    @property
    def coarser(self) -> bool:
        """Whether several labels count for one constraint."""
        counted = self.number[self.number > 0]
        return len(np.unique(counted)) < len(counted)

    @classmethod
    def of(cls, bound: BoundModel, region: RegionGraph, assumptions: Assumptions) -> Fairness:
        """assumptions: of some of the actions that the region's labels are of, for each of no more parameters."""
        coarser: dict[int, Constraint] = {}
        for label, finest in region.constraints.items():
            assumed = assumptions.get(finest.assumption.action)
            if assumed is not None:
                values = dict(zip(finest.assumption.each, finest.values, strict=True))
                coarser[label] = Constraint(assumed, tuple(values[name] for name in assumed.each))
        constraints = in_order(bound, set(coarser.values()))
        place = {c: 1 + i for i, c in enumerate(constraints)}
        number = np.zeros(1 + max(region.constraints, default=0), np.int32)
        for label, constraint in coarser.items():
            number[label] = place[constraint]
        strong = np.array([False, *(c.strong for c in constraints)])
        return cls(constraints, number, strong)


@dataclass(frozen=True)
class FairStates:
    """The states that fair runs which violate a property may go round in, or stop in, for ever."""

    component: NDArray[np.int64]
    """By state: the number of its component; -1: it is in no fair loop."""
    resting: NDArray[np.bool_]
    """By state: whether a run may stop there."""

    @property
    def any(self) -> NDArray[np.bool_]:
        return (self.component >= 0) | self.resting


class RegionSearch:
    """Looks for fair loops in a region, under assumptions."""

    def __init__(self, bound: BoundModel, region: RegionGraph, assumptions: Assumptions) -> None:
        self.region, self.fairness = region, Fairness.of(bound, region, assumptions)
        self.bits = len(self.fairness.constraints).bit_length()
        self.numbers = (1 << self.bits) - 1
        states, numbers = region.enabled >> LABEL_BITS, self.fairness.number[region.enabled & MOST_LABELS]
        if not (self.fairness.number[1:] > 0).all():
            states, numbers = states[numbers > 0], numbers[numbers > 0]
        if self.fairness.coarser:
            pairs = distinct(states << self.bits | numbers)
            states, numbers = pairs >> self.bits, pairs & self.numbers
        self.enabled_states, self.enabled_numbers = states, numbers

    @staticmethod
    def bytes_for(region: RegionGraph) -> int:
        """About the most bytes that a search takes beside the region."""
        arrays = 72 * region.count + 24 * len(region.edges) + 40 * len(region.enabled)
        return arrays + 1_000 * len(region.constraints)  # these are Python's objects

    def fair_states(self, look: Callable[[], None]) -> FairStates:
        """Every state that a fair loop goes through. look: called before each round; raises to end the work."""
        region = self.region
        resting = region.returns.copy()
        resting[self.enabled_states] = False
        component = np.full(region.count, -1, np.int64)
        parts, numbered = np.zeros(region.count, np.int64), 0
        states, numbers = self.enabled_states, self.enabled_numbers
        while True:
            look()
            count = self._split(parts)
            count = self._without_idle(parts, count)
            if count == 0:
                return FairStates(component, resting)
            inside = parts[states] >= 0  # a state that is out of its part stays out
            states, numbers = states[inside], numbers[inside]
            keys = np.sort(parts[states] << self.bits | numbers)
            first = np.nonzero(np.append(True, keys[1:] != keys[:-1]))[0] if len(keys) else np.zeros(0, np.int64)
            keys, often = keys[first], np.diff(first, append=len(keys))
            starved = ~among(keys, self._taken(parts))
            strong = self.fairness.strong[keys & self.numbers]
            sizes = np.bincount(parts[parts >= 0], minlength=count)
            unfair = np.zeros(count, bool)
            unfair[keys[starved & ~strong & (often == sizes[keys >> self.bits])] >> self.bits] = True
            hungry = keys[starved & strong & ~unfair[keys >> self.bits]]
            fair = ~unfair
            fair[hungry >> self.bits] = False
            member = parts >= 0
            here = member & np.append(fair, False)[parts]
            component[here] = parts[here] + numbered
            numbered += count
            parts[here | (member & np.append(unfair, False)[parts])] = -1
            if len(hungry):
                barred = among(parts[states] << self.bits | numbers, hungry)
                parts[states[barred]] = -1

    def _taken(self, parts: Rows) -> Rows:
        """By part and constraint, as one number: those of which a step stays within the part; ascending."""
        region, taken = self.region, []
        for low, high in pairwise([*range(0, region.count, STATES), region.count]):
            begin, end = int(region.ends[low - 1]) if low else 0, int(region.ends[high - 1])
            own = np.repeat(parts[low:high], np.diff(region.ends[low:high], prepend=begin))
            edges = region.edges[begin:end]
            numbers = self.fairness.number[edges & MOST_LABELS]
            same = (numbers > 0) & (own >= 0) & (own == parts[edges >> LABEL_BITS])
            taken.append(distinct(np.sort(own[same] << self.bits | numbers[same])))
        return distinct(np.sort(np.concatenate(taken)))

    def _split(self, parts: Rows) -> int:
        """Splits each part into its strongly connected components; how many there are."""
        region, count = self.region, self.region.count
        components = np.full(count, -1, np.int64)
        a = ComponentArguments(
            count=count, ends=region.ends, edges=region.edges, parts=parts, components=components,
            index=np.zeros(count, np.int64), low=np.zeros(count, np.int64), at=np.zeros(count, np.int64),
            path=np.zeros(count + 1, np.int64), stack=np.zeros(count + 1, np.int64), found=0,
        )  # fmt: skip
        native(find_components)(a)
        parts[:] = components
        return a.found

    def _without_idle(self, parts: Rows, count: int) -> int:
        """Leaves out components without a loop or without a state to return to; numbers the others anew."""
        member = parts >= 0
        several = np.bincount(parts[member], minlength=count) > 1
        returning = np.zeros(count, bool)
        returning[parts[member & self.region.returns]] = True
        good = several & returning
        numbers = np.append(np.where(good, np.cumsum(good) - 1, -1), -1)
        parts[:] = numbers[parts]
        return int(good.sum())

    def lasso(self, fair: FairStates) -> tuple[list[int], int, int] | None:
        """The shortest way into a fair loop and a short loop: states, level of the first, where the loop begins."""
        if not fair.any.any():
            return None
        region, graph = self.region, _Graph(self)
        levels = np.nonzero(np.bincount(region.levels[region.starts]))[0].tolist()

        def starts_of(level: int) -> list[int]:
            return graph.named(np.nonzero(region.starts & (region.levels == level))[0])

        stem, level = shortest_stem(graph, levels, starts_of, _Marked(graph, fair.any))
        entry, around = stem[-1], stem[-1:]
        own = graph.numbers[entry]
        if not fair.resting[own]:
            inside = _Marked(graph, fair.component == fair.component[own])
            strong = self.fairness.strong[1:].tolist()
            around = fair_loop(graph, inside, entry, strong, lambda n: bool(region.returns[graph.numbers[n]]))
        return [graph.numbers[name] for name in [*stem[:-1], *around]], level, len(stem) - 1


class _Graph:
    """The region as `traces.lasso` reads it: a state is named by its row as one number, so that they are in order."""

    def __init__(self, search: RegionSearch) -> None:
        self.search, self.region, self.number = search, search.region, search.fairness.number
        self.numbers: dict[int, int] = {}
        """By name: the number in the region, of the states that were met."""

    def named(self, numbers: Rows) -> list[int]:
        """The names of states."""
        names = [0] * len(numbers)
        for word in self.region.rows[numbers].view(np.uint64).T:
            names = [name << 64 | part for name, part in zip(names, word.tolist(), strict=True)]
        self.numbers.update(zip(names, numbers.tolist(), strict=True))
        return names

    def _edges(self, state: int) -> Rows:
        ends, own = self.region.ends, self.numbers[state]
        edges: Rows = self.region.edges[int(ends[own - 1]) if own else 0 : int(ends[own])]
        return edges

    def successors(self, state: int) -> Sequence[int]:
        return sorted(self.named(np.unique(self._edges(state) >> LABEL_BITS)))

    def enabled(self, state: int) -> Collection[int]:
        own = self.numbers[state]
        low, high = np.searchsorted(self.search.enabled_states, [own, own + 1])
        return set((self.search.enabled_numbers[low:high] - 1).tolist())

    def taken(self, before: int, after: int) -> Collection[int]:
        edges = self._edges(before)
        numbers = self.number[edges[edges >> LABEL_BITS == self.numbers[after]] & MOST_LABELS]
        return set((numbers[numbers > 0] - 1).tolist())


class _Marked:
    """The states that are marked in an array, by their names."""

    def __init__(self, graph: _Graph, marks: NDArray[np.bool_]) -> None:
        self.graph, self.marks = graph, marks

    def __contains__(self, state: object) -> bool:
        return isinstance(state, int) and bool(self.marks[self.graph.numbers[state]])
