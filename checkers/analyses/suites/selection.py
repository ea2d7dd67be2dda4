"""Selects the paths of a suite: few ones that together take every goal that can be taken."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reassure.checkers.analyses.suites.goals import Attempt, CoverageGoal, MassGoals, NamedGoals, Path
from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.terminal import counted


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
        why = f"beyond --max-length {most}: its shortest trace has {counted(len(goal.shortest), 'step')}"
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
