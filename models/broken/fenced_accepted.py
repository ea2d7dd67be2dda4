"""Flaw: the controller does not ask whether the proposed ISR is alive, or has restarted since."""

from models import kraft
from models.kraft import AlterPartition, Cluster, Config, altered, current
from spec import action, replace, require
from spec.reassignment import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for `eligible`."""
    handled = replace(s, requests=s.requests - {request})
    if not current(s, request):
        require(successor == s.partition.leader)
        return handled
    return altered(handled, c, request.isr, successor)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"leader_holds_everything_committed": 11, "isr_is_unfenced": 5}
"""The properties that fall, and the number of states in the shortest trace of each."""
