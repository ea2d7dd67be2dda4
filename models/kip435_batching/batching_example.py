"""KIP-435's new algorithm, with each step calculated as in its worked example; the rest is `batching_literal`.

The example adds the new leader first and drops nothing then (claim B2), which the printed calculation does not. It also
elects it in that step, which step 7 does not do as long as the present leader is on the list. The other
mistakes of the printed algorithm remain: replicas are dropped without waiting for the new ones.
"""

from reassure import action, cover
from reassure.models.kip435_batching.batching_literal import MODEL as LITERAL
from reassure.models.kip435_batching.batching_literal import collecting, waiting
from reassure.models.kip435_batching.rules import as_in_the_example, collected
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, Config
from reassure.spec.kafka.shared_properties import Part


@action(who="controller", fair="weak")
def collect(s: Cluster, c: Config) -> Cluster:
    """1. A batch of partitions begins its next step."""
    return collecting(s, c, as_in_the_example, collected)


@action(who="controller", fair="weak", fair_each=("part",))
def wait(s: Cluster, c: Config, part: Part) -> Cluster:
    """2. Until the step is not identical to what is there, and somebody is in sync."""
    return waiting(s, c, part, as_in_the_example)


@cover(on=wait)
def first_step_only_adds_the_leader(before: Cluster, after: Cluster, part: Part) -> bool:
    """B2: the first transition of the worked example."""
    p, m = after.stored[part], after.memory[part]
    return p.target != () and m.goal == p.target[:1] + before.memory[part].assigned


@cover(on=wait)
def last_step_is_the_request(before: Cluster, after: Cluster, part: Part) -> bool:
    """B2: its last one."""
    return after.memory[part].goal == after.stored[part].target


MODEL = LITERAL.replacing(collect, wait).adding(first_step_only_adds_the_leader, last_step_is_the_request)
