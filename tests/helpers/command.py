"""The command line, called in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command line, what it printed, and its messages."""
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


HEEDS_SIGNALS = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Words before the arguments of a process of Python's: a suite in the background may ignore SIGINT, its processes not.

No `preexec_fn`: with it `subprocess` copies the whole process of the suite, and a large one finds no memory for that.
"""


def model_file(folder: Path, text: str) -> str:
    """The path of a model of this text."""
    path = folder / "mine.py"
    path.write_text(text)
    sys.modules.pop("mine", None)
    return str(path)
