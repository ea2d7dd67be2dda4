"""Dropping intermediate replicas when a reassignment changes in flight (KIP-236).

Rules of KIP-236 as printed. One partition under a controller that keeps its decisions in ZooKeeper. The story:
the administrator asks for a reassignment and, before it ends, for another one. Replicas that only the first of them
wanted would go on copying, so the controller computes a set `drop` from the assigned replicas, takes its members
offline, deletes them, and only then goes on as before: assigned and wanted replicas together until everything wanted is
in sync.

`existing[0:top-1]` has two readings, one in each of `intermediate_half_open` (as in most languages, `top - 1` replicas
stay) and `intermediate_inclusive` (`top` stay); this module is what they share. Further choices that the document
leaves open are configuration: `at_once`, `none_takes_a_place`, `assigned_first`.

Here a new controller computes `drop` anew, as the document places that in `onPartitionReassignment`, which fail-over
runs. We drop before the wanted replicas are assigned; `assigned_first` is the other order, which the text allows too.

Left out: the steps by which a reassignment completes (one here); lags beyond "holds everything committed"; targets
below MinISR, which the existing algorithm takes as they are; changes that arrive while replicas are being deleted;
unclean election; order among assigned replicas; replicas that fail to be deleted.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import (
    Range,
    action,
    every,
    fill,
    initial,
    replace,
    require,
    some,
    terminal,
)
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, first, last_stays
from reassure.spec.kafka.shared_properties import Copies, Duties, Part


class Stage(Enum):
    """How far the controller is with the replicas to be dropped."""

    IDLE = "idle"
    DUE = "due"
    """The reassignment is new, has changed, or has a new controller: `drop` is to be computed."""
    DECIDED = "decided"
    """It is computed, and nothing done yet (only if not `at_once`)."""
    OFFLINE = "OfflineReplica"
    DELETING = "ReplicaDeletionStarted"


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 8)] = 4
    """Brokers in the cluster."""
    replication_factor: Annotated[int, Range(1, 8)] = 2
    """Replicas at the start, all in sync: brokers 1, 2, ..."""
    min_isr: Annotated[int, Range(1, 8)] = 2
    """min.insync.replicas at the start."""
    raises: Annotated[int, Range(0, 2)] = 0
    """Times that min.insync.replicas is raised by one."""
    admin_requests: Annotated[int, Range(0, 4)] = 2
    """Reassignments asked for: new ones, and changes of the one in flight."""
    disturbances: Annotated[int, Range(0, 4)] = 1
    """Times that a broker fails, a follower falls out of the ISR, or the controller fails over."""
    at_once: bool = True
    """Whether the ISR cannot change between the computation of `drop` and its first transition."""
    none_takes_a_place: bool = False
    """Whether `List(leader)` has one entry even if the partition has no leader (ZooKeeper holds -1 then)."""
    assigned_first: bool = False
    """Whether the wanted replicas are assigned before `drop` is computed; otherwise after it is carried out."""

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")
        if self.min_isr + self.raises > self.brokers:
            raise ValueError(f"min_isr={self.min_isr} raised {self.raises} times is more than brokers={self.brokers}")

    @property
    def most_min_isr(self) -> int:
        return self.min_isr + self.raises

    @property
    def partitions(self) -> int:
        return 1


@dataclass(frozen=True)
class Cluster:
    assigned: Brokers
    """Assigned replicas."""
    isr: Brokers
    leader: Broker | None
    target: Brokers
    """The target that was asked for last."""
    moving: bool
    """Whether the reassignment goes on."""
    top: Annotated[int, Range(0, "brokers")]
    """Length of the original assignment, stored when the reassignment is created; 0 without one."""
    original: Brokers
    """Ghost: the assignment before the reassignment that is going on, or now."""
    stage: Stage
    dropping: Brokers
    """`drop`, while it is carried out. In the controller's memory."""
    alive: Brokers
    whole: Brokers
    """Ghost: who holds everything that was committed. Outside the ISR, what lags least."""
    min_isr: Annotated[int, Range(1, "most_min_isr")]
    asked: Annotated[int, Range(0, "admin_requests")]
    disturbed: Annotated[int, Range(0, "disturbances")]


def gone(s: Cluster) -> Brokers:
    """Still assigned, but offline or deleted on the controller's order."""
    return s.dropping if s.stage == Stage.OFFLINE or s.stage == Stage.DELETING else NOBODY


def serving(s: Cluster) -> Brokers:
    return s.assigned - gone(s)


def duties(s: Cluster, c: Config) -> Duties:
    copies = Copies(
        replicas=tuple(sorted(serving(s))),
        isr=s.isr,
        leader=s.leader,
        min_isr=s.min_isr,
        wanted=s.target,
        moving=s.moving,
        whole=s.whole,
        loss_allowed=False,
        leaving=s.dropping,
        down=every(Broker, c) - s.alive,
        load=len(s.assigned - s.original - s.isr),
        limit=64,
    )
    return Duties(
        all=every(Part, c),
        parts=fill(Part, c, copies),
        partitions_moving=1 if s.moving else 0,
        partitions_limit=64,
        leaders_moving=0,
        leaders_limit=64,
    )


@initial
def settled(c: Config) -> Cluster:
    """A partition on the first brokers, all in sync, led by broker 1."""
    replicas = first(c.replication_factor, c)
    return Cluster(
        assigned=replicas,
        isr=replicas,
        leader=Broker(1),
        target=replicas,
        moving=False,
        top=0,
        original=replicas,
        stage=Stage.IDLE,
        dropping=NOBODY,
        alive=every(Broker, c),
        whole=replicas,
        min_isr=c.min_isr,
        asked=0,
        disturbed=0,
    )


# -- the administrator ----------------------------------------------------------------------------------


@action(who="admin")
def create(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """A reassignment is asked for. If there are fewer replicas than MinISR, the controller only logs a warning."""
    require(not s.moving and s.asked < c.admin_requests)
    require(target != NOBODY and target != s.assigned and len(target) >= s.min_isr)
    asked = replace(s, asked=s.asked + 1)
    if len(s.assigned) < s.min_isr:
        return asked
    return replace(
        asked,
        assigned=s.assigned | target if c.assigned_first else s.assigned,
        moving=True,
        target=target,
        top=len(s.assigned),
        original=s.assigned,
        stage=Stage.DUE,
    )


@action(who="admin")
def change(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """Another target while the reassignment goes on. The original assignment may be that target."""
    require(s.moving and s.stage == Stage.IDLE and s.asked < c.admin_requests)
    require(target != NOBODY and target != s.target and len(target) >= s.min_isr)
    assigned = s.assigned | target if c.assigned_first else s.assigned
    return replace(s, assigned=assigned, target=target, stage=Stage.DUE, asked=s.asked + 1)


@action(who="admin")
def raise_min_isr(s: Cluster, c: Config) -> Cluster:
    """min.insync.replicas is raised by one."""
    require(s.min_isr < c.most_min_isr)
    return replace(s, min_isr=s.min_isr + 1)


# -- the controller: what is dropped ---------------------------------------------------------------------


def is_prefix(kept: Brokers, group: Brokers) -> bool:
    """Whether the kept ones can come first in a list in which the group comes first."""
    return group <= kept or kept <= group


def foremost(s: Cluster, kept: Brokers, places: int) -> bool:
    """`kept` is what fills the first `places` of `existing`: leader, ISR, then the others by ascending lag.

    The document gives the ISR no order, and lags may be anything, but that who holds everything lags least. So one
    sorted list is as good as any other that keeps these groups apart.
    """
    leader = s.leader
    lead = NOBODY if leader is None else NOBODY | {leader}
    in_sync = (lead | s.isr) & s.assigned
    return (
        kept <= s.assigned
        and len(kept) == min(places, len(s.assigned))
        and is_prefix(kept, lead)
        and is_prefix(kept, in_sync)
        and is_prefix(kept, in_sync | (s.whole & s.assigned))
    )


def computed(s: Cluster, c: Config, kept: Brokers, places: int) -> Cluster:
    """`drop` is computed: all assigned replicas but the first of `existing`, of which there are `places`."""
    require(s.stage == Stage.DUE)
    taken = 1 if s.leader is None and c.none_takes_a_place else 0
    require(foremost(s, kept, max(places - taken, 0)))
    if kept == s.assigned:
        return replace(s, assigned=s.assigned | s.target, stage=Stage.IDLE)
    return dropped(s, c, s.assigned - kept)


def dropped(s: Cluster, c: Config, dropping: Brokers) -> Cluster:
    decided = replace(s, dropping=dropping, stage=Stage.DECIDED)
    return offline(decided) if c.at_once else decided


def offline(s: Cluster) -> Cluster:
    """-> OfflineReplica: they leave the ISR, but for the last member of it; if the leader is one, nobody leads."""
    isr = last_stays(s.isr, s.dropping, s.leader)
    leader = None if s.leader is not None and s.leader in s.dropping else s.leader
    return replace(s, isr=isr, leader=leader, stage=Stage.OFFLINE)


@action(who="controller", fair="weak", tags=["drop"])
def take_offline(s: Cluster) -> Cluster:
    """The first transition, after the ISR may have changed since `drop` was computed."""
    require(s.stage == Stage.DECIDED)
    return offline(s)


@action(who="controller", fair="weak")
def start_deletion(s: Cluster) -> Cluster:
    """-> ReplicaDeletionStarted: their logs are deleted, if need be when they are back."""
    require(s.stage == Stage.OFFLINE)
    return replace(s, stage=Stage.DELETING, whole=s.whole - s.dropping)


@action(who="controller", fair="weak")
def update_assigned(s: Cluster, c: Config) -> Cluster:
    """-> ReplicaDeletionSuccessful -> NonExistentReplica; then assigned replicas are updated, with what is wanted."""
    require(s.stage == Stage.DELETING)
    left = s.assigned - s.dropping
    assigned = left if c.assigned_first else left | s.target
    return replace(s, stage=Stage.IDLE, assigned=assigned, dropping=NOBODY)


@action(who="controller")
def fail_over(s: Cluster, c: Config) -> Cluster:
    """Another controller takes over. It knows what was asked for and `top`, but not what was being dropped."""
    require(s.disturbed < c.disturbances and s.moving and s.stage != Stage.DUE)
    return replace(s, stage=Stage.DUE, dropping=NOBODY, disturbed=s.disturbed + 1)


@action(who="controller", fair="weak", tags=["complete"])
def complete(s: Cluster, successor: Broker) -> Cluster:
    """Every wanted replica is in sync: the reassignment ends as before KIP-236."""
    return completed(s, successor)


def everything_wanted_is_in_sync(s: Cluster) -> bool:
    """The condition for the second call of `onPartitionReassignment`."""
    return s.moving and s.leader is not None and s.stage == Stage.IDLE and s.target <= s.isr & s.assigned


def completed(s: Cluster, successor: Broker) -> Cluster:
    leader = some(s.leader)
    require(everything_wanted_is_in_sync(s))
    require(successor == leader if leader in s.target else successor in s.target & s.alive)
    return replace(
        s,
        assigned=s.target,
        isr=s.isr & s.target,
        leader=successor,
        whole=s.whole & s.target,
        moving=False,
        top=0,
        original=s.target,
    )


# -- followers, the leader, fate --------------------------------------------------------------------------


@action(who="follower", fair="weak", fair_each=("follower",))
def catch_up(s: Cluster, follower: Broker) -> Cluster:
    """A follower has caught up, and the leader takes it into the ISR."""
    leader = some(s.leader)
    require(leader in s.whole and follower in (serving(s) & s.alive) - s.isr)
    return replace(s, isr=s.isr | {follower}, whole=s.whole | {follower})


@action(who="leader")
def commit(s: Cluster) -> Cluster:
    """A record is committed: whoever is not in sync lacks it."""
    require(s.leader is not None and len(s.isr) >= s.min_isr)
    require(s.isr <= s.whole and s.isr != s.whole)
    return replace(s, whole=s.isr)


@action(who="leader")
def shrink(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """A follower lags, and the leader writes an ISR without it."""
    require(s.leader is not None and s.disturbed < c.disturbances)
    require(follower in s.isr and follower != s.leader)
    return replace(s, isr=s.isr - {follower}, disturbed=s.disturbed + 1)


@action(who="fate")
def fail(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """A broker fails: it leaves the ISR unless it is the last, and somebody else in sync leads, if there is one."""
    require(broker in s.alive and s.disturbed < c.disturbances and s.stage != Stage.DECIDED)
    alive = s.alive - {broker}
    isr = s.isr if s.isr == NOBODY | {broker} else s.isr - {broker}
    able = isr & alive & serving(s)
    if s.leader != broker:
        require(successor == s.leader)
    elif able == NOBODY:
        require(successor is None)
    else:
        require(successor is not None and successor in able)
    return replace(s, alive=alive, isr=isr, leader=successor, disturbed=s.disturbed + 1)


@action(who="fate", fair="weak", fair_each=("broker",))
def recover(s: Cluster, broker: Broker) -> Cluster:
    """A failed broker is back."""
    require(broker not in s.alive and s.stage != Stage.DECIDED)
    return replace(s, alive=s.alive | {broker})


@action(who="controller", fair="weak")
def elect(s: Cluster, broker: Broker) -> Cluster:
    """Nobody leads: somebody in sync does, cleanly as far as the controller knows."""
    require(s.leader is None and s.stage != Stage.DECIDED and broker in s.isr & s.alive & serving(s))
    return replace(s, leader=broker)


@terminal
def may_rest(s: Cluster) -> bool:
    """No reassignment goes on, and there is a leader."""
    return not s.moving and s.leader is not None
