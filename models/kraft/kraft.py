"""KRaft partition reassignment by the rules of the document: grow, catch up, complete, cancel.

Rules of `003_c5e6a6197ed818b1.txt`, chapter 4 of a description of KRaft replication; fencing and eligible leader
replicas (ELR) as in KIP-966, on which that chapter builds. One partition. What Kafka's code does differently is in
`kraft_kafka`.

The story: an administrator starts a reassignment and the controller grows the replica set. Followers catch up, the
leader proposes an ISR with them in an AlterPartition request, and the controller applies it. Once the ISR without what
is to be removed reaches MinISR and has everything added, the reassignment completes in that same change. Meanwhile
brokers are fenced and return, one may lose its log, followers lag, and the administrator cancels or changes the target.

What disturbs is limited by the configuration (`admin_requests`, `disturbances`); what heals is not. A proposal made
with outdated metadata is the same as one made earlier and delivered late, so leaders propose with current metadata and
their requests stay in flight.

Left out: a deposed leader that still answers clients; targets in another order than the current list followed by what
is new; logs beyond "holds everything committed"; answers lost on the way; preferred leader election.

One module, since a protocol is read from its state to its claims, as the document is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import (
    Map,
    MaxSize,
    Model,
    Range,
    action,
    cover,
    every,
    fill,
    initial,
    invariant,
    replace,
    require,
    some,
    step_property,
    terminal,
)
from reassure.spec.kafka.reassignment import (
    NOBODY,
    SHARED,
    Broker,
    Brokers,
    Epoch,
    Partition,
    Replicas,
    Watched,
    enough,
    first,
    members,
    moved,
    reassigning,
    target_of,
    without,
)
from reassure.spec.kafka.shared_properties import PROMISES, Copies, Duties, Part


class Unclean(Enum):
    OFF = "off"
    ON = "on"
    EITHER = "either"


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 8)] = 3
    """Brokers in the cluster."""
    replication_factor: Annotated[int, Range(1, 8)] = 2
    """Replicas at the start: brokers 1, 2, ..."""
    min_isr: Annotated[int, Range(1, 8)] = 2
    """min.insync.replicas."""
    initial_isr: Annotated[int, Range(0, 8)] = 1
    """In-sync replicas at the start (0: all)."""
    unclean: Unclean = Unclean.EITHER
    """unclean.leader.election.enable; `either` explores both."""
    in_flight: Annotated[int, Range(1, 3)] = 1
    """AlterPartition requests on their way to the controller at one time."""
    admin_requests: Annotated[int, Range(0, 6)] = 2
    """Requests of the administrator: reassignments, other targets, cancellations."""
    disturbances: Annotated[int, Range(0, 6)] = 1
    """Times that a broker is fenced, shuts down uncleanly, or is to be dropped from the ISR because it lags."""
    shutdowns: Annotated[int, Range(0, 6)] = 1
    """How many of the disturbances may be unclean shutdowns."""

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")
        if self.initial_isr > self.replication_factor:
            raise ValueError(f"initial_isr={self.initial_isr} is more than {self.replication_factor} replicas")

    @property
    def max_epoch(self) -> int:
        """No epoch gets beyond it: what can change the partition, and how often.

        A disturbance is one change, one election and one return to the ISR. A request of the administrator is one
        change, and an election or as many joins as there are brokers. First of all, the initial ISR fills up.
        """
        return 3 * self.disturbances + (1 + self.brokers) * self.admin_requests + self.replication_factor

    @property
    def partitions(self) -> int:
        return 1


BrokerEpoch = Annotated[int, Range(0, "shutdowns")]
"""The incarnation of a broker: how often it has shut down uncleanly."""


@dataclass(frozen=True)
class AlterPartition:
    """The leader's request for another ISR, with the epochs it knew when it sent it."""

    source: Broker
    leader_epoch: Epoch
    partition_epoch: Epoch
    isr: Brokers
    broker_epochs: Map[Broker, BrokerEpoch]


@dataclass(frozen=True)
class Cluster:
    partition: Partition
    unclean: bool
    """Whether the topic allows unclean leader election."""
    unfenced: Brokers
    """Brokers that are registered, alive, and not fenced."""
    broker_epochs: Map[Broker, BrokerEpoch]
    """Which incarnation of a broker is registered; an unclean shutdown makes another."""
    requests: Annotated[frozenset[AlterPartition], MaxSize("in_flight")]
    """AlterPartition requests in flight, in no order."""
    leader_isr: Brokers
    """The ISR in the leader's copy of the metadata."""
    proposed: Brokers
    """The ISR that the leader has asked for without an answer yet; empty if none."""
    complete: Brokers
    """Replicas that hold everything committed: the ghost of K12.

    Logs have no gaps, so this is also what a leader sees as a fetch offset at the high watermark: who may join the ISR.
    """
    original: Replicas
    """Ghost: the replicas before the reassignment that is going on, or now."""
    asked: Annotated[int, Range(0, "admin_requests")]
    """Requests that the administrator has made."""
    disturbed: Annotated[int, Range(0, "disturbances")]
    """Disturbances that there have been."""


def watched(s: Cluster, c: Config) -> Watched:
    return Watched(s.partition, c.min_isr, s.unclean)


def duties(s: Cluster, c: Config) -> Duties:
    p = s.partition
    copies = Copies(
        replicas=p.replicas,
        isr=p.isr,
        leader=p.leader,
        min_isr=c.min_isr,
        wanted=target_of(p) if reassigning(p) else frozenset(s.original),
        moving=reassigning(p),
        whole=s.complete,
        loss_allowed=s.unclean,
        leaving=NOBODY,
        load=len(p.adding - p.isr),
        limit=64,
    )
    return Duties(
        all=every(Part, c),
        parts=fill(Part, c, copies),
        partitions_moving=1 if reassigning(p) else 0,
        partitions_limit=64,
        leaders_moving=0,
        leaders_limit=64,
    )


@initial
def settled(c: Config, unclean: bool) -> Cluster:
    """A partition on the first brokers, led by broker 1, everybody alive."""
    require(c.unclean == Unclean.EITHER or unclean == (c.unclean == Unclean.ON))
    replicas = tuple(sorted(first(c.replication_factor, c)))
    isr = first(c.initial_isr if c.initial_isr > 0 else c.replication_factor, c)
    return Cluster(
        partition=Partition(
            replicas=replicas,
            isr=isr,
            elr=NOBODY,
            adding=NOBODY,
            removing=NOBODY,
            leader=Broker(1),
            leader_epoch=0,
            partition_epoch=0,
            recovering=False,
            last_known_leader=None,
        ),
        unclean=unclean,
        unfenced=every(Broker, c),
        broker_epochs=fill(Broker, c, 0),
        requests=frozenset(),
        leader_isr=isr,
        proposed=NOBODY,
        complete=isr,
        original=replicas,
        asked=0,
        disturbed=0,
    )


# -- the controller's rules, over the partition ---------------------------------------------------------


def may_lead(p: Partition, isr: Brokers, alive: Brokers, successor: Broker | None) -> bool:
    """Clean election once the ISR is `isr`: the leader if it can stay, else anybody alive in it, else nobody.

    Nondeterministic because the document's second example does not take the first of the target (K10).
    """
    if p.leader is not None and p.leader in isr & alive:
        return successor == p.leader
    if isr & alive == NOBODY:
        return successor is None
    return successor is not None and successor in isr & alive


def elr_after(p: Partition, isr: Brokers, replicas: Brokers, min_isr: int) -> Brokers:
    """Who else may lead: below MinISR nothing is committed, so that whoever left the ISR still holds everything."""
    return NOBODY if len(isr) >= min_isr else ((p.elr | p.isr) - isr) & replicas


def recorded(before: Partition, after: Partition, new_reign: bool) -> Partition:
    """The change as it is written: one more partition epoch; a leader epoch for a new leader or `new_reign`."""
    reigns = 1 if new_reign or after.leader != before.leader else 0
    return replace(after, partition_epoch=before.partition_epoch + 1, leader_epoch=before.leader_epoch + reigns)


def retargeted(p: Partition, target: Brokers) -> Partition:
    """Replicas, adding and removing for a new target; the originals are what is left without `adding` (K1, K14)."""
    originals = members(p) - p.adding
    listed = without(p.replicas, p.adding - target) + tuple(sorted(target - members(p)))
    return replace(p, replicas=listed, adding=target - originals, removing=originals - target)


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """Rules for a reassignment to be complete (K2)."""
    final = isr - p.removing
    return reassigning(p) and p.adding <= final and len(final) >= min_isr


def completed(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """The completion change, but for the epochs (K3); the ELR is emptied as the ISR reaches MinISR."""
    return replace(
        p,
        replicas=without(p.replicas, p.removing),
        isr=isr - p.removing,
        elr=NOBODY,
        adding=NOBODY,
        removing=NOBODY,
        leader=leader,
    )


def decided(s: Cluster, p: Partition) -> Cluster:
    """The partition becomes `p`: removed replicas delete their log, and a new leader starts from this metadata."""
    complete = s.complete & members(p)
    original = s.original if reassigning(p) else p.replicas
    if p.leader == s.partition.leader:
        return replace(s, partition=p, complete=complete, original=original)
    return replace(s, partition=p, complete=complete, original=original, leader_isr=p.isr, proposed=NOBODY)


def decided_uncleanly(s: Cluster, p: Partition, leader: Broker) -> Cluster:
    """As `decided`, the ISR being just `leader`; what it lacks counts as committed no longer."""
    after = decided(s, replace(p, isr=NOBODY | {leader}, elr=NOBODY, leader=leader))
    return after if leader in s.complete else replace(after, complete=NOBODY | {leader})


# -- the administrator ----------------------------------------------------------------------------------


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """AlterPartitionReassignments: the replica set grows, or a pure removal is done at once (K1, K5).

    The growth change leaves leader and ISR alone. With nothing to add and enough left, the controller goes straight to
    completion. Left out: that one request reassigns many partitions; validation beyond a target that is not empty.
    """
    p = s.partition
    require(not reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != members(p))
    asked = replace(s, asked=s.asked + 1)
    grown = retargeted(p, target)
    if completes(grown, p.isr, c.min_isr):
        require(may_lead(p, p.isr - grown.removing, s.unfenced, successor))
        return decided(asked, recorded(p, completed(grown, p.isr, successor), new_reign=True))
    require(successor == p.leader)
    return decided(asked, recorded(p, grown, new_reign=False))


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """Another target while a reassignment goes on (K14): what was being added and is not wanted any more is dropped.

    The document does not say what happens if the drop takes the ISR below MinISR. As for a cancellation, we refuse
    (`broken/retarget_unchecked` is the other reading). Going back to the originals is a cancellation.
    """
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(p) and target != members(p) - p.adding)
    asked = replace(s, asked=s.asked + 1)
    changed = retargeted(p, target)
    isr = p.isr & members(changed)
    require(isr == p.isr or len(isr) >= c.min_isr)
    if completes(changed, isr, c.min_isr):
        require(may_lead(p, isr - changed.removing, s.unfenced, successor))
        return decided(asked, recorded(p, completed(changed, isr, successor), new_reign=True))
    require(may_lead(p, isr, s.unfenced, successor))
    dropped = members(p) - members(changed)
    elr = elr_after(p, isr, members(changed), c.min_isr)
    return decided(
        asked, recorded(p, replace(changed, isr=isr, elr=elr, leader=successor), new_reign=dropped != NOBODY)
    )


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config, successor: Broker | None) -> Cluster:
    """The reassignment is given up: what it was adding is dropped, and the originals stay (K9).

    If too few originals are in sync the answer is an error, even where the cancellation would cost nothing, unless
    unclean election is allowed: then the change is reverted all the same, with a leader from the ISR or, if that is
    empty, any original that is alive, eligible or not. The document does not say which epochs move; as replicas are
    dropped, we raise both. Left out: a cancellation with nothing to cancel.
    """
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    asked = replace(s, asked=s.asked + 1)
    isr = p.isr - p.adding
    if len(isr) < c.min_isr and not s.unclean:
        require(successor == p.leader)
        return asked
    originals = members(p) - p.adding
    elr = elr_after(p, isr, originals, c.min_isr)
    reverted = replace(
        p, replicas=without(p.replicas, p.adding), isr=isr, elr=elr, adding=NOBODY, removing=NOBODY, leader=successor
    )
    after = recorded(p, reverted, new_reign=True)
    if isr == NOBODY and originals & s.unfenced != NOBODY:
        leader = some(successor)
        require(leader in originals & s.unfenced)
        return decided_uncleanly(asked, after, leader)
    require(may_lead(p, isr, s.unfenced, successor))
    return decided(asked, after)


# -- followers and the leader ---------------------------------------------------------------------------


@action(who="follower", fair="weak")
def catch_up(s: Cluster, follower: Broker) -> Cluster:
    """A follower fetches up to the high watermark, from scratch if it was just added.

    Left out: how far it has got, truncation, moving a log between directories.
    """
    leader = some(s.partition.leader)
    require(follower in members(s.partition) & s.unfenced and follower not in s.complete)
    require(leader in s.complete)
    return replace(s, complete=s.complete | {follower})


def waiting(s: Cluster) -> bool:
    """The leader's request is under way and as current as what the controller has."""
    p = s.partition
    return any(r.source == p.leader and r.partition_epoch == p.partition_epoch for r in s.requests)


def proposes(s: Cluster, c: Config, isr: Brokers) -> Cluster:
    """The leader sends an AlterPartition request: one at a time, with what the controller last told it."""
    p = s.partition
    leader = some(p.leader)
    require(s.proposed == NOBODY and s.leader_isr == p.isr and len(s.requests) < c.in_flight)
    require(all(r.source != leader for r in s.requests))
    request = AlterPartition(leader, p.leader_epoch, p.partition_epoch, isr, s.broker_epochs)
    return replace(s, proposed=isr, requests=s.requests | {request})


@action(who="leader", fair="strong")
def propose_expansion(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """The leader asks to take a follower that has caught up, and is not fenced, into the ISR.

    Strongly fair: a follower may fall behind again and again before the leader notices it. Left out: several at once.
    """
    p = s.partition
    require(follower in (members(p) & s.unfenced & s.complete) - p.isr)
    return proposes(s, c, p.isr | {follower})


@action(who="leader")
def propose_shrink(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """The leader asks to drop a follower that lags.

    Left out: time; several at once.
    """
    p = s.partition
    require(s.disturbed < c.disturbances and follower in p.isr and follower != p.leader)
    return proposes(replace(s, disturbed=s.disturbed + 1), c, p.isr - {follower})


@action(who="leader")
def commit(s: Cluster, c: Config) -> Cluster:
    """A record is committed: with MinISR in sync, every member of the ISR has it, and whoever it proposed to add.

    A proposed removal does not lower the bar before the controller has agreed. What lies outside falls behind. A record
    that nobody misses changes nothing here and is left out, so that records need no limit.
    """
    require(len(s.leader_isr) >= c.min_isr)
    return committed(s, s.leader_isr | s.proposed)


def committed(s: Cluster, holders: Brokers) -> Cluster:
    require(s.partition.leader is not None and holders <= s.complete and s.complete != holders)
    return replace(s, complete=holders)


@action(who="leader", fair="weak")
def hear(s: Cluster) -> Cluster:
    """The leader receives the answer to its request, or newer metadata that makes the request pointless.

    Either way it goes on with the metadata as it is and forgets the proposal. Left out: hearing one without the other.
    """
    p = s.partition
    require(p.leader is not None and not waiting(s))
    require(s.proposed != NOBODY or s.leader_isr != p.isr)
    return replace(s, leader_isr=p.isr, proposed=NOBODY)


# -- the controller -------------------------------------------------------------------------------------


def current(s: Cluster, request: AlterPartition) -> bool:
    """Sent by the leader of this epoch, which has seen the latest change (K13)."""
    p = s.partition
    return (
        request.source == p.leader
        and request.leader_epoch == p.leader_epoch
        and request.partition_epoch == p.partition_epoch
    )


def eligible(s: Cluster, request: AlterPartition) -> bool:
    """Everybody in the proposed ISR is a replica, not fenced, and has not lost its log since."""
    return (
        request.source in request.isr
        and request.isr <= members(s.partition) & s.unfenced
        and all(request.broker_epochs[b] == s.broker_epochs[b] for b in request.isr)
    )


def accepted(s: Cluster, request: AlterPartition) -> bool:
    """Else the answer is an error."""
    return current(s, request) and eligible(s, request)


def changed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """The change of the ISR that completes nothing, as it is written."""
    elr = elr_after(p, isr, members(p), min_isr)
    return recorded(p, replace(p, isr=isr, elr=elr), new_reign=False)


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """The change of the ISR that completes the reassignment, as it is written (K3)."""
    return recorded(p, completed(p, isr, leader), new_reign=True)


def answered(
    s: Cluster,
    c: Config,
    request: AlterPartition,
    successor: Broker | None,
    accepted: Callable[[Cluster, AlterPartition], bool] = accepted,
    completes: Callable[[Partition, Brokers, int], bool] = completes,
    may_lead: Callable[[Partition, Brokers, Brokers, Broker | None], bool] = may_lead,
    changed: Callable[[Partition, Brokers, int], Partition] = changed,
    finished: Callable[[Partition, Brokers, Broker | None], Partition] = finished,
) -> Cluster:
    """What comes of a request: nothing, or its ISR, and in the same change the completion (K2).

    The rules are parameters: a variant of `alter_partition` gives just those that it changes.
    """
    p, isr = s.partition, request.isr
    handled = replace(s, requests=s.requests - {request})
    if not accepted(s, request):
        require(successor == p.leader)
        return handled
    if not completes(p, isr, c.min_isr):
        require(successor == p.leader)
        return decided(handled, changed(p, isr, c.min_isr))
    require(may_lead(p, isr - p.removing, s.unfenced, successor))
    return decided(handled, finished(p, isr, successor))


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """AlterPartition: the controller takes over the ISR that the leader proposes, or answers with an error.

    Left out: which error it is; leader recovery state.
    """
    return answered(s, c, request, successor)


def left(s: Cluster, c: Config, broker: Broker, keeps_log: bool, successor: Broker | None) -> Cluster:
    """`broker` leaves the ISR, if it is there, and without its log the ELR too; if it led, leadership moves."""
    p = s.partition
    isr = p.isr - {broker}
    elr = elr_after(p, isr, members(p), c.min_isr)
    elr = elr if keeps_log else elr - {broker}
    require(may_lead(p, isr, s.unfenced, successor))
    if isr == p.isr and elr == p.elr:
        return s
    return decided(s, recorded(p, replace(p, isr=isr, elr=elr, leader=successor), new_reign=False))


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """A broker's heartbeats stop: it leaves the ISR, even as the last, and stays eligible if the ISR is below MinISR.

    Left out: controlled shutdown, which differs in who asks for it.
    """
    require(broker in s.unfenced and s.disturbed < c.disturbances)
    fenced = replace(s, unfenced=s.unfenced - {broker}, disturbed=s.disturbed + 1)
    return left(fenced, c, broker, True, successor)


@action(who="controller")
def shut_down_uncleanly(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """A broker dies and registers anew without the end of its log: it leaves ISR and ELR, fenced, with another epoch.

    Left out: the time between its death and its registration, in which the controller still trusts it.
    """
    require(s.disturbed < c.disturbances and sum(s.broker_epochs[b] for b in every(Broker, c)) < c.shutdowns)
    down = replace(
        s,
        unfenced=s.unfenced - {broker},
        broker_epochs=s.broker_epochs.put(broker, s.broker_epochs[broker] + 1),
        complete=s.complete - {broker},
        disturbed=s.disturbed + 1,
    )
    return left(down, c, broker, False, successor)


@action(who="controller", fair="weak")
def unfence(s: Cluster, broker: Broker) -> Cluster:
    """A broker has caught up with the metadata and takes part again. Elections are changes of their own."""
    require(broker not in s.unfenced)
    return replace(s, unfenced=s.unfenced | {broker})


@action(who="controller", fair="weak")
def elect_from_elr(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """Nobody leads and nobody is in sync: an eligible replica that is alive becomes leader and ISR, cleanly."""
    p = s.partition
    require(p.leader is None and p.isr == NOBODY and broker in p.elr & s.unfenced)
    isr = NOBODY | {broker}
    elr = elr_after(p, isr, members(p), c.min_isr)
    return decided(s, recorded(p, replace(p, isr=isr, elr=elr, leader=broker), new_reign=True))


@action(who="controller", fair="weak")
def elect_unclean(s: Cluster, broker: Broker) -> Cluster:
    """Where it is configured: with nobody in sync or eligible alive, any replica leads, and what it lacks is lost.

    Left out: leader recovery state; asking all replicas for the end of their logs first.
    """
    p = s.partition
    require(s.unclean and p.leader is None and (p.isr | p.elr) & s.unfenced == NOBODY)
    require(broker in members(p) & s.unfenced)
    return decided_uncleanly(s, recorded(p, replace(p, leader=broker), new_reign=True), broker)


@terminal
def may_rest(s: Cluster, c: Config) -> bool:
    """Settled; offline with every complete copy lost and no unclean election; or held back by MinISR for good (K11).

    Or K12 is broken, and nobody can catch up with a leader that lacks records.
    """
    p = s.partition
    settled = p.leader is not None and not reassigning(p) and p.isr == members(p)
    offline = p.leader is None and p.isr | p.elr == NOBODY and not s.unclean
    held_back = p.leader is not None and p.isr == members(p) and len(target_of(p)) < c.min_isr
    broken = p.leader is not None and p.leader not in s.complete
    return settled or offline or held_back or broken


# -- claims about what only this protocol has: requests, brokers, logs ------------------------------------


@invariant
def leader_holds_everything_committed(s: Cluster) -> bool:
    """K12. Otherwise an acknowledged record is gone although nobody allowed data loss.

    An unclean election redefines what is committed, so that only clean elections can break it.
    """
    return s.partition.leader is None or s.partition.leader in s.complete


@invariant
def isr_is_unfenced(s: Cluster) -> bool:
    """K8. Otherwise acks=all producers wait for a dead broker, and leadership may move to it."""
    return s.partition.isr <= s.unfenced


@step_property(on=alter_partition)
def stale_request_changes_nothing(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    """K13. Otherwise a delayed request undoes what was decided after it was sent."""
    return current(before, request) or after.partition == before.partition


@step_property(tags=["cancel"])
def cancel_restores_what_was_before(before: Cluster, after: Cluster) -> bool:
    """K9, K14. Otherwise brokers of an abandoned plan stay replicas for good, also after a change of the target."""
    return after.partition == before.partition or members(after.partition) == frozenset(before.original)


@step_property(tags=["cancel"])
def cancel_restores_the_order(before: Cluster, after: Cluster) -> bool:
    """K9. Otherwise the preferred leader is another than before, and leadership moves at the next rebalancing."""
    if frozenset(before.original) != members(after.partition):
        return True
    return after.partition == before.partition or after.partition.replicas == before.original


@step_property(tags=["start", "retarget", "cancel", "complete"], when=lambda c: c.unclean != Unclean.OFF)
def reassignment_keeps_min_isr_even_if_unclean(before: Watched, after: Watched) -> bool:
    """K7 to the letter. K9 contradicts it: where unclean election is allowed, a cancellation is carried out anyway."""
    if not moved(before.partition, after.partition):
        return True
    return not enough(before.partition.isr, before) or enough(after.partition.isr, after)


@step_property(tags=["start", "retarget", "cancel", "complete"], when=lambda c: c.unclean != Unclean.OFF)
def leader_has_a_successor_even_if_unclean(before: Watched, after: Watched) -> bool:
    """K8 to the letter. K9 contradicts it: the originals may all be down when a cancellation is carried out anyway."""
    return before.partition.leader is None or after.partition.leader is not None


@step_property(tags=["cancel"], when=lambda c: c.unclean != Unclean.OFF)
def cancel_spares_the_eligible(before: Cluster, after: Cluster) -> bool:
    """K9, K12. Otherwise a cancellation loses what was committed although a replica that has it is eligible and alive.

    The document's letter allows it: with nobody in sync the election is unclean, whoever is in the ELR.
    """
    p, leader = before.partition, after.partition.leader
    safe = (p.isr | p.elr) & before.unfenced & members(after.partition)
    return safe == NOBODY or leader is None or leader in before.complete


@cover(on=alter_partition)
def stale_request_refused(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    return not current(before, request) and after.partition == before.partition


@cover(on=alter_partition)
def ineligible_isr_refused(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    return current(before, request) and not eligible(before, request) and after.partition == before.partition


@cover(on=elect_from_elr)
def elr_election(before: Cluster, after: Cluster) -> bool:
    return after.partition.leader is not None


@cover(on=elect_unclean, when=lambda c: c.unclean != Unclean.OFF)
def unclean_election(before: Cluster, after: Cluster) -> bool:
    return after.partition.leader is not None


@cover(on=elect_unclean, when=lambda c: c.unclean != Unclean.OFF)
def records_lost(before: Cluster, after: Cluster, broker: Broker) -> bool:
    """K12: the ghost is not idle. An unclean leader lacks something that was committed."""
    return broker not in before.complete


@cover(
    tags=["complete"],
    when=lambda c: c.admin_requests > 0 and c.brokers - c.replication_factor >= c.min_isr,
)
def disjoint_target_completes(before: Cluster, after: Cluster) -> bool:
    """K6: a partition moves to brokers none of which it was on."""
    b, a = before.partition, after.partition
    return reassigning(b) and not reassigning(a) and frozenset(before.original) & members(a) == NOBODY


@cover(on=commit)
def follower_falls_behind(before: Cluster, after: Cluster) -> bool:
    """K12: a record is committed that a broker outside the ISR does not have."""
    return before.complete != after.complete


MODEL = Model.of(__name__, state=Cluster, config=Config, views=(watched, duties), shared=SHARED + PROMISES)
