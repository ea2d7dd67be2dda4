"""How workers are reached in a session, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.engines.spark import engine
from reassure.checkers.engines.spark.distributed_search import DistributedRun
from reassure.checkers.engines.spark.session import ClusterSession
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.prepare import Prepared
from tests.helpers.runs import bind
from tests.helpers.spark_runs import needs_spark


@needs_spark
def test_workers_are_reached_by_sockets(context: Any) -> None:
    conf = context.getConf()
    folder = Path(conf.get("spark.python.unix.domain.socket.dir"))
    context.parallelize([1], 1).map(str).collect()
    assert conf.get("spark.python.unix.domain.socket.enabled") == "true"
    assert any(path.is_socket() for path in folder.iterdir())


ONE_AFTER_ANOTHER = """
import os, pyspark, subprocess
from pathlib import Path
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.engines.spark import launch, session

for master in ("local[2]", "local[1]"):
    started = session.start("test", SparkOptions(master))
    print(started.context.master, started.context.parallelize([1, 2], 2).map(str).collect())
    started.stop()
print(subprocess.run(["pgrep", "-c", "-P", str(os.getpid()), "java"], capture_output=True, text=True).stdout.strip())

print([key for key in pyspark.SparkConf().getAll() if "spark.python" in str(key)])
print(launch.process_folder())
"""


@needs_spark
@pytest.mark.slow
def test_one_session_after_another_in_a_process() -> None:
    """In one JVM; the settings of workers on this machine are not the defaults of a later session."""
    done = subprocess.run([sys.executable, "-c", ONE_AFTER_ANOTHER], capture_output=True, text=True, timeout=120)
    *lines, folder = done.stdout.splitlines()
    assert lines == ["local[2,4] ['1', '2']", "local[1,4] ['1', '2']", "1", "[]"], done.stderr
    assert not Path(folder).exists()


def test_a_session_does_not_wait_for_the_server_of_accumulators() -> None:
    stopped, ended = threading.Event(), threading.Event()
    server = SimpleNamespace(shutdown=lambda: stopped.wait(20) and ended.set())
    context = SimpleNamespace(_accumulatorServer=server, stop=stopped.set)
    ClusterSession(context).stop()
    assert ended.wait(20)
    assert context._accumulatorServer is None


def test_a_user_who_ends_it_while_spark_starts_is_told_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The levels searched in the driver count, and those that are left to expand."""

    def waits(run: DistributedRun) -> None:
        raise KeyboardInterrupt

    started = ClusterSession(SimpleNamespace(uiWebUrl=None, stop=lambda: None), ours=False)
    monkeypatch.setattr(engine, "start_spark", lambda name, cluster: started)
    monkeypatch.setattr(engine, "why_not", lambda: "")
    monkeypatch.setattr(DistributedRun, "connect", waits)
    bound, lowered = bind(load_model("core"), {})
    found = engine.check(
        Prepared(bound, restricted=lowered), SearchOptions(), Progress(quiet=True), SparkOptions(small=100)
    )
    stats = found.stats
    assert (found.stopped, found.complete, stats.distinct, stats.depth, stats.frontier) == (BY_USER, False, 168, 3, 121)
