"""The steps of `kraft`: what the administrator, the followers, the leader and the controller do."""

from collections.abc import Callable

from reassure import action, every, replace, require, some, terminal
from reassure.models.kraft.rules import (
    changed,
    completed,
    completes,
    elr_after,
    finished,
    may_lead,
    recorded,
    retargeted,
)
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning, target_of, without


def decided(s: Cluster, p: Partition) -> Cluster:
    """The partition becomes `p`: removed replicas delete their log, and a new leader starts from this metadata."""
    complete = s.complete & members(p)
    if p.leader == s.partition.leader:
        return replace(s, partition=p, complete=complete)
    return replace(s, partition=p, complete=complete, leader_isr=p.isr, proposed=NOBODY)


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
    asked = replace(s, asked=s.asked + 1, original=p.replicas, wanted=tuple(sorted(target)))
    grown = retargeted(p, target)
    if completes(grown, p.isr, s.min_isr):
        require(may_lead(p, p.isr - grown.removing, s.unfenced, successor))
        return decided(asked, recorded(p, completed(grown, p.isr, successor), new_reign=True))
    require(successor == p.leader)
    return decided(asked, recorded(p, grown, new_reign=False))


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """Another target while a reassignment goes on (K14): what was being added and is not wanted any more is dropped.

    The document does not say what happens if the drop takes the ISR below MinISR. As for a cancellation, we refuse
    (the mutant `retarget_unchecked` is the other reading). Going back to the originals is a cancellation.
    """
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(p) and target != members(p) - p.adding)
    asked = replace(s, asked=s.asked + 1, wanted=tuple(sorted(target)))
    changed = retargeted(p, target)
    isr = p.isr & members(changed)
    require(isr == p.isr or len(isr) >= s.min_isr)
    if completes(changed, isr, s.min_isr):
        require(may_lead(p, isr - changed.removing, s.unfenced, successor))
        return decided(asked, recorded(p, completed(changed, isr, successor), new_reign=True))
    require(may_lead(p, isr, s.unfenced, successor))
    dropped = members(p) - members(changed)
    elr = elr_after(p, isr, members(changed), s.min_isr)
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
    if len(isr) < s.min_isr and not s.unclean:
        require(successor == p.leader)
        return asked
    originals = members(p) - p.adding
    elr = elr_after(p, isr, originals, s.min_isr)
    reverted = replace(
        p, replicas=without(p.replicas, p.adding), isr=isr, elr=elr, adding=NOBODY, removing=NOBODY, leader=successor
    )
    after = recorded(p, reverted, new_reign=True)
    agreed = replace(asked, wanted=s.original)
    if isr == NOBODY and originals & s.unfenced != NOBODY:
        leader = some(successor)
        require(leader in originals & s.unfenced)
        return decided_uncleanly(agreed, after, leader)
    require(may_lead(p, isr, s.unfenced, successor))
    return decided(agreed, after)


# -- followers and the leader ---------------------------------------------------------------------------


@action(who="follower", fair="weak", fair_each=("follower",))
def catch_up(s: Cluster, follower: Broker) -> Cluster:
    """A follower fetches up to the high watermark, from scratch if it was just added.

    Left out: how far it has got, truncation, moving a log between directories.
    """
    leader = some(s.partition.leader)
    require(follower in members(s.partition) & s.unfenced and follower not in s.complete)
    require(leader in s.complete)
    return replace(s, complete=s.complete | {follower})


def waiting(s: Cluster) -> bool:
    """The leader's request is in flight and has the controller's present epochs."""
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


@action(who="leader", fair="strong", fair_each=("follower",))
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
def commit(s: Cluster) -> Cluster:
    """A record is committed: with MinISR in sync, every member of the ISR has it, and whoever it proposed to add.

    A proposed removal does not lower the bar before the controller has agreed. What lies outside falls behind. A record
    that nobody misses changes nothing here and is left out, so that records need no limit.
    """
    require(len(s.leader_isr) >= s.min_isr)
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
    """The outcome of a request: no change, or its ISR, and in the same change the completion (K2).

    The rules are parameters: a variant of `alter_partition` gives just those that it changes.
    """
    p, isr = s.partition, request.isr
    handled = replace(s, requests=s.requests - {request})
    if not accepted(s, request):
        require(successor == p.leader)
        return handled
    if not completes(p, isr, s.min_isr):
        require(successor == p.leader)
        return decided(handled, changed(p, isr, s.min_isr))
    require(may_lead(p, isr - p.removing, s.unfenced, successor))
    return decided(handled, finished(p, isr, successor))


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """AlterPartition: the controller takes over the ISR that the leader proposes, or answers with an error.

    Left out: the error code; leader recovery state.
    """
    return answered(s, c, request, successor)


def left(s: Cluster, broker: Broker, keeps_log: bool, successor: Broker | None) -> Cluster:
    """`broker` leaves the ISR, if it is there, and without its log the ELR too; if it led, leadership moves."""
    p = s.partition
    isr = p.isr - {broker}
    elr = elr_after(p, isr, members(p), s.min_isr)
    elr = elr if keeps_log else elr - {broker}
    require(may_lead(p, isr, s.unfenced, successor))
    if isr == p.isr and elr == p.elr:
        return s
    return decided(s, recorded(p, replace(p, isr=isr, elr=elr, leader=successor), new_reign=False))


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """A broker's heartbeats stop: it leaves the ISR, even as the last, and stays eligible if the ISR is below MinISR.

    Left out: controlled shutdown, in which the broker itself asks for it.
    """
    require(broker in s.unfenced and s.disturbed < c.disturbances)
    fenced = replace(s, unfenced=s.unfenced - {broker}, disturbed=s.disturbed + 1)
    return left(fenced, broker, True, successor)


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
    return left(down, broker, False, successor)


@action(who="controller", fair="weak", fair_each=("broker",))
def unfence(s: Cluster, broker: Broker) -> Cluster:
    """A broker has caught up with the metadata and takes part again. Elections are changes of their own."""
    require(broker not in s.unfenced)
    return replace(s, unfenced=s.unfenced | {broker})


@action(who="controller", fair="weak")
def elect_from_elr(s: Cluster, broker: Broker) -> Cluster:
    """Nobody leads and nobody is in sync: an eligible replica that is alive becomes leader and ISR, cleanly."""
    p = s.partition
    require(p.leader is None and p.isr == NOBODY and broker in p.elr & s.unfenced)
    isr = NOBODY | {broker}
    elr = elr_after(p, isr, members(p), s.min_isr)
    return decided(s, recorded(p, replace(p, isr=isr, elr=elr, leader=broker), new_reign=True))


@action(who="controller", fair="weak")
def elect_unclean(s: Cluster, broker: Broker) -> Cluster:
    """If configured, with no in-sync or eligible replica alive: any live replica leads; records that it lacks are lost.

    Left out: leader recovery state; asking all replicas for the end of their logs first.
    """
    p = s.partition
    require(s.unclean and p.leader is None and (p.isr | p.elr) & s.unfenced == NOBODY)
    require(broker in members(p) & s.unfenced)
    return decided_uncleanly(s, recorded(p, replace(p, leader=broker), new_reign=True), broker)


def at_rest(s: Cluster) -> bool:
    """Settled; or offline, every complete copy lost, no unclean election; or held back by MinISR for ever (K11).

    Or K12 is broken, and nobody can catch up with a leader that lacks records.
    """
    p = s.partition
    settled = p.leader is not None and not reassigning(p) and p.isr == members(p)
    offline = p.leader is None and p.isr | p.elr == NOBODY and not s.unclean
    held_back = p.leader is not None and p.isr == members(p) and len(target_of(p)) < s.min_isr
    broken = p.leader is not None and p.leader not in s.complete
    return settled or offline or held_back or broken


@terminal
def may_rest(s: Cluster) -> bool:
    """A run may end here."""
    return at_rest(s)
