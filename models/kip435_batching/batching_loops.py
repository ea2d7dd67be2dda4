"""KIP-435's new algorithm as printed, with P loops in place of a batch; each loop moves one partition (claim B16).

"There will be `reassignment.parallel.partition.count` such algorithm running in parallel" can be read so. Then no
partition waits until the batch before is done, and nothing chooses which partitions move their leaders.
"""

from reassure import action, replace, require
from reassure.models.kip435_batching.batching_literal import MODEL as LITERAL
from reassure.models.kip435_batching.batching_literal import would_lead
from reassure.models.kip435_batching.reassignment_classic import remembering, stands_at
from reassure.models.kip435_batching.rules import as_printed
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config, Next, running_in
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak", fair_each=("part",))
def take(s: Cluster, c: Config, part: Part) -> Cluster:
    """1. An idle loop takes a partition."""
    require(s.controller and stands_at(s, part, Next.IDLE) and s.stored[part].target != ())
    require(running_in(s, c) < s.limits.partitions)
    leads = would_lead(s, c, part, as_printed)
    begun = replace(s.memory[part], next=Next.CALCULATE, leads=leads)
    return replace(remembering(s, part, begun), granted=s.limits)


MODEL = LITERAL.without("collect", "batches_are_filled").adding(take)
