"""A search in a process of its own: started, watched and stopped by the explorer."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from reassure.checkers.explorer.worker import serve
from reassure.checkers.machine.stop import interrupts_wait
from reassure.checkers.request.options import SearchOptions

PATIENCE = 5.0
"""Seconds that a process has to end after it was asked to."""


class ExplorerJob:
    """One search, or one question by an expression; a new start ends what runs."""

    def __init__(self, model: str, settings: list[str], options: SearchOptions) -> None:
        self._request = (model, settings, options)
        self._lock = threading.Lock()
        self._status: dict[str, object] = {"state": "idle", "text": "not started"}
        self._process: Any = None

    def start(self, expression: str = "") -> None:
        """Starts anew. expression: of the states to find; without one every state is searched."""
        self.stop(wait=True)
        context = multiprocessing.get_context("spawn")
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(sending, *self._request, expression), daemon=True)
        with self._lock:
            self._status = {"state": "running", "text": "preparing", "expression": expression}
            self._process = process
        with interrupts_wait():
            process.start()
        sending.close()
        threading.Thread(target=self._listen, args=(receiving, process), daemon=True).start()

    def status(self) -> dict[str, object]:
        """The progress of the search, or its result."""
        with self._lock:
            return dict(self._status)

    def stop(self, wait: bool = False) -> None:
        """Interrupts it; what is found by then is told. wait: until the process has ended."""
        process = self._process
        if process is None or not process.is_alive():
            return
        process.terminate()
        if wait:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()

    def _listen(self, receiving: Connection, process: Any) -> None:
        """Takes messages until the process ends."""
        answered = False
        with contextlib.suppress(EOFError, OSError), receiving:
            while True:
                message = receiving.recv()
                answered = "answer" in message
                self._note(process, message["answer"] if answered else {"state": "running", **message["progress"]})
        process.join()
        if not answered:
            self._note(process, {"state": "interrupted", "text": _ending(process.exitcode)})

    def _note(self, process: Any, message: Mapping[str, object]) -> None:
        with self._lock:
            if process is self._process:
                self._status = {"expression": self._status.get("expression", ""), **message}


def _ending(code: int) -> str:
    """The reason why a process has ended without an answer."""
    if code == -signal.SIGTERM:
        return "stopped before there was anything to tell"
    return f"the process of the search ended by itself, with code {code}"
