"""Work in several processes: what is left of them when it is done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reassure.checkers.console.processes import in_processes
from tests.helpers.command import children_of, executing


def test_no_thread_is_left_that_could_meet_the_end_of_the_interpreter() -> None:
    before = set(threading.enumerate())
    answers = in_processes(abs, [(-1,), (2,)], 2)
    assert [next(answers), next(answers)] == [1, 2]
    answers.close()
    assert set(threading.enumerate()) == before


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def eventually(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
def test_after_kill_9_the_processes_of_a_sweep_end() -> None:
    """Each is in a search of minutes."""
    words = ["sweep", "core", "--set=brokers=5,6", "--engine", "reference", "-j", "2", "--memory", "1G"]
    command = subprocess.Popen(
        [sys.executable, "-m", "reassure", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children: list[int] = []
    try:
        # two processes, and the one of `multiprocessing` that looks after what they share
        assert eventually(lambda: len(children_of(executing(command.pid))) == 3)
        children = [executing(command.pid), *children_of(executing(command.pid))]
        time.sleep(1)  # in the search
        assert all(map(running, children)) and command.poll() is None
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    try:
        assert eventually(lambda: not any(map(running, children)))
    finally:
        for pid in filter(running, children):
            os.kill(pid, signal.SIGKILL)
