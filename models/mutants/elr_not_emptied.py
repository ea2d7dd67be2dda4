"""Flaw: brokers stay eligible although the ISR has reached MinISR and records are committed again."""

from reassure import action, replace
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.rules import recorded
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def changed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """The ELR only ever grows."""
    elr = (p.elr | p.isr) - isr
    return recorded(p, replace(p, isr=isr, elr=elr), new_reign=False)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the ELR where nothing is completed."""
    return answered(s, c, request, successor, changed=changed)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"elr_only_below_min_isr": 9}
"""The properties that are violated, and the number of states in the shortest trace of each."""
