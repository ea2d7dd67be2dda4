"""A batched reassignment (KIP-435) under a reassignment throttle (KIP-542): does every batch end? (claim X2)

One partition moves from brokers 1 to `replicas` to the next `replicas` ones, `batch` of them at a time; more if fewer
than MinISR are in sync, the exception that KIP-435 makes for the first step. A batch ends when all
of it is in sync (as in that document's existing algorithm; its new one does not wait), and as many old replicas go.
What is being copied counts against the reassignment rate of the leader, and of each follower
(KIP-542), window by window, as in `throttle`.

The rate is a broker's and not a replica's: `even` is what becomes of it where all followers ask equally often (shares
are whole units, rounded down), `any` leaves open who gets how much. Left out: replicas that are not in sync at the
start come back; the leader's limit begins anew when leadership moves.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Map, Model, Range, action, cover, every, fill, initial, leads_to, replace, require, step_property
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, first
from reassure.spec.kafka.shared_properties import WITH_ZOOKEEPER, Copies, Duties, Part


class Split(Enum):
    ANY = "any"
    EVEN = "even"


@dataclass(frozen=True)
class Config:
    replicas: Annotated[int, Range(1, 4)] = 2
    """Replicas before and after."""
    batch: Annotated[int, Range(1, 4)] = 2
    """Replicas that are moved at once (R of KIP-435)."""
    min_isr: Annotated[int, Range(1, 4)] = 1
    """min.insync.replicas."""
    initial_isr: Annotated[int, Range(1, 4)] = 2
    """In-sync replicas at the start."""
    leader_rate: Annotated[int, Range(-1, 6)] = 2
    """leader.reassignment.throttled.rate; -1: unset."""
    follower_rate: Annotated[int, Range(-1, 6)] = -1
    """follower.reassignment.throttled.rate; -1: unset."""
    split: Split = Split.ANY
    produce: Annotated[int, Range(0, 4)] = 1
    """Units produced in a window."""
    log: Annotated[int, Range(1, 8)] = 3
    """Units that a new replica has to copy, and the most that it can be behind."""
    lapses: Annotated[int, Range(0, 2)] = 1
    """Times that a new replica falls out of the ISR again."""
    full_windows: bool = False
    """Whether a window ends only when the new replicas have copied as much as the limits allow."""

    def __post_init__(self) -> None:
        if max(self.min_isr, self.initial_isr) > self.replicas:
            raise ValueError(f"min_isr={self.min_isr} or initial_isr={self.initial_isr} is more than {self.replicas}")

    @property
    def brokers(self) -> int:
        return 2 * self.replicas

    @property
    def most_received(self) -> int:
        return self.log + self.lapses

    @property
    def partitions(self) -> int:
        return 1


@dataclass(frozen=True)
class Cluster:
    assigned: Brokers
    isr: Brokers
    leader: Broker
    batch: Brokers
    """What is being added; nobody between batches."""
    behind: Map[Broker, Annotated[int, Range(0, "log")]]
    """What those who are not in sync yet lack."""
    received: Map[Broker, Annotated[int, Range(0, "most_received")]]
    """What counts against the limits in this window."""
    lapsed: Annotated[int, Range(0, "lapses")]


def old(c: Config) -> Brokers:
    return first(c.replicas, c)


def in_sync_at_start(c: Config) -> Brokers:
    return first(c.initial_isr, c)


def target(c: Config) -> Brokers:
    return every(Broker, c) - old(c)


def waiting(s: Cluster) -> Brokers:
    return s.batch - s.isr


def moving(s: Cluster, c: Config) -> bool:
    """A batch is under way, or replicas are left to add."""
    return s.batch != NOBODY or not target(c) <= s.assigned


def copied(s: Cluster, c: Config) -> Brokers:
    """Ghost: who holds everything, in sync or not. Of the old replicas only those that were in sync at the start."""
    return frozenset(b for b in s.assigned if s.behind[b] == 0 and (b in target(c) or b in in_sync_at_start(c)))


def duties(s: Cluster, c: Config) -> Duties:
    copies = Copies(
        replicas=tuple(sorted(s.assigned)),
        isr=s.isr,
        leader=s.leader,
        min_isr=c.min_isr,
        wanted=target(c),
        moving=moving(s, c),
        whole=copied(s, c),
        loss_allowed=False,
        leaving=NOBODY,
        down=NOBODY,
        load=len(waiting(s)),
        limit=max(c.batch, c.min_isr - c.initial_isr),
    )
    return Duties(
        all=every(Part, c),
        parts=fill(Part, c, copies),
        partitions_moving=1 if moving(s, c) else 0,
        partitions_limit=64,
        leaders_moving=0,
        leaders_limit=64,
    )


@initial
def reassignment_begins(c: Config) -> Cluster:
    """The partition on the first brokers, led by broker 1, who is in sync, the others as configured."""
    nothing = fill(Broker, c, 0)
    return Cluster(old(c), in_sync_at_start(c), Broker(1), NOBODY, nothing, nothing, 0)


@action(who="controller", fair="weak")
def start_batch(s: Cluster, c: Config) -> Cluster:
    """The next new replicas are added: as many as a batch has, or as MinISR lacks."""
    missing = target(c) - s.assigned
    require(s.batch == NOBODY and missing != NOBODY)
    size = max(c.batch, c.min_isr - len(s.isr))
    batch = frozenset(b for b in missing if sum(1 for x in missing if x < b) < size)
    behind = Map({b: c.log if b in batch else 0 for b in every(Broker, c)})
    return replace(s, assigned=s.assigned | batch, batch=batch, behind=behind)


def allowed(s: Cluster, c: Config, follower: Broker) -> bool:
    """Whether the limits of this window leave a unit for a follower."""
    spent = sum(s.received[b] for b in every(Broker, c))
    share = (s.received[follower] + 1) * len(waiting(s)) <= c.leader_rate
    return (c.leader_rate < 0 or (spent < c.leader_rate and (c.split == Split.ANY or share))) and (
        c.follower_rate < 0 or s.received[follower] < c.follower_rate
    )


@action(who="follower", fair="weak", fair_each=("follower",), follower=lambda s: s.batch)
def fetch(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """A new replica copies a unit, if the limits allow it."""
    require(follower in waiting(s) and s.behind[follower] > 0 and allowed(s, c, follower))
    limited = c.leader_rate >= 0 or c.follower_rate >= 0
    return replace(
        s,
        behind=s.behind.put(follower, s.behind[follower] - 1),
        received=s.received.put(follower, s.received[follower] + 1) if limited else s.received,
    )


@action(who="leader", fair="strong", fair_each=("follower",), follower=lambda s: s.batch)
def join(s: Cluster, follower: Broker) -> Cluster:
    """A new replica that lacks nothing is taken into the ISR; from now on nothing limits it.

    Strongly fair: it may lack something again and again before the leader notices.
    """
    require(follower in waiting(s) and s.behind[follower] == 0)
    return replace(s, isr=s.isr | {follower})


@action(who="leader", follower=lambda s: s.batch)
def fall_behind(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """A new replica falls out of the ISR while the batch waits for another, and is limited again."""
    require(follower in s.isr and waiting(s) != NOBODY and s.lapsed < c.lapses)
    return replace(s, isr=s.isr - {follower}, behind=s.behind.put(follower, 1), lapsed=s.lapsed + 1)


@action(who="clock", fair="weak")
def next_window(s: Cluster, c: Config) -> Cluster:
    """A window ends: records have been produced."""
    late = waiting(s)
    require(not c.full_windows or all(s.behind[b] == 0 or not allowed(s, c, b) for b in late))
    behind = Map({b: min(s.behind[b] + c.produce, c.log) if b in late else 0 for b in every(Broker, c)})
    return replace(s, behind=behind, received=fill(Broker, c, 0))


@action(who="controller", fair="weak")
def end_batch(s: Cluster, c: Config, dropped: Brokers, successor: Broker) -> Cluster:
    """All of the batch is in sync: as many old replicas go, those first that are not in sync."""
    require(s.batch != NOBODY and s.batch <= s.isr)
    excess = s.assigned - target(c)
    require(dropped <= excess and len(dropped) == len(s.assigned) - c.replicas)
    require(excess - s.isr <= dropped or dropped <= excess - s.isr)
    isr = s.isr - dropped
    require(successor == s.leader if s.leader in isr else successor in isr)
    return replace(s, assigned=s.assigned - dropped, isr=isr, leader=successor, batch=NOBODY)


def batch_over(s: Cluster) -> bool:
    return s.batch == NOBODY


@leads_to(batch_over)
def every_batch_ends(s: Cluster) -> bool:
    """X2. Otherwise a reassignment waits for ever for replicas that its own throttle does not let catch up."""
    return s.batch != NOBODY


@step_property
def batch_ends_in_sync(before: Cluster, after: Cluster) -> bool:
    """B9, X2: what the batch waits for. Otherwise old copies are deleted while a new one is still empty."""
    return after.batch != NOBODY or before.batch <= after.isr


@cover(when=lambda c: c.leader_rate > 0 and c.produce > 0)
def kept_waiting_by_the_throttle(s: Cluster, c: Config) -> bool:
    """A whole window is used up, and nobody in the batch has caught up."""
    return waiting(s) != NOBODY and all(s.behind[b] > 0 and not allowed(s, c, b) for b in waiting(s))


MODEL = Model.of(__name__, state=Cluster, config=Config, views=(duties,), shared=WITH_ZOOKEEPER).without(
    "own_steps_keep_a_leader"
)
"""There is always a leader here: that a batch leaves one cannot be asked."""
