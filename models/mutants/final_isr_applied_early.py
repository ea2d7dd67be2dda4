"""Flaw: brokers that are being removed leave the ISR at once, although the reassignment cannot complete yet."""

from reassure import action
from reassure.models.kraft import kraft, rules
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def changed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """The ISR of the completion, unless it lacks the leader; nothing is written if that is the ISR already."""
    final = isr if p.leader is not None and p.leader in p.removing else isr - p.removing
    return p if final == p.isr else rules.changed(p, final, min_isr)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the ISR of a change that does not complete."""
    return answered(s, c, request, successor, changed=changed)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"pending_takes_the_isr_as_proposed": 10}
"""The properties that are violated, and the number of states in the shortest trace of each."""
