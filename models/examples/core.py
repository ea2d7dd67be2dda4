"""Core: one partition's reassignment with fencing and one ISR proposal in flight.

The protocol that three other checkers also have (`Core.tla`, `core.m`, `core.pml`), so that answers and
speed can be compared: 1,668 distinct states with 3 brokers, 68,064 with 4, 1,989,040 with 5.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, cover, every, initial, invariant, replace, require, some


class Broker(Id, size="brokers"):
    """A broker, numbered from 0."""


Brokers = frozenset[Broker]
NOBODY: Brokers = frozenset()


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(3, 12)] = 3
    """Brokers in the cluster; the first three hold the partition at the start."""
    min_isr: Annotated[int, Range(1, 12)] = 2
    """Fewest in-sync replicas a reassignment may leave."""


@dataclass(frozen=True)
class Partition:
    replicas: Brokers
    isr: Brokers
    adding: Brokers
    removing: Brokers
    unfenced: Brokers
    leader: Broker | None
    proposed: Brokers | None
    """The ISR in the leader's AlterPartition request, if one is in flight."""


@initial
def three_in_sync(c: Config) -> Partition:
    first_three = frozenset(b for b in every(Broker, c) if b <= Broker(2))
    return Partition(
        replicas=first_three,
        isr=first_three,
        adding=NOBODY,
        removing=NOBODY,
        unfenced=every(Broker, c),
        leader=Broker(0),
        proposed=None,
    )


def lowest(brokers: Brokers) -> Broker | None:
    return min(brokers, default=None)


def keep_or_elect(p: Partition, isr: Brokers) -> Broker | None:
    """The leader after the ISR became `isr`: unchanged if it can be, else the lowest that is alive."""
    return p.leader if p.leader is None or p.leader in isr else lowest(isr & p.unfenced)


def reassigning(p: Partition) -> bool:
    return p.adding != NOBODY or p.removing != NOBODY


@action(who="controller")
def fence(p: Partition, broker: Broker) -> Partition:
    """A broker's heartbeat is missed: it leaves the ISR unless it is the last, and leadership moves."""
    require(broker in p.unfenced)
    leader = lowest((p.isr & p.unfenced) - {broker}) if p.leader == broker else p.leader
    unfenced = p.unfenced - {broker}
    if broker in p.isr and len(p.isr) > 1:
        return replace(p, isr=p.isr - {broker}, unfenced=unfenced, leader=leader, proposed=None)
    return replace(p, unfenced=unfenced, leader=leader)


@action(who="controller")
def unfence(p: Partition, broker: Broker) -> Partition:
    """A broker is back; it leads again if nobody does and it is in sync."""
    require(broker not in p.unfenced)
    leader = broker if p.leader is None and broker in p.isr else p.leader
    return replace(p, unfenced=p.unfenced | {broker}, leader=leader)


@action(who="leader")
def propose(p: Partition, isr: Brokers) -> Partition:
    """The leader asks for another ISR."""
    require(p.leader is not None and p.proposed is None)
    require(isr <= p.replicas & p.unfenced)
    require(p.leader in isr and isr != p.isr)
    return replace(p, proposed=isr)


@action(who="controller")
def alter(p: Partition, c: Config) -> Partition:
    """The controller answers the request, and completes the reassignment if it can."""
    isr = some(p.proposed)
    final = isr - p.removing
    if not isr <= p.unfenced:
        return replace(p, proposed=None)
    if reassigning(p) and p.adding <= final and len(final) >= c.min_isr:
        return replace(
            p,
            replicas=p.replicas - p.removing,
            isr=final,
            adding=NOBODY,
            removing=NOBODY,
            leader=p.leader if p.leader in final else lowest(final),
            proposed=None,
        )
    return replace(p, isr=isr, proposed=None)


@action(who="admin")
def reassign(p: Partition, c: Config, target: Brokers) -> Partition:
    """A new replica set is asked for; a pure removal that keeps MinISR is done at once."""
    require(not reassigning(p))
    require(target != p.replicas and len(target) >= c.min_isr)
    adding = target - p.replicas
    removing = p.replicas - target
    final = p.isr - removing
    if adding == NOBODY and len(final) >= c.min_isr:
        return replace(p, replicas=target, isr=final, leader=keep_or_elect(p, final), proposed=None)
    return replace(p, replicas=p.replicas | adding, adding=adding, removing=removing, proposed=None)


@action(who="admin")
def cancel(p: Partition, c: Config) -> Partition:
    """The reassignment is given up, if what was there before is enough in sync."""
    require(reassigning(p))
    isr = p.isr - p.adding
    require(len(isr) >= c.min_isr)
    return replace(
        p,
        replicas=p.replicas - p.adding,
        isr=isr,
        adding=NOBODY,
        removing=NOBODY,
        leader=keep_or_elect(p, isr),
        proposed=None,
    )


@invariant
def isr_within_replicas(p: Partition) -> bool:
    """An in-sync copy is always one of the replicas."""
    return p.isr <= p.replicas


@invariant
def isr_never_empty(p: Partition) -> bool:
    """Some broker always holds every committed record."""
    return p.isr != NOBODY


@invariant
def leader_in_isr(p: Partition) -> bool:
    """The leader is in sync."""
    return p.leader is None or p.leader in p.isr


@cover
def reassignment_pending(p: Partition) -> bool:
    return p.adding != NOBODY and p.removing != NOBODY


@cover(on=alter)
def reassignment_completed(before: Partition, after: Partition) -> bool:
    return reassigning(before) and not reassigning(after)


MODEL = Model.of(__name__, state=Partition, config=Config, deadlock=False)
