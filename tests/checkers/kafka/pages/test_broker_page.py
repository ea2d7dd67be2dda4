"""The page of the models beside real brokers, and its records: of assumptions, and of random runs."""

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
from reassure.checkers.kafka.pages.random_record import RandomRecord, random_section, random_text, recorded_random_runs
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


# -- random runs --------------------------------------------------------------------------------------------------

ONE = RandomRecord(
    release="4.4.0", brokers=4, seed=1, minutes=60, runs=50, steps=350, changes=900, not_by_rules=0, matched=49,
    not_matched=1, undecided=0, model_steps=1800, hidden_steps=70, acknowledged=1_000_000, lost=1234, different=0,
    lost_by={"": 4, "nothing_lost_by_a_completion": 1200, "an unclean election by hand": 30}, never_ended=3, offline=2,
    broken={"elr_within_replicas": 9}, unread=0,
)  # fmt: skip


def test_a_file_of_random_runs_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "random_runs.json"
    assert recorded_random_runs(path) == []
    path.write_text(random_text([], ONE))
    assert recorded_random_runs(path) == [ONE]
    newer, other = replace(ONE, runs=51), replace(ONE, release="4.10.0")
    path.write_text(random_text([other, ONE], newer))
    assert recorded_random_runs(path) == [newer, other]


@pytest.mark.parametrize("text", ["", "[1]", '[{"release": "4.4.0"}]'])
def test_another_file_than_one_of_random_runs_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "random_runs.json"
    path.write_text(text)
    with pytest.raises(Failure, match="is not a file of random runs") as refused:
        recorded_random_runs(path)
    assert refused.value.code is Exit.SYSTEM


def test_a_note_follows_the_table() -> None:
    assert random_section([replace(ONE, note="Compared again.")]).endswith("|\n\nCompared again.\n")
    assert random_section([ONE]).endswith("|\n")


def test_the_section_of_random_runs() -> None:
    assert random_section([]) == ""
    rows = random_section([ONE, replace(ONE, seed=2, lost_by={}, broken={})]).splitlines()
    assert rows[1] == "## Random runs"
    assert [row for row in rows if row.startswith("|")] == [
        "|  | Kafka 4.4.0, 4 brokers, seed 1, 60 minutes | Kafka 4.4.0, 4 brokers, seed 2, 60 minutes |",
        "|---|---|---|",
        "| runs | 50 | 50 |",
        "| requests and faults | 350 | 350 |",
        "| runs that a run of the model matches | 49 | 49 |",
        "| runs that none matches; undecided | 1; 0 | 1; 0 |",
        "| steps of the model's runs: observed; hidden | 1,800; 70 | 1,800; 70 |",
        "| changes of the partitions judged; not made by the release's rules | 900; 0 | 900; 0 |",
        "| acknowledged records; lost | 1,000,000; 1,234 | 1,000,000; 1,234 |",
        "| lost records by explanation | 4 without an explanation, 1,200 by finding 1, "
        "30 by an unclean election by hand | - |",
        "| records read twice or with another content | 0 | 0 |",
        "| runs whose reassignment ended by a cancellation only | 3 | 3 |",
        "| runs without a leader with every broker back | 2 | 2 |",
        "| runs whose records could not be read | 0 | 0 |",
        "| runs with a broken promise | `elr_within_replicas` in 9 | - |",
    ]
