"""A run of the controller as requests and faults of a real cluster: what this program does, and what it waits for.

The steps that brokers take by themselves (a follower catches up, its leader asks to take it into the ISR) are waited
for. Where a run has a live follower that stays out of sync, its copy is throttled, as an administrator throttles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import ControllerState, Kind
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY


class Act(StrEnum):
    """The part of a step that this program does."""

    REASSIGN = "asks for replicas"
    CANCEL = "cancels the reassignment"
    SET = "changes a setting of the topic"
    KILL = "kills a broker (kill -9)"
    PAUSE = "pauses a broker (kill -STOP)"
    STOP = "shuts a broker down"
    RESUME = "lets a paused broker go on (kill -CONT)"
    START = "starts a broker"
    WAIT = "waits"


@dataclass(frozen=True)
class ScheduledStep:
    """One step of a run on a cluster. broker: of a fault. brokers: a target. setting: key and value of the topic's.

    held: followers whose copy is throttled while the step is taken. alternative: another right state, or None.
    resigns: the controller throws, and nothing is written.
    """

    number: int
    text: str
    act: Act
    expected: ControllerState
    broker: int = 0
    brokers: tuple[int, ...] = ()
    setting: tuple[str, str] = ("", "")
    error: str | None = None
    alternative: ControllerState | None = None
    resigns: bool = False
    held: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Schedule:
    """The steps of a run on a cluster, and the state that they begin in."""

    start: ControllerState
    min_isr: int
    elr: bool
    steps: tuple[ScheduledStep, ...]

    @property
    def brokers(self) -> int:
        """Brokers that the run has."""
        return self.start.brokers

    @property
    def throttles(self) -> bool:
        """Whether some copy has to be throttled."""
        return any(step.held for step in self.steps)

    @property
    def targets(self) -> list[tuple[int, ...]]:
        """The replicas that were asked for, in turn."""
        return [step.brokers for step in self.steps if step.act is Act.REASSIGN]


RETURNS = {
    Kind.UNFENCE: Act.PAUSE,
    Kind.RESTART_UNCLEANLY: Act.KILL,
    Kind.RESTART_CLEANLY: Act.STOP,
}
"""The fault that expires a broker's session, by the way in which the broker comes back."""
_ALIVE, _DOWN, _PAUSED = "alive", "down", "paused"


def schedule(run: ControllerTrace, pauses: bool = False) -> Schedule:
    """The schedule of a run; `Failure` (5) names the step to which no cluster can be brought.

    pauses: a broker that does not come back within the run is paused too, so that it can come back with every record
    and the registration that it had.
    """
    _check_start(run.start)
    steps: list[ScheduledStep] = []
    state_of = dict.fromkeys(range(1, run.brokers + 1), _ALIVE)
    for index, command in enumerate(run.commands):
        step = _step(command, run.commands[index + 1 :], state_of, pauses)
        if step is not None:
            steps.append(step)
    return Schedule(run.start, run.min_isr, run.setup.elr, tuple(_with_throttles(run.start, steps)))


def _check_start(start: ControllerState) -> None:
    p = start.partition
    whole = p.isr == frozenset(p.replicas) and not p.elr | p.adding | p.removing
    if not whole or p.leader != p.replicas[0] or len(start.unfenced) != start.brokers:
        raise Failure(
            Exit.INCONCLUSIVE,
            "the run does not begin with a new topic: each replica in sync, the first one leads, no broker is fenced",
        )


def _step(
    command: TraceCommand, later: Sequence[TraceCommand], state_of: dict[int, str], pauses: bool
) -> ScheduledStep | None:
    """The step of a command; None for a request of a leader that changes nothing. state_of: processes, updated."""
    c, broker = command.command, command.command.broker
    if c.partition:
        raise Failure(Exit.USAGE, f"step {command.number}, {command.text}, is of a second partition: not on a cluster")
    step = ScheduledStep(
        command.number,
        command.text,
        Act.WAIT,
        command.after,
        error=command.error,
        alternative=command.alternative,
        resigns=command.resigns,
    )
    waits = (Kind.ALTER_PARTITION, Kind.PROPOSE, Kind.MAYBE_ELECT_UNCLEAN, Kind.ELECT_LEADERLESS)
    match c.kind:
        case Kind.REASSIGN:
            return replace(step, act=Act.REASSIGN, brokers=tuple(map(int, c.brokers)))
        case Kind.CANCEL:
            return replace(step, act=Act.CANCEL)
        case Kind.CHANGE_MIN_ISR:
            return replace(step, act=Act.SET, setting=("min.insync.replicas", str(broker)))
        case Kind.CHANGE_UNCLEAN:
            return replace(step, act=Act.SET, setting=("unclean.leader.election.enable", "true" if broker else "false"))
        case Kind.FENCE:
            back = next(
                (x.command.kind for x in later if x.command.broker == broker and x.command.kind in RETURNS), None
            )
            act = (Act.PAUSE if pauses else Act.KILL) if back is None else RETURNS[back]
            state_of[broker] = _PAUSED if act is Act.PAUSE else _DOWN
            return replace(step, act=act, broker=broker)
        case Kind.CONTROLLED_SHUTDOWN:
            state_of[broker] = _DOWN
            return replace(step, act=Act.STOP, broker=broker)
        case Kind.UNFENCE | Kind.RESTART_UNCLEANLY | Kind.RESTART_CLEANLY:
            act = {_PAUSED: Act.RESUME, _DOWN: Act.START, _ALIVE: Act.WAIT}[state_of[broker]]
            if act is Act.WAIT and c.kind is not Kind.UNFENCE:
                raise _unreachable(command, "a broker registers again only after its session has expired")
            state_of[broker] = _ALIVE
            return replace(step, act=act, broker=broker)
        case kind if kind in waits:
            if command.before == command.after:
                return None
            if kind in waits[:2] and c.brokers and command.before.partition.isr - frozenset(c.brokers):
                raise _unreachable(command, "a leader drops a follower whose session is alive")
            return step
    raise _unreachable(command, f"{c.kind.name.lower()} has no counterpart here")


def _unreachable(command: TraceCommand, why: str) -> Failure:
    return Failure(Exit.INCONCLUSIVE, f"a cluster cannot be brought to step {command.number}, {command.text}: {why}")


def _with_throttles(start: ControllerState, steps: list[ScheduledStep]) -> list[ScheduledStep]:
    """The steps with the followers that each holds back.

    Steps that brokers take by themselves follow a step of this program without delay. A follower that is alive and out
    of sync at the end of such a group is held back from its beginning, until a group in which it joins the ISR.
    """
    groups: list[list[ScheduledStep]] = []
    for step in steps:
        if step.act is Act.WAIT and groups:
            groups[-1].append(step)
        else:
            groups.append([step])
    held: frozenset[int] = NOBODY
    isr = start.partition.isr
    result: list[ScheduledStep] = []
    for group in groups:
        end = group[-1].expected
        joining: set[int] = set()
        for step in group:
            joining |= {int(b) for b in step.expected.partition.isr - isr} if step.act is Act.WAIT else set()
            isr = step.expected.partition.isr
        behind = (frozenset(end.partition.replicas) - end.partition.isr) & end.unfenced
        held = (held | frozenset(map(int, behind))) - joining
        result += [replace(step, held=held) for step in group]
    return result
