"""Flaw: the controller does not ask whether the proposed ISR is alive, or has restarted since."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered, current
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for `eligible`."""
    return answered(s, c, request, successor, accepted=current)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 11,
    "isr_is_unfenced": 5,
    "leaders_hold_what_was_committed": 11,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
