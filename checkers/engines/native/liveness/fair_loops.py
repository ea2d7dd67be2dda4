"""Fair loops of a region's graph, which a kernel finds, group of buckets by group; and the run that is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.kernels.components import (
    LOOPS_AT,
    RESTS,
    ComponentArguments,
    find_fair_components,
)
from reassure.checkers.engines.native.kernels.edge_list import edge_list
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS, MOST_LABELS
from reassure.checkers.engines.native.kernels.row_numbers import find_numbers
from reassure.checkers.engines.native.liveness.buckets import Buckets
from reassure.checkers.engines.native.liveness.candidates import FirstStart
from reassure.checkers.engines.native.liveness.edge_lister import EdgeLister
from reassure.checkers.engines.native.liveness.region import AT_ONCE, GraphPart, RegionGraph, reachable
from reassure.checkers.engines.native.liveness.temporal_claims import TemporalClaim
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.traces.lasso import fair_loop, shortest_stem
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import Assumptions, Constraint, in_order


class NotAllKnown(Exception):
    """The answer takes states that a graph does not have."""


@dataclass(frozen=True)
class Fairness:
    """The fairness that is assumed of a region's labels."""

    constraints: list[Constraint]
    """In canonical order."""
    number: Rows
    """By label: 1 + the number of its constraint; 0: it counts for nothing."""
    strong: Rows
    """By 1 + the number of a constraint."""

    @classmethod
    def of(cls, bound: BoundModel, graph: RegionGraph, assumptions: Assumptions) -> Fairness:
        """assumptions: of some of the actions that the region's labels are of, for each of no more parameters."""
        coarser: dict[int, Constraint] = {}
        for label, finest in graph.constraints.items():
            assumed = assumptions.get(finest.assumption.action)
            if assumed is not None:
                values = dict(zip(finest.assumption.each, finest.values, strict=True))
                coarser[label] = Constraint(assumed, tuple(values[name] for name in assumed.each))
        constraints = in_order(bound, set(coarser.values()))
        place = {c: 1 + i for i, c in enumerate(constraints)}
        number = np.zeros(1 + max(graph.constraints, default=0), np.int64)
        for label, constraint in coarser.items():
            number[label] = place[constraint]
        strong = np.array([False, *(c.strong for c in constraints)], np.int64)
        return cls(constraints, number, strong)


@dataclass(frozen=True)
class FairStates:
    """The states that fair runs which violate a property may go round in, or stop in, for ever."""

    numbers: Rows
    """Ascending, as the region numbers states."""
    found: Rows
    """What the kernel found of each."""

    @property
    def resting(self) -> NDArray[np.bool_]:
        """By state: whether a run may stop there."""
        return np.asarray(self.found & RESTS != 0)

    @property
    def component(self) -> Rows:
        """By state: a number of its component; 0: it is in no fair loop."""
        return self.found >> LOOPS_AT


@dataclass
class Region:
    """The states that a run which violates one property may stay in. judge: `TemporalClaims.verdicts`."""

    lister: EdgeLister
    make: Callable[[], RegionGraph]
    """Makes the graph, which not every question needs."""
    claim: TemporalClaim
    first: FirstStart | None
    depth: int
    """How many levels there are."""
    judge: Callable[[Rows], Rows]
    level_rows: Iterable[Iterable[Rows]]
    look: Callable[[], None]

    @cached_property
    def graph(self) -> RegionGraph:
        """The states, some others perhaps among them, and the steps that loops may have."""
        return self.make()

    def starting(self, rows: Rows) -> Rows:
        """Those of some states from which on a run may stay in the region, if it gets there."""
        starting: Rows = rows[self.claim.starts(self.judge(rows))]
        return starting

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """By state of the graph: whether a run may get there without leaving the region since a start."""
        starts, stays = self.claim.starts(self.graph.verdicts), self.claim.stays(self.graph.verdicts)
        if np.array_equal(stays, starts):
            return np.asarray(stays)
        return reachable(self.lister, self.graph.rows, starts, stays, self.look)


Lasso = tuple[list[Rows], int, int]
"""States, the level of the first, and where the loop begins."""


class RegionSearch:
    """Looks for fair loops in a region, under assumptions."""

    def __init__(self, bound: BoundModel, region: Region, assumptions: Assumptions, threads: int = 1) -> None:
        self.region, self.graph, self.threads = region, region.graph, threads
        self.fairness = Fairness.of(bound, region.graph, assumptions)

    @staticmethod
    def bytes_for(graph: RegionGraph) -> int:
        """About the most bytes that a search takes beside the graph."""
        largest = max((part.high - part.low for part in graph.parts), default=0)
        return 40 * graph.count + 56 * largest + 1_000 * len(graph.constraints)  # these are Python's objects

    def fair_states(self, look: Callable[[], None]) -> FairStates:
        """Every state that a fair loop goes through. look: called now and then; raises to end the work."""
        graph, found = self.graph, np.zeros(self.graph.count, np.int64)
        free, threads = SimpleQueue[ComponentArguments](), min(self.threads, max(1, len(graph.parts)))
        for _ in range(threads):
            free.put(self._room(found))

        def search(part: GraphPart) -> None:
            a = free.get()
            try:
                a.low, a.high, a.ends, a.edges = part.low, part.high, part.ends, part.edges
                a.enabled, a.enabled_count = part.enabled, len(part.enabled)
                native(find_fair_components)(a)
            finally:
                free.put(a)

        with ThreadPoolExecutor(threads) as pool:
            try:
                for _ in map(search, graph.parts) if threads == 1 else pool.map(search, graph.parts):
                    look()
            finally:
                pool.shutdown(cancel_futures=True)
        numbers = np.nonzero(found)[0]
        if len(numbers):
            numbers = numbers[self.region.reached[numbers]]
        return FairStates(numbers, found[numbers])

    def _room(self, found: Rows) -> ComponentArguments:
        """Room for a thread to look for components of a part."""
        graph, claim, fairness = self.graph, self.region.claim, self.fairness
        largest, nothing = max((part.high - part.low for part in graph.parts), default=0), np.zeros(0, np.int64)
        counts, states = len(fairness.strong), largest + 1
        return ComponentArguments(
            low=0, high=0, verdicts=graph.verdicts, stays=claim.stay_bits, returns=claim.return_bits,
            ends=nothing, edges=nothing, enabled=nothing, enabled_count=0,
            constraints=fairness.number, strong=fairness.strong, seen=np.zeros(counts, np.int64),
            last=np.zeros(counts, np.int64), often=np.zeros(counts, np.int64), taken=np.zeros(counts, np.int64),
            touched=np.zeros(counts, np.int64), stamp=0, found=found, parts=np.zeros(states, np.int64),
            index=np.zeros(states, np.int64), earliest=np.zeros(states, np.int64), at=np.zeros(states, np.int64),
            enabled_ends=np.zeros(states, np.int64), path=np.zeros(states, np.int64), stack=np.zeros(states, np.int64),
        )  # fmt: skip

    def lasso(self, fair: FairStates, whole: bool = True) -> Lasso | None:
        """The shortest way into a fair loop and a short loop; None if there are no fair states.

        whole: whether the graph has all states of the region. Else what is fair there is fair in the region too, and
        `NotAllKnown` is raised where the answer depends on whether another state is.
        """
        if not len(fair.numbers):
            return None
        region, graph = self.region, _Graph(self, fair)
        assert region.first is not None
        levels = range(region.first.level, region.depth + 1)

        def starts_of(level: int) -> list[int]:
            names = list[int]()
            for part in next(islice(region.level_rows, level - 1, None)):
                names += graph.names_of(region.starting(part))
            return names

        stem, level = shortest_stem(graph, levels, starts_of, _Marked(graph, np.ones(len(fair.numbers), bool), whole))
        entry, around = stem[-1], stem[-1:]
        own = graph.places[entry]
        if not fair.resting[own]:
            inside = _Marked(graph, fair.component == fair.component[own], whole)
            strong = self.fairness.strong[1:].tolist()
            around = fair_loop(graph, inside, entry, strong, lambda n: bool(graph.returns[graph.places[n]]))
        return [graph.rows_of([name]) for name in [*stem[:-1], *around]], level, len(stem) - 1


def names_of(rows: Rows) -> list[int]:
    """States as `traces.lasso` names them: a row as one number, so that they are in order."""
    names = [0] * len(rows)
    for word in rows.view(np.uint64).T:
        names = [name << 64 | part for name, part in zip(names, word.tolist(), strict=True)]
    return names


class _Graph:
    """The region as `traces.lasso` reads it. Steps to another bucket, which the graph does not have, are made again."""

    def __init__(self, search: RegionSearch, fair: FairStates) -> None:
        self.search, self.graph, self.number, self.fair = search, search.graph, search.fairness.number, fair
        self.known = Buckets.one(np.ascontiguousarray(self.graph.rows[fair.numbers]))
        self.returns = search.region.claim.returns(self.graph.verdicts[fair.numbers])
        self.places: dict[int, int] = {}
        """By name: the place among the fair states, of those that were met; -1: it is none."""

    def rows_of(self, names: Sequence[int]) -> Rows:
        """The states of these names."""
        words, mask = range(self.graph.rows.shape[1])[::-1], (1 << 64) - 1
        return np.array([[name >> 64 * k & mask for k in words] for name in names], np.uint64).view(np.int64)

    def place(self, name: int) -> int:
        """The place of a state among the fair ones; -1: it is none."""
        if name not in self.places:
            self._note_places([name], self.rows_of([name]))
        return self.places[name]

    def names_of(self, rows: Rows) -> list[int]:
        """The names of states, whose places are noted at once."""
        self._note_places(names := names_of(rows), rows)
        return names

    def _note_places(self, names: list[int], rows: Rows) -> None:
        found, index, words = np.empty(len(rows), np.int64), self.known.index, rows.shape[1]
        native(find_numbers)(words, self.known.rows, index, len(index), rows, words, len(rows), found)
        self.places.update(zip(names, found.tolist(), strict=True))

    def successors(self, states: Sequence[int]) -> Iterator[Sequence[int]]:
        region = self.search.region
        for first in range(0, len(states), AT_ONCE):
            some = states[first : first + AT_ONCE]
            after, counts = edge_list(region.lister.kernel, self.rows_of(some))
            rows = np.ascontiguousarray(after[:, : self.graph.rows.shape[1]])
            stays = region.claim.stays(region.judge(rows))
            kept = np.append(0, np.cumsum(stays))[np.append(0, np.cumsum(counts))].tolist()
            names = self.names_of(rows[stays])
            for state, (low, high) in zip(some, pairwise(kept), strict=True):
                yield sorted({*names[low:high]} - {state})

    def enabled(self, state: int) -> Collection[int]:
        number = self._number(state)
        return self._constraints(self.graph.part_of(number).enabled_in(number))

    def taken(self, before: int, after: int) -> Collection[int]:
        number = self._number(before)
        edges = self.graph.part_of(number).edges_of(number)
        return self._constraints(edges[edges >> LABEL_BITS == self._number(after)])

    def _number(self, state: int) -> int:
        return int(self.fair.numbers[self.places[state]])

    def _constraints(self, keys: Rows) -> set[int]:
        numbers = self.number[keys & MOST_LABELS]
        return set((numbers[numbers > 0] - 1).tolist())


class _Marked:
    """The fair states that are marked in an array, by their names. whole: as of `RegionSearch.lasso`."""

    def __init__(self, graph: _Graph, marks: NDArray[np.bool_], whole: bool) -> None:
        self.graph, self.marks, self.whole = graph, marks, whole

    def __contains__(self, state: object) -> bool:
        marked = isinstance(state, int) and (place := self.graph.place(state)) >= 0 and bool(self.marks[place])
        if not marked and not self.whole:
            raise NotAllKnown
        return marked
