"""KIP-435's new algorithm as printed, except that step 7 waits until a broker in TR can lead.

"A potential new leader" (7) can also be read so. Then the last whole copy is not deleted for want of a leader, and the
other promises that `batching_literal` violates are violated here too (claim B4). The controller notices
failures while it waits.
"""

from reassure import action
from reassure.models.kip435_batching.batching_literal import MODEL as LITERAL
from reassure.models.kip435_batching.reassignment_classic import led
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, notice
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak", fair_each=("part",))
def lead(s: Cluster, part: Part) -> Cluster:
    """7. If the leader is not in TR, one that is, as soon as there is one."""
    return led(s, part)


MODEL = LITERAL.replacing(lead, notice)
