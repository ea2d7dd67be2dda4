"""The JVM of a session: its Java, its settings, its folder, and its start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from reassure.checkers.engines.spark import launch, owner_table
from reassure.checkers.engines.spark.launch import java_version, launch_settings, on_this_machine, retrying
from reassure.checkers.request.options import SparkOptions
from tests.helpers.spark_runs import needs_spark

SOCKETS = "spark.python.unix.domain.socket.enabled"


def test_the_folder_of_a_process_is_its_own() -> None:
    assert launch.process_folder().stat().st_mode & 0o777 == 0o700


def test_folders_of_a_driver_that_was_killed_are_removed(temporary: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    names = [f"reassure-{os.getuid()}-{pid}-x" for pid in (process.pid, os.getpid())]
    for name in names:
        (temporary / name).mkdir()
    owner_table.tidy_dead_runs()
    assert [path.name for path in temporary.iterdir()] == names[1:]


LONG_FOLDER = """
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.engines.spark.launch import launch_settings
print("socket" in str(launch_settings(SparkOptions("local[2]"))))
"""


@pytest.mark.parametrize(("name", "sockets"), [("x", "True"), (60 * "x", "False")])
def test_no_sockets_where_their_paths_would_be_too_long(name: str, sockets: str, tmp_path_factory: object) -> None:
    folder = Path("/tmp") / f"{name}{os.getpid()}"
    folder.mkdir()
    try:
        words, place = [sys.executable, "-c", LONG_FOLDER], {**os.environ, "TMPDIR": str(folder)}
        done = subprocess.run(words, env=place, capture_output=True, text=True, timeout=60)
        assert (done.stdout, list(folder.iterdir())) == (f"{sockets}\n", []), done.stderr
    finally:
        folder.rmdir()


@pytest.mark.parametrize(
    ("master", "here", "with_retries"),
    [
        ("local", True, "local[1,4]"),
        ("local[2]", True, "local[2,4]"),
        ("local[*]", True, "local[*,4]"),
        ("local[*,3]", True, "local[*,3]"),
        ("local-cluster[1,1,1024]", False, "local-cluster[1,1,1024]"),
        ("yarn", False, "yarn"),
    ],
)
def test_masters(master: str, here: bool, with_retries: str) -> None:
    assert (on_this_machine(master), retrying(master)) == (here, with_retries)


def test_settings() -> None:
    local = launch_settings(SparkOptions("local[2]"))
    assert local[SOCKETS] == "true"
    assert local["spark.python.unix.domain.socket.dir"] == str(launch.process_folder())
    assert "-XX:MetaspaceSize=128m" in local["spark.driver.extraJavaOptions"]
    far = launch_settings(SparkOptions("spark://head:7077"))
    assert far.keys() < local.keys()
    assert far.keys() & {SOCKETS, "spark.driver.extraJavaOptions", "spark.python.daemon.module"} == set()


def test_settings_of_the_user_win() -> None:
    own = {SOCKETS: "false", "spark.driver.extraJavaOptions": "-Xss2m", "spark.log.level": "INFO"}
    made = launch_settings(SparkOptions("local[2]", conf=own))
    assert {key: made[key] for key in own} == own


def java(folder: Path, script: str) -> dict[str, str]:
    """The environment with a Java that runs this script, of version 21 if it is asked."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "java"
    command.write_text(
        f'#!/bin/sh\nif [ "$*" = -version ]; then echo \'openjdk version "21.0.2"\' >&2\nelse {script}\nfi\n'
    )
    command.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "21.0.2" 2024-01-16', 21),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "17"', 17),
        ("", None),
    ],
)
def test_java_version(text: str, version: int | None, tmp_path: Path) -> None:
    command = tmp_path / "java"
    command.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    command.chmod(0o755)
    assert java_version(str(command)) == version


GATEWAY = """
import os
from pathlib import Path
from reassure.checkers.engines.spark import launch
from reassure.checkers.request.options import SparkOptions
jvm = launch.gateway(SparkOptions("local[1]")).proc
print(os.environ["REASSURE_CACHE"] in Path(f"/proc/{jvm.pid}/maps").read_text())
jvm.stdin.close()
jvm.wait()
"""


@needs_spark
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc to see what a JVM has mapped")
def test_the_second_jvm_maps_the_archive_of_the_first(tmp_path: Path) -> None:
    told = []
    for _ in range(2):
        place = {**os.environ, "REASSURE_CACHE": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", GATEWAY], env=place, capture_output=True, text=True, timeout=120)
        told.append(done.stdout + done.stderr)
    assert told == ["False\n", "True\n"]


CHECK = [sys.executable, "-m", "reassure", "check", "core", "--engine=spark", "--quiet", "--master=local[3]"]


def test_a_jvm_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """The reason is the first line of its output that names an error."""
    pytest.importorskip("pyspark")
    place = java(tmp_path, "echo 'Warning: x' >&2; echo 'Error: no memory' >&2; exit 1")
    done = subprocess.run(CHECK, env=place, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (153, "")
    assert done.stderr == "reassure: Spark does not start with --master local[3]: Error: no memory\n"


def test_what_pyspark_makes_while_it_starts_is_below_the_folder_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed meanwhile leaves nothing that the next one does not remove."""
    made: list[str] = []

    def launched(*_: object) -> None:
        made.append(tempfile.gettempdir())

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launched)
    before = tempfile.gettempdir()
    launch.gateway(SparkOptions("local[1]"))
    assert made == [str(launch.process_folder())]
    assert tempfile.gettempdir() == before


@needs_spark
def test_the_line_that_the_documents_give_to_spark_submit() -> None:
    """It executes the file of the command: without an answer it would exit with 0."""
    page = (Path(__file__).parents[4] / "docs/how-to/search-with-spark.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^spark-submit .*$", page, re.MULTILINE)
    for old, new in (("spark://head:7077", "local[2]"), ("core --set brokers=6", "die_hard"), (" --out DIR", "")):
        assert old in line
        line = line.replace(old, new)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    python |= {"SPARK_SUBMIT_OPTS": launch.JAVA_OPTIONS}  # for a JVM that lasts a few seconds
    ran = subprocess.run(
        ["bash", "-c", line], env={**os.environ, **python, "PATH": path}, capture_output=True, text=True
    )
    assert ran.returncode == 12, ran.stderr
    assert "goal_not_reached" in ran.stdout and "safety-violation (exit code 12)" in ran.stdout
