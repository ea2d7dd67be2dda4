"""Kafka's controller explored by Spark is what one process explores; lost JVMs and missing ones."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import explore_by_spark as by_spark
from reassure.checkers.kafka.controller.driver import JvmLost
from reassure.checkers.kafka.controller.explore import ExploreLimits, Scope, explore_controller
from reassure.checkers.kafka.controller.explore_by_spark import ExpandTask, expanded, explore_by_spark
from reassure.checkers.kafka.controller.words import packed_state
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.options import SparkOptions
from tests.helpers.kafka_explored import explored
from tests.helpers.kafka_jars import class_path
from tests.helpers.spark_runs import MASTER, needs_spark

SCOPE = Scope(2)
STATES = np.array([packed_state(state)[::2] for state in SCOPE.initial_states()], np.int64)
QUIET = Progress(quiet=True)


@needs_spark
def test_the_graph_is_that_of_one_process(context: Any) -> None:
    """3.9.0 is not the newest: the task says which release it is."""
    here = explored("3.9.0")
    there = explore_by_spark(ExpandTask("3.9.0", SCOPE), SparkOptions(MASTER, 3), ExploreLimits(), QUIET)
    assert there.complete and (there.version, there.levels) == (here.version, here.levels)
    for name in ("states", "parents", "targets", "answers"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name


@needs_spark
@pytest.mark.slow
def test_the_command_gives_the_same_runs(context: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.4.0")
    options = ["kafka", "explore", "--brokers", "2", "--depth", "6", "--unclean", "off", "--quiet"]
    spark = ["--engine", "spark", "--master", MASTER, "--partitions", "2"]
    runs, records = [], []
    for name, more in (("here", []), ("there", spark)):
        folder, record = tmp_path / name, tmp_path / f"{name}.json"
        arguments = [*options, *more, "--trace-dir", str(folder), "--json", str(record)]
        assert main(arguments) == Exit.SAFETY.value
        runs.append({path.name: path.read_bytes() for path in folder.iterdir()})
        (one,) = json.loads(record.read_text())["releases"]
        records.append({**one, "seconds": 0})
    assert runs[0] == runs[1] and len(runs[0]) > 5
    assert records[0] == records[1] and not records[0]["complete"]


@needs_spark
@pytest.mark.slow
def test_two_builds_compared_by_spark_differ_as_they_do_here(context: Any, tmp_path: Path) -> None:
    """The same differences, runs and promises; a gate compares on this machine alone."""
    for version in ("4.2.0", "4.3.0"):
        class_path(version)
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--unclean", "off", "--configuration", "fixed", "--quiet", "--json"]
    spark = ["--engine", "spark", "--master", MASTER, "--partitions", "2"]
    records = []
    for name, more in (("here", []), ("there", spark)):
        record = tmp_path / f"{name}.json"
        assert main([*words, str(record), *more]) == Exit.LIVENESS.value
        data = json.loads(record.read_text())
        records.append({key: data[key] for key in ("diff", "properties", "complete", "stop_reason", "config")})
    assert records[0] == records[1] and records[0]["complete"]
    diff = records[0]["diff"]
    assert (diff["states"], diff["differing_steps"], len(diff["differences"])) == (656, 304, 17)
    assert diff["promises"]["head_breaks"] == ["a_led_reassignment_can_end"]


@needs_spark
def test_a_budget_ends_the_search_with_what_there_is(context: Any) -> None:
    class_path("4.4.0")
    found = explore_by_spark(ExpandTask("4.4.0", SCOPE), SparkOptions(MASTER, 2), ExploreLimits(budget=1e-6), QUIET)
    assert found.stopped.reason is StopReason.BUDGET
    assert (found.levels, len(found.targets), found.steps) == ([2], 0, 0)


def test_a_worker_that_lost_its_jvm_begins_another() -> None:
    class_path("4.4.0")
    task, parcel = ExpandTask("4.4.0", SCOPE), STATES.tobytes()
    first = expanded(task, parcel)
    os.kill(by_spark._drivers[task].process.pid, signal.SIGKILL)
    with pytest.raises(JvmLost, match=r"^the JVM of Kafka 4\.4\.0 was ended by signal 9$"):
        expanded(task, parcel)
    assert expanded(task, parcel) == first
    by_spark._drivers.pop(task).close()


def test_a_worker_keeps_one_jvm() -> None:
    class_path("4.4.0")
    task, other = ExpandTask("4.4.0", SCOPE), ExpandTask("4.4.0", Scope(2, min_isr=1))
    expanded(task, STATES.tobytes())
    kept = by_spark._drivers[task]
    expanded(task, STATES.tobytes())
    assert by_spark._drivers == {task: kept}
    expanded(other, STATES.tobytes())
    assert list(by_spark._drivers) == [other] and kept.process.returncode is not None
    by_spark._drivers.pop(other).close()


def test_without_java_spark_is_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The jars are in the cache; what is missing is Java."""
    class_path("4.4.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    code = main(["kafka", "explore", "--brokers", "2", "--engine", "spark", "--master", "local[3]", "--quiet"])
    said = capsys.readouterr()
    assert (code, said.out) == (Exit.SYSTEM.value, "")
    assert said.err == "reassure: Spark needs Java 17 or later, and there is none\n"


def test_a_search_here_that_is_out_of_time_is_partial() -> None:
    found = explore_controller(class_path("4.4.0"), SCOPE, 1, ExploreLimits(budget=1e-6), QUIET)
    assert found.stopped.reason is StopReason.BUDGET and found.steps == 0
