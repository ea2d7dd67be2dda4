"""KRaft partition reassignment by the rules of the document: grow, catch up, complete, cancel.

Rules of `003_c5e6a6197ed818b1.txt` (chapter 4 of the KRaft replication description); ELR and fencing as KIP-966 has
them, on which the chapter builds. One partition. What Kafka's code does differently is in `kraft_kafka`.

The story: an administrator starts a reassignment; the controller grows the replica set; followers catch up; the leader
proposes an ISR with them; the controller applies the proposal and, if MinISR and everything added are there, completes.
Brokers are fenced and come back, one may lose its disk, followers fall behind, the administrator cancels or changes
the target. Only what disturbs is limited (`fences`, `shutdowns`, ...), never what heals, so that nothing is clipped.

Left out: the network but for the one AlterPartition request a leader may have in flight (and one of a predecessor);
a deposed leader that goes on; targets in another order than ascending; logs beyond "holds everything committed".
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from spec import (
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
    leads_to,
    replace,
    require,
    some,
    step_property,
    terminal,
)
from spec.reassignment import (
    NOBODY,
    PROMISES,
    Broker,
    Brokers,
    Epoch,
    Partition,
    Replicas,
    Watched,
    members,
    reassigning,
)


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
    initial_isr: Annotated[int, Range(0, 8)] = 0
    """In-sync replicas at the start (0: all)."""
    unclean: Unclean = Unclean.EITHER
    """unclean.leader.election.enable; `either` explores both."""
    reassignments: Annotated[int, Range(0, 4)] = 1
    """Reassignments an administrator asks for, changes of the target included."""
    cancels: Annotated[int, Range(0, 4)] = 1
    fences: Annotated[int, Range(0, 6)] = 1
    """Brokers fenced, one at a time, again and again."""
    shutdowns: Annotated[int, Range(0, 4)] = 1
    """Unclean shutdowns: a broker comes back without its data."""
    lags: Annotated[int, Range(0, 4)] = 1
    """Shrinks of the ISR that the leader proposes because a follower lags."""
    records: Annotated[int, Range(0, 4)] = 1
    """Records committed."""

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")
        if self.initial_isr > self.replication_factor:
            raise ValueError(
                f"initial_isr={self.initial_isr} is more than replication_factor={self.replication_factor}"
            )

    @property
    def max_epoch(self) -> int:
        """No epoch gets beyond it: every disturbance is followed by a bounded number of repairs."""
        disturbances = self.reassignments + self.cancels + self.fences + self.shutdowns + self.lags
        return 2 + self.brokers + disturbances * (self.brokers + 2)


BrokerEpoch = Annotated[int, Range(0, "shutdowns")]


@dataclass(frozen=True)
class AlterPartition:
    """The leader's request for another ISR, with what it knew when it sent it."""

    source: Broker
    leader_epoch: Epoch
    partition_epoch: Epoch
    isr: Brokers
    broker_epochs: Map[Broker, BrokerEpoch]


@dataclass(frozen=True)
class Cluster:
    partition: Partition
    unclean: bool
    unfenced: Brokers
    """Brokers that are registered, alive, and not fenced."""
    broker_epochs: Map[Broker, BrokerEpoch]
    """Which incarnation of a broker is registered; an unclean shutdown makes another."""
    requests: Annotated[frozenset[AlterPartition], MaxSize(2)]
    leader_isr: Brokers
    """The ISR that the leader believes in."""
    proposed: Brokers
    """The ISR that the leader has asked for and not heard of again; empty if none."""
    informed: bool
    """Whether the leader has the newest metadata."""
    complete: Brokers
    """Ghost: the brokers that hold everything committed."""
    lost: bool
    """Ghost: a clean election has chosen a broker that lacks something committed."""
    original: Replicas
    """Ghost: the replicas before the reassignment that is going on."""
    reassignments: Annotated[int, Range(0, "reassignments")]
    cancels: Annotated[int, Range(0, "cancels")]
    fences: Annotated[int, Range(0, "fences")]
    shutdowns: Annotated[int, Range(0, "shutdowns")]
    lags: Annotated[int, Range(0, "lags")]
    records: Annotated[int, Range(0, "records")]


def watched(s: Cluster, c: Config) -> Watched:
    return Watched(s.partition, c.min_isr, s.unclean)


def everyone(c: Config) -> Brokers:
    return every(Broker, c)


def first(count: int, c: Config) -> Brokers:
    """Brokers 1 to `count`."""
    return frozenset(b for b in everyone(c) if sum(1 for x in everyone(c) if x < b) < count)


@initial
def settled(c: Config, unclean: bool) -> Cluster:
    """A healthy partition on the first brokers."""
    require(c.unclean == Unclean.EITHER or unclean == (c.unclean == Unclean.ON))
    replicas = tuple(sorted(first(c.replication_factor, c)))
    isr = first(c.replication_factor if c.initial_isr == 0 else c.initial_isr, c)
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
        unfenced=everyone(c),
        broker_epochs=fill(Broker, c, 0),
        requests=frozenset(),
        leader_isr=isr,
        proposed=NOBODY,
        informed=True,
        complete=isr,
        lost=False,
        original=replicas,
        reassignments=0,
        cancels=0,
        fences=0,
        shutdowns=0,
        lags=0,
        records=0,
    )


# -- rules ------------------------------------------------------------------------------------------


def electable(p: Partition, unfenced: Brokers, unclean: bool) -> Brokers:
    """Who may lead: the ISR; failing that the ELR; failing that, if allowed, anybody."""
    if p.isr & unfenced != NOBODY:
        return p.isr & unfenced
    if p.elr & unfenced != NOBODY:
        return p.elr & unfenced
    return members(p) & unfenced if unclean else NOBODY


def may_lead(p: Partition, unfenced: Brokers, unclean: bool, successor: Broker | None) -> bool:
    """Whether the document lets `successor` lead next; it does not say which of several (K10, example 2)."""
    if p.leader is not None and p.leader in p.isr & unfenced:
        return successor == p.leader
    candidates = electable(p, unfenced, unclean)
    if successor is None:
        return candidates == NOBODY
    return successor in candidates


def with_isr(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """Another ISR; who leaves it is kept as eligible while the ISR is below MinISR."""
    return replace(p, isr=isr, elr=NOBODY if len(isr) >= min_isr else (p.elr | p.isr) - isr)


def led_by(p: Partition, successor: Broker | None, new_reign: bool) -> Partition:
    """The partition with its next leader; an ELR member or an unclean leader becomes the whole ISR."""
    epoch = p.leader_epoch + 1 if new_reign or successor != p.leader else p.leader_epoch
    led = replace(p, leader=successor, leader_epoch=epoch)
    if successor is None or successor in p.isr:
        return led
    if successor in p.elr:
        return replace(led, isr=frozenset({successor}), elr=p.elr - {successor})
    return replace(led, isr=frozenset({successor}), elr=NOBODY, recovering=True)


def recorded(s: Cluster, p: Partition, successor: Broker | None, new_reign: bool) -> Cluster:
    """The controller writes one partition record: one partition epoch, the election, and what it does to the ghosts."""
    old = s.partition
    led = replace(led_by(p, successor, new_reign), partition_epoch=old.partition_epoch + 1)
    complete = s.complete & members(led)
    lost = s.lost
    if successor is not None and successor != old.leader and successor not in s.complete:
        # What only others hold is gone; from here on the new leader's log is the truth.
        complete = frozenset({successor})
        lost = s.lost or successor in p.isr or successor in p.elr
    moved = successor != old.leader
    return replace(
        s,
        partition=led,
        leader_isr=led.isr if moved else s.leader_isr,
        proposed=NOBODY if moved else s.proposed,
        informed=moved,
        complete=complete,
        lost=lost,
        original=s.original if reassigning(led) else led.replicas,
    )


def completed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """The reassignment's end: the target replicas, nothing of what was removed."""
    return replace(
        p,
        replicas=tuple(b for b in p.replicas if b not in p.removing),
        isr=isr - p.removing,
        elr=NOBODY if len(isr - p.removing) >= min_isr else ((p.elr | p.isr) - isr) - p.removing,
        adding=NOBODY,
        removing=NOBODY,
    )


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """The two rules of section 4.2: enough in sync, and everything added."""
    return reassigning(p) and len(isr - p.removing) >= min_isr and p.adding <= isr - p.removing


def grown(p: Partition, target: Brokers) -> Partition:
    """The union of the current and the target replicas; nothing else changes."""
    adding = target - members(p)
    return replace(p, replicas=p.replicas + tuple(sorted(adding)), adding=adding, removing=members(p) - target)


def reverted(p: Partition, min_isr: int) -> Partition:
    """The replicas without what was being added."""
    isr = p.isr - p.adding
    return replace(
        p,
        replicas=tuple(b for b in p.replicas if b not in p.adding),
        isr=isr,
        elr=NOBODY if len(isr) >= min_isr else p.elr - p.adding,
        adding=NOBODY,
        removing=NOBODY,
    )


def stale(s: Cluster, r: AlterPartition) -> bool:
    """Not from the leader, or not about the present partition."""
    p = s.partition
    return r.source != p.leader or r.leader_epoch != p.leader_epoch or r.partition_epoch != p.partition_epoch


def ineligible(s: Cluster, r: AlterPartition, c: Config) -> bool:
    """Names a broker that is fenced, or that has restarted since."""
    return not r.isr <= s.unfenced or any(r.broker_epochs[b] != s.broker_epochs[b] for b in r.isr)


def in_flight(s: Cluster, leader: Broker) -> bool:
    return any(r.source == leader for r in s.requests)


# -- admin ------------------------------------------------------------------------------------------


@action(who="admin", tags=["start", "complete"])
def start(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """Asks for a reassignment (AlterPartitionReassignments). A pure removal that leaves enough is done at once."""
    p = s.partition
    require(not reassigning(p) and s.reassignments < c.reassignments)
    require(target != NOBODY and target != members(p))
    asked = replace(s, reassignments=s.reassignments + 1)
    plan = grown(p, target)
    if plan.adding == NOBODY and len(target) >= c.min_isr and completes(plan, p.isr, c.min_isr):
        done = completed(plan, p.isr, c.min_isr)
        require(may_lead(done, s.unfenced, s.unclean, successor))
        return recorded(asked, done, successor, True)
    require(successor == p.leader)
    return recorded(asked, plan, successor, False)


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """Asks for another target while a reassignment goes on: the originals stay, intermediate replicas go (K14).

    The document is silent; that it is refused where dropping the intermediate replicas takes the ISR below MinISR is our
    repair, after its rule for cancellation (`models/broken/retarget_unchecked.py` shows what happens without).
    """
    p = s.partition
    require(reassigning(p) and s.reassignments < c.reassignments)
    originals = members(p) - p.adding
    require(target != NOBODY and target != members(p) - p.removing and target != originals)
    kept = originals | target
    isr = p.isr & kept
    require(retarget_is_safe(p, isr, c.min_isr))
    base = replace(with_isr(p, isr, c.min_isr), replicas=tuple(b for b in p.replicas if b in kept))
    adding = target - originals
    plan = replace(
        base,
        replicas=base.replicas + tuple(sorted(adding - members(p))),
        elr=base.elr & kept,
        adding=adding,
        removing=originals - target,
    )
    require(may_lead(plan, s.unfenced, s.unclean, successor))
    return recorded(replace(s, reassignments=s.reassignments + 1), plan, successor, False)


def retarget_is_safe(p: Partition, isr: Brokers, min_isr: int) -> bool:
    return len(isr) >= min_isr or isr == p.isr


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config, successor: Broker | None) -> Cluster:
    """Gives the reassignment up. With too little in sync it needs unclean election to be allowed."""
    p = s.partition
    require(reassigning(p) and s.cancels < c.cancels)
    require(cancel_is_safe(p, c.min_isr) or s.unclean)
    plan = reverted(p, c.min_isr)
    require(may_lead(plan, s.unfenced, s.unclean, successor))
    return recorded(replace(s, cancels=s.cancels + 1), plan, successor, False)


def cancel_is_safe(p: Partition, min_isr: int) -> bool:
    return len(p.isr - p.adding) >= min_isr


@action(who="admin", tags=["cancel"])
def be_refused_a_cancel(s: Cluster, c: Config) -> Cluster:
    """Is answered with an error, as too few of the original replicas are in sync."""
    p = s.partition
    require(reassigning(p) and s.cancels < c.cancels)
    require(not cancel_is_safe(p, c.min_isr) and not s.unclean)
    return replace(s, cancels=s.cancels + 1)


# -- follower ---------------------------------------------------------------------------------------


@action(who="follower", fair="weak")
def catch_up(s: Cluster, broker: Broker) -> Cluster:
    """Fetches what it lacks. Left out: how long that takes, and truncation."""
    p = s.partition
    leader = some(p.leader)
    require(broker in members(p) and broker in s.unfenced and broker not in s.complete)
    require(leader in s.unfenced and leader in s.complete)
    return replace(s, complete=s.complete | {broker})


# -- leader -----------------------------------------------------------------------------------------


def requested(s: Cluster, leader: Broker, isr: Brokers) -> Cluster:
    """The leader sends an AlterPartition with what it knows."""
    p = s.partition
    request = AlterPartition(leader, p.leader_epoch, p.partition_epoch, isr, s.broker_epochs)
    return replace(s, requests=s.requests | {request}, proposed=isr)


@action(who="leader", fair="weak")
def propose_expansion(s: Cluster, broker: Broker) -> Cluster:
    """Asks to take a replica into the ISR that has reached the high watermark."""
    p = s.partition
    leader = some(p.leader)
    require(s.informed and s.proposed == NOBODY and not in_flight(s, leader) and len(s.requests) < 2)
    require(broker in members(p) and broker not in p.isr)
    require(broker in s.unfenced and broker in s.complete)
    return requested(s, leader, p.isr | {broker})


@action(who="leader")
def propose_shrink(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """Asks to drop a follower that lags."""
    p = s.partition
    leader = some(p.leader)
    require(s.lags < c.lags)
    require(s.informed and s.proposed == NOBODY and not in_flight(s, leader) and len(s.requests) < 2)
    require(broker in p.isr and broker != leader)
    return requested(replace(s, lags=s.lags + 1), leader, p.isr - {broker})


@action(who="leader")
def commit(s: Cluster, c: Config) -> Cluster:
    """Commits a record: the ISR and whatever it has asked to add hold it; a shrink it has asked for does not count."""
    require(s.partition.leader is not None and s.records < c.records)
    holders = must_hold(s)
    require(len(s.leader_isr) >= c.min_isr and holders <= s.complete)
    return replace(s, complete=holders, records=s.records + 1)


def must_hold(s: Cluster) -> Brokers:
    """The maximal ISR: what must hold a record before it is committed."""
    return s.leader_isr | s.proposed


@action(who="leader", fair="weak")
def hear(s: Cluster) -> Cluster:
    """Receives the answer to its request, or the newest metadata, whichever is first."""
    require(s.partition.leader is not None and not s.informed)
    return replace(s, leader_isr=s.partition.isr, proposed=NOBODY, informed=True)


# -- controller -------------------------------------------------------------------------------------


@action(who="controller", fair="weak", tags=["complete", "alter"], request=lambda s: s.requests)
def apply_alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """Takes the proposed ISR, and completes the reassignment if that is now possible."""
    p = s.partition
    require(not stale(s, request) and not ineligible(s, request, c))
    require(request.isr <= members(p) and request.source in request.isr)
    answered = replace(s, requests=s.requests - {request})
    if completes(p, request.isr, c.min_isr):
        done = completed(p, request.isr, c.min_isr)
        require(may_lead(done, s.unfenced, s.unclean, successor))
        return recorded(answered, done, successor, True)
    plan = replace(with_isr(p, request.isr, c.min_isr), recovering=False)
    require(may_lead(plan, s.unfenced, s.unclean, successor))
    return recorded(answered, plan, successor, False)


@action(who="controller", fair="weak", tags=["alter"], request=lambda s: s.requests)
def refuse_alter_partition(s: Cluster, c: Config, request: AlterPartition) -> Cluster:
    """Answers a request that is stale, or names a broker that may not be in an ISR, with an error."""
    require(stale(s, request) or ineligible(s, request, c))
    mine = request.source == s.partition.leader
    return replace(s, requests=s.requests - {request}, informed=s.informed and not mine)


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """Misses a broker's heartbeats: it leaves the ISR, and leadership moves if it led. It keeps its data."""
    p = s.partition
    require(broker in s.unfenced and s.fences < c.fences)
    fenced = replace(s, unfenced=s.unfenced - {broker}, fences=s.fences + 1)
    if broker not in p.isr:
        require(successor == p.leader)
        return fenced
    plan = with_isr(p, p.isr - {broker}, c.min_isr)
    require(may_lead(plan, fenced.unfenced, s.unclean, successor))
    return recorded(fenced, plan, successor, False)


@action(who="controller", fair="weak")
def unfence(s: Cluster, broker: Broker) -> Cluster:
    """A broker is back and has caught up with the metadata."""
    require(broker not in s.unfenced)
    return replace(s, unfenced=s.unfenced | {broker})


@action(who="controller")
def shut_down_uncleanly(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """A broker has died and registers again, empty: it leaves ISR and ELR, and gets a new broker epoch."""
    p = s.partition
    require(broker in s.unfenced and s.shutdowns < c.shutdowns)
    gone = replace(
        s,
        unfenced=s.unfenced - {broker},
        broker_epochs=s.broker_epochs.put(broker, s.broker_epochs[broker] + 1),
        complete=s.complete - {broker},
        shutdowns=s.shutdowns + 1,
    )
    if broker not in p.isr and broker not in p.elr:
        require(successor == p.leader)
        return gone
    left = with_isr(p, p.isr - {broker}, c.min_isr)
    plan = replace(left, elr=left.elr - {broker})
    require(may_lead(plan, gone.unfenced, s.unclean, successor))
    return recorded(gone, plan, successor, False)


@action(who="controller", fair="weak")
def elect(s: Cluster, broker: Broker) -> Cluster:
    """A partition without a leader gets one: from the ISR, the ELR, or unclean where that is allowed."""
    require(s.partition.leader is None and broker in electable(s.partition, s.unfenced, s.unclean))
    return recorded(s, s.partition, broker, False)


@terminal
def nothing_to_wait_for(s: Cluster, c: Config) -> bool:
    """Settled; or offline until a disk is repaired; or pending with a target below MinISR, which is K11's own finding."""
    p = s.partition
    return not reassigning(p) or p.leader is None or len(members(p) - p.removing) < c.min_isr


# -- claims -----------------------------------------------------------------------------------------


@invariant
def nothing_committed_is_lost(s: Cluster) -> bool:
    """K12. Otherwise a producer was told that a record is safe, and a clean election has thrown it away."""
    return not s.lost


@invariant
def complete_brokers_are_replicas(s: Cluster) -> bool:
    """K12, that its ghost means what it says: who holds everything committed is a replica."""
    return s.complete <= members(s.partition)


@step_property(tags=["alter"])
def stale_requests_change_nothing(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    """K13. Otherwise a deposed leader, or a delayed request, undoes what the controller has decided."""
    p = before.partition
    current = (
        request.source == p.leader
        and request.partition_epoch == p.partition_epoch
        and request.leader_epoch == p.leader_epoch
    )
    return current or after.partition == p


@step_property(tags=["alter"])
def only_living_brokers_join(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    """K12. Otherwise a fenced broker, or one that came back empty, counts for durability."""
    joined = after.partition.isr - before.partition.isr
    return joined <= before.unfenced and all(request.broker_epochs[b] == before.broker_epochs[b] for b in joined)


@step_property(tags=["alter"])
def completion_keeps_min_isr(before: Cluster, after: Cluster, c: Config, request: AlterPartition) -> bool:
    """K7, for completion: what the leader proposed was enough, and completion leaves less."""
    if not reassigning(before.partition) or reassigning(after.partition):
        return True
    return len(request.isr) < c.min_isr or len(after.partition.isr) >= c.min_isr


@step_property(tags=["cancel"])
def cancel_restores_the_original(before: Cluster, after: Cluster) -> bool:
    """K9, K14. Otherwise brokers of an abandoned plan stay replicas for good (KAFKA B3, B4)."""
    return after.partition == before.partition or members(after.partition) == frozenset(before.original)


@step_property(tags=["cancel"])
def cancel_restores_the_order(before: Cluster, after: Cluster) -> bool:
    """K9: to revert is also to restore the preferred leader (KAFKA D14)."""
    return after.partition == before.partition or after.partition.replicas == before.original


def settled_again(s: Cluster) -> bool:
    return not reassigning(s.partition)


@leads_to(settled_again)
def a_reassignment_ends(s: Cluster) -> bool:
    """K11. Otherwise brokers copy for ever, and the partition takes no further reassignment."""
    return reassigning(s.partition)


# -- covers: that the claims above are about something ------------------------------------------------


@cover(on=start)
def a_reassignment_starts(before: Cluster, after: Cluster) -> bool:
    return reassigning(after.partition)


@cover(on=start)
def a_removal_commits_at_once(before: Cluster, after: Cluster) -> bool:
    """K5."""
    return not reassigning(after.partition)


@cover(on=apply_alter_partition)
def an_added_replica_joins(before: Cluster, after: Cluster) -> bool:
    """Catch-up without completion."""
    p, q = before.partition, after.partition
    return p.adding & q.isr != p.adding & p.isr and reassigning(q)


@cover(on=apply_alter_partition)
def a_reassignment_completes(before: Cluster, after: Cluster) -> bool:
    return reassigning(before.partition) and not reassigning(after.partition)


@cover(on=apply_alter_partition)
def completion_moves_the_leader(before: Cluster, after: Cluster) -> bool:
    return not reassigning(after.partition) and before.partition.leader != after.partition.leader


@cover(on=apply_alter_partition)
def min_isr_holds_completion_back(before: Cluster, after: Cluster, c: Config) -> bool:
    """K2: everything added is in sync, and still it is pending."""
    p = after.partition
    return reassigning(p) and p.adding <= p.isr - p.removing and len(p.isr - p.removing) < c.min_isr


@cover
def a_target_below_min_isr_is_pending(s: Cluster, c: Config) -> bool:
    """K11's counter-question: under K2 it can never complete."""
    return reassigning(s.partition) and len(members(s.partition) - s.partition.removing) < c.min_isr


@cover(on=apply_alter_partition, when=lambda c: c.brokers >= c.replication_factor + c.min_isr)
def a_disjoint_move_completes(before: Cluster, after: Cluster) -> bool:
    """K6."""
    return not reassigning(after.partition) and members(after.partition) & frozenset(before.original) == NOBODY


@cover(on=cancel)
def a_cancel_is_accepted(before: Cluster, after: Cluster) -> bool:
    return True


@cover(on=be_refused_a_cancel, when=lambda c: c.unclean != Unclean.ON)
def a_cancel_is_refused(before: Cluster, after: Cluster) -> bool:
    return True


@cover(on=retarget, when=lambda c: c.reassignments >= 2)
def a_target_is_replaced(before: Cluster, after: Cluster) -> bool:
    """K14."""
    return True


@cover(on=elect)
def an_elr_member_is_elected(before: Cluster, after: Cluster, broker: Broker) -> bool:
    return broker in before.partition.elr


@cover(when=lambda c: c.unclean != Unclean.OFF)
def an_unclean_leader_is_elected(s: Cluster) -> bool:
    return s.partition.recovering


@cover(on=refuse_alter_partition)
def a_stale_request_is_refused(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    return request.partition_epoch < before.partition.partition_epoch


@cover(on=refuse_alter_partition)
def a_restarted_broker_is_refused(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    return any(request.broker_epochs[b] != before.broker_epochs[b] for b in request.isr - before.partition.isr)


@cover(on=commit)
def a_record_is_committed(before: Cluster, after: Cluster) -> bool:
    return True


MODEL = Model.of(__name__, state=Cluster, config=Config, views=[watched], shared=PROMISES)
