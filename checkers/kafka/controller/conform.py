"""Every step that a model lets the controller take, taken by Kafka's own controller: where do they disagree?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np

from reassure.checkers.kafka.controller.driver import Words
from reassure.checkers.kafka.controller.model_steps import ModelStep, StepSource
from reassure.checkers.kafka.controller.model_view import ModelView, call_text
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import StepDifference, TraceCommand
from reassure.checkers.kafka.controller.words import Setup, answer_of, packed, unpacked
from reassure.checkers.machine.progress import Progress

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
            same = words in map(packed, view.elected(source.after(step)))
        if same and answers_agree:
            yield step, None
            continue
        text = call_text(step.action, step.params)
        before, after = step.before.state, step.after.state
        command = TraceCommand(step.level, text, step.command, before, after, error, resigns=resigns)
        yield step, StepDifference(command, unpacked(*words, view.brokers), answer, "")


def _cause(step: ModelStep, difference: StepDifference) -> str:
    """A disagreement in a line: the action, Kafka's answer if it is none of the usual, and the fields that differ."""
    fields = ", ".join(name for name, _, _ in difference.rows() if name != "answer")
    unusual = difference.answer.thrown or difference.answer.error != (difference.step.error or "NONE")
    answer = f"Kafka answers {difference.answer}" if unusual else ""
    return f"{step.action}: {'; '.join(part for part in (answer, fields) if part)}"


def _described(group: DisagreeingSteps, driver: Controller) -> StepDifference:
    """The group's first step again, with Kafka's own words."""
    d = group.difference
    _, records = driver.describe([*packed(d.step.before), *d.step.command.words(set_state=True)])
    return StepDifference(d.step, d.state, d.answer, records)
