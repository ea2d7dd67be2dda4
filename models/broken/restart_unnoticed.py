"""Flaw: AlterPartition carries no broker epochs, so that a broker that came back empty may join the ISR (KIP-903)."""

from models import kraft
from models.kraft import AlterPartition, Cluster, Config, altered, current
from spec import action, replace, require
from spec.reassignment import Broker, members


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the broker epochs."""
    handled = replace(s, requests=s.requests - {request})
    living = request.source in request.isr and request.isr <= members(s.partition) & s.unfenced
    if not (current(s, request) and living):
        require(successor == s.partition.leader)
        return handled
    return altered(handled, c, request.isr, successor)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"leader_holds_everything_committed": 11}
"""The properties that fall, and the number of states in the shortest trace of each."""
