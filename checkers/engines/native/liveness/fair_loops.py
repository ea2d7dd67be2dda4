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
        states, labels = region.enabled >> LABEL_BITS, region.enabled & MOST_LABELS
        numbers = self.fairness.number[labels]
        pairs = distinct(states[numbers > 0] << self.bits | numbers[numbers > 0])
        self.enabled_states, self.enabled_numbers = pairs >> self.bits, pairs & self.numbers

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
        while True:
            look()
            count = self._split(parts)
            count = self._without_idle(parts, count)
            if count == 0:
                return FairStates(component, resting)
            inside = parts[self.enabled_states] >= 0
            keys = np.sort(parts[self.enabled_states[inside]] << self.bits | self.enabled_numbers[inside])
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
                barred = among(parts[self.enabled_states] << self.bits | self.enabled_numbers, hungry)
                parts[self.enabled_states[barred]] = -1

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
        order = region.order  # the graph is in canonical order
        levels = np.nonzero(np.bincount(region.levels[region.starts]))[0].tolist()
        starts = region.starts[order]

        def starts_of(level: int) -> list[int]:
            states: list[int] = np.nonzero(starts & (region.levels[order] == level))[0].tolist()
            return states

        stem, level = shortest_stem(graph, levels, starts_of, _Marked(fair.any[order]))
        entry, around = stem[-1], stem[-1:]
        if not fair.resting[order[entry]]:
            inside = _Marked((fair.component == fair.component[order[entry]])[order])
            strong = self.fairness.strong[1:].tolist()
            around = fair_loop(graph, inside, entry, strong, lambda n: bool(region.returns[order[n]]))
        return order[[*stem[:-1], *around]].tolist(), level, len(stem) - 1


class _Marked:
    """The states that are marked in an array."""

    def __init__(self, marks: NDArray[np.bool_]) -> None:
        self.marks = marks

    def __contains__(self, state: object) -> bool:
        return isinstance(state, int) and bool(self.marks[state])


class _Graph:
    """The region as `traces.lasso` reads it: states are numbered in canonical order."""

    def __init__(self, search: RegionSearch) -> None:
        self.search, self.region = search, search.region
        self.number, self.order = search.fairness.number, search.region.order
        self.place = np.empty(len(self.order), np.int64)
        self.place[self.order] = np.arange(len(self.order))

    def _edges(self, state: int) -> Rows:
        ends, own = self.region.ends, int(self.order[state])
        edges: Rows = self.region.edges[int(ends[own - 1]) if own else 0 : int(ends[own])]
        return edges

    def successors(self, state: int) -> Sequence[int]:
        states: list[int] = np.unique(self.place[self._edges(state) >> LABEL_BITS]).tolist()
        return states

    def enabled(self, state: int) -> Collection[int]:
        own = self.order[state]
        low, high = np.searchsorted(self.search.enabled_states, [own, own + 1])
        return set((self.search.enabled_numbers[low:high] - 1).tolist())

    def taken(self, before: int, after: int) -> Collection[int]:
        edges = self._edges(before)
        numbers = self.number[edges[edges >> LABEL_BITS == self.order[after]] & MOST_LABELS]
        return set((numbers[numbers > 0] - 1).tolist())
