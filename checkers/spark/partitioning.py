"""What a task of a distributed search finds: distinct successors, in parcels by owner, bare or with their origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from types import ModuleType

import numpy as np

from reassure.checkers.native import fingerprints
from reassure.checkers.native.codegen import Kernel
from reassure.checkers.native.kernel_cache import loaded
from reassure.checkers.native.search import LOAD, Rows, Worker
from reassure.checkers.native.table_text import BATCH

LOCAL = 1 << 20
"""Distinct successors that a task gathers before it sends them to their owners."""
PARCEL = 1 << 22
"""Bytes of one parcel, at the most."""


@dataclass(frozen=True)
class Work:
    """What every task has to know; shipped with it."""

    run: str
    """Names the caches of this run."""
    place: str
    """The run directory."""
    kernel: Kernel
    """With parameters: states are kept with the steps they come by."""
    parts: int
    key: fingerprints.Key = ()
    """Of fingerprints; none: tables hold whole states."""

    @property
    def wide(self) -> bool:
        """Whether states travel in wide rows (`checkers.native.owner_text`)."""
        return self.kernel.parameter_words is not None or bool(self.key)

    @property
    def table_words(self) -> int:
        """Words of a slot of an owner's table."""
        return fingerprints.WORDS if self.key else self.kernel.layout.words

    @property
    def table_module(self) -> ModuleType:
        """Has the functions of an owner's table."""
        return fingerprints.module() if self.key else module_of(self)

    def keys(self, rows: Rows) -> Rows:
        """What an owner's table holds of the states that these rows begin with."""
        return fingerprints.fingerprints(rows, self.key) if self.key else rows


_modules: dict[str, ModuleType] = {}


def module_of(work: Work) -> ModuleType:
    source = work.kernel.source
    if source not in _modules:
        _modules[source] = loaded(source)
    return _modules[source]


class Plain:
    """The distinct successors that a task has found, each with the tag that a table keeps."""

    def __init__(self, work: Work, room: int) -> None:
        self.work, self.room, self.module = work, room, module_of(work)
        self.worker = Worker.of(work.kernel, self.module.TALLY)
        self.at, self.rows = 0, room + 2 * len(self.worker.out)
        self._begin(int(self.rows / LOAD))

    def _begin(self, slots: int) -> None:
        words = self.work.kernel.layout.words
        self.found, self.table = np.empty((self.rows, words), np.int64), np.zeros(slots * words, np.int64)

    def take(self, rows: Rows, low: int, high: int) -> int:
        """Expands some rows, until there is no more room; the next to be expanded."""
        w = self.worker
        end, self.at = self.module.search_slice(
            rows, low, high, self.table, self.found, self.at, w.out, w.slots, w.tally, w.flags,
            max(0, self.room - self.at),
        )  # fmt: skip
        return int(end)

    def _by_owner(self) -> tuple[Rows, Rows]:
        out, counts = np.empty_like(self.found[: self.at]), np.zeros(self.work.parts, np.int64)
        self.module.parcel(self.table, self.found, self.at, self.work.parts, self.worker.slots, counts, out)
        return out, counts

    def parcels(self, unknown: Callable[[int, Rows], Rows]) -> Iterator[tuple[int, bytes]]:
        """What was found, as much of it as an owner is to be sent, in parcels; then there is room again."""
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
        self.at = 0


class Wide(Plain):
    """The same in wide rows, as `checkers.native.owner_text` has them."""

    def _begin(self, slots: int) -> None:
        wide = self.work.kernel.wide_words
        self.found, self.table = np.empty((self.rows, wide), np.int64), np.zeros(slots, np.int64)
        self.batch = np.empty((len(self.worker.out), wide), np.int64)

    def take(self, rows: Rows, low: int, high: int) -> int:
        w = self.worker
        end, self.at = self.module.gather_slice(
            rows, low, high, self.table, self.found, self.at, w.out, self.batch, w.tally, w.flags,
            max(0, self.room - self.at),
        )  # fmt: skip
        return int(end)

    def _by_owner(self) -> tuple[Rows, Rows]:
        owner, found = np.empty(self.at, np.int64), self.found[: self.at]
        self.module.owners(found, self.work.parts, owner)
        return found[np.argsort(owner, kind="stable")], np.bincount(owner, minlength=self.work.parts)


def gathered(work: Work, parts: list[Rows]) -> Rows:
    """Wide rows of several tasks as one: each state once, with the least tag and the least origin."""
    total = sum(len(rows) for rows in parts)
    found = np.empty((total, work.kernel.wide_words), np.int64)
    index, at = np.zeros(int(total / LOAD) + 16, np.int64), 0
    for rows in parts or [found]:
        at = module_of(work).gather(rows, len(rows), index, found, at)
    return found[:at]


def fresh(work: Work, rows: Rows, table: Rows) -> Rows:
    """Those of the rows whose states an owner's table does not hold, each with its row."""
    where, slots = np.empty(len(rows), np.int64), np.empty(BATCH, np.int64)
    n = work.table_module.unseen(work.keys(rows), table, where, slots)
    return np.ascontiguousarray(rows[where[:n]])


def with_origins(work: Work, levels: list[Rows]) -> Iterator[tuple[Rows, Rows]]:
    """Levels that were searched without: their states, and the origin of each (action -1: an initial state)."""
    words, level = work.kernel.layout.words, levels[0]
    table = np.zeros(int(sum(len(rows) for rows in levels) / LOAD + 16) * words, np.int64)
    exact = replace(work, key=())
    gathering = Wide(work, min(LOCAL, 16 * max(map(len, levels))))
    yield level, np.full((len(level), work.kernel.wide_words - words - 1), -1, np.int64)
    for before, after in pairwise(levels):
        module_of(work).put_back(before, table)
        low, parts = 0, []
        while low < len(before):
            low = gathering.take(before, low, len(before))
            parts.append(fresh(exact, gathering.found[: gathering.at], table))
            gathering.empty()
        rows = gathered(work, parts)
        if len(rows) != len(after):
            raise RuntimeError(f"a level of {len(after)} states has {len(rows)} origins: a bug of this program")
        yield np.ascontiguousarray(rows[:, :words]), rows[:, words + 1 :]
