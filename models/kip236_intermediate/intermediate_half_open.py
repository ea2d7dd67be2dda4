"""Dropping intermediate replicas, `existing[0:top-1]` without its end: one replica fewer than there were stays.

So a reassignment loses a replica before anything is copied; a partition with a single
replica loses its only copy.
"""

from reassure import action
from reassure.models.kip236_intermediate.drop_properties import PROTOCOL
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, computed
from reassure.spec.kafka.partition import Brokers


@action(who="controller", fair="weak", tags=["drop"])
def compute_drop(s: Cluster, c: Config, kept: Brokers) -> Cluster:
    """All assigned replicas but the first `top - 1` of `existing` are to be dropped."""
    return computed(s, c, kept, s.top - 1)


MODEL = PROTOCOL.adding(compute_drop)
