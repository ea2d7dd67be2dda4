"""Flaw: completion raises the leader epoch only if the leader changes (as Kafka does when nothing is removed)."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.rules import completed, recorded
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """Without a new reign."""
    return recorded(p, completed(p, isr, leader), new_reign=False)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the epoch of the completion."""
    return answered(s, c, request, successor, finished=finished)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"completion_raises_leader_epoch": 5}
"""The properties that are violated, and the number of states in the shortest trace of each."""
