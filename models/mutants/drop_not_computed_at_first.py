"""Flaw of KIP-236: a new reassignment assigns what is wanted at once; the drop set is computed at changes only."""

from reassure import action, replace
from reassure.models.kip236_intermediate import drop_set, intermediate_inclusive
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, Stage
from reassure.spec.kafka.partition import Brokers


@action(who="admin")
def create(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """As the original, without the computation that is due."""
    after: Cluster = drop_set.create(s, c, target)
    if not after.moving:
        return after
    return replace(after, stage=Stage.IDLE, assigned=s.assigned | target)


MODEL = intermediate_inclusive.MODEL.replacing(create)
SETTINGS = ["admin_requests=1"]
BREAKS = {"drop_is_due_at_each_change": 2, "drop_spares_what_is_wanted": 4, "drop_spares_the_original": 5}
"""The properties that are violated, and the number of states in the shortest trace of each."""
