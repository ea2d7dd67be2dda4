"""Folders and files that only this user can have written: code and answers are taken from no others.

Also here: what is kept on disk from one process to the next, one file for each key; a file that is damaged, half
written or another's is never used. Another's is also a file that others can write, and every file of a folder that they
can write.

Also here: temporary folders that bear the number of their process: those of processes that were killed are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
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


def stamp(path: str) -> tuple[int, int, int, int]:
    """Number, size and times (ns) of a file, which no other content has: nobody sets `st_ctime`. Zeros: no file."""
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0, 0, 0)
    return status.st_ino, status.st_size, status.st_ctime_ns, status.st_mtime_ns


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


LOCK_DIGITS = 2
"""Of a key: what keys of one lock have in common."""


class KeptFiles:
    """Contents that are kept under keys.

    A file holds a magic word, the SHA-256 of its key and its content together, and the content. It is written under
    another name and renamed, so that processes that share the folder see all of a file or nothing of it.
    """

    def __init__(self, folder: Callable[[], Path], magic: bytes, suffix: str, most: int) -> None:
        """folder: where they lie, as of now. suffix: of their names. most: files kept; the longest unused go first."""
        self.folder, self.magic, self.suffix, self.most = folder, magic, suffix, most

    def read(self, key: str) -> bytes | None:
        """The content stored under a key; None if there is none that can be trusted."""
        stored = read_own(self.folder() / (key + self.suffix)) if own_folder(self.folder()) else None
        if stored is None:
            return None
        start = len(self.magic) + 32
        content = stored[start:]
        return content if stored[:start] == self.magic + _seal(key, content) else None

    def write(self, key: str, content: bytes) -> None:
        """Stores content under a key. A folder that cannot be written is not an error: it is made again then."""
        base = self.folder()
        if not own_folder(base):
            return
        import tempfile  # which reading, of every command, does without

        with contextlib.suppress(OSError):
            handle, name = tempfile.mkstemp(dir=base, prefix=".writing-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self.magic + _seal(key, content) + content)
                os.replace(name, base / (key + self.suffix))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._tidy(base)

    @contextlib.contextmanager
    def one_writer(self, key: str) -> Iterator[None]:
        """Lets one process at a time make the content of a key: the others wait, and then find it.

        A folder that cannot be used is not an error: then they all make it. Locks are shared by a few keys, so that
        there are never many files of them.
        """
        lock = self.folder() / f".lock-{key[:LOCK_DIGITS]}"
        with locked(lock) if own_folder(self.folder()) else contextlib.nullcontext():
            yield

    def _tidy(self, base: Path) -> None:
        """Removes the files longest unused beyond `most`; another process may remove them first.

        Only where there are a tenth more: to ask each file for its time takes longer than to write one.
        """
        paths = [base / name for name in os.listdir(base) if name.endswith(self.suffix)]
        if len(paths) <= self.most + self.most // 10:
            return
        files = []
        for path in paths:
            with contextlib.suppress(OSError):
                files.append((path.stat().st_mtime, path))
        for _, path in sorted(files, reverse=True)[self.most :]:
            with contextlib.suppress(OSError):
                path.unlink()


def _seal(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def prefix() -> str:
    """The beginning of the name of each temporary folder of this process."""
    return f"reassure-{os.getuid()}-{os.getpid()}-"


def make_folder(purpose: str) -> Path:
    """A new folder of this process. The first one removes those that killed processes of this user have left."""
    import tempfile

    _tidied()
    return Path(tempfile.mkdtemp(prefix=f"{prefix()}{purpose}-"))


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A new folder of this process that lasts as long as the context."""
    import shutil

    folder = make_folder(purpose)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tidy_dead(*places: Path) -> None:
    """Removes from the temporary folder, and from `places`, the folders of processes that are no longer there."""
    if not Path("/proc/self").exists():
        return
    import shutil
    import tempfile

    for place in {Path(tempfile.gettempdir()), *places}:
        for folder in place.glob(f"reassure-{os.getuid()}-*-*"):
            pid = folder.name.split("-")[2]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _tidied() -> None:
    tidy_dead()
