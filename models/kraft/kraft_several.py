"""Several partitions in one request, by the rules of `kraft` (K17): each partition is judged by itself.

The controller answers a request partition by partition. The partitions share brokers and min.insync.replicas, and
nothing else: no rule of the document reads another partition. Here are the requests and the growing and shrinking of
each ISR; what one partition goes through beyond that is in `kraft`.

Left out: failures of brokers, cancellations, other targets on the way, epochs that are not raised by a change.
"""

from dataclasses import dataclass
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
    replace,
    require,
    some,
    step_property,
    terminal,
)
from reassure.models.kraft.rules import changed, completed, completes, finished, may_lead, recorded, retargeted
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, ended, first, members, moved, reassigning
from reassure.spec.kafka.shared_properties import Part


@dataclass(frozen=True)
class Config:
    brokers: Annotated[int, Range(1, 5)] = 3
    """Brokers in the cluster, all of them alive."""
    partitions: Annotated[int, Range(1, 3)] = 2
    """Partitions, all on the same brokers at the start."""
    replication_factor: Annotated[int, Range(1, 5)] = 2
    """Replicas at the start: brokers 1, 2, ..."""
    min_isr: Annotated[int, Range(1, 5)] = 2
    """min.insync.replicas of every partition."""
    requests: Annotated[int, Range(0, 3)] = 2
    """Requests of the administrator; each may be about several partitions."""
    lapses: Annotated[int, Range(0, 3)] = 1
    """Times that a follower leaves an ISR."""

    def __post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor={self.replication_factor} is more than brokers={self.brokers}")

    @property
    def max_epoch(self) -> int:
        """Each request is a change and as many joins as there are brokers, each lapse a change and a join."""
        return (1 + self.brokers) * self.requests + 2 * self.lapses + self.replication_factor


@dataclass(frozen=True)
class Cluster:
    parts: Map[Part, Partition]
    wanted: Map[Part, Brokers]
    """Ghost: what was asked for last, or the replicas at the start."""
    asked: Annotated[int, Range(0, "requests")]
    lapsed: Annotated[int, Range(0, "lapses")]


@initial
def settled(c: Config) -> Cluster:
    """Every partition on the first brokers, led by broker 1, which alone is in sync."""
    replicas = first(c.replication_factor, c)
    p = Partition(tuple(sorted(replicas)), NOBODY | {Broker(1)}, NOBODY, NOBODY, NOBODY, Broker(1), 0, 0, False, None)
    return Cluster(fill(Part, c, p), fill(Part, c, replicas), 0, 0)


def applies(p: Partition, target: Brokers, min_isr: int, c: Config, after: Partition) -> bool:
    """Whether `after` is what a request for `target` makes of a partition: growth, or a completion at once (K1, K5)."""
    grown = retargeted(p, target)
    if not completes(grown, p.isr, min_isr):
        return after == recorded(p, grown, new_reign=False)
    leads = may_lead(p, p.isr - grown.removing, every(Broker, c), after.leader)
    return leads and after == recorded(p, completed(grown, p.isr, after.leader), new_reign=True)


def started(p: Partition, target: Brokers, min_isr: int, c: Config) -> Partition:
    """The partition after a request; a leader that is removed is succeeded by the lowest number in sync."""
    grown = retargeted(p, target)
    if not completes(grown, p.isr, min_isr):
        return recorded(p, grown, new_reign=False)
    left = p.isr - grown.removing
    leader = p.leader if p.leader is not None and p.leader in left else min(left, default=None)
    return recorded(p, completed(grown, p.isr, leader), new_reign=True)


@action(who="admin", tags=["start"])
def reassign(s: Cluster, c: Config, chosen: frozenset[Part], targets: Map[Part, Brokers]) -> Cluster:
    """One request for some partitions, each with a target of its own."""
    return reassigned(s, c, chosen, targets, fill(Part, c, c.min_isr))


def reassigned(
    s: Cluster, c: Config, chosen: frozenset[Part], targets: Map[Part, Brokers], enough: Map[Part, int]
) -> Cluster:
    """enough: the MinISR that each partition is judged by."""
    require(s.asked < c.requests and chosen != frozenset())
    require(all((targets[x] == NOBODY) != (x in chosen) for x in every(Part, c)))
    require(all(not reassigning(s.parts[x]) and targets[x] != members(s.parts[x]) for x in chosen))
    return replace(
        s,
        asked=s.asked + 1,
        parts=Map(
            {x: started(s.parts[x], targets[x], enough[x], c) if x in chosen else s.parts[x] for x in every(Part, c)}
        ),
        wanted=Map({x: targets[x] if x in chosen else s.wanted[x] for x in every(Part, c)}),
    )


@action(who="leader", fair="weak", tags=["complete"])
def join(s: Cluster, c: Config, part: Part, broker: Broker) -> Cluster:
    """A follower has caught up: the leader's AlterPartition request adds it, and may complete the reassignment (K2)."""
    p = s.parts[part]
    leader = some(p.leader)
    require(broker in members(p) - p.isr)
    isr = p.isr | {broker}
    if not completes(p, isr, c.min_isr):
        return replace(s, parts=s.parts.put(part, changed(p, isr, c.min_isr)))
    left = isr - p.removing
    return replace(s, parts=s.parts.put(part, finished(p, isr, leader if leader in left else min(left, default=None))))


@action(who="leader")
def lapse(s: Cluster, c: Config, part: Part, broker: Broker) -> Cluster:
    """A follower lags, and the leader's AlterPartition request drops it."""
    p = s.parts[part]
    require(s.lapsed < c.lapses and broker in p.isr and broker != p.leader)
    after = changed(p, p.isr - {broker}, c.min_isr)
    return replace(s, parts=s.parts.put(part, after), lapsed=s.lapsed + 1)


@terminal
def may_rest(s: Cluster, c: Config) -> bool:
    """Everybody is in sync: what is still pending has a target smaller than MinISR (K11)."""
    return all(s.parts[x].isr == members(s.parts[x]) for x in every(Part, c))


# -- claims ---------------------------------------------------------------------------------------------


@step_property
def each_completion_needs_its_min_isr(before: Cluster, after: Cluster, c: Config) -> bool:
    """K17, K2. Otherwise one partition of a request completes because another one may."""
    return all(
        not ended(before.parts[x], after.parts[x]) or len(after.parts[x].isr) >= c.min_isr for x in every(Part, c)
    )


@step_property(on=reassign)
def each_partition_is_judged_by_itself(
    before: Cluster, after: Cluster, c: Config, chosen: frozenset[Part], targets: Map[Part, Brokers]
) -> bool:
    """K17. Otherwise what becomes of a partition depends on which others are named in the same request."""
    return all(applies(before.parts[x], targets[x], c.min_isr, c, after.parts[x]) for x in chosen)


@step_property
def others_stay_as_they_are(before: Cluster, after: Cluster, c: Config) -> bool:
    """K17. Otherwise a reassignment of one partition starts or ends one of another."""
    return all(
        not moved(before.parts[x], after.parts[x])
        or before.wanted[x] != after.wanted[x]
        or frozenset(after.parts[x].replicas) == after.wanted[x]
        for x in every(Part, c)
    )


@cover(on=reassign)
def one_completes_and_another_waits(before: Cluster, after: Cluster, c: Config, chosen: frozenset[Part]) -> bool:
    """K17: of the partitions of one request one is done at once, and one is pending."""
    done = any(ended(before.parts[x], after.parts[x]) for x in chosen)
    return done and any(reassigning(after.parts[x]) for x in chosen)


@cover(tags=["complete"])
def completes_while_another_moves(before: Cluster, after: Cluster, c: Config) -> bool:
    """K17: a reassignment completes while that of another partition goes on."""
    done = any(reassigning(before.parts[x]) and not reassigning(after.parts[x]) for x in every(Part, c))
    return done and any(reassigning(after.parts[x]) for x in every(Part, c))


MODEL = Model.of(__name__, state=Cluster, config=Config)
