"""The command `sdist` of a build: the same archive of the same files, whoever makes it, where and when.

`pyproject.toml` names it. setuptools imports this module alone, before the package and its dependencies are there.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

from setuptools.command.sdist import sdist

FIRST = 315_532_800
"""1980-01-01, in seconds since 1970."""


class SourceDistribution(sdist):  # type: ignore[misc]
    """Writes the files by name, without an owner, with the time of SOURCE_DATE_EPOCH (seconds since 1970).

    Without that it is the first time that a wheel can have.
    """

    def make_archive(self, base_name: Any, format: str, root_dir: Any = None, base_dir: Any = None, **_: Any) -> str:
        """Writes `base_name`.tar.gz of the folder `base_dir`; returns its path."""
        when = int(os.environ.get("SOURCE_DATE_EPOCH", FIRST))

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = when, 0, 0, "", ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        path = Path(f"{base_name}.tar.gz")
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=when) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for part in sorted([Path(base_dir), *Path(base_dir).rglob("*")]):
                archive.add(part, recursive=False, filter=plain)
        return str(path)
