"""The commands of a run as statements of Java, for `junit`: in the words of Kafka's `ReplicationControlManagerTest`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable

from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.replay import TraceCommand
from reassure.checkers.kafka.controller.words import PROPOSALS, REFUSED_PROPOSALS, Command, Kind
from reassure.checkers.machine.exit_codes import Exit, Failure

INDENT = " " * 8
PARTITION = "replication.getPartition(fooId, 0)"
ACCEPTED = ("NONE", "NEW_LEADER_ELECTED")
"""Answers to an AlterPartition that is carried out: the sender still leads, or not, which the release decides."""
_ASSIGNMENT = "org.apache.kafka.common.message.AssignReplicasToDirsRequestData"
_ERRORS = "org.apache.kafka.common.protocol.Errors"


def junit_call(step: TraceCommand, number: int, expected: str | None, release: Release, shift: int) -> list[str]:
    """The command, the assertion of its answer unless `expected` is None, and the replay of its records."""
    command, result = step.command, f"result{number}"
    if command.kind in (Kind.REASSIGN, Kind.CANCEL):
        replicas = f"List.of({java_ids(command.brokers)})" if command.kind is Kind.REASSIGN else "null"
        return [
            f"ControllerResult<AlterPartitionReassignmentsResponseData> {result} =",
            "    replication.alterPartitionReassignments(",
            "        new AlterPartitionReassignmentsRequestData().setTopics(List.of(",
            '            new ReassignableTopic().setName("foo").setPartitions(List.of(',
            f"                new ReassignablePartition().setPartitionIndex(0).setReplicas({replicas}))))));",
            *_answer(expected, f"{result}.response().responses().get(0).partitions().get(0).errorCode()"),
            f"ctx.replay({result}.records());",
        ]
    if command.kind in (Kind.ALTER_PARTITION, *PROPOSALS):
        return _alter_partition(step, result, expected, shift)
    if command.kind in (Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN):
        election = "PREFERRED" if command.kind is Kind.ELECT_PREFERRED else "UNCLEAN"
        return [
            f"TopicPartitionsCollection partitions{number} = new TopicPartitionsCollection();",
            f'partitions{number}.add(new TopicPartitions().setTopic("foo").setPartitions(List.of(0)));',
            f"ControllerResult<ElectLeadersResponseData> {result} = replication.electLeaders(",
            f"    new ElectLeadersRequestData().setElectionType(ElectionType.{election}.value).",
            f"        setTopicPartitions(partitions{number}));",
            *_answer(
                expected, f"{result}.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode()"
            ),
            f"ctx.replay({result}.records());",
        ]
    if command.kind is Kind.BALANCE:
        return ["ctx.replay(replication.maybeBalancePartitionLeaders().records());"]
    if command.kind is Kind.MAYBE_ELECT_UNCLEAN:
        return ["ctx.replay(replication.maybeElectUncleanLeaders().records());"]
    if command.kind is Kind.CHANGE_MIN_ISR:
        return _change_of_topic("min.insync.replicas", str(command.broker), release)
    if command.kind is Kind.CHANGE_UNCLEAN:
        return _change_of_topic("unclean.leader.election.enable", "true" if command.broker else "false", release)
    if command.kind is Kind.ASSIGN_DIRECTORY:
        return _assignment_of_directory(command.broker, number, expected)
    return _broker_event(command, number, release)


def _answer(expected: str | None, code: str) -> list[str]:
    """The assertion of an error code; none for None. "accepted": one of `ACCEPTED`."""
    if expected == "accepted":
        codes = ", ".join(_error(name) for name in ACCEPTED)
        return [f"assertTrue(Set.of({codes}).contains(", f"    {code}),", '    "the ISR is refused");']
    return [] if expected is None else [f"assertEquals({_error(expected)},", f"    {code});"]


def _change_of_topic(key: str, value: str, release: Release) -> list[str]:
    """IncrementalAlterConfigs of the topic, which exists and is not only validated (an argument from 4.3 on)."""
    only_validated = ", false" if _version(release) >= (4, 3) else ""
    return [
        "ctx.replay(ctx.configurationControl.incrementalAlterConfigs(",
        '    Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "foo"),',
        f'        Map.of("{key}", Map.entry(AlterConfigOp.OpType.SET, "{value}"))),',
        f"    false{only_validated}).records());",
    ]


def _assignment_of_directory(broker: int, number: int, expected: str | None) -> list[str]:
    """AssignReplicasToDirs of a broker: its replica moves to its other log directory."""
    return [
        f"Uuid first{number} = {directory_id(broker)};",
        f"Uuid second{number} = {directory_id(broker, 'B')};",
        f"boolean moved{number} = List.of({PARTITION}.directories).contains(second{number});",
        f"var partition{number} = new {_ASSIGNMENT}.PartitionData().",
        "    setPartitionIndex(0);",
        f"var topic{number} = new {_ASSIGNMENT}.TopicData().",
        f"    setTopicId(fooId).setPartitions(List.of(partition{number}));",
        f"var directory{number} = new {_ASSIGNMENT}.DirectoryData().",
        f"    setId(moved{number} ? first{number} : second{number}).setTopics(List.of(topic{number}));",
        f"var result{number} = replication.handleAssignReplicasToDirs(",
        f"    new {_ASSIGNMENT}().",
        f"        setBrokerId({broker}).setBrokerEpoch(ctx.currentBrokerEpoch({broker})).",
        f"        setDirectories(List.of(directory{number})));",
        *_answer(
            expected, f"result{number}.response().directories().get(0).topics().get(0).partitions().get(0).errorCode()"
        ),
        f"ctx.replay(result{number}.records());",
    ]


def _alter_partition(step: TraceCommand, result: str, expected: str | None, shift: int) -> list[str]:
    """AlterPartition; a request that is not late has the epochs of the moment, whatever these are."""
    command, before = step.command, step.before.partition
    r = command.request
    epochs = (before.leader_epoch, before.partition_epoch, step.before.incarnations)
    if r is None or (r.leader_epoch, r.partition_epoch, r.incarnations) == epochs:
        source = f"{PARTITION}.leader" if r is None else str(command.broker)
        epoch = f"ctx.currentBrokerEpoch({source})"
        if command.kind is Kind.PROPOSE_BY_FOLLOWER:
            source = str(min(set(range(1, step.before.brokers + 1)) - {before.leader} - step.before.unregistered))
            epoch = f"ctx.currentBrokerEpoch({source})"
        old = {kind: " - 1" if command.kind is kind else "" for kind in REFUSED_PROPOSALS}
        leader_epoch = f"{PARTITION}.leaderEpoch{old[Kind.PROPOSE_OLD_LEADER_EPOCH]}"
        partition_epoch = f"{PARTITION}.partitionEpoch{old[Kind.PROPOSE_OLD_PARTITION_EPOCH]}"
        age = old[Kind.PROPOSE_OLD_BROKER_EPOCHS]

        def present_epoch(broker: int) -> str:
            if command.kind is Kind.PROPOSE_WITHOUT_BROKER_EPOCHS and broker != before.leader:
                return "-1"
            return f"ctx.currentBrokerEpoch({broker}){age if broker != before.leader else ''}"

        states = broker_states(command.brokers, present_epoch)
    else:

        def epoch_of(broker: int) -> str:
            incarnation = r.incarnations[broker - 1]
            return f"defaultBrokerEpoch({broker})" + (f" + {incarnation}" if incarnation else "")

        source, epoch = str(command.broker), epoch_of(command.broker)
        leader_epoch, partition_epoch = str(r.leader_epoch), str(r.partition_epoch + shift)
        states = broker_states(command.brokers, epoch_of)
    isr = ["List.of(", *(f"    {state}," for state in states[:-1]), f"    {states[-1]})"]
    old_version = command.kind is Kind.PROPOSE_VERSION_2
    isr = [f"List.of({java_ids(command.brokers)})"] if old_version else isr
    return [
        *request_of_leader(result, source, epoch, leader_epoch, partition_epoch, isr, old_version),
        *_answer(expected, f"{result}.response().topics().get(0).partitions().get(0).errorCode()"),
        f"ctx.replay({result}.records());",
    ]


def request_of_leader(
    result: str,
    source: str,
    epoch: str,
    leader_epoch: str,
    partition_epoch: str,
    isr: list[str],
    old_version: bool = False,
) -> list[str]:
    """AlterPartition of a leader; isr: an expression of Java in lines. old_version: 2, whose members have no epochs."""
    version = ", (short) 2" if old_version else ""
    proposed = [f"                {line}" for line in isr]
    proposed[0] = f"                {'setNewIsr' if old_version else 'setNewIsrWithEpochs'}({isr[0]}"
    proposed[-1] += "))))));"
    return [
        f"ControllerResult<AlterPartitionResponseData> {result} = replication.alterPartition(",
        f"    anonymousContextFor(ApiKeys.ALTER_PARTITION{version}),",
        "    new AlterPartitionRequestData().",
        f"        setBrokerId({source}).",
        f"        setBrokerEpoch({epoch}).",
        "        setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions(List.of(",
        "            new PartitionData().",
        "                setPartitionIndex(0).",
        f"                setLeaderEpoch({leader_epoch}).",
        f"                setPartitionEpoch({partition_epoch}).",
        *proposed,
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
    elif command.kind in (Kind.CORDON, Kind.UNCORDON):
        directories = directory_id(broker) if command.kind is Kind.CORDON else ""
        epoch = f"ctx.currentBrokerEpoch({broker})"
        handler = f"handleDirectoriesCordoned({broker}, {epoch},\n{INDENT}    List.of({directories}), {records})"
    elif command.kind in (Kind.RESTART_UNCLEANLY, Kind.RESTART_CLEANLY):
        clean = "true" if command.kind is Kind.RESTART_CLEANLY else "false"
        handler = f"handleBrokerShutdown({broker}, {clean}, {records})"
        if _version(release) < (4, 0):
            handler = f"handleBrokerUncleanShutdown({broker}, {records})"
        register = [
            "// what ClusterControlManager.registerBroker calls, and the record that it adds",
            "ctx.replay(List.of(new ApiMessageAndVersion(new RegisterBrokerRecord().",
            f"    setBrokerId({broker}).",
            f"    setBrokerEpoch(ctx.currentBrokerEpoch({broker}) + 1).",
            f"    setLogDirs(List.of({directory_id(broker)})), (short) 3)));",
        ]
    else:
        raise Failure(Exit.USAGE, f"{command} has no counterpart in Kafka's test context")
    declaration = f"List<ApiMessageAndVersion> {records} = new ArrayList<>();"
    lines = [declaration, f"replication.{handler};", f"ctx.replay({records});"]
    return lines[:1] + register[:1] + lines[1:] + register[1:]


def broker_change(handler: str, records: str) -> list[str]:
    """The call of a handler, with the name of its list of records for %s, and their replay."""
    return [
        f"List<ApiMessageAndVersion> {records} = new ArrayList<>();",
        f"replication.{handler % records};",
        f"ctx.replay({records});",
    ]


def directory_id(broker: int, letter: str = "A") -> str:
    """The id of a log directory."""
    return f'Uuid.fromString("TESTBROKER{broker:05}DIR{letter}AAA")'


def _version(release: Release) -> tuple[int, ...]:
    """Major and minor version; of a build that states none, those of a release to come."""
    stated = re.match(r"(\d+)\.(\d+)", release.version)
    return (int(stated[1]), int(stated[2])) if stated is not None else (sys.maxsize, 0)


def _error(name: str) -> str:
    return "NONE.code()" if name == "NONE" else f"{_ERRORS}.{name}.code()"


def java_ids(brokers: Iterable[int]) -> str:
    return ", ".join(str(int(b)) for b in brokers)


def broker_states(brokers: Iterable[int], epoch: Callable[[int], str]) -> list[str]:
    return [f"new BrokerState().setBrokerId({int(b)}).setBrokerEpoch({epoch(int(b))})" for b in brokers]
