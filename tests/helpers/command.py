"""The command line, called in this process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.machine.exit_codes import VERDICTS, Exit


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command line, what it printed, and its messages."""
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def report_of(out: str, code: int, command: str = "") -> str:
    """A printed report without its ending: its verdict and exit code, and the command again.

    command: the first words of that.
    """
    report, _, ending = out.rpartition(f"\n{VERDICTS[Exit(code)]} (exit code {code})\n")
    assert re.fullmatch(rf"again: reassure {command}[^\n]+\n", ending), out
    return report


def reported(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """As `said`, without the ending of the report."""
    code, out, err = said(capsys, *words)
    return code, report_of(out, code, f"{words[0]} "), err


HEEDS_SIGNALS = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Words before the arguments of a process of Python's: a suite in the background may ignore SIGINT, its processes not.

No `preexec_fn`: with it `subprocess` copies the whole process of the suite, and a large one finds no memory for that.
"""


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that have not ended; zombies have."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = path.read_text(encoding="utf-8").rsplit(")", 1)
            state, parent = rest.split()[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(name.split()[0]))
    return found


def executing(command: int) -> int:
    """The process that executes a command: the child of the one that was started; 0 if there is none yet."""
    return next(iter(children_of(command)), 0)


def interrupted(cue: str, *words: str, how: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
    """The exit code, output and messages of a command line in its own process, which gets a signal once it wrote `cue`.

    Its messages go to a terminal, where progress is shown; the signal goes to its children too, as a terminal's does.
    """
    terminal, end = os.openpty()
    command = [*HEEDS_SIGNALS, sys.executable, "-m", "reassure", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True, start_new_session=True)
    os.close(end)
    messages = b""
    while cue.encode() not in messages:
        messages += os.read(terminal, 1 << 16)
    os.killpg(process.pid, how)
    out, _ = process.communicate(timeout=60)
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(terminal, 1 << 16):
            messages += more
    os.close(terminal)
    return process.returncode, out, messages.decode()


def model_file(folder: Path, text: str) -> str:
    """The path of a model of this text."""
    path = folder / "mine.py"
    path.write_text(text)
    sys.modules.pop("mine", None)
    return str(path)
