"""Rows of words met so far, each kept once, in the table that searches keep their states in."""

from __future__ import annotations

import numpy as np

from reassure.checkers.engines.native.kernels.growing_table import GrowingTable
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.state_table import BATCH, put_back, unseen
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.machine.memory import MemoryLimit


class DistinctRows:
    """A set of rows. Word 0 of a row has its upper eight bits clear."""

    def __init__(self, words: int) -> None:
        """words: of a row."""
        self.words, self.count = words, 0
        self.limit = MemoryLimit.of(None)
        self.table = GrowingTable(words, self.limit.bytes)

    def add(self, rows: Rows) -> Rows:
        """Adds rows; returns the positions of those that are new, of equal ones the first, in order.

        Raises `OutOfMemory`.
        """
        rows = np.ascontiguousarray(rows)
        where, batch = np.empty(len(rows), np.int64), np.empty(BATCH, np.int64)
        table = self.table
        count = native(unseen)(self.words, rows, len(rows), self.words, table.array, table.slots, where, batch)
        unknown = rows[where[:count]]
        _, first = np.unique(unknown.view(np.dtype((np.void, 8 * self.words))).reshape(-1), return_index=True)
        first.sort()
        self.count += len(first)
        slots = table.sizes.slots_for(self.count, table.slots)
        if slots > table.slots:
            self.limit.allow(8 * self.words * slots)
            table.grow(slots)
        native(put_back)(self.words, unknown[first], len(first), self.words, table.array, table.slots)
        return where[first]
