"""Flaw: a reassignment completes once MinISR is in sync, though what was added is not."""

from models import kraft
from models.kraft import (
    AlterPartition,
    Cluster,
    Config,
    completed,
    current,
    decided,
    eligible,
    elr_after,
    may_lead,
    recorded,
)
from spec import action, replace, require
from spec.reassignment import Broker, Brokers, Partition, members, reassigning


def completes(p: Partition, isr: Brokers, min_isr: int) -> bool:
    """Only the size counts."""
    return reassigning(p) and len(isr - p.removing) >= min_isr


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
BREAKS = {"completion_needs_everything_added": 5}
"""The properties that fall, and the number of states in the shortest trace of each."""
