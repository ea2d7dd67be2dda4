"""Controllers with batches and controllers without them take turns (claim B15): a cluster that is being upgraded.

Whenever a controller dies the next one is of the other kind. With batches it is the repaired algorithm (`batching`),
without them the one that existed (`reassignment_classic`); each finds in the store what the other has left there.
"""

from reassure import action, cover, every, invariant, require
from reassure.models.kip435_batching import batching, reassignment_classic
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, noticed, take_over
from reassure.spec.kafka.partition import first
from reassure.spec.kafka.shared_properties import Part


def batches(s: Cluster) -> bool:
    """Whether the present controller moves in batches: the first one does, the second does not, and so on."""
    return s.crashed % 2 == 0


@action(who="controller", fair="weak", fair_each=("part",))
def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
    """The next batch, or all that is asked for."""
    after: Cluster = batching.calculate(s, c, part) if batches(s) else reassignment_classic.calculate(s, c, part)
    return after


@action(who="controller", fair="weak", fair_each=("part",))
def remember(s: Cluster, part: Part) -> Cluster:
    """6. Put off to 8, or at once."""
    after: Cluster = batching.remember(s, part) if batches(s) else reassignment_classic.remember(s, part)
    return after


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """7. The leader that is to be preferred, or any of those asked for."""
    after: Cluster = batching.lead(s, part) if batches(s) else reassignment_classic.lead(s, part)
    return after


@action(who="controller", fair="weak", fair_each=("part",))
def lead_again(s: Cluster, part: Part) -> Cluster:
    """7 once more, which only batches have."""
    require(batches(s))
    after: Cluster = batching.lead_again(s, part)
    return after


@action(who="controller", fair="weak", fair_each=("part",))
def stop(s: Cluster, c: Config, part: Part) -> Cluster:
    """8. As soon as enough is in sync without what goes, or at once."""
    after: Cluster = batching.stop(s, c, part) if batches(s) else reassignment_classic.stop(s, part)
    return after


@action(who="controller", fair="weak", fair_each=("part",))
def notice(s: Cluster, c: Config, part: Part) -> Cluster:
    """Between any two steps of a batch, or where the existing algorithm waits."""
    after: Cluster = noticed(s, part) if batches(s) else reassignment_classic.notice(s, c, part)
    return after


@invariant
def copies_within_limit(s: Cluster, c: Config) -> bool:
    """B15, B11. Otherwise a partition has more copies at once than its replicas and R, and as many followers fetch."""
    most = max(c.replication_factor, c.wanted) + c.replicas_at_once
    return all(len(s.logs[x].hosting) <= most for x in every(Part, c))


def between_lists(s: Cluster, c: Config, part: Part) -> bool:
    """A reassignment has left the replicas that it began with, and not come to those asked for."""
    p = s.stored[part]
    members = frozenset(p.assignment)
    return p.target != () and members != first(c.replication_factor, c) and members != frozenset(p.target)


@cover(on=take_over, when=lambda c: c.crashes > 0)
def takes_over_from_a_batch(before: Cluster, after: Cluster, c: Config) -> bool:
    """B15: a controller without batches finds a batch that is half done."""
    return not batches(after) and any(between_lists(after, c, x) for x in every(Part, c))


@cover(on=take_over, when=lambda c: c.crashes > 1)
def takes_over_for_a_batch(before: Cluster, after: Cluster, c: Config) -> bool:
    """B15: a controller with batches finds a reassignment of a controller without batches."""
    return batches(after) and any(between_lists(after, c, x) for x in every(Part, c))


MODEL = batching.MODEL.replacing(calculate, remember, lead, lead_again, stop, notice).adding(
    copies_within_limit, takes_over_from_a_batch, takes_over_for_a_batch
)
