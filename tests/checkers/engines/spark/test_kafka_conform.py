"""A model beside Kafka's controller by Spark gives the table that one process gives."""

from __future__ import annotations

from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.conform import ComparisonTask, Conformance, conform, conform_by_spark
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.request.prepare import prepare
from tests.helpers.command import report_of
from tests.helpers.kafka_jars import class_path
from tests.helpers.spark_runs import MASTER, needs_spark

pytestmark = needs_spark
SETTINGS = ["unclean=off", "disturbances=0", "shutdowns=0", "release=4.2"]
"""The rules of 4.2 are not those of 4.4."""


def both(depth: int | None) -> tuple[tuple[Conformance, NativeSteps], tuple[Conformance, NativeSteps]]:
    """By one process, and by three partitions of Spark."""
    path = class_path("4.4.0")
    prepared = prepare("kraft_kafka", SETTINGS)
    bound, lowered = prepared.bound, prepared.lowered
    view = ModelView(bound)
    here, there = (NativeSteps(bound, lowered, view, depth) for _ in range(2))
    with Driver(path) as driver:
        local = conform(here, view, driver, Progress(quiet=True))
    task = ComparisonTask("kraft_kafka", tuple(SETTINGS), "4.4.0")
    spark = conform_by_spark(task, there, SparkOptions(MASTER, 3), Progress(quiet=True))
    return (local, here), (spark, there)


@pytest.mark.slow
def test_the_table_is_that_of_one_process(context: Any) -> None:
    (local, here), (spark, there) = both(None)
    assert (spark.actions, list(spark.actions)) == (local.actions, list(local.actions))
    assert (there.states, there.transitions, there.clipped) == (here.states, here.transitions, here.clipped)
    groups = [(g.cause, g.count, g.first.level, g.difference.rows()) for g in local.disagreements]
    assert [(g.cause, g.count, g.first.level, g.difference.rows()) for g in spark.disagreements] == groups
    assert len(groups) > 1 and sum(count for _, count, _, _ in groups) == local.steps - local.agree
    trace = there.trace(spark.disagreements[0].first)
    assert len(trace) == spark.disagreements[0].first.level + 1


def test_the_command_takes_spark(context: Any, capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.4.0")
    options = ["--set=brokers=2", "--set=admin_requests=1", "--set=unclean=off", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.OK.value
    table = report_of(capsys.readouterr().out, 0)
    spark = ["--engine", "spark", "--master", MASTER, "--partitions", "2"]
    assert main(["kafka", "conform", "kraft_kafka", *options, *spark]) == Exit.OK.value
    assert report_of(capsys.readouterr().out, 0) == table
    assert main(["kafka", "conform", "kraft_kafka", *options, "--kept", *spark]) == Exit.USAGE.value
    assert main(["kafka", "conform", "kraft_kafka", *options, "--master", MASTER]) == Exit.USAGE.value
    assert "--master is for --engine spark" in capsys.readouterr().err
