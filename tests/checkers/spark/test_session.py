"""What a session is started with, and how it ends."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.base.options import SparkOptions
from reassure.checkers.spark import owner_table, session
from reassure.checkers.spark.session import Session, java_version
from tests.helpers.spark_runs import needs_spark

SOCKETS = Path("/tmp/sockets")


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[2]", True), ("local[*,3]", True), ("local-cluster[1,1,1024]", False), ("yarn", False)],
)
def test_sockets_have_a_folder_of_their_own_on_this_machine(master: str, local: bool) -> None:
    folder = session._sockets(master)
    assert (folder is not None) == local
    if folder is not None:
        assert (folder.stat().st_mode & 0o777, list(folder.iterdir())) == (0o700, [])
        folder.rmdir()


def test_sockets_of_a_driver_that_was_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_table.tempfile, "gettempdir", lambda: str(tmp_path))
    process = subprocess.Popen(["true"])
    process.wait()
    names = [f"reassure-sockets-{process.pid}-x", f"reassure-sockets-{os.getpid()}-x"]
    for name in names:
        (tmp_path / name).mkdir()
    owner_table.tidy_dead()
    assert [path.name for path in tmp_path.iterdir()] == names[1:]


def test_no_sockets_where_their_names_would_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.tempfile, "gettempdir", lambda: "/" + 20 * "x")
    assert session._sockets("local[2]") is None


def test_settings() -> None:
    local = session._settings(SparkOptions("local[2]"), False, SOCKETS)
    assert local["spark.python.unix.domain.socket.enabled"] == "true"
    assert local["spark.python.unix.domain.socket.dir"] == "/tmp/sockets"
    assert "-XX:MetaspaceSize=128m" in local["spark.driver.extraJavaOptions"]
    far = session._settings(SparkOptions("spark://head:7077"), False, None)
    assert [key for key, value in far.items() if value and key not in local] == []
    assert far["spark.python.unix.domain.socket.enabled"] == far["spark.driver.extraJavaOptions"] == ""


def test_settings_of_the_user_win() -> None:
    own = {
        "spark.python.unix.domain.socket.enabled": "false",
        "spark.driver.extraJavaOptions": "-Xss2m",
        "spark.log.level": "INFO",
    }
    found = session._settings(SparkOptions("local[2]", conf=own), False, SOCKETS)
    assert {key: found[key] for key in own} == own


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


def test_no_folder_is_left_where_spark_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_active", lambda: None)
    monkeypatch.setattr(session, "_sockets", lambda _: tmp_path)
    monkeypatch.setattr(session, "why_not", lambda: "no Java")
    with pytest.raises(session.NoSpark, match="no Java"):
        session.start("test", SparkOptions("local[2]"))
    assert not tmp_path.exists()


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


@pytest.mark.parametrize(
    ("release", "version"),
    [('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.2"\n', 21), ('JAVA_VERSION="1.8.0_292"\n', 8), ("", 11), (None, 11)],
)
def test_java_is_asked_only_where_its_installation_does_not_say(
    release: str | None, version: int, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "java"
    command.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    command.chmod(0o755)
    if release is not None:
        (tmp_path / "release").write_text(release)
    assert java_version(str(command)) == version
