"""A JUnit test that passes on one build and fails on the other: for Kafka's `ReplicationControlManagerTest`.

It sends the requests of a run and asserts their answers as BASE gives them. After the last step it asserts BASE's
values of the fields that differ, or the promise that one build breaks. No state between is asserted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reassure.checkers.kafka.controller.controller_itf import ControllerRun
from reassure.checkers.kafka.controller.junit import fails_without_it, junit_method, method_name, start_statements
from reassure.checkers.kafka.controller.junit_calls import INDENT, PARTITION, java_ids, junit_call
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import ControllerState
from reassure.checkers.kafka.diff.analysis import BASE, HEAD
from reassure.checkers.kafka.diff.result import BuildDiff
from reassure.checkers.kafka.diff.runs import RunOfBoth
from reassure.checkers.machine.exit_codes import Exit, Failure

SETS = {"ISR": "isr", "ELR": "elr", "adding": "addingReplicas", "removing": "removingReplicas"}


def difference_method(diff: BuildDiff, release: Release) -> str:
    """The test of the first difference that a test can show; `Failure` if there is none.

    release: the build whose methods the test calls.
    """
    for run in diff.runs:
        try:
            return _difference_method(run, release)
        except Failure:
            continue
    text = "Kafka's test class has no means to show a difference" if diff.runs else "the builds do not differ"
    raise Failure(Exit.USAGE, text)


def promise_method(diff: BuildDiff, release: Release) -> str:
    """The test of the first promise that one build alone breaks, if it has an assertion; else `Failure`."""
    names = [(name, shown) for side in (HEAD, BASE) for name, shown in diff.promises.only[side].items()]
    for name, shown in names:
        trace, keeper = _trace(shown.run), _trace(diff.promises.keepers[name])
        if fails_without_it(name, trace):
            steps = zip(trace.commands, keeper.commands, strict=True)  # with the answers of the build that keeps it
            commands = tuple(replace(step, error=kept.error, resigns=kept.resigns) for step, kept in steps)
            return junit_method(replace(trace, commands=commands), release, name, name)
    text = f"there is no assertion of {names[0][0]}" if names else "no such promise is broken by one build alone"
    raise Failure(Exit.USAGE, text)


def _difference_method(run: RunOfBoth, release: Release) -> str:
    if run.difference.side is not None:
        raise Failure(Exit.USAGE, "only one of the builds takes the steps before the last")
    ours = run.runs[BASE]
    fields = [field for field, _, _ in run.rows()]
    lines = _requests(_trace(ours), release)
    asserted = list(_assertions(ours.states[-1], fields, _shift(ours.states[0])))
    if not asserted and "answer" not in fields:
        raise Failure(Exit.USAGE, "the difference is in no field that a test sees")
    if asserted:
        lines += ["", f"// Kafka {ours.version} gives", f"PartitionRegistration after = {PARTITION};", *asserted]
    return _method(run.difference.name, lines)


def _trace(run: ControllerRun) -> ControllerTrace:
    """A run as the commands of a trace."""
    commands = []
    for i, (_, command, _) in enumerate(run.steps):
        if command is None:
            continue
        error = run.answers[i].split(",")[0]
        thrown = "resigns" in run.answers[i]
        commands.append(TraceCommand(i, str(command), command, run.states[i - 1], run.states[i], error, resigns=thrown))
    return ControllerTrace(run.setup, run.states[0], tuple(commands), len(run.steps) - 1)


def _requests(trace: ControllerTrace, release: Release) -> list[str]:
    """The statements that make the requests, each with its answer."""
    lines = start_statements(trace)
    shift = _shift(trace.start)
    for number, step in enumerate(trace.commands, 1):
        statements = junit_call(step, number, None if step.resigns else step.error, release, shift)
        if step.resigns:
            statements = ["assertThrows(RuntimeException.class, () -> {", *(f"    {s}" for s in statements), "});"]
        lines += ["", f"// {number}. {step.text}", *statements]
    return lines


def _shift(start: ControllerState) -> int:
    """The partition epochs by which Kafka's test context is ahead of a run: one change of the ISR at the start."""
    return 0 if len(start.partition.isr) == len(start.partition.replicas) else 1


def _assertions(state: ControllerState, fields: list[str], shift: int) -> Iterable[str]:
    """BASE's values of the fields that differ, of those that a test sees."""
    p = state.partition
    if "replicas" in fields:
        yield f"assertEquals(List.of({java_ids(p.replicas)}), Replicas.toList(after.replicas));"
    values = {"ISR": p.isr, "ELR": p.elr, "adding": p.adding, "removing": p.removing}
    for field, name in SETS.items():
        if field in fields:
            yield f"assertEquals(Set.of({java_ids(sorted(values[field]))}), Set.copyOf(Replicas.toList(after.{name})));"
    if "leader" in fields:
        yield f"assertEquals({int(p.leader) if p.leader is not None else -1}, after.leader);"
    if "leader epoch" in fields:
        yield f"assertEquals({p.leader_epoch}, after.leaderEpoch);"
    if "partition epoch" in fields:
        yield f"assertEquals({p.partition_epoch + shift}, after.partitionEpoch);"
    if "recovering" in fields:
        name = "RECOVERING" if p.recovering else "RECOVERED"
        yield f"assertEquals(LeaderRecoveryState.{name}, after.leaderRecoveryState);"
    if "last known leader" in fields:
        leader = "-1" if state.keeps_nobody else java_ids([p.last_known_leader] if p.last_known_leader else [])
        yield f"assertEquals(List.of({leader}), Replicas.toList(after.lastKnownElr));"


def _method(name: str, lines: list[str]) -> str:
    body = "\n".join(INDENT + line if line else "" for line in lines)
    return f"    @Test\n    public void {method_name(name)}() {{\n{body}\n    }}\n"
