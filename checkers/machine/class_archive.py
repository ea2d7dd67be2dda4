"""Archives of Java classes: a JVM takes its classes from what an earlier one wrote at its end (JEP 350).

To load and verify them is half of what a short job of a JVM costs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from reassure.checkers.machine.own_files import cache_folder, own_folder

ARCHIVED = ("-XX:+VerifySharedSpaces", "-XX:SharedArchiveFile={}")
ARCHIVING = ("-XX:ArchiveClassesAtExit={}",)
DIGITS = 12
Archive = tuple[tuple[str, ...], tuple[int, ...]]
"""Options of a JVM, and the descriptors that it inherits: it writes an archive if there are any."""
NONE: Archive = ((), ())


@contextlib.contextmanager
def jvm_archive(
    name: str, most: int, options: Iterable[str], files: Iterable[Path], writes: bool = True
) -> Iterator[Archive]:
    """What a new JVM is given for the archive of its classes.

    name: of the folder in the cache. most: archives that it keeps. options, files: of the JVM; with other ones, or
    after a change of these files, it has another archive. writes: whether the JVM may write it.

    Java checks the archive, and goes on without one that does not fit; one that is shorter than it was would end it,
    and is removed. The descriptor is that of a lock, which the JVM holds until it has ended: only then is the archive
    whole. There are no options where the cache cannot be used, or while another JVM writes the archive.
    """
    with contextlib.ExitStack() as stack:
        given = NONE
        with contextlib.suppress(OSError):
            folder = cache_folder(name)
            known = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
            digest = hashlib.sha256("\n".join([*options, *known]).encode()).hexdigest()[:32]
            archive = folder / f"{digest}.jsa"
            if own_folder(folder.parent) and own_folder(folder) and not re.search(r"[\s\"'\\\\]", str(archive)):
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                lock = os.open(archive.with_suffix(".lock"), flags, 0o600)
                stack.callback(os.close, lock)
                given = _given(archive, lock, most, writes)
        yield given


def _given(archive: Path, lock: int, most: int, writes: bool) -> Archive:
    written = archive.with_suffix(".part")
    if archive.exists() and os.pread(lock, DIGITS, 0) != _size(archive):
        archive.unlink(missing_ok=True)
    if not archive.exists():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return NONE
        if not written.exists() or _begins_with_zeros(written):
            written.unlink(missing_ok=True)
            return (_of(ARCHIVING, written), (lock,)) if writes else NONE
        os.pwrite(lock, _size(written), 0)
        written.replace(archive)
        kept = sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-most]:
            old.unlink(missing_ok=True)
            old.with_suffix(".lock").unlink(missing_ok=True)
    os.utime(archive)
    return _of(ARCHIVED, archive), ()


def _of(options: tuple[str, ...], file: Path) -> tuple[str, ...]:
    return tuple(option.format(file) for option in options)


def _size(file: Path) -> bytes:
    """The length of a file, as its lock file has it."""
    return b"%*d" % (DIGITS, file.stat().st_size)


def _begins_with_zeros(file: Path) -> bool:
    """Whether an archive is not whole: a JVM writes its first bytes last."""
    with file.open("rb") as archive:
        return not any(archive.read(4))
