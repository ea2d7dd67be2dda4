"""The process on this machine from which Spark forks its Python workers: PySpark's own, without PySpark's archives.

Spark puts `pyspark.zip` first on the path of its workers. Python keeps no byte code of what it imports from an archive,
and compiles it in each run: a third of a second that the first job waits for. The installed package is the same.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

NEEDED = ("pyspark", "py4j")


def without_archives(path: list[str]) -> list[str]:
    """The path without the archives of PySpark and Py4J; unchanged if these are not installed beside."""
    kept = [entry for entry in path if not (entry.endswith(".zip") and Path(entry).name.startswith(NEEDED))]
    return kept if all(PathFinder.find_spec(name, kept) for name in NEEDED) else path


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    from pyspark.daemon import manager

    manager()
