"""The kernels under properties about whole runs: components against networkx, parts kept apart, memory counted."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.encoding.state_layout import layout_of, state_layout
from reassure.checkers.engines.native.exploration import Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.components import (
    LOOPS_AT,
    RESTS,
    ComponentArguments,
    find_fair_components,
)
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.region_edges import LABEL_BITS, MOST_LABELS
from reassure.checkers.engines.native.liveness import buckets, edge_lister, fair_loops
from reassure.checkers.engines.native.liveness.buckets import Ranking
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.native.liveness.fair_loops import RegionGraph
from reassure.checkers.engines.native.model.translation import Translation
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.reference.liveness import ViolatingRegion, fair_components, resting
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.request.prepare import prepare
from reassure.spec.language.types import IntType, RecordType
from reassure.spec.semantics.liveness import Constraint, assumptions_of
from tests.helpers.regions import regions
from tests.helpers.runs import checked


@settings(max_examples=200, deadline=None)
@given(regions(), st.integers(0, 2), st.booleans())
def test_components(region: ViolatingRegion, before: int, as_code: bool) -> None:
    """Those of the reference engine; of a part of a larger graph; two labels for a constraint; as plain Python too."""
    size = len(region.states)
    edges, enabled, degrees = [], [], []
    for state in range(size):
        steps = region.graph.out_edges([state], data="taken")
        keys = [(before + after) << LABEL_BITS | label for _, after, taken in steps for label in labels(taken, after)]
        enabled += [(before + state) << LABEL_BITS | label for c in region.can[state] for label in (c + 1, c + 4)]
        degrees.append(len(keys))
        edges += keys
    left_out = [state not in region.graph for state in range(size)]
    verdicts = [0] * before + [left_out[n] | (n not in region.returning) << 1 for n in range(size)]
    strong = [False, *region.strong]
    found = np.zeros(before + size, np.int64)
    a = ComponentArguments(
        before, before + size, words(verdicts), 1, 2, np.cumsum(degrees), words(edges),
        words(sorted(enabled)), len(enabled),
        words([0, 1, 2, 3, 1, 2, 3]), words(strong), *(np.zeros(4, np.int64) for _ in range(5)), 0,
        found, *(np.zeros(size + 1, np.int64) for _ in range(7)),
    )  # fmt: skip
    (native(find_fair_components) if as_code else find_fair_components)(a)
    rests = set((np.nonzero(found & RESTS)[0] - before).tolist())
    numbers = set((found >> LOOPS_AT).tolist()) - {0}
    parts = {frozenset((np.nonzero(found >> LOOPS_AT == k)[0] - before).tolist()) for k in numbers}
    assert rests == resting(region)
    assert parts == {frozenset(c) for c in fair_components(region, set(region.graph))}


def words(numbers: Iterable[int]) -> Rows:
    return np.array([*numbers], np.int64)


def labels(taken: set[int], after: int) -> list[int]:
    """Of the edges for a step: by the place of what it counts for, or by another that means the same."""
    return [c + 1 + 3 * (after % 2) for c in taken] or [0]


@pytest.mark.usefixtures("survey_excludes_nothing")
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
    rows = search.found.arrays
    prop = next(p for p in bound.properties if p.temporal)
    liveness = Liveness(
        bound,
        Translation.of(lowered, kernel.model.layout),
        kernel,
        rows,
        [prop.name],
        search.allow,
        lambda: None,
        threads,
    )
    region, concerned = liveness.region(prop)
    assert concerned
    return region.graph


def joined(graph: RegionGraph, name: str) -> Rows:
    """Of all parts, one after the other."""
    return np.concatenate([getattr(part, name) for part in graph.parts])


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
    assert (len(joined(at_once, "edges")), len(joined(at_once, "enabled"))) == (14_865, 19_494)
    assert len(set(at_once.constraints.values())) == len(at_once.constraints) > 5
    monkeypatch.setattr(buckets, "FIRST_SLOTS", 8)
    for name, value in (("PIECE", piece), ("CHUNK", chunk), ("LABELS", 8)):
        monkeypatch.setattr(edge_lister, name, value)
    again = listed(threads)
    assert np.array_equal(at_once.rows, again.rows) and np.array_equal(at_once.verdicts, again.verdicts)
    assert np.array_equal(joined(at_once, "ends"), joined(again, "ends"))
    assert np.array_equal(joined(at_once, "edges") >> LABEL_BITS, joined(again, "edges") >> LABEL_BITS)
    assert set(at_once.constraints.values()) == set(again.constraints.values())
    assert by_constraint(at_once, joined(at_once, "edges")) == by_constraint(again, joined(again, "edges"))
    assert by_constraint(at_once, joined(at_once, "enabled")) == by_constraint(again, joined(again, "enabled"))
    assert (np.diff(joined(again, "enabled")) > 0).all()


def test_fields_that_move_one_way() -> None:
    """A counter; what may fall where that counter rises; not what goes both ways. Which are seen in these steps."""
    layout = layout_of(RecordType(object, (("a", IntType(0, 7)), ("b", IntType(0, 7)), ("c", IntType(0, 7)))))
    steps = [((0, 5, 1), (1, 7, 0)), ((1, 7, 0), (1, 6, 1)), ((1, 6, 1), (1, 6, 0)), ((1, 6, 1), (1, 6, 3))]
    before, after = (
        np.array([sum(x << f.shift for x, f in zip(state, layout.fields, strict=True)) for state in states], np.int64)
        for states in zip(*steps, strict=True)
    )
    ranking = Ranking.of(layout, before.reshape(-1, 1), after.reshape(-1, 1))
    assert ranking.fields[:, [1, 3]].tolist() == [[layout.fields[0].shift, 1], [layout.fields[1].shift, -1]]


def test_a_wrong_guess_is_noticed(wrong_guesses: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one state, whose steps say that most fields move one way only."""
    names = ["reassignment_ends", "reassignment_ends_or_can_be_cancelled"]
    expected, _ = checked("kraft", [], "native", properties=names)
    monkeypatch.setattr(fair_loops, "SAMPLE", 1)
    wrong_guesses.clear()
    again, _ = checked("kraft", [], "native", properties=names)
    assert len(wrong_guesses) > 1
    assert [(p.name, p.status, p.trace) for p in again.properties] == [
        (p.name, p.status, p.trace) for p in expected.properties
    ]
