"""The process that forks Spark's Python workers imports PySpark from where its byte code is kept."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.engines.spark import launch, worker_daemon
from tests.helpers.spark_runs import needs_spark

pytest.importorskip("pyspark")

PYSPARK_ENDS = 1
"""Exit code of PySpark's daemon when its standard input was closed."""
ARCHIVES = ["/spark/python/lib/pyspark.zip", "/spark/python/lib/py4j-0.10.9.9-src.zip"]


def test_archives_are_left_out_where_the_packages_are_installed() -> None:
    assert worker_daemon.without_archives([*ARCHIVES, "/mine.zip", *sys.path]) == ["/mine.zip", *sys.path]


def test_archives_stay_where_nothing_is_installed() -> None:
    assert worker_daemon.without_archives([*ARCHIVES, "/nowhere"]) == [*ARCHIVES, "/nowhere"]


def test_the_daemon_has_what_tasks_import_and_one_thread() -> None:
    """As a process that forks is to have; it ends when Spark closes its standard input."""
    words = [sys.executable, "-m", launch.WORKER_DAEMON, "pyspark.worker"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert 1_023 < int.from_bytes(process.stdout.read(4), "big") < 65_536
        assert "\nThreads:\t1\n" in Path(f"/proc/{process.pid}/status").read_text()
        assert "llvmlite" in Path(f"/proc/{process.pid}/maps").read_text()
    finally:
        process.stdin.close()
    assert process.wait(20) == PYSPARK_ENDS


@needs_spark
def test_workers_are_forked_from_the_daemon(context: Any) -> None:
    def parent(_: int) -> str:
        return Path(f"/proc/{os.getppid()}/cmdline").read_text()

    (found,) = context.parallelize([1], 1).map(parent).collect()
    assert found.split("\0")[2] == launch.WORKER_DAEMON


@needs_spark
def test_what_is_imported_is_no_garbage_to_be_looked_through(context: Any) -> None:
    """PySpark's daemon collects garbage after each task; among all modules that takes longer than a small task."""

    def left_out(_: int) -> int:
        return gc.get_freeze_count()

    (objects,) = context.parallelize([1], 1).map(left_out).collect()
    assert objects > 50_000


@needs_spark
def test_workers_import_the_installed_package(context: Any) -> None:
    def imported_from(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    (found,) = context.parallelize([1], 1).map(imported_from).collect()
    assert ".zip" not in found
