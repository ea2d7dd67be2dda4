"""Flaw: the leader proposes a follower with the broker epoch that it has now, not with that of its last fetch."""

from reassure import action, require
from reassure.models.kraft import kraft_removed_logs
from reassure.models.kraft.kraft_removed_logs import Config, Removed
from reassure.models.kraft.protocol import proposes
from reassure.spec.kafka.partition import Broker, members


@action(who="leader", fair="strong", fair_each=("follower",))
def propose_expansion(s: Removed, c: Config, follower: Broker) -> Removed:
    """As the original, but for the broker epoch."""
    p = s.partition
    require(not s.unheard and follower in (members(p) & s.unfenced & s.caught_up) - p.isr)
    return proposes(s, c, p.isr | {follower})  # type: ignore[return-value]


MODEL = kraft_removed_logs.MODEL.replacing(propose_expansion)
BREAKS = {
    "leader_holds_everything_committed": 11,
    "leaders_hold_what_was_committed": 11,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
