"""The model that runs of real clusters are compared with, step by step (`reassure kafka cluster --random`).

It is `kraft_kafka_operated` from any replicas, with the targets of `kraft_kafka_ordered`, and with limits that no run
of a cluster reaches. It is not searched, and so not among the models: its steps are theirs, but for these. A leader's
request and the answer that changes the partition are one step, in which several followers that lag may be dropped: a
metadata log shows no other request, and a change between the two would have the request refused. Followers of a leader
that lacks records truncate their logs, and catch up. An administrator may ask for an unclean election, and for the
replicas that there are, or that were asked for last: that may change the ELR.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, every, fill, initial, replace, require
from reassure.models.kraft import kraft_kafka, kraft_kafka_operated, kraft_kafka_ordered
from reassure.models.kraft.kafka_controller import Election, unchanged
from reassure.models.kraft.kraft_kafka import Cause, changed, written
from reassure.models.kraft.kraft_kafka_operated import Operated
from reassure.models.kraft.protocol import proposes
from reassure.models.kraft.state import Unclean
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas, members, reassigning

HIDDEN = ("catch_up",)
"""Steps that a metadata log does not show.

`commit` is not needed: it says who lacks records, and whoever does can catch up.
"""

LOSSES = (
    kraft_kafka.nothing_lost_by_a_completion,
    kraft_kafka.nothing_lost_by_a_cancellation,
    kraft_kafka.nothing_lost_otherwise,
)
"""Properties that say by what records are lost."""


@dataclass(frozen=True)
class Config(kraft_kafka_operated.Config):
    admin_requests: Annotated[int, Range(0, 60)] = 60
    """As in `kraft`."""
    disturbances: Annotated[int, Range(0, 60)] = 60
    """As in `kraft`."""
    shutdowns: Annotated[int, Range(0, 30)] = 30
    """As in `kraft`."""
    restarts: Annotated[int, Range(0, 30)] = 30
    """As in `kraft_kafka_operated`."""
    controlled_shutdowns: Annotated[int, Range(0, 30)] = 30
    """As in `kraft_kafka_operated`."""
    min_isr_changes: Annotated[int, Range(0, 30)] = 30
    """As in `kraft_kafka_operated`."""


@initial
def any_replicas(c: Config, replicas: Replicas, unclean: bool) -> Operated:
    """A new topic with these replicas, each in sync, the first one leading."""
    require(kraft_kafka_ordered.valid(replicas) and len(replicas) == c.replication_factor)
    require(c.unclean == Unclean.EITHER or unclean == (c.unclean == Unclean.ON))
    in_sync = frozenset(replicas)
    return Operated(
        partition=Partition(
            replicas=replicas,
            isr=in_sync,
            elr=NOBODY,
            adding=NOBODY,
            removing=NOBODY,
            leader=replicas[0],
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
        leader_isr=in_sync,
        proposed=NOBODY,
        complete=in_sync,
        original=replicas,
        wanted=replicas,
        asked=0,
        disturbed=0,
    )


@action(who="admin", tags=["start"])
def start(s: Operated, c: Config, target: Replicas) -> Operated:
    """As in `kraft_kafka_ordered`, and for the present list too."""
    require(not reassigning(s.partition) and kraft_kafka_ordered.valid(target))
    return kraft_kafka.reassigned(s, c, target)  # type: ignore[return-value]


@action(who="admin", tags=["retarget"])
def retarget(s: Operated, c: Config, target: Replicas) -> Operated:
    """As in `kraft_kafka_ordered`, and for the same list again."""
    require(reassigning(s.partition) and kraft_kafka_ordered.valid(target))
    return kraft_kafka.reassigned(s, c, target)  # type: ignore[return-value]


@action(who="follower", fair="weak", fair_each=("follower",))
def catch_up(s: Operated, follower: Broker) -> Operated:
    """As the original, but also with a leader that lacks committed records: the follower truncates its log."""
    p = s.partition
    require(p.leader is not None and follower in members(p) & s.unfenced and follower not in s.complete)
    return replace(s, complete=s.complete | {follower})


@action(who="leader", tags=["complete"])
def alter_partition(s: Operated, c: Config, isr: Brokers) -> Operated:
    """The leader, which has heard of the last change, asks for another ISR, and the controller writes it.

    It asks to add one follower that has caught up, or to drop followers that lag.
    """
    p = s.partition
    joining = isr - p.isr
    require(p.leader is not None and p.leader in isr and isr != p.isr)
    require(joining <= members(p) & s.unfenced & s.complete and len(joining) <= 1)
    require(joining == NOBODY or p.isr <= isr)
    heard = replace(s, leader_isr=p.isr, proposed=NOBODY, requests=frozenset())
    asked = proposes(heard, c, isr)
    request = next(r for r in asked.requests)
    after = kraft_kafka.altered(asked, c, request, True)  # type: ignore[arg-type]
    require(after.partition != p)
    return after  # type: ignore[return-value]


@action(who="admin")
def elect_by_hand(s: Operated, c: Config) -> Operated:
    """ElectLeaders with an unclean election, of a partition without a leader."""
    require(s.partition.leader is None)
    outcome = changed(s, c, unchanged(s.partition, Election.UNCLEAN), NOBODY)
    require(not outcome.throws and outcome.partition != s.partition)
    return written(s, outcome.partition, Cause.NOTHING)  # type: ignore[return-value]


def model() -> Model:
    """The model, without properties: only its steps are needed."""
    whole = kraft_kafka_operated.MODEL.adding(any_replicas, elect_by_hand)
    left_out = ("settled", "propose_shrink", "propose_expansion", "hear", "commit")
    parts = whole.without(*(p.name for p in whole.properties), *left_out)
    return parts.replacing(start, retarget, catch_up, alter_partition, config=Config)
