"""The command line, called in this process."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command line, what it printed, and its messages."""
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def heeds_signals() -> None:
    """A suite that runs in the background may have been told to ignore SIGINT; what it tests must not be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def model_file(folder: Path, text: str) -> str:
    """The path of a model of this text."""
    path = folder / "mine.py"
    path.write_text(text)
    sys.modules.pop("mine", None)
    return str(path)
