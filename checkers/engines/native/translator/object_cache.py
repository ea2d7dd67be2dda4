"""Machine code on disk, one file for each key; a file that is damaged, half written or another's is never used.

Another's is also a file that others can write, and every file of a folder that they can write.

A file holds a magic word, the SHA-256 of its key and its content together, and the content. It is written under another
name and renamed, so that processes that share the folder see all of a file or nothing of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reassure.checkers.machine.own_files import locked, own_folder, read_own

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
    stored = read_own(folder() / (key + SUFFIX)) if own_folder(folder()) else None
    if stored is None:
        return None
    start = len(MAGIC) + 32
    content = stored[start:]
    intact = stored[:start] == MAGIC + _seal(key, content)
    return content if intact else None


def write(key: str, content: bytes) -> None:
    """Stores content under a key. A folder that cannot be written is not an error: the next process compiles again."""
    base = folder()
    if not own_folder(base):
        return
    with contextlib.suppress(OSError):
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

    A folder that cannot be used is not an error: then they all make it. Locks are shared by a few keys, so that there
    are never many files of them.
    """
    with locked(folder() / f".lock-{key[:LOCK_DIGITS]}") if own_folder(folder()) else contextlib.nullcontext():
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
