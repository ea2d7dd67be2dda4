"""The goals of a suite of traces: the criteria, and for each goal of one the shortest path that takes it.

A path is the state that it begins in and the edges of a `StateGraph` that it goes along.

It also selects the paths of a suite: few ones that together take every goal that can be taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.terminal import quantity
from reassure.spec.semantics.interpreter import Params

NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Path:
    """A run through a graph."""

    start: int
    edges: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.edges)

    def states(self, graph: StateGraph) -> Iterator[int]:
        """The states that it passes, the first one included."""
        yield self.start
        for edge in self.edges:
            yield int(graph.targets[edge])


def path_along(graph: StateGraph, state: int, *more: int) -> Path:
    """The canonical shortest path to a state, and on along further edges."""
    edges = [*graph.path_to(state), *more]
    return Path(int(graph.sources[edges[0]]) if edges else state, tuple(edges))


@dataclass(frozen=True)
class CoverageGoal:
    """A goal with a name; `shortest` is None if no path was found that takes it, for the reason that `why` gives."""

    name: str
    shortest: Path | None
    why: str = ""


@dataclass(frozen=True)
class Attempt:
    """An action that a guard refuses in a state of a path, by the state's number in the path."""

    state: int
    action: str
    params: Params
    guard: str


class NamedGoals(Protocol):
    """A criterion with so few goals that each has a name and a shortest path."""

    @property
    def goals(self) -> list[CoverageGoal]:
        """Every goal, also those that nothing takes."""

    def taken(self, path: Path) -> dict[int, int]:
        """The goals that a path takes, by number, with the number of steps after which each is first taken."""

    def attempts(self, path: Path, goals: list[int]) -> list[Attempt]:
        """For those of these goals that are guards which refuse: an action that each refuses."""


class StepGoals:
    """Goals of which none is a guard."""

    def attempts(self, path: Path, goals: list[int]) -> list[Attempt]:
        """See `NamedGoals`."""
        return []


def _first_positions(numbers: NDArray[np.int64], offset: int) -> dict[int, int]:
    positions: dict[int, int] = {}
    for position, number in enumerate(numbers.tolist()):
        positions.setdefault(number, position + offset)
    return positions


class Actions(StepGoals):
    """Every action is taken."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        numbers, edges = np.unique(graph.actions[graph.targets >= 0], return_index=True)
        inside = np.nonzero(graph.targets >= 0)[0]
        first = {int(n): int(inside[e]) for n, e in zip(numbers, edges, strict=True)}
        self.goals = [self._goal(number, name, first) for number, name in enumerate(graph.kernel.actions)]

    def _goal(self, number: int, name: str, first: dict[int, int]) -> CoverageGoal:
        graph = self.graph
        if number in first:
            edge = first[number]
            return CoverageGoal(name, path_along(graph, int(graph.sources[edge]), edge))
        return CoverageGoal(name, None, never_taken(graph, number))

    def taken(self, path: Path) -> dict[int, int]:
        """See `NamedGoals`."""
        return _first_positions(self.graph.actions[list(path.edges)].astype(np.int64), 1)


def never_taken(graph: StateGraph, action: int) -> str:
    """The reason why an action is in no path."""
    if graph.action_clips[action]:
        steps = int(graph.action_clips[action])
        return "its only step leaves a bound" if steps == 1 else f"each of its {steps:,} steps leaves a bound"
    return "no reachable state enables it" + as_far(graph)


def as_far(graph: StateGraph) -> str:
    """A reservation, where not every reachable state was visited."""
    if not graph.complete:
        return f", of those visited before the search ended: {graph.stopped.text}"
    return f"; {quantity(graph.clipped, 'step')} beyond a bound, where nothing was visited" if graph.clipped else ""


class Pairs(StepGoals):
    """Every two actions that can follow each other do."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        names = graph.kernel.actions
        self.count = len(names)
        inside = graph.targets >= 0
        seen = set(np.unique(graph.actions[inside]).tolist())
        self.goals: list[CoverageGoal] = []
        for first, name in enumerate(names):
            arrivals = self._arrivals(first, inside)
            for second, other in enumerate(names):
                path = self._shortest(arrivals, second, inside)
                never = next((n for n in (first, second) if n not in seen), None)
                why = "" if path else f"{other} is not enabled after {name} in any reachable state" + as_far(graph)
                if never is not None:
                    why = f"{names[never]} is never taken: {never_taken(graph, never)}"
                self.goals.append(CoverageGoal(f"{name}, {other}", path, why))

    def _arrivals(self, action: int, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
        """By state: the first edge of an action that leads to it; as many as there are edges where none does."""
        edges = np.nonzero(inside & (self.graph.actions == action))[0]
        edge_to = np.full(self.graph.count, self.graph.edge_count, np.int64)
        edge_to[self.graph.targets[edges[::-1]]] = edges[::-1]
        return edge_to

    def _shortest(self, arrivals: NDArray[np.int64], action: int, inside: NDArray[np.bool_]) -> Path | None:
        """The shortest path that ends with the step of `arrivals` to some state and an action from there."""
        graph = self.graph
        leaving = np.nonzero(inside & (graph.actions == action))[0]
        if not len(leaving):
            return None
        before = arrivals[graph.sources[leaving]]
        best = int(np.argmin(before))
        if before[best] == graph.edge_count:
            return None
        edge = int(before[best])
        return path_along(graph, int(graph.sources[edge]), edge, int(leaving[best]))

    def taken(self, path: Path) -> dict[int, int]:
        """See `NamedGoals`."""
        actions = self.graph.actions[list(path.edges)].astype(np.int64)
        return _first_positions(actions[:-1] * self.count + actions[1:], 2)


class Covers(StepGoals):
    """Every cover of the model is reached."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        flags = graph.kernel.state_flags
        self.goals: list[CoverageGoal] = []
        for cover in graph.bound.covers:
            if cover.over_steps:
                edges = np.nonzero(self._on_steps(cover.name) & (graph.targets >= 0))[0]
                path = path_along(graph, int(graph.sources[edges[0]]), int(edges[0])) if len(edges) else None
            else:
                states = np.nonzero(graph.state_claims >> flags.index(cover.name) & 1)[0]
                path = path_along(graph, int(states[0])) if len(states) else None
            what = "step" if cover.over_steps else "state"
            why = "" if path else f"no reachable {what} satisfies it" + as_far(graph)
            self.goals.append(CoverageGoal(cover.name, path, why))

    def _on_steps(self, name: str) -> NDArray[np.bool_]:
        return self.graph.step_claims.get(name, np.zeros(self.graph.edge_count, bool))

    def taken(self, path: Path) -> dict[int, int]:
        """See `NamedGoals`."""
        graph, positions = self.graph, {}
        states, flags = list(path.states(graph)), graph.kernel.state_flags
        for number, cover in enumerate(graph.bound.covers):
            if cover.over_steps:
                hit, offset = self._on_steps(cover.name)[list(path.edges)], 1
            else:
                hit, offset = (graph.state_claims[states] >> flags.index(cover.name) & 1) > 0, 0
            if hit.any():
                positions[number] = int(np.argmax(hit)) + offset
        return positions


class MassGoals(Protocol):
    """A criterion whose goals are numbers: the states, or the edges, of a graph."""

    noun: str
    reachable: NDArray[np.bool_]
    """By goal: whether it counts."""

    def of_edge(self, edge: int) -> int:
        """The goal that an edge takes."""

    def shortest(self, goal: int) -> Path:
        """The shortest path that takes a goal."""

    def length(self) -> NDArray[np.int32]:
        """By goal: the steps of its shortest path."""

    def taken(self, path: Path) -> list[int]:
        """The goals that a path takes."""


class States:
    """Every reachable state is passed."""

    noun = "states"

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self.reachable = np.ones(graph.count, bool)

    def of_edge(self, edge: int) -> int:
        """See `MassGoals`."""
        return int(self.graph.targets[edge])

    def shortest(self, goal: int) -> Path:
        """See `MassGoals`."""
        return path_along(self.graph, goal)

    def length(self) -> NDArray[np.int32]:
        """See `MassGoals`."""
        return self.graph.levels

    def taken(self, path: Path) -> list[int]:
        """See `MassGoals`."""
        return list(path.states(self.graph))


class Transitions:
    """Every step of every reachable state is taken: an action with its parameters."""

    noun = "transitions"

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self.reachable = graph.targets >= 0

    def of_edge(self, edge: int) -> int:
        """See `MassGoals`."""
        return edge

    def shortest(self, goal: int) -> Path:
        """See `MassGoals`."""
        return path_along(self.graph, int(self.graph.sources[goal]), goal)

    def length(self) -> NDArray[np.int32]:
        """See `MassGoals`."""
        return self._length

    @cached_property
    def _length(self) -> NDArray[np.int32]:
        return (self.graph.levels[self.graph.sources] + 1).astype(np.int32)

    def taken(self, path: Path) -> list[int]:
        """See `MassGoals`."""
        return list(path.edges)


@dataclass
class Selection:
    """The paths of a suite, and what they take."""

    noun: str
    paths: list[Path] = field(default_factory=list)
    adds: list[list[str]] = field(default_factory=list)
    """By path: names of the goals that it is the first to take, of criteria whose goals have names."""
    added: list[int] = field(default_factory=list)
    """By path: how many goals it is the first to take."""
    attempts: list[list[Attempt]] = field(default_factory=list)
    """By path, of guards: what is refused in which state."""
    reachable: int = 0
    taken: int = 0
    missing: list[CoverageGoal] = field(default_factory=list)
    """Goals that no path of the suite takes, each with the reason."""
    missing_count: int = 0
    """Of goals that can be taken but are beyond the length that is allowed, of criteria whose goals have no names."""

    @property
    def percent(self) -> float:
        """Of the goals that can be taken, those that are; 100 if there is none."""
        return 100 * self.taken / self.reachable if self.reachable else 100.0


def select_named(noun: str, criterion: NamedGoals, kept: list[Path], most: int | None) -> Selection:
    """Greedy cover by the shortest paths of the goals: the path that adds most, the shorter first, then by number.

    kept: paths that are in the suite anyway. most: steps of a path.
    """
    chosen = Selection(noun)
    open_goals: set[int] = set()
    for number, goal in enumerate(criterion.goals):
        if goal.shortest is None:
            chosen.missing.append(goal)
            continue
        chosen.reachable += 1
        open_goals.add(number)

    def add(path: Path) -> None:
        new = sorted((at, number) for number, at in criterion.taken(path).items() if number in open_goals)
        chosen.paths.append(path)
        chosen.adds.append([criterion.goals[number].name for _, number in new])
        chosen.added.append(len(new))
        chosen.attempts.append(criterion.attempts(path, [number for _, number in new]))
        open_goals.difference_update(number for _, number in new)

    for path in kept:
        add(path)
    candidates: dict[Path, set[int]] = {}
    for number in sorted(open_goals):
        shortest = criterion.goals[number].shortest
        assert shortest is not None
        if most is None or len(shortest) <= most:
            candidates.setdefault(shortest, set(criterion.taken(shortest)))
    while candidates:
        best = max(candidates, key=lambda path: (len(candidates[path] & open_goals), -len(path)))
        if not candidates.pop(best) & open_goals:
            break
        add(best)
    for number in sorted(open_goals):
        goal = criterion.goals[number]
        assert goal.shortest is not None
        why = f"beyond --max-length {most}: its shortest trace has {quantity(len(goal.shortest), 'step')}"
        chosen.missing.append(CoverageGoal(goal.name, goal.shortest, why))
    chosen.taken = chosen.reachable - len(open_goals)
    return chosen


def select_mass(graph: StateGraph, criterion: MassGoals, kept: list[Path], most: int | None) -> Selection:
    """Walks: the shortest path to the first goal that is open, then on along steps that take open goals.

    A walk ends where no step does, or with `most` steps (none given: those of the longest shortest path).
    """
    is_open, length = criterion.reachable.copy(), criterion.length()
    longest = int(length[is_open].max(initial=0))
    most = longest if most is None else most
    chosen = Selection(criterion.noun, reachable=int(is_open.sum()))
    for path in kept:
        goals = np.unique(np.array(criterion.taken(path), np.int64))
        _close(chosen, path, goals[is_open[goals]], is_open)
    for goal in np.nonzero(is_open & (length <= most))[0].tolist():
        if is_open[goal]:
            path = _walk(graph, criterion, criterion.shortest(goal), is_open, most)
            goals = np.unique(np.array(criterion.taken(path), np.int64))
            _close(chosen, path, goals[is_open[goals]], is_open)
    chosen.missing_count = int(is_open.sum())
    chosen.taken = chosen.reachable - chosen.missing_count
    return chosen


def _close(chosen: Selection, path: Path, new: np.ndarray, is_open: np.ndarray) -> None:
    is_open[new] = False
    chosen.paths.append(path)
    chosen.adds.append([])
    chosen.added.append(len(new))
    chosen.attempts.append([])


def _walk(graph: StateGraph, criterion: MassGoals, begin: Path, is_open: np.ndarray, most: int) -> Path:
    """A path prolonged by the first step that takes an open goal, as long as there is one."""
    edges, here = list(begin.edges), [*begin.states(graph)][-1]
    passed = set(criterion.taken(begin))
    while len(edges) < most:
        for edge in range(int(graph.begins[here]), int(graph.begins[here + 1])):
            goal = criterion.of_edge(edge) if graph.targets[edge] >= 0 else -1
            if goal >= 0 and is_open[goal] and goal not in passed:
                break
        else:
            break
        edges.append(edge)
        passed.add(goal)
        here = int(graph.targets[edge])
    return Path(begin.start, tuple(edges))
