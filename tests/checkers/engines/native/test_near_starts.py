"""States near the first start of a region: what they tell is the answer of the whole graph, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.analyses.fairness.analysis import analyse
from reassure.checkers.engines.native.liveness import decide
from reassure.checkers.engines.native.liveness.fair_loops import RegionGraph
from reassure.checkers.engines.native.liveness.temporal_claims import Candidates
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from tests.helpers.labelled_graph import Steps, graph_file, leads_to_text
from tests.helpers.runs import checked, everything

ROUND = {"go": Steps(((0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 0)), "weak")}
"""All states are of one component; of the first three, 1 and 2 alone are of a loop."""


pytestmark = pytest.mark.usefixtures("survey_excludes_nothing")


@pytest.fixture
def look_near(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how many states from the first start are looked at before all, in a region of any size; 0: none are."""

    def look(states: int) -> None:
        monkeypatch.setattr(decide, "LARGE", 0 if states else 1 << 60)
        monkeypatch.setattr(decide, "NEAR", states)

    return look


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets how many states each graph has."""
    counts, right = list[int](), decide.region_graph

    def noting(lister: Any, candidates: Candidates, *others: Any) -> RegionGraph:
        counts.append(candidates.count)
        return right(lister, candidates, *others)

    monkeypatch.setattr(decide, "region_graph", noting)
    return counts


def loop(path: str, engine: str = "native") -> tuple[list[int], int | None]:
    """The run that an engine shows, and where it repeats."""
    result, _ = checked(path, [], engine)
    trace = result.properties[0].trace
    assert trace is not None
    return [s.at for s in trace.states], trace.loop


@pytest.mark.parametrize(("near", "graphs"), [(1, [1, 5]), (3, [3, 5]), (4, [4, 5]), (5, [5])])
def test_only_what_is_certain(
    near: int, graphs: list[int], listed: list[int], tmp_path: Path, look_near: Callable[[int], None]
) -> None:
    """A loop that is near and does not go through the first start is not the answer."""
    look_near(near)
    path = graph_file(tmp_path, ROUND, leads_to_text([0], [6]))
    assert loop(path) == loop(path, "reference") == ([0, 1, 2, 3, 4], 0)
    assert listed == graphs


def test_a_violation_of_core_needs_no_graph(listed: list[int], look_near: Callable[[int], None]) -> None:
    """The states that can be reached in its region from the first start are enough; the run is the reference's."""
    look_near(500)
    name = "a_pending_reassignment_ends"
    answers = [everything(checked("core_liveness", [], e, properties=[name])[0]) for e in ("reference", "native")]
    assert answers[0] == answers[1]
    assert listed == [128]


def test_which_fairness_is_needed(look_near: Callable[[int], None]) -> None:
    """The same, from some states and from all."""

    def analysed() -> list[dict[str, object]]:
        prepared = prepare("kraft", ["unclean=off"])
        options = SearchOptions(properties=["reassignment_*"])
        found = analyse(prepared.bound, prepared.lowered.only(options.wants), options, Progress(quiet=True))
        assert found.complete
        return [asdict(needs) for needs in found.properties]

    look_near(200)
    near = analysed()
    look_near(0)
    assert near == analysed()
