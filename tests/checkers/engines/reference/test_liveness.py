"""The oracle of properties about whole runs, on drawn graphs against all the loops there are."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import given, settings

from reassure.checkers.engines.reference.liveness import ViolatingRegion, fair_components, resting, violating_run
from tests.helpers.regions import regions


def fair(region: ViolatingRegion, states: set[int]) -> bool:
    """Whether a run can go round through all of these states, and no others, for ever, and be fair."""
    inside = region.graph.subgraph(states)
    taken = set().union(*(t for _, _, t in inside.edges(data="taken")), set())
    for number, constraint in enumerate(region.constraints):
        enabled = [number in region.can[n] for n in states]
        if number not in taken and (any(enabled) if constraint.strong else all(enabled)):
            return False
    return bool(states & region.returning) and nx.is_strongly_connected(inside)


def loops(region: ViolatingRegion) -> list[set[int]]:
    """Every set of states that is the states of a fair loop: all sets are tried. One state: the run stops there."""
    nodes = sorted(region.graph)
    subsets = (set(c) for size in range(1, len(nodes) + 1) for c in itertools.combinations(nodes, size))
    return [states for states in subsets if fair(region, states)]


@settings(max_examples=400, deadline=None)
@given(regions())
def test_drawn_regions_against_every_loop(region: ViolatingRegion) -> None:
    every = loops(region)
    found = resting(region).union(*fair_components(region))
    assert found == set().union(*every)
    run = violating_run(region)
    assert (run is None) == (not every)
    if run is None:
        return
    # The loop is one, and fair to what is taken and enabled in it.
    around = run.states[run.loop :]
    steps = [] if len(around) == 1 else list(itertools.pairwise([*around, around[0]]))
    assert all(region.graph.has_edge(a, b) for a, b in [*itertools.pairwise(run.states), *steps])
    taken = set().union(*(region.taken(a, b) for a, b in steps), set())
    for number, constraint in enumerate(region.constraints):
        enabled = [number in region.can[n] for n in around]
        assert number in taken or not (any(enabled) if constraint.strong else all(enabled))
    assert set(around) & region.returning
    # And no way to a fair loop is shorter.
    graph = region.graph.copy()
    for level, states in region.starts.items():
        before = "initially"
        for k in range(level - 1):
            graph.add_edge(before, (level, k))
            before = (level, k)
        graph.add_edges_from((before, n) for n in states)
    lengths = nx.single_source_shortest_path_length(graph, "initially")
    assert run.level + run.loop == min(lengths[n] for n in found)
