"""Explores both builds at the same time: a pool of JVMs for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Interrupted

POLL = 0.2
"""Seconds after which Ctrl-C is noticed at the latest."""
Explorer = Callable[[ExploreLimits, Progress], ControllerExploration]
"""Explores one build."""


@dataclass
class SharedLimits(ExploreLimits):
    """The limits of both explorations. ended: set by Ctrl-C, or when one of them fails, so that the other ends too."""

    ended: threading.Event = field(default_factory=threading.Event)

    def must_have_time(self, began: float) -> None:
        """As of `ExploreLimits`; also raises `Interrupted` when both are to end."""
        if self.ended.is_set():
            raise Interrupted(BY_USER.reason, BY_USER.text)
        super().must_have_time(began)


class _SideProgress(Progress):
    """One side's part of a line of progress: the counts of both sides are added."""

    def __init__(self, whole: Progress, counts: dict[int, tuple[int, int, int, int]], side: int) -> None:
        super().__init__(whole.out, whole.quiet)
        self.whole, self.counts, self.side = whole, counts, side

    def report(self, depth: int, generated: int, distinct: int, frontier: int, memory: int, more: str = "") -> None:
        """See `Progress`."""
        self.counts[self.side] = (depth, generated, distinct, frontier)
        depths, *others = zip(*list(self.counts.values()), strict=True)
        numbers = [sum(several) for several in others]
        self.whole.report(max(depths), numbers[0], numbers[1], numbers[2], memory, more)


def explore_both(
    explorers: tuple[Explorer, Explorer], limits: SharedLimits, progress: Progress
) -> tuple[ControllerExploration, ControllerExploration]:
    """BASE's exploration and HEAD's, as far as they came when Ctrl-C or a limit ended them. Raises as they do."""
    counts: dict[int, tuple[int, int, int, int]] = {}
    futures: list[Future[ControllerExploration]] = []
    with ThreadPoolExecutor(len(explorers)) as threads:
        try:
            for side, explorer in enumerate(explorers):
                futures.append(threads.submit(explorer, limits, _SideProgress(progress, counts, side)))
            while wait(futures, POLL, return_when=FIRST_EXCEPTION).not_done and not _failed(futures):
                pass  # a signal that another thread receives is handled when this one runs
        except KeyboardInterrupt:
            limits.ended.set()
            if len(futures) < len(explorers):
                raise
        if _failed(futures):
            limits.ended.set()
    base, head = (future.result() for future in futures)
    return base, head


def _failed(futures: list[Future[ControllerExploration]]) -> bool:
    return any(future.done() and future.exception() is not None for future in futures)
