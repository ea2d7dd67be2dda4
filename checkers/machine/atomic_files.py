"""Files that are there whole or not at all, and the file that a user may have meant where one is missing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_atomically(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old or the new text; `OSError` if it cannot be written."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path, text)
    except OSError as error:  # of a full disk, which names no file
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(path: Path, text: str) -> None:
    """Writes a file beside this one, and renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path = path.resolve()  # of a link, what it leads to
    try:
        mode = path.stat().st_mode & 0o755
    except FileNotFoundError:
        mode = 0o644
    import tempfile  # which takes longer than a small file

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_record(path: Path | None, record: Mapping[str, Any]) -> None:
    """Writes a run record as JSON, atomically; the path `-` is standard output. None: writes nothing."""
    if path is None:
        return
    text = json.dumps(record, indent=2) + "\n"
    if path == Path("-"):
        sys.stdout.write(text)
    else:
        write_atomically(path, text)


def did_you_mean(path: Path) -> str:
    """The end of a message about a file that is not there: the file beside it whose name is nearest, if one is near."""
    import difflib  # of few messages

    if path.exists():
        return ""
    try:
        beside = sorted(one.name for one in path.parent.iterdir())
    except OSError:
        return ""
    alike = [name for name in beside if Path(name).suffix == path.suffix]
    near = difflib.get_close_matches(path.name, alike or beside, n=1)
    return f"; did you mean {path.parent / near[0]}?" if near else ""
