"""Files that somebody else may have written: no more than a limit is read of them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

LONGEST = 128 << 20
"""Bytes of a file that is read whole; as JSON it takes up to 25 times as many in memory."""
LONGEST_LINE = 16 << 20
"""Characters of a line."""


def read_text(path: Path) -> str:
    """The text of a file, or of a pipe; `OSError` if it is too long, `UnicodeDecodeError` if it is not text."""
    return read_bytes(path, LONGEST).decode("utf-8")


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a file, or of a pipe; `OSError` if there are more than `most`."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20:,} MiB are not read", str(path))
    return data


def lines_of(file: TextIO, name: str) -> Iterator[str]:
    """The lines of a file; `OSError` at one that is too long."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise OSError(errno.EFBIG, f"a line of more than {LONGEST_LINE >> 20} MiB is not read", name)
        yield line
