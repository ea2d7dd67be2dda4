"""What Kafka's controller does with a command in any state: the rules of `kafka_controller` combined.

`kraft_kafka` has these steps too, within its bounds and with what followers and leaders do. Here they are functions of
what the controller holds, with which every step of Kafka's own class is compared (`reassure kafka explore --explain`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from reassure import replace
from reassure.models.kraft.kafka_controller import (
    NEWEST_FEATURES,
    Change,
    Election,
    Error,
    Features,
    Release,
    answer,
    asked,
    built,
    cancelled,
    effective_min_isr,
    refused,
    reverted,
    switches,
    switches_of_assignment,
    unchanged,
    validated,
    without_elr,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas, reassigning

FAULT = "UNKNOWN_SERVER_ERROR"
"""The answer where the controller throws."""


@dataclass(frozen=True)
class Held:
    """What the controller holds of a partition and its brokers, and the rules that it goes by."""

    partition: Partition
    unfenced: Brokers
    shutting_down: Brokers
    unclean: bool
    min_isr: int
    """As configured; the partition is partition 0 of its topic."""
    release: Release
    features: Features = NEWEST_FEATURES
    cordoned: Brokers = NOBODY
    """Brokers whose log directories are all cordoned (KIP-1066)."""
    unregistered: Brokers = NOBODY


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command. error: as Kafka answers. resigns: the controller throws and gives up its leadership."""

    held: Held
    error: str = "NONE"
    resigns: bool = False


def active(h: Held) -> Brokers:
    """Who may lead and be in the ISR."""
    return h.unfenced - h.shutting_down


def mode(h: Held) -> Election:
    """What a change elects with, where the topic's configuration counts."""
    return Election.UNCLEAN if h.unclean else Election.ONLINE


def changed(h: Held, change: Change, alive: Brokers, lost: Brokers = NOBODY) -> Partition | None:
    """The partition after a change; None if the controller throws."""
    p = h.partition
    rules = switches(h.release, h.features)
    outcome = built(p, change, alive, lost, effective_min_isr(h.min_isr, len(p.replicas)), rules)
    return None if outcome.throws else outcome.partition


# -- requests ------------------------------------------------------------------------------------------------


def reassign(h: Held, target: Replicas) -> Outcome:
    """AlterPartitionReassignments with a target."""
    if frozenset(target) & refused(h.release, h.unregistered, h.cordoned) != NOBODY:
        return Outcome(h, "INVALID_REPLICA_ASSIGNMENT")
    change = asked(h.partition, target, switches(h.release, h.features))
    return _answered(h, changed(h, change, active(h)))


def cancel(h: Held) -> Outcome:
    """AlterPartitionReassignments without one."""
    if not reassigning(h.partition):
        return Outcome(h, "NO_REASSIGNMENT_IN_PROGRESS")
    if reverted(h.partition).unclean and not h.unclean:
        return Outcome(h, "INVALID_REPLICA_ASSIGNMENT")
    return _answered(h, changed(h, cancelled(h.partition, mode(h)), active(h)))


def _answered(h: Held, after: Partition | None) -> Outcome:
    return Outcome(h, FAULT) if after is None else Outcome(replace(h, partition=after))


@dataclass(frozen=True)
class Proposal:
    """What is wrong with an AlterPartition: epochs of the last change but one, or the epochs of the other brokers."""

    old_leader_epoch: int = 0
    old_partition_epoch: int = 0
    old_broker_epochs: bool = False


PROPOSALS = {
    "propose": Proposal(),
    "propose_old_partition_epoch": Proposal(old_partition_epoch=1),
    "propose_old_leader_epoch": Proposal(old_leader_epoch=1),
    "propose_old_broker_epochs": Proposal(old_broker_epochs=True),
}


def propose(h: Held, isr: Brokers, proposal: Proposal) -> Outcome:
    """AlterPartition of the present leader."""
    p = h.partition
    assert p.leader is not None
    known = p.leader not in h.unregistered
    leader_epoch, partition_epoch = p.leader_epoch - proposal.old_leader_epoch, p.partition_epoch
    eligible = active(h) & {p.leader} if proposal.old_broker_epochs else active(h)
    partition_epoch -= proposal.old_partition_epoch
    error = validated(p, p.leader, known, leader_epoch, partition_epoch, isr, False, eligible, True)
    if error != Error.NONE:
        return Outcome(h, error.value)
    after = changed(h, replace(unchanged(p, mode(h)), isr=isr, recovering=False), active(h))
    if after is None:
        return Outcome(h, FAULT, resigns=True)
    return Outcome(replace(h, partition=after), answer(p.leader, after, True).value)


def elect(h: Held, election: Election) -> Outcome:
    """ElectLeaders."""
    p = h.partition
    preferred = election == Election.PREFERRED
    if p.leader is not None and (not preferred or p.leader == p.replicas[0]):
        return Outcome(h, "ELECTION_NOT_NEEDED")
    after = changed(h, unchanged(p, election), active(h))
    if after is None:
        return Outcome(h, FAULT, resigns=True)
    if after == p:
        return Outcome(h, "PREFERRED_LEADER_NOT_AVAILABLE" if preferred else "ELIGIBLE_LEADERS_NOT_AVAILABLE")
    return Outcome(replace(h, partition=after))


# -- what happens to brokers, and what the controller does of itself ------------------------------------------


def event(h: Held, after: Held, change: Change | None, alive: Brokers, lost: Brokers = NOBODY) -> Outcome:
    """An event of a broker, which takes `h` to `after`, with a change of the partition if there is one."""
    if change is None:
        return Outcome(after)
    p = changed(h, change, alive, lost)
    return Outcome(h, FAULT, resigns=True) if p is None else Outcome(replace(after, partition=p))


def leaves(h: Held, broker: Broker, after: Held) -> Outcome:
    """A broker is not active any more: it leaves the ISR."""
    p = h.partition
    change = replace(unchanged(p, mode(h)), isr=p.isr - {broker}) if broker in p.isr else None
    return event(h, after, change, active(after) - {broker})


def fence(h: Held, broker: Broker) -> Outcome:
    """A session runs out."""
    return leaves(h, broker, replace(h, unfenced=h.unfenced - {broker}))


def controlled_shutdown(h: Held, broker: Broker) -> Outcome:
    """A broker asks to be shut down."""
    after = replace(h, shutting_down=h.shutting_down | {broker}) if h.features.shutting_down else h
    return leaves(h, broker, after)


def unfence(h: Held, broker: Broker) -> Outcome:
    """A broker returns. A partition without a leader has an election, in which this broker counts as alive."""
    after = replace(h, unfenced=h.unfenced | {broker})
    change = unchanged(h.partition, mode(h)) if h.partition.leader is None else None
    return event(h, after, change, active(after) | {broker})


def restart_cleanly(h: Held, broker: Broker) -> Outcome:
    """A registration that proves a clean shutdown, if there is an earlier one to compare it with."""
    return restart_uncleanly(h, broker) if broker in h.unregistered else leaves(h, broker, _registered(h, broker))


def restart_uncleanly(h: Held, broker: Broker) -> Outcome:
    """A registration that does not prove one: the broker leaves ISR and ELR."""
    p, after = h.partition, _registered(h, broker)
    if h.release == Release.V3_9 and not h.features.notices_restarts:
        return Outcome(after)
    if h.release != Release.V3_9 and not h.features.elr:
        return leaves(h, broker, after)
    change = replace(unchanged(p, mode(h)), isr=p.isr - {broker}) if broker in p.isr | p.elr else None
    return event(h, after, change, active(after), NOBODY | {broker})


def _registered(h: Held, broker: Broker) -> Held:
    return replace(
        h,
        unfenced=h.unfenced - {broker},
        shutting_down=h.shutting_down - {broker},
        cordoned=h.cordoned - {broker},
        unregistered=h.unregistered - {broker},
    )


def unregister(h: Held, broker: Broker) -> Outcome:
    """An administrator has a broker forgotten: it leaves the ISR, and stays eligible."""
    p = h.partition
    after = replace(_registered(h, broker), unregistered=h.unregistered | {broker})
    change = replace(unchanged(p, mode(h)), isr=p.isr - {broker}) if broker in p.isr | p.elr else None
    return event(h, after, change, active(after))


def assign_directory(h: Held, broker: Broker) -> Outcome:
    """AssignReplicasToDirs: a replica is in another directory. That is a change, and so has an election."""
    p, rules = h.partition, switches_of_assignment(switches(h.release, h.features))
    if not h.features.directories:
        return Outcome(h, "UNSUPPORTED_VERSION")
    if broker not in p.replicas:
        return Outcome(h, "NOT_LEADER_OR_FOLLOWER")
    min_isr = effective_min_isr(h.min_isr, len(p.replicas))
    outcome = built(p, unchanged(p, Election.ONLINE), active(h), NOBODY, min_isr, rules)
    if outcome.throws:
        return Outcome(h, FAULT, resigns=True)
    return Outcome(replace(h, partition=replace(outcome.partition, partition_epoch=p.partition_epoch + 1)))


# -- configurations ---------------------------------------------------------------------------------------------


def change_min_isr(h: Held, value: int) -> Outcome:
    """min.insync.replicas of the topic becomes another: from 4.0 on a reason to forget who is eligible."""
    after = replace(h, min_isr=value)
    if h.release == Release.V3_9 or not h.features.elr or value == h.min_isr:
        return Outcome(after)
    return Outcome(replace(after, partition=without_elr(h.partition, switches(h.release, h.features))))


def change_unclean(h: Held, value: int) -> Outcome:
    """unclean.leader.election.enable of the topic: 0 or 1."""
    return Outcome(replace(h, unclean=value == 1))


def elect_leaderless(h: Held) -> Outcome:
    """An unfencing of a broker that is unfenced already (the first one), for the election that comes with it."""
    return unfence(h, min(h.unfenced))


def maybe_elect_unclean(h: Held) -> Outcome:
    """The controller's own search for partitions without a leader."""
    change = unchanged(h.partition, Election.UNCLEAN) if h.partition.leader is None and h.unclean else None
    return event(h, h, change, active(h))


def balance(h: Held) -> Outcome:
    """The controller's own balancing of leaders."""
    p = h.partition
    return event(h, h, unchanged(p, Election.PREFERRED) if p.leader != p.replicas[0] else None, active(h))


_OF_NOBODY: dict[str, Callable[[Held], Outcome]] = {
    "cancel": cancel,
    "elect_preferred": lambda h: elect(h, Election.PREFERRED),
    "elect_unclean": lambda h: elect(h, Election.UNCLEAN),
    "maybe_elect_unclean": maybe_elect_unclean,
    "balance": balance,
    "elect_leaderless": elect_leaderless,
}
_OF_BROKER: dict[str, Callable[[Held, Broker], Outcome]] = {
    "fence": fence,
    "unfence": unfence,
    "controlled_shutdown": controlled_shutdown,
    "restart_cleanly": restart_cleanly,
    "restart_uncleanly": restart_uncleanly,
    "cordon": lambda h, broker: Outcome(replace(h, cordoned=h.cordoned | {broker})),
    "uncordon": lambda h, broker: Outcome(replace(h, cordoned=h.cordoned - {broker})),
    "assign_directory": assign_directory,
    "unregister": unregister,
}
_OF_VALUE: dict[str, Callable[[Held, int], Outcome]] = {
    "change_min_isr": change_min_isr,
    "change_unclean": change_unclean,
}


def controller_step(held: Held, kind: str, broker: int, brokers: tuple[int, ...]) -> Outcome:
    """The outcome of a command that applies. broker: 0 for none; a configuration's value. brokers: a target, an ISR."""
    if kind in _OF_VALUE:
        return _OF_VALUE[kind](held, broker)
    listed = tuple(Broker(b) for b in brokers)
    if kind == "reassign":
        return reassign(held, listed)
    if kind in PROPOSALS:
        return propose(held, frozenset(listed), PROPOSALS[kind])
    if kind == "propose_by_follower":
        return Outcome(held, Error.INVALID_REQUEST.value)
    return _OF_BROKER[kind](held, Broker(broker)) if broker else _OF_NOBODY[kind](held)
