"""Flaw: completion takes the removed replicas out of the replica set, but not out of the ISR."""

from reassure import action, replace
from reassure.models.kraft import kraft, rules
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """With the whole ISR."""
    return replace(rules.finished(p, isr, leader), isr=isr)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the ISR of the completion."""
    return answered(s, c, request, successor, finished=finished)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 10,
    "leader_is_in_sync": 10,
    "isr_within_replicas": 9,
    "pure_removal_commits_if_enough_is_left": 10,
    "completion_trims_isr_and_elr": 9,
    "deadlock": 12,
    "leaders_hold_what_was_committed": 10,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
