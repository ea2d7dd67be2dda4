"""Findings measured on clusters: the file, and its part of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.evidence.measurements import MeasuredRun, Measurement, losses, measured, page, with_more, written

LOSS = MeasuredRun(True, True, 100, 60, "60 of 100 acknowledged records are lost", 34)
NONE = MeasuredRun(False, False, 100, 0, "0 of 100 acknowledged records are lost", 40)
RESIGNS = MeasuredRun(True, True, None, None, "the controller's epoch rises by 6", 31)
ON_44 = Measurement("K21", "4.4.0", False, "a", (LOSS, LOSS))
FIXED = Measurement("K21", "4.3.1", True, "a", (NONE,))
K24 = Measurement("K24", "4.4.0", False, "c", (RESIGNS,))


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert measured(path) == []
    path.write_text(written([ON_44, FIXED, K24]))
    assert measured(path) == [ON_44, FIXED, K24]


@pytest.mark.parametrize("text", ["", "[1]", "{}", '[{"claim": "K21"}]', '[{"runs": [{"lost": 1}]}]'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "measured.json"
    path.write_text(text)
    with pytest.raises(Failure, match="is no file of measurements") as refused:
        measured(path)
    assert refused.value.code is Exit.SYSTEM


def test_executions_add_up_until_the_run_changes() -> None:
    assert with_more([], [ON_44]) == [ON_44]
    more = replace(ON_44, runs=(NONE,))
    assert with_more([ON_44, K24], [more]) == [replace(ON_44, runs=(LOSS, LOSS, NONE)), K24]
    assert with_more([ON_44], [replace(more, run="b")]) == [replace(more, run="b")]
    assert with_more([ON_44], [FIXED]) == [FIXED, ON_44]
    newer = replace(ON_44, release="4.10.0")
    assert with_more([newer], [ON_44]) == [ON_44, newer]


def test_an_effect_counts_if_every_step_was_as_in_the_run() -> None:
    assert ON_44.seen == 2
    assert FIXED.seen == 0
    assert replace(ON_44, runs=(LOSS, replace(LOSS, as_in_run=False), replace(LOSS, observed=False))).seen == 1


def test_the_page() -> None:
    older = replace(ON_44, release="4.3.1", runs=(LOSS, NONE))
    rows = [line for line in page([FIXED, older, ON_44, K24]).splitlines() if line.startswith("|")]
    assert rows == [
        "| finding | effect seen | acknowledged | lost | with the fixes |",
        "|---|---|---|---|---|",
        "| 1. Committed records are lost after a completed reassignment | 4.4.0: 2 of 2, 4.3.1: 1 of 2 | 400 | 180 | "
        "4.3.1: 0 of 1 |",
        "| 4. A broker's registration makes the active controller resign, again and again | 4.4.0: 1 of 1 | - | - "
        "| - |",
        "| finding | release | in the first run |",
        "|---|---|---|",
        "| 1 | 4.4.0 | 60 of 100 acknowledged records are lost |",
        "| 1 | 4.3.1 | 60 of 100 acknowledged records are lost |",
        "| 1 | 4.3.1 with the fixes | 0 of 100 acknowledged records are lost |",
        "| 4 | 4.4.0 | the controller's epoch rises by 6 |",
    ]


def test_losses_in_a_sentence() -> None:
    assert losses([]) == losses([K24, FIXED]) == ""
    assert losses([FIXED, ON_44, K24]) == (
        "[Measured on real brokers](measured.md): finding 1 lost 120 of 200 acknowledged records."
    )
