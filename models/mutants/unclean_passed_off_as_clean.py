"""Flaw: without anybody in sync, any replica is elected as if it were eligible."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.rules import elr_after, recorded
from reassure.models.kraft.state import Cluster
from reassure.spec.kafka.partition import NOBODY, Broker, members


@action(who="controller", fair="weak")
def elect_from_elr(s: Cluster, broker: Broker) -> Cluster:
    """As the original, for every replica that is alive."""
    p = s.partition
    require(p.leader is None and p.isr == NOBODY and broker in members(p) & s.unfenced)
    isr = NOBODY | {broker}
    elr = elr_after(p, isr, members(p), s.min_isr)
    return decided(s, recorded(p, replace(p, isr=isr, elr=elr, leader=broker), new_reign=True))


MODEL = kraft.MODEL.replacing(elect_from_elr)
BREAKS = {
    "leader_holds_everything_committed": 3,
    "leaders_hold_what_was_committed": 3,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
