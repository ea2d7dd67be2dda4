"""Flaw: completion raises the leader epoch only if the leader changes (as Kafka does when nothing is removed)."""

from models import kraft
from models.kraft import (
    AlterPartition,
    Cluster,
    Config,
    altered,
    completed,
    completes,
    current,
    decided,
    eligible,
    may_lead,
    recorded,
)
from spec import action, replace, require
from spec.reassignment import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, without a new reign."""
    p = s.partition
    handled = replace(s, requests=s.requests - {request})
    if not (current(s, request) and eligible(s, request)):
        require(successor == p.leader)
        return handled
    if not completes(p, request.isr, c.min_isr):
        return altered(handled, c, request.isr, successor)
    require(may_lead(p, request.isr - p.removing, s.unfenced, successor))
    return decided(handled, recorded(p, completed(p, request.isr, successor), new_reign=False))


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"completion_raises_leader_epoch": 5}
"""The properties that fall, and the number of states in the shortest trace of each."""
