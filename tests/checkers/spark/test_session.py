"""How workers are reached in a session, and how it ends."""

from __future__ import annotations

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
from reassure.checkers.spark import engine, session
from reassure.checkers.spark.distributed_search import Run
from reassure.checkers.spark.session import Session
from tests.helpers.spark_runs import needs_spark


@needs_spark
def test_workers_are_reached_by_sockets(context: Any) -> None:
    conf = context.getConf()
    folder = Path(conf.get("spark.python.unix.domain.socket.dir"))
    context.parallelize([1], 1).map(str).collect()
    assert conf.get("spark.python.unix.domain.socket.enabled") == "true"
    assert any(path.is_socket() for path in folder.iterdir())


def test_a_session_leaves_no_folder(tmp_path: Path) -> None:
    folders = (tmp_path / "sockets", tmp_path / "shipped")
    for folder in folders:
        folder.mkdir()
        (folder / "file").touch()
    stopped: list[int] = []
    Session(SimpleNamespace(stop=lambda: stopped.append(1)), folders=folders).stop()
    assert (stopped, list(tmp_path.iterdir())) == ([1], [])


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
