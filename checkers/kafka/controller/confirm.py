"""A run of the controller repeated on the whole `QuorumController`, with the raft client that Kafka's own tests use.

There a broker is fenced because it asks for it, restarts after its session has expired, and the controller that resigns
is followed by the next: slow (seconds), with threads and real time, and therefore for single findings.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from reassure.checkers.kafka.controller.class_path import QUICK, ClassPath, compiled_java, java_source, tool
from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import ControllerState, Kind
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.own_files import temporary_folder
from reassure.spec.kafka.partition import NOBODY

WHOLE = "WholeController.java"
SECONDS = 180
RESIGNS = "the controller resigns"
FIELDS = ("replicas", "ISR", "ELR", "adding", "removing", "leader")


@dataclass(frozen=True)
class ConfirmedStep:
    """A command on the whole controller. differs: fields that the run has otherwise, with its value and Kafka's."""

    text: str
    answer: str
    claim_epoch: int
    """Of the active controller: it rises when one resigns."""
    differs: tuple[tuple[str, str, str], ...]


def confirm(trace: ControllerTrace, class_path: ClassPath) -> list[ConfirmedStep]:
    """Executes the run; `Failure` for one that cannot be repeated there, or if the JVM gives up."""
    opening, commands = _opening(trace), [_command(step) for step in trace.commands]
    lines = _run(trace, class_path, [*opening, *commands])[1 + len(opening) :]
    steps = []
    epoch = 1
    for step, line in zip(trace.commands, lines, strict=True):
        answer, *values, claimed = line.split("\t")
        ours = _shown(step.after)
        differs = [(name, a, b) for name, a, b in zip(FIELDS, ours, values, strict=True) if a != b]
        expected = step.error or "NONE"
        resigned = int(claimed) > epoch
        # An event at which the controller resigns comes back as an exception, after the broker's session has expired.
        if step.resigns:
            differs = [] if resigned else [("answer", RESIGNS, answer)]
        elif resigned:
            differs.insert(0, ("answer", expected, RESIGNS))
        elif answer != expected:
            differs.insert(0, ("answer", expected, answer))
        steps.append(ConfirmedStep(step.text, answer, int(claimed), tuple(differs)))
        epoch = int(claimed)
    return steps


def _opening(trace: ControllerTrace) -> list[str]:
    """The commands that lead from the topic's creation to the start of the run."""
    p = trace.start.partition
    if p.elr | p.adding | p.removing != NOBODY or any(trace.start.incarnations) or p.leader != p.replicas[0]:
        raise Failure(Exit.USAGE, "the trace starts in a state that no new topic is in")
    shrink = [f"propose {_ids(sorted(p.isr))}"] if p.isr != frozenset(p.replicas) else []
    return [*shrink, f"configure min.insync.replicas {trace.min_isr}"]


def _command(step: TraceCommand) -> str:
    c, before = step.command, step.before.partition
    if c.partition:
        raise Failure(Exit.USAGE, f"step {step.number}, {step.text}, cannot be repeated on the whole controller")
    if c.kind is Kind.REASSIGN:
        return f"reassign {_ids(c.brokers)}"
    if c.kind is Kind.PROPOSE:
        return f"propose {_ids(c.brokers)}"
    if c.kind is Kind.ALTER_PARTITION and c.request is not None:
        versions = (c.request.leader_epoch, c.request.partition_epoch, c.request.incarnations)
        if versions == (before.leader_epoch, before.partition_epoch, step.before.incarnations):
            return f"propose {_ids(c.brokers)}"
    if c.kind is Kind.CHANGE_MIN_ISR:
        return f"configure min.insync.replicas {c.broker}"
    if c.kind is Kind.CHANGE_UNCLEAN:
        return f"configure unclean.leader.election.enable {'true' if c.broker else 'false'}"
    names = (Kind.CANCEL, Kind.FENCE, Kind.UNFENCE, Kind.RESTART_UNCLEANLY, Kind.RESTART_CLEANLY)
    if c.kind not in names:
        raise Failure(Exit.USAGE, f"step {step.number}, {step.text}, cannot be repeated on the whole controller")
    return c.kind.name.lower() + (f" {c.broker}" if c.broker else "")


def _run(trace: ControllerTrace, class_path: ClassPath, commands: list[str]) -> list[str]:
    """A line for the beginning and for each command."""
    start = trace.start
    about = [str(trace.brokers), "1", _ids(start.partition.replicas), str(start.unclean).lower()]
    with temporary_folder("kafka") as temporary:
        classes = temporary / "classes"
        compiled_java(tool("javac"), list(class_path.jars), {WHOLE: java_source(WHOLE)}, classes)
        path = os.pathsep.join([str(classes), *map(str, class_path.jars)])
        main = "org.apache.kafka.controller.WholeController"
        command = [tool("java"), *QUICK, "-cp", path, main, *about, *commands]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failure(Exit.SYSTEM, f"the whole controller did not finish within {SECONDS} s") from None
    lines = ran.stdout.splitlines()
    if len(lines) < len(commands) + 1:
        errors = [line for line in ran.stderr.splitlines() if "xception" in line or "rror" in line]
        raise Failure(Exit.SYSTEM, f"the whole controller gave up: {(errors or ['it said nothing'])[0]}")
    return lines


def _shown(state: ControllerState) -> tuple[str, ...]:
    p = state.partition
    sets = [_ids(sorted(s)) for s in (p.isr, p.elr, p.adding, p.removing)]
    return (_ids(p.replicas), *sets, str(int(p.leader)) if p.leader is not None else "-1")


def _ids(brokers: tuple[int, ...] | list[int] | tuple[()]) -> str:
    return ",".join(str(int(b)) for b in brokers)
