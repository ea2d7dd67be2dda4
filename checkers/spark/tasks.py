"""What runs inside Spark's tasks: expanding slices of a level, and taking in what a partition owns.

The states that a partition has visited lie in a table in memory that all Python workers of a host share (a mapped file
that says what it holds), so that it does not matter which worker gets a task. The table is a cache: where it is
missing, behind or ahead, or was left half-way, it is made anew from the run directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reassure.checkers.native.counterexample import Probe, Wanted, found_in
from reassure.checkers.native.kernel_cache import roomy
from reassure.checkers.native.search import FULL, GROWTH, KEPT, LOAD, Rows, Search
from reassure.checkers.spark.partitioning import LOCAL, Plain, Wide, Work, fresh, gathered, module_of
from reassure.checkers.spark.run_directory import RunDirectory

HEAD = 8
"""Words before a table: files taken in, whether it is being changed, slots, states."""
FIRST = 1 << 12
FEW = 64
"""States that are sent without asking whether they are known."""
SLICE = 1 << 18


@dataclass(frozen=True)
class Piece:
    """Rows low..high-1 of a file of a level."""

    file: str
    low: int
    high: int


@dataclass
class Sent:
    """What a task that expands has to say beside its states."""

    tally: Rows
    flags: Rows
    raised: Rows | None = None


@dataclass
class Owned:
    """What a partition says of a new level."""

    part: int
    file: str | None
    rows: int
    new: Rows
    memory: int
    """Bytes of its table."""


def shared_folder(run: str) -> Path:
    """Where this host keeps the caches of a run: in memory, if there is a place for that."""
    memory = Path("/dev/shm")
    base = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return base / f"reassure-{os.getuid()}-{run}"


def tidy_dead() -> None:
    """Removes the caches of runs of this host whose driver was killed."""
    for folder in shared_folder("x").parent.glob(f"reassure-{os.getuid()}-*-*"):
        pid = folder.name.split("-")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)


def tidy_host(run: str) -> None:
    """Removes a run's caches from this host."""
    shutil.rmtree(shared_folder(run), ignore_errors=True)


def warm(work: Work) -> None:
    """Loads what tasks need, and gives another task the time to start on another worker."""
    roomy(lambda: touch(work))
    time.sleep(0.2)


def touch(work: Work) -> None:
    """Has all that tasks call compiled, or loaded from disk."""
    kernel, module = work.kernel, module_of(work)
    Search.of(kernel, module, 1, None).compile()
    words, nothing = kernel.layout.words, np.zeros((0, kernel.layout.words), np.int64)
    table, slots = np.zeros(words << 4, np.int64), np.zeros(384, np.int64)
    if work.wide:
        gathered(work, [])
        gathering = Wide(work, 1)
        gathering.take(nothing, 0, 0)
        list(gathering.parcels(lambda _, rows: rows))
    else:
        module.parcel(table, nothing, 0, 1, slots, np.zeros(1, np.int64), nothing)
        arrived = np.frombuffer(b"", np.int64).reshape(-1, words)
        module.absorb(arrived, table, np.zeros((384, kernel.row_words), np.int64), nothing, 0, slots)
    visited, keys = np.zeros(work.table_words << 4, np.int64), work.keys(nothing)
    work.table_module.unseen(keys, visited, slots, slots)
    work.table_module.put_back(keys, visited)
    work.table_module.spread(visited, 0, keys)
    module.owners(nothing, 1, slots)
    Probe(kernel, module)


_maps: dict[Path, tuple[int, Any]] = {}


def mapped(path: Path) -> Any:
    """A table's file as words, mapped once in this process: each page that is touched anew costs.

    Raises `OSError`, `ValueError` if it is not there or empty.
    """
    inode = path.stat().st_ino
    if path not in _maps or _maps[path][0] != inode:
        for other in [p for p in _maps if p.parent != path.parent]:  # of another run: its memory is to go
            del _maps[other]
        _maps[path] = (inode, np.memmap(path, np.int64, "r+"))
    return _maps[path][1]


# -- expanding -------------------------------------------------------------------------------------------------


def expand(work: Work, taken_in: dict[int, int], pieces: Iterable[Piece]) -> Iterator[tuple[int, bytes | Sent]]:
    """The distinct successors of some pieces of a level, in parcels by owner; last, what was counted.

    taken_in: how many files each owner's table holds before the next level. What such a table on this host knows is not
    sent at all.
    """
    yield from roomy(lambda: _expand(work, taken_in, pieces))


def _expand(work: Work, taken_in: dict[int, int], pieces: Iterable[Piece]) -> Iterator[tuple[int, bytes | Sent]]:
    m = module_of(work)
    pieces = list(pieces)
    room = min(LOCAL, max(1 << 10, 16 * sum(p.high - p.low for p in pieces)))
    gathering = Wide(work, room) if work.wide else Plain(work, room)
    worker, raised = gathering.worker, None

    def unknown(part: int, rows: Rows) -> Rows:
        return _unknown(work, part, taken_in.get(part, 0), rows)

    directory, open_file, rows = RunDirectory.at(work.place), "", worker.chunk
    for piece in pieces:
        if piece.file != open_file:
            rows, open_file = states_of(work, directory, piece.file), piece.file
        low = piece.low
        while low < piece.high:
            low = gathering.take(rows, low, piece.high)
            if worker.tally[m.ERROR]:
                raised = rows[worker.tally[m.ERROR] - 1].copy()
                break
            if gathering.at >= room:
                yield from gathering.parcels(unknown)
    yield from gathering.parcels(unknown)
    worker.tally[m.ERROR] = 0
    yield 0, Sent(worker.tally, worker.flags, raised)


def _unknown(work: Work, part: int, files: int, rows: Rows) -> Rows:
    """What the owner's table, if this host has it as of before this level, does not hold yet; else all of it.

    The owner may begin to take in the next level meanwhile, where this task is a late copy of another: it says so in
    the table before it changes anything, so that asking again afterwards tells whether the answer counts.
    """
    if len(rows) < FEW:
        return rows
    try:
        whole = mapped(shared_folder(work.run) / f"table-{part}")
    except (OSError, ValueError):
        return rows
    if whole[1] or whole[0] != files or whole[2] == 0:
        return rows
    left = fresh(work, rows, np.asarray(whole[HEAD : HEAD + int(whole[2]) * work.table_words]))
    return left if not whole[1] and whole[0] == files else rows


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


class Table:
    """The table of one partition on this host, mapped from a file that grows."""

    def __init__(self, work: Work, part: int) -> None:
        folder = shared_folder(work.run)
        folder.mkdir(parents=True, exist_ok=True)
        self.work, self.words, self.module = work, work.table_words, work.table_module
        self.file = open(folder / f"table-{part}", "a+b")  # noqa: SIM115 (kept open as long as it is mapped)
        fcntl.flock(self.file, fcntl.LOCK_EX)  # a doubled task waits for its other
        self.room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
        if os.fstat(self.file.fileno()).st_size == 0:
            self.file.truncate(8 * self.room)  # takes memory only where it is written
        self.all = mapped(folder / f"table-{part}")

    def close(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self.file.close()

    def has(self, files: int) -> bool:
        """Whether it holds the states of so many committed files, and nothing else."""
        return not self.all[1] and int(self.all[0]) == files and int(self.all[2]) > 0

    @property
    def states(self) -> int:
        return int(self.all[3])

    @property
    def slots(self) -> Rows:
        found: Rows = np.asarray(self.all[HEAD : HEAD + int(self.all[2]) * self.words])
        return found

    def clear(self) -> None:
        """Empties it, in place: others may have it mapped."""
        self.all[1] = 1
        self.slots[:] = 0
        self.all[:HEAD] = (0, 1, FIRST, 0, 0, 0, 0, 0)

    def reserve(self, extra: int) -> None:
        """Makes room for so many more states. Raises `MemoryError`."""
        old = slots = int(self.all[2])
        while self.states + extra > slots * LOAD:
            slots = int(slots * next(factor for limit, factor in GROWTH if slots <= limit))
        if slots == old:
            return
        folder = os.fstatvfs(self.file.fileno())
        if 8 * self.words * (slots - old) > folder.f_bavail * folder.f_frsize or slots * self.words + HEAD > self.room:
            if self.states + extra <= old * FULL:
                return
            raise MemoryError("no more memory for the states visited")
        self.all[2] = slots
        if not self.module.spread(self.slots, old, np.empty((KEPT, self.words), np.int64)):
            raise RuntimeError("a chain in the table is longer than can be: a bug of this program")

    def rebuild(self, directory: RunDirectory, files: list[str]) -> None:
        """The table of committed files."""
        self.clear()
        for file in files:
            rows = directory.read_states(file)
            self.reserve(len(rows))
            self.module.put_back(self.work.keys(rows), self.slots)
            self.all[3] += len(rows)

    def take_in(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, Rows]:
        """New states, their origins if there are some, and their number by action."""
        return self._take_in_wide(parcels) if self.work.wide else self._take_in_plain(parcels)

    def _take_in_wide(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, Rows]:
        words, wide = self.work.kernel.layout.words, self.work.kernel.wide_words
        arrived = gathered(self.work, [np.frombuffer(p, np.int64).reshape(-1, wide).copy() for p in parcels])
        rows = fresh(self.work, arrived, self.slots)
        self.reserve(len(rows))
        self.module.put_back(self.work.keys(rows), self.slots)
        self.all[3] += len(rows)
        new = np.bincount(rows[:, words] - 1, minlength=128)
        origins = rows[:, words + 1 :] if wide > words + 1 else None
        return np.ascontiguousarray(rows[:, :words]), origins, new

    def _take_in_plain(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, Rows]:
        m, words = self.module, self.words
        width = m.STEP_WORDS + words
        out, slots = np.zeros((384, width), np.int64), np.zeros(384, np.int64)
        kept: list[Rows] = []
        for parcel in parcels:
            rows = np.frombuffer(parcel, np.int64).reshape(-1, words)
            self.reserve(len(rows))
            found = np.empty((len(rows), words), np.int64)
            n = int(m.absorb(rows, self.slots, out, found, 0, slots))
            self.all[3] += n
            kept.append(found[:n])
        new = np.zeros(128, np.int64)
        for rows in kept:
            m.settle(self.slots, rows, 0, len(rows), slots, new)
        return np.concatenate(kept) if kept else np.empty((0, words), np.int64), None, new


def own(
    work: Work, level: int, history: dict[int, list[str]], arrived: Iterable[tuple[int, bytes | Sent]]
) -> Iterator[Owned | Sent]:
    """Takes in what arrived for the partitions of a task; writes the states of level + 1.

    history: each partition's committed files, for a table that has to be made anew.
    """
    yield from roomy(lambda: _own(work, level, history, arrived))


def _own(
    work: Work, level: int, history: dict[int, list[str]], arrived: Iterable[tuple[int, bytes | Sent]]
) -> Iterator[Owned | Sent]:
    directory = RunDirectory.at(work.place)
    by_part: dict[int, list[bytes]] = {}
    for part, what in arrived:
        if isinstance(what, Sent):
            yield what
        else:
            by_part.setdefault(part, []).append(what)
    for part in sorted(by_part):
        table = Table(work, part)
        try:
            files = history.get(part, [])
            if not table.has(len(files)):
                table.rebuild(directory, files)
            table.all[1] = 1
            rows, origins, new = table.take_in(by_part.pop(part))
            file = None
            if len(rows):
                file = directory.write_states(level + 1, part, rows, origins)
                with contextlib.suppress(OSError):
                    np.save(_cached(work, file), rows)
            for old in files[-2:]:  # expanded by now
                _cached(work, old).unlink(missing_ok=True)
            table.all[0], table.all[1] = len(files) + (file is not None), 0
            memory = 8 * len(table.slots)
        finally:
            table.close()
        yield Owned(part, file, len(rows), new, memory)


# -- looking again ---------------------------------------------------------------------------------------------


def find(work: Work, level: int, wanted: Wanted, pieces: Iterable[Piece]) -> Iterator[tuple[int, ...]]:
    """The smallest wanted state among some pieces of a level, if there is one."""
    yield from roomy(lambda: _find(work, level, wanted, pieces))


def _find(work: Work, level: int, wanted: Wanted, pieces: Iterable[Piece]) -> Iterator[tuple[int, ...]]:
    directory, probe = RunDirectory.at(work.place), Probe(work.kernel, module_of(work))
    parts = [np.ascontiguousarray(states_of(work, directory, p.file)[p.low : p.high]) for p in pieces]
    found = found_in([p for p in parts if len(p)], wanted, probe)
    if found is not None:
        yield tuple(int(w) for w in found)


__all__ = ["Owned", "Piece", "Sent", "Table", "Work", "expand", "find", "own", "states_of", "tidy_dead", "tidy_host"]
