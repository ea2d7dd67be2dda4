"""How workers are reached in a session, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.base.model_loader import bind, load
from reassure.checkers.base.options import SearchOptions, SparkOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult
from reassure.checkers.base.stop import BY_USER
from reassure.checkers.engines.spark import engine, session
from reassure.checkers.engines.spark.distributed_search import Run
from reassure.checkers.engines.spark.session import Session
from tests.helpers.spark_runs import needs_spark


@needs_spark
def test_workers_are_reached_by_sockets(context: Any) -> None:
    conf = context.getConf()
    folder = Path(conf.get("spark.python.unix.domain.socket.dir"))
    context.parallelize([1], 1).map(str).collect()
    assert conf.get("spark.python.unix.domain.socket.enabled") == "true"
    assert any(path.is_socket() for path in folder.iterdir())


def test_a_session_leaves_nothing(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped" / "reassure.zip"
    shipped.parent.mkdir()
    shipped.touch()
    stopped: list[int] = []
    workers = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    Session(SimpleNamespace(stop=lambda: stopped.append(1)), shipped=shipped, workers=workers).stop()
    assert (stopped, list(tmp_path.iterdir()), workers.poll()) == ([1], [], 0)


ONE_AFTER_ANOTHER = """
import os, pyspark, subprocess
from pathlib import Path
from reassure.checkers.base.options import SparkOptions
from reassure.checkers.engines.spark import launch, session

for master in ("local[2]", "local[1]"):
    started = session.start("test", SparkOptions(master))
    print(started.context.master, started.context.parallelize([1, 2], 2).map(str).collect())
    started.stop()
print(subprocess.run(["pgrep", "-c", "-P", str(os.getpid()), "java"], capture_output=True, text=True).stdout.strip())

class Context:
    _jvm = pyspark.SparkContext._jvm
    def __new__(cls, conf, gateway):
        return conf

pyspark.SparkContext = Context
conf = session._connected("test", SparkOptions("spark://head:7077"), False, None, None)
print(conf.get("spark.python.unix.domain.socket.enabled"), conf.get("spark.driver.host"))
print(launch.sockets_folder("local"))
"""


@needs_spark
def test_one_session_after_another_in_a_process() -> None:
    """In one JVM, which keeps to its first folder of sockets; and what it was told first is not told again."""
    done = subprocess.run([sys.executable, "-c", ONE_AFTER_ANOTHER], capture_output=True, text=True, timeout=120)
    *lines, folder = done.stdout.splitlines()
    assert lines == ["local[2,4] ['1', '2']", "local[1,4] ['1', '2']", "1", "None None"], done.stderr
    assert not Path(folder).exists()


def test_a_server_ends_beside() -> None:
    """The end of a session does not wait for it."""
    looked, ended = threading.Event(), threading.Event()

    def shutdown() -> None:
        looked.wait(20)
        ended.set()

    server: Any = SimpleNamespace(shutdown=shutdown)
    session._end_beside(server)
    server.shutdown()
    assert not ended.is_set()
    looked.set()
    assert ended.wait(20)


def test_a_user_who_ends_it_while_spark_starts_is_told_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The levels searched in the driver count, and those that are left to expand."""

    def waits(run: Run, context: Any) -> None:
        raise KeyboardInterrupt

    started = Session(SimpleNamespace(uiWebUrl=None, stop=lambda: None), ours=False)
    monkeypatch.setattr(engine, "start_spark", lambda name, cluster: started)
    monkeypatch.setattr(engine, "why_not", lambda: "")
    monkeypatch.setattr(Run, "connect", waits)
    bound, lowered = bind(load("core"), {})
    result = CheckResult("core", "", {}, "spark")
    found = engine.check(bound, lowered, SearchOptions(), result, Progress(quiet=True), SparkOptions(small=100))
    stats = found.stats
    assert (found.stopped, found.complete, stats.distinct, stats.depth, stats.frontier) == (BY_USER, False, 168, 3, 121)
