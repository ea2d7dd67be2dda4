"""Flaw: while a reassignment goes on, another target is answered with success and ignored."""

from reassure import action, replace, require
from reassure.models.kraft import kraft
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, members, reassigning, target_of


@action(who="admin", tags=["retarget"])
def retarget(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """As the original, but the first target stays."""
    p = s.partition
    require(reassigning(p) and s.asked < c.admin_requests)
    require(target != NOBODY and target != target_of(p) and target != members(p) - p.adding)
    require(successor == p.leader)
    return replace(s, asked=s.asked + 1, wanted=tuple(sorted(target)))


MODEL = kraft.MODEL.replacing(retarget)
BREAKS = {
    "leads_where_it_was_asked_to": 3,
    "completion_is_of_the_target_asked_for": 6,
    "retarget_replaces_the_target": 3,
    "moves_end_as_wanted": 6,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
