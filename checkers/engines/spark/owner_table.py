"""The table of the states that one partition has visited, in memory that all Python workers of a host share.

It is a mapped file that says what it holds, so that it does not matter which worker gets a task. The table is a cache:
where it is missing, behind or ahead, or was left half-way, it is rebuilt from the run directory.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from reassure.checkers.engines.native.kernels.growing_table import SIZES, spread_states
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.kernels.partitioning import AbsorbArguments, absorb
from reassure.checkers.engines.native.kernels.state_table import BATCH, MAX_TAG, settle
from reassure.checkers.engines.native.translator.native_function import native
from reassure.checkers.engines.spark.partitioning import Work, fresh_rows, gathered, insert_settled
from reassure.checkers.engines.spark.run_directory import RunDirectory
from reassure.checkers.machine import own_files
from reassure.checkers.machine.memory import memory_of_machine

HEADER = np.dtype(
    [("committed_files", "<i8"), ("updating", "<i8"), ("slots", "<i8"), ("states", "<i8"), ("_", "<i8", 4)]
)
"""The header, before the slots. updating: 1 while a worker changes the table."""
HEADER_WORDS = HEADER.itemsize // 8
FIRST_SLOTS = 1 << 12


def shared_folder(run: str) -> Path:
    """The folder of this host for the caches of a run: in memory, if there is one there."""
    memory = Path("/dev/shm")
    base = memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return base / f"reassure-{os.getuid()}-{run}"


def tidy_dead_runs() -> None:
    """Removes the caches, sockets and run directories of runs of this host whose driver was killed."""
    own_files.tidy_dead(shared_folder("x").parent)


def tidy_host(run: str) -> None:
    """Removes a run's caches from this host, and what this process has mapped of them."""
    for path in [path for path in _maps if path.parent == shared_folder(run)]:
        del _maps[path]
    shutil.rmtree(shared_folder(run), ignore_errors=True)


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


def header_of(words: Any) -> Any:
    """The header of a mapped table, by name; it shows what the file holds at any time."""
    return words[:HEADER_WORDS].view(HEADER)[0]


def not_in_table(work: Work, part: int, files: int, rows: Rows) -> Rows:
    """The rows that a partition's table, if this host has it with so many committed files, does not hold; else all.

    The owner may begin to take in the next level meanwhile, where this task is a late copy of another: it says so in
    the header before it changes anything, so that asking again afterwards tells whether the answer counts.
    """
    try:
        words = mapped(shared_folder(work.run) / f"table-{part}")
    except (OSError, ValueError):
        return rows
    header = header_of(words)

    def usable() -> bool:
        return not header["updating"] and header["committed_files"] == files and header["slots"] != 0

    if not usable():
        return rows
    slots = int(header["slots"])
    missing = fresh_rows(work, rows, np.asarray(words[HEADER_WORDS : HEADER_WORDS + slots * work.table_words]), slots)
    return missing if usable() else rows


class OwnerTable:
    """The table of one partition on this host, mapped from a file that grows."""

    def __init__(self, work: Work, part: int) -> None:
        """Waits for another task that has it."""
        folder = shared_folder(work.run)
        folder.mkdir(parents=True, exist_ok=True)
        self.work, self.words = work, work.table_words
        self.file = open(folder / f"table-{part}", "a+b")  # noqa: SIM115 (kept open as long as it is mapped)
        fcntl.flock(self.file, fcntl.LOCK_EX)  # a doubled task waits for its other
        self.room = memory_of_machine() // 8
        if os.fstat(self.file.fileno()).st_size == 0:
            self.file.truncate(8 * self.room)  # takes memory only where it is written
        self.mapped = mapped(folder / f"table-{part}")
        self.header = header_of(self.mapped)

    def close(self) -> None:
        """Lets other tasks have it."""
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self.file.close()

    def has(self, files: int) -> bool:
        """Whether it holds the states of so many committed files, and nothing else."""
        header = self.header
        return not header["updating"] and int(header["committed_files"]) == files and int(header["slots"]) > 0

    @property
    def states(self) -> int:
        """States in the table."""
        return int(self.header["states"])

    @property
    def slots(self) -> int:
        """Slots of the table."""
        return int(self.header["slots"])

    @property
    def array(self) -> Rows:
        """The slots, as words."""
        words: Rows = np.asarray(self.mapped[HEADER_WORDS : HEADER_WORDS + self.slots * self.words])
        return words

    def begin_update(self) -> None:
        """Marks the table as being changed."""
        self.header["updating"] = 1

    def commit(self, files: int) -> None:
        """Marks the table as holding the states of this many committed files."""
        self.header["committed_files"] = files
        self.header["updating"] = 0

    def clear(self) -> None:
        """Empties it, in place: others may have it mapped."""
        self.begin_update()
        self.array[:] = 0
        header = self.header
        header["committed_files"], header["slots"], header["states"] = 0, FIRST_SLOTS, 0

    def reserve(self, extra: int) -> None:
        """Makes room for so many more states. Raises `MemoryError`."""
        old = self.slots
        slots = SIZES.slots_for(self.states + extra, old)
        if slots == old:
            return
        folder = os.fstatvfs(self.file.fileno())
        more, free = 8 * self.words * (slots - old), folder.f_bavail * folder.f_frsize
        if more > free or slots * self.words + HEADER_WORDS > self.room:
            if self.states + extra <= old * SIZES.full:
                return
            raise MemoryError("no more memory for the states visited")
        self.header["slots"] = slots
        spread_states(self.words, self.array, old, slots)

    def rebuild(self, directory: RunDirectory, files: list[str]) -> None:
        """The table of committed files."""
        self.clear()
        for file in files:
            self.insert(directory.read_states(file))

    def insert(self, rows: Rows) -> None:
        """Inserts the states that rows begin with, which the table does not hold."""
        self.reserve(len(rows))
        insert_settled(self.work, rows, self.array, self.slots)
        self.header["states"] += len(rows)

    def take_in(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, list[int]]:
        """New states, their origins if there are some, and their number by action."""
        rows, origins, by_tag = self._take_in_wide(parcels) if self.work.wide else self._take_in_plain(parcels)
        return rows, origins, [int(n) for n in by_tag[1 : 1 + self.work.kernel.actions]]

    def _take_in_wide(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, Rows]:
        words, wide = self.work.kernel.words, self.work.kernel.wide_words
        arrived = gathered(self.work, [np.frombuffer(p, np.int64).reshape(-1, wide) for p in parcels])
        rows = fresh_rows(self.work, arrived, self.array, self.slots)
        self.insert(rows)
        by_tag = np.bincount(rows[:, words], minlength=MAX_TAG + 1)
        origins = rows[:, words + 1 :] if wide > words + 1 else None
        return np.ascontiguousarray(rows[:, :words]), origins, by_tag

    def _take_in_plain(self, parcels: Iterable[bytes]) -> tuple[Rows, Rows | None, Rows]:
        words = self.words
        batch, successors = np.empty(2 * BATCH, np.int64), np.empty((BATCH, words + 1), np.int64)
        parts: list[Rows] = []
        for parcel in parcels:
            rows = np.frombuffer(parcel, np.int64).reshape(-1, words)
            self.reserve(len(rows))
            new_rows = np.empty((len(rows), words), np.int64)
            a = AbsorbArguments(rows, len(rows), self.array, self.slots, successors, new_rows, 0, batch)
            native(absorb)(words, a)
            self.header["states"] += a.end
            parts.append(new_rows[: a.end])
        by_tag = np.zeros(MAX_TAG + 1, np.int64)
        for rows in parts:
            native(settle)(words, self.array, self.slots, rows, 0, len(rows), batch, by_tag)
        return np.concatenate(parts) if parts else np.empty((0, words), np.int64), None, by_tag
