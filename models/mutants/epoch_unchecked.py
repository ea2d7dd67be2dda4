"""Flaw: the controller accepts an AlterPartition from any sender and of any age."""

from reassure import action
from reassure.models.kraft import kraft
from reassure.models.kraft.protocol import answered, eligible
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, but for `current`."""
    return answered(s, c, request, successor, accepted=eligible)


MODEL = kraft.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 12,
    "stale_request_changes_nothing": 5,
    "deadlock": 8,
    "leaders_hold_what_was_committed": 12,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
