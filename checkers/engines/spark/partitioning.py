"""The output of a distributed search's task: distinct successors, in parcels by owner, bare or with origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reassure.checkers.engines.native.kernels import fingerprints
from reassure.checkers.engines.native.kernels.growing_table import SIZES, whole_lines
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, KernelShape, Rows
from reassure.checkers.engines.native.kernels.partitioning import (
    GatherArguments,
    by_owner,
    gather,
    gather_slice,
    owners,
)
from reassure.checkers.engines.native.kernels.state_table import BATCH, put_back, unseen
from reassure.checkers.engines.native.search import Worker
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.native.translator.word_rows import WordRows

LOCAL = 1 << 20
"""Distinct successors that a task gathers before it sends them to their owners."""
PARCEL = 1 << 22
"""Bytes of one parcel, at the most."""


@dataclass(frozen=True)
class Work:
    """The parameters of a search that every task needs; shipped with it."""

    run: str
    """Names the caches of this run."""
    place: str
    """The run directory."""
    kernel: KernelShape
    """With parameters: states are kept with the steps they come by."""
    parts: int
    key: fingerprints.Key = ()
    """Of fingerprints; none: tables hold whole states."""

    @property
    def wide(self) -> bool:
        """Whether states travel in wide rows (`native.partitioning_kernel`)."""
        return self.kernel.parameter_words is not None or bool(self.key)

    @property
    def table_words(self) -> int:
        """Words of a slot of an owner's table."""
        return fingerprints.WORDS if self.key else self.kernel.words

    def keys(self, rows: Rows) -> Rows:
        """The keys under which an owner's table holds the states that these rows begin with."""
        return fingerprints.fingerprints(rows, self.key) if self.key else rows


_kernels: dict[str, Kernel] = {}


def kernel_of(work: Work) -> Kernel:
    """The kernel of a run with its machine code, loaded once in each process."""
    if work.kernel.ir not in _kernels:
        _kernels[work.kernel.ir] = Kernel(work.kernel)
    return _kernels[work.kernel.ir]


class Plain:
    """The distinct successors that a task has found, each with the tag that a table keeps."""

    def __init__(self, work: Work, room: int) -> None:
        """room: states that are gathered, and some more."""
        self.work, self.room, self.words = work, room, work.kernel.words
        self.worker = Worker(kernel_of(work))
        self.count = 0
        rows = room + 2 * self.worker.spare
        self.slots = whole_lines(int(rows / SIZES.load))
        self._begin(rows)

    def _begin(self, rows: int) -> None:
        self.worker.chunk = WordRows.zeros(rows, self.words)
        self.distinct: Rows = np.asarray(self.worker.chunk)
        self.table = np.zeros(self.slots * self.words, np.int64)

    def take(self, rows: Rows, low: int, high: int) -> int:
        """Expands some rows, until there is no more room; the next to be expanded."""
        w = self.worker
        w.end = self.count
        following = w.expand(rows, low, high, self.table, self.slots, max(0, self.room - self.count))
        self.count = w.end
        w.note_raised()
        return following

    def _by_owner(self) -> tuple[Rows, Rows]:
        out, counts = np.empty_like(self.distinct[: self.count]), np.zeros(self.work.parts, np.int64)
        batch = np.empty(BATCH, np.int64)
        native(by_owner)(
            self.words, self.table, self.slots, self.distinct, self.count, self.work.parts, batch, counts, out
        )
        return out, counts

    def parcels(self, unknown: Callable[[int, Rows], Rows]) -> Iterator[tuple[int, bytes]]:
        """The successors so far, in parcels by owner; the buffer is empty afterwards."""
        out, counts = self._by_owner()
        step, low = max(1, PARCEL // (8 * out.shape[1])), 0
        for part, count in enumerate(counts.tolist()):
            rows = unknown(part, out[low : low + count])
            for first in range(0, len(rows), step):
                yield part, rows[first : first + step].tobytes()
            low += count
        self.empty()

    def empty(self) -> None:
        """Makes room again."""
        self.table.fill(0)
        self.count = 0


class Wide(Plain):
    """The same in wide rows, as `native.partitioning_kernel` has them."""

    def _begin(self, rows: int) -> None:
        wide, w = self.work.kernel.wide_words, self.worker
        self.distinct, self.table = np.empty((rows, wide), np.int64), np.zeros(self.slots, np.int64)
        self.arguments = GatherArguments(
            model=kernel_of(self.work).code,
            frontier=self.distinct,
            low=0,
            high=0,
            wide=wide,
            index=self.table,
            slots=self.slots,
            found=self.distinct,
            end=0,
            room=0,
            successors=w.arguments.successors,
            rows=np.empty((w.spare, wide), np.int64),
            tally=w.tally,
            claims=w.claims,
        )

    def take(self, rows: Rows, low: int, high: int) -> int:
        """As in `Plain`."""
        a = self.arguments
        a.frontier, a.low, a.high = rows, low, high
        a.end, a.room = self.count, max(0, self.room - self.count)
        self.worker.kernel.run(gather_slice, self.words, a)
        self.count = a.end
        self.worker.note_raised()
        return a.low

    def _by_owner(self) -> tuple[Rows, Rows]:
        rows = self.distinct[: self.count]
        owner = owners_of(self.work, rows)
        return rows[np.argsort(owner, kind="stable")], np.bincount(owner, minlength=self.work.parts)


def owners_of(work: Work, rows: Rows) -> Rows:
    """The partition of the state that each row begins with."""
    owner = np.empty(len(rows), np.int64)
    native(owners)(work.kernel.words, rows, len(rows), rows.shape[1], work.parts, owner)
    return owner


def gathered(work: Work, parts: list[Rows]) -> Rows:
    """Wide rows of several tasks as one: each state once, with the least tag and the least origin."""
    total, wide = sum(len(rows) for rows in parts), work.kernel.wide_words
    merged = np.empty((total, wide), np.int64)
    slots = int(total / SIZES.load) + 16
    index, end = np.zeros(slots, np.int64), 0
    for rows in parts:
        end = native(gather)(work.kernel.words, rows, len(rows), wide, index, slots, merged, end)
    return merged[:end]


def fresh_rows(work: Work, rows: Rows, table: Rows, slots: int) -> Rows:
    """Those of the rows whose states an owner's table does not hold, each with its row."""
    keys, where, batch = work.keys(rows), np.empty(len(rows), np.int64), np.empty(BATCH, np.int64)
    n = native(unseen)(work.table_words, keys, len(keys), keys.shape[1], table, slots, where, batch)
    return np.ascontiguousarray(rows[where[:n]])


def insert_settled(work: Work, rows: Rows, table: Rows, slots: int) -> None:
    """Inserts the states that rows begin with into an owner's table, which holds none of them."""
    keys = work.keys(rows)
    native(put_back)(work.table_words, keys, len(keys), keys.shape[1], table, slots)


def with_origins(work: Work, levels: list[Rows]) -> Iterator[tuple[Rows, Rows]]:
    """Levels that were searched without: their states, and the origin of each (action -1: an initial state)."""
    words, level = work.kernel.words, levels[0]
    slots = whole_lines(int(sum(len(rows) for rows in levels) / SIZES.load + 16))
    table, exact = np.zeros(slots * words, np.int64), replace(work, key=())
    gathering = Wide(work, min(LOCAL, 16 * max(map(len, levels))))
    yield level, np.full((len(level), work.kernel.wide_words - words - 1), -1, np.int64)
    for before, after in pairwise(levels):
        insert_settled(exact, before, table, slots)
        low, parts = 0, []
        while low < len(before):
            low = gathering.take(before, low, len(before))
            parts.append(fresh_rows(exact, gathering.distinct[: gathering.count], table, slots))
            gathering.empty()
        rows = gathered(work, parts)
        if len(rows) != len(after):
            raise RuntimeError(f"a level of {len(after)} states has {len(rows)} origins: a bug of this program")
        yield np.ascontiguousarray(rows[:, :words]), rows[:, words + 1 :]
