"""Core with two properties of whole runs: an offline partition gets a leader again, and a reassignment ends.

Fencing has no limit here. `a_leader_comes_back` needs weak fairness of `unfence` for each broker: with fairness for
some broker, another one may be fenced and unfenced for ever. `a_pending_reassignment_ends` is violated.
"""

from reassure import action, leads_to, replace, require
from reassure.models.examples import core
from reassure.models.examples.core import Broker, Partition, reassigning


@action(who="controller", fair="weak", fair_each=("broker",))
def unfence(p: Partition, broker: Broker) -> Partition:
    """A broker is back; every fenced broker is unfenced eventually."""
    require(broker not in p.unfenced)
    leader = broker if p.leader is None and broker in p.isr else p.leader
    return replace(p, unfenced=p.unfenced | {broker}, leader=leader)


def led(p: Partition) -> bool:
    return p.leader is not None


@leads_to(led)
def a_leader_comes_back(p: Partition) -> bool:
    """Otherwise a partition stays offline although every broker recovers."""
    return p.leader is None


def settled(p: Partition) -> bool:
    return not reassigning(p)


@leads_to(settled)
def a_pending_reassignment_ends(p: Partition) -> bool:
    """Otherwise an administrator waits for ever: no leader has to propose, and fencing has no limit."""
    return reassigning(p)


MODEL = core.MODEL.replacing(unfence).adding(a_leader_comes_back, a_pending_reassignment_ends)
