"""A trace executed by Kafka's own controller, step by step, nothing set in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.model_view import ELECTIONS, ModelView, model_step_text
from reassure.checkers.kafka.controller.words import (
    Command,
    ControllerAnswer,
    ControllerState,
    Kind,
    Setup,
    answer_of,
    braces,
    described_state,
    packed_second,
    packed_state,
    unpacked_words,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Partition
from reassure.spec.semantics.interpreter import BoundModel
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
        ours, theirs = described_state(self.step.after), described_state(self.state)
        pairs = [(name, ours.get(name, ""), theirs.get(name, "")) for name in {**ours, **theirs}]
        return rows + [(name, one, other) for name, one, other in pairs if one != other]


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
        text = model_step_text(step.action, step.params)
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


def trace_of_controller(trace: Trace, bound: BoundModel) -> ControllerTrace:
    """The controller's part of a model's trace; `Failure` if the model is none of Kafka's controller."""
    if bound.model.name == UNREGISTERED_FETCH:
        return _of_unregistered_fetch(trace)
    return controller_trace(trace, ModelView(bound))


UNREGISTERED_FETCH = "unregistered_fetch"
_TOLD_TO_CONTROLLER = {"fence": Kind.FENCE, "register": Kind.RESTART_UNCLEANLY, "unfence": Kind.UNFENCE}
"""Steps of `unregistered_fetch` that the controller takes, beside AlterPartition: the others are of brokers."""


def _of_unregistered_fetch(trace: Trace) -> ControllerTrace:
    """The fencings, registrations and AlterPartition requests of a trace of `unregistered_fetch`.

    That model has no epochs of the partition: both rise as in every release, the leader's with a new leader. An answer
    is not expected, as a controller with the fix refuses the request.
    """
    first = trace.states[0]
    replicas = tuple(sorted(first.isr))
    partition = Partition(replicas, first.isr, NOBODY, NOBODY, NOBODY, first.leader, 0, 0, False, None)
    state = _with_brokers(first, partition)
    start, commands = state, list[TraceCommand]()
    for i in range(1, len(trace.states)):
        before, step, after = trace.states[i - 1], trace.steps[i], trace.states[i]
        command, text = _told(before, step.action, step.params)
        elected, same_isr = after.leader != before.leader, after.isr == before.isr
        partition = replace(
            state.partition,
            isr=after.isr,
            leader=after.leader,
            leader_epoch=state.partition.leader_epoch + elected,
            partition_epoch=state.partition.partition_epoch + (elected or not same_isr),
        )
        following = _with_brokers(after, partition)
        if command is not None:
            commands.append(TraceCommand(i, text, command, state, following))
        state = following
    return ControllerTrace(Setup(len(replicas), 1), start, tuple(commands), len(trace) - 1)


def _with_brokers(state: Any, partition: Partition) -> ControllerState:
    epochs = state.broker_epochs
    incarnations = tuple(epochs[b] for b in sorted(epochs.keys()))
    return ControllerState(partition, state.unfenced, incarnations, unclean=False)


def _told(before: Any, action: str, params: Mapping[str, Any]) -> tuple[Command | None, str]:
    """The command of a step of `unregistered_fetch` with its text; None if the controller takes no part in it."""
    if action in _TOLD_TO_CONTROLLER:
        broker = int(params["broker"])
        lost = ", which has lost the records that it had fetched" if params["broker"] not in before.complete else ""
        return Command(_TOLD_TO_CONTROLLER[action], broker), f"{action}({broker}){lost * (action == 'register')}"
    if action != "alter_partition":
        return None, ""
    request = before.request
    isr = tuple(sorted(int(b) for b in before.isr | {request.follower}))
    epochs = {request.epochs[b] for b in before.isr | {request.follower} if b != before.leader}
    if epochs != {-1}:
        raise Failure(Exit.USAGE, f"a request with the epochs {braces(epochs)} is not one that Kafka's driver sends")
    return Command(Kind.PROPOSE_WITHOUT_BROKER_EPOCHS, 0, isr), f"alter_partition({braces(isr)}), without their epochs"


def _acts(view: ModelView, trace: Trace, j: int) -> bool:
    step = trace.steps[j]
    return view.command(trace.states[j - 1], step.action, step.params, trace.states[j]) is not None


def replayed(trace: ControllerTrace, driver: Driver) -> StepDifference | None:
    """Executes the commands in turn from the trace's start; the first difference, None if there is none."""
    driver.begin(trace.setup)
    words = _words(trace.start, trace.setup)
    first = True
    for step in trace.commands:
        if step.may_have_happened and words == _words(step.after, trace.setup):
            continue
        words, answered, records = driver.execute(words, step.command, first)
        first = False
        answer = answer_of(answered)
        right = {_words(state, trace.setup) for state in (step.after, step.alternative) if state is not None}
        answers_agree = step.error is None or (step.error == answer.error and step.resigns == answer.thrown)
        if words not in right or not answers_agree:
            return StepDifference(step, unpacked_words(words, trace.brokers), answer, records)
    return None


def _words(state: ControllerState, setup: Setup) -> tuple[int, ...]:
    return packed_state(state) + (packed_second(state) if setup.topic else ())
