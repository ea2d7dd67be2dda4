"""No property about whole runs is left undecided by the project's gate, or hides behind an expected violation."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.gate.gate_file import Check, read_gate_file
from reassure.checkers.gate.judge import judge_record
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.request.model_loader import names
from reassure.checkers.request.prepare import prepare_plain

GATE = read_gate_file(Path(__file__).parents[3] / "gate.toml").checks
SEARCHES = [
    c for c in GATE if c.kind == "check" and c.request().engine == "native" and c.request().options.depth is None
]


@pytest.mark.parametrize("status", ["not_checked", "unknown"])
def test_an_expected_violation_hides_nothing_undecided(status: str) -> None:
    check = Check("one", "check", {"model": "kraft"}, "safety-violation", {"leads": 3})
    properties = [
        {"name": "leads", "kind": "invariant", "status": "violated", "depth": 3},
        {"name": "ends", "kind": "leads_to", "status": status, "depth": None},
    ]
    record = {
        "verdict": "safety-violation", "complete": True, "stop_reason": "complete", "stopped_because": "",
        "properties": properties, "covers": [], "not_applicable": [], "stats": {},
    }  # fmt: skip
    (problem,) = judge_record(check, record)
    assert (problem.code, problem.text) == (Exit.INCONCLUSIVE, "ends is not decided")


def test_no_search_is_expected_to_leave_anything_undecided() -> None:
    assert len(SEARCHES) > 40
    assert [c.name for c in SEARCHES if c.expect == "inconclusive"] == []


def test_every_property_about_whole_runs_is_decided_by_a_search_of_the_gate() -> None:
    """Of every model but the mutants, which the gate has for what they violate."""
    asked = []
    for name, path in names().items():
        if path.parent.name != "mutants":
            bound, _ = prepare_plain(name, [])
            asked += [(name, p.name) for p in bound.properties if p.temporal]
    assert ("kraft", "reassignment_ends") in asked
    searched = [c.request() for c in SEARCHES]
    missing = [(m, p) for m, p in asked if not any(r.model == m and r.options.wants(p) for r in searched)]
    assert missing == []
