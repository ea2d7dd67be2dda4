"""A cluster whose controller keeps partitions in ZooKeeper: what every reassignment algorithm of KIP-435 runs on.

KIP-435 describes two algorithms, the one that existed (`reassignment_classic`) and a
batching one (`batching_literal`, `batching_loops`, `batching_example`, `batching_waits_to_lead`, `batching`; both take
turns in `batching_mixed`). Both are lists of numbered steps, and between any two the controller may die. So the state
keeps apart what survives that (`Stored`), what does not (`Memory`), and what brokers have heard and hold (`Logs`). Here
is what goes on around the algorithm: requests, failures, elections, followers that catch up. A model adds the steps of
its algorithm to `CLUSTER`.

The configuration limits requests and failures (`requests`, `crashes`, `deaths`, `changes`); recovery has no limit.

Left out: leader and ZooKeeper epochs (writes to the store are conditional, so that only current ones count); a deposed
controller that still acts; unclean election; a follower that lags but lives (as one that dies and returns); deletion of
what lies on a broker that is down, which counts as done at once; logs beyond "holds everything committed".
"""

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
    some,
    step_property,
    terminal,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Replicas, first
from reassure.spec.kafka.shared_properties import WITH_ZOOKEEPER, Copies, Duties, Part


class Next(Enum):
    """What the controller does next for a partition; the numbers of the documents are in the models."""

    IDLE = "idle"
    CALCULATE = "calculate"
    ASSIGN = "assign"
    TELL = "tell"
    START = "start"
    AWAIT = "await"
    REMEMBER = "remember"
    LEAD = "lead"
    STOP = "stop"
    DELETE = "delete"
    SETTLE = "settle"
    FINISH = "finish"


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 6)] = 4
    """Brokers in the cluster."""
    partitions: Annotated[int, Range(1, 3)] = 1
    """Partitions, all on the same brokers at the start."""
    replication_factor: Annotated[int, Range(1, 6)] = 2
    """Replicas at the start: brokers 1, 2, ..."""
    wanted_factor: Annotated[int, Range(0, 6)] = 0
    """Replicas that are asked for (0: as many as at the start)."""
    min_isr: Annotated[int, Range(1, 6)] = 2
    """min.insync.replicas."""
    initial_isr: Annotated[int, Range(0, 6)] = 0
    """In-sync replicas at the start (0: all)."""
    replicas_at_once: Annotated[int, Range(1, 6)] = 1
    """R: replicas of one partition moved at once. As many as brokers: no limit."""
    partitions_at_once: Annotated[int, Range(1, 3)] = 3
    """P: partitions moved at once."""
    leaders_at_once: Annotated[int, Range(1, 3)] = 3
    """L: leaders moved at once."""
    requests: Annotated[int, Range(1, 3)] = 1
    """Reassignments that are asked for, one after the other for one partition."""
    changes: Annotated[int, Range(0, 2)] = 0
    """Times that R, P and L are changed."""
    crashes: Annotated[int, Range(0, 3)] = 1
    """Times that a controller dies."""
    deaths: Annotated[int, Range(0, 3)] = 2
    """Times that a broker dies (it comes back, with its log)."""
    one_event: bool = True
    """Whether the controller notices failures only where its algorithm waits: Kafka's has one thread.

    Off: between any two steps, since the texts do not mention threads.
    """

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")
        if self.initial_isr > self.replication_factor:
            raise ValueError(f"initial_isr={self.initial_isr} is more than {self.replication_factor} replicas")
        if not self.min_isr <= self.wanted <= self.brokers:
            raise ValueError(f"{self.wanted} wanted replicas are not from min_isr={self.min_isr} to {self.brokers}")

    @property
    def wanted(self) -> int:
        return self.wanted_factor or self.replication_factor


@dataclass(frozen=True)
class Stored:
    """A partition in the store: what a new controller finds."""

    assignment: Replicas
    """In order; the first is the preferred leader."""
    isr: Brokers
    leader: Broker | None
    target: Replicas
    """What /admin/reassign_partitions asks for; empty if nothing."""


@dataclass(frozen=True)
class Memory:
    """A partition in the controller's memory: gone when the controller dies."""

    next: Next
    assigned: Replicas
    goal: Replicas
    """Where the step that is going on leads (TR; in the existing algorithm RAR)."""
    dropping: Brokers
    """What the step takes away (DR; OAR - RAR)."""
    leads: bool
    """Whether the step moves the leader, by the plan."""


@dataclass(frozen=True)
class Logs:
    """A partition at the brokers."""

    told: Brokers
    """The replicas that the leader knows of, by its last LeaderAndIsr request: who may join the ISR."""
    hosting: Brokers
    """Who has a log of the partition, and follows the leader."""
    whole: Brokers
    """Ghost: whose log holds everything that was committed."""
    fresh: Brokers
    """Ghost: who was added and has not been in sync since."""
    wanted: Replicas
    """Ghost: what was asked for last, or the assignment at the start."""
    allowed: Annotated[int, Range(0, 6)]
    """Ghost: how many replicas were allowed to be added when the last step was calculated."""


@dataclass(frozen=True)
class Limits:
    """The three configurations, as `Config` names them."""

    replicas: Annotated[int, Range(1, "brokers")]
    partitions: Annotated[int, Range(1, "partitions")]
    leaders: Annotated[int, Range(1, "partitions")]


@dataclass(frozen=True)
class Cluster:
    stored: Map[Part, Stored]
    memory: Map[Part, Memory]
    logs: Map[Part, Logs]
    controller: bool
    """Whether a controller is there."""
    alive: Brokers
    limits: Limits
    """R, P and L as they are configured now."""
    granted: Limits
    """Ghost: as they were when a partition last began a step."""
    asked: Annotated[int, Range(0, "requests")]
    changed: Annotated[int, Range(0, "changes")]
    crashed: Annotated[int, Range(0, "crashes")]
    died: Annotated[int, Range(0, "deaths")]


def running(s: Cluster, part: Part) -> bool:
    """The partition has a step of a reassignment going on."""
    return s.memory[part].next != Next.IDLE


def running_in(s: Cluster, c: Config) -> int:
    """How many partitions have a step going on (bounded by P)."""
    return sum(1 for x in every(Part, c) if running(s, x))


def leading_in(s: Cluster, c: Config) -> int:
    """How many have one that moves the leader (bounded by L)."""
    return sum(1 for x in every(Part, c) if running(s, x) and s.memory[x].leads)


def copies(s: Cluster, c: Config, part: Part) -> Copies:
    p, m, logs = s.stored[part], s.memory[part], s.logs[part]
    return Copies(
        replicas=p.assignment,
        isr=p.isr,
        leader=p.leader,
        min_isr=c.min_isr,
        wanted=frozenset(logs.wanted),
        moving=p.target != (),
        whole=logs.whole,
        loss_allowed=False,
        leaving=m.dropping,
        down=every(Broker, c) - s.alive,
        load=len(logs.fresh),
        limit=logs.allowed,
    )


def duties(s: Cluster, c: Config) -> Duties:
    return Duties(
        all=every(Part, c),
        parts=Map({x: copies(s, c, x) for x in every(Part, c)}),
        partitions_moving=running_in(s, c),
        partitions_limit=s.granted.partitions,
        leaders_moving=leading_in(s, c),
        leaders_limit=s.granted.leaders,
    )


def resting(assignment: tuple[Broker, ...]) -> Memory:
    """A partition that no step concerns."""
    return Memory(Next.IDLE, assignment, (), NOBODY, False)


@initial
def settled(c: Config) -> Cluster:
    """Every partition on the first brokers, led by broker 1, everybody alive, nothing asked for."""
    assignment = tuple(sorted(first(c.replication_factor, c)))
    isr = first(c.initial_isr if c.initial_isr > 0 else c.replication_factor, c)
    members = frozenset(assignment)
    limits = Limits(
        replicas=min(c.replicas_at_once, c.brokers),
        partitions=min(c.partitions_at_once, c.partitions),
        leaders=min(c.leaders_at_once, c.partitions),
    )
    return Cluster(
        stored=fill(Part, c, Stored(assignment, isr, Broker(1), ())),
        memory=fill(Part, c, resting(assignment)),
        logs=fill(Part, c, Logs(members, members, isr, NOBODY, assignment, min(c.replicas_at_once, c.brokers))),
        controller=True,
        alive=every(Broker, c),
        limits=limits,
        granted=limits,
        asked=0,
        changed=0,
        crashed=0,
        died=0,
    )


# -- the administrator ----------------------------------------------------------------------------------


@action(who="admin", tags=["start"])
def reassign(s: Cluster, c: Config, part: Part, target: Replicas) -> Cluster:
    """Another list of replicas is asked for, in order: it is written to the store for the controller to find.

    Left out: other targets while a reassignment goes on, cancellation.
    """
    p = s.stored[part]
    require(p.target == () and s.asked < c.requests and not running(s, part))
    require(len(target) == c.wanted and len(frozenset(target)) == len(target) and target != p.assignment)
    return replace(
        s,
        asked=s.asked + 1,
        stored=s.stored.put(part, replace(p, target=target)),
        logs=s.logs.put(part, replace(s.logs[part], wanted=target)),
    )


@action(who="admin")
def reconfigure(s: Cluster, c: Config, limits: Limits) -> Cluster:
    """R, P and L are dynamic."""
    require(s.changed < c.changes and limits != s.limits)
    return replace(s, limits=limits, changed=s.changed + 1)


# -- brokers come and go --------------------------------------------------------------------------------


@action(who="broker")
def die(s: Cluster, c: Config, broker: Broker) -> Cluster:
    """A broker loses its session; the store and the other brokers learn of it in steps of their own."""
    require(broker in s.alive and s.died < c.deaths)
    return replace(s, alive=s.alive - {broker}, died=s.died + 1)


@action(who="broker", fair="weak", fair_each=("broker",))
def come_back(s: Cluster, broker: Broker) -> Cluster:
    require(broker not in s.alive)
    return replace(s, alive=s.alive | {broker})


def in_order(listed: tuple[Broker, ...], among: Brokers) -> Broker | None:
    """The first of a list that is in a set."""
    return next((b for b in listed if b in among), None)


@action(who="controller", fair="weak", fair_each=("part",))
def notice(s: Cluster, part: Part) -> Cluster:
    """The controller takes dead brokers out of the ISR, but for the last, and elects: the first in its list.

    Whoever leads then hears the replicas as the controller's memory has them.
    """
    return noticed(s, part)


def noticed(s: Cluster, part: Part) -> Cluster:
    p, m = s.stored[part], s.memory[part]
    require(s.controller)
    isr = p.isr if p.isr & s.alive == NOBODY else p.isr & s.alive
    keeps = p.leader is not None and p.leader in s.alive
    leader = p.leader if keeps else in_order(m.assigned, isr & s.alive)
    require(isr != p.isr or leader != p.leader)
    return replace(
        s,
        stored=s.stored.put(part, replace(p, isr=isr, leader=leader)),
        logs=s.logs.put(part, replace(s.logs[part], told=frozenset(m.assigned))),
    )


@action(who="controller")
def crash(s: Cluster, c: Config) -> Cluster:
    """The controller dies, and all that it remembered with it."""
    require(s.controller and s.crashed < c.crashes)
    return replace(s, controller=False, crashed=s.crashed + 1, memory=fill(Part, c, resting(())))


@action(who="controller", fair="weak")
def take_over(s: Cluster, c: Config) -> Cluster:
    """Another controller reads the store, and tells every replica what it has read."""
    require(not s.controller)
    return replace(
        s,
        controller=True,
        memory=Map({x: resting(s.stored[x].assignment) for x in every(Part, c)}),
        logs=Map({x: heard(s.stored[x], s.logs[x]) for x in every(Part, c)}),
    )


def heard(p: Stored, logs: Logs) -> Logs:
    replicas = frozenset(p.assignment)
    return replace(logs, told=replicas, hosting=logs.hosting | replicas)


# -- followers and the leader ---------------------------------------------------------------------------


@action(who="follower", fair="weak", fair_each=("part", "broker"))
def catch_up(s: Cluster, part: Part, broker: Broker) -> Cluster:
    """A follower fetches up to the high watermark, from scratch if it was just added."""
    logs, leader = s.logs[part], some(s.stored[part].leader)
    require(broker in (logs.hosting & s.alive) - logs.whole)
    require(leader in s.alive & logs.whole)
    return replace(s, logs=s.logs.put(part, replace(logs, whole=logs.whole | {broker})))


@action(who="leader", fair="strong", fair_each=("part", "broker"))
def join(s: Cluster, part: Part, broker: Broker) -> Cluster:
    """The leader writes a follower that has caught up into the ISR, if it knows it for a replica."""
    p, logs = s.stored[part], s.logs[part]
    leader = some(p.leader)
    require(leader in s.alive)
    require(broker in (logs.told & logs.hosting & logs.whole & s.alive) - p.isr)
    return replace(
        s,
        stored=s.stored.put(part, replace(p, isr=p.isr | {broker})),
        logs=s.logs.put(part, replace(logs, fresh=logs.fresh - {broker})),
    )


@action(who="leader")
def commit(s: Cluster, c: Config, part: Part) -> Cluster:
    """With MinISR in sync a record is committed: the ISR has it, and what lies outside falls behind.

    A record that every broker has changes nothing here and is left out, so that records need no limit.
    """
    p, logs = s.stored[part], s.logs[part]
    leader = some(p.leader)
    require(leader in p.isr and len(p.isr) >= c.min_isr)
    require(p.isr <= s.alive & logs.whole and logs.whole != p.isr)
    return replace(s, logs=s.logs.put(part, replace(logs, whole=p.isr)))


@terminal
def may_rest(s: Cluster, c: Config) -> bool:
    """Nothing is asked for any more, and every partition is led and wholly in sync."""
    return all(
        s.stored[x].target == () and s.stored[x].leader is not None and s.stored[x].isr == s.logs[x].hosting
        for x in every(Part, c)
    )


# -- claims ---------------------------------------------------------------------------------------------


@invariant
def isr_is_assigned(s: Cluster, c: Config) -> bool:
    """B4, B9. Otherwise a broker that the store no longer lists counts for durability, and nobody looks after it."""
    return all(s.stored[x].isr <= frozenset(s.stored[x].assignment) for x in every(Part, c))


@invariant
def a_whole_copy_is_left(s: Cluster, c: Config) -> bool:
    """B4, B9. Otherwise acknowledged records are deleted everywhere, and no broker can bring them back."""
    return all(s.logs[x].whole != NOBODY for x in every(Part, c))


def past(before: Cluster, after: Cluster, part: Part, step: Next) -> bool:
    """The controller has done a step for a partition; a crash does not do it, nor does going back to step 7."""
    m = after.memory[part]
    return after.controller and before.memory[part].next == step and m.next != step and m.next != Next.LEAD


def done(before: Cluster, after: Cluster, part: Part) -> bool:
    """A reassignment ends: its request is in the store no more."""
    return before.stored[part].target != () and after.stored[part].target == ()


@step_property
def drops_after_all_added_were_in_sync(before: Cluster, after: Cluster, c: Config) -> bool:
    """B4, B9. Otherwise old copies go while new ones are still empty, and one failure more loses records."""
    return all(not past(before, after, x, Next.STOP) or before.logs[x].fresh == NOBODY for x in every(Part, c))


@step_property
def ends_in_the_order_asked_for(before: Cluster, after: Cluster, c: Config) -> bool:
    """B7. Otherwise another broker than the one asked for is the preferred leader."""
    return all(not done(before, after, x) or after.stored[x].assignment == after.logs[x].wanted for x in every(Part, c))


def without_leftovers(p: Stored, hosting: Brokers) -> bool:
    """Only the assigned replicas lead, are in sync, or have a log."""
    members = frozenset(p.assignment)
    led = p.leader is None or p.leader in members
    return led and p.isr <= members and hosting <= members


@step_property
def ends_without_leftovers(before: Cluster, after: Cluster, c: Config) -> bool:
    """B7, B9. Otherwise a broker that was to be freed goes on leading, or keeps a log that nobody will delete."""
    return all(
        not done(before, after, x) or without_leftovers(after.stored[x], after.logs[x].hosting) for x in every(Part, c)
    )


def ended(s: Cluster, c: Config) -> bool:
    return all(s.stored[x].target == () for x in every(Part, c))


@leads_to(ended)
def every_reassignment_ends(s: Cluster, c: Config) -> bool:
    """B7. Otherwise a reassignment hangs for ever although all its brokers are there."""
    return not ended(s, c)


@cover(tags=["finish"])
def ends_led_by_the_first(before: Cluster, after: Cluster, part: Part) -> bool:
    """B7: everything was moved, and the first replica of the request leads."""
    p = after.stored[part]
    return before.stored[part].target != () and p.target == () and p.leader == p.assignment[0]


@cover(on=take_over, when=lambda c: c.crashes > 0)
def another_controller_goes_on(before: Cluster, after: Cluster, c: Config) -> bool:
    """B9: it finds a reassignment half done."""
    return any(
        before.stored[x].target != () and before.stored[x].assignment != before.stored[x].target for x in every(Part, c)
    )


@cover(on=commit)
def follower_falls_behind(before: Cluster, after: Cluster) -> bool:
    """A record is committed that some broker lacks."""
    return before.logs != after.logs


CLUSTER = Model.of(__name__, state=Cluster, config=Config, views=(duties,), shared=WITH_ZOOKEEPER)
"""What algorithms are added to."""
