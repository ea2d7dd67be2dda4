"""The process from which Spark forks its Python workers on this machine: PySpark's own, with what tasks import.

Spark puts `pyspark.zip` first on the path of its workers. Python keeps no byte code of what it imports from an archive,
and compiles it in each run: a third of a second that the first job waits for. The installed package is the same.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

NEEDED = ("pyspark", "py4j")
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Variables with which no library starts a thread when it is imported: a process that forks is to have one thread."""


def without_archives(path: list[str]) -> list[str]:
    """The path without the archives of PySpark and Py4J; unchanged if these are not installed beside."""
    others = [entry for entry in path if not (entry.endswith(".zip") and Path(entry).name.startswith(NEEDED))]
    return others if all(PathFinder.find_spec(name, others) for name in NEEDED) else path


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    os.environ.update(SINGLE_THREADED)
    import llvmlite.binding  # noqa: F401 (for what a worker compiles, or cannot load by itself)
    from pyspark.daemon import manager

    import reassure.checkers.engines.spark.tasks  # noqa: F401 (for the workers)

    gc.freeze()  # PySpark's daemon collects garbage after each task: not among all that is imported here
    manager()
