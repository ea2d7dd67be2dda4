"""The command `reassure`: runs a command, and turns whatever ends it into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from reassure.checkers.console.commands import PRINT_WHAT_IS_ASKED_FOR, options_of
from reassure.checkers.console.failures import as_failure
from reassure.checkers.console.files import STANDARD_OUTPUT, outputs_must_be_writable, remove_empty
from reassure.checkers.console.parser import parse, record_among
from reassure.checkers.machine import terminal
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.own_process import SIGNALS, Interrupts
from reassure.checkers.machine.terminal import PIPE, Console
from reassure.checkers.request.shared_options import QUIET


def console_to(stream: Any) -> Console:
    """Colour and width of a terminal; plain and unwrapped in a pipe, unless FORCE_COLOR asks for colour."""
    if os.environ.get("FORCE_COLOR"):
        return Console(_close_stdout, file=stream, force_terminal=True)
    if stream.isatty():
        return Console(_close_stdout, file=stream)
    return Console(_close_stdout, file=stream, no_color=True, width=PIPE, force_terminal=False)


def main(argv: list[str] | None = None) -> int:
    """Runs a command; the exit code. argv: of a command that does not have its process for itself."""
    words = sys.argv[1:] if argv is None else argv
    _streams()
    args, made = argparse.Namespace(json=record_among(words)), list[Path]()
    if threading.current_thread() is threading.main_thread():
        interrupt = Interrupts()
        signal.signal(signal.SIGTERM, interrupt)  # as CI ends a run: also with a record
        if argv is None:
            sys.unraisablehook = interrupt.lost
            if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                signal.signal(signal.SIGINT, interrupt)
    try:
        if argv is None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        command = parse(words, args)
        outputs_must_be_writable(args, made)
        to_stdout = args.json == STANDARD_OUTPUT
        console = console_to(sys.stderr if to_stdout else sys.stdout)
        console.last_line_only = QUIET in options_of(args.command) and args.quiet
        console.judges = args.command not in PRINT_WHAT_IS_ASKED_FOR
        args.found = command.run(args, console)
        console.conclude(args.found, args.again)
        sys.stdout.flush()
        return int(args.found.value)
    except KeyboardInterrupt:
        return _failed(Exit.INCONCLUSIVE, "interrupted", args, words, made)
    except BrokenPipeError:
        _close_stdout()
        code: Exit = getattr(args, "found", Exit.SYSTEM)
        return code.value
    except BaseException as error:
        if isinstance(error, SystemExit) and not hasattr(args, "command"):  # --help
            return int(error.code or 0)
        failure = as_failure(error)
        if failure.code is Exit.INTERNAL and os.environ.get("REASSURE_DEBUG"):
            raise
        return _failed(failure.code, str(failure), args, words, made)


def _streams() -> None:
    """Makes output possible whatever it goes to: where a stream is closed, or has no letter for a character."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _close_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_failure(error: Exception, words: list[str]) -> int:
    """Reports a command that ended without an answer; the exit code."""
    failure = as_failure(error)
    return _failed(failure.code, str(failure), argparse.Namespace(json=record_among(words)), words, [])


def _failed(code: Exit, message: str, args: argparse.Namespace, words: list[str], made: list[Path]) -> int:
    """Reports a command that failed; the exit code. made: folders for its outputs, which are removed if empty."""
    terminal.print_error(f"reassure: {terminal.message(message)}")
    path = getattr(args, "json", None)
    if isinstance(path, Path):
        from reassure.checkers.request.run_identity import error_record  # of what few commands need

        record = error_record(code, message, getattr(args, "model", None) or "", shlex.join(["reassure", *words]))
        try:
            write_record(path, record)
        except OSError as error:
            if code is not Exit.SYSTEM:
                print(f"reassure: {path}: {error.strerror}", file=sys.stderr)
            code = Exit.SYSTEM
    remove_empty(made)
    return code.value


if __name__ == "__main__":  # spark-submit executes this file
    sys.exit(main())
