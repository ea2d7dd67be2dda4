"""Flaw: a reassignment completes once one of the added replicas is in sync, though it has added more than one.

With three brokers and two replicas never more than one is being added, so that this flaw changes nothing.
"""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, reassigning


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """One added replica is enough."""
    final = isr - p.removing
    return reassigning(p) and (p.adding == NOBODY or p.adding & final != NOBODY) and len(final) >= min_isr


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, with that rule."""
    return answered(s, c, request, successor, completes=completes)


MODEL = kraft.MODEL.replacing(alter_partition)
SETTINGS = ["unclean=off", "brokers=4", "disturbances=0", "admin_requests=1"]
BREAKS = {"completion_needs_everything_added": 5, "only_completion_or_cancellation_ends_it": 5}
"""The properties that are violated, and the number of states in the shortest trace of each."""
