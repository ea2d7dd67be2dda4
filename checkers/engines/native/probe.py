"""Runs states through a kernel apart from the search's own table, and finds the smallest state with some property.

Pieces of a level are sorted and run through the kernel on a small table of their own; where a piece has what is looked
for, bisection finds the first state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np

from reassure.checkers.engines.native.kernels.growing_table import SIZES as TABLE_SIZES
from reassure.checkers.engines.native.kernels.growing_table import whole_lines
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, Rows
from reassure.checkers.engines.native.kernels.tally import SWITCH
from reassure.checkers.engines.native.search import SIZES, Worker, slices
from reassure.checkers.engines.native.translator.word_rows import WordRows
from reassure.checkers.engines.native.wanted import Wanted

PIECE = 1 << 13
"""States sorted and tried at a time."""


class Probe:
    """Runs states through the kernel and looks at what comes out, apart from the search's own table and counts."""

    def __init__(self, kernel: Kernel, switch: int = 0) -> None:
        """switch: 1 + the guard that is left out, of a kernel with switches."""
        words = kernel.words
        self.worker = Worker(kernel)
        self.worker.tally[SWITCH] = switch
        self.room = min(SIZES.chunk // words, 8 * self.worker.spare)
        rows = self.room + 2 * self.worker.spare
        self.worker.chunk = WordRows.zeros(rows, words)
        self.successors: Rows = np.asarray(self.worker.chunk)
        self.slots = whole_lines(int(rows / TABLE_SIZES.load))
        self.table = np.zeros(self.slots * words, np.int64)

    def run(self, rows: Rows, hit: Callable[[Rows], bool]) -> bool:
        """Expands rows, a part at a time; whether `hit` accepts the distinct successors of some part."""
        low, w = 0, self.worker
        w.forget_claims()
        w.raised = False
        while low < len(rows):
            self.table.fill(0)
            w.end = 0
            low = w.expand(rows, low, len(rows), self.table, self.slots, self.room)
            if hit(self.successors[: w.end]):
                return True
        return False

    def flagged(self, rows: Rows, flag: tuple[int, int]) -> bool:
        """Whether one of the rows, or of their steps, has a flag."""
        word, bit = flag
        return self.run(rows, lambda _: bool(self.worker.claims[word] >> bit & 1))

    def raises(self, rows: Rows) -> bool:
        """Whether the model raises in one of the rows."""
        return self.run(rows, lambda _: self.worker.raised)

    def leads_to(self, rows: Rows, target: Sequence[int]) -> bool:
        """Whether one of the rows has `target`, in signed words, among its successors."""
        words = np.array(target, np.int64)
        return self.run(rows, lambda successors: bool((successors == words).all(axis=1).any()))

    def has(self, rows: Rows, wanted: Wanted) -> bool:
        """Whether one of the rows is wanted."""
        if wanted.raises:
            return self.raises(rows)
        if wanted.successor:
            return self.leads_to(rows, wanted.successor)
        return self.flagged(rows, wanted.flag)


def in_order(rows: Rows) -> Rows:
    """Rows in canonical order: as unsigned words, the first weighing most."""
    return np.ascontiguousarray(rows[canonical_order(rows)])


def canonical_order(rows: Rows) -> Rows:
    """The numbers of rows in canonical order."""
    return np.lexsort([rows.view(np.uint64)[:, k] for k in reversed(range(rows.shape[1]))])


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
    return smallest(level, lambda rows: probe.has(rows, wanted))
