"""`kraft` with further invariants from which K12 follows, so that `prove` decides K12 for runs of any length.

They apply only if unclean election is off: the log of an unclean leader differs from the other logs.
"""

from reassure import every, invariant
from reassure.models.kraft import kraft
from reassure.models.kraft.state import AlterPartition, Cluster, Config, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker


def from_the_leader(s: Cluster, r: AlterPartition) -> bool:
    """The request is the present leader's, and of the present partition."""
    return r.source == s.partition.leader and r.partition_epoch == s.partition.partition_epoch


@invariant(when=lambda c: c.unclean == Unclean.OFF)
def unclean_election_stays_off(s: Cluster) -> bool:
    """K12. Otherwise records may be lost although data loss is not allowed."""
    return not s.unclean


@invariant(when=lambda c: c.unclean == Unclean.OFF)
def in_sync_replicas_are_complete(s: Cluster) -> bool:
    """K12. Otherwise a member of the ISR is elected without a committed record."""
    return s.partition.isr <= s.complete


@invariant(when=lambda c: c.unclean == Unclean.OFF)
def eligible_replicas_are_complete(s: Cluster) -> bool:
    """K12. Otherwise an eligible replica is elected without a committed record."""
    return s.partition.elr <= s.complete


@invariant
def requests_are_not_ahead(s: Cluster) -> bool:
    """K13. Otherwise a request has a partition epoch that is yet to come, and counts as current later."""
    return all(r.partition_epoch <= s.partition.partition_epoch for r in s.requests)


@invariant
def requests_know_no_later_registration(s: Cluster, c: Config) -> bool:
    """K13. Otherwise a broker loses its log and registers, and a request sent before that counts as sent afterwards."""
    return all(r.broker_epochs[b] <= s.broker_epochs[b] for r in s.requests for b in every(Broker, c))


@invariant
def the_leader_waits_for_its_request(s: Cluster) -> bool:
    """K12. Otherwise a record is committed without a replica that the controller may be about to add."""
    return all(
        not from_the_leader(s, r) or (s.proposed == r.isr and s.leader_isr == s.partition.isr) for r in s.requests
    )


@invariant(when=lambda c: c.unclean == Unclean.OFF)
def proposed_replicas_are_complete(s: Cluster) -> bool:
    """K12. Otherwise a request puts a replica into the ISR that lacks a committed record."""
    return all(
        not from_the_leader(s, r) or all(b in s.complete or r.broker_epochs[b] != s.broker_epochs[b] for b in r.isr)
        for r in s.requests
    )


@invariant
def the_leader_waits_for_the_isr(s: Cluster) -> bool:
    """K12. Otherwise a record is committed without a replica that the controller counts as in sync."""
    return s.partition.leader is None or s.partition.isr <= s.leader_isr | s.proposed


@invariant
def the_leader_waits_for_the_eligible(s: Cluster) -> bool:
    """K12. Otherwise a record is committed without a replica that may be elected cleanly."""
    p = s.partition
    return p.leader is None or len(s.leader_isr) < s.min_isr or p.elr == NOBODY or p.elr <= s.leader_isr | s.proposed


MODEL = kraft.MODEL.adding(
    unclean_election_stays_off,
    in_sync_replicas_are_complete,
    eligible_replicas_are_complete,
    requests_are_not_ahead,
    requests_know_no_later_registration,
    the_leader_waits_for_its_request,
    proposed_replicas_are_complete,
    the_leader_waits_for_the_isr,
    the_leader_waits_for_the_eligible,
)
