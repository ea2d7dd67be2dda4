"""Temporary folders that bear the number of their process: those of processes that were killed are removed."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def prefix() -> str:
    """The beginning of the name of each temporary folder of this process."""
    return f"reassure-{os.getuid()}-{os.getpid()}-"


def make_folder(purpose: str) -> Path:
    """A new folder of this process. The first one removes those that killed processes of this user have left."""
    _tidied()
    return Path(tempfile.mkdtemp(prefix=f"{prefix()}{purpose}-"))


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A new folder of this process that lasts as long as the context."""
    folder = make_folder(purpose)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tidy_dead(*places: Path) -> None:
    """Removes from the temporary folder, and from `places`, the folders of processes that are no longer there."""
    if not Path("/proc/self").exists():
        return
    for place in {Path(tempfile.gettempdir()), *places}:
        for folder in place.glob(f"reassure-{os.getuid()}-*-*"):
            pid = folder.name.split("-")[2]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _tidied() -> None:
    tidy_dead()
