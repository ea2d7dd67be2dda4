"""Flaw: brokers that are being removed leave the ELR at once, although the reassignment cannot complete yet."""

from reassure import action, replace
from reassure.models.kraft import kraft, rules
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def changed(p: Partition, isr: Brokers, min_isr: int) -> Partition:
    """The ELR of the completion."""
    after = rules.changed(p, isr, min_isr)
    return replace(after, elr=after.elr - p.removing)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the ELR of a change that does not complete."""
    return answered(s, c, request, successor, changed=changed)


MODEL = kraft.MODEL.replacing(alter_partition)
SETTINGS = ["unclean=off", "admin_requests=1", "shutdowns=0"]
BREAKS = {"pending_takes_the_isr_as_proposed": 8}
"""The properties that are violated, and the number of states in the shortest trace of each."""
