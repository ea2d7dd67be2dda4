"""The kernels under properties about whole runs: components against networkx, parts kept apart, memory counted."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.prepare import prepare
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.compiled_kernel import compiled
from reassure.checkers.engines.native.exploration import Limits, Start, explore
from reassure.checkers.engines.native.kernels.components import ComponentArguments, find_components
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS, MOST_LABELS
from reassure.checkers.engines.native.liveness import region
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.liveness.fair_loops import among
from reassure.checkers.engines.native.liveness.region import RegionGraph
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.spec.semantics.liveness import Constraint, assumptions_of
from tests.helpers.runs import checked


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24),
            st.lists(st.integers(-1, 2), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
)
def test_components(drawn: tuple[int, list[tuple[int, int]], list[int]], as_code: bool) -> None:
    """Those of each part by itself; as plain Python and as machine code."""
    count, edges, parts = drawn
    edges.sort()
    ends = np.cumsum(np.bincount([a for a, _ in edges], minlength=count)).astype(np.int64)
    listed = np.array([b << LABEL_BITS | n % 3 for n, (_, b) in enumerate(edges)], np.int64)
    arrays = [np.zeros(count + 1, np.int64) for _ in range(5)]
    components = np.full(count, -1, np.int64)
    a = ComponentArguments(count, ends, listed, np.array(parts, np.int64), components, *arrays, 0)
    (native(find_components) if as_code else find_components)(a)
    graph = nx.DiGraph()
    graph.add_nodes_from(n for n in range(count) if parts[n] >= 0)
    graph.add_edges_from((x, y) for x, y in edges if parts[x] == parts[y] >= 0)
    expected = {frozenset(c) for c in nx.strongly_connected_components(graph)}
    found = {frozenset(np.nonzero(components == k)[0].tolist()) for k in range(a.found)}
    assert found == expected
    assert all(components[n] == -1 for n in range(count) if parts[n] < 0)


def test_the_memory_limit_counts_the_region() -> None:
    """Enough for the search, not for the graph: what is not decided is said to be unknown."""
    full, _ = checked("core_liveness", ["brokers=4"], "native", workers=1, properties=["isr_*", "leader_in_isr"])
    least, _ = checked("core_liveness", ["brokers=4"], "native", workers=1, memory=full.stats.memory + (1 << 16))
    assert [p.status for p in least.properties[:3]] == ["holds"] * 3
    assert "unknown" in {p.status for p in least.properties[3:]}
    assert (least.exit(), least.complete) == (Exit.INCONCLUSIVE, True)
    assert "memory limit" in least.stopped_because


def listed(threads: int) -> RegionGraph:
    """The region of the first property about whole runs of `kraft`, edges listed by so many threads."""
    prepared = prepare("kraft", ["unclean=off"])
    bound, lowered = prepared.bound, prepared.lowered
    assumptions = assumptions_of(bound.model)
    kernel = compiled(lowered, state_layout(bound), parameters=needs_parameters(assumptions))
    search = Search(kernel, 1)
    explore(bound, kernel, Start.of(bound, kernel.model.layout), search, Limits())
    rows = search.level_rows
    liveness = Liveness(bound, lowered, kernel, rows, search.allow, lambda: None, threads)
    prop = next(p for p in bound.properties if p.temporal)
    graph, concerned = liveness.region(prop, assumptions)
    assert concerned
    return graph


def by_constraint(graph: RegionGraph, keys: Rows) -> set[tuple[int, Constraint | None]]:
    """States with constraints: labels are numbered as threads find them."""
    pairs = zip((keys >> LABEL_BITS).tolist(), (keys & MOST_LABELS).tolist(), strict=True)
    return {(state, graph.constraints.get(label)) for state, label in pairs}


@pytest.mark.parametrize(("piece", "chunk", "threads"), [(1000, 1 << 20, 3), (700, 100, 2), (1 << 16, 100, 1)])
def test_the_region_is_the_same_however_it_is_listed(
    piece: int, chunk: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By several threads in small pieces; with room for few edges, and at first for few labels, at a time."""
    at_once = listed(1)
    assert (len(at_once.edges), len(at_once.enabled)) == (30_655, 19_494)
    assert len(set(at_once.constraints.values())) == len(at_once.constraints) > 5
    for name, value in (("PIECE", piece), ("CHUNK", chunk), ("LABELS", 8)):
        monkeypatch.setattr(region, name, value)
    again = listed(threads)
    for name in ("rows", "levels", "starts", "returns", "ends"):
        assert np.array_equal(getattr(at_once, name), getattr(again, name)), name
    assert np.array_equal(at_once.edges >> LABEL_BITS, again.edges >> LABEL_BITS)
    assert set(at_once.constraints.values()) == set(again.constraints.values())
    assert by_constraint(at_once, at_once.edges) == by_constraint(again, again.edges)
    assert by_constraint(at_once, at_once.enabled) == by_constraint(again, again.enabled)
    assert (np.diff(again.enabled) > 0).all()


@given(st.lists(st.integers(-3, 9)), st.sets(st.integers(-3, 9)))
def test_membership_in_ordered_numbers(values: list[int], numbers: set[int]) -> None:
    found = among(np.array(values, np.int64), np.array(sorted(numbers), np.int64))
    assert found.tolist() == [value in numbers for value in values]
