"""The exploration of Kafka's controller by Spark: each level is a dataset of states, each worker runs a JVM of its own.

This process numbers the states, as in one process, so that answers, parents and counterexamples are the same. A worker
keeps its JVM from level to level. A task whose JVM is lost fails, and Spark runs it again, with a new JVM.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.engines.spark.session import SparkJob, start
from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.driver import SUCCESSOR, Driver, JvmLost, Words
from reassure.checkers.kafka.controller.explore import (
    BATCH,
    ControllerExploration,
    ExploreLimits,
    Scope,
    prepare_driver,
    search,
)
from reassure.checkers.kafka.controller.releases import release_on_worker
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SparkOptions

ROUNDS = 4
"""Parcels of a level for each partition, so that a slow one does not keep the others waiting; none has fewer than
`BATCH` states."""


@dataclass(frozen=True)
class ExpandTask:
    """The input of a worker: a release and the scope. build: the path of a build of one's own, or ""."""

    version: str
    scope: Scope
    build: str = ""


_drivers: dict[ExpandTask, Driver] = {}
"""The JVM of this worker. It ends when the worker does, whose end closes the pipe that the JVM reads from."""


def expanded(task: ExpandTask, parcel: bytes) -> bytes:
    """The successors of some states, packed; `JvmLost` if the JVM is lost."""
    driver = _drivers.get(task)
    if driver is None:
        for other in list(_drivers):
            _drivers.pop(other).close()
        driver = Driver(fetch(release_on_worker(task.version, task.build)))
        prepare_driver(driver, task.scope)
        _drivers[task] = driver
    states = np.frombuffer(parcel, np.int64).reshape(-1, 2)
    try:
        return b"".join(driver.expand(states[i : i + BATCH]).tobytes() for i in range(0, len(states), BATCH))
    except JvmLost:
        _drivers.pop(task).close()
        raise


class _Workers:
    """Spark as an `Expander`."""

    def __init__(self, context: Any, task: ExpandTask, partitions: int) -> None:
        self.context, self.task, self.partitions = context, task, partitions
        self.width = len(task.scope.commands())

    def expand(self, states: Words, began: float, limits: ExploreLimits, report: Callable[[int], None]) -> NDArray[Any]:
        """See `Expander`."""

        def beat() -> None:
            limits.must_have_time(began)
            report(0)

        size = max(BATCH, -(-len(states) // (ROUNDS * self.partitions)))
        parcels = [states[i : i + size].tobytes() for i in range(0, len(states), size)]
        task = self.task
        level = self.context.parallelize(parcels, len(parcels)).map(lambda parcel: expanded(task, parcel))
        parts = SparkJob(self.context, "reassure-kafka-explore", level.collect).result(beat)
        return np.frombuffer(b"".join(parts), SUCCESSOR).reshape(len(states), self.width)


def explore_by_spark(
    task: ExpandTask, cluster: SparkOptions, limits: ExploreLimits, progress: Progress
) -> ControllerExploration:
    """Searches every state of the controller, as `explore_controller` does. Raises `NoSpark`, `JobFailed`; `Failure`
    for a topic with a second partition."""
    if task.scope.topic:
        raise Failure(Exit.USAGE, "--topic is searched by --engine local")
    began = time.monotonic()
    session = start("reassure kafka explore", cluster)
    try:
        partitions = cluster.partitions or int(session.context.defaultParallelism)
        workers = _Workers(session.context, task, partitions)
        return search(task.version, task.scope, workers, began, limits, progress)
    finally:
        session.stop()
