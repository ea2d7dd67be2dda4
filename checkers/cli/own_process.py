"""The entry: a command in a process of its own. It is imported before all others, so that there is little to copy."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.own_process import in_own_process

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
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # closed when the process began
                    stream.flush()
        except (OSError, ValueError):  # Python reports it
            return
        os._exit(self.code)


def _main() -> int:
    gc.set_threshold(NEW_OBJECTS)
    from reassure.checkers.cli.main import main

    return main()
