"""Budgets are measured by a clock that nobody sets."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from tests.helpers.command import said

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
