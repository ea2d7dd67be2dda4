"""Words and rows of words in memory, as a search keeps them and as kernels take them.

numpy reads both without a copy. A search does without numpy, whose import takes longer than most searches.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cached_property
from typing import Any

MAPPED = 1 << 20
"""Bytes from which on memory is a mapping of its own, which can go to disk."""
LARGE = 1 << 22
"""Bytes from which on memory is taken in huge pages, where the system has them."""


def zeros(words: int) -> memoryview:
    """So many words, all 0. Raises `MemoryError`."""
    if 8 * words < MAPPED:
        return memoryview(bytearray(8 * words)).cast("q")
    try:
        memory = mmap.mmap(-1, 8 * words, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"no memory for {words} words") from None
    if hasattr(mmap, "MADV_HUGEPAGE") and 8 * words >= LARGE:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory).cast("q")


def address_of(words: Any) -> int:
    """The address of the first word; 0 if there is none. Raises `TypeError` for anything but words without gaps."""
    if isinstance(words, memoryview) and words.format == "q" and words.c_contiguous:
        return ctypes.addressof(ctypes.c_char.from_buffer(words)) if len(words) else 0
    array = getattr(words, "__array_interface__", None)
    if array is None or array["typestr"] != "<i8" or array.get("strides") is not None:
        raise TypeError("an array of words is a contiguous array of int64")
    return int(array["data"][0])


class WordRows:
    """Rows of so many words each. A slice of it shares its memory; `numpy.asarray` gives the array of it."""

    def __init__(self, memory: memoryview, words: int) -> None:
        self.memory, self.words = memory, words

    @classmethod
    def zeros(cls, rows: int, words: int) -> WordRows:
        """So many rows of zeros. Raises `MemoryError`."""
        return cls(zeros(rows * words), words)

    def __len__(self) -> int:
        return len(self.memory) // self.words

    def __getitem__(self, part: slice) -> WordRows:
        first, end, _ = part.indices(len(self))
        return WordRows(self.memory[first * self.words : end * self.words], self.words)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.memory.nbytes

    @cached_property
    def __array_interface__(self) -> dict[str, object]:
        place = (address_of(self.memory), False)
        return {"version": 3, "typestr": "<i8", "shape": (len(self), self.words), "data": place}
