"""Puts an object file that LLVM made into this process's memory, without LLVM, whose start costs more than a search.

For x86-64 Linux: ELF relocatable files (System V ABI, "Object Files"; AMD64 supplement, "Relocation") of the large code
model, in which every reference is an address of 64 bits. Whatever else a file has is refused, and then LLVM
loads it.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

HEADER = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
RELOCATABLE, X86_64, CLASS_64, LITTLE_ENDIAN = 1, 62, 2, 1
SYMBOLS, RELOCATIONS, PLAIN_RELOCATIONS, NO_BITS = 2, 4, 9, 8
ALLOCATED, THREAD_LOCAL = 0x2, 0x400
ABSOLUTE_64, RELATIVE_64 = 1, 24
"""R_X86_64_64: the symbol's address plus the addend. R_X86_64_PC64: less the address of the place as well."""
UNDEFINED, RESERVED = 0, 0xFF00
"""Numbers of sections that a symbol may name: none; and from here on none that a file has."""
FROM_C = ("memset", "memcpy", "memmove")
"""What LLVM calls of the C library."""


class CannotLoad(Exception):
    """The file has something that this loader does not read, or the system allows no executable memory."""


class ObjectSection(NamedTuple):
    """One section's header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class LoadedObject:
    """The code and constants of one object file in memory, as long as this lives."""

    def __init__(self, code: bytes) -> None:
        """Raises `CannotLoad`."""
        if not sys.platform.startswith("linux"):
            raise CannotLoad("only Linux")
        try:
            self._read(code)
        except (struct.error, IndexError, OverflowError, ValueError, OSError) as error:
            raise CannotLoad(str(error)) from None

    def address_of(self, name: str) -> int:
        """Of a function. Raises `CannotLoad` if there is none of this name."""
        if name not in self._addresses:
            raise CannotLoad(f"no function {name}")
        return self._addresses[name]

    def _read(self, code: bytes) -> None:
        sections = _sections(code)
        places, size = _places(sections)
        memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # What is exported keeps the memory from being unmapped while this lives.
        self._memory = memory
        self._exported = (ctypes.c_char * len(memory)).from_buffer(memory)
        base = ctypes.addressof(self._exported)
        for number, place in places.items():
            section = sections[number]
            if section.kind != NO_BITS:
                memory[place : place + section.size] = _content(code, section)
        self._addresses: dict[str, int] = {}
        symbols = list[int]()
        tables = [s for s in sections if s.kind == SYMBOLS]
        for table in tables[:1]:
            names = _content(code, sections[table.link])
            for name, _, _, section_number, value, _ in SYMBOL.iter_unpack(_content(code, table)):
                text = names[name : names.index(b"\0", name)].decode() if name else ""
                if section_number == UNDEFINED:
                    symbols.append(_of_c(text) if text in FROM_C else 0)
                elif section_number in places:
                    symbols.append(base + places[section_number] + value)
                    self._addresses[text] = symbols[-1]
                else:
                    symbols.append(0)
        for section in sections:
            if section.kind == RELOCATIONS and section.info in places:
                target = sections[section.info]
                for offset, info, addend in RELOCATION.iter_unpack(_content(code, section)):
                    address = symbols[info >> 32]
                    kind, place = info & 0xFFFFFFFF, places[section.info] + offset
                    if kind not in (ABSOLUTE_64, RELATIVE_64) or address == 0 or offset + 8 > target.size:
                        raise CannotLoad("a relocation of another kind")
                    value = address + addend - (base + place if kind == RELATIVE_64 else 0)
                    struct.pack_into("<Q", memory, place, value % (1 << 64))
        if _library().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(len(memory)), mmap.PROT_READ | mmap.PROT_EXEC):
            raise CannotLoad("the system allows no executable memory")


def load_object(code: bytes, names: Sequence[str]) -> tuple[LoadedObject, dict[str, int]]:
    """What holds an object file's machine code, and the addresses of functions. Raises `CannotLoad`."""
    loaded = LoadedObject(code)
    return loaded, {name: loaded.address_of(name) for name in names}


def _sections(code: bytes) -> list[ObjectSection]:
    magic, of_class, order, _, kind, machine, _, _, _, at, _, _, _, _, entry, count, _ = HEADER.unpack_from(code)
    if (magic, of_class, order, kind, machine) != (b"\x7fELF", CLASS_64, LITTLE_ENDIAN, RELOCATABLE, X86_64):
        raise CannotLoad("not an object file of this machine")
    if entry != SECTION.size:
        raise CannotLoad("sections of another form")
    return [ObjectSection(*SECTION.unpack_from(code, at + number * entry)) for number in range(count)]


def _places(sections: list[ObjectSection]) -> tuple[dict[int, int], int]:
    """Where each section of code and constants begins, and how long all are."""
    places, end = dict[int, int](), 0
    for number, section in enumerate(sections):
        if section.flags & THREAD_LOCAL or section.kind == PLAIN_RELOCATIONS:
            raise CannotLoad("a section of another kind")
        if section.flags & ALLOCATED:
            step = max(1, section.alignment)
            if step & (step - 1) or step > mmap.PAGESIZE:
                raise CannotLoad("an alignment of another kind")
            places[number] = end = -(-end // step) * step
            end += section.size
    return places, end


def _content(code: bytes, section: ObjectSection) -> bytes:
    content = code[section.offset : section.offset + section.size]
    if len(content) != section.size:
        raise CannotLoad("the file ends early")
    return content


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def _of_c(name: str) -> int:
    """The address of a function of the C library."""
    return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0
