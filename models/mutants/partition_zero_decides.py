"""Flaw: the MinISR of every partition is limited to the replicas of partition 0, as in Kafka's controller."""

from reassure import Map, action, fill
from reassure.models.kraft import kraft_several
from reassure.models.kraft.kraft_several import Cluster, Config, reassigned
from reassure.spec.kafka.partition import Brokers
from reassure.spec.kafka.shared_properties import Part


@action(who="admin", tags=["start"])
def reassign(s: Cluster, c: Config, chosen: frozenset[Part], targets: Map[Part, Brokers]) -> Cluster:
    """As the original, with that MinISR."""
    least = min(c.min_isr, len(s.parts[Part(0)].replicas))
    return reassigned(s, c, chosen, targets, fill(Part, c, least))


MODEL = kraft_several.MODEL.replacing(reassign)
SETTINGS = ["brokers=2", "replication_factor=1", "lapses=0"]
BREAKS = {"each_completion_needs_its_min_isr": 4, "each_partition_is_judged_by_itself": 4}
"""The properties that are violated, and the number of states in the shortest trace of each."""
