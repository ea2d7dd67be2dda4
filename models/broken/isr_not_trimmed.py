"""Flaw: completion takes the removed replicas out of the replica set, but not out of the ISR."""

from models import kraft
from models.kraft import (
    AlterPartition,
    Cluster,
    Config,
    completes,
    current,
    decided,
    eligible,
    elr_after,
    may_lead,
    recorded,
)
from spec import action, replace, require
from spec.reassignment import NOBODY, Broker, Brokers, Partition, members


def completed(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """As the original, with the whole ISR."""
    replicas = tuple(b for b in p.replicas if b not in p.removing)
    return replace(p, replicas=replicas, isr=isr, elr=NOBODY, adding=NOBODY, removing=NOBODY, leader=leader)


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
BREAKS = {
    "leader_holds_everything_committed": 10,
    "leader_is_in_sync": 10,
    "isr_within_replicas": 9,
    "pure_removal_commits_if_enough_is_left": 10,
    "completion_trims_isr_and_elr": 9,
    "deadlock": 12,
}
"""The properties that fall, and the number of states in the shortest trace of each."""
