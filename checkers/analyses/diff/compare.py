"""The effect of a change on behaviour: the states and steps that only one of two models has.

Two models behave alike if they start in the same states, reach the same states, and take the same steps from them: a
step is its action's name and the two states. Where only part of a state is compared, steps that do not show there are
passed over, and equal sets of states and steps are not enough: the graphs have to be branching bisimilar.

Also here: whether two graphs have the same runs as far as they show: branching bisimilarity, by refining signatures.

States that look the same are in one block. A block is split where its states have different signatures: the steps, by
action and block that they lead to, that are possible after steps that show nothing and stay within the block. States
that are never split have the same runs, but for steps that show nothing (R. van Glabbeek and W. Weijland, "Branching
time and abstraction in bisimulation semantics", 1996; signatures: S. Blom and S. Orzan, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.analyses.diff.observation import Numbers, Observation, Side
from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.reconstruct import replayed_trace
from reassure.spec.semantics.trace import Trace

MOST_STEPS = 2_000_000
"""Steps of both graphs together, at the most."""

Edges = list[list[tuple[int, int]]]
"""By state: the action (-1 where it does not show) and the state that it leads to."""


def bisimilar(graphs: tuple[StateGraph, StateGraph], numbers: tuple[Numbers, Numbers], names: list[str]) -> bool | None:
    """Whether the initial states of two complete graphs are branching bisimilar; None if the graphs are too large."""
    if sum(g.edge_count for g in graphs) > MOST_STEPS:
        return None
    blocks = np.concatenate(numbers).tolist()
    edges: Edges = [[] for _ in blocks]
    starts: list[list[int]] = []
    first = 0
    for graph, mine in zip(graphs, numbers, strict=True):
        labels = [names.index(a) for a in graph.kernel.actions]
        for source, action, target in zip(
            graph.sources.tolist(), graph.actions.tolist(), graph.targets.tolist(), strict=True
        ):
            label = labels[action] if mine[source] != mine[target] else -1
            edges[first + source].append((label, first + target))
        starts.append([first + int(n) for n in np.nonzero(graph.levels == 0)[0]])
        first += graph.count
    blocks = refined(blocks, edges)
    one, other = ({blocks[n] for n in some} for some in starts)
    return one == other


def refined(blocks: list[int], edges: Edges) -> list[int]:
    """The coarsest refinement of blocks of states in which the states of a block are branching bisimilar."""
    count = len(set(blocks))
    while True:
        signatures = _signatures(blocks, edges)
        numbers: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        blocks = [numbers.setdefault((b, s), len(numbers)) for b, s in zip(blocks, signatures, strict=True)]
        if len(numbers) == count:
            return blocks
        count = len(numbers)


def _signatures(blocks: list[int], edges: Edges) -> list[frozenset[tuple[int, int]]]:
    """By state: what can be done after steps that show nothing and stay in the block."""
    found: list[frozenset[tuple[int, int]]] = []
    before: list[list[int]] = [[] for _ in blocks]
    """By state: those with a step to it that shows nothing and stays in the block."""
    for state, steps in enumerate(edges):
        mine = blocks[state]
        found.append(frozenset((a, blocks[t]) for a, t in steps if a >= 0 or blocks[t] != mine))
        for action, target in steps:
            if action < 0 and blocks[target] == mine and target != state:
                before[target].append(state)
    changed = [state for state, earlier in enumerate(before) if earlier]
    while changed:
        target = changed.pop()
        for state in before[target]:
            if not found[target] <= found[state]:
                found[state] |= found[target]
                changed.append(state)
    return found


MOST_KEYS = 1 << 62
"""Different steps that can be told apart."""


class Verdict(StrEnum):
    """The verdict on two models."""

    SAME = "same behaviour"
    DIFFERENT = "different behaviour"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Difference:
    """Steps of one action that only one side takes, in states that both reach.

    side: 0 or 1. trace: the shortest one of the side that takes such a step.
    """

    side: int
    action: str
    steps: int
    trace: Trace


@dataclass
class Comparison:
    """The states and steps that two models share, and those that only one of them has."""

    observation: Observation
    both: int
    """States of both, as they are compared."""
    only: tuple[int, int] | None
    """States of one side alone; None where not all states are known."""
    initial_only: list[tuple[int, Trace]] = field(default_factory=list)
    """By side: an initial state that it alone has."""
    differences: list[Difference] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """The reasons why there may be more differences."""

    @property
    def verdict(self) -> Verdict:
        """Never "same" where something was not decided."""
        if self.differences or self.initial_only:
            return Verdict.DIFFERENT
        return Verdict.UNDECIDED if self.open else Verdict.SAME


@dataclass(frozen=True)
class _Steps:
    """The steps of one side, by edge of its graph."""

    before: Numbers
    after: Numbers
    """-1: a state that was not visited."""
    actions: Numbers
    pairs: Numbers
    """The state before and the action, as one number."""
    keys: Numbers
    """The whole step as one number."""
    shows: NDArray[np.bool_]
    """Whether it is compared."""

    @classmethod
    def of(cls, graph: StateGraph, observation: Observation, side: int, names: list[str]) -> _Steps:
        numbers = observation.numbers[side]
        before = numbers[graph.sources]
        after = np.where(graph.targets >= 0, numbers[graph.targets], -1)
        actions = np.array([names.index(a) for a in graph.kernel.actions], np.int64)[graph.actions]
        states = 1 + max((int(n.max()) for n in observation.numbers if len(n)), default=0)
        if states * (states + 1) * len(names) > MOST_KEYS:
            raise Failure(Exit.SYSTEM, f"{states:,} states are too many to compare")
        pairs = before * len(names) + actions
        shows = np.full(len(before), True) if observation.whole else before != after
        return cls(before, after, actions, pairs, pairs * (states + 1) + after + 1, shows)


def compare_sides(sides: tuple[Side, Side], observation: Observation) -> Comparison:
    """Compares all that was reached. Raises `Failure` where there are too many states."""
    graphs = (sides[0].graph, sides[1].graph)
    names = list(dict.fromkeys(a for g in graphs for a in g.kernel.actions))
    seen = [np.unique(numbers) for numbers in observation.numbers]
    common = np.intersect1d(seen[0], seen[1])
    complete = all(g.complete for g in graphs)
    only = (len(seen[0]) - len(common), len(seen[1]) - len(common)) if complete else None
    comparison = Comparison(observation, len(common), only, open=[r for side in sides for r in _reasons_open(side)])
    steps = [_Steps.of(graph, observation, side, names) for side, graph in enumerate(graphs)]
    for number, side in enumerate(sides):
        comparison.initial_only += _initial_only(sides, observation, number)
        if observation.whole or graphs[1 - number].complete:
            for action, edges in _alone(steps[number], steps[1 - number], common, names).items():
                first = int(edges[np.argmin(side.graph.levels[side.graph.sources[edges]])])
                count = len(np.unique(steps[number].keys[edges]))
                comparison.differences.append(Difference(number, action, count, _trace(side, first)))
    if not observation.whole and comparison.verdict is Verdict.SAME:
        alike = bisimilar(graphs, observation.numbers, names)
        if alike is None:
            comparison.open.append("the graphs are too large to compare run by run")
        elif not alike:
            comparison.open.append(
                "the compared parts of states and steps are equal; whether the runs are equal is not decided"
            )
    return comparison


def _reasons_open(side: Side) -> list[str]:
    name, graph = side.bound.model.name, side.graph
    reasons = [] if graph.complete else [f"{name}: {graph.stopped.text}"]
    return reasons + ([f"{name}: {graph.clipped:,} steps are clipped at a bound"] if graph.clipped else [])


def _initial_only(sides: tuple[Side, Side], observation: Observation, number: int) -> list[tuple[int, Trace]]:
    """The first initial state that the other side does not start in."""
    starts = [np.nonzero(side.graph.levels == 0)[0] for side in sides]
    theirs = observation.numbers[1 - number][starts[1 - number]]
    alone = starts[number][~np.isin(observation.numbers[number][starts[number]], theirs)]
    bound, graph = sides[number].bound, sides[number].graph
    return [(number, replayed_trace(bound, [graph.state(int(n))], [])) for n in alone[:1]]


def _alone(mine: _Steps, other: _Steps, common: Numbers, names: list[str]) -> dict[str, Numbers]:
    """By action: the edges of one side, from states that both have, that are not a step of the other."""
    unknown = np.unique(other.pairs[other.after < 0])  # what the other does there may be this
    alone = mine.shows & (mine.after >= 0) & np.isin(mine.before, common)
    alone &= ~np.isin(mine.keys, np.unique(other.keys[other.shows])) & ~np.isin(mine.pairs, unknown)
    edges = np.nonzero(alone)[0]
    by_action = {name: edges[mine.actions[edges] == number] for number, name in enumerate(names)}
    return {name: some for name, some in by_action.items() if len(some)}


def _trace(side: Side, edge: int) -> Trace:
    """The shortest trace that ends with a step, replayed by plain Python."""
    graph = side.graph
    edges = [*graph.path_to(int(graph.sources[edge])), edge]
    steps = [graph.step(e) for e in edges]
    return replayed_trace(side.bound, [graph.state(int(graph.sources[edges[0]])), *(s.after for s in steps)], steps)
