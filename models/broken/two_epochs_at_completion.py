"""The other reading of K4: catch-up and completion in one change raise the partition epoch twice."""

from models import kraft
from models.kraft import AlterPartition, Cluster, Config, completes, current, decided, eligible, elr_after, may_lead
from spec import action, replace, require
from spec.reassignment import Broker, Brokers, Partition, members


def completed(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """As the original, one partition epoch further."""
    return replace(kraft.completed(p, isr, leader), partition_epoch=p.partition_epoch + 1)


def recorded(before: Partition, after: Partition, new_reign: bool) -> Partition:
    """As the original, on top of what `completed` has added."""
    reigns = 1 if new_reign or after.leader != before.leader else 0
    return replace(after, partition_epoch=after.partition_epoch + 1, leader_epoch=before.leader_epoch + reigns)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, with the rule above."""
    p = s.partition
    handled = replace(s, requests=s.requests - {request})
    if not (current(s, request) and eligible(s, request)):
        require(successor == p.leader)
        return handled
    if not completes(p, request.isr, c.min_isr):
        require(successor == p.leader)
        elr = elr_after(p, request.isr, members(p), c.min_isr)
        return decided(handled, recorded(p, replace(p, isr=request.isr, elr=elr), new_reign=False))
    require(may_lead(p, request.isr - p.removing, s.unfenced, successor))
    return decided(handled, recorded(p, completed(p, request.isr, successor), new_reign=True))


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"one_partition_epoch_per_change": 5}
"""The properties that fall, and the number of states in the shortest trace of each."""
