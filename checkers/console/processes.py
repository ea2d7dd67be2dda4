"""Work in processes of its own: results in order, Ctrl-C ends everything."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

from reassure.checkers.base.memory import runs_at_once
from reassure.checkers.base.stop import interrupts_wait

T = TypeVar("T")


def in_processes(function: Callable[..., T], arguments: Sequence[tuple[Any, ...]], jobs: int) -> Generator[T]:
    """The results of `function` for each tuple of arguments, in their order; with one job, in this process.

    Raises `BrokenProcessPool` where a process was killed.
    """
    if jobs == 1 or len(arguments) <= 1:
        for one in arguments:
            yield function(*one)
        return
    jobs = min(jobs, len(arguments))
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin, (jobs,))
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
    runs_at_once(jobs)
