"""Flaw: a record is committed with the smaller ISR that the leader has only asked for."""

from reassure import action, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import committed
from reassure.models.kraft.state import Cluster
from reassure.spec.kafka.partition import NOBODY


@action(who="leader")
def commit(s: Cluster) -> Cluster:
    """As the original, but a proposed shrink counts before the controller has agreed."""
    isr = s.leader_isr if s.proposed == NOBODY else s.proposed
    require(len(isr) >= s.min_isr)
    return committed(s, isr)


MODEL = kraft.MODEL.replacing(commit)
BREAKS = {
    "leader_holds_everything_committed": 13,
    "leaders_hold_what_was_committed": 13,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
