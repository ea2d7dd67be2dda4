"""What a partition's reassignment must never do: the partition as the controller keeps it, and the promises over it.

Protocols map their state onto `Partition` (a model's `views`), so that one promise is checked on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spec.domains import MaxLen, Range
from spec.language import invariant, step_property
from spec.values import Id


class Broker(Id, size="brokers", first=1):
    """A broker, numbered from 1 as in the documents' examples."""


Brokers = frozenset[Broker]
Replicas = Annotated[tuple[Broker, ...], MaxLen("brokers")]
Epoch = Annotated[int, Range(0, "max_epoch")]
NOBODY: Brokers = frozenset()


@dataclass(frozen=True)
class Partition:
    """One partition's metadata at the controller (`PartitionRegistration` in Kafka)."""

    replicas: Replicas
    """In order; the first is the preferred leader."""
    isr: Brokers
    elr: Brokers
    """Eligible leader replicas (KIP-966)."""
    adding: Brokers
    removing: Brokers
    leader: Broker | None
    leader_epoch: Epoch
    partition_epoch: Epoch
    recovering: bool
    """Leader recovery state: an unclean leader has not finished its recovery."""
    last_known_leader: Broker | None
    """Kafka's lastKnownElr, which in production holds at most the last leader."""


@dataclass(frozen=True)
class Watched:
    """What the promises read: the partition, and what counts as enough for it."""

    partition: Partition
    min_isr: Annotated[int, Range(0, 64)]
    unclean: bool
    """Whether the topic allows unclean leader election."""


def members(p: Partition) -> Brokers:
    return frozenset(p.replicas)


def reassigning(p: Partition) -> bool:
    """`PartitionReassignmentReplicas.isReassignmentInProgress`: something is being added or removed."""
    return p.adding != NOBODY or p.removing != NOBODY


def enough(isr: Brokers, w: Watched) -> bool:
    return len(isr) >= w.min_isr


# -- always -----------------------------------------------------------------------------------------


@invariant
def leader_is_in_sync(w: Watched) -> bool:
    """K8. Otherwise clients write to a broker that may lack what was committed, and it will be lost."""
    p = w.partition
    return p.leader is None or (p.leader in p.isr and p.leader in p.replicas)


@invariant
def isr_within_replicas(w: Watched) -> bool:
    """K8. Otherwise a broker that deletes its copy still counts for durability, and commits are lost."""
    return w.partition.isr <= members(w.partition)


@invariant
def elr_within_replicas(w: Watched) -> bool:
    """K3. Otherwise a broker without the data counts as a safe leader, or blocks the last resort (KAFKA D5, B6)."""
    return w.partition.elr <= members(w.partition)


@invariant
def isr_and_elr_are_disjoint(w: Watched) -> bool:
    """K3. Otherwise one copy is counted twice when somebody judges how safe the partition is."""
    return w.partition.isr & w.partition.elr == NOBODY


@invariant
def moving_replicas_are_replicas(w: Watched) -> bool:
    """K1. Otherwise tools show a reassignment of brokers that do not hold the partition."""
    p = w.partition
    return p.adding | p.removing <= members(p) and p.adding & p.removing == NOBODY


@invariant
def replicas_are_distinct(w: Watched) -> bool:
    """K1. Otherwise the replication factor that an administrator reads is not the number of copies."""
    return len(w.partition.replicas) == len(members(w.partition))


# -- every change -----------------------------------------------------------------------------------


@step_property
def one_partition_epoch_per_change(before: Watched, after: Watched) -> bool:
    """K3, K4. Otherwise a request made before a change passes for one made after it, and undoes the change.

    The reading of K4 that the worked examples decide: catch-up and completion in one record are one increment.
    """
    b, a = before.partition, after.partition
    if b == a:
        return True
    return a.partition_epoch == b.partition_epoch + 1


@step_property
def leader_epoch_only_rises(before: Watched, after: Watched) -> bool:
    """K3. Otherwise followers cannot tell a deposed leader from the present one, and logs diverge."""
    b, a = before.partition, after.partition
    return a.leader_epoch == b.leader_epoch or (
        a.leader_epoch == b.leader_epoch + 1 and a.partition_epoch > b.partition_epoch
    )


@step_property
def new_leader_has_a_new_epoch(before: Watched, after: Watched) -> bool:
    """K3. Otherwise two brokers lead in one epoch: a split brain that clients cannot see."""
    b, a = before.partition, after.partition
    return a.leader == b.leader or a.leader_epoch > b.leader_epoch


# -- starting ---------------------------------------------------------------------------------------


@step_property(tags=["start"])
def growth_keeps_leader_and_isr(before: Watched, after: Watched) -> bool:
    """K1. Otherwise asking for a reassignment disturbs clients before anything has been copied."""
    b, a = before.partition, after.partition
    if not reassigning(a) or b.leader is None:
        return True
    return a.isr == b.isr and a.leader == b.leader and a.leader_epoch == b.leader_epoch


@step_property(tags=["start"])
def growth_is_the_union(before: Watched, after: Watched, target: Brokers) -> bool:
    """K1. Otherwise a copy is dropped before its successor is in sync, or one is never made."""
    b, a = before.partition, after.partition
    if not reassigning(a):
        return True
    return members(a) == members(b) | target and a.adding == target - members(b) and a.removing == members(b) - target


@step_property(tags=["start"])
def pure_removal_commits_if_enough_is_left(before: Watched, after: Watched, target: Brokers) -> bool:
    """K5. Otherwise lowering the replication factor either hangs for nothing or costs durability.

    Both directions: done at once if the final replica set and ISR reach MinISR, pending if not.
    """
    b, a = before.partition, after.partition
    if target - members(b) != NOBODY:
        return True
    return reassigning(a) != (len(target) >= before.min_isr and enough(b.isr & target, before))


# -- completing -------------------------------------------------------------------------------------


@step_property(tags=["complete"])
def completion_needs_min_isr(before: Watched, after: Watched) -> bool:
    """K2a. Otherwise the end of a reassignment leaves a partition that refuses acks=all producers."""
    return reassigning(after.partition) or not reassigning(before.partition) or enough(after.partition.isr, after)


@step_property(tags=["complete"])
def completion_needs_everything_added(before: Watched, after: Watched) -> bool:
    """K2b. Otherwise old copies are deleted while a new one is still empty."""
    b, a = before.partition, after.partition
    return reassigning(a) or b.adding <= a.isr


@step_property(tags=["complete"])
def pending_applies_nothing(before: Watched, after: Watched) -> bool:
    """K2. Otherwise a reassignment that could not complete has taken replicas away all the same."""
    b, a = before.partition, after.partition
    if not reassigning(b) or not reassigning(a):
        return True
    return a.replicas == b.replicas and a.adding == b.adding and a.removing == b.removing


@step_property(tags=["complete"])
def completion_ends_at_the_target(before: Watched, after: Watched) -> bool:
    """K3. Otherwise the partition does not end on the brokers that were asked for."""
    b, a = before.partition, after.partition
    if reassigning(a) or not reassigning(b):
        return True
    return members(a) == members(b) - b.removing and a.isr & b.removing == NOBODY and a.elr & b.removing == NOBODY


@step_property(tags=["complete"])
def completion_empties_elr_at_min_isr(before: Watched, after: Watched) -> bool:
    """K3. Otherwise a stale broker stays eligible after commits that it does not have."""
    return reassigning(after.partition) or not enough(after.partition.isr, after) or after.partition.elr == NOBODY


@step_property(tags=["complete"])
def completion_moves_leader_only_if_removed(before: Watched, after: Watched) -> bool:
    """K3. Otherwise clients reconnect for nothing."""
    b, a = before.partition, after.partition
    if reassigning(a) or not reassigning(b) or b.leader is None or b.leader in b.removing:
        return True
    return a.leader == b.leader


@step_property(tags=["complete"])
def completion_raises_leader_epoch(before: Watched, after: Watched) -> bool:
    """K3: also when the leader stays. Otherwise removed followers are not fenced off."""
    b, a = before.partition, after.partition
    return reassigning(a) or not reassigning(b) or a.leader_epoch == b.leader_epoch + 1


# -- any step of a reassignment -----------------------------------------------------------------------


@step_property(tags=["start", "retarget", "cancel"])
def reassignment_keeps_min_isr(before: Watched, after: Watched) -> bool:
    """K7, without unclean election. Otherwise an administrator's request stops acks=all producers."""
    if before.unclean:
        return True
    return not enough(before.partition.isr, before) or enough(after.partition.isr, after)


@step_property(tags=["start", "retarget", "cancel"])
def reassignment_keeps_min_isr_always(before: Watched, after: Watched) -> bool:
    """K7 to the letter: also where unclean election is allowed, which K9 contradicts for cancellation."""
    return not enough(before.partition.isr, before) or enough(after.partition.isr, after)


@step_property(tags=["start", "retarget", "cancel", "complete"])
def leader_has_a_successor(before: Watched, after: Watched) -> bool:
    """K8. Otherwise a reassignment takes a partition offline that was being served."""
    b, a = before.partition, after.partition
    return b.leader is None or a.leader is not None


# -- cancelling ---------------------------------------------------------------------------------------


@step_property(tags=["cancel"])
def cancel_drops_what_was_added(before: Watched, after: Watched) -> bool:
    """K9. Otherwise a cancelled reassignment leaves copies that nobody asked for."""
    b, a = before.partition, after.partition
    if b == a:
        return True
    return members(a) == members(b) - b.adding and not reassigning(a) and a.isr <= members(a)


@step_property(tags=["cancel"])
def cancel_below_min_isr_is_refused(before: Watched, after: Watched) -> bool:
    """K9. Otherwise giving up a reassignment costs the durability that it was to keep."""
    b, a = before.partition, after.partition
    return before.unclean or enough(b.isr - b.adding, before) or a == b


@step_property(tags=["cancel"])
def unclean_cancel_reverts_anyway(before: Watched, after: Watched) -> bool:
    """K9. Otherwise a topic that allows unclean election is stuck in a reassignment that cannot finish."""
    b, a = before.partition, after.partition
    return not before.unclean or not reassigning(b) or not reassigning(a)


@step_property(tags=["retarget"])
def retarget_replaces_the_target(before: Watched, after: Watched, target: Brokers) -> bool:
    """K14. Otherwise brokers that neither the old nor the new state wants keep copying (KAFKA 1.7)."""
    b, a = before.partition, after.partition
    if b == a:
        return True
    originals = members(b) - b.adding
    wanted = originals | target
    return members(a) == wanted or (not reassigning(a) and members(a) == target)


PROMISES = (
    leader_is_in_sync,
    isr_within_replicas,
    elr_within_replicas,
    isr_and_elr_are_disjoint,
    moving_replicas_are_replicas,
    replicas_are_distinct,
    one_partition_epoch_per_change,
    leader_epoch_only_rises,
    new_leader_has_a_new_epoch,
    growth_keeps_leader_and_isr,
    growth_is_the_union,
    pure_removal_commits_if_enough_is_left,
    completion_needs_min_isr,
    completion_needs_everything_added,
    pending_applies_nothing,
    completion_ends_at_the_target,
    completion_empties_elr_at_min_isr,
    completion_moves_leader_only_if_removed,
    completion_raises_leader_epoch,
    reassignment_keeps_min_isr,
    reassignment_keeps_min_isr_always,
    leader_has_a_successor,
    cancel_drops_what_was_added,
    cancel_below_min_isr_is_refused,
    unclean_cancel_reverts_anyway,
    retarget_replaces_the_target,
)
