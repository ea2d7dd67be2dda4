"""Ctrl-C while processes are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from reassure.checkers.base.stop import interrupts_wait


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
