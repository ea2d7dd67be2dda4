"""A run of Kafka's controller as a JUnit 5 test method, in the style of Kafka's own `ReplicationControlManagerTest`.

The method stands in that class: it uses its test context and its imports. It asserts the answer to each request, and
at its end the property that the run violates: a release with the defect fails there, or by the exception that its
controller throws; a release without it passes. The states in between are not asserted, since a defect is part of them.
Without such a property the state after the last step is asserted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from reassure.checkers.kafka.controller.junit_calls import (
    ACCEPTED,
    INDENT,
    PARTITION,
    broker_change,
    broker_states,
    directory_id,
    java_ids,
    junit_call,
    request_of_leader,
)
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import Kind
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Broker

LOST = "has deleted its log, and leads without what was committed"
GOES_ON = "the reassignment goes on although every replica is in sync"
ELSEWHERE = "the reassignment leads elsewhere than it was asked to"
NOT_ELECTED = "an eligible replica is back, and nobody leads"
NO_REPLICA_ELIGIBLE = "an eligible leader is no replica"
NO_REPLICA_IN_SYNC = "a member of the ISR is no replica"
TOO_MANY = "a new partition has more replicas than the topic was created with"
NOBODY_LEADS = "brokers with every committed record are back, and nobody leads"
INCOMPLETE = "lost records before it registered anew, and leads"
REASONS = {
    "nothing_lost_by_a_completion": LOST,
    "nothing_lost_by_a_cancellation": LOST,
    "rolling_back_ends": GOES_ON,
    "broker_events_are_carried_out": "is not assigned to this partition",
    "retarget_replaces_the_target": ELSEWHERE,
    "changed_min_isr_leaves_who_may_lead": NOBODY_LEADS,
    "leader_has_what_was_acknowledged": INCOMPLETE,
}
"""A part of the message with which a method fails because of the property; the fourth is an exception of Kafka's."""


def junit_method(trace: ControllerTrace, release: Release, name: str, promise: str = "", elr: bool = True) -> str:
    """The text of the method. name: what it is called by. promise: the property that the trace violates, or "".

    elr: eligible leader replicas are switched on. Raises `Failure` for a trace that starts where the test context
    cannot.
    """
    return f"    @Test\n    public void {method_name(name)}() {{\n{body(trace, release, promise, elr)}\n    }}\n"


def body(trace: ControllerTrace, release: Release, promise: str, elr: bool = True) -> str:
    """The statements of the method."""
    lines = start_statements(trace, elr)
    shift = 0 if len(trace.start.partition.isr) == len(trace.start.partition.replicas) else 1
    emptied = _emptied(trace) if promise in _OF_LOST_RECORDS else None
    lines += _left_the_replicas(emptied) if emptied is not None and emptied.number == 0 else []
    for number, step in enumerate(trace.commands, 1):
        last = number == len(trace.commands)
        expected = None if step.resigns else step.error
        if last and promise in _SHOWN_BY_AN_ANSWER:
            expected = "NONE"
        lines += ["", f"// {number}. {step.text}"]
        if promise and step.command.kind in (Kind.PROPOSE, Kind.ALTER_PARTITION) and expected in ACCEPTED:
            expected = "accepted"
        lines += junit_call(step, number, expected, release, shift)
        if emptied is not None and emptied.number == number:
            lines += _left_the_replicas(emptied)
    if asserted := _assertion(promise, trace):
        lines += ["", *asserted]
    elif promise not in _SHOWN_BY_A_STEP and trace.commands and not trace.commands[-1].resigns:
        lines += ["", *_last_state(trace.commands[-1])]
    return "\n".join(INDENT + line if line else "" for line in lines)


def method_name(name: str) -> str:
    """A name in camel case that begins with `test`."""
    return "test" + class_name(name)


def class_name(name: str) -> str:
    """A name in camel case."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    return "".join(word[0].upper() + word[1:] for word in words)


def start_statements(trace: ControllerTrace, elr: bool = True) -> list[str]:
    """The statements that make the state that a trace starts in; `Failure` if the test context does not make it."""
    start, p = trace.start, trace.start.partition
    everybody = frozenset(Broker(b) for b in range(1, trace.brokers + 1))
    usual = start.unfenced == everybody and not any(start.incarnations) and p.leader == p.replicas[0]
    usual &= not start.shutting_down | start.cordoned | start.unregistered and not p.recovering
    usual &= start.min_isr in (0, trace.min_isr) and p.last_known_leader is None
    if not usual or p.elr != NOBODY or p.adding | p.removing != NOBODY or trace.setup.replicas_of_partition_zero:
        raise Failure(Exit.USAGE, "the trace starts in a state that Kafka's test context does not make")
    if trace.setup.company or trace.setup.topic or trace.setup.metadata_version:
        second = trace.setup.company or trace.setup.topic
        more = "a second partition" if second else f"the metadata version {trace.setup.metadata_version}"
        raise Failure(Exit.USAGE, f"the trace has {more}, which Kafka's test context does not make here")
    elr = elr and trace.setup.elr
    ids = ", ".join(str(b) for b in range(1, trace.brokers + 1))
    lines = [
        "ReplicationControlTestContext ctx = new ReplicationControlTestContext.Builder().",
        f"    setIsElrEnabled({'true' if elr else 'false'}).",
        "    build();",
        "ReplicationControlManager replication = ctx.replicationControl;",
        *(_with_two_directories(trace) if trace.setup.directories > 1 else [f"ctx.registerBrokers({ids});"]),
        f"ctx.unfenceBrokers({ids});",
        f'Uuid fooId = ctx.createTestTopic("foo", new int[][] {{new int[] {{{java_ids(p.replicas)}}}}}).topicId();',
    ]
    if p.isr != frozenset(p.replicas):  # before MinISR is set, so that nobody becomes eligible
        states = broker_states(sorted(p.isr), lambda b: f"ctx.currentBrokerEpoch({b})")
        lines += [
            f"ctx.alterPartition(new TopicIdPartition(fooId, 0), {int(p.replicas[0])},",
            f"    List.of({', '.join(states)}),",
            "    LeaderRecoveryState.RECOVERED);",
        ]
    lines.append(f'ctx.alterTopicConfig("foo", "min.insync.replicas", "{trace.min_isr}");')
    if start.unclean:
        lines.append('ctx.alterTopicConfig("foo", "unclean.leader.election.enable", "true");')
    return lines


def _with_two_directories(trace: ControllerTrace) -> list[str]:
    """The registrations; `Failure` for a step by which a broker tells of its log directories again."""
    again = (Kind.CORDON, Kind.UNCORDON, Kind.RESTART_CLEANLY, Kind.RESTART_UNCLEANLY)
    told = next((step for step in trace.commands if step.command.kind in again), None)
    if told is not None:
        raise Failure(
            Exit.USAGE, f"{told.text} has no counterpart in Kafka's test context with several log directories"
        )
    brokers = [
        f"    {b}, List.of({', '.join(directory_id(b, letter) for letter in 'AB')})"
        for b in range(1, trace.brokers + 1)
    ]
    return ["ctx.registerBrokersWithDirs(", *(f"{line}," for line in brokers[:-1]), f"{brokers[-1]});"]


def _last_state(step: TraceCommand) -> list[str]:
    """Asserts the leader after the last step, and every field that the step changes."""
    before, p = step.before.partition, step.after.partition
    lines = [f"PartitionRegistration end = {PARTITION};"]
    if p.replicas != before.replicas:
        lines.append(f"assertEquals(List.of({java_ids(p.replicas)}), Replicas.toList(end.replicas));")
    sets = {"isr": (before.isr, p.isr), "elr": (before.elr, p.elr)}
    sets |= {"addingReplicas": (before.adding, p.adding), "removingReplicas": (before.removing, p.removing)}
    for field, (old, new) in sets.items():
        if old != new:
            lines.append(f"assertEquals(Set.of({java_ids(sorted(new))}), Set.copyOf(Replicas.toList(end.{field})));")
    lines.append(f"assertEquals({int(p.leader) if p.leader is not None else -1}, end.leader);")
    if p.recovering != before.recovering:
        state = "RECOVERING" if p.recovering else "RECOVERED"
        lines.append(f"assertEquals(LeaderRecoveryState.{state}, end.leaderRecoveryState);")
    return lines


# -- what should be so at the end ------------------------------------------------------------------------------------


def fails_without_it(promise: str, trace: ControllerTrace) -> bool:
    """Whether the method of a run has an assertion of this property, or a step that shows it."""
    return bool(_assertion(promise, trace)) or promise in _SHOWN_BY_A_STEP


def _assertion(promise: str, trace: ControllerTrace) -> list[str]:
    """The statements that assert a property at the end of a run; none if there are none for such a run."""
    return _PROMISES[promise](trace) if promise in _PROMISES and trace.commands else []


def _subset(field: str, why: str) -> Callable[[ControllerTrace], list[str]]:
    return lambda trace: [f"PartitionRegistration end = {PARTITION};", *_within_replicas(field, why)]


def _within_replicas(field: str, why: str) -> list[str]:
    return [
        f"assertTrue(Replicas.toList(end.replicas).containsAll(Replicas.toList(end.{field})),",
        f'    "{why}: " + end);',
    ]


def _leads_in_sync() -> list[str]:
    return [
        f"PartitionRegistration end = {PARTITION};",
        "assertTrue(end.leader == -1 || Replicas.toList(end.isr).contains(end.leader)",
        "    && Replicas.toList(end.replicas).contains(end.leader),",
        '    "the leader is not in sync: " + end);',
    ]


def _can_end(trace: ControllerTrace) -> list[str]:
    """Every replica is alive and in sync, and then nothing is being reassigned."""
    last = trace.commands[-1].after
    lines = [line for b in sorted(frozenset(last.partition.replicas) - last.unfenced) for line in _returns(int(b))]
    leader = f"{PARTITION}.leader"
    epochs = (f"ctx.currentBrokerEpoch({leader})", f"{PARTITION}.leaderEpoch", f"{PARTITION}.partitionEpoch")
    return [
        *lines,
        "// every replica catches up and joins the ISR",
        f"List<BrokerState> everyReplica = Replicas.toList({PARTITION}.replicas).stream().map(id ->",
        "    new BrokerState().setBrokerId(id).setBrokerEpoch(ctx.currentBrokerEpoch(id))).toList();",
        *request_of_leader("joined", leader, *epochs, ["everyReplica"]),
        "ctx.replay(joined.records());",
        f"PartitionRegistration end = {PARTITION};",
        "assertEquals(Set.copyOf(Replicas.toList(end.replicas)), Set.copyOf(Replicas.toList(end.isr)),",
        '    "a replica is not in sync: " + end);',
        "assertEquals(NONE_REASSIGNING, replication.listPartitionReassignments(null, Long.MAX_VALUE),",
        f'    "{GOES_ON}: " + end);',
    ]


def _returns(broker: int) -> list[str]:
    """A broker that was fenced is unfenced."""
    return broker_change(f"handleBrokerUnfenced({broker}, ctx.currentBrokerEpoch({broker}), %s)", f"recordsOf{broker}")


def _may_lead_again(trace: ControllerTrace) -> list[str]:
    """The brokers that held everything committed return, and then somebody leads."""
    last = trace.commands[-1]
    whole = sorted((last.before.partition.isr | last.before.partition.elr) - last.after.unfenced)
    return [
        f"// the brokers with every committed record return: {java_ids(whole)}",
        *(line for b in whole for line in _returns(int(b))),
        f"assertNotEquals(-1, {PARTITION}.leader,",
        f'    "{NOBODY_LEADS}: " + {PARTITION});',
    ]


def _deleted_topic_is_forgotten(trace: ControllerTrace) -> list[str]:
    """The topic is deleted, and each broker that was eligible before the last step registers: nothing is thrown."""
    lines = [
        "// the topic is deleted",
        "ctx.replay(replication.deleteTopics(",
        "    anonymousContextFor(ApiKeys.DELETE_TOPICS), List.of(fooId)).records());",
    ]
    for broker in sorted(trace.commands[-1].before.partition.elr):
        shutdown = f"handleBrokerShutdown({int(broker)}, false, %s)"
        lines += [f"// broker {int(broker)} registers after an unclean shutdown"]
        lines += broker_change(shutdown, f"recordsOf{int(broker)}")
    return lines


def _new_partition_is_as_large(trace: ControllerTrace) -> list[str]:
    """A partition is added to the topic: that is refused, or it has as many replicas as the first one at the start."""
    return [
        "// one more partition",
        "var more = replication.createPartitions(anonymousContextFor(ApiKeys.CREATE_PARTITIONS),",
        '    List.of(new CreatePartitionsTopic().setName("foo").setCount(2).setAssignments(null)));',
        "ctx.replay(more.records());",
        "PartitionRegistration added = replication.getPartition(fooId, 1);",
        f"assertTrue(added == null || added.replicas.length == {len(trace.start.partition.replicas)},",
        f'    "{TOO_MANY}: " + added);',
    ]


def _somebody_is_eligible() -> list[str]:
    return [
        f"PartitionRegistration end = {PARTITION};",
        'assertTrue(end.isr.length + end.elr.length > 0, "nobody may lead any more: " + end);',
    ]


def _eligible_replicas_lead(trace: ControllerTrace) -> list[str]:
    """The ISR fails, the replicas that were eligible before the last step return, and then somebody leads."""
    before, after = trace.commands[-1].before.partition, trace.commands[-1].after
    eligible = sorted(before.elr & frozenset(before.replicas) - after.partition.isr)
    failing = sorted(after.partition.isr & after.unfenced)
    return [
        f"// the sessions of the ISR expire: {java_ids(failing)}; whoever was eligible returns: {java_ids(eligible)}",
        *(line for b in failing for line in broker_change(f"handleBrokerFenced({int(b)}, %s)", f"lossOf{int(b)}")),
        *(line for b in eligible for line in _returns(int(b))),
        f"assertNotEquals(-1, {PARTITION}.leader,",
        f'    "{NOT_ELECTED}: " + {PARTITION});',
    ]


@dataclass(frozen=True)
class _Emptied:
    """The leader at a run's end, and the last step after which it was no replica: a new replica has an empty log."""

    broker: int
    number: int
    """Of the command; 0: the run's start."""


def _emptied(trace: ControllerTrace) -> _Emptied | None:
    """None for a run at whose end a broker leads that always was a replica."""
    leader = trace.commands[-1].after.partition.leader if trace.commands else None
    states = [trace.start, *(step.after for step in trace.commands)]
    outside = [number for number, state in enumerate(states) if leader not in state.partition.replicas]
    return None if leader is None or not outside else _Emptied(int(leader), outside[-1])


def _left_the_replicas(emptied: _Emptied) -> list[str]:
    return [f"boolean removed = !Replicas.toList({PARTITION}.replicas).contains({emptied.broker});"]


def _keeps_committed(trace: ControllerTrace) -> list[str]:
    """Whoever was no replica, and has not been in sync since, does not lead."""
    emptied = _emptied(trace)
    if emptied is None:
        leader = int(trace.commands[-1].after.partition.leader or 0)
        return [
            f"assertNotEquals({leader}, {PARTITION}.leader,",
            f'    "broker {leader} leads without what was committed");',
        ]
    return [
        f"assertFalse(removed && {PARTITION}.leader == {emptied.broker},",
        f'    "broker {emptied.broker} was no replica, {LOST}: "',
        f"        + {PARTITION});",
    ]


def _leader_is_complete(trace: ControllerTrace) -> list[str]:
    """Whoever has lost records, and was only then registered and in sync again, does not lead."""
    leader = int(trace.commands[-1].after.partition.leader or 0)
    return [
        f"assertNotEquals({leader}, {PARTITION}.leader,",
        f'    "broker {leader} {INCOMPLETE}: " + {PARTITION});',
    ]


def _leads_to_the_target(trace: ControllerTrace) -> list[str]:
    command = trace.commands[-1].command
    if command.kind is not Kind.REASSIGN:
        return []
    return [
        f"PartitionRegistration end = {PARTITION};",
        "Set<Integer> kept = new java.util.HashSet<>(Replicas.toList(end.replicas));",
        "kept.removeAll(Replicas.toList(end.removingReplicas));",
        f"assertEquals(Set.of({java_ids(command.brokers)}), kept,",
        f'    "{ELSEWHERE}: " + end);',
    ]


def _enough_in_sync(trace: ControllerTrace) -> list[str]:
    return [
        f"PartitionRegistration end = {PARTITION};",
        f"assertTrue(end.isr.length >= Math.min({trace.commands[-1].after.min_isr or trace.min_isr}, "
        "end.replicas.length),",
        '    "fewer in sync than producers wait for: " + end);',
    ]


_SHOWN_BY_AN_ANSWER = ("requests_are_understood", "cordoning_is_for_new_replicas")
"""Properties that are violated by an answer other than NONE to the last step."""
_SHOWN_BY_A_STEP = (*_SHOWN_BY_AN_ANSWER, "controller_goes_on", "broker_events_are_carried_out")
"""Properties that an answer or an exception shows to be violated."""

_OF_LOST_RECORDS = (
    "nothing_lost_by_a_cancellation",
    "nothing_lost_by_a_completion",
    "nothing_lost_otherwise",
    "leaders_hold_what_was_committed",
    "leader_holds_everything_committed",
)

_PROMISES: dict[str, Callable[[ControllerTrace], list[str]]] = {
    "a_led_reassignment_can_end": _can_end,
    "rolling_back_ends": _can_end,
    "retarget_replaces_the_target": _leads_to_the_target,
    "leads_where_it_was_asked_to": _leads_to_the_target,
    "cancelling_keeps_min_isr": _enough_in_sync,
    "changed_min_isr_leaves_who_may_lead": _may_lead_again,
    "somebody_may_still_lead": lambda trace: _somebody_is_eligible(),
    "directories_are_not_about_who_may_lead": _eligible_replicas_lead,
    "deleted_topics_are_forgotten": _deleted_topic_is_forgotten,
    "new_partitions_are_as_large": _new_partition_is_as_large,
    "elr_within_replicas": _subset("elr", NO_REPLICA_ELIGIBLE),
    "completion_trims_isr_and_elr": lambda trace: [
        *_subset("elr", NO_REPLICA_ELIGIBLE)(trace),
        *_within_replicas("isr", NO_REPLICA_IN_SYNC),
    ],
    "isr_within_replicas": _subset("isr", NO_REPLICA_IN_SYNC),
    "leader_is_in_sync": lambda trace: _leads_in_sync(),
    "leader_has_what_was_acknowledged": _leader_is_complete,
} | dict.fromkeys(_OF_LOST_RECORDS, _keeps_committed)
