"""The levels of a search: where their states lie, pieces for threads, the first that hits a claim."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

from reassure.checkers.engines.native.kernels.growing_table import SIZES as TABLE_SIZES
from reassure.checkers.engines.native.kernels.growing_table import TableSizes
from reassure.checkers.engines.native.translator.word_rows import WordRows, zeros
from reassure.spec.language.light_dataclasses import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from reassure.checkers.engines.native.kernels.kernel_shape import Rows
    from reassure.checkers.engines.native.model.kernel_numbers import Flag, ModelKernel

AnyRows = TypeVar("AnyRows", WordRows, "Rows")
BEAT = 0.1
"""Seconds between looks at the clock while threads work."""


@dataclass(frozen=True)
class SearchSizes:
    """Sizes of a search's buffers and pieces of work; results do not depend on them."""

    table: TableSizes = TABLE_SIZES
    chunk: int = 1 << 19
    """Words of a full-grown chunk of new states; the first ones are smaller."""
    slice: int = 1 << 14
    """States that a thread takes at a time, at most."""
    least: int = 1 << 11
    """At least, where several threads are at work."""
    small: int = 512
    """Levels with fewer states are expanded by one thread."""
    levels: int = 1 << 14
    """Small levels that are expanded in one call, at most."""
    forget: int = 64
    """Pieces of levels on disk after whose reading their memory is given back."""
    states: int = 1 << 16
    """States after which such a call returns, so that somebody looks at the clock."""


SIZES = SearchSizes()


class Levels:
    """By level: its states, in parts. A small level in one part is kept as its two ends in a chunk."""

    def __init__(self) -> None:
        self._levels: list[list[WordRows] | tuple[WordRows, int, int]] = []

    def __len__(self) -> int:
        return len(self._levels)

    def __getitem__(self, number: int) -> list[WordRows]:
        level = self._levels[number]
        if isinstance(level, list):
            return level
        chunk, low, high = level
        return [chunk[low:high]]

    def __iter__(self) -> Iterator[list[WordRows]]:
        return map(self.__getitem__, range(len(self)))

    def together(self, level: int, lowest: int, states: int) -> tuple[WordRows, list[int]] | None:
        """The small levels, with so many states at most, that lie one after the other and end with this one.

        The chunk, where each of them begins in it, the lowest level first, and where the last one ends. Levels count
        from 1. None: the level lies by itself.
        """
        last = self._levels[level - 1]
        if isinstance(last, list):
            return None
        chunk, low, end = last
        ends = [end, low]
        for number in range(level - 2, lowest - 2, -1):
            before = self._levels[number]
            if isinstance(before, list) or before[0] is not chunk or end - before[1] > states:
                break
            ends.append(before[1])
        return chunk, ends[::-1]

    @property
    def arrays(self) -> list[list[Rows]]:
        """By level: its states, in parts, as numpy takes them."""
        return [as_arrays(parts) for parts in self]

    def append(self, parts: list[WordRows]) -> None:
        """Adds a level."""
        self._levels.append(parts)

    def append_all(self, chunk: WordRows, low: int, ends: Iterable[int]) -> None:
        """Adds levels that lie one after the other in a chunk, the first from row `low` on."""
        bounds = [low, *ends]
        self._levels += zip(repeat(chunk), bounds, bounds[1:])

    def pop(self) -> list[WordRows]:
        """Removes the last level; its states."""
        last = self[-1]
        self._levels.pop()
        return last


@dataclass
class FirstHits:
    """The first level on which each claim was hit."""

    levels: dict[Flag, int] = field(default_factory=dict)

    def known(self, words: int) -> memoryview:
        """The claims that were hit, by word and bit."""
        known = zeros(words)
        for number, bit in self.levels:
            known[number] |= 1 << bit
        return known

    def note_words(self, level: int, claims: Iterable[int]) -> None:
        """Takes over claims, by word and bit."""
        for number, word in enumerate(claims):
            for bit in range(63):
                if word >> bit & 1:
                    self.levels.setdefault((number, bit), level)

    def violated(self, model: ModelKernel, claims: Container[str]) -> dict[str, int]:
        """Of these claims (and "deadlock"), those that were hit, with the number of states of their shortest traces."""
        return {
            name: self.levels[flag] + (flag[0] > 0)
            for name, flag in model.flags().items()
            if name in claims and flag in self.levels
        }


def as_arrays(parts: Iterable[WordRows]) -> list[Rows]:
    """Rows as numpy takes them, in the same memory."""
    import numpy as np  # whose import takes longer than most searches

    return [np.asarray(part) for part in parts]


class Threads(ExitStack):
    """Threads that wait for work, until the end of the context. There are none before the pool is asked for."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads."""
        from concurrent.futures import ThreadPoolExecutor  # whose import takes longer than most searches

        return self.enter_context(ThreadPoolExecutor(self.number))


def finish(jobs: Iterable[Future[None]], look: Callable[[], None], halt: Callable[[], None]) -> None:
    """Waits until jobs are done. Raises what one of them, or `look`, which is called now and then, raises.

    halt: has the jobs that are left end, which are waited for.
    """
    from concurrent.futures import FIRST_EXCEPTION, wait

    busy = set(jobs)
    try:
        while busy:
            done, busy = wait(busy, timeout=BEAT, return_when=FIRST_EXCEPTION)
            for job in done:
                job.result()
            look()
    finally:
        halt()
        wait(busy)


def slices(level: Iterable[AnyRows], size: int) -> Iterator[tuple[AnyRows, int, int]]:
    """A level cut into pieces: array, first row, end."""
    for part in level:
        for low in range(0, len(part), size):
            yield part, low, min(low + size, len(part))


def shares(level: list[WordRows], left: int, workers: int, sizes: SearchSizes) -> Iterator[tuple[WordRows, int, int]]:
    """A level of `left` states cut into pieces; for several threads they become smaller, so that all end together."""
    for part in level:
        low = 0
        while low < len(part):
            share = left if workers == 1 else max(sizes.least, left // (2 * workers))
            high = min(low + min(sizes.slice, share), len(part))
            yield part, low, high
            left, low = left - (high - low), high
