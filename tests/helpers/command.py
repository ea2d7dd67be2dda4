"""The command line, called in this process."""

from __future__ import annotations

import pytest

from reassure.checkers.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command line, what it printed, and its messages."""
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err
