"""`batching` with R as one limit on all replica movements of the cluster, as its description has it (B6).

The table says of ...replica.movements that it "puts an upper limit on concurrent replica movements", and that it is set
per partition. All other models take it for each partition. Here a partition begins a step only if what it adds, with
all that is being copied, is within R; `cap` off is `batching`, by the same property.
"""

from dataclasses import dataclass

from reassure import action, cover, every, invariant, require
from reassure.models.kip435_batching import batching, zookeeper_cluster
from reassure.models.kip435_batching.zookeeper_cluster import Cluster, running
from reassure.spec.kafka.shared_properties import Part


@dataclass(frozen=True)
class Config(zookeeper_cluster.Config):
    cap: bool = True
    """Whether R limits all movements together."""


def being_added(s: Cluster, c: Config) -> int:
    """Replicas that are being copied, or will be by the steps that run."""
    return sum(len(s.logs[x].fresh | (frozenset(s.memory[x].goal) - s.logs[x].hosting)) for x in every(Part, c))


@action(who="controller", fair="weak", fair_each=("part",))
def calculate(s: Cluster, c: Config, part: Part) -> Cluster:
    """As the original, within the limit of the cluster."""
    after: Cluster = batching.calculate(s, c, part)
    require(not c.cap or being_added(after, c) <= s.limits.replicas)
    return after


@invariant
def movements_within_the_cap(s: Cluster, c: Config) -> bool:
    """B6, R as a limit of the cluster. Otherwise more is copied at once than an operator allowed, until R changes."""
    return s.changed > 0 or sum(len(s.logs[x].fresh) for x in every(Part, c)) <= c.replicas_at_once


@cover(when=lambda c: c.partitions > 1 and c.requests > 1)
def waits_for_another_partition(s: Cluster, c: Config) -> bool:
    """B6: a reassignment that is asked for waits, as that of another partition is being copied."""
    waits = any(s.stored[x].target != () and not running(s, x) for x in every(Part, c))
    return waits and any(s.logs[x].fresh != frozenset() for x in every(Part, c))


MODEL = batching.MODEL.replacing(calculate, config=Config).adding(movements_within_the_cap, waits_for_another_partition)
