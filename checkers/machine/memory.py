"""How much memory a run may take: as much as it was given, or what the machine or its control group has free.

Without a limit a search that outgrows memory makes the machine swap, or has the kernel end some process.
"""

from __future__ import annotations

import os
from pathlib import Path

from reassure.checkers.machine.stop import Interrupted, StopReason
from reassure.spec.language.light_dataclasses import dataclass

MEBIBYTE = 1 << 20
MOST_RESERVED = 1 << 30
"""Bytes that stay free on a large machine; on a small one an eighth of its memory does."""
SMALL_PART = 2
"""Times that a limit is as large as what the process has already, if that is to count."""
MEMINFO, PROCESSES = Path("/proc/meminfo"), Path("/proc")
CONTROL_GROUPS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of a control group, of version 2 and 1: its limit, what it uses, and the part in `memory.stat` that can be
dropped."""
FOLDERS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory"))

_runs_at_once = 1


def runs_at_once(count: int) -> None:
    """Says that so many processes search at the same time: each takes its share. A setting of this process."""
    global _runs_at_once
    _runs_at_once = count


def memory_of_machine() -> int:
    """Bytes of memory of this machine, or of the control group that this process is in."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *(limit for limit, _ in _control_groups())])


def free_memory() -> int:
    """Bytes that this process can take without making the machine swap; all memory where the system does not say."""
    free = [limit - used for limit, used in _control_groups()]
    try:
        lines = MEMINFO.read_text().splitlines()
        free += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    except OSError:  # as on macOS
        pass
    return max(0, min([memory_of_machine(), *free]))


def process_memory(process: int | str = "self") -> int:
    """Bytes of memory that a process has, by default this one; 0 where the system does not say."""
    try:
        return int((PROCESSES / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _control_groups() -> list[tuple[int, int]]:
    """Of each control group that limits memory: its limit and what it uses, in bytes."""
    groups = []
    for folder in FOLDERS:
        for most, used, droppable in CONTROL_GROUPS:
            try:
                limit = int((folder / most).read_text())
                in_use = int((folder / used).read_text())
                stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            except (OSError, ValueError):  # no such group, or "max"
                continue
            groups.append((limit, in_use - int(stat.get(droppable, 0))))
    return groups


class OutOfMemory(Interrupted):
    """The next growth would pass the limit."""

    def __init__(self, text: str) -> None:
        super().__init__(StopReason.MEMORY, text)


@dataclass(frozen=True)
class MemoryLimit:
    """Bytes that a run may take. asked: whether the user gave the limit. held: bytes that the process had before, if
    they count."""

    bytes: int
    asked: bool
    held: int = 0

    @classmethod
    def of(cls, asked: int | None) -> MemoryLimit:
        """The limit that was asked for, or this process's share of what is free now, less a reserve."""
        if asked is not None:
            return cls(asked, True)
        reserved = min(MOST_RESERVED, memory_of_machine() // 8)
        return cls(max(0, free_memory() - reserved) // _runs_at_once, False)

    def less(self, held: int) -> MemoryLimit:
        """The limit of what a process takes beside the bytes that it has.

        These count where a limit that the user gave is more than twice as large; what is free is free beside them.
        """
        return MemoryLimit(self.bytes - held, True, held) if self.asked and held * SMALL_PART < self.bytes else self

    def allow(self, needed: int, remark: str = "") -> None:
        """Raises `OutOfMemory` if a run that holds so many bytes would pass the limit. remark: what else it says."""
        if needed > self.bytes:
            raise OutOfMemory("; ".join(filter(None, (f"{self} would be passed", remark))))

    def __str__(self) -> str:
        amount = f"{(self.bytes + self.held) / MEBIBYTE:,.0f} MiB"
        return f"the memory limit of {amount}" if self.asked else f"the {amount} of memory that were free at the start"
