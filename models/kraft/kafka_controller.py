"""What Kafka's controller does with one partition (trunk 1eb7644349cb, between 3.9 and 4.0), as functions of it.

After `PartitionReassignmentReplicas`, `PartitionReassignmentRevert`, `PartitionChangeBuilder` and
`ReplicationControlManager.validateAlterPartitionData`. Not a model by itself: `kraft_kafka` is. ISR and ELR are sets:
their order in a record has no meaning. Left out: directories; the "balanced" switch turned off, as in unit tests only.
"""

from dataclasses import dataclass
from enum import Enum

from reassure import replace
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas, members


class Election(Enum):
    """`PartitionChangeBuilder.Election`."""

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


class Error(Enum):
    """What a request is answered with (`org.apache.kafka.common.protocol.Errors`)."""

    NONE = "NONE"
    STALE_BROKER_EPOCH = "STALE_BROKER_EPOCH"
    NOT_CONTROLLER = "NOT_CONTROLLER"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION"
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA"
    OPERATION_NOT_ATTEMPTED = "OPERATION_NOT_ATTEMPTED"
    NEW_LEADER_ELECTED = "NEW_LEADER_ELECTED"


@dataclass(frozen=True)
class Switches:
    """What depends on the metadata version and on features."""

    elr: bool
    """Eligible leader replicas: 4.0-IV1 and `eligible.leader.replicas.enable`."""
    recovery: bool
    """Leader recovery state: 3.2-IV0."""
    bump_on_shrink: bool
    """A shrink of the ISR raises the leader epoch: before 3.6-IV0."""
    last_known: bool
    """The last known leader may be elected."""


@dataclass(frozen=True)
class Change:
    """What a caller asks the change builder for: the target values of a partition."""

    replicas: Replicas
    isr: Brokers
    adding: Brokers
    removing: Brokers
    recovering: bool
    election: Election


@dataclass(frozen=True)
class Plan:
    """A reassignment asked for (`PartitionReassignmentReplicas`)."""

    replicas: Replicas
    adding: Brokers
    removing: Brokers


@dataclass(frozen=True)
class Reverted:
    """What a cancellation goes back to (`PartitionReassignmentRevert`)."""

    replicas: Replicas
    isr: Brokers
    unclean: bool
    """The ISR would have been empty, and the first replica was put into it, alive or not."""


@dataclass(frozen=True)
class Completion:
    """The outcome of the completion check."""

    done: bool
    replicas: Replicas
    isr: Brokers


@dataclass(frozen=True)
class Elected:
    """The outcome of an election."""

    leader: Broker | None
    unclean: bool


def planned(current: Replicas, target: Replicas) -> Plan:
    """The merged list: the target in its order, then what is to be removed, ascending (KAFKA 1.1, 1.2)."""
    adding = frozenset(target) - frozenset(current)
    removing = frozenset(current) - frozenset(target)
    return Plan(target + tuple(sorted(removing)), adding, removing)


def unchanged(p: Partition, election: Election) -> Change:
    """The change that leaves everything as it is, but for the election that every change runs."""
    return Change(p.replicas, p.isr, p.adding, p.removing, p.recovering, election)


def asked(p: Partition, target: Replicas) -> Change:
    """`changePartitionReassignment`: new sets that are empty leave the old ones in place (KAFKA 1.3)."""
    plan = planned(p.replicas, target)
    return replace(
        unchanged(p, Election.ONLINE),
        replicas=plan.replicas,
        adding=p.adding if plan.adding == NOBODY else plan.adding,
        removing=p.removing if plan.removing == NOBODY else plan.removing,
    )


def completion(replicas: Replicas, adding: Brokers, removing: Brokers, isr: Brokers) -> Completion:
    """`maybeCompleteReassignment`, 3.8.0 on: every target replica is in the ISR; MinISR plays no part (KAFKA 2.2)."""
    final_isr = isr - removing
    final = tuple(b for b in replicas if b not in removing)
    ongoing = adding != NOBODY or removing != NOBODY
    if ongoing and final_isr != NOBODY and final != () and frozenset(final) <= final_isr:
        return Completion(True, final, final_isr)
    return Completion(False, replicas, isr)


def reverted(p: Partition) -> Reverted:
    """Without what was being added; an empty ISR gets the first replica that is left (KAFKA 6.5, 6.6)."""
    replicas = tuple(b for b in p.replicas if b not in p.adding)
    isr = p.isr - p.adding
    if isr == NOBODY:
        return Reverted(replicas, frozenset(b for b in replicas if b == replicas[0]), True)
    return Reverted(replicas, isr, False)


def cancelled(p: Partition, election: Election) -> Change:
    """The change of a cancellation: replicas and ISR go back, both sets are cleared (KAFKA 6.5 to 6.8)."""
    back = reverted(p)
    return Change(back.replicas, back.isr, NOBODY, NOBODY, p.recovering, election)


def valid_assignment(target: Replicas, registered: Brokers) -> bool:
    """`validateManualPartitionAssignment`: not empty, nobody twice, everybody registered; fenced or not (KAFKA 1.4)."""
    return target != () and len(frozenset(target)) == len(target) and frozenset(target) <= registered


def valid_leader(b: Broker, isr: Brokers, elr: Brokers, alive: Brokers) -> bool:
    """`isValidNewLeader`: alive, and in the ISR; or, only if that is empty, in the ELR (KAFKA 4.1)."""
    return b in alive and (b in isr or (isr == NOBODY and b in elr))


def elected(
    old: Broker | None,
    last_known: Broker | None,
    replicas: Replicas,
    isr: Brokers,
    elr: Brokers,
    alive: Brokers,
    election: Election,
    w: Switches,
) -> Elected:
    """`electLeader` (KAFKA 4.2 to 4.6). The last known leader is taken whether it is alive or not (B5)."""
    first = next((b for b in replicas if valid_leader(b, isr, elr, alive)), None)
    if election == Election.PREFERRED and first is not None and first == replicas[0]:
        return Elected(first, False)
    if old is not None and valid_leader(old, isr, elr, alive):
        return Elected(old, False)
    if first is not None:
        return Elected(first, False)
    if w.elr and w.last_known and isr == NOBODY and elr == NOBODY and last_known is not None:
        return Elected(last_known, True)
    if election == Election.UNCLEAN:
        somebody = next((b for b in replicas if b in alive), None)
        return Elected(somebody, somebody is not None)
    return Elected(None, False)


def built(p: Partition, change: Change, alive: Brokers, lost: Brokers, min_isr: int, w: Switches) -> Partition:
    """`PartitionChangeBuilder.build`: completion, then ELR, then election, then the epochs (KAFKA 2.5).

    alive: who may be elected. lost: who came back from an unclean shutdown. min_isr: the effective one. The same
    partition comes back if there is nothing to write.
    """
    end = completion(change.replicas, change.adding, change.removing, change.isr)
    adding = NOBODY if end.done else change.adding
    removing = NOBODY if end.done else change.removing
    enough = len(end.isr) >= min_isr
    elr = NOBODY if enough or not w.elr else ((p.elr | p.isr) - end.isr) - lost
    remembered = None if w.elr and enough else p.last_known_leader
    vote = elected(p.leader, remembered, end.replicas, end.isr, elr, alive, change.election, w)
    leader = vote.leader
    isr = end.isr
    recovering = change.recovering
    if leader is not None and leader not in isr:
        isr = frozenset({leader})
        elr = NOBODY if vote.unclean else elr - {leader}
        recovering = change.recovering or (vote.unclean and w.recovery)
    if isr == NOBODY and not w.elr:
        isr = p.isr  # without ELR the last member of the ISR stays in it (KAFKA 4.9)
    if w.elr and leader is not None:
        remembered = None
    elif w.elr and isr == NOBODY and p.isr != NOBODY and p.leader is not None:
        remembered = p.leader
    new_reign = (
        leader != p.leader or not members(p) <= frozenset(end.replicas) or (w.bump_on_shrink and not p.isr <= isr)
    )
    after = replace(
        p,
        replicas=end.replicas,
        isr=isr,
        elr=elr,
        adding=adding,
        removing=removing,
        leader=leader,
        recovering=recovering,
        last_known_leader=remembered,
    )
    if after == p and not new_reign:
        return p
    return replace(
        after,
        partition_epoch=p.partition_epoch + 1,
        leader_epoch=p.leader_epoch + 1 if new_reign else p.leader_epoch,
    )


def effective_min_isr(configured: int, replicas: int) -> int:
    """`getTopicEffectiveMinIsr`: no more than the registered replicas of the topic's partition 0 (KAFKA 5.1)."""
    return min(configured, replicas)


def validated(
    p: Partition,
    source: Broker,
    known_sender: bool,
    leader_epoch: int,
    partition_epoch: int,
    isr: Brokers,
    recovering: bool,
    eligible: Brokers,
    newest: bool,
) -> Error:
    """`validateAlterPartitionData`, its tests in their order (KAFKA 6.1).

    known_sender: the sender's broker epoch is the registered one. eligible: brokers that are registered, active, and of
    the epoch that the request says. newest: version 2 or newer.
    """
    if not known_sender:
        return Error.STALE_BROKER_EPOCH
    if leader_epoch > p.leader_epoch or partition_epoch > p.partition_epoch:
        return Error.NOT_CONTROLLER
    if leader_epoch < p.leader_epoch:
        return Error.FENCED_LEADER_EPOCH
    if source != p.leader:
        return Error.INVALID_REQUEST
    if partition_epoch < p.partition_epoch:
        return Error.INVALID_UPDATE_VERSION
    if not isr <= members(p) or source not in isr:
        return Error.INVALID_REQUEST
    if recovering and (len(isr) > 1 or not p.recovering):
        return Error.INVALID_REQUEST
    if not isr <= eligible:
        return Error.INELIGIBLE_REPLICA if newest else Error.OPERATION_NOT_ATTEMPTED
    return Error.NONE


def answer(source: Broker, after: Partition, newest: bool) -> Error:
    """The answer to a change that was written: an error if leadership moved away from the sender (KAFKA 6.2)."""
    if after.leader == source:
        return Error.NONE
    return Error.NEW_LEADER_ELECTED if newest else Error.FENCED_LEADER_EPOCH
