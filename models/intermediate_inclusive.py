"""Dropping intermediate replicas, `existing[0:top-1]` with its end: as many replicas as there were stay.

The reading under which what the document says of leader and ISR can be true.
"""

from models import intermediate
from models.intermediate import Cluster, Config, computed
from spec import action
from spec.reassignment import Brokers


@action(who="controller", fair="weak", tags=["move", "drop"])
def compute_drop(s: Cluster, c: Config, kept: Brokers) -> Cluster:
    """All assigned replicas but the first `top` of `existing` are to be dropped."""
    return computed(s, c, kept, s.top)


MODEL = intermediate.PROTOCOL.adding(compute_drop)
