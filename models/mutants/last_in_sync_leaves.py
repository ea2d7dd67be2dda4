"""Flaw of the existing algorithm: step 8 removes leaving replicas from the ISR even if it becomes empty."""

from reassure import action, replace
from reassure.models.kip435_batching import reassignment_classic
from reassure.models.kip435_batching.reassignment_classic import stopped, storing
from reassure.models.kip435_batching.zookeeper_cluster import Cluster
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak")
def stop(s: Cluster, part: Part) -> Cluster:
    """As the original, but for the last member."""
    after = stopped(s, part)
    left = s.stored[part].isr - s.memory[part].dropping
    return storing(after, part, replace(after.stored[part], isr=left))


MODEL = reassignment_classic.MODEL.replacing(stop)
SETTINGS = ["brokers=3", "deaths=2", "crashes=0", "one_event=false"]
BREAKS = {
    "own_steps_keep_min_isr": 14,
    "own_steps_keep_a_leader": 14,
    "own_steps_keep_an_in_sync_copy": 15,
    "isr_is_never_empty": 15,
    "new_replicas_stay_out": 15,
    "deadlock": 20,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
