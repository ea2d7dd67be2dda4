"""Flaw of KIP-236: a reassignment is created however few replicas there are.

With two replicas and MinISR 2 there are always enough: this flaw changes nothing unless MinISR is raised.
"""

from reassure import action, replace, require
from reassure.models.kip236_intermediate import intermediate_inclusive
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, Stage
from reassure.spec.kafka.partition import NOBODY, Brokers


@action(who="admin")
def create(s: Cluster, c: Config, target: Brokers) -> Cluster:
    """As the original, without the check of the original assignment."""
    require(not s.moving and s.asked < c.admin_requests)
    require(target != NOBODY and target != s.assigned and len(target) >= s.min_isr)
    top = len(s.assigned)
    return replace(s, asked=s.asked + 1, moving=True, target=target, top=top, original=s.assigned, stage=Stage.DUE)


MODEL = intermediate_inclusive.MODEL.replacing(create)
SETTINGS = ["raises=1", "disturbances=0"]
BREAKS = {
    "creation_needs_min_isr": 3,
    "top_reaches_min_isr": 3,
    "drop_keeps_min_isr": 7,
    "drop_spares_what_is_wanted": 5,
    "drop_spares_the_original": 6,
    "nothing_intermediate_stays": 6,
    "own_steps_keep_min_isr": 6,
}
"""The properties that are violated, and the number of states in the shortest trace of each."""
