"""The other reading of K4: catch-up and completion in one change raise the partition epoch twice."""

from reassure import action, replace
from reassure.models.kraft import kraft, rules
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """One partition epoch further."""
    return replace(rules.finished(p, isr, leader), partition_epoch=p.partition_epoch + 2)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the epoch of the completion."""
    return answered(s, c, request, successor, finished=finished)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"one_partition_epoch_per_change": 5}
"""The properties that are violated, and the number of states in the shortest trace of each."""
