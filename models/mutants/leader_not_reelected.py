"""Flaw: completion keeps a leader that it removes from the replicas."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def may_lead(p: Partition, isr: Brokers, alive: Brokers, successor: Broker | None) -> bool:
    """Always the same."""
    return successor == p.leader


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the election at completion."""
    return answered(s, c, request, successor, may_lead=may_lead)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 9,
    "leader_is_in_sync": 9,
    "leaders_hold_what_was_committed": 9,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
