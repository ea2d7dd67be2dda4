"""Findings measured on clusters: the file, and its part of the page of findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.kafka.pages.measurements import MeasuredRun, Measurement, measured, section, with_more, written
from reassure.checkers.machine.exit_codes import Exit, Failure

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
    with pytest.raises(Failure, match="is not a file of measurements") as refused:
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


def test_the_section() -> None:
    older = replace(ON_44, release="4.3.1", runs=(LOSS, NONE))
    text = section([FIXED, older, ON_44, K24])
    assert [line for line in text.splitlines() if line.startswith("|")] == [
        "| finding | effect | seen | acknowledged | lost | seconds | with the fixes |",
        "|---|---|---|---|---|---|---|",
        "| 1 | 60 of 100 acknowledged records are lost | "
        "4.4.0: 2 of 2, 4.3.1: 1 of 2 | 400 | 180 | 34, 40 | 4.3.1: 0 of 1 |",
        "| 4 | the controller's epoch rises by 6 | 4.4.0: 1 of 1 | - | - | 31, 31 | - |",
    ]
    assert text.startswith("## Measured on real brokers\n")
    assert text.endswith("\n\nFinding 1 was not seen in 1 of 2 runs on 4.3.1: 0 of 100 acknowledged records are lost.")


def test_without_a_measurement_there_is_no_section() -> None:
    assert section([]) == section([FIXED]) == ""
    assert section([ON_44]).splitlines()[-1].startswith("| 1 | ")
