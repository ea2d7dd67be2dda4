"""Machine code on disk, one file for each key; a file that is damaged, half written or another's is never used.

A file holds a magic word, the SHA-256 of its key and its content together, and the content. It is written under another
name and renamed, so that processes that share the folder see all of a file or nothing of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"reassure object 1\n"
SUFFIX = ".object"
KEEP = 400
"""Files kept; the ones longest unused are removed."""
LOCK_DIGITS = 2
"""Of a key: what keys of one lock have in common."""


def folder() -> Path:
    """The folder of the machine code: REASSURE_CACHE, or the user's cache folder."""
    declared = os.environ.get("REASSURE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(declared) if declared else base / "reassure" / "kernels"


def read(key: str) -> bytes | None:
    """The content stored under a key; None if there is none that can be trusted."""
    path = folder() / (key + SUFFIX)
    try:
        stored = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    start = len(MAGIC) + 32
    content = stored[start:]
    intact = stored[:start] == MAGIC + _seal(key, content)
    return content if intact else None


def write(key: str, content: bytes) -> None:
    """Stores content under a key. A folder that cannot be written is no error: the next process compiles again."""
    base = folder()
    with contextlib.suppress(OSError):
        base.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=base, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _seal(key, content) + content)
            os.replace(name, base / (key + SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _tidy(base)


@contextlib.contextmanager
def one_writer(key: str) -> Iterator[None]:
    """Lets one process at a time make the content of a key: the others wait, and then find it.

    A folder that cannot be written is no error: then they all make it. Locks are shared by a few keys, so that there
    are never many files of them.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder().mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(folder() / f".lock-{key[:LOCK_DIGITS]}", "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)  # let go when the file is closed, also by a process that is killed
        yield


def _seal(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _tidy(base: Path) -> None:
    """Removes the files longest unused beyond `KEEP`; another process may remove them first."""
    files = []
    for path in base.glob("*" + SUFFIX):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path))
    for _, path in sorted(files, reverse=True)[KEEP:]:
        with contextlib.suppress(OSError):
            path.unlink()
