"""How workers are reached in a session, and how it ends."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reassure.checkers.spark import session
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
