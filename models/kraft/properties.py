"""The properties of `kraft` that are not shared: about requests, brokers and logs."""

from reassure import Action, invariant, step_property
from reassure.models.kraft.protocol import alter_partition, cancel, current, retarget, start
from reassure.models.kraft.state import AlterPartition, Cluster, Unclean
from reassure.spec.kafka.partition import NOBODY, Watched, ended, enough, given_up, members, moved, reassigning, started


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


@step_property(on=alter_partition)
def pending_takes_the_isr_as_proposed(before: Cluster, after: Cluster, request: AlterPartition) -> bool:
    """K2. Otherwise the ISR and the ELR of a completion are applied to a reassignment that goes on.

    The ISR is what the leader proposed, with whoever is to be removed; below MinISR whoever left it may still lead.
    """
    b, a = before.partition, after.partition
    if a == b or not reassigning(a):
        return True
    eligible = NOBODY if len(a.isr) >= after.min_isr else (b.elr | b.isr) - a.isr
    return a.isr == request.isr and eligible <= a.elr


@step_property
def growth_keeps_who_is_eligible(before: Cluster, after: Cluster) -> bool:
    """K2, of a removal that is asked for and stays pending. Otherwise the ELR of its completion is applied already."""
    return not started(before.partition, after.partition) or after.partition.elr == before.partition.elr


@step_property
def cancel_elects_from_the_isr(before: Watched, after: Watched) -> bool:
    """K9. Otherwise a revert elects a broker that may lack records, although somebody in sync is there.

    With nobody in sync the election is unclean, and its leader is the whole ISR.
    """
    b, a = before.partition, after.partition
    if not given_up(before, after):
        return True
    kept = b.isr - b.adding
    return a.leader in kept and a.isr == kept if kept != NOBODY else a.leader is None or a.isr == NOBODY | {a.leader}


@step_property
def only_the_administrator_asks(before: Cluster, after: Cluster, action: Action) -> bool:
    """K15. Otherwise what was asked for depends on what the controller does, and cannot be held against it."""
    same = before.asked == after.asked and before.wanted == after.wanted and before.original == after.original
    return same or action in (start, retarget, cancel)


@step_property
def ends_at_a_request_or_a_new_isr(before: Cluster, after: Cluster, action: Action) -> bool:
    """K15, where the document says when it can complete. Otherwise nobody knows which event to wait for."""
    return not ended(before.partition, after.partition) or action in (start, retarget, cancel, alter_partition)


@step_property(tags=["cancel"], watches=())
def cancel_restores_what_was_before(before: Cluster, after: Cluster) -> bool:
    """K9, K14. Otherwise brokers of an abandoned plan stay replicas for good, also after a change of the target."""
    return after.partition == before.partition or members(after.partition) == frozenset(before.original)


@step_property(tags=["cancel"], watches=())
def cancel_restores_the_order(before: Cluster, after: Cluster) -> bool:
    """K9. Otherwise the preferred leader is another than before, and leadership moves at the next rebalancing."""
    if frozenset(before.original) != members(after.partition):
        return True
    return after.partition == before.partition or after.partition.replicas == before.original


@step_property(when=lambda c: c.unclean != Unclean.OFF)
def reassignment_keeps_min_isr_even_if_unclean(before: Watched, after: Watched) -> bool:
    """K7 to the letter. K9 contradicts it: where unclean election is allowed, a cancellation is carried out anyway."""
    if not moved(before.partition, after.partition):
        return True
    return not enough(before.partition.isr, before) or enough(after.partition.isr, after)


@step_property(when=lambda c: c.unclean != Unclean.OFF)
def leader_has_a_successor_even_if_unclean(before: Watched, after: Watched) -> bool:
    """K8 to the letter. K9 contradicts it: the originals may all be down when a cancellation is carried out anyway."""
    lost = before.partition.leader is not None and after.partition.leader is None
    return not lost or not moved(before.partition, after.partition)


@step_property(tags=["cancel"], watches=(), when=lambda c: c.unclean != Unclean.OFF)
def cancel_spares_the_eligible(before: Cluster, after: Cluster) -> bool:
    """K9, K12. Otherwise a cancellation loses what was committed although a replica that has it is eligible and alive.

    The document's wording allows it: with nobody in sync the election is unclean, even if the ELR is not empty.
    """
    p, leader = before.partition, after.partition.leader
    safe = (p.isr | p.elr) & before.unfenced & members(after.partition)
    return safe == NOBODY or leader is None or leader in before.complete
