"""Sizes on the command line.

Also here: the remark on a property about whole runs that a complete search left undecided.
"""

from __future__ import annotations

import argparse

import pytest

from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.engine_results import EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.options import size
from reassure.checkers.request.result import PropertyStatus, _status


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1", 1),
        ("1B", 1),
        ("2K", 2_048),
        ("2KiB", 2_048),
        ("2kb", 2_000),
        ("512M", 536_870_912),
        ("600MB", 600_000_000),
        ("600MiB", 629_145_600),
        ("1.5 GB", 1_500_000_000),
        ("1.5g", 1_610_612_736),
        ("2T", 2_199_023_255_552),
        ("2TB", 2_000_000_000_000),
    ],
)
def test_a_unit_of_a_thousand_ends_with_b_alone(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "0", "0MB", "-1M", "much", "1P", "1iB2", "1,5G"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size; write 512M or 2G"):
        size(text)


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
