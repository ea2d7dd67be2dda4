"""States of levels on disk: a file takes the place of their memory, at the same addresses.

A search writes a level once and reads it once, in order, and then only where a trace is told. So the memory limit does
not have to hold it, beside the table, which is read at random.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from ctypes import c_int, c_long, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from reassure.checkers.engines.native.translator.word_rows import address_of
from reassure.checkers.machine.own_files import cache_folder, why_not_own

LEFT_FREE = 0.05
"""The share of a file system that stays free."""
MOUNTS = Path("/proc/self/mountinfo")
MEMORY_SYSTEMS = frozenset({"tmpfs", "ramfs"})
"""File systems whose files take memory."""
MAP_FIXED = 0x10
"""The flag of `mmap(2)`, on Linux and on macOS, for a mapping that replaces what is at its address."""
FAILED = c_void_p(-1).value


def in_memory(folder: Path) -> bool:
    """Whether the files of a folder take memory; False where the system does not say."""
    try:
        device = os.stat(folder).st_dev
        lines = MOUNTS.read_text().splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    kinds = (line.partition(" - ")[2].split()[0] for line in lines if line.split()[2] == number)
    return any(kind in MEMORY_SYSTEMS for kind in kinds)


def _system_calls() -> tuple[Any, Any]:
    """`mmap(2)` and `madvise(2)`: Python's own takes no address."""
    library = ctypes.CDLL(None)
    library.mmap.restype = c_void_p
    library.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
    library.madvise.argtypes = [c_void_p, c_size_t, c_int]
    return library.mmap, library.madvise


class LevelFile:
    """A file without a name, which goes with the process. Words that it takes keep their address and their content."""

    def __init__(self, folder: Path | None = None, left_free: float = LEFT_FREE) -> None:
        """folder: of the file; None: the user's cache folder. left_free: the share of its file system to leave."""
        self.folder, self.left_free = folder or cache_folder("levels"), left_free
        self.nbytes = 0
        """Bytes that the file has taken."""
        self._taken: list[tuple[int, int]] = []
        self.refusal = ""
        """Why words that were to be taken stayed where they are, in words."""
        self._file: Any = None
        self._usable = True
        self._map: Any = None
        self._advise: Any = None

    def take(self, words: memoryview) -> bool:
        """Writes words, whose memory was mapped as a whole and which nobody writes any more, and frees their memory.

        False if they stay where they are, as `refusal` says: the disk is full, or is none.
        """
        size, address = words.nbytes, address_of(words)
        if address % mmap.PAGESIZE or not self._open():
            return False
        if not self._has_room(size):
            return self._refuse(f"{self.left_free:.0%} of the disk of {self.folder} are kept free")
        begin = -(-self.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            self._write(words, begin)
        except OSError as error:
            self._usable = False
            return self._refuse(f"{self.folder} cannot be written: {error.strerror}")
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | MAP_FIXED
        if self._map(address, size, protection, flags, self._file.fileno(), begin) == FAILED:
            raise MemoryError("a level could not be mapped from its file")  # its addresses may be gone
        self.nbytes = begin + size
        self._taken.append((address, size))
        return True

    def forget(self) -> None:
        """Gives back the memory of what was read from the file; the system reads it again where it is asked for."""
        for address, size in self._taken:
            self._advise(address, size, mmap.MADV_DONTNEED)

    def _refuse(self, why: str) -> bool:
        self.refusal = f"{'further levels' if self.nbytes else 'levels'} stay in memory: {why}"
        return False

    def _open(self) -> bool:
        if self._file is None and self._usable:
            why = self._why_unusable()
            if why is not None:
                self._usable = self._refuse(why)
        return self._usable

    def _why_unusable(self) -> str | None:
        """Why there can be no file, in words; None if it is there."""
        if sys.platform not in ("linux", "darwin"):
            return f"they are not moved to disk on {sys.platform}"
        why = why_not_own(self.folder)
        if why is not None:
            return f"the folder {self.folder} is not used: {why}"
        if in_memory(self.folder):
            return f"{self.folder} is not on a disk: its files take memory"
        try:
            import tempfile

            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="levels-")  # noqa: SIM115
        except OSError as error:
            return f"{self.folder} cannot be written: {error.strerror}"
        self._map, self._advise = _system_calls()
        return None

    def _has_room(self, size: int) -> bool:
        system = os.fstatvfs(self._file.fileno())
        return system.f_bavail * system.f_frsize - size > self.left_free * system.f_blocks * system.f_frsize

    def _write(self, words: memoryview, begin: int) -> None:
        left = words.cast("B")
        while left:
            done = os.pwrite(self._file.fileno(), left, begin)
            left, begin = left[done:], begin + done
