"""Flaw: completion keeps a leader that it has just removed."""

from models import kraft
from models.kraft import (
    AlterPartition,
    Cluster,
    Config,
    completed,
    completes,
    current,
    decided,
    eligible,
    elr_after,
    recorded,
)
from spec import action, replace, require
from spec.reassignment import Broker, Brokers, Partition, members


def may_lead(p: Partition, isr: Brokers, alive: Brokers, successor: Broker | None) -> bool:
    """Always the same."""
    return successor == p.leader


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
BREAKS = {"leader_holds_everything_committed": 9, "leader_is_in_sync": 9}
"""The properties that fall, and the number of states in the shortest trace of each."""
