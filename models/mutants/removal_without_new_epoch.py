"""Flaw: removing replicas does not raise the leader epoch if the leader stays, so that their old fetches count.

`leader_epoch_not_raised` violates only the document's wording; here brokers hear late, and records are lost.
"""

from reassure import action
from reassure.models.kraft import kraft_removed_logs
from reassure.models.kraft.kraft_removed_logs import Config, Removed, followed
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.rules import completed, recorded
from reassure.models.kraft.state import AlterPartition
from reassure.spec.kafka.partition import Broker, Brokers, Partition


def finished(p: Partition, isr: Brokers, leader: Broker | None) -> Partition:
    """Without a new reign."""
    return recorded(p, completed(p, isr, leader), new_reign=False)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Removed, c: Config, request: AlterPartition, successor: Broker | None) -> Removed:
    """As the original, but for the epoch of the completion."""
    after: Removed = answered(s, c, request, successor, finished=finished)  # type: ignore[assignment]
    return followed(s, after, c)


MODEL = kraft_removed_logs.MODEL.replacing(alter_partition)
BREAKS = {
    "leader_holds_everything_committed": 12,
    "completion_raises_leader_epoch": 6,
    "leaders_hold_what_was_committed": 12,
    "leader_takes_nobody_wrongly_for_caught_up": 10,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
