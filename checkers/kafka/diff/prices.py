"""The prices of a change: the shortest runs after which a partition is worse off in HEAD than in BASE.

Both builds take the same commands from the same beginning, also after they have answered one of them differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.explore_logs import replica_sets
from reassure.checkers.kafka.controller.words import ADDING, LEADER, RECOVERING, REMOVING, Command, described_state
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, BuildComparison


def _moving(words: Words) -> NDArray[np.bool_]:
    return np.asarray((words >> ADDING & (1 << LEADER - ADDING) - 1) != 0)


def _led(words: Words) -> NDArray[np.bool_]:
    return np.asarray((words >> LEADER & (1 << RECOVERING - LEADER) - 1) != 0)


def _reached(base: Words, head: Words) -> NDArray[np.bool_]:
    """Whether BASE has the replicas that HEAD's reassignment leads to."""
    return np.asarray(replica_sets(base) == (replica_sets(head) & ~(head >> REMOVING & 63)))


@dataclass(frozen=True)
class Price:
    """A way in which a partition is worse off. worse: for pairs of states of BASE and HEAD after one run."""

    name: str
    worse: Callable[[Words, Words], NDArray[np.bool_]]


PRICES = (
    Price("waits", lambda base, head: np.asarray(~_moving(base) & _moving(head) & _reached(base, head))),
    Price("offline", lambda base, head: np.asarray(_led(base) & ~_led(head))),
)
"""A reassignment goes on that BASE has completed; a partition has no leader that has one in BASE."""


@dataclass(frozen=True)
class PriceRun:
    """A shortest run to a price. differs: field, its value in BASE, its value in HEAD."""

    run: tuple[Command, ...]
    differs: tuple[tuple[str, str, str], ...]


class _Pairs:
    """Breadth-first over the pairs of states that the same commands lead to."""

    def __init__(self, comparison: BuildComparison) -> None:
        self.graphs = comparison.graphs
        self.width = len(self.graphs[HEAD].states)
        starts = [[graph.number_of(s) for s in graph.scope.initial_states()] for graph in self.graphs]
        first = np.unique(np.array(starts[BASE], np.int64) * self.width + np.array(starts[HEAD], np.int64))
        self.levels = [(first, first, first)]
        """By level: the pairs, ascending; the pair before each, and the number of the command between them."""
        self.visited = first

    @property
    def frontier(self) -> Words:
        """The pairs of the last level."""
        return self.levels[-1][0]

    def words(self) -> tuple[Words, Words]:
        """The states of the last level, in BASE and in HEAD."""
        numbers = np.divmod(self.frontier, self.width)
        return self.graphs[BASE].states[numbers[0]], self.graphs[HEAD].states[numbers[1]]

    def advance(self) -> None:
        """Takes every command that both builds take."""
        base, head = np.divmod(self.frontier, self.width)
        ours, theirs = self.graphs[BASE].targets[base], self.graphs[HEAD].targets[head]
        rows, commands = np.nonzero((ours >= 0) & (theirs >= 0))
        pairs = ours[rows, commands].astype(np.int64) * self.width + theirs[rows, commands]
        after, first = np.unique(pairs, return_index=True)
        new = ~np.isin(after, self.visited, assume_unique=True)
        after, first = after[new], first[new]
        self.levels.append((after, self.frontier[rows[first]], commands[first]))
        self.visited = np.union1d(self.visited, after)

    def run_to(self, place: int) -> PriceRun:
        """The run to a pair of the last level."""
        pair = int(self.frontier[place])
        commands: list[Command] = []
        for pairs, before, taken in reversed(self.levels[1:]):
            k = int(np.searchsorted(pairs, pair))
            commands.insert(0, self.graphs[BASE].commands[int(taken[k])])
            pair = int(before[k])
        numbers = divmod(int(self.frontier[place]), self.width)
        ours, theirs = (described_state(graph.state(n)) for graph, n in zip(self.graphs, numbers, strict=True))
        differing = tuple((name, ours[name], theirs[name]) for name in ours if ours[name] != theirs[name])
        return PriceRun(tuple(commands), differing)


def prices(comparison: BuildComparison) -> dict[str, PriceRun | None]:
    """By the name of each price a shortest run to it, None where no run has it; empty if a build was not finished."""
    if not comparison.complete:
        return {}
    runs: dict[str, PriceRun | None] = dict.fromkeys(price.name for price in PRICES)
    pairs = _Pairs(comparison)
    while len(pairs.frontier):
        for price in PRICES:
            places = np.flatnonzero(price.worse(*pairs.words()))
            if runs[price.name] is None and len(places):
                runs[price.name] = pairs.run_to(int(places[0]))
        if None not in runs.values():
            break
        pairs.advance()
    return runs
