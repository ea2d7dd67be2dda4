"""Flaw of the existing algorithm: the last LeaderAndIsr request names OAR + RAR; leaving replicas may join the ISR."""

from reassure import action, replace
from reassure.models.kip435_batching import reassignment_classic
from reassure.models.kip435_batching.reassignment_classic import led, logging
from reassure.models.kip435_batching.zookeeper_cluster import Cluster
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """As the original, but the leader still knows all replicas that it knew."""
    after = led(s, part)
    return logging(after, part, replace(after.logs[part], told=s.logs[part].told))


MODEL = reassignment_classic.MODEL.replacing(lead)
SETTINGS = ["brokers=3", "deaths=1", "crashes=0"]
BREAKS = {
    "isr_is_assigned": 15,
    "ends_without_leftovers": 16,
    "leaving_replicas_stay_out": 13,
    "deadlock": 18,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
