"""Situations that some run of `kraft` must reach."""

from reassure import cover
from reassure.models.kraft.protocol import alter_partition, commit, current, elect_from_elr, elect_unclean, eligible
from reassure.models.kraft.state import AlterPartition, Cluster, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, members, reassigning


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
    """K12: a leader from an unclean election lacks a committed record, which the field `complete` shows."""
    return broker not in before.complete


@cover(
    tags=["complete"],
    when=lambda c: c.admin_requests > 0 and c.brokers - c.replication_factor >= c.min_isr,
)
def disjoint_target_completes(before: Cluster, after: Cluster) -> bool:
    """K6: a reassignment completes, and every replica of the target is new."""
    b, a = before.partition, after.partition
    return reassigning(b) and not reassigning(a) and frozenset(before.original) & members(a) == NOBODY


@cover(on=commit)
def follower_falls_behind(before: Cluster, after: Cluster) -> bool:
    """K12: a record is committed that a broker outside the ISR does not have."""
    return before.complete != after.complete
