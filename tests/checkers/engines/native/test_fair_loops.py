"""The kernels under properties about whole runs: components against networkx, parts kept apart, memory counted."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.engines.native.kernels.components import ComponentArguments, find_components
from reassure.checkers.engines.native.translator.native_function import native
from tests.helpers.runs import checked


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(-1, n - 1)), max_size=24),
            st.lists(st.integers(-1, 2), min_size=n, max_size=n),
        )
    ),
    st.booleans(),
)
def test_components(drawn: tuple[int, list[tuple[int, int]], list[int]], compiled: bool) -> None:
    """Those of each part by itself; as plain Python and as machine code."""
    count, edges, parts = drawn
    edges.sort()
    ends = np.cumsum(np.bincount([a for a, _ in edges], minlength=count)).astype(np.int64)
    targets = np.zeros((len(edges) + 1) // 2 * 2, np.int32)
    targets[: len(edges)] = [b + 1 for _, b in edges]
    arrays = [np.zeros(count + 1, np.int64) for _ in range(5)]
    components = np.full(count, -1, np.int64)
    a = ComponentArguments(count, ends, targets.view(np.int64), np.array(parts, np.int64), components, *arrays, 0)
    (native(find_components) if compiled else find_components)(a)
    graph = nx.DiGraph()
    graph.add_nodes_from(n for n in range(count) if parts[n] >= 0)
    graph.add_edges_from((x, y) for x, y in edges if y >= 0 and parts[x] == parts[y] >= 0)
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
