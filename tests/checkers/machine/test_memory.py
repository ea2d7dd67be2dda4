"""A run takes no more memory than is free."""

from __future__ import annotations

import itertools
import mmap
import os
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.engines.reference import search
from reassure.checkers.machine import memory
from reassure.checkers.machine.memory import (
    MemoryLimit,
    OutOfMemory,
    free_memory,
    memory_of_machine,
    process_memory,
    runs_at_once,
)
from reassure.checkers.machine.stop import StopReason

MIB = 1 << 20


def physical() -> int:
    """Bytes of memory of this machine, as no control group limits it."""
    return memory.os.sysconf("SC_PAGE_SIZE") * memory.os.sysconf("SC_PHYS_PAGES")


def group(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 1000 MiB available and no control group that limits it."""
    monkeypatch.setattr(memory, "FOLDERS", (tmp_path / "v2", tmp_path / "v1"))
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable:  {1000 << 10} kB\n")
    return tmp_path


def test_what_the_machine_has_available_is_free(machine: Path) -> None:
    assert (free_memory(), memory_of_machine()) == (1000 * MIB, physical())


def test_a_system_that_does_not_say_has_all_its_memory(machine: Path) -> None:
    (machine / "meminfo").unlink()
    assert free_memory() == physical()


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("v2", {"memory__max": f"{800 * MIB}\n", "memory__current": f"{500 * MIB}\n",
                "memory__stat": f"anon 7\ninactive_file {100 * MIB}\n"}),
        ("v1", {"memory__limit_in_bytes": f"{800 * MIB}\n", "memory__usage_in_bytes": f"{500 * MIB}\n",
                "memory__stat": f"inactive_file 1\ntotal_inactive_file {100 * MIB}\n"}),
    ],
)  # fmt: skip
def test_a_control_group_limits(machine: Path, folder: str, files: dict[str, str]) -> None:
    """What it has cached of files can be dropped."""
    group(machine / folder, **files)
    assert (free_memory(), memory_of_machine()) == (400 * MIB, 800 * MIB)


def test_a_control_group_without_a_limit(machine: Path) -> None:
    group(machine / "v2", memory__max="max\n", memory__current="5\n", memory__stat="inactive_file 0\n")
    assert free_memory() == 1000 * MIB


def leave(machine: Path, free: int) -> None:
    """Makes so many bytes of the machine free."""
    (machine / "meminfo").write_text(f"MemAvailable:  {free >> 10} kB\n")


def test_the_limit_is_what_is_free_but_for_a_reserve(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(machine, 3000 * MIB)
    for size, reserve in ((4096 * MIB, 512 * MIB), (64 << 30, 1 << 30)):
        monkeypatch.setattr(memory, "memory_of_machine", lambda size=size: size)
        assert MemoryLimit.of(None) == MemoryLimit(3000 * MIB - reserve, False)
    assert MemoryLimit.of(5) == MemoryLimit(5, True)
    runs_at_once(2)
    try:
        assert MemoryLimit.of(None).bytes == (3000 * MIB - (1 << 30)) // 2
    finally:
        runs_at_once(1)
    leave(machine, 1 * MIB)
    assert MemoryLimit.of(None).bytes == 0


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (MemoryLimit(2 * MIB, True), "the memory limit of 2 MiB would be passed"),
        (MemoryLimit(2 * MIB, True, 3 * MIB), "the memory limit of 5 MiB would be passed"),
        (MemoryLimit(2 * MIB, False), "the 2 MiB of memory that were free at the start would be passed"),
    ],
)
def test_a_limit_is_passed_by_more(limit: MemoryLimit, text: str) -> None:
    limit.allow(2 * MIB)
    with pytest.raises(OutOfMemory) as refused:
        limit.allow(2 * MIB + 1)
    assert (refused.value.stop.reason, refused.value.stop.text) == (StopReason.MEMORY, text)


@pytest.mark.parametrize(
    ("limit", "held", "left"),
    [
        (MemoryLimit(600, True), 100, MemoryLimit(500, True, 100)),
        (MemoryLimit(201, True), 100, MemoryLimit(101, True, 100)),
        (MemoryLimit(200, True), 100, MemoryLimit(200, True)),  # a small limit is of the search alone
        (MemoryLimit(600, False), 100, MemoryLimit(600, False)),  # what is free is free beside it
    ],
)
def test_what_the_process_has_counts(limit: MemoryLimit, held: int, left: MemoryLimit) -> None:
    assert limit.less(held) == left


def test_the_memory_of_this_process() -> None:
    before = process_memory()
    assert process_memory(os.getpid()) >= before // 2
    assert process_memory(0) == 0  # there is no such process
    with mmap.mmap(-1, 64 * MIB) as block:  # an allocation could reuse what earlier tests have freed
        block.write(bytes([1]) * (64 * MIB))
        with_block = process_memory()
    assert 10 * MIB < before < physical() and with_block - before > 32 * MIB


@pytest.mark.parametrize(
    "command",
    [
        ["check", "core", "--set=brokers=4"],
        ["guards", "core", "--set=brokers=4"],
        ["find", "core", "--set=brokers=4", "len(s.isr) > 9"],
        ["stuck", "core_liveness", "--set=brokers=4"],
        ["fairness", "core_liveness", "--set=brokers=4"],
    ],
)
def test_without_an_option_a_run_ends_before_the_machine_swaps(
    command: list[str], machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(machine, memory.MOST_RESERVED + MIB)
    assert main(command) == 5
    said = capsys.readouterr()
    assert "memory that were free at the start would be passed" in said.out + said.err


@pytest.mark.parametrize(
    ("options", "limit"), [([], "that were free at the start"), (["--memory=8M"], "limit of 8 MiB")]
)
def test_the_plain_engine_counts_what_its_process_takes(
    options: list[str],
    limit: str,
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    taken = itertools.count(100 * MIB, 3 * MIB)
    monkeypatch.setattr(search, "process_memory", lambda: next(taken))
    leave(machine, memory.MOST_RESERVED + 10 * MIB)
    assert main(["check", "core", "--engine=reference", *options]) == 5
    assert limit in capsys.readouterr().out
