"""KIP-435's new algorithm as printed, but for step 7, which waits until somebody in TR can lead.

"A potential new leader" (7) can also be read so. Then the last whole copy is not deleted for want of a leader, and the
rest of what `batching_literal` breaks is broken all the same (claim B4). The controller notices
failures while it waits.
"""

from reassure import action
from reassure.models.kip435_batching.batching_literal import MODEL as LITERAL
from reassure.models.kip435_batching.reassignment_classic import led
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, notice
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak", fair_each=("part",), tags=["lead"])
def lead(s: Cluster, part: Part) -> Cluster:
    """7. If the leader is not in TR, one that is, as soon as there is one."""
    return led(s, part)


MODEL = LITERAL.replacing(lead, notice)
