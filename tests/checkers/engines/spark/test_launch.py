"""The JVM of a session: its settings, and its start ahead of the session."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from reassure.checkers.base.exit_codes import Failure
from reassure.checkers.base.options import SearchOptions, SparkOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.spark import launch, owner_table, session
from reassure.checkers.engines.spark.launch import java_version

SOCKETS = Path("/tmp/sockets")


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[2]", True), ("local[*,3]", True), ("local-cluster[1,1,1024]", False), ("yarn", False)],
)
def test_sockets_have_a_folder_of_their_own_on_this_machine(master: str, local: bool) -> None:
    folder = launch.sockets_folder(master)
    assert (folder is not None) == local
    assert folder is None or folder.stat().st_mode & 0o777 == 0o700


def test_sockets_of_a_driver_that_was_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_table.tempfile, "gettempdir", lambda: str(tmp_path))
    process = subprocess.Popen(["true"])
    process.wait()
    names = [f"reassure-{os.getuid()}-{pid}-x" for pid in (process.pid, os.getpid())]
    for name in names:
        (tmp_path / name).mkdir()
    owner_table.tidy_dead()
    assert [path.name for path in tmp_path.iterdir()] == names[1:]


def test_no_sockets_where_their_names_would_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.tempfile, "gettempdir", lambda: "/" + 20 * "x")
    assert launch.sockets_folder("local[2]") is None


def test_settings() -> None:
    local = launch.settings(SparkOptions("local[2]"), False, SOCKETS)
    assert local["spark.python.unix.domain.socket.enabled"] == "true"
    assert local["spark.python.unix.domain.socket.dir"] == "/tmp/sockets"
    assert "-XX:MetaspaceSize=128m" in local["spark.driver.extraJavaOptions"]
    far = launch.settings(SparkOptions("spark://head:7077"), False, None)
    assert [key for key, value in far.items() if value and key not in local] == []
    assert far["spark.python.unix.domain.socket.enabled"] == far["spark.driver.extraJavaOptions"] == ""


def test_settings_of_the_user_win() -> None:
    own = {
        "spark.python.unix.domain.socket.enabled": "false",
        "spark.driver.extraJavaOptions": "-Xss2m",
        "spark.log.level": "INFO",
    }
    found = launch.settings(SparkOptions("local[2]", conf=own), False, SOCKETS)
    assert {key: found[key] for key in own} == own


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


# -- started ahead -------------------------------------------------------------------------------------------------


@pytest.fixture
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark whose JVM never listens, in a process without a session."""
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    submit = home / "bin" / "spark-submit"
    submit.write_text(f'#!/bin/sh\necho "$@" > {home}/new\nmv {home}/new {home}/arguments\nexec sleep 60\n')
    submit.chmod(0o755)
    monkeypatch.setattr(launch, "_has_pyspark", lambda: False)
    monkeypatch.setattr(session, "_active", lambda: None)
    monkeypatch.setattr(session, "_has_gateway", lambda: False)
    monkeypatch.setattr(launch, "_spark_home", lambda: home)
    for module in (launch, session):
        monkeypatch.setattr(module, "why_not", lambda: None)
    monkeypatch.setattr(launch.tempfile, "tempdir", str(tmp_path / "t"))
    monkeypatch.setattr(launch, "sockets_folder", lambda _: tmp_path / "sockets")
    (tmp_path / "t").mkdir()
    return home


def test_a_jvm_is_started_ahead_and_taken_by_the_session(spark_home: Path, tmp_path: Path) -> None:
    cluster = SparkOptions("local[3]", conf={"spark.x": "a b"})
    with launch.ahead(cluster):
        (ahead,) = launch._ahead
        assert launch.launched(cluster) is ahead
        assert launch._ahead == []
        while not (spark_home / "arguments").exists():
            time.sleep(0.01)
        words = (spark_home / "arguments").read_text()
        assert words.startswith("--conf spark.master=local[3,4] --conf spark.ui.enabled=false ")
        assert words.endswith(f"socket.dir={ahead.sockets} --conf spark.x=a b pyspark-shell\n")
    assert ahead.process.poll() is None, "it is the session's now"
    ahead.drop()
    assert ahead.workers is not None
    assert (ahead.process.poll() is None, ahead.workers.poll() is None) == (False, False)
    assert list((tmp_path / "t").iterdir()) == []


def test_no_daemon_waits_where_the_user_sets_how_workers_run(spark_home: Path) -> None:
    starting = launch.launch(SparkOptions("local[2]", conf={"spark.executorEnv.X": "1"}))
    assert starting.workers is None
    starting.drop()


def test_a_jvm_with_other_settings_is_not_taken(spark_home: Path, tmp_path: Path) -> None:
    with launch.ahead(SparkOptions("local[3]")):
        (ahead,) = launch._ahead
        other = launch.launched(SparkOptions("local[2]"))
        assert other is not ahead
        other.drop()
    assert ahead.process.poll() is not None
    assert list((tmp_path / "t").iterdir()) == []


def test_no_jvm_is_left_of_a_wrong_command(spark_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[launch.Starting] = []
    start = launch.launch
    monkeypatch.setattr(launch, "launch", lambda cluster: started.append(start(cluster)) or started[-1])
    with pytest.raises(Failure, match="core has no configuration field 'nonsense'"):
        run(CheckRequest("core", ["nonsense=1"], "spark", SearchOptions()), Progress(quiet=True))
    (ahead,) = started
    assert (ahead.process.poll() is None, list((tmp_path / "t").iterdir())) == (False, [])


def test_a_jvm_that_ends_is_not_waited_for(spark_home: Path) -> None:
    (spark_home / "bin" / "spark-submit").write_text("#!/bin/sh\necho 'Error: no memory' >&2\nexit 1\n")
    starting = launch.launch(SparkOptions("local[2]"))
    with pytest.raises(RuntimeError, match="the JVM has ended"):
        starting.gateway()
    assert starting.log.read_text() == "Error: no memory\n"
    starting.drop()
    with pytest.raises(session.NoSpark, match=r"Spark does not start with --master local\[2\]: Error: no memory"):
        session.start("test", SparkOptions("local[2]"))


def test_no_jvm_is_started_ahead_where_java_is_missing(spark_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "why_not", lambda: "no Java")
    with launch.ahead(SparkOptions("local[2]")):
        assert launch._ahead == []
