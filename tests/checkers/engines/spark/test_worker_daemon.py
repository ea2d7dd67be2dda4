"""The process that forks Spark's Python workers imports PySpark from where its byte code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
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


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that waits at the socket `daemon`."""
    process = launch._waiting_daemon(tmp_path / "daemon")
    yield process
    launch.end(process, 0)


def started_by_spark(place: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A daemon as Spark starts it, and the port at which it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", launch.WORKER_DAEMON, "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, worker_daemon.PLACE: str(place)},
    )
    assert process.stdout is not None
    return process, int.from_bytes(process.stdout.read(4), "big")


def listening(pid: int) -> bool:
    """Whether a process has a socket beside its three streams, which listens."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[3] == "0A" and f"socket:[{row[9]}]" in inodes for row in rows)


def appears(path: Path, process: subprocess.Popen[bytes]) -> None:
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.01)


def test_the_daemon_that_waits_works_for_the_one_that_spark_starts(
    waiting: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """With one thread, as a process that forks is to have; both end when Spark closes the standard input."""
    appears(tmp_path / "daemon", waiting)
    process, port = started_by_spark(tmp_path / "daemon")
    try:
        assert 1_023 < port < 65_536
        assert (listening(waiting.pid), listening(process.pid)) == (True, False)
        assert "\nThreads:\t1\n" in Path(f"/proc/{waiting.pid}/status").read_text()
    finally:
        launch.end(process, 20)
    assert (waiting.wait(20), process.returncode) == (PYSPARK_ENDS, 0)


def test_a_daemon_works_itself_where_none_waits(tmp_path: Path) -> None:
    process, port = started_by_spark(tmp_path / "daemon")
    try:
        assert 1_023 < port < 65_536
        assert listening(process.pid)
    finally:
        launch.end(process, 20)
    assert process.returncode == PYSPARK_ENDS


def test_a_daemon_that_waits_ends_with_its_driver(waiting: subprocess.Popen[bytes], tmp_path: Path) -> None:
    appears(tmp_path / "daemon", waiting)
    assert waiting.stdin is not None
    waiting.stdin.close()
    assert waiting.wait(20) == 0


@needs_spark
def test_workers_are_forked_from_the_daemon_that_waited(context: Any) -> None:
    def parent(_: int) -> str:
        return Path(f"/proc/{os.getppid()}/cmdline").read_text()

    (found,) = context.parallelize([1], 1).map(parent).collect()
    assert found.split("\0")[2:4] == [launch.WORKER_DAEMON, worker_daemon.WAIT]


@needs_spark
def test_workers_import_the_installed_package(context: Any) -> None:
    def imported_from(_: int) -> str:
        import pyspark

        return str(pyspark.__file__)

    (found,) = context.parallelize([1], 1).map(imported_from).collect()
    assert ".zip" not in found
