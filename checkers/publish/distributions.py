"""The commands `sdist` and `bdist_wheel` of a build: equal files give equal archives.

`pyproject.toml` names them. setuptools imports this module alone, before the package and its dependencies are there.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.sdist import sdist

READ, EXECUTE = 0o644, 0o755
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
            entry.mode = EXECUTE if entry.isdir() or entry.mode & 0o100 else READ
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


class Wheel(bdist_wheel):  # type: ignore[misc]
    """Writes the modes of files as Git has them; those of the checkout follow the umask."""

    def write_wheelfile(self, *args: Any, **named: Any) -> None:
        """Is called when all files are in `bdist_dir`, and before the archive is written."""
        super().write_wheelfile(*args, **named)
        for path in Path(self.bdist_dir).rglob("*"):
            path.chmod(EXECUTE if path.is_dir() or path.stat().st_mode & 0o100 else READ)
