"""The entry: a command in a process of its own. It is imported before all others, so that there is little to copy.

Also here: what is answered without any of them.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from reassure import __version__

TYPE_CHECKING = False  # as type checkers read it; `reassure --version` does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

NEW_OBJECTS = 100_000
"""Objects after which Python looks for garbage: its own number, 700, is reached again and again while modules are
imported."""


SHELLS = ("bash", "zsh", "fish")
SCRIPTS = os.path.join(os.path.dirname(__file__), "completion")
"""The scripts of `reassure completion`, a file for each shell; `publish --pages` writes them from the options."""


def answered_at_once(words: list[str]) -> str | None:
    """What a command line prints that needs no options and no model; None for every other."""
    if words == ["--version"]:
        return f"reassure {__version__}\n"
    if len(words) == 2 and words[0] == "completion" and words[1] in SHELLS:
        try:
            with open(os.path.join(SCRIPTS, f"{words[1]}.txt"), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return None
    if words in ([], ["-h"], ["--help"]):
        from reassure.checkers.console.overview import WELCOME, overview

        return f"{overview() if words else WELCOME}\n"
    return None


def _print(text: str) -> None:
    """Prints a text to standard output; a reader that has gone misses the rest."""
    rest = memoryview(text.encode())
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:
        pass


def run() -> int:
    """Executes the command line; the exit code."""
    try:
        if (text := answered_at_once(sys.argv[1:])) is not None:
            if sys.stdout is not None:  # closed when the process began
                _print(text)
            return 0
    except OSError as error:
        return _failed(error)
    if os.environ.get("REASSURE_DEBUG"):  # debuggers and profilers follow one process
        _one_thread()
        return command_line()
    if os.environ.get("REASSURE_SERVER") == "1" and sys.argv[1:2] != ["serve"]:
        from reassure.checkers.cli.client import ask

        if (code := ask()) is not None:
            os._exit(code)  # it has printed nothing by Python's streams
    return execute(Leave.registered())


def execute(leave: Leave, began: Callable[[int], None] | None = None, command: Callable[[], int] | None = None) -> int:
    """Executes a command in a process of its own; returns its exit code twice, in both processes.

    began: called in this process with the number of the other one. command: default: the command line.
    """
    from reassure.checkers.machine.exit_codes import Failure
    from reassure.checkers.machine.own_process import in_own_process

    _one_thread()
    try:
        leave.code = in_own_process(command or command_line, began)
    except Failure as failure:
        leave.code = _failed(failure)
    return leave.code


def _one_thread() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses


def _failed(error: Exception) -> int:
    """Reports a command that ended without an answer; the exit code."""
    from reassure.checkers.cli.main import report_failure

    return report_failure(error, sys.argv[1:])


class Leave:
    """Ends the process once its threads have ended and all else was called that is to be called at its end.

    Python would take every object apart, which takes longer than a small search.
    """

    code: int | None = None
    """Exit code; None: Python ends the process."""

    @classmethod
    def registered(cls) -> Leave:
        """One that Python calls at the end: after all others, since it is registered before them."""
        leave = cls()
        atexit.register(leave)
        return leave

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


def command_line() -> int:
    """Executes the command line in this process; the exit code."""
    gc.set_threshold(NEW_OBJECTS)
    from reassure.checkers.cli.main import main

    return main()
