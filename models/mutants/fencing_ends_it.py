"""Flaw: fencing a broker that is being added ends the reassignment, though nobody has cancelled it."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided, left
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, without


@action(who="controller")
def fence(s: Cluster, c: Config, broker: Broker, successor: Broker | None) -> Cluster:
    """As the original, but if the broker was being added, the reassignment ends without the added replicas."""
    require(broker in s.unfenced and s.disturbed < c.disturbances)
    fenced = replace(s, unfenced=s.unfenced - {broker}, disturbed=s.disturbed + 1)
    after = left(fenced, broker, True, successor)
    p = after.partition
    if broker not in p.adding:
        return after
    kept = without(p.replicas, p.adding)
    ended = replace(p, replicas=kept, isr=p.isr - p.adding, elr=p.elr - p.adding, adding=NOBODY, removing=NOBODY)
    return decided(after, replace(ended, partition_epoch=s.partition.partition_epoch + 1))


MODEL = kraft.MODEL.replacing(fence)
BREAKS = {
    "ends_at_a_request_or_a_new_isr": 3,
    "completion_needs_min_isr": 3,
    "leads_where_it_was_asked_to": 3,
    "only_completion_or_cancellation_ends_it": 3,
    "completion_is_of_the_target_asked_for": 3,
    "completion_raises_leader_epoch": 3,
    "reassignment_keeps_min_isr": 6,
    "own_steps_keep_min_isr": 6,
    "moves_end_as_wanted": 3,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
