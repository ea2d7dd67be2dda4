"""Sizes on the command line."""

from __future__ import annotations

import argparse

import pytest

from reassure.checkers.request.options import size


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
