"""Work in processes of its own: results in order; Ctrl-C ends everything, and so does the end of this process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.memory import runs_at_once
from reassure.checkers.machine.stop import interrupts_wait

T = TypeVar("T")
_method = "spawn"


def fork_processes() -> None:
    """Says that everything is imported in this process, and that others are to be copies of it. A setting of it."""
    global _method
    _method = "fork"


def in_processes(function: Callable[..., T], arguments: Sequence[tuple[Any, ...]], jobs: int) -> Generator[T]:
    """The results of `function` for each tuple of arguments, in their order; with one job, in this process.

    Raises `BrokenProcessPool` where a process was killed.
    """
    if jobs == 1 or len(arguments) <= 1:
        for one in arguments:
            yield function(*one)
        return
    jobs = min(jobs, len(arguments))
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(_method), _begin, (jobs,))
    running: list[Future[T]] = []
    try:
        with interrupts_wait():  # the processes are started with the first
            running += [pool.submit(function, *one) for one in arguments]
        for future in running:
            yield future.result()
    finally:
        finished = len(running) == len(arguments) and all(future.done() for future in running)
        # Not waited for, the pool's thread may close its pipe while the interpreter's end writes to it.
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for process in multiprocessing.active_children():
                process.terminate()


def _begin(jobs: int) -> None:
    """Prepares a process, one of so many. Ctrl-C is the parent's: it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    runs_at_once(jobs)


def end_with_parent() -> None:
    """Ends this process as soon as the one that started it has ended, also if that one was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(Exit.INTERNAL.value)
