"""What Kafka's controller does with one partition, release by release from 3.9 to 4.4, and with the fixes of 4.3.

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


class Release(Enum):
    """Releases of Kafka, oldest first. A later one with the same rules goes by the same name."""

    V3_9 = "3.9"
    V4_0 = "4.0"
    V4_1 = "4.1"
    V4_2 = "4.2"
    V4_3 = "4.3"
    V4_4 = "4.4"
    FIXED = "fixed"
    """4.3 with this project's fixes of its findings, `docs/findings/fix-*.patch`: 4.4 has no published sources."""


PUBLISHED = tuple(release for release in Release if release != Release.FIXED)
"""The releases that Kafka published, oldest first."""


@dataclass(frozen=True)
class Features:
    """What the metadata version and its features switch on; as they are: of a release's newest version, with ELR."""

    elr: bool = True
    """Eligible leader replicas: the feature, and the metadata version 4.0-IV1."""
    notices_restarts: bool = True
    """3.9 takes a broker that registers anew out of the ISR: from the metadata version 4.0-IV1 on."""
    directories: bool = True
    """Log directories: 3.7-IV2."""
    bump_on_shrink: bool = False
    """A shrink of the ISR raises the leader epoch: before 3.6-IV0."""
    shutting_down: bool = True
    """A controlled shutdown is a state of a broker: 3.3-IV3."""
    recovery: bool = True
    """Leader recovery state: 3.2-IV0."""


NEWEST_FEATURES = Features()


def features(metadata_version: tuple[int, int, int], elr: bool) -> Features:
    """Those of a metadata version such as (3, 9, 0) for 3.9-IV0."""
    return Features(
        elr=elr,
        notices_restarts=metadata_version >= (4, 0, 1),
        directories=metadata_version >= (3, 7, 2),
        bump_on_shrink=metadata_version < (3, 6, 0),
        shutting_down=metadata_version >= (3, 3, 3),
        recovery=metadata_version >= (3, 2, 0),
    )


@dataclass(frozen=True)
class Switches:
    """What depends on the metadata version, on features, and on the release."""

    elr: bool
    """Eligible leader replicas: 4.0-IV1 and `eligible.leader.replicas.version`."""
    recovery: bool
    """Leader recovery state: 3.2-IV0."""
    bump_on_shrink: bool
    """A shrink of the ISR raises the leader epoch: before 3.6-IV0."""
    last_known: bool
    """The last known leader may be elected."""
    last_known_alive: bool = False
    """It must be alive: 4.1 on (KAFKA-19522)."""
    last_known_on_loss: bool = False
    """It is remembered whenever leadership is lost, not only where the ISR empties: 4.2 on."""
    completes_with_added: bool = False
    """Completing takes everything added in sync; the whole target only if replicas get fewer: 4.3 on (KAFKA-19975)."""
    directories_spare_elr: bool = False
    """An assignment of a log directory leaves the ELR alone: 4.3 on (PR 20716). Before, it empties the ELR."""
    elr_of_replicas: bool = False
    """The ELR has only replicas from before and after the change: `fix-elr-of-replicas`."""
    elr_outlives_min_isr: bool = False
    """A change of MinISR leaves the ELR where the ISR is empty: `fix-elr-outlives-minisr`. So a leader from the ELR
    may be enough for MinISR, and the rest of the ELR goes."""
    last_known_is_a_replica: bool = False
    """A last known leader is a replica before and after the change: `fix-last-known-leader-is-a-replica`."""
    replaces_moving: bool = False
    """A request gives `adding` and `removing` anew: `fix-reassignment-as-requested`. Before, an empty set leaves the
    one of an earlier request."""


def switches(release: Release, of: Features = NEWEST_FEATURES) -> Switches:
    """The rules of a release, as far as the cluster's metadata version and features have them."""
    alive = release != Release.V3_9 and release != Release.V4_0
    on_loss = alive and release != Release.V4_1
    fixed = release == Release.FIXED
    return Switches(
        elr=of.elr,
        recovery=of.recovery,
        bump_on_shrink=of.bump_on_shrink,
        last_known=True,
        last_known_alive=alive,
        last_known_on_loss=on_loss,
        completes_with_added=on_loss and release != Release.V4_2,
        directories_spare_elr=on_loss and release != Release.V4_2,
        elr_of_replicas=fixed,
        elr_outlives_min_isr=fixed,
        last_known_is_a_replica=fixed,
        replaces_moving=fixed,
    )


def switches_of_assignment(w: Switches) -> Switches:
    """The rules by which an assignment of a log directory changes a partition."""
    return replace(w, elr=w.elr and w.directories_spare_elr)


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
    throws: bool = False
    """A living candidate is not a replica yet: looking up its directory throws, and nothing is written."""


def planned(current: Replicas, target: Replicas) -> Plan:
    """The merged list: the target in its order, then what is to be removed, ascending."""
    adding = frozenset(target) - frozenset(current)
    removing = frozenset(current) - frozenset(target)
    return Plan(target + tuple(sorted(removing)), adding, removing)


def unchanged(p: Partition, election: Election) -> Change:
    """The change that leaves everything as it is, but for the election that every change runs."""
    return Change(p.replicas, p.isr, p.adding, p.removing, p.recovering, election)


def asked(p: Partition, target: Replicas, w: Switches) -> Change:
    """`changePartitionReassignment`: new sets that are empty leave the old ones in place.

    With the fixes an empty `removing` is written, and a replica that the target has too goes on being added.
    """
    plan = planned(p.replicas, target)
    change = replace(unchanged(p, Election.ONLINE), replicas=plan.replicas)
    still = p.adding & frozenset(target) if w.replaces_moving else NOBODY
    return replace(
        change,
        adding=p.adding if plan.adding == NOBODY else plan.adding | still,
        removing=p.removing if plan.removing == NOBODY and not w.replaces_moving else plan.removing,
    )


def completion(replicas: Replicas, adding: Brokers, removing: Brokers, isr: Brokers, w: Switches) -> Completion:
    """`maybeCompleteReassignment`: MinISR plays no part.

    3.8 to 4.2: every target replica is in the ISR. 4.3 on: every added one is; the others too only where more is
    removed than added.
    """
    final_isr = isr - removing
    final = tuple(b for b in replicas if b not in removing)
    left = removing == NOBODY or (final_isr != NOBODY and final != ())
    whole = frozenset(final) <= final_isr
    waits_for = adding - removing if w.replaces_moving else adding
    joined = waits_for <= final_isr and (whole or len(adding) >= len(removing)) if w.completes_with_added else whole
    if (adding != NOBODY or removing != NOBODY) and left and joined:
        return Completion(True, final, final_isr)
    return Completion(False, replicas, isr)


def reverted(p: Partition) -> Reverted:
    """Without what was being added; an empty ISR gets the first replica that is left."""
    replicas = tuple(b for b in p.replicas if b not in p.adding)
    isr = p.isr - p.adding
    if isr == NOBODY:
        return Reverted(replicas, frozenset(b for b in replicas if b == replicas[0]), True)
    return Reverted(replicas, isr, False)


def cancelled(p: Partition, election: Election) -> Change:
    """The change of a cancellation: replicas and ISR go back, both sets are cleared."""
    back = reverted(p)
    return Change(back.replicas, back.isr, NOBODY, NOBODY, p.recovering, election)


def refused(release: Release, unregistered: Brokers, cordoned: Brokers) -> Brokers:
    """Brokers that `validateManualPartitionAssignment` allows in no target, not even as replicas that stay.

    cordoned: brokers whose log directories are all cordoned (KIP-1066), which 4.4 refuses (KAFKA-20832).
    """
    return unregistered | cordoned if release == Release.V4_4 else unregistered


def valid_assignment(target: Replicas, registered: Brokers) -> bool:
    """`validateManualPartitionAssignment`: not empty, nobody twice, everybody registered; fenced or not."""
    return target != () and len(frozenset(target)) == len(target) and frozenset(target) <= registered


def valid_leader(b: Broker, isr: Brokers, elr: Brokers, alive: Brokers) -> bool:
    """`isValidNewLeader`: alive, and in the ISR; or, only if that is empty, in the ELR."""
    return b in alive and (b in isr or (isr == NOBODY and b in elr))


def chosen(p: Partition, broker: Broker, unclean: bool) -> Elected:
    """A living candidate is elected, if its directory is known: that of a replica as registered before the change."""
    return Elected(broker, unclean, broker not in p.replicas)


def elected(
    p: Partition, replicas: Replicas, isr: Brokers, elr: Brokers, alive: Brokers, election: Election, w: Switches
) -> Elected:
    """`electLeader` among `replicas`, of the partition as registered."""
    first = next((b for b in replicas if valid_leader(b, isr, elr, alive)), None)
    if election == Election.PREFERRED and first is not None and first == replicas[0]:
        return chosen(p, first, False)
    if p.leader is not None and valid_leader(p.leader, isr, elr, alive):
        return chosen(p, p.leader, False)
    if first is not None:
        return chosen(p, first, False)
    if w.elr and w.last_known and isr == NOBODY and elr == NOBODY:
        last = p.last_known_leader
        if last is not None and last in alive and may_be_remembered(last, p, replicas, w):
            return chosen(p, last, True)
        if last is not None and not w.last_known_alive:
            return Elected(last, True)  # whether it is alive or not
        if p.last_known_is_nobody and not w.last_known_alive:
            return Elected(None, False)  # -1 is elected, and no other replica looked at
    if election == Election.UNCLEAN:
        somebody = next((b for b in replicas if b in alive), None)
        if somebody is not None:
            return chosen(p, somebody, True)
    return Elected(None, False)


def may_be_remembered(last: Broker, p: Partition, replicas: Replicas, w: Switches) -> bool:
    """Whether a broker may be the last known leader: with the fixes, a replica before and after the change."""
    return not w.last_known_is_a_replica or (last in p.replicas and last in replicas)


@dataclass(frozen=True)
class Built:
    """The outcome of a change: the partition as written, or the same one if nothing is."""

    partition: Partition
    throws: bool


def built(p: Partition, change: Change, alive: Brokers, lost: Brokers, min_isr: int, w: Switches) -> Built:
    """`PartitionChangeBuilder.build`: completion, then ELR, then election, then the epochs.

    alive: who may be elected. lost: who came back from an unclean shutdown. min_isr: the effective one.
    """
    end = completion(change.replicas, change.adding, change.removing, change.isr, w)
    elr = NOBODY if len(end.isr) >= min_isr or not w.elr else ((p.elr | p.isr) - end.isr) - lost
    if w.elr_of_replicas:
        elr = elr & members(p) & frozenset(end.replicas)
    vote = elected(p, end.replicas, end.isr, elr, alive, change.election, w)
    if vote.throws:
        return Built(p, True)
    leader = vote.leader
    isr = end.isr
    recovering = change.recovering
    if leader is not None and leader not in isr:
        isr = frozenset({leader})
        elr = NOBODY if vote.unclean or (w.elr_outlives_min_isr and min_isr <= 1) else elr - {leader}
        recovering = change.recovering or (vote.unclean and w.recovery)
    if isr == NOBODY and not w.elr:
        isr = p.isr  # without ELR the last member of the ISR stays in it
    names_leader = (
        leader != p.leader or not members(p) <= frozenset(end.replicas) or (w.bump_on_shrink and not p.isr <= isr)
    )
    known = remembered(p, leader, end.replicas, isr, names_leader, w)
    after = replace(
        p,
        replicas=end.replicas,
        isr=isr,
        elr=elr,
        adding=NOBODY if end.done else change.adding,
        removing=NOBODY if end.done else change.removing,
        leader=leader,
        recovering=recovering,
        last_known_leader=known.leader,
        last_known_is_nobody=known.nobody,
    )
    if after == p and not names_leader:
        return Built(p, False)
    epoch = p.leader_epoch + 1 if names_leader else p.leader_epoch
    return Built(replace(after, partition_epoch=p.partition_epoch + 1, leader_epoch=epoch), False)


@dataclass(frozen=True)
class LastKnown:
    """What lastKnownElr holds: a broker, -1 (`nobody`), or nothing."""

    leader: Broker | None
    nobody: bool


def remembered(
    p: Partition, leader: Broker | None, replicas: Replicas, isr: Brokers, names_leader: bool, w: Switches
) -> LastKnown:
    """`maybeUpdateLastKnownLeader`, with the balanced switch on as in production.

    names_leader: the record has a leader, the same or another or -1.
    """
    old = LastKnown(p.last_known_leader, p.last_known_is_nobody)
    if not w.elr:
        return old
    if leader is not None:
        return LastKnown(None, False)
    if w.last_known_is_a_replica:
        first_time = names_leader and p.last_known_leader is None and not p.last_known_is_nobody
        last = p.leader if first_time else p.last_known_leader
        return LastKnown(last if last is not None and may_be_remembered(last, p, replicas, w) else None, False)
    if w.last_known_on_loss:
        first_time = names_leader and p.last_known_leader is None and not p.last_known_is_nobody
        return LastKnown(p.leader, p.leader is None) if first_time else old
    return LastKnown(p.leader, p.leader is None) if isr == NOBODY and p.isr != NOBODY else old


def without_elr(p: Partition, w: Switches) -> Partition:
    """`removeTopicElrs`, at the replay of a ClearElrRecord, which comes with a change of MinISR from 4.0 on."""
    nothing = p.elr == NOBODY and p.last_known_leader is None and not p.last_known_is_nobody
    if nothing or (w.elr_outlives_min_isr and p.isr == NOBODY):
        return p
    return replace(
        p, elr=NOBODY, last_known_leader=None, last_known_is_nobody=False, partition_epoch=p.partition_epoch + 1
    )


def effective_min_isr(configured: int, replicas: int) -> int:
    """`getTopicEffectiveMinIsr`: no more than the registered replicas of the topic's partition 0."""
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
    """`validateAlterPartitionData`, its tests in their order.

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
    """The answer to a change that was written: an error if leadership moved away from the sender."""
    if after.leader == source:
        return Error.NONE
    return Error.NEW_LEADER_ELECTED if newest else Error.FENCED_LEADER_EPOCH
