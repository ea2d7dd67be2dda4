"""The memory of a state table: it grows in place, in steps, as far as the machine's memory goes."""

from __future__ import annotations

import mmap
import os
import sys
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from reassure.checkers.engines.native.kernels.state_table import move_all, spread, spread_part
from reassure.checkers.engines.native.translator.language import LANES, Words
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.native.translator.word_rows import zeros
from reassure.checkers.machine.memory import memory_of_machine
from reassure.spec.language.light_dataclasses import dataclass

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

NO_RESERVE: int = getattr(
    mmap,
    "MAP_NORESERVE",  # from Python 3.13 on
    0x4000 if sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64") else 0,
)
"""The flag of `mmap` for addresses that do not count as memory: with those of two tables Linux refuses a `fork`."""


def whole_lines(slots: int) -> int:
    """The next number of slots that fills lines of `LANES`, as a table of one-word states must."""
    return -(-slots // LANES) * LANES


@dataclass(frozen=True)
class TableSizes:
    """The size of a table, and the load at which it grows."""

    first: int = 1 << 16
    """Slots of a new table."""
    load: float = 0.65
    """The share of slots in use beyond which a table grows: chains of occupied slots become long."""
    full: float = 0.95
    """The share that is accepted where the memory limit forbids growth."""
    growth: tuple[tuple[int, float], ...] = ((1 << 22, 4.0), (1 << 24, 2.0), (1 << 62, 1.5))
    """(slots, factor): tables of up to so many slots grow by this factor. A step moves all states; a large table takes
    memory."""
    spare: int = 1 << 16
    """Slots at the start of a table whose states are kept aside while it grows."""
    by_one: int = 1 << 19
    """Slots whose states one thread moves."""

    def slots_for(self, states: int, slots: int) -> int:
        """The size to which a table of so many slots grows for so many states."""
        while states > slots * self.load:
            slots = whole_lines(int(slots * next(factor for limit, factor in self.growth if slots <= limit)))
        return slots


SIZES = TableSizes()
PARTS = 8
"""Parts of a table that threads move at a time."""


def spread_states(
    words: int, table: Words, old: int, slots: int, sizes: TableSizes = SIZES, pool: ThreadPoolExecutor | None = None
) -> None:
    """Moves the states of a table of `old` slots to their places among `slots` slots that begin in the same place.

    pool: moves the upper slots, whose places are behind those that it moves at the time, on all its threads.
    """
    left, aside = old, list[memoryview]()
    while pool is not None and left > sizes.by_one:
        low = whole_lines(-(-left * old // slots))  # what is moved from here on goes behind what is still to be moved
        if low >= left:
            break
        edges = [low + (left - low) * k // PARTS // LANES * LANES for k in range(PARTS)] + [left]
        moved = partial(_spread_part, words, table, old, slots, sizes.spare)
        aside += pool.map(moved, pairwise(edges))
        left = low
    _spread_rest(words, table, left, slots, sizes)
    for rows in aside:
        native(move_all)(words, rows, len(rows) // words, table, slots)


def _spread_part(words: int, table: Words, old: int, slots: int, room: int, part: tuple[int, int]) -> memoryview:
    """Moves the states of some slots to the places behind them; the few that belong elsewhere are returned."""
    low, high = part
    first, end = (slots if edge == old else edge * slots // old // LANES * LANES for edge in part)
    aside = zeros(room * words)
    n = native(spread_part)(words, table, low, high, slots, first, end, aside, room)
    if n > room:
        raise RuntimeError("a chain in the table is longer than can be: a bug of this program")
    return memoryview(bytearray(aside[: n * words])).cast("q")


def _spread_rest(words: int, table: Words, old: int, slots: int, sizes: TableSizes) -> None:
    """Moves the states of the first `old` slots."""
    spare = zeros(sizes.spare * words)
    if slots > old and not native(spread)(words, table, old, slots, spare, sizes.spare):
        raise RuntimeError("a chain in the table is longer than can be: a bug of this program")


def addresses(bytes_wanted: int) -> mmap.mmap:
    """Zeros for a table that grows in place: addresses for so many bytes, or as many as are to be had.

    Memory is taken when it is first written, in huge pages where the system has them. Raises `MemoryError`.
    """
    bytes_wanted = -(-bytes_wanted // mmap.PAGESIZE) * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
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
    return memory


class GrowingTable:
    """A table of states (`native.state_table`) in memory of this process."""

    def __init__(self, words: int, limit: int, sizes: TableSizes = SIZES) -> None:
        """words: of a state. limit: bytes that the table may grow to, at the most."""
        self.words, self.sizes, self.slots = words, sizes, sizes.first
        most = min(limit, memory_of_machine())
        self.memory = addresses(max(most, 8 * words * sizes.first))  # never shorter than its slots
        self.room = memoryview(self.memory).cast("q")

    @property
    def array(self) -> memoryview:
        """The slots in use, as words."""
        return self.room[: self.slots * self.words]

    @property
    def nbytes(self) -> int:
        """Bytes of the slots."""
        return 8 * self.words * self.slots

    def fits(self, slots: int) -> bool:
        """Whether the machine has addresses for so many slots."""
        return slots * self.words <= len(self.room)

    def most(self, slots: int) -> int:
        """The most slots, so many at most, that fill whole lines and for which the machine has addresses."""
        return min(slots, len(self.room) // self.words) // LANES * LANES

    def release(self) -> None:
        """Gives the memory back, so that what is allocated next takes pages that the machine has at hand."""
        self.slots = 0
        if hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)

    def grow(self, slots: int, pool: ThreadPoolExecutor | None = None) -> None:
        """Grows to so many slots. pool: threads that move its states."""
        old, self.slots = self.slots, slots
        spread_states(self.words, self.array, old, slots, self.sizes, pool)
