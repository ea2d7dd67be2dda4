"""A process that a model ends has not answered, and its exit code says so."""

from __future__ import annotations

import functools
import os
import posix
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from reassure.checkers.machine.exit_codes import Exit

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
