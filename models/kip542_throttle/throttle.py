"""Throttling the traffic of reassignments apart from other replication (KIP-542).

Rules of KIP-542, time being windows and traffic whole units. Partition A moves to broker 3: brokers
1 and 2 hold it, one of them leads. Broker 3 also follows partition B, led by 1, and is behind with it though nobody
reassigns B. If `second`, partition C moves to broker 3 as well, led by 2. In every window each partition grows by
`produce`; a fetch gets a response of up to `response` units, or nothing because a limit is used up.

The reassignment rates can be changed at any time for any broker and side; the general replication rate stays as
configured, equal on all brokers. A limit is enforced as KIP-73 does, by asking before a response whether it is used up;
Kafka's quota manager lets through one response more (claim T14).
A log keeps `log` units, so that nobody is further behind.

Left out: how windows are averaged; several brokers' clocks; the cost of client traffic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import (
    Map,
    Model,
    Range,
    action,
    cover,
    every,
    fill,
    initial,
    invariant,
    leads_to,
    replace,
    require,
    step_property,
)
from reassure.spec.kafka.partition import Broker


class Link(Enum):
    """A follower and what it follows."""

    ADDING = "A at the broker that it moves to"
    STAYING = "A at the one of brokers 1 and 2 that does not lead"
    ORDINARY = "B at broker 3"
    SECOND = "C at the broker that it moves to"


Links = frozenset[Link]
NONE: Links = frozenset()


class Side(Enum):
    LEADER = "leader.reassignment.throttled.rate"
    FOLLOWER = "follower.reassignment.throttled.rate"


class Reading(Enum):
    ADDITIVE = "additive"
    """Both rates set: they add up (the text of the proposed change)."""
    SUBSET = "subset"
    """Both rates set: the reassignment rate is a part of the replication rate (its maximum; the rejected one)."""


@dataclass(frozen=True)
class Config:
    reading: Reading = Reading.ADDITIVE
    leader_rate: Annotated[int, Range(-1, 4)] = 2
    """leader.reassignment.throttled.rate at the start, on every broker; -1: unset."""
    follower_rate: Annotated[int, Range(-1, 4)] = 2
    """follower.reassignment.throttled.rate at the start, on every broker; -1: unset."""
    replication_rate: Annotated[int, Range(-1, 4)] = 1
    """leader. and follower.replication.throttled.rate; -1: unset."""
    most_rate: Annotated[int, Range(0, 4)] = 2
    """The largest rate that is tried."""
    produce: Annotated[int, Range(0, 4)] = 1
    """Units produced to each partition in a window."""
    log: Annotated[int, Range(1, 8)] = 3
    """Units that a log keeps; the new replicas have to copy all of them."""
    response: Annotated[int, Range(1, 4)] = 1
    """Largest number of units in a response."""
    changes: Annotated[int, Range(0, 3)] = 1
    """Times that a rate is changed."""
    moves: Annotated[int, Range(0, 3)] = 1
    """Times that A's leadership moves."""
    lapses: Annotated[int, Range(0, 3)] = 1
    """Times that an in-sync follower falls out of the ISR."""
    second: bool = False
    """Whether partition C moves as well."""
    until_it_ends: bool = False
    """Whether `addingReplicas` are limited literally: until the reassignment has ended, also when in sync."""
    full_windows: bool = False
    """Whether a window ends only when the replicas being added have copied as much as the limits allow."""

    def __post_init__(self) -> None:
        for rate in (self.leader_rate, self.follower_rate):
            if rate > self.most_rate:
                raise ValueError(f"a rate of {rate} is more than most_rate={self.most_rate}")
            if not valid(self.reading, self.replication_rate, rate):
                raise ValueError(f"a rate of {rate} is not valid beside replication_rate={self.replication_rate}")

    @property
    def brokers(self) -> int:
        return 3

    @property
    def most_spent(self) -> int:
        return max(self.most_rate, self.replication_rate, 0) + self.response


Rate = Annotated[int, Range(-1, "most_rate")]
"""Units in a window; -1: unset."""
Units = Annotated[int, Range(0, "most_spent")]


@dataclass(frozen=True)
class Rates:
    """The reassignment rates of every broker."""

    leader: Map[Broker, Rate]
    follower: Map[Broker, Rate]


@dataclass(frozen=True)
class Spent:
    """What counts against the limits of every broker in this window; nothing does where there is no limit."""

    leader: Map[Broker, Units]
    follower: Map[Broker, Units]


@dataclass(frozen=True)
class Cluster:
    leader: Broker
    """Of partition A."""
    adding: Links
    """Replicas being added, not in sync yet."""
    joined: Links
    """Replicas in sync that `addingReplicas` still has (only if `until_it_ends`)."""
    lagging: Links
    """Other replicas that are not in sync."""
    behind: Map[Link, Annotated[int, Range(0, "log")]]
    """What a follower lacks."""
    rates: Rates
    """As configured."""
    in_force: Rates
    """As they apply in this window."""
    reassigned: Spent
    """By replicas being added."""
    other: Spent
    """By other replicas that are not in sync."""
    changed: Annotated[int, Range(0, "changes")]
    moved: Annotated[int, Range(0, "moves")]
    lapsed: Annotated[int, Range(0, "lapses")]


# -- what the rates mean (T1, T2, T3) ------------------------------------------------------------------------


def valid(reading: Reading, replication: int, rate: int) -> bool:
    """Whether a reassignment rate is a valid value beside a replication rate."""
    return rate >= -1 and (reading == Reading.ADDITIVE or replication < 0 or rate <= replication)


def shared(replication: int, rate: int) -> bool:
    """Whether a reassignment has no limit of its own, but that of all replication."""
    return rate < 0 and replication >= 0


def other_limit(reading: Reading, replication: int, rate: int) -> int:
    """What replication that belongs to no reassignment may use; -1: anything."""
    if reading == Reading.SUBSET and replication >= 0 and rate >= 0:
        return replication - rate
    return replication


def total_limit(reading: Reading, replication: int, rate: int) -> int:
    """What all throttled replication may use together; -1: anything."""
    if replication < 0 or rate < 0 or reading == Reading.SUBSET:
        return replication
    return replication + rate


# -- who follows whom ------------------------------------------------------------------------------------------


def links(c: Config) -> Links:
    return every(Link) if c.second else every(Link) - {Link.SECOND}


def source(s: Cluster, link: Link) -> Broker:
    """The leader of the partition that the follower follows."""
    if link == Link.ORDINARY:
        return Broker(1)
    return Broker(2) if link == Link.SECOND else s.leader


def destination(s: Cluster, link: Link) -> Broker:
    if link == Link.STAYING:
        return Broker(2) if s.leader == Broker(1) else Broker(1)
    return Broker(3)


@initial
def reassignment_begins(c: Config) -> Cluster:
    """The new replicas are empty, and the ordinary one is as far behind."""
    rates = Rates(fill(Broker, c, c.leader_rate), fill(Broker, c, c.follower_rate))
    nothing = Spent(fill(Broker, c, 0), fill(Broker, c, 0))
    return Cluster(
        leader=Broker(1),
        adding=NONE | {Link.ADDING, Link.SECOND} if c.second else NONE | {Link.ADDING},
        joined=NONE,
        lagging=NONE | {Link.ORDINARY},
        behind=Map({x: c.log if x in links(c) - {Link.STAYING} else 0 for x in every(Link)}),
        rates=rates,
        in_force=rates,
        reassigned=nothing,
        other=nothing,
        changed=0,
        moved=0,
        lapsed=0,
    )


# -- replication -------------------------------------------------------------------------------------------------


def belongs(s: Cluster, link: Link, side: Side) -> bool:
    """Whether a follower's traffic is that of a reassignment: it is one of `addingReplicas`, as they are read."""
    return link in s.adding | s.joined


def used_up(c: Config, rate: int, reassigned: int, other: int, mine: bool) -> bool:
    """Whether a limit has nothing left for a follower, of the reassignment (`mine`) or not."""
    if shared(c.replication_rate, rate):
        return reassigned + other >= c.replication_rate
    limit = rate if mine else other_limit(c.reading, c.replication_rate, rate)
    return limit >= 0 and (reassigned if mine else other) >= limit


def throttled(s: Cluster, c: Config, link: Link, belongs: Callable[[Cluster, Link, Side], bool]) -> bool:
    """Whether a fetch gets nothing: it has a limit, and that is used up at one of its ends."""
    return link in limited(s) and nothing_left(s, c, link, belongs)


def limited(s: Cluster) -> Links:
    """Followers that have a limit: those not in sync, and those that a reassignment adds."""
    return s.adding | s.joined | s.lagging


def nothing_left(s: Cluster, c: Config, link: Link, belongs: Callable[[Cluster, Link, Side], bool]) -> bool:
    a, b = source(s, link), destination(s, link)
    return used_up(
        c, s.in_force.leader[a], s.reassigned.leader[a], s.other.leader[a], belongs(s, link, Side.LEADER)
    ) or used_up(
        c, s.in_force.follower[b], s.reassigned.follower[b], s.other.follower[b], belongs(s, link, Side.FOLLOWER)
    )


def charged(
    c: Config, spent: Map[Broker, Units], rate: int, broker: Broker, units: int, counts: bool
) -> Map[Broker, Units]:
    """Units are counted where some limit is set that they could use up."""
    if not counts or (rate < 0 and c.replication_rate < 0):
        return spent
    return spent.put(broker, spent[broker] + units)


def charged_other(c: Config, spent: Map[Broker, Units], broker: Broker, units: int, counts: bool) -> Map[Broker, Units]:
    if not counts or c.replication_rate < 0:
        return spent
    return spent.put(broker, spent[broker] + units)


def received(s: Cluster, c: Config, link: Link, belongs: Callable[[Cluster, Link, Side], bool]) -> Cluster:
    """A response: what it carries no longer lacks, and is counted at both ends."""
    require(s.behind[link] > 0 and not throttled(s, c, link, belongs))
    units = min(c.response, s.behind[link])
    a, b = source(s, link), destination(s, link)
    late = link in limited(s)
    leads, follows = belongs(s, link, Side.LEADER), belongs(s, link, Side.FOLLOWER)
    return replace(
        s,
        behind=s.behind.put(link, s.behind[link] - units),
        reassigned=Spent(
            charged(c, s.reassigned.leader, s.in_force.leader[a], a, units, late and leads),
            charged(c, s.reassigned.follower, s.in_force.follower[b], b, units, late and follows),
        ),
        other=Spent(
            charged_other(c, s.other.leader, a, units, late and not leads),
            charged_other(c, s.other.follower, b, units, late and not follows),
        ),
    )


@action(who="follower", fair="weak", fair_each=("link",))
def fetch(s: Cluster, c: Config, link: Link) -> Cluster:
    """A follower gets what it lacks, or as much as a response carries."""
    return received(s, c, link, belongs)


@action(who="leader", tags=["refuse"])
def refuse(s: Cluster, c: Config, link: Link) -> Cluster:
    """A follower gets nothing in this window any more, as a limit is used up."""
    require(s.behind[link] > 0 and throttled(s, c, link, belongs))
    return s


@action(who="leader", fair="strong", fair_each=("link",))
def join(s: Cluster, c: Config, link: Link) -> Cluster:
    """A follower that lacks nothing is taken into the ISR; for one being added, that is what is waited for.

    Strongly fair: it may lack something again and again before the leader notices.
    """
    require(link in s.adding | s.lagging and s.behind[link] == 0)
    joined = s.joined | {link} if c.until_it_ends and link in s.adding else s.joined
    return replace(s, adding=s.adding - {link}, joined=joined, lagging=s.lagging - {link})


@action(who="controller", fair="weak")
def end_reassignment(s: Cluster, link: Link) -> Cluster:
    """A partition whose new replica is in sync has no `addingReplicas` any more."""
    require(link in s.joined)
    return replace(s, joined=s.joined - {link})


@action(who="leader")
def fall_behind(s: Cluster, c: Config, link: Link) -> Cluster:
    """An in-sync follower lags too long and leaves the ISR."""
    require(link in links(c) - s.adding - s.lagging and s.behind[link] > 0 and s.lapsed < c.lapses)
    if link in s.joined:
        return replace(s, adding=s.adding | {link}, joined=s.joined - {link}, lapsed=s.lapsed + 1)
    return replace(s, lagging=s.lagging | {link}, lapsed=s.lapsed + 1)


def ended(s: Cluster, c: Config, belongs: Callable[[Cluster, Link, Side], bool]) -> Cluster:
    """The next window: nothing is used up, and the limits are those that are configured now."""
    require(not c.full_windows or all(s.behind[x] == 0 or throttled(s, c, x, belongs) for x in s.adding))
    return replace(
        s,
        behind=Map({x: min(s.behind[x] + c.produce, c.log) if x in links(c) else 0 for x in every(Link)}),
        in_force=s.rates,
        reassigned=Spent(fill(Broker, c, 0), fill(Broker, c, 0)),
        other=Spent(fill(Broker, c, 0), fill(Broker, c, 0)),
    )


@action(who="clock", fair="weak")
def next_window(s: Cluster, c: Config) -> Cluster:
    """A window ends: records have been produced, and the limits are those that are configured now."""
    return ended(s, c, belongs)


@action(who="admin")
def set_rate(s: Cluster, c: Config, side: Side, broker: Broker, rate: Rate) -> Cluster:
    """A reassignment rate of one broker is changed while the reassignment goes on."""
    require(s.changed < c.changes and valid(c.reading, c.replication_rate, rate))
    old = s.rates
    require(rate != (old.leader[broker] if side == Side.LEADER else old.follower[broker]))
    if side == Side.LEADER:
        rates = replace(old, leader=old.leader.put(broker, rate))
    else:
        rates = replace(old, follower=old.follower.put(broker, rate))
    return replace(s, rates=rates, changed=s.changed + 1)


@action(who="controller")
def move_leader(s: Cluster, c: Config) -> Cluster:
    """A's leadership moves to the other in-sync replica."""
    require(s.moved < c.moves and Link.STAYING not in s.lagging and s.behind[Link.STAYING] == 0)
    return replace(s, leader=destination(s, Link.STAYING), moved=s.moved + 1)


# -- claims --------------------------------------------------------------------------------------------------------


@invariant
def reassignment_within_its_rate(s: Cluster, c: Config) -> bool:
    """T5. Otherwise a reassignment takes bandwidth that an operator reserved for clients."""
    return all(
        (s.in_force.leader[b] < 0 or s.reassigned.leader[b] <= s.in_force.leader[b])
        and (s.in_force.follower[b] < 0 or s.reassigned.follower[b] <= s.in_force.follower[b])
        for b in every(Broker, c)
    )


def within(c: Config, rate: int, spent: int) -> bool:
    total = total_limit(c.reading, c.replication_rate, rate)
    return total < 0 or spent <= total


@invariant
def replication_within_the_total(s: Cluster, c: Config) -> bool:
    """T2. Otherwise the limits that are set do not add up to what a broker's network must carry."""
    return all(
        within(c, s.in_force.leader[b], s.reassigned.leader[b] + s.other.leader[b])
        and within(c, s.in_force.follower[b], s.reassigned.follower[b] + s.other.follower[b])
        for b in every(Broker, c)
    )


@step_property(tags=["refuse"], watches=())
def in_sync_replicas_are_not_throttled(before: Cluster, after: Cluster, link: Link) -> bool:
    """T4, T10. Otherwise acks=all producers wait for a limit that was meant for copying."""
    return link in before.adding | before.lagging


@step_property(tags=["refuse"], watches=())
def others_are_limited_by_their_own_rate_only(before: Cluster, after: Cluster, c: Config, link: Link) -> bool:
    """T4. Otherwise a reassignment keeps a replica that fell behind from coming back into the ISR."""
    if link not in before.lagging:
        return True
    a, b = source(before, link), destination(before, link)
    used = max(before.other.leader[a], before.other.follower[b])
    return c.replication_rate >= 0 and used >= c.replication_rate


def counted_at_its_leader(before: Cluster, after: Cluster, link: Link) -> bool:
    """What a link has received is counted where its leader is now, if that has a limit."""
    broker = source(before, link)
    if link not in before.adding or before.in_force.leader[broker] < 0:
        return True
    units = before.behind[link] - after.behind[link]
    return after.reassigned.leader[broker] == before.reassigned.leader[broker] + units


@step_property
def reassignment_counts_where_the_leader_is(before: Cluster, after: Cluster) -> bool:
    """T7. Otherwise a reassignment escapes its limit as soon as leadership moves, until somebody reconfigures it."""
    received = frozenset(x for x in every(Link) if after.behind[x] < before.behind[x])
    return all(counted_at_its_leader(before, after, x) for x in received)


@step_property
def change_waits_for_the_next_window(before: Cluster, after: Cluster) -> bool:
    """T5, ours. Otherwise a window that has begun ends beyond the limit that it began with."""
    if after.rates == before.rates:
        return True
    return after.in_force == before.in_force and after.reassigned == before.reassigned


@step_property(on=next_window)
def next_window_has_what_is_configured(before: Cluster, after: Cluster) -> bool:
    """T5, ours. Otherwise an operator cannot slow down a reassignment that is under way."""
    return after.in_force == before.rates


def caught_up(s: Cluster) -> bool:
    return s.adding == NONE


@leads_to(caught_up)
def reassignment_catches_up(s: Cluster) -> bool:
    """T6. Otherwise the copy runs for ever, and old replicas are never released."""
    return s.adding != NONE


@cover(on=refuse, when=lambda c: c.leader_rate >= 0 or c.follower_rate >= 0)
def reassignment_is_throttled(before: Cluster, after: Cluster, link: Link) -> bool:
    return link in before.adding


@cover(on=refuse, when=lambda c: c.replication_rate >= 0)
def other_replication_is_throttled(before: Cluster, after: Cluster, link: Link) -> bool:
    return link in before.lagging


@cover(when=lambda c: c.moves > 0 and c.response == 1 and c.leader_rate > 1 and c.follower_rate > 1)
def both_leaders_have_sent(s: Cluster) -> bool:
    """T7: in one window, A was copied from one leader and then from the other."""
    return s.reassigned.leader[Broker(1)] > 0 and s.reassigned.leader[Broker(2)] > 0


@cover(when=lambda c: c.second and c.leader_rate > 0 and c.follower_rate > c.leader_rate)
def follower_gets_more_than_a_leader_may_send(s: Cluster, c: Config) -> bool:
    """Why there is a rate for followers: two leaders within their limits are more than one limit at the follower."""
    return s.reassigned.follower[Broker(3)] > c.leader_rate


@cover(when=lambda c: c.second and 0 < 2 * c.leader_rate <= c.follower_rate)
def follower_gets_what_both_leaders_may_send(s: Cluster, c: Config) -> bool:
    """T9: two reassignments with one limit are twice the limit on a broker that takes part in both."""
    return s.reassigned.follower[Broker(3)] == 2 * c.leader_rate


@cover
def reassignment_is_done(s: Cluster) -> bool:
    """T6: unreachable with a rate of 0, or with a rate that is at most the produce rate while there is more to copy."""
    return s.adding == NONE


MODEL = Model.of(__name__, state=Cluster, config=Config)
