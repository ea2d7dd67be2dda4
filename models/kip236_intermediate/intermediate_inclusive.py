"""Dropping intermediate replicas, `existing[0:top-1]` with its end: as many replicas as there were stay.

Only under this reading can the document's statements about leader and ISR be true.
"""

from reassure import action
from reassure.models.kip236_intermediate.drop_properties import PROTOCOL
from reassure.models.kip236_intermediate.drop_set import Cluster, Config, computed
from reassure.spec.kafka.partition import Brokers


@action(who="controller", fair="weak", tags=["drop"])
def compute_drop(s: Cluster, c: Config, kept: Brokers) -> Cluster:
    """All assigned replicas but the first `top` of `existing` are to be dropped."""
    return computed(s, c, kept, s.top)


MODEL = PROTOCOL.adding(compute_drop)
