"""Drawn regions of properties about whole runs."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import strategies as st

from reassure.checkers.engines.reference.liveness import ViolatingRegion
from reassure.spec.semantics.liveness import Assumption, Constraint


@st.composite
def regions(draw: st.DrawFn) -> ViolatingRegion:
    """Up to five states, three constraints, any steps; enabled at least where a step counts for a constraint."""
    size = draw(st.integers(1, 5))
    constraints = [
        Constraint(Assumption(f"a{k}", draw(st.sampled_from(["weak", "strong"]))))
        for k in range(draw(st.integers(0, 3)))
    ]
    numbers = range(len(constraints))
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
    some = st.sets(st.sampled_from(list(numbers)), max_size=2) if constraints else st.just(set[int]())
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    can = [draw(some) for _ in range(size)]
    for a, b in draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []:
        taken = draw(some)
        graph.add_edge(a, b, taken=taken)
        can[a] |= taken
    returning = draw(st.sets(st.integers(0, size - 1)))
    levels = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
    starts: dict[int, list[int]] = {}
    for state in draw(st.sets(st.integers(0, size - 1), min_size=1)):
        starts.setdefault(levels[state], []).append(state)
    reached = set(itertools.chain.from_iterable(starts.values()))
    reached |= set().union(*(nx.descendants(graph, n) for n in reached))
    graph.remove_nodes_from(set(range(size)) - reached)
    return ViolatingRegion(list(range(size)), starts, returning & reached, graph, can, constraints)
