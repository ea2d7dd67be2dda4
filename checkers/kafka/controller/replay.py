"""A trace executed by Kafka's own controller, step by step, nothing set in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.model_view import ELECTIONS, ModelView, call_text
from reassure.checkers.kafka.controller.words import (
    Command,
    ControllerAnswer,
    ControllerState,
    Setup,
    answer_of,
    described,
    packed,
    unpacked,
)
from reassure.spec.semantics.trace import Trace


@dataclass(frozen=True)
class TraceCommand:
    """A step of a trace that Kafka's controller takes. number: of the trace's step. error: None where it does not say.

    alternative: what else is right: the model's next step is an election that Kafka makes within this one.
    """

    number: int
    text: str
    command: Command
    before: ControllerState
    after: ControllerState
    error: str | None = None
    alternative: ControllerState | None = None
    may_have_happened: bool = False
    """The step is such an election, and may have been made already."""
    resigns: bool = False
    """The controller throws, and gives up its leadership."""


@dataclass(frozen=True)
class ControllerTrace:
    """The controller's part of a trace: its start, and the commands with their expected results."""

    setup: Setup
    start: ControllerState
    commands: tuple[TraceCommand, ...]
    steps: int = 0
    """Steps of the whole trace."""

    @property
    def brokers(self) -> int:
        return self.setup.brokers

    @property
    def min_isr(self) -> int:
        return self.setup.min_isr


@dataclass(frozen=True)
class StepDifference:
    """The first step at which Kafka does something else. records: Kafka's own words, or what was thrown."""

    step: TraceCommand
    state: ControllerState
    answer: ControllerAnswer
    records: str

    def rows(self) -> list[tuple[str, str, str]]:
        """The rows that differ: field, the trace's value, Kafka's."""
        rows = []
        expected = self.step.error and str(ControllerAnswer(self.step.error, self.step.resigns, 0, True))
        usual = self.answer.error == "NONE" if expected is None else expected == str(self.answer)
        if not usual or self.answer.thrown != self.step.resigns:
            rows.append(("answer", expected or "", str(self.answer)))
        ours, theirs = described(self.step.after), described(self.state)
        return rows + [(name, ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]]


def controller_trace(trace: Trace, view: ModelView) -> ControllerTrace:
    """The commands of a model's trace."""
    commands: list[TraceCommand] = []
    for i in range(1, len(trace.states)):
        before, step, after = trace.states[i - 1], trace.steps[i], trace.states[i]
        command = view.command(before, step.action, step.params, after)
        if command is None:
            continue
        expected = view.expected(before, step.action, step.params, after)
        following = next((j for j in range(i + 1, len(trace.states)) if _acts(view, trace, j)), None)
        alternative = None
        if step.action == "unfence" and following is not None and trace.steps[following].action in ELECTIONS:
            alternative = view.state(trace.states[following])
        may_have_happened = bool(commands) and commands[-1].alternative is not None and step.action in ELECTIONS
        text = call_text(step.action, step.params)
        start = view.state(before)
        commands.append(
            TraceCommand(
                i,
                text,
                command,
                start,
                expected.state,
                expected.error,
                alternative,
                may_have_happened,
                expected.resigns,
            )
        )
    return ControllerTrace(view.setup, view.state(trace.states[0]), tuple(commands), len(trace) - 1)


def _acts(view: ModelView, trace: Trace, j: int) -> bool:
    step = trace.steps[j]
    return view.command(trace.states[j - 1], step.action, step.params, trace.states[j]) is not None


def replayed(trace: ControllerTrace, driver: Driver) -> StepDifference | None:
    """Executes the commands in turn from the trace's start; the first difference, None if there is none."""
    driver.begin(trace.setup)
    words: tuple[int, int, int] = packed(trace.start)
    first = True
    for step in trace.commands:
        if step.may_have_happened and words == packed(step.after):
            continue
        row: Sequence[int] = [*words, *step.command.words(set_state=first)]
        (state, epochs, incarnations, answered), records = driver.describe(row)
        first, words = False, (state, epochs, incarnations)
        answer = answer_of(answered)
        right = {packed(step.after)} | ({packed(step.alternative)} if step.alternative is not None else set())
        answers_agree = step.error is None or (step.error == answer.error and step.resigns == answer.thrown)
        if words not in right or not answers_agree:
            return StepDifference(step, unpacked(*words, trace.brokers), answer, records)
    return None
