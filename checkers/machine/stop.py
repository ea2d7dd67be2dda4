"""The end of a run: a reason that programs read, and a text that people read."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from enum import StrEnum
from types import TracebackType

from reassure.checkers.machine.exit_codes import Exit, worst
from reassure.spec.language.light_dataclasses import dataclass


class StopReason(StrEnum):
    """The reason for which a run ended. Only COMPLETE, DEPTH, WALKS and LIMIT are requested ends."""

    COMPLETE = "complete"
    """Everything was visited, or everything was decided."""
    DEPTH = "depth"
    """The depth that was asked for was reached."""
    WALKS = "walks"
    """The random walks that were asked for were taken."""
    LIMIT = "limit"
    """The number of states that was asked for was reached."""
    FAIL_FAST = "fail_fast"
    BUDGET = "budget"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"
    RAISED = "raised"
    """An action or a claim of the model raises in a reachable state."""
    SOLVER = "solver"
    """Z3 gave no answer."""
    OPEN = "open"
    """Some property was neither proved nor refuted."""
    LOST = "lost"
    """A process that the run needs has ended."""
    NOT_STARTED = "not_started"
    """The run failed before an engine ran."""


ENDED_EARLY = (StopReason.DEPTH, StopReason.BUDGET, StopReason.MEMORY, StopReason.INTERRUPTED)
"""Ends after which nothing is called vacuous."""


@dataclass(frozen=True)
class Stop:
    """The end of a run."""

    reason: StopReason
    text: str

    def raise_interrupt(self) -> None:
        """Raises Ctrl-C again if it ended a search, so that no other begins."""
        if self.reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt

    def end_run(self, *others: StopReason) -> None:
        """Raises again Ctrl-C or lack of time that ended a search, so that no other begins. others: raised as well."""
        self.raise_interrupt()
        if self.reason in (StopReason.BUDGET, *others):
            raise Interrupted(self.reason, self.text)

    def exit_of_several(self, codes: Iterable[Exit]) -> Exit:
        """The exit code of several checks, of which those that were run have these codes: 5 after Ctrl-C."""
        return Exit.INCONCLUSIVE if self.reason is StopReason.INTERRUPTED else worst(codes)


class Interrupted(Exception):
    """Ends a run early, with its results so far."""

    def __init__(self, reason: StopReason, text: str) -> None:  # `args` stay as they are: processes send it
        self.stop = Stop(reason, text)

    def __str__(self) -> str:
        return self.stop.text


ALL_VISITED = Stop(StopReason.COMPLETE, "every reachable state was visited")
BY_USER = Stop(StopReason.INTERRUPTED, "interrupted")
NO_MEMORY = Stop(StopReason.MEMORY, "the memory is used up")
MODEL_RAISES = Stop(StopReason.RAISED, "the model raises in a state of this depth")
RUNS_RAISE = Stop(StopReason.RAISED, "a property about whole runs raises in a reachable state")
FAILED_FAST = Stop(StopReason.FAIL_FAST, "a property is violated (--fail-fast)")


def depth_reached(depth: int) -> Stop:
    """The end of a search of so many levels."""
    return Stop(StopReason.DEPTH, f"depth {depth} was reached")


def budget_ended(seconds: float) -> Interrupted:
    """The exception that ends a run whose time is up."""
    return Interrupted(StopReason.BUDGET, f"the budget of {seconds:g} s ended")


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Ctrl-C takes effect after the block: a process that is cut off while it is started prints a traceback.

    Processes that are started in the block do not get it: nor what a terminal sends to them, nor while they begin.
    """
    from multiprocessing import resource_tracker

    pending: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: pending.append(number)) if main else None
    # Python starts it with the first process, and then unblocks Ctrl-C, also where it was blocked before.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the processes inherit
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main:
            signal.signal(signal.SIGINT, handler)
    if pending:
        signal.raise_signal(signal.SIGINT)


class Ending:
    """Catches what ends work early: Ctrl-C, a limit, lack of memory. `stop` is the reason; None: the work was done."""

    stop: Stop | None = None

    def __enter__(self) -> Ending:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        match error:
            case KeyboardInterrupt():
                self.stop = BY_USER
            case Interrupted():
                self.stop = error.stop
            case MemoryError():
                self.stop = Stop(StopReason.MEMORY, str(error)) if str(error) else NO_MEMORY
            case _:
                return False
        return True
