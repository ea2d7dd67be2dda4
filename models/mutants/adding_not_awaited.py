"""Flaw: a reassignment completes once MinISR is in sync, though what was added is not."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition, reassigning


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """Only the size of the ISR counts."""
    return reassigning(p) and len(isr - p.removing) >= min_isr


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for what is complete."""
    return answered(s, c, request, successor, completes=completes)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "completion_needs_everything_added": 5,
    "only_completion_or_cancellation_ends_it": 5,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
