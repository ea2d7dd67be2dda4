"""Flaw of batching: a change of the limits on partitions and leaders throws away the steps that are running."""

from reassure import Map, action, every, replace
from reassure.models.kip435_batching import batching, zookeeper_cluster
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Limits, resting
from reassure.spec.kafka.shared_properties import Part


@action(who="admin")
def reconfigure(s: Cluster, c: Config, limits: Limits) -> Cluster:
    """As the original, but each partition begins anew from what the store has if P or L has changed."""
    after: Cluster = zookeeper_cluster.reconfigure(s, c, limits)
    if limits.partitions == s.limits.partitions and limits.leaders == s.limits.leaders:
        return after
    return replace(after, memory=Map({x: resting(s.stored[x].assignment) for x in every(Part, c)}))


MODEL = batching.MODEL.replacing(reconfigure)
SETTINGS = ["brokers=3", "partitions=2", "replication_factor=1", "min_isr=1", "changes=1", "deaths=0", "crashes=0"]
BREAKS = {"running_step_is_left_as_it_is": 4}
"""The properties that are violated, and the number of states in the shortest trace of each."""
