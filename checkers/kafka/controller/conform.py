"""Every step that a model lets the controller take, taken by Kafka's own controller: where do they disagree?

Also here: the comparison with Kafka as a dataset of Spark: tasks list the controller's steps, and each runs a JVM of
its own.

This process searches the states. Tasks list their steps, one step is kept of each kind, by its key, and the kinds of a
partition are executed by one JVM. Of each kind the same step stands for all as in one process: the first in canonical
order of the lowest level. A task whose JVM is lost fails, and Spark runs it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any, Protocol

import numpy as np

from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.spark.session import SparkJob, start
from reassure.checkers.kafka.controller.class_path import fetch
from reassure.checkers.kafka.controller.driver import Driver, Words
from reassure.checkers.kafka.controller.model_steps import ModelStep, NativeSteps, StepKinds, StepSource
from reassure.checkers.kafka.controller.model_view import ModelView, model_step_text
from reassure.checkers.kafka.controller.releases import Release, release_on_worker
from reassure.checkers.kafka.controller.replay import StepDifference, TraceCommand
from reassure.checkers.kafka.controller.words import Setup, answer_of, packed_state, unpacked_state
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import ALL_VISITED, Stop
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.request.prepare import prepare

BATCH = 4096


class Controller(Protocol):
    """A source of answers: a JVM, a JVM whose answers are recorded, or recorded answers."""

    @property
    def release(self) -> Release: ...

    def begin(self, setup: Setup) -> None: ...

    def steps(self, steps: Words) -> Words: ...

    def describe(self, step: list[int]) -> tuple[tuple[int, int, int, int], str]: ...


@dataclass
class ActionCount:
    """steps: kinds of steps that were taken on Kafka's controller."""

    steps: int = 0
    agree: int = 0


@dataclass
class DisagreeingSteps:
    """Steps that Kafka takes otherwise in the same way. first: the one that is reached soonest."""

    cause: str
    count: int
    first: ModelStep
    difference: StepDifference


@dataclass
class Conformance:
    """The comparison of a model with a release: counts by action, and disagreements."""

    version: str
    actions: dict[str, ActionCount] = field(default_factory=dict)
    disagreements: list[DisagreeingSteps] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return sum(count.steps for count in self.actions.values())

    @property
    def agree(self) -> int:
        return sum(count.agree for count in self.actions.values())


def conform(source: StepSource, view: ModelView, driver: Controller, progress: Progress) -> Conformance:
    """Executes each kind of step; the disagreements grouped by what differs, the most frequent first."""
    conformance = Conformance(driver.release.version)
    groups: dict[tuple[str, ...], DisagreeingSteps] = {}
    driver.begin(view.setup)
    steps = source.steps(progress)
    while batch := list(islice(steps, BATCH)):
        for step, difference in _compared(batch, source, view, driver):
            count = conformance.actions.setdefault(step.action, ActionCount())
            count.steps += 1
            if difference is None:
                count.agree += 1
                continue
            key = (step.action, str(difference.answer), *(name for name, _, _ in difference.rows()))
            if key in groups:
                groups[key].count += 1
            else:
                groups[key] = DisagreeingSteps(_cause(step, difference), 1, step, difference)
    conformance.actions = {
        name: conformance.actions[name] for name in source.transitions if name in conformance.actions
    }
    conformance.disagreements = sorted(groups.values(), key=lambda group: (-group.count, group.cause))
    for group in conformance.disagreements:
        group.difference = _described(group, driver)
    return conformance


def _compared(
    batch: list[ModelStep], source: StepSource, view: ModelView, driver: Controller
) -> Iterator[tuple[ModelStep, StepDifference | None]]:
    """Each step with how Kafka takes it otherwise, if it does."""
    rows = [[*step.before.words, *step.command.words(set_state=True)] for step in batch]
    answers = driver.steps(np.array(rows, np.int64)).tolist()
    for step, (state, epochs, incarnations, word) in zip(batch, answers, strict=True):
        error, resigns = view.answer(step.before.model, step.action, step.params, step.after.model)
        answer = answer_of(word)
        answers_agree = answer.thrown == resigns and error in (None, answer.error)
        words = (state, epochs, incarnations)
        same = words == step.after.words
        if not same and step.action == "unfence":  # Kafka elects at once what the model may elect later
            same = words in map(packed_state, view.elected(source.after(step)))
        if same and answers_agree:
            yield step, None
            continue
        text = model_step_text(step.action, step.params)
        before, after = step.before.state, step.after.state
        command = TraceCommand(step.level, text, step.command, before, after, error, resigns=resigns)
        yield step, StepDifference(command, unpacked_state(*words, view.brokers), answer, "")


def _cause(step: ModelStep, difference: StepDifference) -> str:
    """A disagreement in a line: the action, Kafka's answer if it is none of the usual, and the fields that differ."""
    fields = ", ".join(name for name, _, _ in difference.rows() if name != "answer")
    unusual = difference.answer.thrown or difference.answer.error != (difference.step.error or "NONE")
    answer = f"Kafka answers {difference.answer}" if unusual else ""
    return f"{step.action}: {'; '.join(part for part in (answer, fields) if part)}"


def _described(group: DisagreeingSteps, driver: Controller) -> StepDifference:
    """The group's first step again, with Kafka's own words."""
    d = group.difference
    _, records = driver.describe([*packed_state(d.step.before), *d.step.command.words(set_state=True)])
    return StepDifference(d.step, d.state, d.answer, records)


CLIPPED = ""
"""The key under which steps that leave a bound are counted; those of an action are under its name."""
UNSIGNED = np.dtype(">u8")
"""Words whose bytes are in the canonical order of states."""

Parcel = tuple[int, bytes]
"""States of a level, packed."""
First = tuple[int, bytes, int, bytes]
"""Of a kind of step: level, state before, position among the steps listed with it, successor row."""


@dataclass(frozen=True)
class ComparisonTask:
    """The input of a task: a model under a configuration, and a release. build: the path of one's own, or ""."""

    model: str
    settings: tuple[str, ...]
    version: str
    build: str = ""


@dataclass
class ConformanceShare:
    """The result of one Spark partition. counts: steps by action, and those that leave a bound."""

    conformance: Conformance | None
    counts: dict[str, int]


@dataclass
class ShuffledSteps:
    """The kinds of one partition as a source of steps, in the order of the search."""

    kinds: StepKinds
    firsts: list[First]
    states: int = 0
    """They are counted where they were searched, and so is what follows."""
    clipped: int = 0
    stopped: Stop = ALL_VISITED

    @property
    def transitions(self) -> dict[str, int]:
        """By action, in the model's order."""
        return self.kinds.transitions

    def steps(self, progress: Progress) -> Iterator[ModelStep]:
        """Each kind once."""
        for level, state, _, successor in sorted(self.firsts):
            before = np.frombuffer(state, UNSIGNED).astype(np.uint64).view(np.int64)
            yield self.kinds.step(before, np.frombuffer(successor, np.int64), level)

    def after(self, step: ModelStep) -> Any:
        """See `StepSource`."""
        return self.kinds.state(step.states[1])

    def trace(self, step: ModelStep) -> Any:
        """Traces are made where the states were searched."""
        raise NotImplementedError


@cache
def kinds_of(model: str, settings: tuple[str, ...]) -> StepKinds:
    """The steps of a model in this process, compiled once."""
    prepared = prepare(model, list(settings))
    bound, lowered = prepared.bound, prepared.lowered
    return StepKinds(bound, lowered, ModelView(bound))


def _listed(task: ComparisonTask, parcel: Parcel) -> Iterator[tuple[bytes | str, First | int]]:
    """The kinds of step from some states, by key, and how many steps there are, by action."""
    kinds = kinds_of(task.model, task.settings)
    before, clipped = dict(kinds.transitions), kinds.clipped
    level, packed = parcel
    states, successors, keys = kinds.listed(np.frombuffer(packed, np.int64).reshape(-1, kinds.kernel.words))
    for k in kinds.known().add(keys).tolist():
        yield keys[k].tobytes(), (level, _ordered(states[k]), k, successors[k].tobytes())
    yield from ((name, count - before[name]) for name, count in kinds.transitions.items())
    yield CLIPPED, kinds.clipped - clipped


def _ordered(state: Rows) -> bytes:
    return state.view(np.uint64).astype(UNSIGNED).tobytes()


def least(a: Any, b: Any) -> Any:
    """Of a kind the first step, of counts the sum."""
    return a + b if isinstance(a, int) else min(a, b)


def share_of(task: ComparisonTask, records: Iterable[tuple[bytes | str, Any]]) -> Iterator[ConformanceShare]:
    """Executes the kinds of a partition."""
    counts: dict[str, int] = {}
    firsts: list[First] = []
    for key, value in records:
        if isinstance(key, str):
            counts[key] = value
        else:
            firsts.append(value)
    conformance = None
    if firsts:
        kinds = kinds_of(task.model, task.settings)
        with Driver(fetch(release_on_worker(task.version, task.build))) as driver:
            conformance = conform(ShuffledSteps(kinds, firsts), kinds.view, driver, Progress(quiet=True))
    yield ConformanceShare(conformance, counts)


def _together(version: str, shares: list[ConformanceShare], source: NativeSteps) -> Conformance:
    """The shares as one comparison; what was counted goes to the source of the states."""
    whole = Conformance(version)
    groups: dict[str, DisagreeingSteps] = {}
    for share in shares:
        for name, count in share.counts.items():
            if name == CLIPPED:
                source.kinds.clipped += count
            else:
                source.kinds.transitions[name] += count
        if share.conformance is None:
            continue
        for action, counted in share.conformance.actions.items():
            total = whole.actions.setdefault(action, ActionCount())
            total.steps += counted.steps
            total.agree += counted.agree
        for group in share.conformance.disagreements:
            same_cause = groups.setdefault(group.cause, group)
            if same_cause is not group:
                earlier = min(same_cause, group, key=lambda g: (g.first.level, _ordered(g.first.states.reshape(-1))))
                groups[group.cause] = DisagreeingSteps(
                    group.cause, same_cause.count + group.count, earlier.first, earlier.difference
                )
    whole.actions = {name: whole.actions[name] for name in source.transitions if name in whole.actions}
    whole.disagreements = sorted(groups.values(), key=lambda group: (-group.count, group.cause))
    return whole


def conform_by_spark(
    task: ComparisonTask, source: NativeSteps, cluster: SparkOptions, progress: Progress
) -> Conformance:
    """The comparison as a Spark job. source: searches the states, and makes traces to what disagrees.

    Raises `NoSpark`, `JobFailed`.
    """
    parcels: list[Parcel] = [(level, rows.tobytes()) for level, rows in source.parcels(progress)]
    session = start("reassure kafka conform", cluster)
    context = session.context
    try:
        count = cluster.partitions or int(context.defaultParallelism)
        kinds = context.parallelize(parcels, min(len(parcels), 4 * count)).flatMap(lambda parcel: _listed(task, parcel))
        shares = kinds.reduceByKey(least, count).mapPartitions(lambda records: share_of(task, records))
        job = SparkJob(context, "reassure-kafka-conform", shares.collect)
        return _together(task.version, job.result(lambda: progress.proof("comparing")), source)
    finally:
        session.stop()
