"""Two processes for one task: one executes models, the other gives the exit code and imports none.

A model is a program and can end its process with any exit code, also below Python. The answer therefore comes
through a pipe; without it the exit code of the process means nothing.

A process that a model ends has not answered, and its exit code says so.
"""

from __future__ import annotations

import contextlib
import functools
import os
import posix
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from reassure.checkers.machine.exit_codes import Exit, Failure

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Those that end a command with its results so far."""
ENDED = "the process was ended without an answer, as a model can end it"


@functools.cache
def only_an_answer_ends_it() -> None:
    """Has this process end with 255 where a model ends it, whose exit code would be taken for an answer."""
    own = os.getpid()

    def guarded(end: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        def ended(*arguments: Any) -> NoReturn:
            if os.getpid() != own:  # a copy of this process, which answers to nobody else
                end(*arguments)
            os.write(2, f"reassure: {ENDED}\n".encode())
            leave(Exit.INTERNAL.value)

        return ended

    leave = os._exit
    for name in ("_exit", "execv", "execve"):
        end = guarded(getattr(os, name))
        setattr(os, name, end)
        setattr(posix, name, end)


TOGETHER = 0.5
"""Seconds within which several signals count as one: a terminal and `timeout` send theirs to both processes."""
AFTER = 0.02
"""Seconds until Ctrl-C is tried again that came while an object was freed."""


class Interrupts:
    """The handler of signals that end a command with its results so far."""

    def __init__(self) -> None:
        self.last = float("-inf")

    def __call__(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if now - self.last >= TOGETHER:
            self.last = now
            raise KeyboardInterrupt

    def lost(self, what: sys.UnraisableHookArgs) -> None:
        """As `sys.unraisablehook`: raises again, a moment later, what a destructor has lost."""
        if what.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(what)
            return
        self.last = float("-inf")
        main = threading.main_thread().ident
        later = threading.Timer(AFTER, signal.pthread_kill, [main, signal.SIGTERM])
        later.daemon = True
        later.start()


def in_own_process(command: Callable[[], int], began: Callable[[int], None] | None = None) -> int:
    """The exit code that a command answers with; returns twice, in both processes. began: gets the other's number here.

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
    if began is not None:
        began(child)
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
