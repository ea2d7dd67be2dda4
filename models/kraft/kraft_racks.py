"""A plan that spreads replicas over racks, carried out by KRaft's reassignment (X1).

KIP-36 places replicas so that no rack has two of them or, with fewer racks than replicas, each has
one. It does not say which replica sets a reassignment passes through between two such plans. Here brokers take turns
over the racks (the first broker of rack 0 is 1, of rack 1 it is 2, ...), the partition starts as such a plan, and the
administrator asks for nothing but such plans of the same replication factor. Everything else is `kraft`.

The claims here depend on the fact that MinISR counts replicas, not racks.
"""

from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Range, action, cover, every, invariant, require, step_property
from reassure.models.kraft import kraft, protocol, state
from reassure.models.kraft.state import Cluster
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, members, moved, reassigning


class Rack(Id, size="racks"):
    """A rack, numbered from 0."""


@dataclass(frozen=True)
class Config(state.Config):
    racks: Annotated[int, Range(1, 4)] = 3
    """Racks; the brokers are spread over them in turn."""


def of(rack: Rack, c: Config) -> Brokers:
    """The brokers of a rack."""
    number = sum(1 for x in every(Rack, c) if x < rack)
    return frozenset(b for b in every(Broker, c) if sum(1 for x in every(Broker, c) if x < b) % c.racks == number)


def covered(brokers: Brokers, c: Config) -> int:
    """How many racks have one of these brokers."""
    return sum(1 for rack in every(Rack, c) if brokers & of(rack, c) != NOBODY)


def spread(brokers: Brokers, c: Config) -> bool:
    """As the placement promises (R3): at most one in each rack or, with fewer racks, at least one."""
    return covered(brokers, c) == min(len(brokers), c.racks)


def survives_any_rack(brokers: Brokers, c: Config) -> bool:
    """If any one rack is lost, one of these brokers is left."""
    return all(brokers - of(rack, c) != NOBODY for rack in every(Rack, c))


def a_plan(target: Brokers, c: Config) -> bool:
    """What the placement could have made with the topic's replication factor."""
    return len(target) == c.replication_factor and spread(target, c)


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """As the original, for plans that the placement makes."""
    require(a_plan(target, c))
    return protocol.start(s, c, target, successor)  # type: ignore[no-any-return]


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """As the original, for plans that the placement makes."""
    require(a_plan(target, c))
    return protocol.retarget(s, c, target, successor)  # type: ignore[no-any-return]


@invariant
def replicas_are_spread(s: Cluster, c: Config) -> bool:
    """X1. Otherwise one rack carries two copies, and the load on its network and disks doubles."""
    return spread(members(s.partition), c)


@invariant
def replicas_are_spread_when_settled(s: Cluster, c: Config) -> bool:
    """X1 before and after. Otherwise a reassignment, or its cancellation, undoes what the placement did."""
    return reassigning(s.partition) or spread(members(s.partition), c)


@invariant
def replicas_cover_as_many_racks_as_a_plan(s: Cluster, c: Config) -> bool:
    """X1. Otherwise the loss of one rack takes more copies at a time than with either plan."""
    return covered(members(s.partition), c) >= min(c.replication_factor, c.racks)


@invariant(when=lambda c: c.racks > 1 and c.replication_factor > 1 and c.disturbances == 0 and c.initial_isr == 0)
def any_rack_may_be_lost(s: Cluster, c: Config) -> bool:
    """X1, where nothing else fails. Otherwise one rack, lost at a bad moment, takes every in-sync replica with it."""
    return survives_any_rack(s.partition.isr, c)


@step_property
def reassignment_keeps_racks_apart(before: Cluster, after: Cluster, c: Config) -> bool:
    """X1, whatever has failed. Otherwise a reassignment itself puts everything in sync into one rack."""
    b, a = before.partition, after.partition
    return not moved(b, a) or before.unclean or not survives_any_rack(b.isr, c) or survives_any_rack(a.isr, c)


@step_property
def reassignment_keeps_whole_copies_apart(before: Cluster, after: Cluster, c: Config) -> bool:
    """X1, counting every complete copy, in sync or not. Otherwise the loss of one rack may lose the data."""
    b, a = before.partition, after.partition
    return (
        not moved(b, a)
        or before.unclean
        or not survives_any_rack(before.complete, c)
        or survives_any_rack(after.complete, c)
    )


@cover(tags=["complete"])
def a_replica_has_moved(before: Cluster, after: Cluster) -> bool:
    """Guards against vacuity: some plan is carried out."""
    b, a = before.partition, after.partition
    return reassigning(b) and not reassigning(a) and frozenset(before.original) - members(a) != NOBODY


CLAIMS = (
    replicas_are_spread,
    replicas_are_spread_when_settled,
    replicas_cover_as_many_racks_as_a_plan,
    any_rack_may_be_lost,
    reassignment_keeps_racks_apart,
    reassignment_keeps_whole_copies_apart,
    a_replica_has_moved,
)

MODEL = kraft.MODEL.replacing(start, retarget, config=Config)
MODEL = MODEL.without("pure_removal_done_at_once", "target_below_min_isr_waits_for_ever").adding(*CLAIMS)
