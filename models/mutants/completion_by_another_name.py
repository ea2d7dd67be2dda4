"""Flaw: a step outside the rules completes a reassignment, with neither MinISR nor the added replicas in sync."""

from reassure import action, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import decided
from reassure.models.kraft.rules import finished, may_lead
from reassure.models.kraft.state import Cluster
from reassure.spec.kafka.partition import Broker, reassigning


@action(who="controller")
def tidy(s: Cluster, successor: Broker | None) -> Cluster:
    """It has neither the tag nor the name of a completion; only its effect is one."""
    p = s.partition
    require(reassigning(p))
    require(may_lead(p, p.isr - p.removing, s.unfenced, successor))
    return decided(s, finished(p, p.isr, successor))


MODEL = kraft.MODEL.adding(tidy)
BREAKS = {
    "ends_at_a_request_or_a_new_isr": 3,
    "completion_needs_min_isr": 3,
    "completion_needs_everything_added": 3,
    "only_completion_or_cancellation_ends_it": 3,
    "reassignment_keeps_min_isr": 6,
    "leader_has_a_successor": 3,
    "own_steps_keep_min_isr": 6,
    "own_steps_keep_a_leader": 3,
    "own_steps_keep_an_in_sync_copy": 3,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
