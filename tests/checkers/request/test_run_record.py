"""The page of the run record lists the keys of its type, and every record has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.request.engine_results import EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.result import PropertyStatus, _status
from reassure.checkers.request.run_identity import (
    ActionRecord,
    CoverRecord,
    EngineRecord,
    PropertyRecord,
    RunRecord,
    StatisticsRecord,
    error_record,
    trace_stem,
)
from tests.helpers.runs import checked

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "record.md"
PARTS = {"properties": PropertyRecord, "covers": CoverRecord, "actions": ActionRecord, "stats": StatisticsRecord}
NAME = re.compile(r"`([a-z_0-9]+)`")


def keys(kind: type) -> set[str]:
    return set(kind.__required_keys__ | kind.__optional_keys__)  # type: ignore[attr-defined]


def test_the_page_has_exactly_the_keys() -> None:
    rows = re.findall(r"^\| (`.*?) \| .*? \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for cell, _ in rows for name in NAME.findall(cell)]
    assert sorted(names) == sorted(keys(RunRecord))
    meanings = {name: re.sub(r"\(`.*?\)", "", text) for cell, text in rows for name in NAME.findall(cell)}
    for name, kind in PARTS.items():  # what is in brackets are values
        assert set(NAME.findall(meanings[name])) == keys(kind), name


def test_files_of_two_configurations_have_two_names() -> None:
    names = [trace_stem("m", settings, "p") for settings in (["x=1"], ["x=-1"], ["x=1", "y=-1"], ["x=-1", "y=1"])]
    assert names == ["m--x-1--p", "m--x-minus1--p", "m--x-1-y-minus1--p", "m--x-minus1-y-1--p"]


def test_the_page_has_every_reason_for_which_a_run_ends() -> None:
    (row,) = (line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `stop_reason` |"))
    assert set(NAME.findall(row[row.index("(") : row.index(")")])) == set(StopReason)


def test_records_have_the_keys() -> None:
    required = keys(RunRecord) - keys(EngineRecord)
    record = checked("two_phase_commit", [], "reference")[0].record({})
    assert set(record) == required
    assert set(record["stats"]) == keys(StatisticsRecord)
    assert all(set(p) == keys(PropertyRecord) - {"error", "premise", "picture"} for p in record["properties"])
    assert all(set(c) == keys(CoverRecord) for c in record["covers"])
    assert all(set(a) == keys(ActionRecord) for a in record["actions"].values())
    assert set(error_record(Exit.USAGE, "a reason", "kraft", "reassure check kraft")) == required


@pytest.mark.parametrize(
    ("reason", "remark"),
    [
        (StopReason.RAISED, "one about whole runs raises"),
        (StopReason.MEMORY, "its graph is not complete"),
        (StopReason.BUDGET, "its graph is not complete"),
    ],
)
def test_the_remark_names_what_ended_the_graph(reason: StopReason, remark: str) -> None:
    """Of a property about whole runs that a complete search left undecided."""
    engine = EngineResult(SearchResult(), SearchStatistics(), Stop(reason, ""), True)
    assert _status(True, None, engine) == (PropertyStatus.UNKNOWN, remark)
