"""What a newcomer reads who types the name of the program alone."""

from __future__ import annotations

import pytest

from reassure import __version__
from tests.helpers.command import said


def test_no_word_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Six lines that say how to begin, and no usage error."""
    code, out, err = said(capsys)
    assert (code, err) == (0, "")
    head, empty, *lines = out.splitlines()
    assert (head.startswith(f"reassure {__version__}: "), empty) == (True, "")
    assert [line.split("  ")[1] for line in lines] == [
        "reassure new lease",
        "reassure check lease.py",
        "reassure models",
        "reassure --help",
    ]
    assert max(map(len, out.splitlines())) <= 100
