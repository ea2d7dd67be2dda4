"""Flaw: a reassignment that is asked for takes the brokers that are to go out of the ELR, before it can complete."""

from reassure import action, replace
from reassure.models.kraft import kraft, protocol
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import Broker, Brokers


@action(who="admin", tags=["start"])
def start(s: Cluster, c: Config, target: Brokers, successor: Broker | None) -> Cluster:
    """As the original, but for the ELR."""
    after: Cluster = protocol.start(s, c, target, successor)
    p = after.partition
    return replace(after, partition=replace(p, elr=p.elr - p.removing))


MODEL = kraft.MODEL.replacing(start)
SETTINGS = ["unclean=off", "admin_requests=1", "shutdowns=0"]
BREAKS = {"growth_keeps_who_is_eligible": 3}
"""The properties that are violated, and the number of states in the shortest trace of each."""
