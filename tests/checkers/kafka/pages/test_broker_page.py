"""The page of the models' assumptions about brokers, and its record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.kafka.pages.broker_page import (
    Assumption,
    assumptions_text,
    broker_page,
    recorded_assumptions,
    with_newer,
)
from reassure.checkers.machine.exit_codes import Exit, Failure

FIRST = Assumption("A log is deleted.", "4.4.0", True, "it was renamed")
SECOND = Assumption("The mark stands still.", "4.4.0", False, "it moved")


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "assumptions.json"
    assert recorded_assumptions(path) == []
    path.write_text(assumptions_text([FIRST, SECOND]))
    assert recorded_assumptions(path) == [FIRST, SECOND]


@pytest.mark.parametrize("text", ["", "[1]", '[{"text": "A log is deleted."}]'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "assumptions.json"
    path.write_text(text)
    with pytest.raises(Failure, match="is not a file of assumptions") as refused:
        recorded_assumptions(path)
    assert refused.value.code is Exit.SYSTEM


def test_a_newer_observation_replaces_that_of_the_release() -> None:
    newer, older = replace(FIRST, seen="it was gone"), replace(FIRST, release="4.3.1")
    assert with_newer([FIRST, SECOND], [newer]) == [newer, SECOND]
    assert with_newer([FIRST, SECOND], [older]) == [FIRST, older, SECOND]


def test_the_page() -> None:
    page = broker_page([FIRST, replace(FIRST, release="4.3.1"), SECOND])
    assert [line for line in page.splitlines() if line.startswith("|")] == [
        "| assumption | release | holds | seen |",
        "|---|---|---|---|",
        "| A log is deleted. | 4.4.0 | yes | it was renamed |",
        "|  | 4.3.1 | yes | it was renamed |",
        "| The mark stands still. | 4.4.0 | no | it moved |",
    ]
