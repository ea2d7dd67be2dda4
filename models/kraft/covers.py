"""Situations that some run of `kraft` must reach."""

from reassure import cover
from reassure.models.kraft.protocol import alter_partition, commit, current, elect_from_elr, elect_unclean, eligible
from reassure.models.kraft.state import AlterPartition, Cluster, Config, Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, ended, members, reassigning


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


def two_can_be_added(c: Config) -> bool:
    """Two brokers at least have no replica at first."""
    return c.admin_requests > 0 and c.brokers >= c.replication_factor + 2


@cover(tags=["complete"], when=two_can_be_added)
def some_but_not_all_added_are_in_sync(before: Cluster, after: Cluster) -> bool:
    """K2, of "all": one AlterPartition request brings an added replica, and another one is still to come."""
    p = after.partition
    return p.isr != before.partition.isr and p.adding & p.isr != NOBODY and not p.adding <= p.isr


@cover(tags=["complete"], when=two_can_be_added)
def several_added_replicas_complete(before: Cluster, after: Cluster) -> bool:
    """K2, of "all": a reassignment completes that has added more than one replica."""
    return len(before.partition.adding) > 1 and ended(before.partition, after.partition)


@cover(tags=["complete"], when=lambda c: c.admin_requests > 0 and c.brokers >= c.min_isr + 2)
def leader_moves_beside_one_out_of_sync(before: Cluster, after: Cluster) -> bool:
    """K3, of "from the new ISR": completion elects another leader, and a replica of the target is not in sync."""
    b, a = before.partition, after.partition
    moves = b.leader is not None and b.leader not in a.replicas
    return moves and ended(b, a) and not members(a) <= a.isr


@cover(on=commit)
def follower_falls_behind(before: Cluster, after: Cluster) -> bool:
    """K12: a record is committed that a broker outside the ISR does not have."""
    return before.complete != after.complete
