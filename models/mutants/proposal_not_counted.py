"""Flaw: a record is committed without the replicas that the leader has asked to add."""

from reassure import action, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import committed
from reassure.models.kraft.state import Cluster


@action(who="leader")
def commit(s: Cluster) -> Cluster:
    """As the original, with the ISR that the leader knows, not with the one it may already have."""
    require(len(s.leader_isr) >= s.min_isr)
    return committed(s, s.leader_isr)


MODEL = kraft.MODEL.replacing(commit)
BREAKS = {
    "leader_holds_everything_committed": 10,
    "leaders_hold_what_was_committed": 10,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
