"""Flaw: a completion that removes the leader elects any living replica of the target, in sync or not.

With three brokers and MinISR 2 the whole target is in sync whenever the leader is removed: this flaw changes nothing.
"""

from reassure import action
from reassure.models.kraft import kraft, rules
from reassure.models.kraft.protocol import answered
from reassure.models.kraft.state import AlterPartition, Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers, Partition, target_of


def may_lead(p: Partition, isr: Brokers, alive: Brokers, successor: Broker | None) -> bool:
    """The leader if it stays, else anybody of the target."""
    stays = p.leader is not None and p.leader in isr & alive
    return rules.may_lead(p, isr if stays else target_of(p), alive, successor)


@action(who="controller", fair="weak", tags=["complete"], request=lambda s: s.requests)
def alter_partition(s: Cluster, c: Config, request: AlterPartition, successor: Broker | None) -> Cluster:
    """As the original, with that election."""
    return answered(s, c, request, successor, may_lead=may_lead)


MODEL = kraft.MODEL.replacing(alter_partition)
SETTINGS = ["unclean=off", "brokers=4", "disturbances=0", "admin_requests=1"]
BREAKS = {"leader_holds_everything_committed": 9, "leader_is_in_sync": 9, "leaders_hold_what_was_committed": 9}
"""The properties that are violated, and the number of states in the shortest trace of each."""
