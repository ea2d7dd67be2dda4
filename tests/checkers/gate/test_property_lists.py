"""The gate of the project pins the property list of each search, so that none is dropped unseen.

Also here: budgets are measured by a clock that nobody sets.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from reassure.checkers.gate.gate_file import PROPERTIES, Check, read_gate_file
from reassure.checkers.gate.judge import property_digest
from reassure.checkers.machine.stop import BY_USER
from reassure.checkers.request.engine_results import CoverResult, EngineResult, SearchResult, SearchStatistics
from reassure.checkers.request.prepare import prepare_plain
from tests.helpers.command import said
from tests.helpers.runs import result_of

GATE = read_gate_file(Path(__file__).parents[3] / "gate.toml").checks


def asked(check: Check) -> str:
    """The digest of the property list of a check as its model is now."""
    request = check.request()
    bound, _ = prepare_plain(request.model, request.set)
    covers = tuple(CoverResult(p.name) for p in bound.covers if request.options.wants(p.name))
    nothing = EngineResult(SearchResult(), SearchStatistics(), BY_USER, False, covers=covers)
    return property_digest(result_of(lambda *given: nothing, bound, request.options).record({}))


def test_every_search_of_the_gate_pins_its_properties() -> None:
    """Where this fails, `reassure gate --update` writes what there is now; the diff says where."""
    searches = {check.name: check for check in GATE if check.kind == "check"}
    assert len(searches) > 80
    assert {n: c.pin.get(PROPERTIES) for n, c in searches.items()} == {n: asked(c) for n, c in searches.items()}


def test_a_dropped_cover_has_another_digest() -> None:
    core = next(check for check in GATE if check.name == "core")
    given = {**core.given, "property": ["leader_in_isr", "isr_*", "deadlock", "reassignment_pending"]}
    fewer = Check("core", "check", given, core.expect, {})
    assert asked(fewer) != asked(core)


CHECKERS = Path(__file__).parents[3] / "checkers"


def test_a_clock_that_jumps_spends_no_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gate.toml"
    check = '[[check]]\nmodel = "die_hard"\nexpect = "safety-violation"\n'
    file.write_text(f'budget = "60s"\n{check}{check}name = "again"\n')
    now, hours = time.time(), itertools.count()
    monkeypatch.setattr(time, "time", lambda: now + 3600 * next(hours))
    assert said(capsys, "gate", str(file), "--jobs", "1")[0] == 0


def test_no_duration_is_measured_by_the_time_of_day() -> None:
    assert [str(p) for p in CHECKERS.rglob("*.py") if "time.time()" in p.read_text(encoding="utf-8")] == []
