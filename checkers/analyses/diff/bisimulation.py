"""Whether two graphs have the same runs as far as they show: branching bisimilarity, by refining signatures.

States that look the same are in one block. A block is split where its states have different signatures: the steps, by
action and block that they lead to, that are possible after steps that show nothing and stay within the block. States
that are never split have the same runs, but for steps that show nothing (R. van Glabbeek and W. Weijland, "Branching
time and abstraction in bisimulation semantics", 1996; signatures: S. Blom and S. Orzan, 2003).
"""

from __future__ import annotations

import numpy as np

from reassure.checkers.analyses.diff.observation import Numbers
from reassure.checkers.engines.native.state_graph import StateGraph

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
