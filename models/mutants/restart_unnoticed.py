"""Flaw: AlterPartition carries no broker epochs, so that a broker that came back empty may join the ISR (KIP-903)."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered, current
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, members


def accepted(s: Cluster, request: AlterPartition) -> bool:
    """Any live broker may be proposed, even if it has registered anew since."""
    living = request.source in request.isr and request.isr <= members(s.partition) & s.unfenced
    return current(s, request) and living


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the broker epochs."""
    return answered(s, c, request, successor, accepted=accepted)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 11,
    "leaders_hold_what_was_committed": 11,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
