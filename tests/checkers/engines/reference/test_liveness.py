"""The oracle of properties about whole runs, on drawn graphs against all the loops there are."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.engines.reference.liveness import ViolatingRegion, fair_components, resting, violating_run
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
