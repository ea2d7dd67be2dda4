"""Flaw of the throttle ("on the fly", taken literally): a changed rate applies to the present window."""

from reassure import action, replace
from reassure.models.kip542_throttle import throttle
from reassure.models.kip542_throttle.throttle import Cluster, Config, Rate, Side
from reassure.spec.kafka.partition import Broker


@action(who="admin")
def set_rate(s: Cluster, c: Config, side: Side, broker: Broker, rate: Rate) -> Cluster:
    """As the original, but at once."""
    after: Cluster = throttle.set_rate(s, c, side, broker, rate)
    return replace(after, in_force=after.rates)


MODEL = throttle.MODEL.replacing(set_rate)
SETTINGS = ["moves=0", "lapses=0"]
BREAKS = {
    "reassignment_within_its_rate": 3,
    "replication_within_the_total": 4,
    "others_are_limited_by_their_own_rate_only": 4,
    "change_waits_for_the_next_window": 2,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
