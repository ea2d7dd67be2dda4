"""Why KIP-542 keeps the general replication throttle: a broker that bootstraps many followers and leads others (T12).

KIP-542, "Behavior of Existing Configs". One broker: what its followers have to copy is one number,
and it leads a partition with one follower elsewhere. Both share its bandwidth. In every window `produce` units are
produced to each; a window ends when the bandwidth is used up, or nobody can use it any more. A follower that is further
behind than `patience` leaves the ISR.

Left out: the two directions of a network, reassignments (see `throttle`), more than one partition that it leads.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, cover, initial, invariant, leads_to, replace, require


@dataclass(frozen=True)
class Config:
    bandwidth: Annotated[int, Range(1, 6)] = 3
    """Units that the broker can carry in a window."""
    rate: Annotated[int, Range(-1, 6)] = 2
    """follower.replication.throttled.rate; -1: unset."""
    produce: Annotated[int, Range(0, 3)] = 1
    """Units produced in a window, to the partitions that it follows and to the one that it leads."""
    log: Annotated[int, Range(1, 16)] = 9
    """Units that its followers have to copy at the start, and the most that they can be behind."""
    patience: Annotated[int, Range(1, 6)] = 2
    """Units that a follower may be behind without leaving the ISR."""

    @property
    def furthest(self) -> int:
        return self.patience + self.produce


@dataclass(frozen=True)
class Broker:
    lacking: Annotated[int, Range(0, "log")]
    """What its followers have to copy."""
    behind: Annotated[int, Range(0, "furthest")]
    """What the follower of the partition that it leads lacks."""
    copied: Annotated[int, Range(0, "bandwidth")]
    """By its followers, in this window."""
    served: Annotated[int, Range(0, "bandwidth")]
    """To the follower of the partition that it leads, in this window."""


@initial
def empty(c: Config) -> Broker:
    """Its own followers have everything to copy, and the follower of its partition is in sync."""
    return Broker(lacking=c.log, behind=0, copied=0, served=0)


def carries_more(s: Broker, c: Config) -> bool:
    return s.copied + s.served < c.bandwidth


def may_copy(s: Broker, c: Config) -> bool:
    return s.lacking > 0 and carries_more(s, c) and (c.rate < 0 or s.copied < c.rate)


def may_serve(s: Broker, c: Config) -> bool:
    return s.behind > 0 and carries_more(s, c)


@action(who="follower", fair="weak")
def copy(s: Broker, c: Config) -> Broker:
    """One of its followers gets a unit, if the throttle lets it."""
    require(may_copy(s, c))
    return replace(s, lacking=s.lacking - 1, copied=s.copied + 1)


@action(who="leader", fair="weak")
def serve(s: Broker, c: Config) -> Broker:
    """It sends a unit of the partition that it leads."""
    require(may_serve(s, c))
    return replace(s, behind=s.behind - 1, served=s.served + 1)


@action(who="clock", fair="weak")
def next_window(s: Broker, c: Config) -> Broker:
    """Records have been produced, and nothing of the next window is used."""
    require(not may_copy(s, c) and not may_serve(s, c))
    lacking = min(s.lacking + c.produce, c.log) if s.lacking > 0 else 0
    return Broker(lacking=lacking, behind=min(s.behind + c.produce, c.furthest), copied=0, served=0)


@invariant
def leaders_stay_in_sync(s: Broker, c: Config) -> bool:
    """T12. Otherwise the partitions that a new broker leads lose in-sync replicas because of those that it follows."""
    return s.behind <= c.patience


def bootstrapped(s: Broker) -> bool:
    return s.lacking == 0


@leads_to(bootstrapped)
def bootstrapping_ends(s: Broker) -> bool:
    """T12. Otherwise the throttle that protects in-sync replicas also prevents the new broker from ever catching up."""
    return s.lacking > 0


@cover
def a_window_is_shared(s: Broker) -> bool:
    """Followers and the leader's partition use one window."""
    return s.copied > 0 and s.served > 0


MODEL = Model.of(__name__, state=Broker, config=Config)
