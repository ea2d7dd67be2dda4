"""The remark on a property about whole runs that a complete search left undecided."""

from __future__ import annotations

import pytest

from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.engine_results import EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.result import PropertyStatus, _status


@pytest.mark.parametrize(
    ("reason", "remark"),
    [
        (StopReason.RAISED, "one about whole runs raises"),
        (StopReason.MEMORY, "its graph is not complete"),
        (StopReason.BUDGET, "its graph is not complete"),
    ],
)
def test_the_remark_names_what_ended_the_graph(reason: StopReason, remark: str) -> None:
    engine = EngineResult(SearchResult(), SearchStatistics(), Stop(reason, ""), True)
    assert _status(True, None, engine) == (PropertyStatus.UNKNOWN, remark)
