"""The run that is shown for a violated property about whole runs: a short way into a fair loop, and the loop.

States are numbered in canonical order, so that the lasso does not depend on how a graph was explored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class LassoGraph(Protocol):
    """The states that a violating run may stay in, the steps between them, and what is fair there."""

    def successors(self, states: Sequence[int]) -> Iterable[Sequence[int]]:
        """For each of these states: the other states of the region that a step leads to, ascending."""
        ...

    def enabled(self, state: int) -> Collection[int]:
        """Numbers of the constraints that are enabled in a state."""
        ...

    def taken(self, before: int, after: int) -> Collection[int]:
        """Numbers of the constraints that this step counts for."""
        ...


def shortest_stem(
    graph: LassoGraph, levels: Collection[int], starts: Callable[[int], Iterable[int]], fair: Container[int]
) -> tuple[list[int], int]:
    """The shortest way, counted from the initial states, to a state of `fair`, which are states of fair loops.

    starts: the states of a level from which a violating run stays in the region; levels: where there may be any.
    Returns the states from such a start on, and the start's level. Of several ways, the one whose states are smallest,
    from the last one backwards.
    """
    before: dict[int, int | None] = {}
    level, frontier = min(levels), list[int]()
    while True:
        earlier: dict[int, int | None] = {}
        if level in levels:
            earlier = {s: None for s in starts(level) if s not in before}
        for state, afters in zip(frontier, graph.successors(frontier), strict=True):
            for after in afters:
                if after not in before and after not in earlier:
                    earlier[after] = state
        before.update(earlier)
        frontier = sorted(earlier)
        entry = next((s for s in frontier if s in fair), None)
        if entry is not None:
            path = _backwards(before, entry)
            return path, level - len(path) + 1
        if not frontier and level >= max(levels):
            raise ValueError("no fair loop can be reached")
        level += 1


def _backwards(before: Mapping[int, int | None], state: int) -> list[int]:
    path = [state]
    while (earlier := before[path[0]]) is not None:
        path.insert(0, earlier)
    return path


@dataclass(frozen=True)
class _Wish:
    """A requirement on a loop beside closing: a step or a state of this kind."""

    met_by: Callable[[int, int], bool]
    """Whether a step, given by its two states, is or ends in what is wished for."""


def fair_loop(
    graph: LassoGraph,
    component: Container[int],
    entry: int,
    strong: Sequence[bool],
    returns: Callable[[int], bool],
) -> list[int]:
    """A short fair loop within a component, from `entry` on; the first state follows the last.

    component: strongly connected states of which some loop is fair and has a state of `returns`. strong: by the number
    of a constraint. The loop begins as the shortest one there is; what it does not meet is added, one wish at a time.
    """
    wishes = [] if returns(entry) else [_Wish(lambda _, after: returns(after))]
    while True:
        walk = _walk(graph, component, entry, wishes)
        unmet = _unmet(graph, walk, strong)
        if unmet is None:
            return walk[:-1]
        wishes.append(_wish_for(graph, unmet, strong[unmet]))


def _wish_for(graph: LassoGraph, constraint: int, strong: bool) -> _Wish:
    if strong:
        return _Wish(lambda before, after: constraint in graph.taken(before, after))
    return _Wish(
        lambda before, after: constraint in graph.taken(before, after) or constraint not in graph.enabled(after)
    )


def _walk(graph: LassoGraph, component: Container[int], entry: int, wishes: Iterable[_Wish]) -> list[int]:
    """A walk from `entry` that meets each wish in turn, the shortest way to each, and returns."""
    walk = [entry]
    for wish in wishes:
        if not any(wish.met_by(a, b) for a, b in itertools.pairwise(walk)):
            walk += _shortest(graph, component, walk[-1], wish.met_by)
    if len(walk) == 1 or walk[-1] != entry:
        walk += _shortest(graph, component, walk[-1], lambda _, after: after == entry)
    return walk


def _shortest(graph: LassoGraph, component: Container[int], start: int, meets: Callable[[int, int], bool]) -> list[int]:
    """The states after `start` on the shortest way, within a component, that ends with a step that `meets`."""
    before: dict[int, int | None] = {start: None}
    frontier = [start]
    while frontier:
        earlier: dict[int, int | None] = {}
        for state, afters in zip(frontier, graph.successors(frontier), strict=True):
            for after in afters:
                if after in component:
                    if meets(state, after):
                        return [*_backwards(before, state)[1:], after]
                    if after not in before and after not in earlier:
                        earlier[after] = state
        before.update(earlier)
        frontier = sorted(earlier)
    raise ValueError("the component is not strongly connected, or has no fair loop")


def _unmet(graph: LassoGraph, walk: Sequence[int], strong: Sequence[bool]) -> int | None:
    """The first constraint to which going round for ever is not fair."""
    loop = walk[:-1]
    enabled = [set(graph.enabled(s)) for s in loop]
    taken = set().union(*(graph.taken(a, b) for a, b in itertools.pairwise(walk)))
    ever, always = set().union(*enabled), set(enabled[0]).intersection(*enabled)
    unfair = {c for c in ever - taken if strong[c] or c in always}
    return min(unfair, default=None)
