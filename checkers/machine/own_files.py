"""Folders and files that only this user can have written: code and answers are taken from no others.

Also here: temporary folders that bear the number of their process: those of processes that were killed are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60.0
"""Seconds to wait for another process's lock: longer than it holds one, unless it is stopped."""
POLL = 0.05
_told: set[str] = set()


def cache_folder(name: str) -> Path:
    """A folder of what is kept from one command to the next: below REASSURE_CACHE, or in the user's cache folder."""
    declared = os.environ.get("REASSURE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(declared) if declared else base / "reassure") / name


def others_can_write(path: Path) -> str | None:
    """Why others may have written a folder, in words; None if they cannot have. `OSError` if it is not there."""
    return _why(os.stat(path))


def _why(status: os.stat_result) -> str | None:
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users can write to it"
    return None


def own_folder(path: Path) -> bool:
    """Whether a folder is this user's alone; makes it if it is not there.

    Of another folder a line on standard error says, once, that it is not used. False also if it cannot be made.
    """
    return why_not_own(path) is None


def why_not_own(path: Path) -> str | None:
    """Why `own_folder` is false of a folder, in words; None if it is true."""
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        why = others_can_write(path)
    except OSError as error:
        return f"it cannot be made: {error.strerror}"
    if why is not None and str(path) not in _told:
        _told.add(str(path))
        print(f"reassure: the folder {path} is not used: {why}", file=sys.stderr)
    return why


def read_own(path: Path) -> bytes | None:
    """The content of a regular file that is this user's alone; None for any other. Notes that it was used.

    Links are not followed, and a pipe is not waited for.
    """
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and _why(status) is None:
            os.utime(descriptor)
            return open(descriptor, "rb", closefd=False).read()
    return None


@contextlib.contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Holds the lock of a file. Without one goes on who cannot make it, or has waited so many seconds for it.

    Links are not followed, nothing is truncated, and a pipe is not waited for.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o600)
            stack.callback(os.close, descriptor)  # which lets go of it; so does the end of a process
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                _wait_for(descriptor, patience)
        yield


def _wait_for(descriptor: int, patience: float) -> None:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= end:
                return
            time.sleep(POLL)


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
