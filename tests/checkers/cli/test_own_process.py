"""Signals to a command reach the process that executes it, and that one does not outlive the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.command import HEEDS_SIGNALS

WAITING = """
import os, sys, time
from pathlib import Path
Path(__file__).with_suffix(".began").write_text(str(os.getpid()))
try:
    for _ in range(600):  # a signal that comes just before a sleep begins is heeded after it
        time.sleep(0.1)
finally:
    Path(__file__).with_suffix(".ended").touch()
"""

ENDING = """
import atexit, threading, time
from reassure.models.examples.die_hard import MODEL

def late():
    time.sleep(0.3)
    print("thread")

atexit.register(print, "registered")
threading.Thread(target=late).start()
"""


@contextmanager
def checking(folder: Path, *before: str, **settings: bool) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A command that executes a model which waits; the process that executes it."""
    model = folder / "waiting.py"
    model.write_text(WAITING)
    line = [*(before or HEEDS_SIGNALS), sys.executable, "-m", "reassure", "check", str(model)]
    command = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)
    began = model.with_suffix(".began")
    try:
        until(lambda: began.exists() and bool(began.read_text()))
        yield command, int(began.read_text())
    finally:
        command.kill()
        command.communicate()


def until(condition: Callable[[], bool]) -> None:
    """Waits; fails after ten seconds."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_ends_the_model(number: signal.Signals, tmp_path: Path) -> None:
    with checking(tmp_path) as (command, model):
        assert model != command.pid
        command.send_signal(number)
        _, err = command.communicate(timeout=10)
        assert (command.returncode, err) == (5, "reassure: interrupted\n")
        assert (tmp_path / "waiting.ended").exists()


def test_a_signal_to_both_counts_once(tmp_path: Path) -> None:
    """As a terminal and `timeout` send it."""
    with checking(tmp_path, start_new_session=True) as (command, _):
        os.killpg(command.pid, signal.SIGINT)
        _, err = command.communicate(timeout=10)
        assert (command.returncode, err) == (5, "reassure: interrupted\n")


def test_a_signal_that_the_shell_ignores_is_ignored(tmp_path: Path) -> None:
    """As a script's background jobs do."""
    ignoring = [word.replace("SIG_DFL", "SIG_IGN") for word in HEEDS_SIGNALS]
    with checking(tmp_path, *ignoring) as (command, _):
        command.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(0.5)


def test_the_model_does_not_outlive_the_command(tmp_path: Path) -> None:
    with checking(tmp_path) as (command, model):
        command.kill()
        command.wait(10)
        until(lambda: has_ended(model))


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_changes_nothing(closed: str) -> None:
    command = f"{sys.executable} -m reassure check die_hard --quiet --engine reference {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (12, "")


def test_what_is_to_be_done_at_the_end_of_a_process_is_done(tmp_path: Path) -> None:
    """What the model has registered, and threads that it has begun, before the process ends."""
    model = tmp_path / "ending.py"
    model.write_text(ENDING)
    line = [sys.executable, "-m", "reassure", "check", str(model), "--quiet", "--engine", "reference"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    *before, last = done.stdout.splitlines()  # the thread may come before the answer
    assert (done.returncode, sorted(before), last, done.stderr) == (
        12,
        ["safety-violation (exit code 12)", "thread"],
        "registered",
        "",
    ), done


@pytest.mark.parametrize("words", [["check", "die_hard", "--quiet"], ["models"]])
def test_a_full_disk_is_said(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "reassure", *words]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (153, "reassure: No space left on device\n")
