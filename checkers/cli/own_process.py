"""The entry: a command in a process of its own. The process that gives the exit code imports no model.

A model is a program and can end its process with any exit code, also below Python. The answer of a command
therefore comes through a pipe; without it the exit code of the process means nothing. This module is imported
before all others, so that there is little to copy.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.only_answers import ENDED, SIGNALS

NEW_OBJECTS = 100_000
"""Objects after which Python looks for garbage: its own number, 700, is reached again and again while modules are
imported."""


def run() -> int:
    """Executes the command line; the exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
    if os.environ.get("REASSURE_DEBUG"):  # debuggers and profilers follow one process
        return _main()
    leave = Leave()
    atexit.register(leave)  # before all others, so that it is called after them
    try:
        leave.code = in_own_process(_main)
    except Failure as failure:
        from reassure.checkers.cli.main import failed

        leave.code = failed(failure, sys.argv[1:])
    return leave.code


class Leave:
    """Ends the process once its threads have ended and all else was called that is to be called at its end.

    Python would take every object apart, which takes longer than a small search.
    """

    code: int | None = None
    """Exit code; None: Python ends the process."""

    def __call__(self) -> None:
        if self.code is None:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # Python reports it
            return
        os._exit(self.code)


def _main() -> int:
    gc.set_threshold(NEW_OBJECTS)
    from reassure.checkers.cli.main import main

    return main()


def in_own_process(command: Callable[[], int]) -> int:
    """The exit code that a command answers with; returns twice, in both processes.

    The command begins with `SIGNALS` blocked, and lets them through when it can end with a record. Raises `Failure`
    here if the other process ends without an answer. Signals that end a command are passed on.
    """
    answers, answering = os.pipe()
    parent_is_there, held_by_parent = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, nobody learns how the process ended
    child = os.fork()
    if child == 0:
        os.close(answers)
        os.close(held_by_parent)
        threading.Thread(target=_end_after, args=(parent_is_there,), daemon=True).start()
        code = command()
        os.write(answering, bytes([code]))
        return code

    def pass_on(number: int, frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    os.close(answering)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.set_blocking(answers, False)  # a process that the command has left may hold the other end
    answer = b""
    with contextlib.suppress(BlockingIOError):
        answer = os.read(answers, 1)
    if answer and status in (answer[0], *(-number for number in SIGNALS)):  # a signal may end what is left to clear up
        return answer[0]
    if status == -signal.SIGKILL:
        raise Failure(Exit.SYSTEM, "the process was killed, as the system does if memory is short")
    raise Failure(Exit.INTERNAL, ENDED if status >= 0 else f"the process was ended by {signal.Signals(-status).name}")


def _end_after(parent_is_there: int) -> None:
    """Ends this process as soon as the other one has ended, also if that one was killed."""
    os.read(parent_is_there, 1)
    os._exit(Exit.INTERNAL.value)
