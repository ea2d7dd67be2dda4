"""`kraft_ordered` with completion to the letter (K19): the list of replicas becomes the target, in its order.

For that the controller keeps the target as a list until the reassignment completes; the ghost `wanted` is that list
here. A request for the present replicas in another order adds and removes nothing, and so is one change.
"""

from reassure import action, cover, require
from reassure.models.kraft import kraft_ordered, protocol
from reassure.models.kraft.rules import recorded
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Replicas, ended, members, reassigning
from reassure.spec.language.vocabulary import replace


def in_the_order_of_the_target(before: Cluster, after: Cluster) -> Cluster:
    """If the step completes a reassignment its list is the target's."""
    p = after.partition
    if not ended(before.partition, p) or members(p) != frozenset(after.wanted):
        return after
    return replace(after, partition=replace(p, replicas=after.wanted))


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Replicas, successor: Broker | None) -> Cluster:
    """As the original, or another order of the present replicas, if enough of them are in sync."""
    p = s.partition
    if frozenset(target) != members(p):
        return in_the_order_of_the_target(s, kraft_ordered.start(s, c, target, successor))
    require(not reassigning(p) and s.asked < c.admin_requests)
    require(target != p.replicas and len(target) == len(p.replicas))
    require(len(p.isr) >= s.min_isr and successor == p.leader)
    asked = replace(s, asked=s.asked + 1, original=p.replicas, wanted=target)
    return protocol.decided(asked, recorded(p, replace(p, replicas=target), new_reign=True))


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Replicas, successor: Broker | None) -> Cluster:
    """As the original, for a list without repetitions."""
    require(len(frozenset(target)) == len(target))
    after: Cluster = protocol.retarget(s, c, frozenset(target), successor)
    return in_the_order_of_the_target(s, replace(after, wanted=target))


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for the order."""
    return in_the_order_of_the_target(s, protocol.alter_partition(s, c, request, successor))


@cover(on=start)
def only_reordered(before: Cluster, after: Cluster) -> bool:
    """K19: a request changes the order and nothing else."""
    b, a = before.partition, after.partition
    return members(a) == members(b) and a.replicas != b.replicas and not reassigning(a)


MODEL = kraft_ordered.MODEL.replacing(start, retarget, alter_partition).adding(only_reordered)
