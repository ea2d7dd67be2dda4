"""A session of pytest in a process of its own: the one that gives the exit code imports none of its models."""

from __future__ import annotations

import signal
import sys

import pytest

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.own_process import SIGNALS, Interrupts, in_own_process

IN_OWN_PROCESS = pytest.StashKey[bool]()


def exit_code_of(config: pytest.Config) -> int | None:
    """The exit code of the session; None in its own process, where pytest goes on with it."""
    if config.stash.get(IN_OWN_PROCESS, False):
        return None
    config.stash[IN_OWN_PROCESS] = True

    def session() -> int:
        interrupt = Interrupts()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        try:
            return int(config.hook.pytest_cmdline_main(config=config))
        except pytest.UsageError as error:
            print(*(f"ERROR: {text}\n" for text in error.args), file=sys.stderr)
            return pytest.ExitCode.USAGE_ERROR.value

    try:
        return in_own_process(session)
    except Failure as failure:
        print(f"reassure: {failure}", file=sys.stderr)
        return failure.code.value
