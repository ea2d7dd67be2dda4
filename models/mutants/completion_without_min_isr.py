"""Flaw: a reassignment completes as soon as everything added is in sync, whatever MinISR says."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, reassigning


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """Kafka 3.1 to 3.7 had this rule."""
    final = isr - p.removing
    return reassigning(p) and p.adding <= final and final != NOBODY


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for what is complete."""
    return answered(s, c, request, successor, completes=completes)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "completion_needs_min_isr": 5,
    "reassignment_keeps_min_isr": 8,
    "own_steps_keep_min_isr": 8,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
