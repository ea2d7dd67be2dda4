"""The values of an expression along a path, by a process that can be ended: there are expressions that never end."""

from __future__ import annotations

import contextlib
import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import interrupts_wait
from reassure.checkers.traces.format_value import values_along
from reassure.checkers.traces.named_path import follow_path, from_text

PATIENCE = 10.0
"""Seconds that an answer may take, the first one with the start of the process."""


class Evaluator:
    """A process that evaluates expressions, one at a time; it starts with the first one."""

    def __init__(self, source: ModelSource) -> None:
        self._source = source
        self._process: Any = None
        self._connection: Connection | None = None

    def values(self, path: str, expression: str) -> list[str]:
        """The value in each state of a path; `Failure` for what has none, and for a path that the model has not."""
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((path, expression))
            if not self._connection.poll(PATIENCE):
                self.stop()
                raise Failure(Exit.USAGE, f"{expression!r} has no value after {PATIENCE:g} s")
            values, problem = self._connection.recv()
        except (EOFError, OSError):
            self.stop()
            raise Failure(Exit.USAGE, f"{expression!r} ended the process that evaluates it") from None
        if problem:
            raise Failure(Exit.USAGE, problem)
        return list(values)

    def stop(self) -> None:
        """Ends the process."""
        if self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._connection = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, its_end = context.Pipe()
        self._process = context.Process(
            target=serve, args=(its_end, self._source.model, self._source.settings), daemon=True
        )
        with interrupts_wait():
            self._process.start()
        its_end.close()


def serve(connection: Connection, model: str, settings: list[str]) -> None:
    """The whole of a process: answers until the explorer goes."""
    source = ModelSource(model, settings)
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(_answer(source, *connection.recv()))


def _answer(source: ModelSource, path: str, expression: str) -> tuple[list[str], str]:
    """The values, or why there are none."""
    try:
        bound = source.loaded().bound
        followed = follow_path(from_text(path), bound)
        if followed.problem is not None or followed.trace is None:
            why = followed.problem.reason if followed.problem is not None else ""
            return [], f"the model does not have this path: {why}"
        return values_along(followed.trace, bound, expression), ""
    except Failure as failure:
        return [], str(failure)
