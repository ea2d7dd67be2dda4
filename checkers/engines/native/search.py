"""Level-synchronous breadth-first search over packed states: the levels, and the threads that expand them.

One table of full states for all threads; a level's new states lie in the chunks of the thread that found them. Threads
take slices of the level from one list; they wait for each other at the end of a level, and where the table must grow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from reassure.checkers.engines.native.kernels import search_loop, state_table
from reassure.checkers.engines.native.kernels.growing_table import GrowingTable
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, Rows
from reassure.checkers.engines.native.kernels.model_code import ERROR
from reassure.checkers.engines.native.kernels.state_table import BATCH, MAX_TAG, home_of, insert_state, settle
from reassure.checkers.engines.native.levels import (
    SIZES,
    FirstHits,
    Levels,
    SearchSizes,
    Threads,
    finish,
    shares,
    slices,
)
from reassure.checkers.engines.native.translator.language import Words, wrap
from reassure.checkers.engines.native.translator.native_function import native, prepare_kernels
from reassure.checkers.engines.native.translator.word_rows import MAPPED, WordRows, zeros
from reassure.checkers.machine import polled_interrupts
from reassure.checkers.machine.memory import MemoryLimit, OutOfMemory, process_memory
from reassure.checkers.machine.stop import budget_ended

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from reassure.checkers.engines.native.level_file import LevelFile

LEAST_GROWTH = 1.1
"""The factor by which a table at least grows, where the memory limit forbids its usual step."""
APART = 16
"""Words that keep what two threads write out of one cache line."""


class RaisedAt(Exception):
    """The kernel came to a place where Python raises, in the state of this row."""

    def __init__(self, row: Rows) -> None:
        self.row = row


def _apart(words: int) -> memoryview:
    return zeros(words + 2 * APART)[APART : APART + words]


class Worker:
    """The buffers that one thread writes to."""

    def __init__(self, kernel: Kernel) -> None:
        words, rows = kernel.words, BATCH + kernel.shape.max_successors
        self.kernel = kernel
        self.tally, self.claims = _apart(kernel.shape.tally_words), _apart(kernel.shape.claim_words)
        nothing = zeros(0)
        self.arguments = search_loop.SliceArguments(
            model=kernel.code, frontier=nothing, low=0, high=0, table=nothing, slots=0, found=nothing, end=0, room=0,
            successors=zeros(rows * kernel.shape.row_words), batch=_apart(2 * rows),
            tally=self.tally, claims=self.claims,
        )  # fmt: skip
        self.words, self.spare = words, rows
        """Rows that the last batch of a slice may need."""
        self.chunk = WordRows.zeros(max(1 << 12, 4 * rows), words)
        """New states are appended here, up to row `end`; those of this level begin at row `start`."""
        self.start = self.end = 0
        self.before = 0
        """Where the level before, if it lies in this chunk as a whole, begins."""
        self.fresh = 0
        """New states of this level."""
        self.raised = False
        """Whether the model raises in a state that was expanded."""
        self.parts: list[WordRows] = []
        """Earlier chunks with new states of this level."""

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return self.chunk.nbytes + 8 * self.spare * self.arguments.model.row_words

    def expand(self, rows: WordRows | Rows, low: int, high: int, table: Words, slots: int, room: int) -> int:
        """Expands rows low..high-1, or fewer: until more than `room` new states are found. The next row to expand."""
        a, before = self.arguments, self.end
        a.frontier, a.low, a.high, a.table, a.slots = rows, low, high, table, slots  # type: ignore[assignment]
        a.found, a.end, a.room = self.chunk.memory, self.end, room
        self.kernel.run(search_loop.search_slice, self.words, a)
        self.end = a.end
        self.fresh += a.end - before
        self.note_raised()
        return a.low

    def note_raised(self) -> None:
        """Takes over from the tally that the model raised in a state that was just expanded."""
        if self.tally[ERROR]:
            self.raised, self.tally[ERROR] = True, 0

    def forget_claims(self) -> None:
        """Begins to note claims anew."""
        for k in range(len(self.claims)):
            self.claims[k] = 0

    def new_states(self) -> list[WordRows]:
        """The new states of the level that is being found."""
        return [p for p in (*self.parts, self.chunk[self.start : self.end]) if len(p)]

    def close_level(self) -> list[WordRows]:
        """The new states of the level that ends."""
        parts = self.new_states()
        self.before = self.end if self.parts else self.start
        self.parts, self.start, self.fresh = [], self.end, 0
        return parts


def _nothing(left: int) -> None:
    """Lets a search go on."""


class Search:
    """One search: table, levels, counts."""

    def __init__(
        self, kernel: Kernel, workers: int, memory_limit: int | None = None, sizes: SearchSizes = SIZES
    ) -> None:
        """workers: threads. memory_limit: bytes for table, levels and buffers together, and what the process
        has already (`MemoryLimit.less`); None: what is free now."""
        self.kernel, self.limit, self.sizes = kernel, MemoryLimit.of(memory_limit).less(process_memory()), sizes
        self.table = GrowingTable(kernel.words, self.limit.bytes, sizes.table)
        self.workers = [Worker(kernel) for _ in range(workers)]
        self.found = Levels()
        self.beyond: list[WordRows] = []
        """A level that was found and is not to be expanded."""
        self.raised_on: int | None = None
        """The level with states in which the model raises; none is searched after it."""
        self.known = 0
        """Distinct states up to the last level that is complete."""
        self.unexpanded = 0
        """States of the last level that were not expanded, as of the last look."""
        self.hits = FirstHits()
        self.chunk_bytes = 0
        """Bytes of the chunks that are full and in memory."""
        self.file: LevelFile | None = None
        """Where full chunks are from when memory ends."""
        self._full: list[WordRows] = []
        self._moving = threading.RLock()
        self._new_by_tag = [0] * (MAX_TAG + 2)

    @property
    def words(self) -> int:
        """Words of a state."""
        return self.kernel.words

    @property
    def distinct(self) -> int:
        """Distinct states found so far."""
        return self.known + sum(w.fresh for w in self.workers)

    @property
    def tally(self) -> list[int]:
        """The tallies of all workers, added up."""
        return [sum(counts) for counts in zip(*(w.tally for w in self.workers), strict=True)]

    @property
    def new_by_action(self) -> list[int]:
        """By action: states that it was the first to reach, of the levels that are complete."""
        return self._new_by_tag[1 : 1 + self.kernel.shape.actions]

    @property
    def memory(self) -> int:
        """Bytes held by table, levels and buffers."""
        return self.table.nbytes + self.chunk_bytes + sum(w.nbytes for w in self.workers)

    @property
    def disk(self) -> int:
        """Bytes of levels that were moved to disk, memory being full."""
        return self.file.nbytes if self.file is not None else 0

    def allow(self, more: int) -> None:
        """Raises `OutOfMemory` if with so many more bytes the limit would be passed."""
        self._has_room(more)
        self.limit.allow(self.memory + more, self.file.refusal if self.file is not None else "")

    def _has_room(self, more: int) -> bool:
        """Whether so many more bytes are within the limit; moves full chunks to disk before they are not.

        Other threads may read these chunks meanwhile: their addresses and their content stay.
        """
        with self._moving:
            if self.memory + more > self.limit.bytes and self._full:
                self._move_to_disk()
            return self.memory + more <= self.limit.bytes

    def _move_to_disk(self) -> None:
        from reassure.checkers.engines.native.level_file import LevelFile  # few searches need it

        self.file = self.file or LevelFile()
        self.chunk_bytes -= sum(chunk.nbytes for chunk in self._full if self.file.take(chunk.memory))
        self._full = []

    def reserve(self, extra: int, pool: ThreadPoolExecutor | None = None, least: int | None = None) -> int:
        """Grows the table, if need be, for so many more states; how many more fit in all.

        pool: threads that grow it. least: how many must fit, where the limit forbids growth (default: all).
        """
        needed, slots, sizes = self.distinct + extra, self.table.slots, self.sizes.table
        grown = sizes.slots_for(needed, slots)
        more = 8 * self.words * (grown - slots)
        if self.table.fits(grown) and self._has_room(more + self._next_chunks):
            self.table.grow(grown, pool)
        elif (most := self._most_slots()) >= slots * LEAST_GROWTH:
            self.table.grow(most, pool)
            return self.reserve(extra, pool, least)
        elif self.distinct + (extra if least is None else least) > slots * sizes.full:
            self.allow(more)
            raise OutOfMemory("the system has no addresses for a larger table")
        share = sizes.load if self.table.slots == grown else sizes.full
        return int(self.table.slots * share) - self.distinct

    def _most_slots(self) -> int:
        """The largest table that the limit allows beside what is held and the next chunk of each worker."""
        left = self.limit.bytes - self.memory - self._next_chunks
        return self.table.most(self.table.slots + left // (8 * self.words))

    @property
    def _next_chunks(self) -> int:
        """Bytes of the next chunk of each worker."""
        return sum(8 * self.words * self._rows_after(w) for w in self.workers)

    def _rows_after(self, worker: Worker) -> int:
        """Rows of the next chunk of a worker."""
        return max(min(2 * len(worker.chunk), -(-self.sizes.chunk // self.words)), 4 * worker.spare)

    def room_in(self, worker: Worker) -> int:
        """States that a slice may append before its last batch; takes a new chunk if the old one is full."""
        if len(worker.chunk) - worker.end < 2 * worker.spare:
            size, full = self._rows_after(worker), worker.chunk
            with self._moving:  # so that no other thread counts the chunk twice, and it can itself be moved
                worker.parts.append(full[worker.start : worker.end])
                self.chunk_bytes, worker.chunk = self.chunk_bytes + full.nbytes, WordRows.zeros(0, self.words)
                worker.end = worker.start = worker.before = 0
                if full.nbytes >= MAPPED:
                    self._full.append(full)
                self.allow(8 * self.words * size)
                worker.chunk = WordRows.zeros(size, self.words)
        return len(worker.chunk) - worker.end - worker.spare

    def release_table(self) -> None:
        """Gives the memory of the table back, the search being over; the levels stay."""
        self.table.release()

    def warm_up(self) -> None:
        """Has everything the search needs compiled, or loaded from the cache, before its time is taken."""
        prepare_kernels(search_loop, words=self.words)
        prepare_kernels(state_table, words=self.words)

    def seed(self, rows: list[tuple[int, ...]]) -> None:
        """The initial states: the first level."""
        first = WordRows.zeros(len(rows), self.words)
        self.reserve(len(first))
        table, slots = self.table.array, self.table.slots
        for number, row in enumerate(rows):
            state = tuple(map(wrap, row))
            native(insert_state)(table, slots, native(home_of)(state, slots), state, 0)
            for k, word in enumerate(state, number * self.words):
                first.memory[k] = word
        self.found.append([first])
        self.known = len(first)

    def levels(self, stop: Callable[[int], None] = _nothing, last: int | None = None) -> Iterator[int]:
        """Expands one level after the other; yields the number of each (from 1) before it is expanded.

        Several small levels may be expanded at a time, up to level `last`, and up to the first one that hits a claim
        that no other has hit. Ends when every reachable state was visited, or after a level with a state in which the
        model raises; the caller may end it before. stop: called now and then with the number of states of the level
        that are left; raises to end the search. What the levels hit is in `hits`.
        """

        def noting(left: int) -> None:
            self.unexpanded = left
            if self.file is not None:
                self.file.forget()
            stop(left)

        with Threads(len(self.workers)) as threads:
            while True:
                number = len(self.found)
                yield number
                if self._expand_small(number, last):
                    noting(left := self.workers[0].start - self.workers[0].before)
                    if not left or self.raised_on is not None:
                        return
                    continue
                level = Level(self, noting)
                self.unexpanded = level.left
                pool = threads.pool if len(self.workers) > 1 and level.left >= self.sizes.small else None
                try:
                    level.run(pool)
                finally:
                    self._note_hits(number, self.workers)
                    if any(w.raised for w in self.workers):
                        self.raised_on = number
                self.unexpanded = 0
                if not level.finish(pool) or self.raised_on is not None:
                    return

    def _expand_small(self, number: int, last: int | None) -> bool:
        """Expands level `number` and those after it in one call, as long as they are small; False if there are none."""
        worker, sizes, low = self.workers[0], self.sizes, self.workers[0].before
        most = sizes.levels if last is None else min(sizes.levels, last + 1 - number)
        size = worker.start - low
        if most < 1 or size > sizes.small or size != sum(map(len, self.found[-1])):
            return False
        a, spare, first = worker.arguments, worker.spare, worker.start
        fits = self.reserve(min(max(size * 4, 256), self.table.slots // 8) + spare, least=2 * spare) - spare
        room = min(self.room_in(worker), fits)
        if first != worker.start:  # there is a new chunk
            return False
        by_tag, ends = zeros(len(self._new_by_tag)), zeros(most)
        claims, known = worker.claims, self.hits.known(len(worker.claims))
        levels = search_loop.LevelsArguments(
            model=a.model,
            table=self.table.array,
            slots=self.table.slots,
            found=worker.chunk.memory,
            low=low,
            end=first,
            room=room,
            successors=a.successors,
            batch=a.batch,
            tally=worker.tally,
            claims=claims,
            known=known,
            by_tag=by_tag,
            ends=ends,
            levels=most,
            small=sizes.small,
            states=sizes.states,
            max_successors=self.kernel.shape.max_successors,
        )
        if not (expanded := self.kernel.run(search_loop.search_levels, self.words, levels)):
            return False
        self.found.append_all(worker.chunk, first, ends[: expanded - (levels.low == levels.end)])
        worker.before, worker.start, worker.end = levels.low, levels.end, levels.end
        self.known += levels.end - first
        self._count_new(by_tag)
        self._note_hits(number + expanded - 1, [worker])
        worker.note_raised()
        if worker.raised:
            self.raised_on = number + expanded - 1
        return True

    def _note_hits(self, level: int, workers: list[Worker]) -> None:
        """Takes over the claims that workers hit on a level."""
        for w in workers:
            self.hits.note_words(level, w.claims)
            w.forget_claims()

    def begin(self, rows: list[tuple[int, ...]]) -> None:
        """Takes the initial states. Raises `OutOfMemory` if the tables alone are too large."""
        self.allow(0)
        self.seed(rows)

    @property
    def depth(self) -> int:
        """Levels that were expanded, or were to be when the search ended."""
        return len(self.found)

    @property
    def frontier(self) -> int:
        """States that were found and not expanded."""
        rest = sum(len(part) for part in self.beyond)
        return rest or self.unexpanded + sum(w.fresh for w in self.workers)

    def leave_off(self) -> None:
        """Ends before the last level, which is not expanded."""
        self.beyond = self.found.pop()

    def settle(self, parts: list[WordRows], pool: ThreadPoolExecutor | None) -> None:
        """Counts the new states of a level by the action that reached them first, and removes their tags."""

        def settled(piece: tuple[WordRows, int, int]) -> memoryview:
            by_tag, (rows, low, high) = _apart(len(self._new_by_tag)), piece
            array, slots, batch = self.table.array, self.table.slots, zeros(BATCH)
            native(settle)(self.words, array, slots, rows.memory, low, high, batch, by_tag)
            return by_tag

        pieces = list(slices(parts, self.sizes.slice))
        for number, by_tag in enumerate(pool.map(settled, pieces) if pool is not None else map(settled, pieces)):
            self._count_new(by_tag)
            if self.file is not None and number % self.sizes.forget == 0:
                self.file.forget()

    def _count_new(self, by_tag: memoryview) -> None:
        self._new_by_tag = [known + new for known, new in zip(self._new_by_tag, by_tag, strict=True)]


class Level:
    """Expands the last level of a search on all threads."""

    def __init__(self, search: Search, stop: Callable[[int], None]) -> None:
        """stop: see `Search.levels`."""
        self.search = search
        self.stop = stop
        self.left = sum(len(p) for p in search.found[-1])
        """States that are not expanded yet."""
        self.pending = list(shares(search.found[-1], self.left, len(search.workers), search.sizes))
        self.pending.reverse()
        self.halted = threading.Event()

    def run(self, pool: ThreadPoolExecutor | None) -> None:
        """Expands the level; without a pool in this thread."""
        search = self.search
        while self.pending:
            self.left = sum(high - low for _, low, high in self.pending)  # threads that count down may miss one
            workers = search.workers if pool is not None else search.workers[:1]
            spare = workers[0].spare
            wanted = min(max(self.left * 4, 256), search.table.slots // 8) + len(workers) * spare
            fits = search.reserve(wanted, pool, least=2 * len(workers) * spare)
            share = fits // len(workers) - spare
            if pool is None:
                self._work(workers[0], share, lambda: self.stop(self.left))
            else:
                self.halted.clear()
                jobs = [pool.submit(self._work, w, share) for w in workers]
                finish(jobs, lambda: self.stop(self.left), self.halted.set)

    def _work(self, worker: Worker, share: int, beat: Callable[[], None] | None = None) -> None:
        """Takes slices until there are none, or `share` new states are found."""
        limit, table = worker.fresh + share, self.search.table
        array, slots = table.array, table.slots
        while not self.halted.is_set() and worker.fresh < limit:
            try:
                part, low, high = self.pending.pop()
            except IndexError:
                return
            end = low
            try:
                room = min(self.search.room_in(worker), limit - worker.fresh)
                following = worker.expand(part, low, high, array, slots, room)
                end = following
            finally:
                self.left -= end - low
                if end < high:
                    self.pending.append((part, end, high))
            if beat is not None:
                beat()

    def finish(self, pool: ThreadPoolExecutor | None) -> bool:
        """Makes the new states the next level; whether there are any."""
        search = self.search
        search.known = search.distinct
        parts = [p for w in search.workers for p in w.close_level()]
        search.settle(parts, pool)
        if parts:
            search.found.append(parts)
        return bool(parts)


class Clock:
    """Ends a search when its time is over."""

    def __init__(self, budget: float | None) -> None:
        self.began = time.monotonic()
        self.budget = budget
        self.reserved = 0.0
        """Seconds that are kept for what follows."""

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self.began

    def reserve(self, seconds: float) -> None:
        """Keeps so many seconds of the budget, half of it at most, for what follows."""
        self.reserved = min(seconds, (self.budget or 0) / 2)

    def look(self) -> None:
        """Raises `Interrupted` when the budget is spent, but for what is reserved, or Ctrl-C has ended a proof that
        this search is part of."""
        self._look(self.reserved)

    def look_to_the_end(self) -> None:
        """As `look`; what is reserved is spent."""
        self._look(0)

    def _look(self, reserved: float) -> None:
        polled_interrupts.look()
        if self.budget is not None and self.seconds > self.budget - reserved:
            raise budget_ended(self.budget)
