"""Flaw: the controller takes an AlterPartition whoever it comes from and however old it is."""

from models import kraft
from models.kraft import AlterPartition, Cluster, Config, altered, eligible
from spec import action, replace, require
from spec.reassignment import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for `current`."""
    handled = replace(s, requests=s.requests - {request})
    if not eligible(s, request):
        require(successor == s.partition.leader)
        return handled
    return altered(handled, c, request.isr, successor)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"leader_holds_everything_committed": 12, "stale_request_changes_nothing": 5, "deadlock": 8}
"""The properties that fall, and the number of states in the shortest trace of each."""
