"""Flaw: the leader proposes a follower for the ISR that has not caught up."""

from reassure import action, require
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import proposes
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import Broker, members


@action(who="leader", fair="strong", fair_each=("follower",))
def propose_expansion(s: Cluster, c: Config, follower: Broker) -> Cluster:
    """As the original, but for the high watermark."""
    p = s.partition
    require(follower in (members(p) & s.unfenced) - p.isr)
    return proposes(s, c, p.isr | {follower})


MODEL = kraft.MODEL.replacing(propose_expansion)
BREAKS = {
    "leader_holds_everything_committed": 4,
    "own_steps_keep_an_in_sync_copy": 7,
    "leaders_hold_what_was_committed": 4,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
