"""Flaw of the throttled batch: it ends as soon as one of its replicas is in sync, and drops too few old replicas."""

from reassure import action, replace, require
from reassure.models.kip542_throttle import throttled_batch
from reassure.models.kip542_throttle.throttled_batch import Cluster, Config, target
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers


@action(who="controller", fair="weak")
def end_batch(s: Cluster, c: Config, dropped: Brokers, successor: Broker) -> Cluster:
    """As the original, but one replica of the batch in sync is enough, and fewer old replicas go."""
    require(s.batch & s.isr != NOBODY)
    excess = s.assigned - target(c)
    require(dropped <= excess and len(dropped) == len(s.batch & s.isr))
    isr = s.isr - dropped
    require(successor == s.leader if s.leader in isr else successor in isr)
    return replace(s, assigned=s.assigned - dropped, isr=isr, leader=successor, batch=NOBODY)


MODEL = throttled_batch.MODEL.replacing(end_batch)
SETTINGS = ["replicas=2", "batch=2"]
BREAKS = {"batch_ends_in_sync": 9, "moves_end_as_wanted": 9}
"""The properties that are violated, and the number of states in the shortest trace of each."""
