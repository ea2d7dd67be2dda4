"""Throttling as it was before KIP-542: the replicas that a rate applies to are listed when a reassignment begins.

The motivation of KIP-542 names two defects: the lists do not follow leadership, and they throttle
every replica of a listed partition that is not in sync. The reassignment rates stand for those of the listed replicas.
"""

from reassure import action, require
from reassure.models.kip542_throttle import throttle
from reassure.models.kip542_throttle.throttle import Cluster, Config, Link, Side, ended, received, throttled
from reassure.spec.kafka.partition import Broker


def listed(s: Cluster, link: Link, side: Side) -> bool:
    """Leaders as they were at the start, for all of a partition's followers; and the brokers that it moves to."""
    if side == Side.LEADER:
        return link == Link.SECOND or (link in (Link.ADDING, Link.STAYING) and s.leader == Broker(1))
    return link in (Link.ADDING, Link.SECOND)


@action(who="follower", fair="weak", fair_each=("link",))
def fetch(s: Cluster, c: Config, link: Link) -> Cluster:
    """As the original, counted by the lists."""
    return received(s, c, link, listed)


@action(who="leader", tags=["refuse"])
def refuse(s: Cluster, c: Config, link: Link) -> Cluster:
    """As the original, by the lists."""
    require(s.behind[link] > 0 and throttled(s, c, link, listed))
    return s


@action(who="clock", fair="weak")
def next_window(s: Cluster, c: Config) -> Cluster:
    """As the original, by the lists."""
    return ended(s, c, listed)


MODEL = throttle.MODEL.replacing(fetch, refuse, next_window).without("both_leaders_have_sent")
