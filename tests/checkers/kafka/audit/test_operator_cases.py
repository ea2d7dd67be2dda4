"""Dumps as operators have them: what is cut out of them, and what they say of the cluster now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import said

CASES = Path("tests/helpers/operator_cases")


def test_record_lines_alone_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole dump has a finding; without its heads of batches every record would explain every other."""
    folder = CASES / "audit-of-record-lines-only"
    code, out, _ = said(capsys, "audit", str(folder / "whole.txt"))
    assert (code, "     7  2023-11-14 22:13:20  orders-0   rule  no release makes this change" in out) == (18, True)
    code, out, err = said(capsys, "audit", str(folder / "records-only.txt"))
    assert (code, out) == (64, "")
    assert err == (
        f"reassure: {folder / 'records-only.txt'}: line 1: a record before the line of its batch (baseOffset: ...); "
        "without it, which records are one event is not known: give the whole output\n"
    )


def test_a_dump_without_metadata_of_records_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """It has five records of brokers, a topic and settings, and no partition: nothing was judged."""
    code, out, err = said(capsys, "audit", str(CASES / "dump-without-metadata-of-records" / "dump.txt"))
    assert (code, err) == (6, "")
    assert "5 records, offsets 0 to 4; at the end brokers: 1, topics: 1, partitions: 0\n" in out
