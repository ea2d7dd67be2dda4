"""Flaw: who was eligible stays so although the ISR has reached MinISR and records are committed again."""

from models import kraft
from models.kraft import AlterPartition, Cluster, Config, altered, completes, current, decided, eligible, recorded
from spec import action, replace, require
from spec.reassignment import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original where it completes a reassignment; elsewhere the ELR only ever grows."""
    p = s.partition
    handled = replace(s, requests=s.requests - {request})
    if not (current(s, request) and eligible(s, request)):
        require(successor == p.leader)
        return handled
    if completes(p, request.isr, c.min_isr):
        return altered(handled, c, request.isr, successor)
    require(successor == p.leader)
    elr = (p.elr | p.isr) - request.isr
    return decided(handled, recorded(p, replace(p, isr=request.isr, elr=elr), new_reign=False))


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {"elr_only_below_min_isr": 9}
"""The properties that fall, and the number of states in the shortest trace of each."""
