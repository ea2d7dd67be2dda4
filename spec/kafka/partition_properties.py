"""Properties of a partition's reassignment: states it must never reach, and goals that must be possible.

Protocols map their state onto `Partition` (a model's `views`), so that one property is checked on all of them.
"""

from __future__ import annotations

from reassure.spec.kafka.partition import (
    NOBODY,
    Watched,
    completed,
    ended,
    enough,
    given_up,
    members,
    moved,
    reassigning,
    requested,
    started,
    target_of,
)
from reassure.spec.language.vocabulary import cover, invariant, leads_to, step_property

# -- always -----------------------------------------------------------------------------------------------


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
    """K3. Otherwise a broker that has deleted its copy counts as a safe leader, or blocks a needed unclean election."""
    return w.partition.elr <= members(w.partition)


@invariant
def isr_and_elr_are_disjoint(w: Watched) -> bool:
    """K3. Otherwise one copy is counted twice when somebody judges how safe the partition is."""
    return w.partition.isr & w.partition.elr == NOBODY


@invariant
def elr_only_below_min_isr(w: Watched) -> bool:
    """K3. Otherwise a broker stays eligible while records are committed without it, and is then elected."""
    return w.partition.elr == NOBODY or not enough(w.partition.isr, w)


@invariant
def moving_replicas_are_replicas(w: Watched) -> bool:
    """K1. Otherwise tools show a reassignment of brokers that do not hold the partition."""
    p = w.partition
    return p.adding | p.removing <= members(p) and p.adding & p.removing == NOBODY


@invariant
def replicas_are_distinct(w: Watched) -> bool:
    """K1. Otherwise the replication factor that an administrator reads is not the number of copies."""
    return len(w.partition.replicas) == len(members(w.partition))


# -- every change -----------------------------------------------------------------------------------------


@step_property
def every_change_has_a_partition_epoch(before: Watched, after: Watched) -> bool:
    """K3, K4 in either reading. Otherwise a request made before a change passes for one made after, and undoes it."""
    b, a = before.partition, after.partition
    return a == b or a.partition_epoch > b.partition_epoch


@step_property
def one_partition_epoch_per_change(before: Watched, after: Watched) -> bool:
    """K4 as the worked examples have it: catch-up and completion in one change are one increment.

    Otherwise tools that count changes by the epoch see more than there were. The mutant `two_epochs_at_completion` is
    the other reading (4.2).
    """
    b, a = before.partition, after.partition
    return a == b or a.partition_epoch == b.partition_epoch + 1


@step_property
def leader_epoch_rises_with_partition_epoch(before: Watched, after: Watched) -> bool:
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


# -- starting ---------------------------------------------------------------------------------------------


@step_property
def growth_keeps_leader_and_isr(before: Watched, after: Watched) -> bool:
    """K1. Otherwise asking for a reassignment disturbs clients before anything has been copied."""
    b, a = before.partition, after.partition
    if not started(b, a):
        return True
    return a.isr == b.isr and a.leader == b.leader and a.leader_epoch == b.leader_epoch


@step_property
def growth_is_the_union(before: Watched, after: Watched) -> bool:
    """K1. Otherwise a copy is dropped before its successor is in sync, or one is never made."""
    b, a, target = before.partition, after.partition, after.wanted
    if not started(b, a):
        return True
    return members(a) == members(b) | target and a.adding == target - members(b) and a.removing == members(b) - target


@step_property
def pure_removal_commits_if_enough_is_left(before: Watched, after: Watched) -> bool:
    """K5. Otherwise lowering the replication factor either hangs for nothing or costs durability.

    Both directions: done at once if the final replica set and ISR reach MinISR, pending if not.
    """
    b, a, target = before.partition, after.partition, after.wanted
    if reassigning(b) or not requested(before, after) or not target < members(b):
        return True
    return reassigning(a) != (len(target) >= before.min_isr and enough(b.isr & target, before))


# -- going on ---------------------------------------------------------------------------------------------


@invariant
def leads_where_it_was_asked_to(w: Watched) -> bool:
    """K3, K9, K14. Otherwise a partition moves to other brokers than were asked for last, or stays on them."""
    return target_of(w.partition) == w.wanted


@step_property
def pending_applies_nothing(before: Watched, after: Watched) -> bool:
    """K2. Otherwise a reassignment that could not complete has taken replicas away all the same.

    Without a request, what is pending afterwards is what was pending before: nobody else starts or changes one.
    """
    b, a = before.partition, after.partition
    if not reassigning(a) or requested(before, after):
        return True
    return a.replicas == b.replicas and a.adding == b.adding and a.removing == b.removing


@step_property
def only_completion_or_cancellation_ends_it(before: Watched, after: Watched) -> bool:
    """K15. Otherwise a broker that fails, or an election, gives up a reassignment that somebody waits for.

    Without a request it ends at its target, with everything added in sync. Whether MinISR is reached as well is
    `completion_needs_min_isr`.
    """
    b, a = before.partition, after.partition
    if requested(before, after) or not ended(b, a):
        return True
    return members(a) == target_of(b) and b.adding - b.removing <= a.isr


# -- completing -------------------------------------------------------------------------------------------


@step_property
def completion_needs_min_isr(before: Watched, after: Watched) -> bool:
    """K2a. Otherwise the end of a reassignment leaves a partition that refuses acks=all producers.

    So a target smaller than MinISR never completes, however long one waits (K11).
    """
    return not completed(before, after) or enough(after.partition.isr, after)


@step_property
def completion_needs_everything_added(before: Watched, after: Watched) -> bool:
    """K2b. Otherwise old copies are deleted while a new one is still empty."""
    b, a = before.partition, after.partition
    return not completed(before, after) or members(a) - (members(b) - b.adding) <= a.isr


@step_property
def completion_is_of_the_target_asked_for(before: Watched, after: Watched) -> bool:
    """K3, K5. Otherwise the partition does not end on the brokers that were asked for."""
    return not completed(before, after) or members(after.partition) == after.wanted


@step_property
def completion_trims_isr_and_elr(before: Watched, after: Watched) -> bool:
    """K3. Otherwise a broker that deletes its copy counts as in sync, or eligible, and what only it had is lost."""
    a = after.partition
    return not completed(before, after) or a.isr | a.elr <= members(a)


@step_property
def completion_moves_leader_only_if_removed(before: Watched, after: Watched) -> bool:
    """K3. Otherwise clients reconnect for nothing."""
    b, a = before.partition, after.partition
    if not completed(before, after) or b.leader is None or b.leader not in a.replicas:
        return True
    return a.leader == b.leader


@step_property
def completion_raises_leader_epoch(before: Watched, after: Watched) -> bool:
    """K3, also when the leader stays. Otherwise fetches by removed followers still count in the old epoch."""
    return not completed(before, after) or after.partition.leader_epoch == before.partition.leader_epoch + 1


# -- any step of a reassignment ---------------------------------------------------------------------------


@step_property
def reassignment_keeps_min_isr(before: Watched, after: Watched) -> bool:
    """K7 where unclean election is off. Otherwise an administrator's request stops acks=all producers."""
    if before.unclean or not moved(before.partition, after.partition):
        return True
    return not enough(before.partition.isr, before) or enough(after.partition.isr, after)


@step_property
def leader_has_a_successor(before: Watched, after: Watched) -> bool:
    """K8 where unclean election is off. Otherwise a reassignment takes a partition offline that was being served."""
    if before.unclean or not moved(before.partition, after.partition):
        return True
    return before.partition.leader is None or after.partition.leader is not None


# -- cancelling and retargeting ---------------------------------------------------------------------------


@step_property(tags=["cancel"], watches=())
def cancel_restores_the_originals(before: Watched, after: Watched) -> bool:
    """K9. Otherwise a cancelled reassignment leaves copies that nobody asked for, or takes some away."""
    b, a = before.partition, after.partition
    return a == b or (members(a) == members(b) - b.adding and not reassigning(a))


@step_property
def cancel_below_min_isr_is_refused(before: Watched, after: Watched) -> bool:
    """K9. Otherwise giving up a reassignment costs the durability that it was to keep."""
    b = before.partition
    return not given_up(before, after) or before.unclean or enough(b.isr - b.adding, before)


@step_property(tags=["cancel"], watches=())
def cancel_is_carried_out_otherwise(before: Watched, after: Watched) -> bool:
    """K9. Otherwise a reassignment that cannot finish cannot be given up either."""
    b, a = before.partition, after.partition
    return not (before.unclean or enough(b.isr - b.adding, before)) or not reassigning(a)


@step_property
def cancel_trims_the_elr(before: Watched, after: Watched) -> bool:
    """K9, K12. Otherwise a broker that deletes its copy stays eligible, and is elected when it is added again."""
    return not given_up(before, after) or after.partition.elr <= members(after.partition)


@step_property
def retarget_replaces_the_target(before: Watched, after: Watched) -> bool:
    """K14. Otherwise brokers that neither the old nor the new assignment wants keep copying, or stay for good."""
    b, a, target = before.partition, after.partition, after.wanted
    originals = members(b) - b.adding
    if not reassigning(b) or not reassigning(a) or not requested(before, after) or before.wanted == target:
        return True
    return members(a) == originals | target and a.adding == target - originals and a.removing == originals - target


# -- liveness ---------------------------------------------------------------------------------------------


def settled_or_cancellable(w: Watched) -> bool:
    p = w.partition
    return not reassigning(p) or w.unclean or enough(p.isr - p.adding, w)


@leads_to(settled_or_cancellable)
def reassignment_ends_or_can_be_cancelled(w: Watched) -> bool:
    """K11. Otherwise an administrator is left with a reassignment that neither finishes nor can be given up."""
    return reassigning(w.partition)


def settled_or_too_small(w: Watched) -> bool:
    return not reassigning(w.partition) or len(target_of(w.partition)) < w.min_isr


@leads_to(settled_or_too_small)
def reassignment_ends(w: Watched) -> bool:
    """K11, a cancellation being no end. Otherwise replicas keep catching up and the reassignment still never ends."""
    return reassigning(w.partition)


# -- goals: what must be possible, lest a promise holds for want of occasion --------------------------------


@cover(tags=["start"])
def reassignment_started(before: Watched, after: Watched) -> bool:
    return after.partition.adding != NOBODY and after.partition.removing != NOBODY


@cover(tags=["start"])
def pure_removal_done_at_once(before: Watched, after: Watched) -> bool:
    return ended(before.partition, after.partition)


@cover(tags=["start"])
def target_shares_nothing(before: Watched, after: Watched) -> bool:
    """K6: current and target need not intersect."""
    b, a = before.partition, after.partition
    return reassigning(a) and target_of(a) & members(b) == NOBODY


@cover(tags=["retarget"])
def target_changed(before: Watched, after: Watched) -> bool:
    b, a = before.partition, after.partition
    return reassigning(a) and not b.adding <= members(a)


@cover(tags=["complete"])
def added_replica_caught_up(before: Watched, after: Watched) -> bool:
    b, a = before.partition, after.partition
    return b.adding & b.isr == NOBODY and a.adding & a.isr != NOBODY


@cover(tags=["complete"])
def reassignment_completed(before: Watched, after: Watched) -> bool:
    return reassigning(before.partition) and not reassigning(after.partition)


@cover(tags=["complete"])
def completion_held_back_by_min_isr(before: Watched, after: Watched) -> bool:
    """Everything added is in sync, and still the reassignment goes on."""
    b, a = before.partition, after.partition
    return reassigning(a) and a.isr != b.isr and a.adding <= a.isr and not enough(a.isr - a.removing, after)


@cover(when=lambda c: c.min_isr > 1)
def target_below_min_isr_waits_for_ever(w: Watched) -> bool:
    """K11: everything is copied and in sync, and the reassignment cannot end, as its target is smaller than MinISR."""
    p = w.partition
    return reassigning(p) and p.isr == members(p) and len(target_of(p)) < w.min_isr


@cover(tags=["complete"])
def completion_moves_leader(before: Watched, after: Watched) -> bool:
    b, a = before.partition, after.partition
    return (
        reassigning(b) and not reassigning(a) and b.leader is not None and a.leader is not None and a.leader != b.leader
    )


@cover(tags=["cancel"])
def cancel_accepted(before: Watched, after: Watched) -> bool:
    return not reassigning(after.partition)


@cover(tags=["cancel"])
def cancel_refused(before: Watched, after: Watched) -> bool:
    return reassigning(before.partition) and after.partition == before.partition


PROMISES = (
    leader_is_in_sync,
    isr_within_replicas,
    elr_within_replicas,
    isr_and_elr_are_disjoint,
    elr_only_below_min_isr,
    moving_replicas_are_replicas,
    replicas_are_distinct,
    every_change_has_a_partition_epoch,
    one_partition_epoch_per_change,
    leader_epoch_rises_with_partition_epoch,
    new_leader_has_a_new_epoch,
    growth_keeps_leader_and_isr,
    growth_is_the_union,
    pure_removal_commits_if_enough_is_left,
    completion_needs_min_isr,
    completion_needs_everything_added,
    leads_where_it_was_asked_to,
    pending_applies_nothing,
    only_completion_or_cancellation_ends_it,
    completion_is_of_the_target_asked_for,
    completion_trims_isr_and_elr,
    completion_moves_leader_only_if_removed,
    completion_raises_leader_epoch,
    reassignment_keeps_min_isr,
    leader_has_a_successor,
    cancel_restores_the_originals,
    cancel_below_min_isr_is_refused,
    cancel_is_carried_out_otherwise,
    cancel_trims_the_elr,
    retarget_replaces_the_target,
    reassignment_ends_or_can_be_cancelled,
    reassignment_ends,
)

GOALS = (
    reassignment_started,
    pure_removal_done_at_once,
    target_shares_nothing,
    target_changed,
    added_replica_caught_up,
    reassignment_completed,
    completion_held_back_by_min_isr,
    target_below_min_isr_waits_for_ever,
    completion_moves_leader,
    cancel_accepted,
    cancel_refused,
)

SHARED = PROMISES + GOALS
"""For `Model.of(..., shared=SHARED)`: every protocol that moves one partition's replicas."""
