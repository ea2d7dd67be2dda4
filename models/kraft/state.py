"""The state of `kraft`: the partition at the controller, brokers, requests in flight, what the leader knows."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from reassure import Map, MaxSize, Range, every, fill, initial, require
from reassure.spec.kafka.partition import (
    NOBODY,
    Broker,
    Brokers,
    Epoch,
    Partition,
    Replicas,
    Watched,
    first,
    reassigning,
)
from reassure.spec.kafka.shared_properties import Copies, Duties, Part


class Unclean(Enum):
    OFF = "off"
    ON = "on"
    EITHER = "either"


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 8)] = 3
    """Brokers in the cluster."""
    replication_factor: Annotated[int, Range(1, 8)] = 2
    """Replicas at the start: brokers 1, 2, ..."""
    min_isr: Annotated[int, Range(1, 8)] = 2
    """min.insync.replicas."""
    initial_isr: Annotated[int, Range(0, 8)] = 1
    """In-sync replicas at the start (0: all)."""
    unclean: Unclean = Unclean.EITHER
    """unclean.leader.election.enable; `either` explores both."""
    in_flight: Annotated[int, Range(1, 3)] = 1
    """AlterPartition requests on their way to the controller at one time."""
    admin_requests: Annotated[int, Range(0, 6)] = 2
    """Requests of the administrator: reassignments, other targets, cancellations."""
    disturbances: Annotated[int, Range(0, 6)] = 1
    """Times that a broker is fenced, shuts down uncleanly, or is to be dropped from the ISR because it lags."""
    shutdowns: Annotated[int, Range(0, 6)] = 1
    """How many of the disturbances may be unclean shutdowns."""

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")
        if self.initial_isr > self.replication_factor:
            raise ValueError(f"initial_isr={self.initial_isr} is more than {self.replication_factor} replicas")

    @property
    def max_epoch(self) -> int:
        """The highest epoch: the number of changes that the limits allow.

        A disturbance is one change, one election and one return to the ISR. A request of the administrator is one
        change, and an election or as many joins as there are brokers. First of all, the initial ISR fills up.
        """
        return 3 * self.disturbances + (1 + self.brokers) * self.admin_requests + self.replication_factor

    @property
    def partitions(self) -> int:
        return 1

    @property
    def least_min_isr(self) -> int:
        """The lowest value that min.insync.replicas takes; a variant may change it on the way."""
        return self.min_isr

    @property
    def most_min_isr(self) -> int:
        return self.min_isr

    @property
    def max_broker_epoch(self) -> int:
        """Registrations that a broker may make."""
        return self.shutdowns


BrokerEpoch = Annotated[int, Range(0, "max_broker_epoch")]
"""The incarnation of a broker: how often it has registered anew."""


@dataclass(frozen=True)
class AlterPartition:
    """The leader's request for another ISR, with the epochs it knew when it sent it."""

    source: Broker
    leader_epoch: Epoch
    partition_epoch: Epoch
    isr: Brokers
    broker_epochs: Map[Broker, BrokerEpoch]


@dataclass(frozen=True)
class Cluster:
    partition: Partition
    min_isr: Annotated[int, Range("least_min_isr", "most_min_isr")]
    """min.insync.replicas."""
    unclean: bool
    """Whether the topic allows unclean leader election."""
    unfenced: Brokers
    """Brokers that are registered, alive, and not fenced."""
    broker_epochs: Map[Broker, BrokerEpoch]
    """Which incarnation of a broker is registered; an unclean shutdown makes another."""
    requests: Annotated[frozenset[AlterPartition], MaxSize("in_flight")]
    """AlterPartition requests in flight, in no order."""
    leader_isr: Brokers
    """The ISR in the leader's copy of the metadata."""
    proposed: Brokers
    """The ISR that the leader has asked for without an answer yet; empty if none."""
    complete: Brokers
    """Replicas that hold everything committed: the ghost of K12.

    Logs have no gaps, so this is also what a leader sees as a fetch offset at the high watermark: who may join the ISR.
    """
    original: Replicas
    """Ghost, kept by the administrator's steps alone: the replicas when the last reassignment was started."""
    wanted: Replicas
    """Ghost, kept by the administrator's steps alone: what was asked for last; after a cancellation, `original`."""
    asked: Annotated[int, Range(0, "admin_requests")]
    """Requests that the administrator has made."""
    disturbed: Annotated[int, Range(0, "disturbances")]
    """Disturbances that there have been."""


def watched(s: Cluster, c: Config) -> Watched:
    return Watched(s.partition, s.min_isr, s.unclean, s.asked, frozenset(s.wanted))


def duties(s: Cluster, c: Config) -> Duties:
    p = s.partition
    copies = Copies(
        replicas=p.replicas,
        isr=p.isr,
        leader=p.leader,
        min_isr=s.min_isr,
        wanted=frozenset(s.wanted),
        moving=reassigning(p),
        whole=s.complete,
        loss_allowed=s.unclean,
        leaving=NOBODY,
        down=every(Broker, c) - s.unfenced,
        load=len(p.adding - p.isr),
        limit=64,
    )
    return Duties(
        all=every(Part, c),
        parts=fill(Part, c, copies),
        partitions_moving=1 if reassigning(p) else 0,
        partitions_limit=64,
        leaders_moving=0,
        leaders_limit=64,
    )


@initial
def settled(c: Config, unclean: bool) -> Cluster:
    """A partition on the first brokers, led by broker 1, everybody alive."""
    require(c.unclean == Unclean.EITHER or unclean == (c.unclean == Unclean.ON))
    replicas = tuple(sorted(first(c.replication_factor, c)))
    isr = first(c.initial_isr if c.initial_isr > 0 else c.replication_factor, c)
    return Cluster(
        partition=Partition(
            replicas=replicas,
            isr=isr,
            elr=NOBODY,
            adding=NOBODY,
            removing=NOBODY,
            leader=Broker(1),
            leader_epoch=0,
            partition_epoch=0,
            recovering=False,
            last_known_leader=None,
        ),
        min_isr=c.min_isr,
        unclean=unclean,
        unfenced=every(Broker, c),
        broker_epochs=fill(Broker, c, 0),
        requests=frozenset(),
        leader_isr=isr,
        proposed=NOBODY,
        complete=isr,
        original=replicas,
        wanted=replicas,
        asked=0,
        disturbed=0,
    )
