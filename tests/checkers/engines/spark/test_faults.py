"""A search by Spark whatever happens on the way, and what is said where there is no Spark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.engines.spark.launch import WORKER_DAEMON
from reassure.checkers.engines.spark.owner_table import shared_folder
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import ALL_VISITED
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import SparkOptions
from tests.helpers.runs import bind, everything
from tests.helpers.spark_runs import MASTER, checked, far, needs_spark

pytestmark = needs_spark


def test_killed_and_resumed(tmp_path: Path, context: Any) -> None:
    """The whole program is killed in the middle; another goes on."""
    place = tmp_path / "run"
    words = [sys.executable, "-m", "reassure", "check", "core", "--set=brokers=5", "--engine=spark", "--quiet"]
    said = tmp_path / "said"
    with said.open("w") as out:
        process = subprocess.Popen(
            [*words, f"--out={place}", "--no-data"], stdout=out, stderr=out, start_new_session=True
        )
    until = time.monotonic() + 240
    while not (place / "commits" / "0009.json").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None, said.read_text()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    verdict = checked("core", ["brokers=5"], SparkOptions(MASTER, out=str(place), resume=True, data=False))
    assert verdict.stopped == ALL_VISITED
    assert everything(verdict) == everything(checked("core", ["brokers=5"]))


def workers() -> list[int]:
    """Python workers of Spark on this machine that are descendants of this process."""
    found, daemon = [], WORKER_DAEMON.encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                above = (Path("/proc") / str(parent) / "cmdline").read_bytes()
            except (OSError, ValueError, IndexError):
                continue
            if daemon in command and daemon in above:
                found.append(int(entry.name))
    return found


def test_killed_workers(context: Any) -> None:
    """Python workers die under their tasks, which are tried again: nothing is lost, and nothing counted twice."""
    killed, done = [], threading.Event()

    def kill() -> None:
        while not done.wait(0.9) and len(killed) < 4:
            for pid in workers()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        verdict = checked("core", ["brokers=5"], SparkOptions(MASTER, small=5_000))
    finally:
        done.set()
        thread.join()
    assert killed
    assert everything(verdict) == everything(checked("core", ["brokers=5"]))


ON_A_CLUSTER = """
import json, sys
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.machine.progress import Progress
from reassure.checkers.check import CheckRequest, run

conf = {
    "spark.speculation": "true", "spark.speculation.interval": "20ms", "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "1ms",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
cluster = SparkOptions("local-cluster[2,1,1024]", small=2_000, out=sys.argv[1], data=False, conf=conf)
verdict, _ = run(CheckRequest("core", ["brokers=4"], "spark", SearchOptions(), cluster=cluster), Progress(quiet=True))
print(json.dumps(verdict.record({})))
"""


@pytest.mark.slow
def test_a_lost_executor_and_doubled_tasks(tmp_path: Path) -> None:
    """Two executors in processes of their own, to which this program is shipped; one is killed; tasks are doubled."""
    place = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_CLUSTER, str(place)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    until, killed = time.monotonic() + 200, False
    while process.poll() is None and time.monotonic() < until and not killed:
        time.sleep(0.02)
        if (place / "commits" / "0009.json").exists():
            found = subprocess.run(
                ["pgrep", "-g", str(process.pid), "-f", "CoarseGrainedExecutor"], capture_output=True
            )
            executors = [int(pid) for pid in found.stdout.split()]
            if executors:
                os.kill(executors[-1], signal.SIGKILL)
                killed = True
    out, _ = process.communicate(timeout=200)
    assert killed
    found, wanted = json.loads(out), checked("core", ["brokers=4"]).record({})
    assert found["spark"]["levels"][-1]["shuffled_bytes"] > 0, "the driver does not have the tables"
    for key in ("verdict", "complete", "properties", "covers", "actions"):
        assert found[key] == wanted[key]
    for key in ("generated", "distinct", "depth", "clipped"):
        assert found["stats"][key] == wanted["stats"][key]


def test_nothing_is_left_behind(context: Any) -> None:
    before = set(shared_folder("x").parent.glob("reassure-*"))
    checked("die_hard", [], far())
    assert set(shared_folder("x").parent.glob("reassure-*")) == before


# -- the table of a partition ----------------------------------------------------------------------------------------


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[tuple[Any, Any, np.ndarray[Any, Any]]]:
    """A run of `core`, its directory, and some distinct packed states."""
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.native.exploration import compiled
    from reassure.checkers.engines.spark.distributed_search import DistributedRun
    from reassure.checkers.engines.spark.run_directory import RunDirectory

    model = load_model("core")
    bound, lowered = bind(model, settings(model, []))
    kernel = compiled(lowered, state_layout(bound))
    made = DistributedRun(kernel, RunDirectory.at(str(tmp_path / "run")), 1, lambda: None)
    made.directory.write_json("run.json", {})
    yield made.work, made.directory, np.arange(1, 200_001, dtype=np.int64).reshape(-1, 1)
    shutil.rmtree(shared_folder(made.token), ignore_errors=True)


def tagged(rows: np.ndarray[Any, Any], action: int) -> bytes:
    return bytes((rows | (action + 1) << 56).tobytes())


def test_table(owned: tuple[Any, Any, np.ndarray[Any, Any]]) -> None:
    """It grows; what is known is not new; the first action by number counts, in whatever order parcels arrive."""
    from reassure.checkers.engines.spark.owner_table import OwnerTable

    work, _, rows = owned
    table = OwnerTable(work, 0)
    table.clear()
    found, _, new = table.take_in([tagged(rows[:1_000], 2), tagged(rows[500:150_000], 1)])
    assert sorted(found[:, 0]) == list(range(1, 150_001))
    assert (new[2], new[1], sum(new)) == (500, 149_500, 150_000)
    found, _, new = table.take_in([tagged(rows[149_990:], 0), tagged(rows[:7], 0)])
    assert sorted(found[:, 0]) == list(range(150_001, 200_001))
    assert table.states == 200_000
    table.close()


@pytest.mark.parametrize("fault", ["missing", "half-way", "ahead", "behind"])
def test_a_table_that_does_not_fit_is_made_anew(owned: tuple[Any, Any, np.ndarray[Any, Any]], fault: str) -> None:
    from reassure.checkers.engines.spark.owner_table import OwnerTable
    from reassure.checkers.engines.spark.tasks import Owned, own

    work, directory, rows = owned
    files = [directory.write_states(1, 0, rows[:100]), directory.write_states(2, 0, rows[100:3_000])]
    if fault != "missing":
        table = OwnerTable(work, 0)
        table.clear()
        table.take_in([tagged(rows[: 5_000 if fault == "ahead" else 100], 0)])
        table.commit({"half-way": 2, "ahead": 3, "behind": 1}[fault])
        if fault == "half-way":
            table.begin_update()
        table.close()
    (told,) = own(work, 2, {0: files}, [(0, tagged(rows[2_000:6_000], 2))])
    assert isinstance(told, Owned)
    assert (told.rows, told.new[2], sum(told.new)) == (3_000, 3_000, 3_000)
    assert told.file is not None
    assert sorted(directory.read_states(told.file)[:, 0]) == list(range(3_001, 6_001))
    # CheckRequest again, as after a lost answer, it says the same.
    (again,) = own(work, 2, {0: files}, [(0, tagged(rows[2_000:6_000], 2))])
    assert isinstance(again, Owned)
    assert (again.rows, again.new[2], again.file != told.file) == (3_000, 3_000, True)


# -- no Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (None, "Spark needs Java 17 or later, and there is none in JAVA_HOME="),
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_292"', "is Java 8"),
        ("no idea", "does not say what it is"),
    ],
)
def test_java(java: str | None, message: str, tmp_path: Path) -> None:
    """In a process of its own, where no session is there already."""
    if java is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho '{java}' >&2\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    words = [sys.executable, "-m", "reassure", "check", "core", "--set=brokers=5", "--engine=spark", "--quiet"]
    done = subprocess.run(
        words, env={**os.environ, "JAVA_HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (153, "", 1)
    assert message in done.stderr


def test_a_master_that_is_not_there(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "reassure", "check", "core", "--engine=spark", "--quiet"]
    done = subprocess.run([*words, "--master=nonsense://x"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (153, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Spark does not start with --master nonsense://x: SparkException: Master must either be yarn" in done.stderr


def test_a_master_that_does_not_answer() -> None:
    """Said at once; Spark would try for minutes."""
    words = [sys.executable, "-m", "reassure", "check", "core", "--engine=spark", "--quiet"]
    master = "spark://127.0.0.1:1,127.0.0.1:2"
    done = subprocess.run([*words, f"--master={master}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (153, "")
    assert done.stderr == f"reassure: no Spark master answers at {master}\n"


def test_failure_is_no_verdict(tmp_path: Path, context: Any) -> None:
    with pytest.raises(Failure) as refused:
        checked("core", [], far(out=str(tmp_path), resume=True))
    assert refused.value.code is Exit.USAGE
