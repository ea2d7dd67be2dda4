"""Finds states of a finished search again, and the shortest path to them, with nothing stored beside the levels.

Of the states of a level that are looked for, the smallest in canonical order is taken: so the trace does not depend on
threads. Pieces of a level are sorted and run through the search's own kernel on a small table of their own; where a
piece has what is looked for, bisection finds the first state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from reassure.checkers.native.codegen import Flag, Kernel
from reassure.checkers.native.search import CHUNK, LOAD, Rows, Search, Worker, slices
from reassure.checkers.traces.reconstruct import Disagreement, shows, told
from reassure.spec.language.vocabulary import Property
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.trace import Trace

PIECE = 1 << 13
"""States sorted and tried at a time."""


class Probe:
    """Runs states through the kernel and looks at what comes out, apart from the search's own table and counts."""

    def __init__(self, kernel: Kernel, module: ModuleType) -> None:
        self.module, self.words = module, kernel.layout.words
        self.worker = Worker.of(kernel, module.TALLY)
        self.room = min(CHUNK // self.words, 8 * len(self.worker.out))
        rows = self.room + 2 * len(self.worker.out)
        self.worker.chunk = np.empty((rows, self.words), np.int64)
        self.table = np.zeros(int(rows / LOAD) * self.words, np.int64)

    def run(self, rows: Rows, hit: Callable[[Rows], bool]) -> bool:
        """Expands rows, a part at a time; whether `hit` accepts the distinct successors of some part."""
        low, w = 0, self.worker
        w.flags[:] = 0
        while low < len(rows):
            self.table.fill(0)
            low, found = self.module.search_slice(
                rows, low, len(rows), self.table, w.chunk, 0, w.out, w.slots, w.tally, w.flags, self.room
            )
            if hit(w.chunk[:found]):
                return True
        return False

    def flagged(self, rows: Rows, flag: Flag) -> bool:
        """Whether one of the rows, or of their steps, has a flag."""
        word, bit = flag
        return self.run(rows, lambda _: bool(int(self.worker.flags[word]) >> bit & 1))

    def leads_to(self, rows: Rows, target: Rows) -> bool:
        """Whether one of the rows has `target` among its successors."""
        return self.run(rows, lambda found: bool((found == target).all(axis=1).any()))


def in_order(rows: Rows) -> Rows:
    """Rows in canonical order: as unsigned words, the first weighing most."""
    unsigned = rows.view(np.uint64)
    return np.ascontiguousarray(rows[np.lexsort([unsigned[:, k] for k in reversed(range(rows.shape[1]))])])


def smallest(level: list[Rows], hit: Callable[[Rows], bool]) -> Rows | None:
    """The smallest row for which `hit` is true; `hit` of several rows is whether it is true for one of them."""
    best: Rows | None = None
    for part, low, high in slices(level, PIECE):
        rows = in_order(part[low:high])
        if best is not None:  # only what is smaller matters now
            key = tuple(best.view(np.uint64).tolist())
            rows = rows[: bisect_left(range(len(rows)), key, key=lambda i: tuple(rows[i].view(np.uint64).tolist()))]
        if len(rows) and hit(rows):
            first, end = 0, len(rows)
            while end - first > 1:
                middle = (first + end) // 2
                if hit(rows[first:middle]):
                    end = middle
                else:
                    first = middle
            best = rows[first]
    return best


def found_in(level: list[Rows], wanted: Wanted, probe: Probe) -> Rows | None:
    """The smallest row that is wanted."""
    return smallest(level, lambda rows: wanted.among(probe, rows))


@dataclass(frozen=True)
class Wanted:
    """What is looked for on a level: a state (or one with a step) that has a flag, or one with a successor."""

    flag: Flag = (0, 0)
    successor: tuple[int, ...] = ()
    """Its words, signed; none: the flag is looked for."""

    def among(self, probe: Probe, rows: Rows) -> bool:
        """Whether one of the rows is wanted."""
        if self.successor:
            return probe.leads_to(rows, np.array(self.successor, np.int64))
        return probe.flagged(rows, self.flag)


Finder = Callable[[int, Wanted], Rows | None]
"""The smallest state of a level (from 1) that is wanted."""


class Paths:
    """Canonical states and paths of one search."""

    def __init__(self, bound: BoundModel, kernel: Kernel, find: Finder) -> None:
        self.bound, self.kernel, self.find = bound, kernel, find

    @classmethod
    def of(cls, bound: BoundModel, search: Search, switch: int = 0) -> Paths:
        """switch: the guard that was off, of a kernel with switches; the bound model has to lack it too."""
        probe = Probe(search.kernel, search.module)
        if switch:
            probe.worker.tally[search.module.SWITCH] = switch
        return cls(bound, search.kernel, lambda level, wanted: found_in(search.levels[level - 1], wanted, probe))

    def _smallest(self, level: int, wanted: Wanted) -> Any:
        row = self.find(level, wanted)
        if row is None:
            raise Disagreement(f"a state of level {level} was counted but is not found again")
        return self.kernel.layout.decode(row.view(np.uint64))

    def shown(self, claim: Property | None, flag: Flag, level: int) -> Trace:
        """The shortest trace to the first hit of a claim (none: a deadlock), on this level."""
        state = self._smallest(level, Wanted(flag))
        if claim is None or not claim.over_steps:
            if not shows(self.bound, claim, None, None, state):
                raise Disagreement(
                    f"{claim.name if claim else 'deadlock'}: plain Python and the kernel differ on {state}"
                )
            return self._trace(level, state, None)
        for step in self.bound.steps(state):
            if not isinstance(step.after, Clipped) and shows(self.bound, claim, state, step, step.after):
                return self._trace(level, state, step)
        raise Disagreement(f"{claim.name}: plain Python and the kernel differ on the steps of {state}")

    def _before(self, level: int, state: Any) -> Any:
        """The smallest state of a level that has `state` among its successors."""
        target = np.array(self.kernel.layout.encode(state), np.uint64).view(np.int64)
        return self._smallest(level, Wanted(successor=tuple(target.tolist())))

    def _trace(self, level: int, state: Any, last: Step | None) -> Trace:
        """The canonical shortest path, replayed in plain Python."""
        bound, path = self.bound, [state]
        steps: list[Step] = []
        for k in range(level - 1, 0, -1):
            parent = self._before(k, path[0])
            step = next((s for s in bound.steps(parent) if s.after == path[0]), None)
            if step is None:
                raise Disagreement(f"plain Python has no step from {parent} to {path[0]}")
            path.insert(0, parent)
            steps.insert(0, step)
        if last is not None:
            path.append(last.after)
            steps.append(last)
        return told(bound, path, steps)
