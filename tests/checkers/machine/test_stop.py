"""Ctrl-C while processes are started, and while objects are freed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.machine.own_process import Interrupts
from reassure.checkers.machine.stop import interrupts_wait


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """A suite in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_takes_effect_after_the_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts_wait():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("the rest of the block")
        steps.append("after the block")
    assert steps == ["the rest of the block"]


def test_ctrl_c_is_as_before_after_the_block() -> None:
    with interrupts_wait():
        pass
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([signal.SIGUSR1], 1)


def test_a_process_that_is_started_in_the_block_does_not_get_it() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('lives')"
    with interrupts_wait():
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.communicate(timeout=30) == ("lives\n", None)


def test_nor_does_the_first_process_of_a_program(tmp_path: Path) -> None:
    """Python starts a second one with it, and unblocks signals once that one is there."""
    (tmp_path / "first.py").write_text(FIRST_PROCESS)
    ran = subprocess.run([sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "blocked: True\n", "")


FIRST_PROCESS = """
import multiprocessing, signal
from reassure.checkers.machine.stop import interrupts_wait

def tell() -> None:
    print("blocked:", signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=tell)
    with interrupts_wait():
        process.start()
    process.join()
"""


@pytest.fixture
def interrupts(monkeypatch: pytest.MonkeyPatch) -> Interrupts:
    """They are told of the errors of destructors."""
    made = Interrupts()
    monkeypatch.setattr(sys, "unraisablehook", made.lost)
    return made


def test_ctrl_c_in_a_destructor_takes_effect_after_it(
    interrupts: Interrupts, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = []

    class Freed:
        def __del__(self) -> None:
            steps.append("interrupted")
            signal.raise_signal(signal.SIGINT)
            steps.append("not reached")

    before = {n: signal.signal(n, interrupts) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(KeyboardInterrupt):
            Freed()
            time.sleep(20)
            steps.append("slept")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert steps == ["interrupted"]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("interrupts")
def test_another_error_in_a_destructor_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    class Freed:
        def __del__(self) -> None:
            raise ZeroDivisionError("of the destructor")

    Freed()
    assert "ZeroDivisionError: of the destructor" in capsys.readouterr().err
