"""`kraft_kafka` with targets in any order: the first is the preferred leader, and a request may only reorder (K19).

It has the property of whom a cancellation elects too (K9), which depends on the order.
"""

from reassure import Action, action, cover, require, step_property
from reassure.models.kraft import kraft_kafka
from reassure.models.kraft.kafka_answers import controller_answer as controller_answer
from reassure.models.kraft.kraft_kafka import Config, Kafka, cancel, reassigned
from reassure.models.kraft.properties import cancel_elects_from_the_isr
from reassure.spec.kafka.partition import Replicas, ended, members, reassigning


def valid(target: Replicas) -> bool:
    """The list is not empty and repeats no broker."""
    return target != () and len(frozenset(target)) == len(target)


@action(who="admin", tags=["start"])
def start(s: Kafka, c: Config, target: Replicas) -> Kafka:
    """As the original, for a list; it may be another order of the present replicas."""
    require(not reassigning(s.partition) and s.asked < c.admin_requests)
    require(valid(target) and target != s.partition.replicas)
    return reassigned(s, c, target)


@action(who="admin", tags=["retarget"])
def retarget(s: Kafka, c: Config, target: Replicas) -> Kafka:
    """As the original, for a list."""
    require(reassigning(s.partition) and s.asked < c.admin_requests)
    require(valid(target) and target != s.wanted)
    return reassigned(s, c, target)


@step_property
def completion_is_in_the_order_asked_for(before: Kafka, after: Kafka, action: Action) -> bool:
    """K19. Otherwise another broker than was asked for is the preferred leader.

    The order after a cancellation is that of `cancel_restores_the_order`.
    """
    a = after.partition
    same_brokers = members(a) == frozenset(after.wanted)
    return action == cancel or not ended(before.partition, a) or not same_brokers or a.replicas == after.wanted


@cover(on=start)
def only_reordered(before: Kafka, after: Kafka) -> bool:
    """A request changes the order and nothing else."""
    b, a = before.partition, after.partition
    return members(a) == members(b) and a.replicas != b.replicas and not reassigning(a)


MODEL = kraft_kafka.MODEL.replacing(start, retarget)
MODEL = MODEL.adding(completion_is_in_the_order_asked_for, cancel_elects_from_the_isr, only_reordered)
