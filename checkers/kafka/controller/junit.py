"""A run of Kafka's controller as a JUnit 5 test method, in the style of Kafka's own `ReplicationControlManagerTest`.

The method stands in that class: it uses its test context and its imports. It asserts what every step gives, and at its
end what should be so; where a release breaks that, the test fails there, or by the exception that the controller
throws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import Command, Kind
from reassure.spec.kafka.partition import NOBODY, Broker

INDENT = " " * 8
PARTITION = "replication.getPartition(fooId, 0)"
_ERRORS = "org.apache.kafka.common.protocol.Errors"


def junit_method(trace: ControllerTrace, release: Release, name: str, promise: str = "") -> str:
    """The text of the method. name: what it is called by. promise: the property that the trace violates, or "".

    Raises `Failure` for a trace that starts where the test context cannot.
    """
    return f"    @Test\n    public void {method_name(name)}() {{\n{body(trace, release, promise)}\n    }}\n"


def body(trace: ControllerTrace, release: Release, promise: str) -> str:
    """The statements of the method."""
    lines = _beginning(trace)
    shift = 0 if len(trace.start.partition.isr) == len(trace.start.partition.replicas) else 1
    for number, step in enumerate(trace.commands, 1):
        last = number == len(trace.commands)
        expected = "NONE" if last and promise == "requests_are_understood" else step.error or "NONE"
        lines += ["", f"// {number}. {step.text}"]
        lines += _call(step.command, number, expected, release, shift)
        if step.resigns:  # the call throws: nothing comes of it
            break
        lines += _assertions(step, number)
    lines += _promised(trace, promise)
    return "\n".join(INDENT + line if line else "" for line in lines)


def method_name(name: str) -> str:
    """A name in camel case that begins with `test`."""
    return "test" + class_name(name)


def class_name(name: str) -> str:
    """A name in camel case."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    return "".join(word[0].upper() + word[1:] for word in words)


def _beginning(trace: ControllerTrace) -> list[str]:
    start, p = trace.start, trace.start.partition
    everybody = frozenset(Broker(b) for b in range(1, trace.brokers + 1))
    usual = start.unfenced == everybody and not any(start.incarnations) and p.leader == p.replicas[0]
    if not usual or p.elr != NOBODY or p.adding | p.removing != NOBODY or trace.replicas_of_partition_zero:
        raise Failure(Exit.USAGE, "the trace starts in a state that Kafka's test context does not make")
    ids = ", ".join(str(b) for b in range(1, trace.brokers + 1))
    lines = [
        "ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().",
        "    setIsElrEnabled(true).",
        "    build();",
        "ReplicationControlManager replication = ctx.replicationControl;",
        f"ctx.registerBrokers({ids});",
        f"ctx.unfenceBrokers({ids});",
        f'Uuid fooId = ctx.createTestTopic("foo", new int[][] {{new int[] {{{_ids(p.replicas)}}}}}).topicId();',
    ]
    if p.isr != frozenset(p.replicas):  # before MinISR is set, so that nobody becomes eligible
        states = _broker_states(sorted(p.isr), lambda b: f"ctx.currentBrokerEpoch({b})")
        lines += [
            f"ctx.alterPartition(new TopicIdPartition(fooId, 0), {int(p.replicas[0])},",
            f"    List.of({', '.join(states)}),",
            "    LeaderRecoveryState.RECOVERED);",
        ]
    lines.append(f'ctx.alterTopicConfig("foo", "min.insync.replicas", "{trace.min_isr}");')
    if start.unclean:
        lines.append('ctx.alterTopicConfig("foo", "unclean.leader.election.enable", "true");')
    return lines


def _call(command: Command, number: int, expected: str, release: Release, shift: int) -> list[str]:
    """The command and the replay of its records."""
    result = f"result{number}"
    if command.kind in (Kind.REASSIGN, Kind.CANCEL):
        replicas = f"List.of({_ids(command.brokers)})" if command.kind is Kind.REASSIGN else "null"
        return [
            f"ControllerResult<AlterPartitionReassignmentsResponseData> {result} =",
            "    replication.alterPartitionReassignments(",
            "        new AlterPartitionReassignmentsRequestData().setTopics(List.of(",
            '            new ReassignableTopic().setName("foo").setPartitions(List.of(',
            f"                new ReassignablePartition().setPartitionIndex(0).setReplicas({replicas}))))));",
            f"assertEquals({_error(expected)},",
            f"    {result}.response().responses().get(0).partitions().get(0).errorCode());",
            f"ctx.replay({result}.records());",
        ]
    if command.kind in (Kind.PROPOSE, Kind.ALTER_PARTITION):
        return _alter_partition(command, result, expected, shift)
    if command.kind in (Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN):
        election = "PREFERRED" if command.kind is Kind.ELECT_PREFERRED else "UNCLEAN"
        return [
            f"TopicPartitionsCollection partitions{number} = new TopicPartitionsCollection();",
            f'partitions{number}.add(new TopicPartitions().setTopic("foo").setPartitions(List.of(0)));',
            f"ControllerResult<ElectLeadersResponseData> {result} = replication.electLeaders(",
            f"    new ElectLeadersRequestData().setElectionType(ElectionType.{election}.value).",
            f"        setTopicPartitions(partitions{number}));",
            f"assertEquals({_error(expected)},",
            f"    {result}.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode());",
            f"ctx.replay({result}.records());",
        ]
    if command.kind is Kind.BALANCE:
        return ["ctx.replay(replication.maybeBalancePartitionLeaders().records());"]
    if command.kind is Kind.MAYBE_ELECT_UNCLEAN:
        return ["ctx.replay(replication.maybeElectUncleanLeaders().records());"]
    return _broker_event(command, number, release)


def _alter_partition(command: Command, result: str, expected: str, shift: int) -> list[str]:
    if command.request is None:
        source, epoch = f"{PARTITION}.leader", f"ctx.currentBrokerEpoch({PARTITION}.leader)"
        leader_epoch, partition_epoch = f"{PARTITION}.leaderEpoch", f"{PARTITION}.partitionEpoch"
        states = _broker_states(command.brokers, lambda b: f"ctx.currentBrokerEpoch({b})")
    else:
        r = command.request

        def epoch_of(broker: int) -> str:
            incarnation = r.incarnations[broker - 1]
            return f"defaultBrokerEpoch({broker})" + (f" + {incarnation}" if incarnation else "")

        source, epoch = str(command.broker), epoch_of(command.broker)
        leader_epoch, partition_epoch = str(r.leader_epoch), str(r.partition_epoch + shift)
        states = _broker_states(command.brokers, epoch_of)
    return [
        f"ControllerResult<AlterPartitionResponseData> {result} = replication.alterPartition(",
        "    anonymousContextFor(ApiKeys.ALTER_PARTITION),",
        "    new AlterPartitionRequestData().",
        f"        setBrokerId({source}).",
        f"        setBrokerEpoch({epoch}).",
        "        setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(",
        "            new PartitionData().",
        "                setPartitionIndex(0).",
        f"                setLeaderEpoch({leader_epoch}).",
        f"                setPartitionEpoch({partition_epoch}).",
        "                setNewIsrWithEpochs(List.of(",
        *(f"                    {state}," for state in states[:-1]),
        f"                    {states[-1]})))))));",
        f"assertEquals({_error(expected)},",
        f"    {result}.response().topics().get(0).partitions().get(0).errorCode());",
        f"ctx.replay({result}.records());",
    ]


def _broker_event(command: Command, number: int, release: Release) -> list[str]:
    broker, records = command.broker, f"records{number}"
    register: list[str] = []
    if command.kind is Kind.FENCE:
        handler = f"handleBrokerFenced({broker}, {records})"
    elif command.kind is Kind.UNFENCE:
        handler = f"handleBrokerUnfenced({broker}, ctx.currentBrokerEpoch({broker}), {records})"
    elif command.kind is Kind.CONTROLLED_SHUTDOWN:
        handler = f"handleBrokerInControlledShutdown({broker}, ctx.currentBrokerEpoch({broker}), {records})"
    elif command.kind in (Kind.RESTART_UNCLEANLY, Kind.RESTART_CLEANLY):
        clean = "true" if command.kind is Kind.RESTART_CLEANLY else "false"
        handler = f"handleBrokerShutdown({broker}, {clean}, {records})"
        if release.version.startswith("3."):
            handler = f"handleBrokerUncleanShutdown({broker}, {records})"
        register = [
            "// what ClusterControlManager.registerBroker calls, and the record that it adds",
            "ctx.replay(List.of(new ApiMessageAndVersion(new RegisterBrokerRecord().",
            f"    setBrokerId({broker}).",
            f"    setBrokerEpoch(ctx.currentBrokerEpoch({broker}) + 1).",
            f'    setLogDirs(List.of(Uuid.fromString("TESTBROKER{broker:05}DIRAAAA"))), (short) 3)));',
        ]
    else:
        raise Failure(Exit.USAGE, f"{command} has no counterpart in Kafka's test context")
    declaration = f"List<ApiMessageAndVersion> {records} = new ArrayList<>();"
    lines = [declaration, f"replication.{handler};", f"ctx.replay({records});"]
    return lines[:1] + register[:1] + lines[1:] + register[1:]


def _assertions(step: TraceCommand, number: int) -> list[str]:
    """Asserts the step's leader, and every field that it changes."""
    after, before = f"after{number}", step.before.partition
    p = step.after.partition
    lines = [f"PartitionRegistration {after} = {PARTITION};"]
    if p.replicas != before.replicas:
        lines.append(f"assertEquals(List.of({_ids(p.replicas)}), Replicas.toList({after}.replicas));")
    sets = {"isr": (before.isr, p.isr), "elr": (before.elr, p.elr)}
    sets |= {"addingReplicas": (before.adding, p.adding), "removingReplicas": (before.removing, p.removing)}
    for field, (old, new) in sets.items():
        if old != new:
            lines.append(f"assertEquals(Set.of({_ids(sorted(new))}), Set.copyOf(Replicas.toList({after}.{field})));")
    lines.append(f"assertEquals({int(p.leader) if p.leader is not None else -1}, {after}.leader);")
    if p.recovering != before.recovering:
        state = "RECOVERING" if p.recovering else "RECOVERED"
        lines.append(f"assertEquals(LeaderRecoveryState.{state}, {after}.leaderRecoveryState);")
    return lines


# -- what should be so at the end ------------------------------------------------------------------------------------


def _promised(trace: ControllerTrace, promise: str) -> list[str]:
    """The assertion of the property that the run violates; nothing where there is none, or a step shows it."""
    make = _PROMISES.get(promise)
    return ["", *make(trace)] if make is not None and trace.commands else []


def fails_without_it(promise: str) -> bool:
    """Whether a method has an assertion for this property, or a step that shows it."""
    return promise in _PROMISES or promise in _SHOWN_BY_A_STEP


def _subset(field: str, why: str) -> Callable[[ControllerTrace], list[str]]:
    return lambda trace: [
        f"PartitionRegistration end = {PARTITION};",
        f"assertTrue(Replicas.toList(end.replicas).containsAll(Replicas.toList(end.{field})),",
        f'    "{why}: " + end);',
    ]


def _can_end(trace: ControllerTrace) -> list[str]:
    """Everybody is alive and in sync: there is nothing left to wait for."""
    last = trace.commands[-1].after
    everybody = sorted(last.partition.replicas)
    command = Command(Kind.PROPOSE, 0, tuple(int(b) for b in everybody))
    fenced = [int(b) for b in everybody if b not in last.unfenced]
    lines = [f"ctx.unfenceBrokers({_ids(fenced)});"] if fenced else []
    lines += ["// every replica catches up and joins the ISR"]
    request = _alter_partition(command, "joined", "NONE", 0)
    lines += [line for line in request if not line.startswith(("assertEquals", "    joined"))]
    return [
        *lines,
        "assertEquals(NONE_REASSIGNING, replication.listPartitionReassignments(null, Long.MAX_VALUE),",
        f'    "the reassignment goes on although every replica is in sync: " + {PARTITION});',
    ]


def _keeps_committed(trace: ControllerTrace) -> list[str]:
    leader = int(trace.commands[-1].after.partition.leader or 0)
    return [
        f"assertNotEquals({leader}, {PARTITION}.leader,",
        f'    "broker {leader} was no replica, has deleted its log, and leads without what was committed");',
    ]


def _leads_to_the_target(trace: ControllerTrace) -> list[str]:
    command = trace.commands[-1].command
    if command.kind is not Kind.REASSIGN:
        return []
    return [
        f"PartitionRegistration end = {PARTITION};",
        "Set<Integer> kept = new java.util.HashSet<>(Replicas.toList(end.replicas));",
        "kept.removeAll(Replicas.toList(end.removingReplicas));",
        f"assertEquals(Set.of({_ids(command.brokers)}), kept,",
        '    "the reassignment leads elsewhere than it was asked to: " + end);',
    ]


def _enough_in_sync(trace: ControllerTrace) -> list[str]:
    return [
        f"PartitionRegistration end = {PARTITION};",
        f"assertTrue(end.isr.length >= Math.min({trace.min_isr}, end.replicas.length),",
        '    "fewer in sync than producers wait for: " + end);',
    ]


_SHOWN_BY_A_STEP = ("requests_are_understood", "controller_goes_on", "broker_events_are_carried_out")
"""Properties that an answer or an exception shows to be violated."""

_PROMISES: dict[str, Callable[[ControllerTrace], list[str]]] = {
    "a_led_reassignment_can_end": _can_end,
    "rolling_back_ends": _can_end,
    "retarget_replaces_the_target": _leads_to_the_target,
    "leads_where_it_was_asked_to": _leads_to_the_target,
    "cancelling_keeps_min_isr": _enough_in_sync,
    "nothing_lost_by_a_cancellation": _keeps_committed,
    "nothing_lost_by_a_completion": _keeps_committed,
    "nothing_lost_otherwise": _keeps_committed,
    "leaders_hold_what_was_committed": _keeps_committed,
    "leader_holds_everything_committed": _keeps_committed,
    "elr_within_replicas": _subset("elr", "an eligible leader is no replica"),
    "completion_trims_isr_and_elr": _subset("elr", "an eligible leader is no replica"),
    "isr_within_replicas": _subset("isr", "a member of the ISR is no replica"),
    "leader_is_in_sync": _subset("isr", "a member of the ISR is no replica"),
}


def _error(name: str) -> str:
    return "NONE.code()" if name == "NONE" else f"{_ERRORS}.{name}.code()"


def _ids(brokers: Iterable[int]) -> str:
    return ", ".join(str(int(b)) for b in brokers)


def _broker_states(brokers: Iterable[int], epoch: Callable[[int], str]) -> list[str]:
    return [f"new BrokerState().setBrokerId({int(b)}).setBrokerEpoch({epoch(int(b))})" for b in brokers]
