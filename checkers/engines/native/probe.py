"""Runs states through a kernel apart from the search's own table; sorts rows in canonical order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reassure.checkers.engines.native.kernels.growing_table import SIZES as TABLE_SIZES
from reassure.checkers.engines.native.kernels.growing_table import whole_lines
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, Rows
from reassure.checkers.engines.native.kernels.model_code import SWITCH
from reassure.checkers.engines.native.levels import SIZES
from reassure.checkers.engines.native.search import Worker
from reassure.checkers.engines.native.translator.word_rows import WordRows


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

    def leads_to(self, rows: Rows, target: Sequence[int]) -> bool:
        """Whether one of the rows has `target`, in signed words, among its successors."""
        words = np.array(target, np.int64)
        return self.run(rows, lambda successors: bool((successors == words).all(axis=1).any()))


def rows_in_order(rows: Rows) -> Rows:
    """Rows in canonical order: as unsigned words, the first weighing most."""
    return np.ascontiguousarray(rows[canonical_order(rows)])


def canonical_order(rows: Rows) -> Rows:
    """The numbers of rows in canonical order."""
    return np.lexsort([rows.view(np.uint64)[:, k] for k in reversed(range(rows.shape[1]))])
