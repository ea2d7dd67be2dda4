"""Every configuration of a grid, in processes of this machine or as tasks of Spark: `reassure sweep`."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NotRequired

from reassure.checkers.console.processes import in_processes
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.own_files import make_folder, temporary_folder, tidy_dead
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.model_loader import own_file, settings
from reassure.checkers.request.options import DEFAULT_ENGINE, SearchOptions, SparkOptions
from reassure.checkers.request.outside_values import values_of
from reassure.checkers.request.run_identity import RunRecord, error_record
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import ConfigError, make_config

MOST_VALUES = 10_000
"""Values of a range, at most."""
Point = tuple[tuple[str, str], ...]
"""One configuration: settings in the order they were given."""


class PointRecord(RunRecord):
    """The run record of one configuration.

    took: seconds. texts: its traces as ITF, until files have them. values: the digest of those that the model reached.
    """

    point: dict[str, str]
    took: float
    texts: NotRequired[dict[str, str]]
    values: NotRequired[str]


@dataclass(frozen=True)
class Grid:
    """Settings with their values."""

    axes: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, pairs: list[str]) -> Grid:
        """From `KEY=V1,V2`, where `2..4` is 2,3,4; raises `ValueError` for what is none."""
        axes: dict[str, tuple[str, ...]] = {}
        for pair in pairs:
            key, equals, text = pair.partition("=")
            values = tuple(value for part in text.split(",") for value in _range(part.strip()))
            if not equals or not key or not all(values):
                raise ValueError(f"{pair!r} is not a setting; write KEY=VALUE or KEY=VALUE,VALUE")
            if key in axes:
                raise ValueError(f"{key} is given twice; write {key}=VALUE,VALUE")
            if len(set(values)) < len(values):
                raise ValueError(f"{pair!r} has a value twice")
            axes[key] = values
        return cls(tuple(axes.items()))

    def every(self) -> list[Point]:
        """All combinations."""
        keys = [key for key, _ in self.axes]
        return [tuple(zip(keys, chosen, strict=True)) for chosen in itertools.product(*(v for _, v in self.axes))]

    def pairwise(self, points: list[Point]) -> list[Point]:
        """Few of these combinations, such that any two values of different settings that occur together in one of
        them occur together in one that is chosen; greedy, always the same."""
        if len(self.axes) < 3:
            return points
        missing = {pair for point in points for pair in _pairs_of(point)}
        chosen: list[Point] = []
        while missing:
            best = max(points, key=lambda point: len(_pairs_of(point) & missing))
            chosen.append(best)
            missing -= _pairs_of(best)
        return chosen


def _range(text: str) -> list[str]:
    """The values of `FIRST..LAST`, both included; of anything else, the text. Raises `ValueError` for a wrong range."""
    if ".." not in text:
        return [text]
    ends = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", text)
    if ends is None:
        raise ValueError(f"{text!r} is not a range; write two whole numbers, such as 2..4")
    first, last = map(int, ends.groups())
    if first > last:
        raise ValueError(f"{text!r} is an empty range; write {last}..{first}")
    if last - first >= MOST_VALUES:
        raise ValueError(f"{text!r} has more than {MOST_VALUES:,} values")
    return [str(value) for value in range(first, last + 1)]


@cache
def _pairs_of(point: Point) -> frozenset[tuple[tuple[str, str], ...]]:
    """Any two settings of a combination."""
    return frozenset(itertools.combinations(point, 2))


def allowed(model: Model, points: list[Point]) -> tuple[list[Point], dict[Point, str]]:
    """The combinations that are configurations of a model, and why the others are not.

    Raises `ConfigError` for a value that is none whatever the others are.
    """
    for pair in dict.fromkeys(pair for point in points for pair in point):
        settings(model, ["=".join(pair)])
    good, excluded = [], {}
    for point in points:
        try:
            make_config(model, settings(model, ["=".join(pair) for pair in point]))
        except ConfigError as error:
            excluded[point] = str(error)
        else:
            good.append(point)
    return good, excluded


@dataclass(frozen=True)
class SweepTask:
    """The input of a task that checks one configuration."""

    model: str
    text: str | None
    """Of a model given by path."""
    options: SearchOptions
    accept_clipping: bool
    traces: bool
    engine: str = DEFAULT_ENGINE


def check_one(task: SweepTask, point: Point) -> PointRecord:
    """The run record of one configuration, with its traces as ITF texts; in whatever process."""
    archive = next((p for p in Path(__file__).parents if p.is_file()), None)
    if archive is not None:
        return _beside(archive, task, point)
    if task.text is None:
        return _checked(task, point, task.model)
    return _checked(task, point, str(_as_file(task.text, Path(task.model).name)))


def _checked(task: SweepTask, point: Point, name: str) -> PointRecord:
    """As `check_one`. name: of the model in this process."""
    from reassure.checkers.check import CheckRequest, run
    from reassure.spec.semantics.trace import to_itf

    began = time.monotonic()
    pairs = [f"{key}={value}" for key, value in point]
    request = CheckRequest(name, pairs, task.engine, task.options, task.accept_clipping)
    try:
        result, bound = run(request, Progress(quiet=True))
    except Failure as failure:
        record = error_record(failure.code, str(failure), task.model, request.repro())
        return {**record, "point": dict(point), "texts": {}, "took": time.monotonic() - began, "values": ""}
    texts = {}
    if task.traces:
        for answer in result.answers:
            if answer.trace is not None:
                if task.text is not None:
                    answer.trace.meta["model_file"] = task.model
                texts[answer.name] = to_itf(answer.trace, bound)
    record = result.record({})
    record["repro"] = record["repro"].replace(name, task.model)
    took, values = time.monotonic() - began, values_of(bound.model).sha256
    return {**record, "point": dict(point), "texts": texts, "took": took, "values": values}


@cache
def _as_file(text: str, name: str) -> Path:
    """A model's text as a file, in a folder of this process: nobody else can have put another text there."""
    path = make_folder("model") / name
    path.write_text(text, encoding="utf-8")
    return path


@cache
def _unpacked(archive: Path) -> Path:
    """This program as files, in a folder of this process."""
    folder = make_folder("program")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


IN_TASK = """
import pickle, sys
from reassure.checkers.analyses.sweep.analysis import check_one
with open(sys.argv[1], "rb") as asked:
    found = check_one(*pickle.load(asked))
with open(sys.argv[1], "wb") as told:
    pickle.dump(found, told)
"""


def _beside(archive: Path, task: SweepTask, point: Point) -> PointRecord:
    """As `check_one`, in a process that has this program as files: models are read as text, not from a zip."""
    with temporary_folder("sweep") as place:
        exchanged = place / "task"
        exchanged.write_bytes(pickle.dumps((task, point)))
        done = subprocess.run(
            [sys.executable, "-c", IN_TASK, str(exchanged)],
            env={**os.environ, "PYTHONPATH": str(_unpacked(archive)), "TMPDIR": str(place)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
        record: PointRecord = pickle.loads(exchanged.read_bytes())
        return record


def locally(points: list[Point], task: SweepTask, jobs: int, done: Callable[[int, int], None]) -> list[PointRecord]:
    """A record for each configuration, in order, in so many processes of this machine; interrupted, of the first ones.

    done: called with how many have ended, and of how many. Raises `Failure` where a process was killed.
    """
    records = []
    try:
        for record in in_processes(check_one, [(task, point) for point in points], jobs):
            records.append(record)
            done(len(records), len(points))
            if record.get("stop_reason") == StopReason.INTERRUPTED:
                break
    except KeyboardInterrupt:
        pass
    except BrokenProcessPool:
        where = ", ".join("=".join(pair) for pair in points[len(records)])
        raise Failure(Exit.SYSTEM, f"a process was killed while {where} was checked") from None
    return records


def by_spark(
    model: str, points: list[Point], task: SweepTask, cluster: SparkOptions, done: Callable[[int, int], None]
) -> list[PointRecord]:
    """As `locally`, a task of Spark each. Raises `NoSpark` and `JobFailed`."""
    from reassure.checkers.engines.spark.session import SparkJob, start

    session = start(f"reassure sweep {model}", cluster)
    context = session.context
    try:
        ended = context.accumulator(0)

        def one(point: Point) -> PointRecord:
            record = check_one(task, point)
            ended.add(1)
            return record

        # A task each: the slow ones do not hold up others.
        rdd = context.parallelize(points, len(points)).map(one)
        job = SparkJob(context, "reassure-sweep", rdd.collect)
        records: list[PointRecord] = job.result(lambda: done(ended.value, len(points)))
        return records
    finally:
        session.stop()
        tidy_dead()  # the folders of workers of this machine, which have ended


def shipped(task: SweepTask) -> SweepTask:
    """A task for other machines: a model by path goes along as text."""
    text = Path(task.model).read_text(encoding="utf-8") if own_file(task.model) else None
    return replace(task, text=text)


def worst_of(records: list[PointRecord]) -> Exit:
    """The exit code of a sweep: the most severe of its configurations."""
    order = list(Exit)
    return min((Exit(r["exit_code"]) for r in records), key=order.index, default=Exit.NOTHING)
