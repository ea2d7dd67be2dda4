"""The document's rules of the controller, as functions of one partition: reassignment, completion, ELR, election."""

from reassure import replace
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, members, reassigning, without


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
    """The change as written: one more partition epoch; one more leader epoch for a new leader or `new_reign`."""
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
    """The completion change without the epochs (K3); the ELR becomes empty, since the ISR reaches MinISR."""
    return replace(
        p,
        replicas=without(p.replicas, p.removing),
        isr=isr - p.removing,
        elr=NOBODY,
        adding=NOBODY,
        removing=NOBODY,
        leader=leader,
    )


def changed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """A change of the ISR that completes nothing, as the controller writes it."""
    elr = elr_after(p, isr, members(p), min_isr)
    return recorded(p, replace(p, isr=isr, elr=elr), new_reign=False)


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """A change of the ISR that completes the reassignment, as the controller writes it (K3)."""
    return recorded(p, completed(p, isr, leader), new_reign=True)
