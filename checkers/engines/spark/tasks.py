"""The code that runs inside Spark's tasks: expanding slices of a level, and taking in what a partition owns."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reassure.checkers.engines.native.counterexample import Row, Wanted
from reassure.checkers.engines.native.kernels import fingerprints, search_loop, state_table
from reassure.checkers.engines.native.kernels import partitioning as partitioning_kernel
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.level_look import smallest_of
from reassure.checkers.engines.native.search import Worker
from reassure.checkers.engines.native.translator.native_function import prepare_kernels
from reassure.checkers.engines.spark.owner_table import OwnerTable, not_in_table, shared_folder
from reassure.checkers.engines.spark.partitioning import LOCAL, Plain, Wide, Work, kernel_of
from reassure.checkers.engines.spark.run_directory import RunDirectory

FEW = 64
"""States that are sent without asking whether they are known."""
SLICE = 1 << 18


@dataclass(frozen=True)
class FileSlice:
    """Rows low..high-1 of a file of a level."""

    file: str
    low: int
    high: int


@dataclass
class Sent:
    """The results of a task that expands, beside its states."""

    tally: Rows
    flags: Rows
    raised: bool = False
    """Whether the model raises in one of the states that were expanded."""


@dataclass
class Owned:
    """The results of a partition for a new level."""

    part: int
    file: str | None
    rows: int
    new: list[int]
    """New states by action."""
    memory: int
    """Bytes of its table."""


def load_worker() -> None:
    """Does nothing: a worker that is asked for it imports this module."""


def warm(work: Work, seconds: float) -> None:
    """Loads what tasks need, and waits, so that another task starts on another worker."""
    touch(work)
    time.sleep(seconds)


def touch(work: Work) -> None:
    """Has all that tasks call compiled, or loaded from disk."""
    kernel_of(work)
    words = work.kernel.words
    prepare_kernels(partitioning_kernel, words=words)
    prepare_kernels(search_loop, words=words)
    for size in {words, work.table_words}:
        prepare_kernels(state_table, words=size)
    if work.key:
        prepare_kernels(fingerprints)


# -- expanding -------------------------------------------------------------------------------------------------


def expand(work: Work, taken_in: dict[int, int], pieces: Iterable[FileSlice]) -> Iterator[tuple[int, bytes | Sent]]:
    """The distinct successors of some pieces of a level, in parcels by owner; last, what was counted.

    taken_in: how many files each owner's table holds before the next level. What such a table on this host knows is not
    sent at all.
    """
    pieces = list(pieces)
    room = min(LOCAL, max(1 << 10, 16 * sum(p.high - p.low for p in pieces)))
    gathering = Wide(work, room) if work.wide else Plain(work, room)
    worker = gathering.worker

    def unknown(part: int, rows: Rows) -> Rows:
        return rows if len(rows) < FEW else not_in_table(work, part, taken_in.get(part, 0), rows)

    directory, open_file, rows = RunDirectory.at(work.place), "", gathering.distinct
    for piece in pieces:
        if piece.file != open_file:
            rows, open_file = states_of(work, directory, piece.file), piece.file
        low = piece.low
        while low < piece.high:
            low = gathering.take(rows, low, piece.high)
            if gathering.count >= room:
                yield from gathering.parcels(unknown)
    yield from gathering.parcels(unknown)
    yield 0, Sent(np.array(worker.tally), np.array(worker.claims), worker.raised)


def _cached(work: Work, file: str) -> Path:
    """This host's copy of a file of states."""
    return shared_folder(work.run) / f"{file.replace('/', '-')}.npy"


def states_of(work: Work, directory: RunDirectory, file: str) -> Rows:
    """A file of states, from this host's cache if it is there."""
    with contextlib.suppress(OSError, ValueError):
        rows: Rows = np.asarray(np.load(_cached(work, file), mmap_mode="c"))
        return rows
    return directory.read_states(file)


# -- owning ----------------------------------------------------------------------------------------------------


def own(
    work: Work, level: int, history: dict[int, list[str]], arrived: Iterable[tuple[int, bytes | Sent]]
) -> Iterator[Owned | Sent]:
    """Takes in what arrived for the partitions of a task; writes the states of level + 1.

    history: each partition's committed files, for a table that has to be made anew.
    """
    directory = RunDirectory.at(work.place)
    by_part: dict[int, list[bytes]] = {}
    for part, what in arrived:
        if isinstance(what, Sent):
            yield what
        else:
            by_part.setdefault(part, []).append(what)
    for part in sorted(by_part):
        table = OwnerTable(work, part)
        try:
            files = history.get(part, [])
            if not table.has(len(files)):
                table.rebuild(directory, files)
            table.begin_update()
            rows, origins, new = table.take_in(by_part.pop(part))
            file = None
            if len(rows):
                file = directory.write_states(level + 1, part, rows, origins)
                with contextlib.suppress(OSError):
                    np.save(_cached(work, file), rows)
            for old in files[-2:]:  # expanded by now
                _cached(work, old).unlink(missing_ok=True)
            table.commit(len(files) + (file is not None))
            memory = 8 * len(table.array)
        finally:
            table.close()
        yield Owned(part, file, len(rows), new, memory)


def damages(place: str, steps: bool, files: Iterable[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with files of states, each with the number of those that were committed."""
    directory = RunDirectory.at(place)
    for name, rows in files:
        if what := directory.damage(name, rows, steps):
            yield what


# -- looking again ---------------------------------------------------------------------------------------------


def find_smallest(
    work: Work,
    level: int,
    wanted: Sequence[Wanted],
    pieces: Iterable[FileSlice],
    look: Callable[[], None] = lambda: None,
) -> list[Row | None]:
    """Of each thing that is wanted, the smallest state among some pieces of a level. look: as of `smallest_of`."""
    directory, kernel = RunDirectory.at(work.place), kernel_of(work)
    parts = [np.ascontiguousarray(states_of(work, directory, p.file)[p.low : p.high]) for p in pieces]
    return smallest_of(parts, wanted, kernel, [Worker(kernel)], look=look)
