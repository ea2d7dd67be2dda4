"""Level-synchronous breadth-first search over packed states: the table, the levels, and the threads that expand them.

One table of full states for all threads; a level's new states lie in the chunks of the thread that found them. Threads
take slices of the level from one list; they wait for each other at the end of a level, and where the table must grow.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Container, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.base.stop import Interrupted, StopReason, budget_ended
from reassure.checkers.native.codegen import Flag, Kernel
from reassure.checkers.native.table_text import BATCH

Rows = NDArray[np.int64]
LOAD = 0.65
"""How full the table gets before it grows. Beyond, chains of occupied slots become long."""
FULL = 0.9
"""How full it gets where the memory limit forbids that it grows."""
START = 1 << 16
"""Slots of the first table."""
GROWTH = ((1 << 22, 4.0), (1 << 24, 2.0), (1 << 62, 1.5))
"""Tables of up to so many slots grow by this factor: a step up moves all that is in it, a large table takes memory."""
KEPT = 1 << 16
"""Slots at the start of the table that are kept aside while it grows."""
CHUNK = 1 << 19
"""Words of a full-grown chunk of new states; the first ones are smaller."""
SLICE = 1 << 14
"""States that a thread takes at a time, at most."""
SMALL = 512
"""Levels with fewer states are done on one thread."""
BEAT = 0.1
"""Seconds between looks at the clock while threads work."""
APART = 16
"""Words that keep what two threads write out of one cache line."""


class OutOfMemory(Interrupted):
    """The next growth would pass the limit."""

    def __init__(self, text: str) -> None:
        super().__init__(StopReason.MEMORY, text)


class RaisedAt(Exception):
    """The kernel came to a place where Python raises, in the state of this row."""

    def __init__(self, row: Rows) -> None:
        self.row = row


def _room(bytes_wanted: int) -> Rows:
    """Zeros for a table that grows in place: addresses for so many bytes, or as many as are to be had.

    Memory is taken as it is written to, in huge pages where the system has them.
    """
    bytes_wanted = -(-bytes_wanted // mmap.PAGESIZE) * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    while True:
        try:
            memory = mmap.mmap(-1, bytes_wanted, flags=flags)
            break
        except OSError:
            bytes_wanted = bytes_wanted // 2 // mmap.PAGESIZE * mmap.PAGESIZE
            if bytes_wanted < 1 << 20:
                raise MemoryError("no memory for a table") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.int64, bytes_wanted // 8)


def _all_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _apart(words: int) -> Rows:
    return np.zeros(words + 2 * APART, np.int64)[APART : APART + words]


@dataclass
class Worker:
    """What one thread writes to."""

    out: Rows
    slots: Rows
    tally: Rows
    flags: Rows
    chunk: Rows
    """New states are appended here, from `at`; those of this level begin at `start`."""
    at: int = 0
    start: int = 0
    fresh: int = 0
    """New states of this level."""
    parts: list[Rows] = field(default_factory=list)
    """Earlier chunks with new states of this level."""

    @classmethod
    def of(cls, kernel: Kernel, tally: int) -> Worker:
        words, rows = kernel.layout.words, BATCH + kernel.max_successors
        chunk = np.empty((max(1 << 12, 4 * rows), words), np.int64)
        flags = kernel.claim_words
        return cls(np.zeros((rows, kernel.row_words), np.int64), _apart(rows), _apart(tally), _apart(flags), chunk)

    def close(self) -> list[Rows]:
        """The new states of the level that ends."""
        parts = [*self.parts, self.chunk[self.start : self.at]]
        self.parts, self.start, self.fresh = [], self.at, 0
        return [p for p in parts if len(p)]


@dataclass
class Search:
    """The state of one search: table, levels, counts."""

    kernel: Kernel
    module: ModuleType
    workers: list[Worker]
    memory_limit: int | None
    room: Rows
    """What the table may grow into."""
    slots: int
    levels: list[list[Rows]] = field(default_factory=list)
    beyond: list[Rows] = field(default_factory=list)
    """A level that was found and is not to be expanded."""
    known: int = 0
    """Distinct states up to the last level that is complete."""
    new: Rows = field(default_factory=lambda: np.zeros(128, np.int64))
    chunks: int = 0
    """Bytes of the chunks that are full."""

    @classmethod
    def of(cls, kernel: Kernel, module: ModuleType, workers: int, memory_limit: int | None) -> Search:
        made = [Worker.of(kernel, module.TALLY) for _ in range(workers)]
        room = min(memory_limit or _all_memory(), _all_memory())
        least = (
            8 * kernel.layout.words * START
        )  # whatever the limit: the table must not be shorter than it is said to be
        return cls(kernel, module, made, memory_limit, _room(max(room, least)), START)

    @property
    def words(self) -> int:
        return self.kernel.layout.words

    @property
    def table(self) -> Rows:
        return self.room[: self.slots * self.words]

    @property
    def distinct(self) -> int:
        return self.known + sum(w.fresh for w in self.workers)

    @property
    def memory(self) -> int:
        """Bytes held by table, levels and buffers."""
        return 8 * self.words * self.slots + self.chunks + sum(w.chunk.nbytes + w.out.nbytes for w in self.workers)

    def _fits(self, more: int) -> bool:
        return self.memory_limit is None or self.memory + more <= self.memory_limit

    def allow(self, more: int) -> None:
        """Raises `OutOfMemory` if with so many more bytes the limit would be passed."""
        if not self._fits(more):
            assert self.memory_limit is not None
            raise OutOfMemory(f"the memory limit of {self.memory_limit / 2**20:,.0f} MiB would be passed")

    def reserve(self, extra: int) -> int:
        """Makes sure that so many more states fit the table, growing it if need be; how many fit in all."""
        needed, wanted = self.distinct + extra, self.slots
        while needed > wanted * LOAD:
            wanted = int(wanted * next(factor for limit, factor in GROWTH if wanted <= limit))
        more = 8 * self.words * (wanted - self.slots)
        if wanted * self.words <= len(self.room) and self._fits(more):
            self._grow(wanted)
        elif needed > self.slots * FULL:
            self.allow(more)
            raise OutOfMemory("the memory of this machine would be passed")
        return int(self.slots * (LOAD if self.slots == wanted else FULL)) - self.distinct

    def _grow(self, slots: int) -> None:
        old, self.slots = self.slots, slots
        if slots > old and not self.module.spread(self.table, old, np.empty((KEPT, self.words), np.int64)):
            raise RuntimeError("a chain in the table is longer than can be: a bug of this program")

    def room_in(self, worker: Worker) -> int:
        """How many states a slice may append before its last batch; takes a new chunk if the old one is full."""
        spare = len(worker.out)
        if len(worker.chunk) - worker.at < 2 * spare:
            size = max(min(2 * len(worker.chunk), CHUNK // self.words), 4 * spare)
            self.allow(8 * self.words * size)
            self.chunks += worker.chunk.nbytes
            worker.parts.append(worker.chunk[worker.start : worker.at])
            worker.chunk = np.empty((size, self.words), np.int64)
            worker.at = worker.start = 0
        return len(worker.chunk) - worker.at - spare

    def compile(self) -> None:
        """Has everything the search needs compiled, or loaded from the cache, on arrays with nothing in them."""
        m, w = self.module, self.workers[0]
        nothing = np.zeros((0, self.words), np.int64)
        m.search_slice(nothing, 0, 0, self.table, w.chunk, 0, w.out, w.slots, w.tally, w.flags, 0)
        m.settle(self.table, nothing, 0, 0, w.slots, np.zeros(128, np.int64))
        m.spread(self.table, 0, nothing)
        m.seed(np.zeros(self.words << 4, np.int64), *([0] * self.words))

    def leave_off(self) -> int:
        """Ends before the last level, of so many states."""
        self.beyond = self.levels.pop()
        return sum(len(p) for p in self.beyond)

    def seed(self, rows: list[tuple[int, ...]]) -> None:
        """The initial states: the first level."""
        first = np.array(rows, np.uint64).view(np.int64).reshape(-1, self.words)
        self.reserve(len(first))
        for row in first:
            self.module.seed(self.table, *(int(w) for w in row))
        self.levels.append([first])
        self.known = len(first)


def slices(level: list[Rows], size: int) -> Iterator[tuple[Rows, int, int]]:
    """A level cut into pieces: array, first row, end."""
    for part in level:
        for low in range(0, len(part), size):
            yield part, low, min(low + size, len(part))


class Level:
    """Expands one level on all threads.

    stop: called now and then with the number of states left; raises to end the search.
    """

    def __init__(self, search: Search, stop: Callable[[int], None]) -> None:
        self.search = search
        self.stop = stop
        self.left = sum(len(p) for p in search.levels[-1])
        size = min(SLICE, max(SMALL, self.left // (4 * len(search.workers))))
        self.pending = list(slices(search.levels[-1], size))
        self.pending.reverse()
        self.halted = threading.Event()

    def run(self, pool: ThreadPoolExecutor | None) -> None:
        search = self.search
        while self.pending:
            self.left = sum(high - low for _, low, high in self.pending)  # threads that count down may miss one
            threads = search.workers if pool is not None else search.workers[:1]
            spare = len(threads[0].out)
            fits = search.reserve(len(threads) * (min(CHUNK, max(self.left * 4, 256)) + spare))
            share = fits // len(threads) - spare
            if pool is None:
                self._work(threads[0], share, lambda: self.stop(self.left))
            else:
                self._together(pool, [pool.submit(self._work, w, share) for w in threads])

    def _together(self, pool: ThreadPoolExecutor, jobs: list[Future[None]]) -> None:
        try:
            busy = set(jobs)
            while busy:
                done, busy = wait(busy, timeout=BEAT, return_when=FIRST_EXCEPTION)
                for job in done:
                    job.result()
                self.stop(self.left)
        finally:
            self.halted.set()
            wait(jobs)
            self.halted.clear()

    def _work(self, worker: Worker, share: int, beat: Callable[[], None] | None = None) -> None:
        """Takes slices until there are none, or `share` new states are found."""
        limit = worker.fresh + share
        while not self.halted.is_set() and worker.fresh < limit:
            try:
                part, low, high = self.pending.pop()
            except IndexError:
                return
            end = low
            try:
                room = min(self.search.room_in(worker), limit - worker.fresh)
                end = self._slice(worker, part, low, high, room)
            finally:
                self.left -= end - low
                if end < high:
                    self.pending.append((part, end, high))
            if beat is not None:
                beat()

    def _slice(self, worker: Worker, part: Rows, low: int, high: int, room: int) -> int:
        m, before = self.search.module, worker.at
        end, worker.at = m.search_slice(
            part,
            low,
            high,
            self.search.table,
            worker.chunk,
            worker.at,
            worker.out,
            worker.slots,
            worker.tally,
            worker.flags,
            room,
        )
        worker.fresh += worker.at - before
        if worker.tally[m.ERROR]:
            raise RaisedAt(part[worker.tally[m.ERROR] - 1].copy())
        return int(end)

    def finish(self, pool: ThreadPoolExecutor | None) -> None:
        """Counts the new states by action and makes them the next level."""
        search = self.search
        search.known = search.distinct
        parts = [p for w in search.workers for p in w.close()]

        def settle(piece: tuple[Rows, int, int]) -> Rows:
            new = _apart(128)
            search.module.settle(search.table, *piece, np.empty(BATCH, np.int64), new)
            return new

        pieces = list(slices(parts, SLICE))
        for new in pool.map(settle, pieces) if pool is not None else map(settle, pieces):
            search.new += new
        if parts:
            search.levels.append(parts)


@dataclass
class Seen:
    """The first level on which each claim was hit."""

    levels: dict[Flag, int] = field(default_factory=dict)

    def note(self, level: int, workers: list[Worker]) -> None:
        """Takes over what the workers saw on a level."""
        for w in workers:
            self.note_words(level, w.flags)
            w.flags[:] = 0

    def note_words(self, level: int, flags: Rows) -> None:
        for number, word in enumerate(flags.tolist()):
            for bit in range(63):
                if word >> bit & 1:
                    self.levels.setdefault((number, bit), level)

    def fallen(self, kernel: Kernel, claims: Container[str]) -> dict[str, int]:
        """Of these claims (and "deadlock"), those hit: the states of their shortest traces."""
        return {
            name: self.levels[flag] + (flag[0] > 0)
            for name, flag in kernel.flags().items()
            if name in claims and flag in self.levels
        }


class Clock:
    """Ends a search when its time is over."""

    def __init__(self, budget: float | None) -> None:
        self.began = time.monotonic()
        self.budget = budget

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def look(self) -> None:
        if self.budget is not None and self.seconds > self.budget:
            raise budget_ended(self.budget)
