"""Flaw: a cancellation below MinISR elects any original that is alive, although one of them is in sync."""

from reassure import action, replace, require
from reassure.models.kraft import kraft, protocol
from reassure.models.kraft.state import Cluster, Config
from reassure.spec.kafka.partition import Broker, reassigning


@action(who="admin", tags=["cancel"])
def cancel(s: Cluster, c: Config, successor: Broker | None) -> Cluster:
    """As the original, but below MinISR as if no original were in sync."""
    p = s.partition
    require(reassigning(p))
    below = s.unclean and len(p.isr - p.adding) < s.min_isr
    start = replace(s, partition=replace(p, isr=p.isr & p.adding)) if below else s
    after: Cluster = protocol.cancel(start, c, successor)
    return after


MODEL = kraft.MODEL.replacing(cancel)
SETTINGS = ["unclean=on", "disturbances=0", "shutdowns=0"]
BREAKS = {
    "cancel_elects_from_the_isr": 3,
    "reassignment_keeps_min_isr_even_if_unclean": 6,
    "cancel_spares_the_eligible": 3,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
